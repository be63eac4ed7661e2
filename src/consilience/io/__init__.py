"""Files in, files out: label ensembles and feature tables as CSV/TSV, NPY/NPZ, Parquet and MATLAB files.

Readers report what they decided about headers and row names (``on_note=print`` shows it). They never
unpickle, and they refuse a file that promises more than it holds before they allocate memory. Writers are
atomic: the file appears whole or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _register
from .._data.features import Features
from ._atomic import atomic_write as atomic_write
from ._atomic import check_writable
from ._models import load, save
from ._read_annotations import Annotations, read_annotations
from ._read_features import Table, read_features
from ._read_labels import read_labels
from ._source import names_in
from ._write import write_ensemble, write_features, write_labels, write_table

_LATE = [_register.Entry("ChooseKResult", "_choosing"), _register.Entry("TableEncoder", "_data.encoder")]
if TYPE_CHECKING:  # for editors and type checkers
    from .._choosing import ChooseKResult as ChooseKResult
    from .._data.encoder import TableEncoder as TableEncoder
else:  # hidden from them: with a __getattr__, they would accept any name
    __getattr__, __dir__ = _register.lazily(globals(), _LATE)

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
