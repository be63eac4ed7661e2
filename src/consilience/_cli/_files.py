"""What the commands do with files: where to read, what can be written, and the results themselves."""

from __future__ import annotations

import errno
import io
import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..errors import InputError
from ._options import Labels, Objects, Results
from ._session import Session


def source(path: str) -> Any:
    """A path, or standard input for ``-``."""
    if path != "-":
        return path
    if sys.stdin is None:
        raise InputError("Standard input is closed; give a file instead of '-'.")
    return sys.stdin.buffer


def check_inputs(*paths: str | None, formats: bool = True) -> None:
    """Refuse files that cannot be read before anything is imported to read them."""
    from ..io import check_readable

    for path in paths:
        if path is not None and path != "-":
            check_readable(path, formats=formats)


def check_output(
    path: str,
    *inputs: str,
    outputs: Sequence[str] = (),
    as_json: bool = False,
    json_instead: bool = True,
) -> None:
    """Refuse before the work what could not be written after it."""
    if path == "-":
        if as_json and not json_instead:
            raise InputError("--json prints on standard output, so the result needs a file: give -o FILE.")
        _check_standard_output()
        return
    from ..io import check_writable

    check_writable(path)
    if any(map(partial(_same_file, path), inputs)):
        raise InputError(f"{path} is the input file itself; give another output file.")
    if any(map(partial(_same_file, path), outputs)):
        raise InputError(
            f"{path} is given twice as an output, and one would overwrite the other; give two different "
            f"names."
        )


def _check_standard_output() -> None:
    """Refuse output to a stream that is closed."""
    try:
        os.write(sys.stdout.fileno(), b"")
    except io.UnsupportedOperation:  # a buffer in memory
        pass
    except OSError as error:
        if error.errno == errno.EBADF:
            raise InputError("Standard output is closed, so the result needs a file: give -o FILE.") from None


def _same_file(path: str, other: str) -> bool:
    """Whether two paths mean one file that can be overwritten; it need not exist yet."""
    if "-" in (path, other) or (os.path.exists(path) and not os.path.isfile(path)):
        return False
    if os.path.exists(path) and os.path.exists(other):
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def check_report(path: str | None, *others: str, option: str = "--save-report") -> None:
    """Refuse before the work a page that could not be written after it."""
    if path is None:
        return
    from ..errors import need
    from ..io import check_writable

    if path == "-":
        raise InputError(f"{option} needs the name of a file, such as report.html.")
    need("jinja2", "report", "A report")
    check_writable(path, formats=False)
    if any(map(partial(_same_file, path), others)):
        raise InputError(f"{option} {path} would overwrite the file of that name; give the page another one.")
    if not path.lower().endswith((".html", ".htm")):
        raise InputError(f"{option} {path} would hold an HTML page: choose a name that ends in .html.")


def check_model_output(path: str | None, *others: str) -> None:
    """Refuse before the work a model that could not be written after it."""
    if path is None:
        return
    from ..io import check_writable

    if path == "-":
        raise InputError("--save-model needs the name of a file, such as model.consilience.")
    check_writable(path, formats=False)
    if any(map(partial(_same_file, path), others)):
        raise InputError(
            f"--save-model {path} would overwrite the file of that name; give the model another one."
        )


def save_model(session: Session, path: str | None, model: Any) -> None:
    """Write the model, if a path is given."""
    if path is not None:
        model.save(path)
        session.say(f"wrote the model to {path}")


def matching_rows(session: Session, ours: Any, our_file: str, theirs: Any, their_file: str) -> Any:
    """The rows of ``theirs`` in the order of ``ours``: by name where both have names, else by position."""
    import numpy as np

    if ours.n_samples != theirs.n_samples:
        raise InputError(
            f"{our_file} has {ours.n_samples} objects and {their_file} has {theirs.n_samples}; both must "
            "hold the same objects."
        )
    a, b = ours.sample_names, theirs.sample_names
    if a is None or b is None or a == b:
        return np.arange(ours.n_samples)
    where = {name: row for row, name in enumerate(b)}
    strangers = [name for name in a if name not in where]
    if strangers:
        from .._base.parameters import listed

        raise InputError(
            f"{our_file} has rows named {listed(map(repr, strangers))}, {their_file} does not; the rows "
            f"cannot be matched."
        )
    session.note(f"Matched the rows of {their_file} to those of {our_file} by name.")
    return np.array([where[name] for name in a])


