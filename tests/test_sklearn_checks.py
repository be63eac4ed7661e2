"""scikit-learn's own checks of estimators, on every estimator, with what is meant to fail and why."""

from __future__ import annotations

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

from consilience import _register

#: These run every check. Others have the same fit around another `_fit`: they run the checks of the
#: interface, in a tenth of the time.
IN_FULL = (
    "EvidenceAccumulation",
    "LWGP",
    "SCCABG",
    "CoassociationKMeans",
    "ConsensusClustering",
    "MDEC",
    "LSSMTC",
)

#: Checks that every consensus method fails, since it takes labels where the checks pass measurements.
OF_METHODS = {
    "check_clustering": "Normal numbers are refused as features, by a message that names "
    "ConsensusClustering.",
    "check_sample_weight_equivalence_on_dense_data": "Uniform numbers are refused as features.",
    "check_n_features_in": "Base clusterings are counted by n_clusterings_.",
    "check_n_features_in_after_fitting": "Base clusterings are counted by n_clusterings_.",
    "check_all_zero_sample_weights_error": "The message says that weights are positive, and names the first "
    "that is not.",
    "check_complex_data": "The message is about labels that cannot be categories.",
    "check_estimators_empty_data_messages": "The message is about clusterings, not features.",
    "check_fit2d_1sample": "The message is about objects, not samples.",
    "check_fit2d_predict1d": "The message says how a single clustering is passed.",
}
_CLASSIFIER = "The check takes all that has predict_proba for a classifier."
_MEMBERS = "Members are drawn at random: from repeated objects others than from weighted ones."
#: Checks that estimators of features with a consensus inside fail.
OF_FEATURES = {
    "check_estimator_sparse_array": _CLASSIFIER,
    "check_estimator_sparse_matrix": _CLASSIFIER,
    "check_sample_weight_equivalence_on_dense_data": _MEMBERS,
    "check_sample_weight_equivalence_on_sparse_data": _MEMBERS,
}
#: Checks that the multi-task methods fail.
OF_TASKS = {
    "check_n_features_in_after_fitting": "The message of predict about the number of features is our own.",
}
#: Checks that single estimators fail.
MORE = {
    "CoassociationKMeans": {
        "check_transformer_n_iter": "The start is the answer where objects are few: no iteration is needed."
    },
}


def expected(entry):
    kind = (
        OF_METHODS
        if entry in _register.CONSENSUS
        else OF_FEATURES
        if entry in _register.FEATURES
        else OF_TASKS
    )
    return kind | MORE.get(entry.name, {})


def small(entry):
    """Settings with which a fit takes no time."""
    cls = entry.load()
    known = cls(2).get_params()
    wanted = {"random_state": 0, "n_init": 1, "n_jobs": 1}
    if entry in _register.FEATURES:
        wanted["n_clusterings"] = 3
    return cls(2, **{name: value for name, value in wanted.items() if name in known})


@pytest.mark.parametrize("entry", _register.ESTIMATORS, ids=lambda entry: entry.name)
def test_checks_of_scikit_learn(entry):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = check_estimator(small(entry), legacy=entry.name in IN_FULL, on_skip=None, on_fail=None)
    failed = {one["check_name"]: one["exception"] for one in outcomes if one["status"] == "failed"}
    reasons = expected(entry)
    assert {name: str(error) for name, error in failed.items() if name not in reasons} == {}
    ran = {one["check_name"] for one in outcomes}
    assert [name for name in reasons if name in ran and name not in failed] == []  # it passes: take it out
    assert sum(one["status"] == "passed" for one in outcomes) > (40 if entry.name in IN_FULL else 10)
