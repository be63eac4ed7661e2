"""Parameters that a class declares, and the docstring that is made of its own and that of its bases."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from dataclasses import field
from typing import Annotated, ClassVar

import pytest
from sklearn.base import clone

from consilience._base.estimator import BaseMethod, check_parameters, declared
from consilience._base.parameters import Choice, Integer, NJobs, Nothing, Real
from consilience.errors import InputError


@declared
class BaseShape(BaseMethod):
    """A base.

    It describes what all have.

    Parameters
    ----------
    sides : int
        How many.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    labels_, confidence_ : arrays
        What is found.
    area_ : float
        Of those that have one.
    messages_ : list
        Warnings.
    """

    sides: Annotated[int, Integer(3)] = field(default=4, kw_only=False)


@declared
class Shape(BaseShape):
    """A method.

    Parameters
    ----------
    tol : float
        When it stops.
    color : {"red", "blue"} or None
        Its color.

    Attributes
    ----------
    angle_ : float
        Its own.

    Notes
    -----
    As it is written.
    """

    tol: Annotated[float, Real(0)] = 1e-06
    color: Annotated[str | None, Nothing() | Choice("red", "blue")] = None
    n_jobs: NJobs = -1

    labels_: ClassVar[list]
    confidence_: ClassVar[list]
    angle_: ClassVar[float]


@declared
class Square(Shape):
    """Another.

    Parameters
    ----------
    color : {"red", "blue"} or None
        Of its border.
    """

    color: Annotated[str | None, Choice("red", "blue") | Nothing()] = "red"

    area_: ClassVar[float]


def test_constructor():
    assert list(inspect.signature(Shape).parameters) == ["sides", "tol", "color", "n_jobs"]
    assert str(inspect.signature(Shape).parameters["tol"]) == "tol: float = 1e-06"
    assert Shape().get_params() == {"sides": 4, "tol": 1e-06, "color": None, "n_jobs": -1}
    assert Square(3).get_params() == {"sides": 3, "tol": 1e-06, "color": "red", "n_jobs": -1}
    assert repr(Shape(tol=0.5)) == "Shape(tol=0.5)"
    for copy in (clone(Shape(tol=0.5)), pickle.loads(pickle.dumps(Shape(tol=0.5)))):
        assert copy.tol == 0.5
    assert Shape() != Shape()
    assert not hasattr(Shape, "tol")
    with pytest.raises(TypeError, match="positional"):
        Shape(4, 0.5)
    with pytest.raises(TypeError, match="angle_"):
        Shape(angle_=1.0)


def test_rules():
    assert check_parameters(Square()) == Square().get_params()
    with pytest.raises(InputError, match="^sides=2 is not valid: expected a whole number of at least 3"):
        check_parameters(Square(2))
    with pytest.raises(InputError, match="expected None or one of 'red', 'blue'"):
        check_parameters(Shape(color="green"))
    with pytest.raises(InputError, match="expected one of 'red', 'blue' or None"):
        check_parameters(Square(color="green"))
    with pytest.raises(InputError, match="n_jobs=0"):
        check_parameters(Shape(n_jobs=0))


def test_docstring():
    assert (
        Shape.__doc__
        == """A method.

Parameters
----------
sides : int, default 4
    How many.
tol : float, default 1e-6
    When it stops.
color : {"red", "blue"} or None, default None
    Its color.
n_jobs : int or None, default -1
    Threads.

Attributes
----------
labels_, confidence_ : arrays
    What is found.
angle_ : float
    Its own.
messages_ : list
    Warnings.

Notes
-----
As it is written.
"""
    )
    assert 'color : {"red", "blue"} or None, default "red"\n    Of its border.\nn_jobs' in Square.__doc__
    for line in ("    Of those that have one.", "    Its own.", "    Threads."):
        assert Square.__doc__.count(line) == 1
    assert "As it is written" not in Square.__doc__
    assert "n_jobs" in BaseShape.__doc__  # which describes more than it has


def test_without_docstrings():
    program = "from consilience.consensus import LWGP; assert LWGP.__doc__ is None; print(LWGP(3, n_init=5))"
    done = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True, timeout=200)
    assert done.stdout == "LWGP(n_clusters=3, n_init=5)\n", done.stderr
