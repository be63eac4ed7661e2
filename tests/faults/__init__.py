"""Faults made on purpose: full disks, kills, interrupts and memory limits, and what is left behind."""
