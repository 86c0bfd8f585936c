"""How fast one thread reads the rows, and how near to that one pass of boosting comes."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from benchmarks.speed.data import training_rows
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.native import fused_pass, stream_bandwidth
from benchmarks.speed.timing import interleaved

STREAM = "streaming read"
MOVE = "the bytes of the pass, nothing computed"
PASS = "fused pass"
# A pass over a million rows takes milliseconds.
TIMES_MORE_REPEATS = 10


def measure_bandwidth(group: Group, repeats: int, skip_slow: bool) -> Entries:
    """Bytes per second: X read in order, the bytes of a pass moved, and the pass itself."""
    X, _ = training_rows(group.rows, group.truth, 0)
    repeats *= TIMES_MORE_REPEATS
    with threadpool_limits(group.threads):
        bandwidth, source = stream_bandwidth(X, repeats)
        entries = [{"method": STREAM, "bytes_per_second": bandwidth, "source": source}]
        fused = fused_pass(X)
        if fused is not None:
            run, move = fused.run, fused.move
            tasks = {PASS: lambda repeat: run, MOVE: lambda repeat: move}
            seconds: dict[str, list[float]] = {name: [] for name in tasks}
            for name, _, taken, _ in interleaved(tasks, repeats, str(group)):
                seconds[name].append(taken)
            entries += [
                {"method": name, "bytes_per_second": fused.n_bytes / min(times)}
                for name, times in seconds.items()
            ]
    return entries
