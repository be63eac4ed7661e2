"""What can be said of the site without building it whole: pages, tree, form, names, references."""

from __future__ import annotations

import json
import pkgutil
import re
import runpy
import subprocess
import sys

import pandas as pd
import pytest
from PIL import Image
from sklearn.metrics import adjusted_rand_score

pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")
pytest.importorskip("msgspec", reason="the extra 'reproduction' is not installed")

from consilience import _register

from .conftest import DOCS, ROOT

pytestmark = pytest.mark.pages

PAGES = {page.relative_to(DOCS).with_suffix("").as_posix(): page for page in DOCS.rglob("*.md")
         if page.relative_to(DOCS).parts[0] not in ("api", "gallery")}  # fmt: skip


def test_every_picture_that_a_page_asks_for_is_drawn():
    from _ext.inserts import named
    from _ext.pictures import pictures

    wanted = named(DOCS)
    assert wanted <= set(pictures())
    methods = {name for name in pictures() if name.startswith(("method-", "cost-"))}
    assert methods <= wanted, "a picture that no page shows"


def test_every_method_has_a_page_with_a_picture_of_it():
    from _ext.pictures.methods import pages

    drawn = [name for classes in pages().values() for name in classes]
    assert sorted(drawn) == sorted(entry.name for entry in _register.ESTIMATORS)


def test_every_page_stands_in_the_tree_once():
    from _ext.tree import LEADERS, tree

    texts = {name: PAGES[name].read_text("utf-8") for name in LEADERS}
    placed = [
        name for names in tree({*PAGES, "api/index", "gallery/index"}, texts).values() for name in names
    ]
    assert len(placed) == len(set(placed))
    assert {*PAGES, "api/index", "gallery/index"} - {"index"} == set(placed)


def test_a_page_dropped_in_is_found():
    from _ext.tree import tree

    texts = {
        "guide": "- [One](one.md): words, [not this](two.md)\n"
        "| [`A`](three.md), [`B`](four.md) | [c](five.md) |\n"
    }
    found = tree(["guide", "one", "two", "three", "four", "methods/index", "methods/new", "five"], texts)
    assert found["guide"] == ["one", "three", "four", "five", "two"]
    assert found["methods/index"] == ["methods/new"]


def test_every_public_name_has_one_page():
    from _ext.api import names, public, rooms

    import consilience

    found = names()
    assert len(found) == len(set(found))
    for name in consilience.__all__:
        assert f"consilience.{name}" in found or name in (*_register.ROOMS, "__version__"), name
    for room in _register.ROOMS:
        assert room in rooms()
        for name in public(room):
            assert f"consilience.{room}.{name}" in found or f"consilience.{name}" in found, f"{room}.{name}"


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", *(f"docs/{name}.md" for name in PAGES)])
def test_links_lead_to_files_on_disk_too(file):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", (ROOT / file).read_text("utf-8"), flags=re.S)
    for link in LINK.findall(text):
        if "://" not in link:
            assert ((ROOT / file).parent / link).exists(), f"{file}: {link}"


def test_the_readme_shows_what_make_pictures_drew():
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text("utf-8"))
    from _ext.pictures.__main__ import FIGURES

    assert shown == [f"docs/pictures/{name}.png" for name in FIGURES]


def figures_in(picture: str) -> object:
    """What a stored picture was drawn from."""
    return json.loads(Image.open(DOCS / "pictures" / f"{picture}.png").text["Figures"])


def test_the_picture_of_quality_and_speed_shows_the_stored_figures():
    from _ext.pictures import cost

    stored = {name: list(place) for name, place in cost.seconds_and_ranks().items()}
    assert len(stored) > 20
    assert figures_in("quality-speed") == stored, "run make pictures"


def test_the_first_picture_shows_the_right_answer():
    from _ext.pictures.how import landing_model
    from _ext.pictures.toy import data

    labels = figures_in("landing")
    assert adjusted_rand_score(data()[1], labels) > 0.95, "run make pictures"
    assert adjusted_rand_score(landing_model().labels_, labels) == 1, "run make pictures"


def test_examples_of_the_gallery_do_not_say_that_they_compile(monkeypatch):
    from consilience._kernels.compile.jit import NOTICE

    monkeypatch.setattr(NOTICE, "said", False)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    configured = runpy.run_path(str(DOCS / "conf.py"))["sphinx_gallery_conf"]
    for reset in configured["reset_modules"]:
        if "." in reset:
            pkgutil.resolve_name(reset)(configured, "plot_00.py")
    assert NOTICE.said


