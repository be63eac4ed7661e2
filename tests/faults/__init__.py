"""Faults made on purpose: full disks, kills, interrupts, and limits of memory. What is left behind is looked
at.
"""
