"""Nearest neighbors and landmarks."""
