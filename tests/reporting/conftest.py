"""Pages to look at, and a browser to look at them with."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs

from .chromium import Chromium, find

#: Names that would do harm if any of them were taken for markup, script, CSS or a template.
HOSTILE = [
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\"><svg onload=document.title='owned'>",
    "' onfocus='document.title=1' autofocus='",
    "javascript:document.title='owned'",
    "{{ 7 * 7 }}{% raw %}",
    "${7*7}`\\u003cscript>",
    "<!-- <script>",
    "]]>&lt;b&gt;&amp;",
    "line\u2028separator\u2029and\nnewline\ttab",
    "\u202egnirts\u0000\u0007",
    "Ünïcödé 样本 🧬",
    '=HYPERLINK("http://evil.example","x")',
    "</style><style>*{display:none}</style>",
    "a" * 500,
]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium, where there is one."""
    program = find()
    if program is None:
        pytest.skip(
            "no Chromium found: install one or set CHROMIUM=/path/to/chromium (make test does, where it can)"
        )
    chromium = Chromium(program, tmp_path_factory.mktemp("chromium"))
    yield chromium
    chromium.close()


def groups(n: int, c: int, m: int, seed: int = 0, noise: float = 0.15):
    """(features, labels of m noisy clusterings) of n objects in c groups."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, c, n)
    X = rng.normal(size=(c, 6))[truth] * 4 + rng.normal(size=(n, 6))
    labels = np.where(rng.random((n, m)) < noise, rng.integers(0, c, (n, m)), truth[:, None])
    return X, labels, truth


@pytest.fixture(scope="session")
def hostile():
    """A model whose every name is an attack, and the names of its objects."""
    n = 4 * len(HOSTILE)
    X, labels, _ = groups(n, 4, len(HOSTILE))
    names = [f"{HOSTILE[i % len(HOSTILE)]}#{i}" for i in range(n)]
    words = np.array(HOSTILE[:4], object)
    ensemble = cs.Ensemble(
        [words[column] for column in labels.T], clustering_names=HOSTILE, sample_names=names
    )
    return cs.consensus.EvidenceAccumulation(n_clusters=4).fit(ensemble), X, names
