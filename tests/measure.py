"""The size and the shape of the package in one table, and how far data travel through it.

python -m tests.measure            # the table, from the sources alone
python -m tests.measure --walks    # three fits, traced: files, functions and changes of room
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from . import rooms
from .rooms import PACKAGE

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def spread(values: Iterable[int]) -> str:
    """Median, 95th percentile and largest."""
    return " / ".join(f"{v:g}" for v in np.percentile(list(values), [50, 95, 100], method="nearest"))


def code_lines(text: str) -> int:
    """Lines that hold code: neither blank, nor comments, nor parts of docstrings."""
    found: set[int] = set()
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    for one in tokenize.generate_tokens(io.StringIO(text).readline):
        if one.type not in skipped and one.type != tokenize.ENDMARKER:
            found.update(range(one.start[0], one.end[0] + 1))
    return len(found - _doc_lines(ast.parse(text)))


def _doc_lines(tree: ast.AST) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTIONS)) and ast.get_docstring(node) is not None:
            found.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return found


def body_length(function: ast.FunctionDef) -> int:
    """Lines of a body, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def n_parameters(function: ast.FunctionDef) -> int:
    """Parameters, but ``self`` and ``cls``."""
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def is_typed(function: ast.FunctionDef) -> bool:
    given = function.args
    own = [
        one for one in (*given.posonlyargs, *given.args, *given.kwonlyargs) if one.arg not in ("self", "cls")
    ]
    return all(one.annotation is not None for one in own)


def is_kernel(function: ast.FunctionDef) -> bool:
    return any("kernel" in ast.unparse(one) for one in function.decorator_list)


def modules() -> dict[tuple[str, ...], Path]:
    return {_module(path): path for path in rooms.files()}


def _module(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def graph(*, lazily: bool) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Module -> modules that it imports; a package only where a name is not one of its modules."""
    known = modules()
    found: dict[tuple[str, ...], set[tuple[str, ...]]] = {name: set() for name in known}
    for name, path in known.items():
        for one in rooms.imports_of(path):
            if one.when == "typing" or (one.when == "lazily" and not lazily):
                continue
            target = one.target if one.target in known else one.target[:-1]
            if target in known and target != name and target:
                found[name].add(target)
    return found


def circles(edges: dict) -> list[list]:
    """Strongly connected components of more than one module."""
    index: dict = {}
    low: dict = {}
    stack: list = []
    found: list[list] = []

    def visit(node) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            cut = stack.index(node)
            found.append(stack[cut:])
            del stack[cut:]

    for node in edges:
        if node not in index:
            visit(node)
    return [one for one in found if len(one) > 1]


def depth(edges: dict) -> int:
    """The longest chain of imports."""
    known: dict = {}

    def of(node, above: tuple) -> int:
        if node not in known:
            known[node] = 1 + max((of(o, (*above, node)) for o in edges[node] if o not in above), default=0)
        return known[node]

    return max(of(node, ()) for node in edges)


def table() -> Iterator[tuple[str, object]]:
    """(what, how much) of the whole package."""
    texts = {path: path.read_text("utf-8") for path in rooms.files()}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lengths = [len(text.splitlines()) for text in texts.values()]
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    bodies, parameters = [body_length(one) for one in functions], [n_parameters(one) for one in functions]
    classes = [
        node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    once, later = graph(lazily=False), graph(lazily=True)
    users: dict = defaultdict(set)
    for name, targets in later.items():
        for target in targets:
            users[target].add(name)
    yield "files", len(texts)
    yield "lines", sum(lengths)
    yield "lines of code", sum(map(code_lines, texts.values()))
    yield "file: p50 / p95 / max", spread(lengths)
    yield "functions", len(functions)
    yield "body: p50 / p95 / max", spread(bodies)
    yield "bodies above 60 lines", sum(length > 60 for length in bodies)
    yield "parameters: p50 / p95 / max", spread(parameters)
    yield (
        "functions of more than 7; 10 parameters",
        "; ".join(str(sum(n > most for n in parameters)) for most in (7, 10)),
    )
    yield "lines above 110", sum(len(line) > 110 for text in texts.values() for line in text.splitlines())
    yield "import circles at import; with lazy ones", f"{len(circles(once))}; {len(circles(later))}"
    yield "import depth", depth(once)
    yield (
        "modules with one user",
        sum(len(users[name]) == 1 for name in once if modules()[name].stem[:2] != "__"),
    )
    yield "private attributes taken", sum(len(set(rooms.private_attributes(tree))) for tree in trees.values())
    yield "stacklevel=", sum(text.count("stacklevel=") for text in texts.values())
    yield "classes; names of two or more", f"{len(classes)}; {sum(n > 1 for n in Counter(classes).values())}"
    yield (
        "untyped functions (but kernels)",
        sum(not is_typed(one) and not is_kernel(one) for one in functions),
    )


# How far data travel -----------------------------------------------------------------------------------


class Walk:
    """Files and functions of a call, in this thread, and changes of room from one new file to the next."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.functions: set[tuple[str, str]] = set()
        self.changes = 0
        self._room = ""

    def __enter__(self) -> Walk:
        sys.setprofile(self._look)
        return self

    def __exit__(self, *exc) -> None:
        sys.setprofile(None)

    def _look(self, frame, event, _argument) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return
        path, name = Path(frame.f_code.co_filename), frame.f_code.co_name
        if name.startswith("<"):  # modules and comprehensions
            return
        self.functions.add((str(path), name))
        room = rooms.room_of_file(path).partition("/")[0]
        if str(path) not in self.files and room != self._room:
            self.changes += 1
            self._room = room
        self.files.add(str(path))


def walks() -> Iterator[tuple[str, Walk]]:
    """Three requests; each is made once before, so that nothing is compiled or imported while traced."""
    from sklearn.datasets import load_digits

    import consilience as cs
    from consilience._cli._program import main

    X = load_digits().data
    labels = cs.generate.kmeans(X, n_clusterings=10, random_state=0).labels
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "labels.csv"), Path(folder, "out.csv")
        cs.io.write_table({f"c{i}": column for i, column in enumerate(labels.T)}, source)
        line = ["consensus", str(source), "-k", "5", "--method", "lwgp", "-o", str(target)]

        def command() -> None:
            target.unlink(missing_ok=True)
            with suppress(SystemExit):
                main(line)

        for name, call in {
            "ConsensusClustering(10).fit(digits)": lambda: cs.ConsensusClustering(10, random_state=0).fit(X),
            "consilience consensus labels.csv -k 5 --method lwgp": command,
            "SPCE().fit(labels)": lambda: cs.consensus.SPCE(10).fit(labels[::6]),
        }.items():
            call()
            with Walk() as walk:
                call()
            yield name, walk


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--walks", action="store_true", help="trace three fits instead")
    if parser.parse_args().walks:
        for name, walk in walks():
            counts = (
                f"{len(walk.files)} files, {len(walk.functions)} functions, {walk.changes} changes of room"
            )
            print(f"{name}: {counts}")
    else:
        for name, value in table():
            print(f"{name:<42} {value}")
