"""What ``ConsensusClustering()`` does when it is not told: one rule for everybody, by the sizes of the problem.

| objects                                                 | members                        | how many | theta of LWEA |
|---------------------------------------------------------|--------------------------------|----------|---------------|
| up to 1,000                                             | metric-subspace                | 50       | .4            |
| up to 2,500                                             | metric-subspace                | 30       | .4            |
| up to EXACT_UP_TO; dense ones up to DENSE_UP_TO, while  | metric-subspace                | 20       | .4            |
| n^2 d is at most EXACT_WORK                             |                                |          |               |
| beyond                                                  | landmarks, N_LANDMARKS of each | 20       | 1             |

The consensus is LWEA: it links all distinct objects up to LINKED; of more it links a sample of so many, and places the others.
Every member sees the features prepared in a way drawn for it (``prepare="diverse"``), and half of them, but at least
FEWEST_FEATURES: of two features, one alone says little. Members of metric-subspace have 2 to max(sqrt(n), 2 c) clusters, at most
half as many as there are objects, and take equal objects for one, without which the graph of a table with many equal rows falls
apart; those of landmarks have at most the larger of their own limit and 2 c, and a third of that at least.

The rule was chosen on one half of the sets of the protocol ``defaults`` and is reported on the other, with what else was
tried: docs/methods/consensus-clustering.md. It never looks at true labels, nor at the values of X.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import scipy.sparse as sp

from .features import Features
from .generate import generators
from .naming import AUTO, check_names, find

#: Objects up to which all are compared with each other: that costs n^2 d. Beyond, landmarks cost n d, and find somewhat less.
EXACT_UP_TO = 5_000
#: The same for dense X, while n^2 d is at most EXACT_WORK. Sparse products are slower.
DENSE_UP_TO, EXACT_WORK = 12_000, 4e10
#: Distinct objects that are linked: their pairs take 800 MB.
LINKED = 10_000
N_LANDMARKS = 1_000
FEWEST_FEATURES = 8
GENERATORS = ("metric-subspace", "landmarks")
METHOD = "lwea"
#: Parameters of METHOD that may be given without naming it.
METHOD_PARAMS = ("theta", "sample")


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


def compares_all(n: int, d: int, *, sparse: bool) -> bool:
    """Whether members compare every object with every other."""
    return n <= EXACT_UP_TO or (not sparse and n <= DENSE_UP_TO and float(n) * n * d <= EXACT_WORK)


def default_plan(features: Features, n_clusters: int) -> Plan:
    """The rule."""
    n, d = features.shape
    params: dict[str, Any] = {"prepare": "diverse", "ratio": min(1.0, max(0.5, FEWEST_FEATURES / d))}
    exact = compares_all(n, d, sparse=sp.issparse(features.X))
    generator = "metric-subspace" if exact else "landmarks"
    widest = generators()[generator].widest
    assert widest is not None
    top = min(max(widest(n, n_clusters), 2 * n_clusters), max(2, n // 2, n_clusters))
    params["k_max"] = min(top, features.distinct_rows(top))
    params |= {"distinct": True} if exact else {"n_landmarks": max(N_LANDMARKS, top)}
    count = 50 if n <= 1_000 else 30 if n <= 2_500 else 20
    return Plan(generator, params, count, METHOD, {"theta": 0.4 if exact else 1.0, "sample": LINKED})


def fill_in(plan: Plan, features: Features, n_clusters: int) -> Plan:
    """A plan with what the user left to the rule; parameters that were given stay."""
    own = default_plan(features, n_clusters)
    if is_auto(plan.generator):
        params = {**own.generator_params, **plan.generator_params}
        if plan.generator_params.get("k_min") is not None and "k_max" not in plan.generator_params:
            params.pop("k_max", None)  # it may lie below: the generator has a range of its own from there
        count = own.n_clusterings if plan.n_clusterings is None else plan.n_clusterings
        plan = plan._replace(generator=own.generator, generator_params=params, n_clusterings=count)
    if is_auto(plan.method):
        plan = plan._replace(method=own.method, method_params={**own.method_params, **plan.method_params})
    return plan


def generator_settings() -> list[str]:
    """Parameters of generators that may be given without naming one: those that all generators of the rule have."""
    first, *others = (generators()[name].parameters for name in GENERATORS)
    return [name for name in first if all(name in one for one in others)]


def check_params(plan: Plan) -> None:
    """Raise where a choice is left to the rule and a parameter given that not all of its candidates have."""
    if is_auto(plan.generator):
        owner = f"generator={AUTO!r}, which is {' or '.join(GENERATORS)},"
        check_names(plan.generator_params, generator_settings(), owner=owner, reserved={})
    if is_auto(plan.method):
        owner = f"consensus={AUTO!r}, which is {METHOD},"
        check_names(plan.method_params, METHOD_PARAMS, owner=owner, reserved={})
