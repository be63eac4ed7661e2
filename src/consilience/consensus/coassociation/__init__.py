"""Methods that work on pairs of objects: the co-association matrix."""

from .evidence import EvidenceAccumulation
from .kmeans import CoassociationKMeans
from .locally_weighted import LWEA, LWSC
from .spce import SPCE

__all__ = ["LWEA", "LWSC", "SPCE", "CoassociationKMeans", "EvidenceAccumulation"]