def test_formulas_become_mathml():
    from latex2mathml.converter import convert

    for page in PAGES.values():
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.S)
        for formula in re.findall(r"\$\$(.+?)\$\$", text, re.S):
            assert convert(formula).startswith("<math"), formula


def test_pages_and_references_are_without_fault(tmp_path):
    """All pages are read and all references resolved, strictly; pictures and the gallery are left out."""
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "-n",
        "-b",
        "dummy",
        "-D",
        "consilience_pictures=0",
        "-D",
        "plot_gallery=0",
        "-d",
        str(tmp_path / "read"),
        str(DOCS),
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def test_ranks_are_those_that_are_stored():
    """A page's table of ranks comes from the reproduction.

    A method that did not run everywhere has no average.
    """
    from _ext.inserts import ranks

    lines = ranks("defaults", "NMI").splitlines()
    stored = pd.read_csv(DOCS / "reproduction" / "comparisons.csv").query(
        "protocol == 'defaults' and measure == 'NMI' and column == 'default'"
    )
    head, table = lines[0], {line.split(" | ")[0].strip("| "): line for line in lines[2:]}
    for row in stored.itertuples():
        average = "-" if pd.isna(row.average) else f"{row.average:.3f}"
        assert f"{row.group} ({row.sets} sets)" in head
        assert f"{average}, rank {row.rank:.2f}" in table[row.method]
    assert lines[2].startswith("| default |")


def test_cells_and_curves_are_those_that_are_stored():
    """A page's tables of means come from those of the reproduction, with the printed ones beside them.

    Every table that a page asks for is there.
    """
    from _ext.inserts import _CELLS, _cells_or_curves, averages, cells, curves, grid

    from reproduction.protocol import names_in

    stored = pd.read_csv(DOCS / "reproduction" / "figures.csv").query("column == 'default'")
    head, _, *lines = cells(
        "mdec", "default", ["NMI", "ARI"], ["MDEC-HC", "EvidenceAccumulation"]
    ).splitlines()
    assert head == "| NMI / ARI | MDEC-HC | MDEC-HC, printed | EvidenceAccumulation |"  # runs differ by set
    mine = stored.query("protocol == 'mdec' and method == 'MDEC-HC'").set_index(["set", "measure"])
    for line in lines:
        name, ours, printed, _ = (cell.strip() for cell in line.strip("|").split("|"))
        nmi, ari = mine.loc[name, "NMI"], mine.loc[name, "ARI"]
        assert ours == f"{nmi['mean']:.1f} / {ari['mean']:.1f} ({nmi['runs']:.0f})"
        assert printed == f"{nmi['printed']:.1f} / {ari['printed']:.1f}"
    head, _, *lines = curves("rsec-size", "default", ["ACC"], ["RSEC"]).splitlines()
    assert head.startswith("| ACC | 10 | 20 |")
    assert lines[0].startswith("| breast_w, RSEC (10) | ")
    head, _, line = averages("mdec-size", "default", ["NMI"], ["MDEC-HC"]).splitlines()
    sizes = stored.query("protocol == 'mdec-size' and method == 'MDEC-HC' and measure == 'NMI'")
    assert head.startswith(f"| NMI, average over {sizes.set.nunique()} sets | 20 | 50 |")
    assert line.startswith(f"| MDEC-HC | {sizes[sizes.vary == '20']['mean'].mean():.1f} | ")
    best = pd.read_csv(DOCS / "reproduction" / "curves.csv").query(
        "protocol == 'sccabg-tdt2' and method == 'SCCABG' and measure == 'ACC'"
    )
    text = grid("sccabg-tdt2", "default", ["ACC", "NMI"], ["SCCABG", "SCCBG"])
    assert text.count("| 0.0001 |") == 2
    assert text.startswith("| SCCABG, ACC / NMI by gamma1 | gamma2=0.001 |")
    assert f"**{best['mean'].max():.3f} / " in text
    asked = [match for page in DOCS.rglob("*.md") for match in _CELLS.finditer(page.read_text("utf-8"))]
    assert len(asked) > 5
    for match in asked:
        methods = names_in(match[5])
        text = _cells_or_curves(match)
        assert [name for name in methods if name not in text] == [], match[0]
        assert len(text.splitlines()) > 3, match[0]
