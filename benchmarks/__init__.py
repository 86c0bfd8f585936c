"""Accuracy side by side with peers: ``python -m benchmarks.accuracy``."""
