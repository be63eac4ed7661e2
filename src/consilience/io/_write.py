"""Writing tables, labels, features and ensembles: atomically, in the format that the ending names."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from .._base.names import check_unique
from .._base.parameters import listed
from .._base.progress import progress
from .._data.features import Features
from ..errors import FileError, InputError, warn
from ._atomic import atomic_write, named
from ._cells import read_back, short
from ._formats import format_of, is_stream, require_packages, shown
from ._layout import INDEX_HEADINGS
from ._parquet import write_parquet

if TYPE_CHECKING:
    from .._data.ensemble import Ensemble

Target = str | os.PathLike[str] | BinaryIO

_ROWS = 1 << 12  # of text written at a time
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN = re.compile(r"[^\s,;|\"](?:[^\t\r\n\v\f,;|\"]*[^\s,;|\"])?")

Cells = Callable[[int, int], list[str]]  # the text of rows a to b of one column


def write_table(
    columns: Mapping[str, Any], path: Target, *, sample_names: Sequence[Any] | None = None
) -> None:
    """Write columns of equal length, after a column of row names.

    Parameters
    ----------
    path : path or binary file
        The ending tells the format; an open binary file gets CSV.
    columns : mapping
        Maps headings to values: numbers or text. None, NaN and masked values are written as missing.
    sample_names : sequence, optional
        Names of the rows; by default, rows are counted from 0. In text and Parquet, they are the column
        ``name``.

    Examples
    --------
    >>> import sys, consilience as cs
    >>> cs.io.write_table({"label": [0, 1]}, sys.stdout.buffer, sample_names=["a", "b"])  # doctest: +SKIP
    name,label
    a,0
    b,1
    """
    data = {str(heading): _column(values) for heading, values in columns.items()}
    lengths = {len(values) for values in data.values()}
    if len(lengths) != 1:
        raise InputError(
            f"Columns of a table must have the same length; these have the lengths {sorted(lengths)}."
        )
    n = lengths.pop()
    names = _checked_names(sample_names, n, shown(path))
    kind, gzipped = _format(path)
    _check_encodable(data, shown(path))
    for values in data.values():
        if values.dtype.kind not in "biuf":
            _check_encodable(map(str, values.tolist()), shown(path))
    heading = _index_heading(list(data), names, shown(path)) if kind in ("text", "parquet") else ""
    with _opened(path, gzipped) as handle:
        if kind == "text":
            cells = [_cells(values) for values in data.values()]
            _write_text(handle, _separator(path), [heading, *data], names, cells, n)
        elif kind == "parquet":
            write_parquet(handle, {heading: names or _counted(n), **data}, heading, shown(path))
        elif kind == "npy":
            raise FileError(
                f"{shown(path)}: .npy holds one array without headings; write the table as .npz, .csv or "
                f".parquet."
            )
        else:
            arrays = {key: _plain(values, shown(path)) for key, values in data.items()}
            if names is not None and "sample_names" in arrays:
                raise FileError(
                    f"{shown(path)}: a column is called 'sample_names', as the array of row names is; "
                    f"rename the column."
                )
            _write_archive(handle, kind, {**arrays, **_named("sample_names", names)}, shown(path))


def write_labels(
    labels: Any,
    path: Target,
    *,
    sample_names: Sequence[Any] | None = None,
    confidence: Any = None,
) -> None:
    """Write one clustering.

    The columns are ``name`` (or the row number from 0), ``label`` and, if given, ``confidence``.

    Parameters
    ----------
    path : path or binary file
        The ending tells the format. In ``.npz`` and ``.mat`` the arrays are ``label``, ``confidence`` and
        ``sample_names``; ``.npy`` holds the labels alone.
    labels : array (n_samples,)
        The clustering.
    sample_names, confidence : sequence, optional
        Names of the objects, and how sure the base clusterings are of each object's cluster, in [0, 1].
    """
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise InputError(
            f"labels has shape {labels.shape}; expected one label per object. Use write_ensemble for several."
        )
    if not is_stream(path) and format_of(_path(path))[0] == "npy":
        with atomic_write(_path(path)) as handle:
            np.save(handle, _plain(labels, shown(path)), allow_pickle=False)
        return
    columns = (
        {"label": labels}
        if confidence is None
        else {"label": labels, "confidence": np.asarray(confidence, float)}
    )
    write_table(columns, path, sample_names=sample_names)


def write_features(
    values: Any,
    path: Target,
    *,
    sample_names: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
) -> None:
    """Write a table of numbers exactly: :func:`read_features` reads back the same bits.

    Parameters
    ----------
    path : path or binary file
        The ending tells the format. Sparse matrices go to ``.npz`` (as :func:`scipy.sparse.save_npz` does) or
        ``.mat``.
    values : array, sparse matrix or Features (n_samples, n_features)
        The numbers.
    sample_names, feature_names : sequence, optional
        Names, by default those of the Features; columns are called ``x0``, ``x1``, ... where a format needs
        headings.
    """
    import scipy.sparse as sp

    if isinstance(values, Features):
        sample_names = values.sample_names if sample_names is None else sample_names
        feature_names = values.feature_names if feature_names is None else feature_names
        values = values.X
    name = shown(path)
    kind, gzipped = _format(path)
    sparse = sp.issparse(values)
    values = sp.csr_array(values) if sparse else np.asarray(values)
    if len(values.shape) != 2 or values.dtype.kind not in "biuf":
        raise InputError(
            f"values has shape {values.shape} and type {values.dtype}; expected a matrix of numbers."
        )
    n, p = values.shape
    names = _checked_names(sample_names, n, name)
    headings = None if feature_names is None else [str(heading) for heading in feature_names]
    if headings is not None and len(headings) != p:
        raise InputError(f"feature_names has {len(headings)} names for {p} columns.")
    check_unique(headings, "column name", "rename the columns", file=name)
    _check_encodable(headings or (), name)
    if sparse and kind not in ("npz", "mat"):
        raise FileError(
            f"{name}: a sparse matrix cannot be written in this format; write .npz or .mat, or pass "
            f"values.toarray()."
        )
    if kind in ("text", "parquet"):
        headings = headings or [f"x{j}" for j in range(p)]
        columns = {heading: values[:, j] for j, heading in enumerate(headings)}
        write_table(columns, path, sample_names=names)
        return
    with _opened(path, gzipped) as handle:
        if kind == "npy":
            np.save(handle, values, allow_pickle=False)
            return
        extra = {**_named("sample_names", names), **_named("feature_names", headings)}
        if sparse and kind == "npz":
            pieces = {"data": values.data, "indices": values.indices, "indptr": values.indptr}
            about = {"shape": np.array(values.shape), "format": np.array(b"csr")}
            _write_archive(handle, kind, {**pieces, **about, **extra}, name)
        else:
            _write_archive(handle, kind, {"X": values, **extra}, name)


def write_ensemble(ensemble: Ensemble, path: Target) -> None:
    """Write an ensemble that :func:`read_labels` reads back with names, missing labels and categories.

    Text and Parquet hold the original labels in one column per clustering (missing: empty). NPZ and MATLAB
    files hold the matrix ``labels`` (missing: -1), ``clustering_names``, ``sample_names``, ``sample_weight``
    and ``recipes``; where labels are not whole numbers, ``labels`` holds codes, and ``categories_0``, ... the
    labels that they stand for. Only these two formats keep weights and recipes. NPY holds the matrix alone.

    Text has no types: a column is read as numbers if every label spells one, even with blanks around it.
    Labels that text would change (the text ``"1"`` or ``" 7 "``) are therefore refused there; the other
    formats keep them. Labels that are neither numbers nor text, or a mixture of both in one clustering, come
    back as the text that ``str`` makes of them, and so do names of objects. 2.0 comes back as 2. Names that
    only count the objects from 0 are not kept.

    Parameters
    ----------
    path : path or binary file
        The ending tells the format; an open binary file gets CSV.
    ensemble : Ensemble
        What to write.
    """
    name = shown(path)
    kind, gzipped = _format(path)
    clusterings = ensemble.clustering_names
    check_unique(clusterings, "clustering name", "rename the clusterings", file=name)
    _check_encodable(clusterings, name)
    names = _checked_names(ensemble.sample_names, ensemble.n_samples, name)
    labels, categories = ensemble.labels, [_natural(values) for values in ensemble.categories]
    for clustering, values in zip(clusterings, categories):
        _check_labels(values, clustering, name, text=kind == "text")
    if kind in ("text", "parquet"):
        if set(clusterings) >= {"label", "confidence"}:
            raise FileError(
                f"{name}: clusterings called 'label' and 'confidence' would be read as one clustering and "
                "how sure it is; rename one of them, or write .npz or .mat."
            )
        if not np.all(ensemble.sample_weight == 1):
            warn(f"{name}: this format does not keep sample weights; write .npz or .mat to keep them.")
        heading = _index_heading(clusterings, names, name)
        with _opened(path, gzipped) as handle:
            if kind == "text":
                cells = [_cells_of_codes(labels[:, i], categories[i]) for i in range(ensemble.n_clusterings)]
                _write_text(
                    handle, _separator(path), [heading, *clusterings], names, cells, ensemble.n_samples
                )
            else:
                columns = {
                    c: _codes_to_values(labels[:, i], categories[i]) for i, c in enumerate(clusterings)
                }
                write_parquet(handle, {heading: names or _counted(len(labels)), **columns}, heading, name)
        return
    whole = all(
        c.dtype.kind in "iu" and (c.size == 0 or (c.min() >= 0 and int(c.max()) < 2**63)) for c in categories
    )
    if kind == "npy" and not whole:
        raise FileError(
            f"{name}: .npy can hold whole-number labels only; write text labels as .npz, .csv or .parquet."
        )
    arrays: dict[str, Any] = {"labels": labels}
    if whole:
        arrays["labels"] = _original_integers(labels, categories)
    else:
        arrays |= {f"categories_{i}": _plain(c, name) for i, c in enumerate(categories)}
    with _opened(path, gzipped) as handle:
        if kind == "npy":
            np.save(handle, arrays["labels"], allow_pickle=False)
            return
        arrays |= _named("clustering_names", clusterings) | _named("sample_names", names)
        if not np.all(ensemble.sample_weight == 1):
            arrays["sample_weight"] = ensemble.sample_weight
        if ensemble.recipes is not None:
            arrays["recipes"] = np.array(json.dumps(ensemble.recipes, default=_jsonable))
        _write_archive(handle, kind, arrays, name)


def _check_labels(categories: np.ndarray, clustering: str, name: str, *, text: bool) -> None:
    """Refuse labels that would be read back differently.

    Text is read by its spelling alone, and no format keeps all characters.
    """
    numbers = categories.dtype.kind in "biuf"
    values = categories.tolist()
    spellings = list(map(str, values))
    if not numbers:
        _check_encodable(spellings, name)
        what = f"label in clustering {clustering!r} spelled"
        check_unique(spellings, what, "give each cluster a text of its own", file=name)
    if not text or (categories.dtype.kind in "iu" and not (values and max(values) >= 2**63)):
        return
    for value, got in zip(values if numbers else spellings, read_back(spellings)):
        if got != value:
            what = "as missing" if got is None else f"as the number {got!r}"
            raise FileError(
                f"{name}: in clustering {clustering!r} the label {value!r} would be read back {what}, "
                "because text keeps no types; write .npz, .parquet or .mat, or rename the label."
            )


# Columns
# -------------------------------------------------------------------------------------------------------


def _column(values: Any) -> Any:
    """A vector; masked entries become missing."""
    if isinstance(values, np.ma.MaskedArray):
        missing, values = np.ma.getmaskarray(values), values.data.astype(object)
        values[missing] = None
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"A column of a table has shape {array.shape}; expected one value per row.")
    return array


def _cells(values: np.ndarray) -> Cells:
    """Text of a column, numbers in full precision."""
    kind = values.dtype.kind
    if kind == "f":
        # Reading gives float64, so the shortest text for that is written, also for float32.
        return lambda a, b: ["" if v != v else repr(v) for v in values[a:b].astype(float).tolist()]
    if kind in "biu":
        return lambda a, b: list(map(str, values[a:b].tolist()))
    return lambda a, b: ["" if v is None or v != v else _quote(str(v)) for v in values[a:b].tolist()]


def _cells_of_codes(codes: np.ndarray, categories: np.ndarray) -> Cells:
    table = np.empty(len(categories) + 1, object)
    table[:-1] = [_quote(str(value)) for value in categories.tolist()]
    table[-1] = ""  # code -1 picks the last place
    return lambda a, b: table[codes[a:b]].tolist()


def _codes_to_values(codes: np.ndarray, categories: np.ndarray) -> Any:
    if categories.dtype.kind == "f":
        return np.append(categories, np.nan)[codes]
    table = np.empty(len(categories) + 1, object)
    whole = categories.dtype.kind in "biu"
    table[:-1] = categories.tolist() if whole else [str(value) for value in categories.tolist()]
    table[-1] = None  # code -1 picks the last place
    return table[codes]


def _natural(categories: np.ndarray) -> np.ndarray:
    """Times as text; anything else unchanged."""
    return categories.astype(str).astype(object) if categories.dtype.kind in "mM" else categories


def _original_integers(labels: np.ndarray, categories: list[np.ndarray]) -> np.ndarray:
    highest = max((int(c.max()) for c in categories if c.size), default=0)
    out = np.empty(labels.shape, np.min_scalar_type(-max(highest, 1) - 1))
    for i, values in enumerate(categories):
        out[:, i] = np.append(values.astype(out.dtype), -1)[labels[:, i]]
    return out


def _plain(values: np.ndarray, name: str) -> np.ndarray:
    """An array that needs no pickle: objects become numbers if all of them are, else text."""
    if values.dtype.kind in "biuf":
        return values
    texts = ["" if v is None else str(v) for v in values.tolist()]
    _check_encodable(texts, name)
    return np.array(texts, dtype=str) if texts else np.array([], "U1")


def _quote(cell: str) -> str:
    """A cell as it is written: in quotes where it could be misread."""
    if cell and cell.isalnum():
        return cell
    if _PLAIN.fullmatch(cell):
        return cell
    return '"' + cell.replace('"', '""') + '"'


def _check_encodable(texts: Iterable[str], file: str) -> None:
    """Refuse characters that cannot be written.

    These are NUL, which no format keeps, and half a surrogate pair, which no encoding has.
    """
    for text in texts:
        if "\0" in text:
            raise FileError(f"{file}: {short(text)} holds a NUL character, which no format keeps; rename it.")
        if not text.isascii() and _SURROGATE.search(text):
            raise FileError(
                f"{file}: {short(text)} holds half a surrogate pair, which is not a character of its own "
                f"(text decoded with 'surrogateescape' has them); decode it with the right encoding, or "
                "rename it."
            )


def _checked_names(names: Sequence[Any] | None, n: int, file: str) -> list[str] | None:
    if names is None:
        return None
    texts = [str(name) for name in names]
    if len(texts) != n:
        raise InputError(f"sample_names has {len(texts)} names for {n} rows.")
    check_unique(texts, "row name", "make the names unique", file=file)
    _check_encodable(texts, file)
    return texts


def _counted(n: int) -> list[str]:
    return list(map(str, range(n)))


def _index_heading(headings: list[str], names: Sequence[str] | None, file: str) -> str:
    """A heading for the row names that the reader recognizes and that no column or row has as its name."""
    taken = {heading.lower() for heading in headings} | {name.strip().lower() for name in names or ()}
    for heading in ("name", "row_name", "sample", *sorted(INDEX_HEADINGS - {""})):
        if heading not in taken:
            return heading
    raise FileError(
        f"{file}: every heading for the row names ({listed(map(repr, sorted(INDEX_HEADINGS)), 6)}) is the "
        "name of a column or row; rename one, or write .npz."
    )


def _named(key: str, names: Sequence[str] | None) -> dict[str, Any]:
    return {} if names is None else {key: np.array(names, dtype=str)}


def _jsonable(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


# Files
# ---------------------------------------------------------------------------------------------------------


def _path(target: Target) -> str | os.PathLike[str]:
    assert not is_stream(target)
    return target  # type: ignore[return-value]


def _format(path: Target) -> tuple[str, bool]:
    if is_stream(path):
        return "text", False
    kind, gzipped = format_of(_path(path))
    require_packages(kind)
    return kind, gzipped


def _separator(path: Target) -> str:
    name = shown(path).lower().removesuffix(".gz")
    return "\t" if not is_stream(path) and name.endswith((".tsv", ".tab")) else ","


@contextmanager
def _opened(path: Target, gzipped: bool) -> Iterator[Any]:
    if is_stream(path):
        with named(shown(path)):
            yield path
            path.flush()  # type: ignore[union-attr]
        return
    with atomic_write(_path(path)) as handle:
        if not gzipped:
            yield handle
            return
        # No name and no time in the header: the same table gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=handle, compresslevel=6, mtime=0) as packed:
            yield packed


def _write_text(
    handle: Any, separator: str, headings: list[str], names: list[str] | None, columns: list[Cells], n: int
) -> None:
    handle.write((separator.join(map(_quote, headings)) + "\n").encode())
    with progress(total=n, what="writing", unit="rows") as bar:
        for start in range(0, n, _ROWS):
            stop = min(start + _ROWS, n)
            first = map(str, range(start, stop)) if names is None else map(_quote, names[start:stop])
            rows = zip(first, *(cells(start, stop) for cells in columns))
            handle.write(("\n".join(map(separator.join, rows)) + "\n").encode())
            bar.update(stop - start)


def _write_archive(handle: Any, kind: str, arrays: dict[str, Any], name: str) -> None:
    if kind == "npz":
        _write_npz(handle, arrays)
        return
    from scipy.io import savemat

    packed = {}
    for key, array in arrays.items():
        if not _MATLAB_NAME.fullmatch(key):
            raise FileError(
                f"{name}: {key!r} cannot be the name of a MATLAB variable (a letter, then letters, digits "
                "and underscores, 63 at most); rename the column, or write .npz."
            )
        if getattr(array, "dtype", np.dtype(float)).kind == "U" and array.ndim:
            array = array.astype(object)[:, None]  # a cell array, in which MATLAB keeps lists of texts
        packed[key] = array
    buffer = io.BytesIO()  # SciPy's writer seeks back and forth
    savemat(buffer, packed, do_compression=True, oned_as="column", long_field_names=True)
    handle.write(buffer.getbuffer())


_MATLAB_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}", re.ASCII)


def _write_npz(handle: Any, arrays: dict[str, Any]) -> None:
    """Like ``numpy.savez_compressed``, which cannot take an array called ``file``."""
    with zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            # The date is that of NumPy's own archives, so the same arrays give the same bytes.
            info = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write_array(member, np.asanyarray(array), allow_pickle=False)
