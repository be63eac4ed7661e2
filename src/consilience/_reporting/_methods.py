"""What a reader is told about a method: why it may overrule the evidence, and what two of its numbers mean."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Words:
    """overrules: why an object can be in another cluster than the one it has most ties to.

    quantities: key of the history -> (title, what it means), two at most; the others are for
    :class:`consilience.plot.ConvergenceDisplay`.
    """

    overrules: str
    quantities: dict[str, tuple[str, str]] = field(default_factory=dict)


_AIM = "What the method minimizes"
_PIECES = (
    "Pieces of the learned graph",
    "The clusters are the pieces that the learned graph falls into: it is driven to as many as were asked "
    "for.",
)
_WHOLES = "it joins whole groups, and an object that was joined early moves with its group"
_CUT = "it cuts a graph where that costs least as a whole, and balances the clusters; an object pays where the cut runs"
_CUT_COST = {
    "objective": (
        "Cost of the cut",
        "What the cut severs, in proportion to the clusters it makes; moving objects lowers it.",
    )
}
_VECTORS = (
    "it compares an object's labels in all base clusterings with the mean of a cluster, in which base "
    "clusterings count "
    "differently"
)
_CENTERS = {
    "objective": (
        "Distance from the centers",
        "How far the objects' labels are from the centers of their clusters, by the measure that the "
        "method was given; it "
        "falls.",
    )
}
_MODEL = (
    "it fits a model of how clusters give rise to labels, and objects go to the cluster most likely under it"
)
_LOW_RANK = {
    "residual": (
        "What is left unexplained",
        "The evidence is written as a simple pattern plus errors; this is how far the two are from adding "
        "up. It ends "
        "below the tolerance.",
    ),
    "rank": ("Patterns kept", "How many independent patterns the simple part is made of."),
}

#: By the name of the class; of all others the page says what holds for any method.
METHODS = {
    "EvidenceAccumulation": Words(_WHOLES),
    "WEAC": Words(f"it trusts clusterings by how well they agree with the others, and {_WHOLES}"),
    "HGPA": Words("it asks for clusters of equal weight, and objects are moved until they are"),
    "CoassociationKMeans": Words(
        "it puts an object with the center that its whole row of co-association is nearest to, not with "
        "the cluster it "
        "has most ties to"
    ),
    "LWEA": Words(f"it trusts base clusters by how well others agree on them, and {_WHOLES}"),
    "LWSC": Words(
        "it trusts base clusters by how well others agree on them, and cuts the graph of all objects where "
        "that costs least"
    ),
    "LWGP": Words(
        "it trusts base clusters by how well others agree on them, and cuts the graph of objects and base "
        "clusters where "
        "that costs least"
    ),
    "SCCABG": Words(
        "it doubts links that contradict the rest, and an object goes with the piece of the graph that its "
        "remaining "
        "links hold it in",
        {
            "objective": (
                _AIM,
                "Disagreement with the base clusterings, less what is gained by trusting links. It can "
                "rise where a new round "
                "trusts more of them.",
            ),
            "pieces": _PIECES,
        },
    ),
    "SPCE": Words(
        "it trusts clusterings differently and cuts weak links, and an object goes with the piece that its "
        "strongest "
        "links hold it in",
        {
            "objective": (
                _AIM,
                "Disagreement with the base clusterings, less what is gained by admitting pairs of "
                "objects. It jumps where a "
                "new stage admits more of them.",
            ),
            "pieces": _PIECES,
        },
    ),
    "RSEC": Words("it sets part of the evidence aside as errors, and judges objects by the pattern that is left", _LOW_RANK),
    "NRSEC": Words("it sets part of the evidence aside as errors, and judges objects by the pattern that is left", _LOW_RANK),
    "CSPA": Words(_CUT, _CUT_COST),
    "HBGF": Words(_CUT, _CUT_COST),
    "MCLA": Words("base clusters are grouped first, and an object goes where most of its base clusters were grouped"),
    "ECPCS": Words(
        "objects in different base clusters are alike where those clusters are, through other clusterings, "
        "which ties do not count"
    ),
    "LCE": Words(
        "it links an object to base clusters like its own too, which ties do not count, and decides for "
        "all objects together"
    ),
    "PTA": Words(f"it compares where random walks among an object's nearest company lead, and {_WHOLES}"),
    "PTGP": Words("it compares where random walks among an object's nearest company lead, and cuts a graph where that costs least"),
    "NMFC": Words(
        "it explains all evidence together by as many overlapping groups as there are clusters, and an "
        "object goes to the group that "
        "explains most of its company",
        {"objective": ("What is left unexplained", "How far the groups are from the evidence; it may rise a little on the way.")},
    ),
    "DREC": Words("it compares how objects are mixed from all others, not how often they were together, and cuts where that costs least"),
    "RCE": Words("it sets part of the evidence aside as errors, and judges objects by the simpler pattern that is left"),
    "TRCE": Words(
        "it trusts clusterings and objects differently and cuts weak links, and an object goes with the "
        "piece that its strongest links "
        "hold it in",
        {"pieces": _PIECES},
    ),
    "CESHL": Words(
        "it takes objects out of base clusters and puts them into others until these fall into pieces, and "
        "an object goes with its piece",
        {"pieces": _PIECES},
    ),
    "SEC": Words(_VECTORS, _CENTERS),
    "KCC": Words(_VECTORS, _CENTERS),
    "ECC": Words(_VECTORS, _CENTERS),
    "SoftVote": Words(
        "it averages the memberships of matched base clusters, and an object goes to the largest mean",
        {
            "objective": (
                "Distance from the mean",
                "How far the aligned memberships are from their mean; matching clusters better lowers it.",
            )
        },
    ),
    "Voting": Words("base clusterings are matched with each other first, and each has one vote, however large its clusters",
                    {"objective": ("Votes against", "The votes for other clusters than the one that was chosen; they get fewer.")}),
    "MixtureConsensus": Words(
        _MODEL, {"log_likelihood": ("Fit of the model", "How likely the labels are under the model (its logarithm); it rises.")}
    ),
    "BCE": Words(_MODEL, {"bound": ("Fit of the model", "A lower bound of how likely the labels are under the model; it rises.")}),
    "BestOf": Words("it takes the result of the method that agrees best with all base clusterings, not object by object"),
}  # fmt: skip
_ANY = Words(
    "it weighs the evidence as a whole, not object by object",
    {"objective": (_AIM, "It ends where another step would hardly change it.")},
)


def words_of(method: object) -> Words:
    """Those of a fitted method, or what holds for any."""
    return METHODS.get(type(method).__name__, _ANY)
