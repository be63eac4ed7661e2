"""Compiling kernels before they are needed."""
