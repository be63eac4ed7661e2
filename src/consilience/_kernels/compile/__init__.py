"""Compiled functions: how they are compiled, cached and interrupted, and loops that compile fast."""
