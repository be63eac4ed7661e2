"""Methods on the graph between objects and base clusters: linear in the number of objects."""

from .sccabg import SCCABG
from .transfer_cut import LWGP

__all__ = ["LWGP", "SCCABG"]
