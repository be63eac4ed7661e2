"""Files in, files out: label ensembles and feature tables as CSV/TSV, NPY/NPZ, Parquet and MATLAB files.

Readers say what they decided about headers and row names (``on_note=print`` shows it), never unpickle, and refuse
a file that promises more than it holds before allocating anything. Writers are atomic: the file appears whole or
not at all.
"""

from ._atomic import atomic_write, check_writable
from ._models import load, save
from ._read_annotations import Annotations, read_annotations
from ._read_features import read_features
from ._read_labels import read_labels
from ._source import names_in
from ._table import Table
from ._write import write_ensemble, write_features, write_labels, write_table

__all__ = [
    "Annotations",
    "Table",
    "atomic_write",
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
