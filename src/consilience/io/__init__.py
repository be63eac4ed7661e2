"""Files in, files out: label ensembles and feature tables as CSV/TSV, NPY/NPZ, Parquet and MATLAB files.

Readers report what they decided about headers and row names (``on_note=print`` shows it). They never
unpickle, and they refuse a file that promises more than it holds before they allocate memory. Writers are
atomic: the file appears whole or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _register

if TYPE_CHECKING:  # for editors and type checkers
    from .._choosing import ChooseKResult as ChooseKResult
    from .._data.encoder import TableEncoder as TableEncoder
    from .._data.features import Features as Features
    from ._atomic import atomic_write as atomic_write
    from ._atomic import check_writable as check_writable
    from ._formats import check_readable as check_readable
    from ._models import load as load
    from ._models import save as save
    from ._read_annotations import Annotations as Annotations
    from ._read_annotations import read_annotations as read_annotations
    from ._read_features import Table as Table
    from ._read_features import read_features as read_features
    from ._read_labels import read_labels as read_labels
    from ._source import names_in as names_in
    from ._write import write_ensemble as write_ensemble
    from ._write import write_features as write_features
    from ._write import write_labels as write_labels
    from ._write import write_table as write_table
else:  # hidden from them: with a __getattr__, they would accept any name
    _HOMES = {
        "_choosing": ("ChooseKResult",),
        "_data.encoder": ("TableEncoder",),
        "_data.features": ("Features",),
        "io._atomic": ("atomic_write", "check_writable"),
        "io._formats": ("check_readable",),
        "io._models": ("load", "save"),
        "io._read_annotations": ("Annotations", "read_annotations"),
        "io._read_features": ("Table", "read_features"),
        "io._read_labels": ("read_labels",),
        "io._source": ("names_in",),
        "io._write": ("write_ensemble", "write_features", "write_labels", "write_table"),
    }
    __getattr__, __dir__ = _register.lazily(
        globals(), [_register.Entry(name, home) for home, names in _HOMES.items() for name in names]
    )

__all__ = [
    "Annotations",
    "ChooseKResult",
    "Features",
    "Table",
    "TableEncoder",
    "check_writable",
    "load",
    "names_in",
    "read_annotations",
    "read_features",
    "read_labels",
    "save",
    "write_ensemble",
    "write_features",
    "write_labels",
    "write_table",
]
