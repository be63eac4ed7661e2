"""Clustering several related tasks together: feature matrices in, one clustering of each out."""

from .spmtc import ASI, LSSMTC, SPMTC

__all__ = ["ASI", "LSSMTC", "SPMTC"]
