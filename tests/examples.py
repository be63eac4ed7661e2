"""How many examples hypothesis tries: few by default, all with ``HYPOTHESIS_PROFILE=thorough``."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(thorough: int, **more: Any) -> settings:
    """Settings with that many examples in a thorough run, and a quarter (but two at least) otherwise."""
    return settings(max_examples=thorough if THOROUGH else max(2, thorough // 4), deadline=None, **more)
