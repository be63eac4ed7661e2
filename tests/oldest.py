"""The oldest supported versions as requirements for pip: ``python -m tests.oldest`` prints them.

They are read from what is installed, so that any Python will do. Tools that look at the source or make the
site from it (the extras ``dev`` and ``docs``) are left out: they need not work beside old libraries.
"""

from __future__ import annotations

import re
from importlib.metadata import requires

_REQUIREMENT = re.compile(
    r"""(?P<name>[\w.-]+(?:\[[\w,]+\])?)>=(?P<version>[\w.]+)(?:\s*;.*?(?:extra\s*==\s*['"](?P<extra>[\w-]+)['"].*|$))?"""
)


_TOOLS = {"dev", "docs"}


def floors(declared: list[str]) -> list[str]:
    """``name==version`` for every ``name>=version`` but those of tools."""
    found = []
    for line in declared:
        if line.startswith("consilience["):
            continue  # an extra made of others
        requirement = _REQUIREMENT.fullmatch(line)
        if requirement is None:
            raise SystemExit(f"{line!r} in pyproject.toml has no lowest version: write name>=version.")
        if requirement["extra"] not in _TOOLS:
            found.append(f"{requirement['name']}=={requirement['version']}")
    return list(dict.fromkeys(found))  # the build lists what an extra takes over from others once more


if __name__ == "__main__":
    print("\n".join(floors(requires("consilience") or [])))
