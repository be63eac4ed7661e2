"""References in docstrings to names without a page: text if the name exists, a warning if it does not."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from docutils import nodes
from sphinx.util.nodes import make_refnode

from . import api


def candidates(node: Any) -> list[str]:
    """Full names that a reference may mean: within its class, its module, the package, or as it stands."""
    target = node["reftarget"].lstrip("~.")
    page = node.get("refdoc", "").removeprefix(
        "api/"
    )  # the first lines of docstrings stand on the page of their room
    module, cls = node.get("py:module") or f"consilience.{page}", node.get("py:class")
    rooms = ("consensus", "multitask", "io", "errors")
    places = [f"{module}.{cls}" if module and cls else None, module, "consilience"]
    places += [f"consilience.{room}" for room in rooms]
    return [target, *(f"{place}.{target}" for place in places if place), f"builtins.{target}"]


def resolve(name: str) -> Any:
    """What the name stands for, or None.

    A field that only objects of a class have stands for its name.
    """
    try:
        return resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        owner, _, field = name.rpartition(".")
        is_class = "." in owner and isinstance(cls := resolve(owner), type)
        return name if is_class and field in getattr(cls, "__annotations__", {}) else None


def lead(app: Any, env: Any, node: Any, text: Any) -> nodes.Node | None:
    """The page of the thing meant, wherever the reference says it is; its name where there is none."""
    if node.get("refdomain") != "py":
        return None
    for name in candidates(node):
        if (thing := resolve(name)) is not None:
            for address in api.names():
                if resolve_name(address) is thing:
                    return make_refnode(
                        app.builder, node["refdoc"], f"api/names/{address}", address, text, address
                    )
            return text
    return None


def setup(app: Any) -> dict[str, bool]:
    app.connect("missing-reference", lead)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
