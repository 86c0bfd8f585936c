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
    """Bytes per second: X read in order, and the pass of a round."""
    X, _ = training_rows(group.rows, group.truth, 0)
    repeats *= TIMES_MORE_REPEATS
    with threadpool_limits(group.threads):
        entries = [{"method": STREAM, "bytes_per_second": stream_bandwidth(X, repeats)}]
        fused = fused_pass(X)
        if fused is not None:
            run = fused.run
            timed = interleaved({PASS: lambda repeat: run}, repeats, str(group))
            fastest = min(seconds for _, _, seconds, _ in timed)
            entries.append({"method": PASS, "bytes_per_second": fused.n_bytes / fastest})
    return entries
