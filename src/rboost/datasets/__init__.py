"""The seven sets of the paper, and tables made on the spot."""

from rboost.datasets.benchmarks import BENCHMARKS, Benchmark, characteristics, load_benchmark
from rboost.datasets.generators import make_banana, make_long_servedio, make_twonorm, make_waveform

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "characteristics",
    "load_benchmark",
    "make_banana",
    "make_long_servedio",
    "make_twonorm",
    "make_waveform",
]
