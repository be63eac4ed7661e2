"""How many clusters: an answer with evidence, and "none" among the answers."""

from .choose import choose_k as choose_k
from .study import COLUMNS as COLUMNS
from .study import SHOWN as SHOWN
from .study import ChooseKResult as ChooseKResult

__all__ = ["COLUMNS", "SHOWN", "ChooseKResult", "choose_k"]
