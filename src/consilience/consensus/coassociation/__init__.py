"""Methods that work on pairs of objects: the co-association matrix."""

from .evidence import EvidenceAccumulation
from .kmeans import CoassociationKMeans

__all__ = ["CoassociationKMeans", "EvidenceAccumulation"]
