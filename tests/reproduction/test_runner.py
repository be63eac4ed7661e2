"""The runner with real worker processes: limits, failures, and being killed at any moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from consilience.errors import FileError, InputError
from reproduction.analyze import tables
from reproduction.cells import make_plan
from reproduction.protocol import Ensembles, load_protocol
from reproduction.run import Outcome, _Pool, commit, run
from reproduction.store import FILE, Store, read_store
from reproduction.work import drop_at_random, f1_self_pairs, fill_at_random, reliability, taken

ROOT = Path(__file__).parents[2]


def cells_of(folder) -> dict[str, dict]:
    records = list(read_store(folder).of("cell"))
    names = [record["name"] for record in records]
    assert len(set(names)) == len(names), "a cell was repeated"
    return {record["name"]: record for record in records}


def test_misbehaving_cells_are_recorded_and_the_rest_go_on(write_protocol, tmp_path):
    kinds = ["Fails", "Sleeps", "Hungry", "Dies", "Leaves", "First"]
    methods = [{"name": kind, "method": f"bench_methods:{kind}"} for kind in kinds]
    # Quick cells that keep the other worker busy must not keep the sleeper from its limit.
    methods += [
        {"name": f"quick {i}", "method": "bench_methods:First", "params": {"wait": 0.1}} for i in range(60)
    ]
    path = write_protocol(repetitions=1, methods=methods)
    out = tmp_path / "out"
    outcome = run(path, out=out, jobs=2, time_limit=3, memory_limit=400e6)
    errors = [record["error"] for record in cells_of(out).values() if "error" in record]
    assert (outcome.done, outcome.failed) == (66, 5), errors
    held = {record["method"]: record for record in cells_of(out).values()}
    assert held["First"]["scores"][""]["acc"] > 0
    assert held["First"]["commit"] == commit()
    assert held["Fails"]["error"]["type"] == "ValueError"
    assert held["Fails"]["error"]["message"] == "<b>no</b> | luck"
    assert held["Sleeps"]["error"]["type"] == "TimeLimit"
    assert "limit of 3 s" in held["Sleeps"]["error"]["message"]
    assert held["Hungry"]["error"]["type"] == "MemoryLimit"
    assert "code 7" in held["Dies"]["error"]["message"]
    assert "code 0" in held["Leaves"]["error"]["message"]  # whatever the code, a worker that ends is missed
    again = run(path, out=out, jobs=1)
    assert (again.done, again.before) == (0, 66)  # a failure is a result
    fixed = (
        Path(tmp_path / "bench_methods.py")
        .read_text()
        .replace("raise ValueError", "return super().fit(ensemble) #")
    )
    (tmp_path / "bench_methods.py").write_text(fixed)
    once_more = run(path, out=out, jobs=1, methods=["Fails"], retry=True)
    assert (once_more.done, once_more.failed) == (1, 0)


def test_the_commit_of_a_checkout_and_whether_files_differ_from_it(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True, capture_output=True)

    assert commit(tmp_path / "absent") == ""
    git("init")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "First")
    clean = commit(tmp_path)
    assert len(clean) == 10
    (tmp_path / "other").write_text("results, which git does not follow")
    assert commit(tmp_path) == clean
    (tmp_path / "file").write_text("two")
    assert commit(tmp_path) == clean + "+"


def test_what_is_over_a_limit_once_is_not_tried_again(write_protocol, tmp_path):
    """The limit is the protocol's own; other methods, and other sets, go on."""
    methods = [{"name": kind, "method": f"bench_methods:{kind}"} for kind in ("Sleeps", "First")]
    path = write_protocol(repetitions=4, methods=methods, time_limit=3.0)
    outcome = run(path, out=tmp_path / "out", jobs=1)
    assert (outcome.done, outcome.failed) == (8, 4)
    errors = [r["error"] for r in cells_of(tmp_path / "out").values() if r["method"] == "Sleeps"]
    assert {error["type"] for error in errors} == {"TimeLimit"}
    assert sorted(error["message"] for error in errors) == [
        *["not tried, as another repetition took longer than the limit of 3 s"] * 3,
        "took longer than the limit of 3 s",
    ]


