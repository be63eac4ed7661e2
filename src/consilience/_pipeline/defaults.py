"""What ``ConsensusClustering()`` does by default: one rule, by the size of the problem.

| X                              | base clusterings               | how many      | consensus, tolerance |
|--------------------------------|--------------------------------|---------------|----------------------|
| sparse, or dense counts        | k-means of random k            | 100, 60 or 30 | LWGP, .4             |
| up to SMALL objects            | metric-subspace                | 400           | LWSC, 1              |
| up to SMOOTH_UP_TO             | metric-subspace                | 200           | LWSC, 1              |
| up to EXACT_UP_TO              | metric-subspace                | 160           | LWEA, .4             |
| beyond up to DENSE_UP_TO while | metric-subspace                | 60            | LWEA, .4             |
| n^2 d is at most EXACT_WORK    |                                |               |                      |
| beyond                         | landmarks, N_LANDMARKS of each | 20            | LWEA, 1              |

LWEA links all distinct objects up to LINKED; if there are more, it links a sample of that size
and places the others. A preparation of the features is drawn for each member (``preprocess="diverse"``),
except that sparse counts are tf-idf for all. Each member sees half of the dense features, but at least
FEWEST_FEATURES: one of two features alone says little.

Members of metric-subspace have 2 to max(sqrt(n), 2 c) clusters, at most half as many as there are objects.
CUTS of them come from each embedding, and everything else is dealt out evenly. Equal objects count as one;
otherwise the graph of a table with many equal rows falls apart. Members of landmarks have at most the larger
of their own limit and 2 c clusters, and at least a third of that. Members of k-means have c / 2 to
max(FEW_CLUSTERS, 2 c).

Sparse tables are mostly texts, whose neighbors are near by chance: k-means, which compares texts with the
mean of many, finds more there than graphs of neighbors do. Dense counts, which have no negative values and at
most a tenth other than zero, are mostly the same texts in an array.

The rule was chosen on one half of the sets of the protocol ``defaults`` and is reported on the other, with
what else was tried: docs/methods/consensus-clustering.md. It never looks at true labels, and at the values
of X only to count zeros and negative numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._base.names import AUTO, check_names, find
from .._data.features import Features
from ..consensus import method
from ..generate import generators, suitable

#: Objects up to which all are compared with each other, which costs n^2 d. Beyond, landmarks cost n d, and
#: find somewhat less.
EXACT_UP_TO = 5_000
#: The same, while n^2 d is at most EXACT_WORK.
DENSE_UP_TO, EXACT_WORK = 12_000, 4e10
#: Distinct objects that are linked: their pairs take 800 MB.
LINKED = 10_000
N_LANDMARKS = 1_000
FEWEST_FEATURES = 8
FEW_CLUSTERS = 8
#: Objects up to which the consensus is LWSC and members are many: the answer then hardly depends on the seed.
SMOOTH_UP_TO, MANY = 2_500, 200
SMALL, MOST = 1_000, 400
#: Members read from each embedding, and how many in all of more objects.
CUTS, FEWER, FEWEST_OF_MANY = 4, 160, 60
#: The largest number of members for a method that the user names: the cost of some grows with its square.
FOR_ANY_METHOD = 50
#: The smallest number of embeddings: where few members are asked for, fewer of them share one.
FEWEST_METRICS = 10
#: For dense X, and for sparse X.
GENERATORS, SPARSE_GENERATOR = ("metric-subspace", "landmarks"), "random-k"
SMOOTH_METHOD, METHOD, SPARSE_METHOD = METHODS = "lwsc", "lwea", "lwgp"
#: Parameters of a method that may be given without naming it: those that any of these has. The one that X
#: gets refuses the others.
METHOD_PARAMS = ("instability_tolerance", "max_samples", "n_init")


class Plan(NamedTuple):
    """How members are made and combined.

    generator, method : names, or what the user gave instead.
    n_clusterings : None leaves it to the generator.
    """

    generator: Any
    generator_params: dict[str, Any]
    n_clusterings: int | None
    method: Any
    method_params: dict[str, Any]


def is_auto(chosen: Any) -> bool:
    """Whether a choice is left to the rule."""
    return find(chosen, {AUTO: True}) is not None


def compares_all(n: int, d: int) -> bool:
    """Whether members compare every object with every other."""
    return n <= EXACT_UP_TO or (n <= DENSE_UP_TO and float(n) * n * d <= EXACT_WORK)


def default_plan(features: Features, n_clusters: int) -> Plan:
    """The rule."""
    n, d = features.shape
    counts = "tf-idf" in suitable(features)
    sparse = counts or sp.issparse(features.X)
    exact = not sparse and compares_all(n, d)
    generator = SPARSE_GENERATOR if sparse else GENERATORS[0 if exact else 1]
    widest = generators()[generator].widest
    assert widest is not None
    most = FEW_CLUSTERS if sparse else widest(n, n_clusters)
    top = min(max(most, 2 * n_clusters), max(2, n // 2, n_clusters))
    top = min(top, features.distinct_rows(top))
    params: dict[str, Any] = {"preprocess": "diverse", "n_clusters": (None, top)}
    if sparse:
        params |= {
            "preprocess": "tf-idf" if counts else "diverse",
            "n_clusters": (min(max(2, n_clusters // 2), top), top),
        }
        count = 100 if n <= SMALL else 60 if n <= SMOOTH_UP_TO else 30
        return Plan(generator, params, count, SPARSE_METHOD, {"instability_tolerance": 0.4})
    params["feature_fraction"] = min(1.0, max(0.5, FEWEST_FEATURES / d))
    if not exact:
        params["n_landmarks"] = max(N_LANDMARKS, top)
        return Plan(generator, params, 20, METHOD, {"instability_tolerance": 1.0, "max_samples": LINKED})
    params |= {"distinct": True, "cuts_per_metric": CUTS, "balanced": True}
    if n <= SMOOTH_UP_TO:
        count = MOST if n <= SMALL else MANY
        return Plan(generator, params, count, SMOOTH_METHOD, {"instability_tolerance": 1.0})
    count = FEWER if n <= EXACT_UP_TO else FEWEST_OF_MANY
    return Plan(generator, params, count, METHOD, {"instability_tolerance": 0.4, "max_samples": LINKED})


def fill_in(plan: Plan, features: Features, n_clusters: int) -> Plan:
    """A plan in which the rule has filled in what the user left to it; given parameters stay."""
    own = default_plan(features, n_clusters)
    if own.generator == SPARSE_GENERATOR:
        _check_sparse(plan)
    if is_auto(plan.generator):
        params = {**own.generator_params, **plan.generator_params}
        count = own.n_clusterings if plan.n_clusterings is None else plan.n_clusterings
        if plan.n_clusterings is None and not is_auto(plan.method) and count is not None:
            count = min(count, FOR_ANY_METHOD)
        if (
            "cuts_per_metric" not in plan.generator_params
            and "cuts_per_metric" in params
            and count is not None
        ):
            params["cuts_per_metric"] = max(1, min(CUTS, count // FEWEST_METRICS))
        plan = plan._replace(generator=own.generator, generator_params=params, n_clusterings=count)
    if is_auto(plan.method):
        owner = f"method={AUTO!r}, which is {own.method} for this X,"
        valid = [name for name in METHOD_PARAMS if name in method(own.method)._get_param_names()]
        check_names(plan.method_params, valid, owner=owner, reserved={})
        plan = plan._replace(method=own.method, method_params={**own.method_params, **plan.method_params})
    return plan


def without_zeros(features: Features, plan: Plan) -> Features:
    """The table that members are made from: dense counts without their zeros, which k-means need not read."""
    X, (generator, params) = features.X, plan[:2]
    if sp.issparse(X) or generator != SPARSE_GENERATOR or params.get("preprocess") != "tf-idf":
        return features
    if "tf-idf" not in suitable(features):
        return features
    return features.seen_as(sp.csr_array(X), np.arange(features.n_features))


def generator_settings() -> list[str]:
    """Parameters of generators that may be given without naming one.

    These are the parameters that all generators of dense X have.
    """
    first, *others = (generators()[name].parameters for name in GENERATORS)
    return [name for name in first if all(name in one for one in others)]


def check_params(plan: Plan) -> None:
    """Raise if a choice is left to the rule and a parameter is given that not all candidates have."""
    if is_auto(plan.generator):
        owner = f"generator={AUTO!r}, which is {' or '.join(GENERATORS)},"
        check_names(plan.generator_params, generator_settings(), owner=owner, reserved={})
    if is_auto(plan.method):
        owner = f"method={AUTO!r}, which is {', '.join(METHODS[:-1])} or {METHODS[-1]},"
        check_names(plan.method_params, METHOD_PARAMS, owner=owner, reserved={})


def _check_sparse(plan: Plan) -> None:
    """Raise if a parameter is given that the rule's choice for tables of mostly zeros does not have."""
    if is_auto(plan.generator):
        owner = f"generator={AUTO!r}, which is {SPARSE_GENERATOR} for an X of mostly zeros,"
        valid = [name for name in generator_settings() if name in generators()[SPARSE_GENERATOR].parameters]
        check_names(plan.generator_params, valid, owner=owner, reserved={})
