"""What the page says about a method: why it may overrule the evidence, and what its numbers mean."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Words:
    """What the page says about one method.

    overrules: why an object can be in another cluster than the one it has most ties to.
    quantities: key of the history -> (title, what it means), two at most; the others are for
    :class:`consilience.plot.ConvergenceDisplay`.
    """

    overrules: str
    quantities: dict[str, tuple[str, str]] = field(default_factory=dict)


_AIM = "What the method minimizes"
_PIECES = (
    "Pieces of the learned graph",
    "The clusters are the pieces that the learned graph falls into; the method drives it to as many as "
    "were asked for.",
)
_WHOLES = "it joins whole groups, and an object that was joined early moves with its group"
_CUT = (
    "it cuts a graph where the cut costs least as a whole, and it balances the clusters, so single "
    "objects near the cut may be on the wrong side"
)
_CUT_COST = {
    "objective": (
        "Cost of the cut",
        "The weight of the edges that the cut severs, relative to the clusters that it makes; moving "
        "objects lowers it.",
    )
}
_VECTORS = (
    "it compares an object's labels in all base clusterings with the mean of each cluster, and "
    "base clusterings count differently in it"
)
_CENTERS = {
    "objective": (
        "Distance from the centers",
        "The distance of the objects' labels from the centers of their clusters, by the measure of the "
        "method; it falls.",
    )
}
_MODEL = (
    "it fits a model of how clusters give rise to labels, and objects go to the cluster that is most "
    "likely under the model"
)
_LOW_RANK = {
    "residual": (
        "What is left unexplained",
        "The evidence is written as a simple pattern plus errors; this is the part that the two leave "
        "unexplained. It ends below the tolerance.",
    ),
    "rank": ("Patterns kept", "The number of independent patterns in the simple part."),
}

#: By the name of the class; about all other classes the page says what holds for any method.
METHODS = {
    "EvidenceAccumulation": Words(_WHOLES),
    "WEAC": Words(f"it trusts clusterings by how well they agree with the others, and {_WHOLES}"),
    "HGPA": Words("it asks for clusters of equal weight, and moves objects until they have it"),
    "CoassociationKMeans": Words(
        "it puts an object in the cluster whose center is nearest to its whole row of co-association, not "
        "in the cluster that it has most ties to"
    ),
    "LWEA": Words(f"it trusts base clusters by how well others agree on them, and {_WHOLES}"),
    "LWSC": Words(
        "it trusts base clusters by how well others agree on them, and cuts the graph of all objects "
        "where the cut costs least"
    ),
    "LWGP": Words(
        "it trusts base clusters by how well others agree on them, and cuts the graph of objects and base "
        "clusters where the cut costs least"
    ),
    "SCCABG": Words(
        "it distrusts links that contradict the rest, and an object goes with the piece of the graph in "
        "which its remaining links hold it",
        {
            "objective": (
                _AIM,
                "Disagreement with the base clusterings, minus a reward for trusted links. It can rise "
                "when a new round trusts more of them.",
            ),
            "pieces": _PIECES,
        },
    ),
    "SPCE": Words(
        "it trusts clusterings differently and cuts weak links, and an object goes with the piece in "
        "which its strongest links hold it",
        {
            "objective": (
                _AIM,
                "Disagreement with the base clusterings, minus a reward for admitted pairs of objects. It "
                "jumps when a new stage admits more of them.",
            ),
            "pieces": _PIECES,
        },
    ),
    "RSEC": Words(
        "it sets part of the evidence aside as errors, and judges objects by the pattern that is left",
        _LOW_RANK,
    ),
    "NRSEC": Words(
        "it sets part of the evidence aside as errors, and judges objects by the pattern that is left",
        _LOW_RANK,
    ),
    "CSPA": Words(_CUT, _CUT_COST),
    "HBGF": Words(_CUT, _CUT_COST),
    "MCLA": Words(
        "it groups the base clusters first, and an object goes to the group with most of its base clusters"
    ),
    "ECPCS": Words(
        "it treats objects in different base clusters as similar if other clusterings make those clusters "
        "similar, which ties do not count"
    ),
    "LCE": Words(
        "it also links an object to base clusters similar to its own, which ties do not count, and "
        "decides for all objects together"
    ),
    "PTA": Words(f"it compares where random walks among an object's nearest neighbors lead, and {_WHOLES}"),
    "PTGP": Words(
        "it compares where random walks among an object's nearest neighbors lead, and cuts a graph where "
        "the cut costs least"
    ),
    "NMFC": Words(
        "it explains all evidence together by as many overlapping groups as there are clusters, and an "
        "object goes to the group that explains most of its ties",
        {
            "objective": (
                "What is left unexplained",
                "The distance between the groups and the evidence; it may rise a little on the way.",
            )
        },
    ),
    "DREC": Words(
        "it compares objects by how they are mixed from all others, not by how often they were together, "
        "and cuts where the cut costs least"
    ),
    "RCE": Words(
        "it sets part of the evidence aside as errors, and judges objects by the simpler pattern that is left"
    ),
    "TRCE": Words(
        "it trusts clusterings and objects differently and cuts weak links, and an object goes with the "
        "piece in which its strongest links hold it",
        {"pieces": _PIECES},
    ),
    "CESHL": Words(
        "it moves objects between base clusters until these fall into separate pieces, and an object goes "
        "with its piece",
        {"pieces": _PIECES},
    ),
    "SEC": Words(_VECTORS, _CENTERS),
    "KCC": Words(_VECTORS, _CENTERS),
    "ECC": Words(_VECTORS, _CENTERS),
    "SoftVote": Words(
        "it averages the memberships of matched base clusters, and an object goes to the cluster with the "
        "largest mean",
        {
            "objective": (
                "Distance from the mean",
                "The distance of the aligned memberships from their mean; a better matching of clusters "
                "lowers it.",
            )
        },
    ),
    "Voting": Words(
        "it matches the base clusterings with each other first, and each has one vote, however large its "
        "clusters are",
        {
            "objective": (
                "Votes against",
                "The number of votes for clusters other than the chosen one; it falls.",
            )
        },
    ),
    "MixtureConsensus": Words(
        _MODEL,
        {
            "log_likelihood": (
                "Fit of the model",
                "The logarithm of how likely the labels are under the model; it rises.",
            )
        },
    ),
    "BCE": Words(
        _MODEL,
        {
            "bound": (
                "Fit of the model",
                "A lower bound on how likely the labels are under the model; it rises.",
            )
        },
    ),
    "BestOf": Words(
        "it takes the result of the method that agrees best with all base clusterings as a whole, not "
        "object by object"
    ),
}
_ANY = Words(
    "it weighs the evidence as a whole, not object by object",
    {"objective": (_AIM, "The method stops when another step would hardly change it.")},
)


def words_of(method: object) -> Words:
    """The words for a fitted method, or those that hold for any method."""
    return METHODS.get(type(method).__name__, _ANY)