def test_methods_that_take_features(write_protocol, tmp_path):
    """Ours with its confidence; scikit-learn's; and a mixture, which has neither labels_ nor n_clusters."""
    methods = [
        {"name": "ours", "method": "ConsensusClustering"},
        {"name": "KMeans", "method": "sklearn.cluster:KMeans", "params": {"n_init": 10}},
        {"name": "GMM", "method": "sklearn.mixture:GaussianMixture", "params": {"n_components": "$c"}},
    ]
    path = write_protocol(repetitions=1, methods=[{**method, "input": "features"} for method in methods])
    outcome = run(path, out=tmp_path / "out", jobs=1)
    held = {record["method"]: record for record in cells_of(tmp_path / "out").values()}
    assert (outcome.done, outcome.failed) == (3, 0), held
    assert all(record["scores"][""]["acc"] > 0.8 for record in held.values())
    assert "reliability" not in held["KMeans"]
    parts = held["ours"]["reliability"]
    assert sum(objects for objects, _ in parts) == 150
    assert sum(right for _, right in parts) == round(150 * held["ours"]["scores"][""]["acc"])


def test_reliability_by_hand():
    truth = np.array([7, 7, 7, 3, 3, 3])
    labels = np.array([1, 1, 0, 0, 0, 0])  # cluster 1 is class 7, cluster 0 is class 3; the third is wrong
    confidence = np.array([1.0, 0.9, 0.95, 0.6, 0.59, 0.0])
    assert reliability(labels, confidence, truth) == [[2, 1], [2, 2], [2, 2]]


def test_time_that_the_runner_takes_is_not_the_cells(tmp_path, monkeypatch):
    """A disk that is slow to take a record must not put another cell over its limit.

    That cell has answered meanwhile.
    """
    ended = []
    monkeypatch.setattr(_Pool, "_drop", lambda pool, worker: ended.append(worker))
    monkeypatch.setattr(_Pool, "_finish", lambda pool, task, answer: ended.append(answer["error"]["type"]))
    ours, theirs = multiprocessing.Pipe()
    worker = SimpleNamespace(task="a cell", connection=ours, since=time.monotonic() - 60)
    with Store(tmp_path) as store:
        pool = _Pool(store, None, 1, (1.0, None), Outcome())
        theirs.send({"scores": {}})
        pool._watch(worker)
        assert ended == []
        ours.recv()
        pool._watch(worker)
        assert ended == [worker, "TimeLimit"]


def test_ensembles_that_cannot_be_made_fail_their_cells_only(write_protocol, tmp_path):
    path = write_protocol(ensembles={"generator": "bench_methods:broken", "size": 3})
    outcome = run(path, out=tmp_path / "out", jobs=1)
    assert (outcome.done, outcome.failed) == (2, 2)
    for record in cells_of(tmp_path / "out").values():
        assert "RuntimeError: no clusterings today" in record["error"]["message"]


def command(out: Path, *more: str) -> list[str]:
    options = ["--out", str(out), "--sets", "iris,wine", "--jobs", "2", "--quiet", *more]
    return [sys.executable, "-m", "reproduction", "run", "bundled", *options]


