"""Hide what readers of the site do not need: the theme's console messages, and notices of compilation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: What the theme writes its notes in.
FILES = ("_static/scripts/pydata-sphinx-theme.js", "search.html")


def hush(app: Any, fault: Exception | None) -> None:
    for name in FILES:
        file = Path(app.outdir) / name
        if fault is None and file.exists():
            file.write_text(file.read_text("utf-8").replace("console.log(", "void("), "utf-8")


def first_use(gallery_conf: dict[str, Any], example: str) -> None:
    """Called before an example, in its process: output does not depend on what was compiled before."""
    from consilience._kernels.compile.jit import NOTICE

    NOTICE.said = True


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", hush)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
