"""The numbers behind the pictures of a study of k, and that they are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError

DISPLAYS = ("ChooseKDisplay", "CDFDisplay", "DeltaAreaDisplay", "TrackingDisplay", "SpectrumDisplay")


def three_groups(rng, each=30):
    centers = np.repeat([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]], each, axis=0)
    return rng.normal(size=centers.shape) + centers


@pytest.fixture(scope="module")
def study():
    X = three_groups(np.random.default_rng(0))
    return cs.choose_k(X, n_clusters=(2, 5), n_clusterings=12, random_state=0, verbose=False)


@pytest.fixture(scope="module")
def of_labels():
    rng = np.random.default_rng(1)
    groups = np.arange(60) % 3
    labels = np.where(rng.random((60, 8)) < 0.8, groups[:, None], rng.integers(0, 3, (60, 8)))
    labels[:, 6:] = groups[:, None] % 2
    return cs.choose_k(cs.Ensemble(labels), n_clusters=(2, 4))


def test_the_curve_and_its_band_are_those_of_the_study(study):
    display = cs.plot.ChooseKDisplay.from_study(study)
    assert display.statistic == "gain"
    np.testing.assert_array_equal(display.values, study.columns["gain"])
    around = study.references.ari - study.references.ari.mean(axis=0)
    within = (around >= display.low) & (around <= display.high)
    assert 0.85 <= within.mean() <= 0.97
    assert (display.n_clusters, display.verdict) == (study.n_clusters, study.verdict)


def test_without_references_the_eigengap_is_drawn_and_no_band(of_labels):
    display = cs.plot.ChooseKDisplay.from_study(of_labels)
    assert (display.statistic, display.low, display.high) == ("eigengap", None, None)
    assert cs.plot.SpectrumDisplay.from_study(of_labels).low is None


def test_the_band_of_a_spectrum_is_of_the_same_kind_of_clusterings():
    """Clusterings that are given have other spectra than those made for the references."""
    X = three_groups(np.random.default_rng(0))
    given = cs.generate.kmeans(X, n_clusterings=6, n_clusters=(2, 6), random_state=0)
    study = cs.choose_k(X, ensemble=given, n_clusters=(2, 4), random_state=0, verbose=False)
    assert study.references is not None
    assert cs.plot.SpectrumDisplay.from_study(study).low is None


def test_curves_of_pairs_end_at_one_and_hold_pac(study):
    display = cs.plot.CDFDisplay.from_study(study)
    assert display.n_clusters_tried == study.n_clusters_tried.tolist()
    for values, shares, pac in zip(display.values, display.shares, display.pac):
        assert shares[-1] == pytest.approx(1)
        assert (np.diff(values) > 0).all()
        within = shares[values < 0.9].max(initial=0) - shares[values <= 0.1].max(initial=0)
        assert within == pytest.approx(pac)


def test_only_numbers_with_clusterings_of_their_own_have_a_curve(of_labels):
    assert cs.plot.CDFDisplay.from_study(of_labels).n_clusters_tried == [2, 3]
    assert cs.plot.DeltaAreaDisplay.from_study(of_labels).n_clusters_tried.tolist() == [2, 3]
    alone = cs.choose_k(cs.Ensemble.from_clusterings([[0, 0, 1, 1], [0, 1, 2, 2]]), n_clusters=[2, 3])
    with pytest.raises(
        InputError, match="No two clusterings have the same number of clusters among \\[2, 3\\]"
    ):
        cs.plot.CDFDisplay.from_study(alone)


def test_delta_area_of_equal_clusters_is_known(study):
    display = cs.plot.DeltaAreaDisplay.from_study(study)
    k = np.arange(3, 6)
    np.testing.assert_allclose(display.balanced, [0.5, *(1 / (k * (k - 2)))])
    np.testing.assert_allclose(display.delta, study.columns["delta_area"])


def test_colors_are_kept_as_k_rises(study):
    display = cs.plot.TrackingDisplay.from_study(study)
    back = np.empty_like(display.labels)
    back[:, display.order] = display.labels
    for row, k in zip(back, study.n_clusters_tried.tolist()):
        assert cs.metrics.ari(study.labels(k), row) == 1
    for above, below in zip(display.labels, display.labels[1:]):
        # A cluster that splits leaves its name to one part; nothing is named after a cluster it has nothing
        # of.
        kept = [(above[below == j] == j).any() for j in np.unique(above)]
        assert all(kept)
    changes = (np.diff(display.labels[study.n_clusters_tried.tolist().index(study.n_clusters)]) != 0).sum()
    assert changes == study.n_clusters - 1  # nested here, so that clusters are side by side


def test_a_strip_is_at_most_so_wide(study):
    display = cs.plot.TrackingDisplay.from_study(study)
    assert display.strip(10).shape == (4, 10)
    np.testing.assert_array_equal(display.strip(10)[:, [0, -1]], display.labels[:, [0, -1]])
    assert display.strip().shape == display.labels.shape


def test_the_spectrum_names_the_largest_gap(study):
    display = cs.plot.SpectrumDisplay.from_study(study)
    assert display.values[0] == pytest.approx(1)
    gaps = (display.values[:-1] - display.values[1:])[study.n_clusters_tried - 1]
    assert display.named == study.n_clusters_tried[gaps.argmax()]


@pytest.mark.parametrize("name", DISPLAYS)
@pytest.mark.parametrize("which", ["study", "of_labels"])
def test_every_display_draws(name, which, request):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    display = getattr(cs.plot, name).from_study(request.getfixturevalue(which)).plot()
    assert display.ax_.get_title()
    assert display.figure_ is display.ax_.figure
    ax = pyplot.subplots()[1]
    assert getattr(cs.plot, name).from_study(request.getfixturevalue(which)).plot(ax=ax).ax_ is ax
    pyplot.close("all")


def test_one_cluster_is_drawn_too():
    pytest.importorskip("matplotlib").use("Agg")
    X = np.random.default_rng(3).normal(size=(60, 3))
    study = cs.choose_k(X, n_clusters=(2, 4), n_clusterings=8, random_state=0, verbose=False)
    assert study.n_clusters == 1
    for name in DISPLAYS:
        getattr(cs.plot, name).from_study(study).plot()
    assert "1 cluster (" in cs.plot.ChooseKDisplay.from_study(study).plot().ax_.get_title()


@pytest.mark.parametrize(
    ("what", "name"), list(zip(("evidence", "cdf", "delta_area", "tracking", "spectrum"), DISPLAYS))
)
def test_a_study_draws_itself(what, name, study):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    _, ax = plt.subplots()
    display = study.plot(what, ax=ax)
    assert (type(display).__name__, display.ax_) == (name, ax)
    assert ax.has_data()
    plt.close("all")


@pytest.mark.parametrize("name", DISPLAYS)
def test_displays_take_a_model_that_chose_its_number(name):
    X = three_groups(np.random.default_rng(0))
    model = cs.ConsensusClustering(generator="kmeans", random_state=0).fit(X)
    assert type(getattr(cs.plot, name).from_estimator(model)).__name__ == name
    with pytest.raises(InputError):
        getattr(cs.plot, name).from_estimator(cs.ConsensusClustering(3, generator="kmeans").fit(X))


def test_the_table_of_a_study_is_its_frame(study):
    assert study.to_frame().equals(study.table)


def test_swapped_arguments_are_told(study, tmp_path):
    with pytest.raises(InputError, match="save takes the object first, then the file: save.model, 'k'"):
        cs.save("k", study)
    with pytest.raises(InputError, match="path is ndarray, expected the name of a file"):
        cs.report(study, None, np.zeros(3))


def test_a_study_says_which_pictures_there_are(study):
    with pytest.raises(InputError, match="what='silhouette'.*'evidence', 'cdf'"):
        study.plot("silhouette")


def test_a_study_writes_its_report(study, tmp_path):
    study.report(tmp_path / "k.html")
    assert "<html" in (tmp_path / "k.html").read_text()


@pytest.mark.parametrize("name", [n for n in cs.plot.__all__ if hasattr(getattr(cs.plot, n), "from_study")])
def test_from_study_takes_models_that_chose_their_number(name):
    X = np.repeat([[0.0, 1], [5, 1], [5, 9]], 8, axis=0) + np.arange(24)[:, None] / 50
    model = cs.ConsensusClustering(generator="kmeans", n_clusterings=6, random_state=0).fit(X)
    display = getattr(cs.plot, name)
    assert vars(display.from_study(model)).keys() == vars(display.from_study(model.study_)).keys()
    with pytest.raises(InputError, match="is not a study of the number of clusters: pass what choose_k"):
        display.from_study(cs.consensus.LWEA(2))
