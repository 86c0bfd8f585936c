"""Comparisons with peers: ``python -m benchmarks.accuracy`` and ``python -m benchmarks.speed``."""
