"""What a reader is told about a method: why it may overrule the evidence, and what two of its numbers mean."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Words:
    """overrules: why an object can be in another cluster than the one it has most ties to.

    quantities: key of the history -> (title, what it means), the telling ones alone; the others are for
    :class:`consilience.plot.HistoryDisplay`.
    """

    overrules: str
    quantities: dict[str, tuple[str, str]] = field(default_factory=dict)


_AIM = "What the method minimises"
_PIECES = (
    "Pieces of the learned graph",
    "The clusters are the pieces that the learned graph falls into: it is driven to as many as were asked for.",
)
_WHOLES = "it joins whole groups, and an object that was joined early moves with its group"
_LOW_RANK = {
    "residual": (
        "What is left unexplained",
        "The evidence is written as a simple pattern plus errors; this is how far the two are from adding up. It ends "
        "below the tolerance.",
    ),
    "rank": ("Patterns kept", "How many independent patterns the simple part is made of."),
}

#: By the name of the class; of all others the page says what holds for any method.
METHODS = {
    "EvidenceAccumulation": Words(_WHOLES),
    "CoassociationKMeans": Words(
        "it puts an object with the centre that its whole row of co-association is nearest to, not with the cluster it "
        "has most ties to"
    ),
    "LWEA": Words(f"it trusts base clusters by how well others agree on them, and {_WHOLES}"),
    "LWSC": Words(
        "it trusts base clusters by how well others agree on them, and cuts the graph of all objects where that costs least"
    ),
    "LWGP": Words(
        "it trusts base clusters by how well others agree on them, and cuts the graph of objects and base clusters where "
        "that costs least"
    ),
    "SCCABG": Words(
        "it doubts links that contradict the rest, and an object goes with the piece of the graph that its remaining "
        "links hold it in",
        {
            "objective": (
                _AIM,
                "Disagreement with the base clusterings, less what is gained by trusting links. It can rise where a new round "
                "trusts more of them.",
            ),
            "pieces": _PIECES,
        },
    ),
    "SPCE": Words(
        "it trusts clusterings differently and cuts weak links, and an object goes with the piece that its strongest "
        "links hold it in",
        {
            "objective": (
                _AIM,
                "Disagreement with the base clusterings, less what is gained by admitting pairs of objects. It jumps where a "
                "new stage admits more of them.",
            ),
            "pieces": _PIECES,
        },
    ),
    "RSEC": Words("it sets part of the evidence aside as errors, and judges objects by the pattern that is left", _LOW_RANK),
    "NRSEC": Words("it sets part of the evidence aside as errors, and judges objects by the pattern that is left", _LOW_RANK),
}  # fmt: skip
_ANY = Words(
    "it weighs the evidence as a whole, not object by object",
    {"objective": (_AIM, "It ends where another step would hardly change it.")},
)


def words_of(method: object) -> Words:
    """Those of a fitted method, or what holds for any."""
    return METHODS.get(type(method).__name__, _ANY)
