"""Threads, memory and floating-point numbers."""
