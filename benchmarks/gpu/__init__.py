"""Fits on a GPU: seconds, beside one core, and whether the answers are those of the CPU."""
