"""Methods that explain the co-association matrix by a low-rank representation of itself."""

from .rsec import NRSEC, RSEC

__all__ = ["NRSEC", "RSEC"]
