"""Consensus clustering: many imperfect clusterings in, one better, stable, explained clustering out."""
__version__ = "0.1.0"
