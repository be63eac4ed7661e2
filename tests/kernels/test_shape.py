"""Compiled functions that people can read.

Few parameters, with arrays that belong together in a NamedTuple, and few lines.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import consilience._kernels

SOURCE = Path(consilience._kernels.__file__).parent
PARAMETERS, LINES = 8, 60
#: What is still beyond, as (parameters, lines). Entries only go.
ALLOWED: dict[str, tuple[int, int]] = {}


def compiled(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions of a module that are compiled: decorated, or given to ``kernel(...)`` by name."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and makes_kernels(node.func)]
    given = {argument.id for call in calls for argument in call.args if isinstance(argument, ast.Name)}
    return [
        function
        for name, function in functions.items()
        if name in given or any(map(makes_kernels, function.decorator_list))
    ]


def makes_kernels(node: ast.expr) -> bool:
    """Whether this is ``kernel``, ``fast_kernel``, one of them with options, or a decorator made of them."""
    node = node.func if isinstance(node, ast.Call) else node
    return isinstance(node, ast.Name) and (node.id.endswith("kernel") or node.id == "_step_of_pivot")


def beyond(tree: ast.Module) -> dict[str, tuple[int, int]]:
    """(parameters, lines) of the compiled functions that have too many of either."""
    shapes = {}
    for function in compiled(tree):
        arguments = function.args
        count = len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs)
        length = (function.end_lineno or 0) - function.lineno + 1
        if count > PARAMETERS or length > LINES:
            shapes[function.name] = (count, length)
    return shapes


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_compiled_functions_have_few_parameters_and_lines(path):
    room = path.relative_to(SOURCE).with_suffix("").as_posix()
    found = {f"{room}.{name}": shape for name, shape in beyond(ast.parse(path.read_text("utf-8"))).items()}
    allowed = {name: shape for name, shape in ALLOWED.items() if name.startswith(f"{room}.")}
    assert found == allowed, "group arrays in a NamedTuple, split the loop, or take the name off the list"


def test_the_measure_sees_what_is_compiled():
    many = ", ".join("abcdefghi")
    text = f"""
@kernel
def first({many}): pass
@fast_kernel(forceinline=True)
def second({many}): pass
def third({many}): pass
fourth = kernel(third)
def fifth({many}): pass
@kernel
def sixth(a):
{"    a += 1" * 1}
{chr(10) * 60}    return a
"""
    assert set(beyond(ast.parse(text))) == {"first", "second", "third", "sixth"}


def test_most_kernels_are_measured():
    trees = [ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")]
    assert sum(len(compiled(tree)) for tree in trees) > 150
