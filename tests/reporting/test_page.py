"""What the page says and does not say; no browser needed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp

import consilience as cs
from consilience._base.parameters import listed
from consilience._evidence import table as evidence
from consilience._kernels.labels import incidence
from consilience._reporting import _payload
from consilience._reporting._embed import pack, printable, to_json
from consilience._reporting._words import count, duration, percent
from consilience._results.view import Fitted
from consilience.errors import FileError, InputError, MissingDependencyError

from .conftest import HOSTILE, groups


class Page(HTMLParser):
    """The parts of a page that tests ask about."""

    VOID = {"meta", "img", "br", "input", "link", "hr", "option"}

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.headings, self.ids, self.tags, self.scripts = [], [], [], []
        self.visible = ""
        self.external = []
        self._stack: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.external += [
            (tag, name, value)
            for name, value in attributes.items()
            if name in ("src", "href", "action", "data", "srcset")
            and not (value or "").startswith("#")
            and value != "data:,"
        ]
        self.external += [(tag, name, value) for name, value in attributes.items() if name.startswith("on")]
        if tag not in self.VOID:
            self._stack.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        while self._stack and self._stack.pop() != tag:
            pass

    def handle_data(self, data):
        inside = self._stack[-1] if self._stack else ""
        if inside == "script":
            self.scripts[-1] += data
        elif inside != "style":
            self.visible += data
            if inside in ("h1", "h2", "h3"):
                self.headings.append(data.strip())

    @property
    def data(self):
        return json.loads(self.scripts[0])


@pytest.fixture(scope="module")
def small():
    X, labels, truth = groups(90, 3, 8)
    return cs.consensus.EvidenceAccumulation(n_clusters=3).fit(labels), X, truth


def test_sections_exist_only_where_there_is_something_to_say(small):
    model, X, truth = small
    plain = Page(cs.report(model).html)
    assert not {"history", "comparison", "truth", "warnings"} & set(plain.ids)
    assert {"answer", "doubt", "evidence", "base", "done"} <= set(plain.ids)
    other = cs.consensus.CoassociationKMeans(n_clusters=3, random_state=0).fit(
        model.distinct_.labels[model.distinct_.inverse]
    )
    full = Page(
        cs.report({"average": model, "k-means": other}, X, labels_true=truth, warnings=["look out"]).html
    )
    assert {"comparison", "truth", "warnings"} <= set(full.ids)
    assert "look out" in full.visible
    links = re.findall(r'<li><a href="#(\w+)">', cs.report(model).html)
    assert set(links) <= set(plain.ids)


def test_history_and_pacing_have_a_section():
    _, labels, _ = groups(60, 3, 6)
    model = cs.SCCABG(n_clusters=3).fit(labels)
    page = Page(cs.report(model).html)
    assert "How the method got there" in page.headings
    assert "Self-pacing: easy evidence first" in page.visible
    shares = [100 * entry["mean_W"] for entry in model.history_]
    assert f"{min(shares):.3g}% at least, {shares[-1]:.3g}% at the end" in page.visible
    assert "What the method minimizes" in page.visible
    assert "Pieces of the learned graph" in page.visible


@pytest.mark.parametrize("method", [cs.SPCE(3, threshold=0.1), cs.consensus.LWEA(3), cs.SCCABG(3)])
def test_the_page_trusts_noise_least(method):
    _, labels, _ = groups(90, 3, 6)
    labels[:, 2] = np.random.default_rng(99).integers(0, 3, 90)
    html = cs.report(method.fit(labels)).html
    row = r'<th scope="row" class="text">(clustering \d)</th>.*<b>([\d.e-]+)</b></span></td></tr>'
    trust = {name: float(share) for name, share in re.findall(row, html)}
    assert "Trust is the weight that the method learned" in html
    assert min(trust, key=trust.get) == "clustering 2"
    assert sum(trust.values()) == pytest.approx(1, abs=0.01)


def test_every_number_is_computed_once(small, monkeypatch):
    """One table for the consensus and one for the heat map; NMI and ARI; nothing again for each section."""
    calls = []
    for name in ("cross_table", "measure_tables", "gather_own"):
        home = evidence if name == "measure_tables" else incidence
        plain = getattr(home, name)
        monkeypatch.setattr(
            home,
            name,
            lambda *args, _name=name, _plain=plain, **kw: calls.append(_name) or _plain(*args, **kw),
        )
    cs.report(small[0])
    assert sorted(calls) == ["cross_table"] * 2 + ["gather_own"] + ["measure_tables"] * 2


def test_page_loads_and_runs_nothing_but_its_own_script(small):
    html = cs.report(small[0], small[1]).html
    page = Page(html)
    assert page.external == []
    assert page.tags.count("script") == 2
    assert page.tags.count("link") == 1  # an empty icon, so that a served page asks for none
    assert not {"img", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    policy = re.search(r"Content-Security-Policy\" content=\"([^\"]*)\"", html).group(1)
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_hostile_names_stay_text(hostile):
    model, X, names = hostile
    html = cs.report(
        {HOSTILE[0]: model, HOSTILE[1]: model},
        X,
        title=HOSTILE[2],
        source=HOSTILE[3],
        command=HOSTILE[4],
        warnings=HOSTILE,
    ).html
    page = Page(html)
    assert page.external == []
    assert page.tags.count("script") == 2
    assert page.tags.count("style") == 1
    assert "img" not in page.tags
    for name in (HOSTILE[0], HOSTILE[2], HOSTILE[6], HOSTILE[12], HOSTILE[14]):
        assert name in page.visible
    assert page.data["objects"]["names"] == names  # exact, for the download
    assert not {"<", ">", "&", "\u2028", "\u2029"} & set(page.scripts[0])


def test_json_is_safe_and_the_same(seed):
    value = {"a": [*HOSTILE, "\ud800 lone"], "b": [1, 2.5, None, True]}
    text = to_json(value)
    assert not {"<", ">", "&", "\u2028", "\u2029"} & set(text)
    assert json.loads(text) == value
    text.encode("utf-8")
    numbers = np.random.default_rng(seed).integers(0, 65536, 100)
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(pack(numbers, "u2")), "<u2"), numbers)


def test_printable_text():
    assert printable("a\u202eb\x00c") == "a\ufffdb\ufffdc"
    assert printable("x" * 400, 10) == "x" * 9 + "…"
    assert printable("\ud800") == "?"
    assert printable("样本 é") == "样本 é"


def test_labels_travel_with_the_page(small):
    model = small[0]
    objects = Page(cs.report(model).html).data["objects"]
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(objects["labels"]), "u1"), model.labels_)
    sure = np.frombuffer(base64.b64decode(objects["confidence"]), "<u2") / 65535
    np.testing.assert_allclose(sure, model.confidence_, atol=1e-5)


def test_what_does_not_fit_is_left_out_and_said(small, monkeypatch):
    model = small[0]
    names = [f"object {i}" for i in range(90)]
    monkeypatch.setattr(_payload, "_PAYLOAD", 500)
    page = Page(cs.report(model, sample_names=names).html)
    assert "names" not in page.data["objects"]
    assert "row numbers (from 0) instead of names" in page.visible
    monkeypatch.setattr(_payload, "_PAYLOAD", 10)
    page = Page(cs.report(model, sample_names=names).html)
    assert page.data["objects"] is None
    assert "does not carry the labels of all 90 objects" in page.visible
    assert "download" not in page.ids


def test_size_and_sampling_of_a_large_set():
    X, labels, _ = groups(30_000, 6, 10)
    ensemble = cs.Ensemble(labels, sample_names=[f"patient-{i:06d}" for i in range(30_000)])
    # The page is about any labels: those of the groups will do, without waiting for a consensus of 30,000.
    fake = cs.consensus.EvidenceAccumulation(n_clusters=6).fit(labels[:50])
    fake.labels_, fake.distinct_, fake.sample_names_ = (
        labels[:, 0],
        ensemble.distinct(),
        ensemble.sample_names,
    )
    fake.confidence_ = np.linspace(0, 1, 30_000)
    html = cs.report(fake, X).html
    page = Page(html)
    assert len(html.encode()) < 2e6
    assert re.search(r"4,000 of the 30,000 objects are shown: a random sample", page.visible)
    assert len(page.data["heat"]["cluster"]) <= 180
    assert len(page.data["points"]["labels"]) <= 4000
    assert page.tags.count("tr") < 400


def test_pairs_that_nobody_saw_are_not_taken_for_apart():
    labels = np.full((6, 4), -1)
    labels[:3, :2], labels[3:, 2:] = 0, 0
    labels[2, 2:] = 0  # one object that both halves of the clusterings saw
    page = Page(cs.report(cs.consensus.EvidenceAccumulation(n_clusters=2).fit(labels)).html)
    heat = page.data["heat"]
    values = np.frombuffer(base64.b64decode(heat["values"]), "u1").reshape(6, 6)
    order = np.frombuffer(base64.b64decode(heat["order"]), "<u2").tolist()
    place = {i: order.index(i) for i in range(6)}
    assert values[place[0], place[5]] == 255
    assert values[place[0], place[2]] == 254
    assert values[place[2], place[5]] == 254


@pytest.mark.parametrize("kind", ["pandas", "polars", "sparse", "list"])
def test_features_of_any_kind(small, kind):
    model, X, _ = small
    if kind == "sparse":
        given = sp.csr_array(X)
    else:
        given = (
            X.tolist()
            if kind == "list"
            else pytest.importorskip(kind).DataFrame({f"f{j}": X[:, j] for j in range(6)})
        )
    page = Page(cs.report(model, given).html)
    assert "90 objects, 6 features" in page.visible
    assert "principal components" in page.visible


# Words -----------------------------------------------------------------------------------------------------


def test_sentences_about_the_answer():
    labels = [
        [0, 0, 0, 1, 1, 1, 2, 2],
        [0, 0, 0, 1, 1, 1, 2, 2],
        [0, 0, 1, 1, 1, 1, 2, 2],
        [0, 1, 1, 1, 1, 1, 2, 2],
    ]
    labels = cs.Ensemble.from_clusterings(labels)
    model = cs.consensus.EvidenceAccumulation(n_clusters=3).fit(labels)
    page = Page(cs.report(model).html)
    assert "8 objects in 3 clusters, from 4 base clusterings." in page.visible
    stability = cs.metrics.cluster_stability(cs.Ensemble(labels), model.labels_)
    firm = Fitted.from_estimator(model).firmness
    worst = int(firm.argmin())
    assert (
        f"Cluster {worst} is the least firm ({percent(firm[worst])}; "
        f"its objects stay together in {percent(stability[worst])} of the clusterings)" in page.visible
    )
    assert "Only 4 base clusterings" in page.visible


def test_cautions_in_plain_words():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, (50, 6))
    labels[rng.random((50, 6)) < 0.2] = -1
    labels[:, 0] = 0
    model = cs.consensus.EvidenceAccumulation(n_clusters=12).fit(labels)
    model.converged_ = False
    page = Page(cs.report(model).html)
    for expected in (
        "before it had settled",
        "of the labels are missing",
        "1 base clustering put all objects into one cluster (“clustering 0”), which says nothing",
    ):
        assert expected in page.visible


@pytest.mark.filterwarnings("ignore::consilience.errors.LowAgreementWarning")
def test_the_method_is_named_where_the_clusterings_agree_and_it_does_not():
    _, labels, _ = groups(60, 2, 8, noise=0.02)
    labels[0, 0] = -1
    page = Page(cs.report(cs.NRSEC(2, entries="signed", random_state=0).fit(labels)).html)
    assert (
        "The base clusterings contradict this answer: they agree with it by a mean NMI of 0.0" in page.visible
    )
    assert "or other settings of NRSEC" in page.visible
    assert "do not support this many clusters" not in page.visible
    page = Page(cs.report(cs.consensus.EvidenceAccumulation(2).fit(labels)).html)
    assert "contradict" not in page.visible


def test_one_cluster_and_singletons_make_a_page():
    for c in (1, 4):
        labels = cs.Ensemble.from_clusterings([[0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2, 3]])
        page = Page(cs.report(cs.consensus.EvidenceAccumulation(n_clusters=c).fit(labels), np.eye(4)).html)
        assert f"4 objects in {count(c, 'cluster')}" in page.visible
        assert not re.search(r"\bnan\b", page.visible)


@pytest.mark.parametrize("method", sorted(cs.consensus.methods()))
def test_every_method_has_a_page(method):
    _, labels, _ = groups(40, 3, 6, noise=0.3)
    cls = cs.consensus.methods()[method]
    model = cls(**{"n_clusters": 3, **cls._test_params[0]}).fit(labels)
    page = Page(cs.report(model).html)
    assert f"40 objects in {count(model.n_clusters, 'cluster')}" in page.visible
    assert cls.__name__ in page.visible


def test_many_clusters_keep_the_page_small():
    rng = np.random.default_rng(0)
    labels = np.column_stack([rng.integers(0, 380, 600) for _ in range(6)])
    page = cs.report(cs.consensus.EvidenceAccumulation(n_clusters=400).fit(labels))
    assert len(page.html) < 1e6
    shown = Page(page.html)
    assert "The 100 smallest clusters are not listed." in shown.visible
    assert shown.data["alluvial"]["consensus"][-1]["name"] == "360 smaller clusters"


def test_weights_are_said():
    X, labels, _ = groups(40, 3, 6)
    weighted = cs.consensus.EvidenceAccumulation(n_clusters=3).fit(labels, sample_weight=np.arange(1.0, 41))
    assert "Objects have weights" in Page(cs.report(weighted).html).visible
    model = cs.ConsensusClustering(n_clusters=3, random_state=0).fit(X, sample_weight=np.arange(40) > 4)
    assert "Objects of weight 0 took no part" in Page(cs.report(model, X).html).visible


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.614, "61%"),
        (0.0, "0%"),
        (0.001, "under 1%"),
        (1.0, "100%"),
        (0.999, "over 99%"),
        (np.nan, "unknown"),
    ],
)
def test_percent(share, text):
    assert percent(share) == text


def test_words():
    assert count(1, "object") == "1 object"
    assert count(1797, "object") == "1,797 objects"
    assert listed(["a"]) == "a"
    assert listed(list("abc")) == "a, b and c"
    assert listed(list("abc"), 2) == "a, b and 1 more"
    assert duration(3.14159) == "3.1 seconds"
    assert duration(600) == "10 minutes"


# Provenance ------------------------------------------------------------------------------------------------


def test_python_code_gives_the_same_labels(tmp_path, monkeypatch):
    X, _, _ = groups(60, 3, 1)
    model = cs.ConsensusClustering(
        3,
        generator="kmeans",
        generator_params={"init": "random"},
        method=cs.consensus.EvidenceAccumulation(3, linkage="complete"),
        n_clusterings=7,
        random_state=5,
    ).fit(X)
    html = cs.report(model, X).html
    code = unescape(re.search(r'<pre tabindex="0" id="reproduce-1">(.*?)</pre>', html, re.DOTALL).group(1))
    assert "linkage='complete'" in code
    monkeypatch.chdir(tmp_path)
    scope = {"X": X}
    exec(code, scope)
    np.testing.assert_array_equal(scope["model"].labels_, model.labels_)
    assert (tmp_path / "report.html").exists()


def test_facts(small):
    page = Page(cs.report(small[0], small[1], source="cells.csv", seconds=12, command="consilience x").html)
    text = page.visible
    assert "cells.csv: 90 objects, 6 features" in text
    assert f"consilience {cs.__version__}" in text
    assert f"numpy {np.__version__}" in text
    assert "12 seconds" in text
    assert "linkage = 'average'" in text
    assert "consilience x" in text


def test_missing_seed_is_said():
    X, _, _ = groups(40, 2, 1)
    model = cs.ConsensusClustering(n_clusters=2, n_clusterings=5).fit(X)
    assert "none: another run may give another answer" in Page(cs.report(model, X).html).visible


# Doors -----------------------------------------------------------------------------------------------------


def test_path_is_checked_before_any_work(small, tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        cs.report("no model at all", path=tmp_path / "no" / "folder" / "report.html")
    page = cs.report(small[0], path=tmp_path / "report.html")
    assert page.path == tmp_path / "report.html"
    assert page.path.read_text(encoding="utf-8") == page.html
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_wrong_arguments_are_named(small):
    with pytest.raises(InputError, match="str is not a fitted consensus method"):
        cs.report("model")
    with pytest.raises(InputError, match="sample_names has 2 entries for 90 objects"):
        cs.report(small[0], sample_names=["a", "b"])
    with pytest.raises(InputError, match="No models were given"):
        cs.report([])


def test_missing_package_names_the_extra(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'consilience\[report\]'"):
        cs.report(small[0])


def test_notebook_shows_the_page_in_a_frame(small):
    page = cs.report(small[0])
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert unescape(re.search(r'srcdoc="([^"]*)"', frame).group(1)) == page.html
    assert "not saved" in repr(page)


# Command line ----------------------------------------------------------------------------------------------


@pytest.fixture
def features(tmp_path):
    X, labels, _ = groups(60, 3, 6)
    path = tmp_path / "features.csv"
    rows = [",".join([f"row{i}", *map(str, row)]) for i, row in enumerate(X.round(3))]
    path.write_text("\n".join(["name," + ",".join(f"f{j}" for j in range(X.shape[1])), *rows]) + "\n")
    base = tmp_path / "base.csv"
    base.write_text("\n".join(",".join(map(str, row)) for row in labels) + "\n")
    return path, base


def run(*arguments):
    from consilience._cli import main

    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return end.value.code


def test_cluster_writes_a_report(features, tmp_path, capsys):
    page = tmp_path / "my report.html"
    assert (
        run("cluster", features[0], "-k", 3, "-n", 5, "-o", tmp_path / "labels.csv", "--save-report", page)
        == 0
    )
    assert "wrote a report" in capsys.readouterr().err
    shown = Page(page.read_text(encoding="utf-8"))
    assert "features.csv: 60 objects, 6 features" in shown.visible
    assert f"--save-report '{page}'" in shown.visible
    assert shown.data["objects"]["names"][0] == "row0"
    assert "principal components" in shown.visible


def test_consensus_writes_a_report(features, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert (
        run(
            "consensus",
            features[1],
            "-k",
            3,
            "--no-header",
            "-q",
            "-o",
            tmp_path / "labels.csv",
            "--save-report",
            page,
        )
        == 0
    )
    assert "consilience consensus" in Page(page.read_text(encoding="utf-8")).visible


def test_command_line_refuses_early(features, tmp_path, capsys):
    assert run("cluster", features[0], "-k", 3, "--save-report", tmp_path / "no" / "r.html") == 2
    assert "does not exist" in capsys.readouterr().err
    assert run("cluster", features[0], "-k", 3, "--save-report", features[0]) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert run("cluster", features[0], "-k", 3, "--save-report", "-") == 2
    assert "--save-report needs the name of a file" in capsys.readouterr().err
