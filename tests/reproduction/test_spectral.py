import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from consilience.metrics import scores
from reproduction.sets import load_set
from reproduction.spectral import NeighborSpectral


def test_near_by_cosine_does_not_see_the_length_of_rows():
    rng = np.random.default_rng(0)
    X = rng.random((40, 3)) + np.repeat([[5.0, 0, 0], [0, 5.0, 0]], 20, axis=0)
    long = X * rng.uniform(1, 50, (40, 1))
    model = NeighborSpectral(2, n_neighbors=5, metric="cosine", random_state=0)
    found = clone(model).fit_predict(sp.csr_matrix(long))
    assert np.array_equal(found, model.fit(X).labels_)
    assert np.array_equal(np.unique(found, return_counts=True)[1], [20, 20])


def test_ten_neighbors_have_the_printed_figures_of_a_newsgroup_task(shared_dir):
    held = load_set("comp_vs_sci", shared_dir / "data")
    rows = held.task == np.unique(held.task)[1]
    found = scores(held.truth[rows], NeighborSpectral(2, random_state=0).fit(held.features[rows]).labels_)
    assert round(100 * found["accuracy"], 2) == 51.94
    assert round(100 * found["nmi_max"], 2) == 4.12
