"""Files of models: what comes back, and what is refused."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import consilience as cs
from consilience.errors import ConsilienceError, FileError, InputError

from ..pipeline.test_predict import BLOBS, GENERATORS, pipeline
from ..zoo import planted, random_sparse

LABELS, _ = planted()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.consilience"


@pytest.fixture
def saved(path):
    cs.consensus.EvidenceAccumulation(n_clusters=3).fit(LABELS).save(path)
    return path


@pytest.mark.parametrize("generator", ["auto", *GENERATORS])
def test_pipelines_predict_new_rows_the_same(generator, path):
    model = pipeline(generator, m=18, generator_params={"preprocess": "diverse"})
    model.save(path)
    again = cs.load(path)
    fresh = np.vstack([BLOBS[:20], BLOBS + 0.3])
    np.testing.assert_array_equal(again.predict(fresh), model.predict(fresh))
    np.testing.assert_array_equal(again.predict_proba(fresh), model.predict_proba(fresh))
    np.testing.assert_array_equal(again.predict_confidence(fresh), model.predict_confidence(fresh))
    np.testing.assert_array_equal(again.score_samples(fresh), model.score_samples(fresh))
    assert again.ensemble_ == model.ensemble_
    assert again.ensemble_.recipes == model.ensemble_.recipes
    assert again.plan_ == model.plan_
    assert again.n_features_in_ == 6
    assert repr(again) == repr(model)


def test_sparse_rows_and_mdec(path):
    X = random_sparse((60, 30), 0.3)
    model = cs.MDEC(3, n_clusterings=6, random_state=0).fit(X)
    model.save(path)
    fresh = X * 1.5
    np.testing.assert_array_equal(cs.load(path).predict_proba(fresh), model.predict_proba(fresh))


def test_rows_of_fit_are_stored_once(path):
    X, _ = make_blobs(500, 50, random_state=0)
    pipeline("metric-subspace", X, 30).save(path)
    # Beside the rows, each of the 30 members keeps a label and a width of every row.
    assert os.path.getsize(path) < 1.5 * X.nbytes + 30 * 500 * 10


def test_the_same_in_another_process_and_for_any_number_of_threads(path, tmp_path):
    model = pipeline("kmeans", method="lwgp")
    model.save(path)
    fresh = BLOBS + 0.3
    np.save(tmp_path / "X.npy", fresh)
    code = (
        "import sys, numpy as np, consilience as cs\n"
        "model = cs.load(sys.argv[1]).set_params(n_jobs=int(sys.argv[4]))\n"
        "np.save(sys.argv[3], model.predict_proba(np.load(sys.argv[2])))\n"
    )
    for n_jobs in ("1", "2"):
        model.set_params(n_jobs=int(n_jobs))
        out = tmp_path / "out.npy"
        files = [str(path), str(tmp_path / "X.npy"), str(out), n_jobs]
        subprocess.run([sys.executable, "-c", code, *files], check=True)
        np.testing.assert_array_equal(np.load(out), model.predict_proba(fresh))


def test_equal_models_are_equal_files(path, tmp_path):
    for target in (path, tmp_path / "again"):
        cs.consensus.LWEA(3).fit(LABELS).save(target)
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


def test_categories_of_every_kind(path):
    day = np.array(["2020-01-01", "2020-01-02"] * 2, "M8[s]")
    labels = {
        "text": ["a", "ä\n", "a", "ä\n"],
        "number": [1, 2.5, 1, 2.5],
        "day": day,
        "mixed": ["x", 3, "x", 3],
        "date": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * 2,
        "wide": [2**62, 5, 2**62, 5],
    }
    model = cs.consensus.EvidenceAccumulation(n_clusters=2).fit(labels)
    model.save(path)
    again = cs.load(path)
    assert again.predict(labels).tolist() == model.labels_.tolist()
    assert again.distinct_.clustering_names == list(labels)
    for own, other in zip(again.distinct_.categories, model.distinct_.categories):
        assert own.dtype == other.dtype
        assert own.tolist() == other.tolist()


def test_names_and_seeds_of_every_kind(path):
    names = ["a", 3, ("b", 1), datetime.datetime(2020, 1, 1, 12), None, 1.5]
    ensemble = cs.Ensemble(LABELS[:6], sample_names=names)
    for seed in (
        np.random.default_rng(3),
        np.random.RandomState(3),
        np.random.Generator(np.random.MT19937(3)),
        3,
    ):
        model = cs.consensus.SEC(n_clusters=2, random_state=seed).fit(ensemble)
        model.save(path)
        again = cs.load(path)
        assert again.sample_names_ == names
        np.testing.assert_array_equal(again.fit(ensemble).labels_, model.fit(ensemble).labels_)


def test_a_loaded_model_can_be_used_on(saved, tmp_path):
    again = cs.load(saved)
    assert again.to_frame().shape == (60, 2)
    again.save(tmp_path / "second")
    np.testing.assert_array_equal(cs.load(tmp_path / "second").predict(LABELS), again.labels_)
    again.set_params(n_clusters=2).fit(LABELS)
    assert again.labels_.max() == 1
    model = pipeline("kmeans", pd.DataFrame(BLOBS, columns=list("abcdef")))
    model.save(tmp_path / "third")
    third = cs.load(tmp_path / "third")
    assert third.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        third.predict(pd.DataFrame(BLOBS, columns=list("bacdef")))


def test_an_ensemble_comes_back(path):
    labels = np.array([["a", None], ["b", 3], ["a", 3], ["b", 2**60]], object)
    ensemble = cs.Ensemble(
        labels,
        clustering_names=["x", "y"],
        sample_names=list("pqrs"),
        sample_weight=[1, 2, 3, 4],
        recipes=[{"k": 2}, {}],
    )
    cs.save(ensemble, path)
    again = cs.load(path)
    assert again == ensemble
    assert again.recipes == ensemble.recipes
    np.testing.assert_array_equal(again.sample_weight, ensemble.sample_weight)


def test_an_ensemble_of_generators_labels_further_rows(path):
    ensemble = cs.generate.landmarks(BLOBS, n_clusterings=3, random_state=0, keep_base_models=True)
    cs.save(ensemble, path)
    again = cs.load(path)
    for i, (one, other) in enumerate(zip(ensemble.base_models, again.base_models)):
        np.testing.assert_array_equal(one.label(BLOBS[:9]), other.label(BLOBS[:9]), err_msg=str(i))


def test_a_study_comes_back(path):
    study = cs.choose_k(BLOBS, n_clusters=[2, 3], n_clusterings=5, null=None, random_state=0)
    study.save(path)
    again = cs.load(path)
    assert type(again) is cs.io.ChooseKResult
    assert str(again) == str(study)
    np.testing.assert_array_equal(again.labels(3), study.labels(3))
    np.testing.assert_array_equal(again.model(3).labels_, study.model(3).labels_)
    cs.save(again, path)
    assert str(cs.load(path).to_dict()) == str(study.to_dict())  # NaN is what it is


@pytest.mark.parametrize("obj", [np.zeros(3), {"a": 1}, None, cs.io.Features(np.eye(3))])
def test_what_is_no_model_ensemble_or_study_is_refused(obj, path):
    with pytest.raises(InputError, match="nor an ensemble or a study"):
        cs.save(obj, path)
    assert not os.path.exists(path)


def test_errors_of_files_are_errors_of_the_system_too(path):
    with pytest.raises(OSError, match="no such file"):
        cs.load(path)
    with pytest.raises(FileError, match="no such file"):
        cs.load(path)


# What is refused --------------------------------------------------------------------------------------------


def test_what_cannot_be_saved(path):
    with pytest.raises(Exception, match="not fitted"):
        cs.consensus.LWEA(2).save(path)
    with pytest.raises(InputError, match=r"parameter generator is KMeans.*cannot be saved"):
        pipeline(KMeans(4), m=2).save(path)
    with pytest.raises(InputError, match=r"parameter generator is <function"):
        cs.ConsensusClustering(2, generator=lambda X: [np.arange(160) % 2]).fit(BLOBS).save(path)
    with pytest.raises(InputError, match="KMeans is not an estimator of consilience"):
        cs.io.save(KMeans(2).fit(BLOBS), path)
    ensemble = cs.Ensemble(LABELS[:2], sample_names=[pd.Timestamp("2020-01-01 00:00:00.000000001"), 2])
    model = cs.consensus.EvidenceAccumulation(n_clusters=2).fit(ensemble)
    with pytest.raises(InputError, match="cannot be saved exactly"):
        model.save(path)
    assert not path.exists()  # whole or not at all


def rewrite(path, change, *, arrays=True):
    """The same archive with other JSON."""
    with zipfile.ZipFile(path) as archive:
        held = {info.filename: archive.read(info) for info in archive.infolist()}
    content = json.loads(held["model.json"])
    content = change(content) or content
    held["model.json"] = json.dumps(content).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in held.items():
            if arrays or name == "model.json":
                archive.writestr(name, data)


def test_newer_files_are_refused(saved):
    rewrite(saved, lambda content: content.update(version=2, written_by="consilience 9.0"))
    with pytest.raises(
        FileError,
        match=r"has version 2 of the format, written by consilience 9.0; .* reads up to version 1. Update",
    ):
        cs.load(saved)


@pytest.mark.parametrize(
    "content", [b"", b"name,label\na,1\n", b"\x93NUMPY", b"\x80\x04\x95pickle", b"PK\x03\x04 not really"]
)
def test_foreign_files_are_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"model.consilience"):
        cs.load(path)


def test_archives_of_others_are_refused(path):
    with open(path, "wb") as handle:
        np.savez(handle, labels=LABELS)
    with pytest.raises(
        FileError, match=r"an archive, but not a model of consilience: it holds no model.json"
    ):
        cs.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "[1]")
    with pytest.raises(FileError, match=r"model.json does not say that it is one"):
        cs.load(path)
    with pytest.raises(FileError, match="no such file"):
        cs.load(path.with_name("other"))


def test_every_cut_is_noticed(saved):
    whole = saved.read_bytes()
    for end in range(0, len(whole), max(1, len(whole) // 60)):
        saved.write_bytes(whole[:end])
        with pytest.raises(FileError):
            cs.load(saved)


def test_damaged_bytes_are_refused_or_change_nothing(saved):
    whole, expected = saved.read_bytes(), cs.load(saved).labels_
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(bytes(damaged))
        try:
            found = cs.load(saved).labels_
        except ConsilienceError:
            refused += 1
        else:
            np.testing.assert_array_equal(found, expected)
    assert refused > 30


def edited(node, change):
    """Apply a change to every object of a JSON document."""
    if isinstance(node, dict):
        change(node)
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        edited(item, change)


@pytest.mark.parametrize(
    "change",
    [
        lambda node: node.update({"!": "os.system"}) if node.get("!") == "Compressed" else None,
        lambda node: node.update({"!": "_thing"}) if node.get("!") == "array" else None,
        lambda node: node.update(name="Popen") if node.get("!") == "estimator" else None,
        lambda node: node.update(name="SPMTC") if node.get("!") == "estimator" else None,
        lambda node: node["params"].update(shell=1) if node.get("!") == "estimator" else None,
        lambda node: node.update(name="../../etc/passwd") if node.get("!") == "array" else None,
        lambda node: node.update(id=10**6) if node.get("!") == "same" else None,
        lambda node: node["parts"].pop("labels") if node.get("!") == "Compressed" else None,
    ],
)
def test_hostile_words_are_refused(saved, change):
    rewrite(saved, lambda content: edited(content, change))
    with pytest.raises(FileError, match=r"model.consilience"):
        cs.load(saved)


def test_deep_nests_are_refused(saved):
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr(
            "model.json",
            '{"format": "consilience model", "version": 1, "model": ' + "[" * 10**5 + "]" * 10**5 + "}",
        )
    with pytest.raises(FileError):
        cs.load(saved)


@pytest.mark.parametrize("name", ["inverse", "rows", "labels"])
def test_numbers_that_compiled_code_would_follow_are_checked(saved, name):
    """Whole files with good checksums, whose indices lead out of their arrays."""
    with zipfile.ZipFile(saved) as archive:
        held = {info.filename: archive.read(info) for info in archive.infolist()}
    found = []
    edited(
        json.loads(held["model.json"]),
        lambda node: found.append(node["parts"]) if node.get("!") == "Compressed" else None,
    )
    array = found[0][name]["name"]
    with zipfile.ZipFile(saved, "w") as archive:
        for key, data in held.items():
            if key == array:
                data = data[:-2] + b"\x00\x70"  # the last number, far too large
            archive.writestr(key, data)
    with pytest.raises(FileError, match=r"model.consilience"):
        cs.load(saved)


def test_a_member_that_gives_other_codes_is_refused():
    class Stray:
        def label(self, X):
            return np.full(X.shape[0], 10**6)

    def generator(X):
        return cs.Ensemble.from_clusterings(
            [np.arange(160) % 4, np.arange(160) // 40], base_models=[Stray(), Stray()]
        )

    model = cs.ConsensusClustering(2, generator=generator).fit(BLOBS)
    with pytest.raises(InputError, match="gave the label 1000000, which is no code of its clustering"):
        model.predict(BLOBS + 1)
