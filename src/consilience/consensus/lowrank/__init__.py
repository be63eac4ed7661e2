"""Methods that explain the co-association matrix by a low-rank representation of itself."""

from .nrsec import NRSEC
from .rsec import RSEC

__all__ = ["NRSEC", "RSEC"]
