"""Dask is an extra: without it these tests skip, saying so."""

from __future__ import annotations

import pytest

pytest.importorskip("dask.array", reason="needs Dask: pip install 'consilience[dask]'")


@pytest.fixture
def here():
    """Every task in this thread, one after the other."""
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield
