"""How fast one thread reads the rows, and how near to that one pass of boosting comes."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from benchmarks.speed.data import training_rows
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.native import fused_pass, stream_bandwidth
from benchmarks.speed.timing import interleaved

STREAM = "streaming read"
PASS = "fused pass"
# A pass over a million rows takes milliseconds.
TIMES_MORE_REPEATS = 10


def measure_bandwidth(group: Group, repeats: int, skip_slow: bool) -> Entries:
    """Bytes per second; of the pass, the bytes of X alone are counted."""
    X, _ = training_rows(group.rows, group.truth, 0)
    repeats *= TIMES_MORE_REPEATS
    with threadpool_limits(group.threads):
        bandwidth, source = stream_bandwidth(X, repeats)
        entries = [{"method": STREAM, "bytes_per_second": bandwidth, "source": source}]
        run = fused_pass(X)
        if run is not None:
            turns = interleaved({PASS: lambda repeat: run}, repeats, str(group))
            fastest = min(seconds for _, _, seconds, _ in turns)
            entries.append({"method": PASS, "bytes_per_second": X.nbytes / fastest})
    return entries