def workers_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"PPid:\t{pid}\n" in (entry / "status").read_text():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at /proc")
def test_killed_at_any_moment_it_continues_where_it_was(tmp_path):
    """Kill -9 during start, base clusterings and cells; nothing finished is lost, nothing is run twice."""
    out, lines = tmp_path / "out", 0
    planned = {
        cell.name for cell in make_plan(load_protocol("bundled").restricted(["iris", "wine"]), None).cells
    }
    for wanted in (2, 25):
        process = subprocess.Popen(command(out), cwd=ROOT)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            lines = (out / FILE).read_bytes().count(b"\n") if (out / FILE).exists() else 0
            if lines >= wanted:
                break
            time.sleep(0.002)
        orphans = workers_of(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        finished = set(cells_of(out))
        deadline = time.monotonic() + 10
        while any(Path(f"/proc/{pid}/stat").exists() for pid in orphans) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(Path(f"/proc/{pid}/stat").exists() for pid in orphans), "a worker outlived its runner"
    assert finished < planned
    # A line torn in the middle, as if the machine had gone down while writing.
    whole = (out / FILE).read_bytes()
    (out / FILE).write_bytes(whole[: len(whole) - 7])
    before = cells_of(out)
    outcome = run("bundled", out=out, sets=["iris", "wine"], jobs=2)
    after = cells_of(out)
    assert set(after) == planned
    assert outcome.before == len(before)
    assert outcome.done == len(planned) - len(before)
    assert all(after[name] == record for name, record in before.items())
    assert not any("error" in record for record in after.values())
    # Uninterrupted, with one worker, the same figures come out: seeds are the cells' own.
    calm = tmp_path / "calm"
    run("bundled", out=calm, sets=["iris"], repetitions=1, jobs=1)
    for name, record in cells_of(calm).items():
        assert after[name]["scores"] == record["scores"]


def test_each_cell_has_its_own_seed_and_base_clusterings_are_shared(write_protocol, tmp_path):
    methods = [
        {"name": "one", "method": "bench_methods:Random"},
        {"name": "two", "method": "bench_methods:Random"},
        {"name": "a", "method": "bench_methods:First"},
        {"name": "b", "method": "bench_methods:First"},
    ]
    outcome = run(write_protocol(methods=methods), out=tmp_path / "out", jobs=2)
    assert outcome.bases == 2  # one per repetition, whatever the number of methods
    assert len(list((tmp_path / "out" / "base").iterdir())) == 2
    held = {(r["method"], r["repetition"]): r["scores"] for r in cells_of(tmp_path / "out").values()}
    assert held["a", 0] == held["b", 0]
    assert held["a", 0] != held["a", 1]
    assert held["one", 0] != held["two", 0] != held["one", 1]
    # A damaged cache is made again, the same as before.
    cached = next((tmp_path / "out" / "base").iterdir())
    whole = np.load(cached)["labels"]
    cached.write_bytes(b"damaged")
    (tmp_path / "out" / FILE).unlink()
    again = run(write_protocol(methods=methods), out=tmp_path / "out", jobs=2)
    assert (again.done, again.failed, again.bases) == (8, 0, 1)
    assert np.array_equal(np.load(cached)["labels"], whole)


def test_arguments_are_checked(tmp_path, write_protocol):
    with pytest.raises(InputError, match="time_limit=0"):
        run(write_protocol(), out=tmp_path / "o", time_limit=0)
    with pytest.raises(InputError, match="threads=0"):
        run(write_protocol(), out=tmp_path / "o", threads=0)
    with pytest.raises(InputError, match="repetitions=0"):
        run(write_protocol(), out=tmp_path / "o", repetitions=0)
    (tmp_path / "plain").write_text("")
    with pytest.raises(FileError, match="Cannot write results"):
        run(write_protocol(), out=tmp_path / "plain")


def test_taking_dropping_and_filling():
    members = np.arange(40).reshape(4, 10)
    blocks, draws = Ensembles(size=3, take="consecutive"), Ensembles(size=3, take="random")
    assert taken(members, blocks, 1, "x")[0].tolist() == [3, 4, 5]
    assert taken(members, Ensembles(size=3, take="first"), 1, "x")[0].tolist() == [0, 1, 2]
    drawn = taken(members, draws, 1, "x")[0]
    assert len(set(drawn)) == 3
    assert np.array_equal(drawn, taken(members, draws, 1, "x")[0])
    with pytest.raises(InputError, match="needs 12"):
        taken(members, blocks, 3, "x")
    labels = np.tile(np.arange(10)[:, None] % 3, (1, 5))
    drop_at_random(labels, 0.3, np.random.default_rng(0))
    assert ((labels < 0).sum(axis=0) == 3).all()
    filled = fill_at_random(labels, np.random.default_rng(0))
    assert filled.min() >= 0
    assert np.array_equal(filled[labels >= 0], labels[labels >= 0])
    labels = np.tile(np.arange(40)[:, None], (1, 3))
    drop_at_random(labels, 0.9, np.random.default_rng(0))
    assert (labels >= 0).any(axis=1).all()  # nobody is left without evidence
    assert (labels >= 0).any(axis=0).all()
    assert (labels < 0).mean() > 0.6


def test_threads_of_workers_are_held(write_protocol, tmp_path, monkeypatch):
    (tmp_path / "threads_method.py").write_text(
        "import os, joblib, threadpoolctl\n"
        "from bench_methods import First\n"
        "class Threads(First):\n"
        "    def fit(self, ensemble):\n"
        "        blas = max((pool['num_threads'] for pool in threadpoolctl.threadpool_info()), default=1)\n"
        "        raise ValueError(f'{joblib.cpu_count()} {blas}')\n"
    )
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    path = write_protocol(repetitions=1, methods=[{"name": "T", "method": "threads_method:Threads"}])
    run(path, out=tmp_path / "out", jobs=1, threads=1)
    (record,) = cells_of(tmp_path / "out").values()
    assert record["error"]["message"] == "1 1"
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_the_store_does_not_say_where_the_data_lie(write_protocol, tmp_path):
    sets = [{"name": "iris", "data": "sklearn:iris"}, {"name": "gone", "data": "gone"}]
    method = {"name": "First", "method": "bench_methods:First"}
    path = write_protocol(repetitions=1, sets=sets, methods=[method])
    outcome = run(path, out=tmp_path / "out", data=tmp_path, jobs=1)
    assert str(tmp_path) in dict(outcome.skipped)["gone"]  # whoever runs it is told
    (record,) = read_store(tmp_path / "out").of("run")
    assert record["skipped"] == [
        ["gone", "gone: none of gone.npz, gone.mat, gone.csv is in the data folder."]
    ]


def test_f1_with_self_pairs_by_hand():
    # Clusters {0,1,2},{3} against classes {0,1},{2,3}: sums of squares of the table 4+1+1, of its margins 9+1
    # and 4+4.
    assert f1_self_pairs(np.array([0, 0, 0, 1]), np.array(list("aabb"))) == pytest.approx(2 * 6 / (10 + 8))


@pytest.mark.slow
def test_the_authors_allaml_ensembles_give_the_printed_figures(shared_dir, tmp_path):
    """On the ensembles behind the printed table, through the runner, these must come out to the digit."""
    methods = ["KM", "KM-best", "LWEA", "SCCBG-W", "SPCE"]
    protocol = load_protocol("sccabg").restricted(["pool_allaml"], methods)
    outcome = run(protocol, out=tmp_path, data=shared_dir / "data", jobs=2)
    assert (outcome.failed, outcome.skipped) == (0, [])
    figures = tables(load_protocol("sccabg"), read_store(tmp_path))["figures"]
    as_printed = {
        "KM": "default",
        "KM-best": "default",
        "LWEA": "default",
        "SCCBG-W": "tuned",
        "SPCE": "tuned",
    }
    compared = 0
    for measure in ("ACC", "NMI", "ARI", "F1"):
        for figure in figures[(figures.measure == measure) & (figures.column != "printed")].itertuples():
            if figure.column != as_printed[figure.method] or (
                figure.method == "SPCE" and measure in ("ARI", "F1")
            ):
                # the printed ARI and F1 of SPCE follow another rule than the best threshold per ensemble
                continue
            assert figure.mean == pytest.approx(figure.printed, abs=5.1e-5), figure
            if figure.method != "KM" or measure in ("ACC", "NMI"):
                assert figure.std == pytest.approx(figure.printed_std, abs=5.1e-5), figure
            compared += 1
    assert compared == 18
