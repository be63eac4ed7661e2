"""``NAME=VALUE`` on the command line, as keyword arguments of the library."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from .._base.names import check_names
from ..errors import InputError

#: Parameters of every method that have an option of their own.
METHOD_OPTIONS = {
    "n_clusters": "the option -k",
    "min_cluster_size": "the option --min-cluster-size",
    "random_state": "the option --random-state",
    "n_jobs": "the option --n-jobs",
}


def parse_n_clusters(text: str) -> int | tuple[int, int] | list[int]:
    """The value of ``-k``: one number, an interval 2:10 with both ends, or a list 2,3,5."""
    try:
        if "," in text:
            return [int(part) for part in text.split(",")]
        low, colon, high = text.partition(":")
        return (int(low), int(high)) if colon else int(low)
    except ValueError:
        raise InputError(
            f"-k {text} is not valid: expected a number, the smallest and the largest number, such as 2:10, "
            "or a list, such as 2,3,5."
        ) from None


def parse_params(
    given: Iterable[str], valid: Iterable[str], *, owner: str, reserved: Mapping[str, str]
) -> dict[str, Any]:
    """``name=value`` pairs as keyword arguments, with their names checked.

    ``reserved`` maps names to the options that set them.
    """
    valid = list(valid)
    result: dict[str, Any] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            example = next((one for one in valid if one not in reserved), "name")
            raise InputError(f"{pair!r} is not a parameter: expected NAME=VALUE, for example {example}=1.")
        check_names([name], valid, owner=owner, reserved=reserved)
        result[name] = _value(text.strip())
    return result


def method_params(cls: Any, given: Iterable[str]) -> dict[str, Any]:
    """The parameters of a method; ``cls`` is None where the library chooses the method."""
    if cls is None:
        from .._pipeline.defaults import METHOD_PARAMS

        return parse_params(given, METHOD_PARAMS, owner="The method auto", reserved=METHOD_OPTIONS)
    return parse_params(given, cls._get_param_names(), owner=cls.__name__, reserved=METHOD_OPTIONS)


def generator_params(
    maker: Any, given: Iterable[str], reserved: Mapping[str, str], *, preprocess: str | None = None
) -> dict[str, Any]:
    """The parameters of a generator, ``preprocess`` among them.

    The generator is an entry of the register, or None where the library chooses it.
    """
    from .._pipeline.defaults import AUTO, generator_settings

    reserved = {**generator_reserved(preprocess), **reserved}
    settings, name = (generator_settings(), AUTO) if maker is None else (maker.parameters, maker.name)
    valid = [one for one in settings if one != "sample_weight"]
    params = parse_params(given, valid, owner=f"The generator {name}", reserved=reserved)
    return params if preprocess is None else {**params, "preprocess": preprocess}


def generator_reserved(preprocess: str | None) -> dict[str, str]:
    """The parameters of generators that have an option of their own."""
    return {
        **({} if preprocess is None else {"preprocess": "the option --preprocess"}),
        "n_clusterings": "the option -n",
        "random_state": "the option --random-state",
        "n_jobs": "the option --n-jobs",
    }


def _value(text: str) -> Any:
    """A Python literal where it is one (true, false and none in any case), else the text itself."""
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
