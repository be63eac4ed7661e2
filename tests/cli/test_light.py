"""What computes nothing answers without importing what computes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import register

HEAVY = {"numpy", "scipy", "sklearn", "numba", "joblib", "pandas"}
CODE = """
import sys
from consilience._cli import main
try:
    main()
finally:
    print("\\nimported:", *{name.partition(".")[0] for name in sys.modules})
"""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--help", "choose-k"),
        ("--version", "consilience "),
        ("methods", "evidence-accumulation"),
        ("methods --json", "instability_tolerance"),
        ("cluster --help", "--save-report"),
        ("cluster", "Missing argument 'FEATURES'"),
        ("cluster missing.csv -k 3", "missing.csv: no such file."),
        ("cluster empty.csv -k 3", "empty.csv is empty (0 bytes)."),
        ("cluster some.doc -k 3", "some.doc: unknown kind of file"),
        ("cluster . -k 3", "unknown kind of file"),
        ("cluster some.csv -k 3 -m magic", "method='magic' is not known"),
        ("cluster some.csv -k 3 -g magic", "generator='magic' is not known"),
        ("cluster some.csv -k 3 -m lwgp --method-param magic=1", "LWGP has no parameter 'magic'"),
        (
            "cluster some.csv -k 3 -g kmeans --generator-param magic=1",
            "The generator kmeans has no parameter",
        ),
        ("cluster some.csv -k 3 -o missing/labels.csv", "Cannot write missing/labels.csv"),
        ("consensus missing.npz -k 3", "missing.npz: no such file."),
        ("consensus some.csv -k 3 -m lgwp", "Did you mean"),
        ("generate missing.csv", "missing.csv: no such file."),
        ("generate some.csv -k 3 --generator-param n_clusters=2", "is set by the option -k"),
        ("multitask missing.csv --task-column a -k 2", "missing.csv: no such file."),
        ("multitask some.csv --task-column a -k 2 -m magic", "method='magic' is not known"),
        ("choose-k missing.csv", "missing.csv: no such file."),
        ("score missing.csv --labels-true some.csv", "missing.csv: no such file."),
        ("predict missing.model some.csv", "missing.model"),
        ("predict some.csv missing.csv", "missing.csv: no such file."),
        ("warm-up magic", "Nothing to compile is called 'magic'"),
        ("nonsense", "There is no command 'nonsense'"),
    ],
)
def test_nothing_that_computes_is_imported(tmp_path, line, said):
    (tmp_path / "some.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "empty.csv").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", CODE, *line.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert said in done.stdout + done.stderr
    imported = set(done.stdout.rpartition("imported:")[2].split())
    assert imported & {"click"}
    assert imported & HEAVY == set()


def test_the_listing_is_that_of_the_library():
    assert register.LISTING.read_text("utf-8") == register.listing(), "make register writes it again"