def read_classes(session: Session, path: str, column: str | None, key: str | None) -> Any:
    """The file of ``--labels-true``, with one column of known classes."""
    from ..io import read_labels

    wanted = None if column is None else [column]
    classes = read_labels(source(path), key=key, columns=wanted, truth=True, on_note=session.note)
    if classes.n_clusterings > 1:
        names = ", ".join(map(repr, classes.clustering_names[:8]))
        raise InputError(
            f"{path} has {classes.n_clusterings} columns ({names}); name the one that holds the classes with "
            f"--true-column."
        )
    return classes


def fit_arguments(session: Session, objects: Objects, data: Any, path: str) -> dict[str, Any]:
    """Arguments of ``fit`` for the objects of ``data``, which was read from ``path``."""
    from ..io import read_annotations, read_features

    given: dict[str, Any] = {}
    if objects.sample_weight is not None:
        weights = read_features(source(objects.sample_weight), on_note=session.note)
        if weights.values.shape[1] != 1:
            raise InputError(
                f"{objects.sample_weight} has {weights.values.shape[1]} columns of numbers; expected one "
                "weight for each object, beside its name if it has one."
            )
        rows = matching_rows(session, data, path, weights, objects.sample_weight)
        given["sample_weight"] = weights.values[rows, 0]
    if objects.must_link is not None:
        pairs = read_annotations(source(objects.must_link), header=False, index=False)
        known = set(data.sample_names or ())
        given["must_link"] = [
            [_object(cell, known) for cell in line if cell is not None]
            for line in zip(*pairs.columns.values())
        ]
    return given


def _object(cell: Any, known: set[Any]) -> Any:
    """A row name if there is one like that, else a position if it is a whole number."""
    text = str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
    return int(text) if text not in known and text.isdecimal() else text


def write_report(
    session: Session, path: str | None, model: Any, X: Any, *, source: str, names: Any, seconds: float
) -> None:
    """Write the page about a result, with the command that made it."""
    if path is None:
        return
    from .._reporting import report

    report(
        model,
        X,
        path=path,
        source="standard input" if source == "-" else os.path.basename(source),
        sample_names=names,
        command=shlex.join(["consilience", *session.arguments]),
        seconds=seconds,
        warnings=session.warnings,
    )
    session.say(f"wrote a report to {path}")


def write_result(
    session: Session,
    results: Labels | Results,
    model: Any,
    names: Any,
    *,
    as_json: bool,
    facts: dict[str, Any],
) -> None:
    """Write the labels to a file or to standard output; with ``--json``, print the facts about them."""
    import numpy as np

    from ..io import write_labels

    labels, path = np.asarray(model.labels_), results.output
    sure = model.confidence_ if results.confidence else None
    sizes = np.bincount(labels[labels >= 0])
    if path != "-":
        write_labels(labels, path, sample_names=names, confidence=sure)
        session.say(
            f"wrote {len(labels)} labels in {len(sizes)} cluster{'' if len(sizes) == 1 else 's'} "
            f"({_sizes(sizes)} objects) to {path}"
        )
    elif not as_json:
        write_labels(labels, sys.stdout.buffer, sample_names=names, confidence=sure)
    if as_json:
        result = {
            **facts,
            "n_samples": len(labels),
            "n_clusters": len(sizes),
            "sizes": sizes,
            "converged": bool(getattr(model, "converged_", True)),
            "n_iter": getattr(model, "n_iter_", None),
            "mean_confidence": float(np.mean(model.confidence_)),
            "output": None if path == "-" else path,
        }
        if path == "-":
            result |= {"names": names, "labels": labels} | (
                {"confidence": sure} if results.confidence else {}
            )
        session.print_json(result)


def _sizes(sizes: Any) -> str:
    from .._base.parameters import listed

    return listed(sizes, most=10)
