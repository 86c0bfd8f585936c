"""The largest resident memory of a stretch of code, as Linux counts it in /proc/self.

Linux keeps the largest resident memory of a process (VmHWM) and starts it anew when 5 is written to
clear_refs. Nothing else tells the peak of a stretch from that of what was done before it, so
elsewhere there is no measurement.
"""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def start_peak() -> int | None:
    """Forget the peak so far; return what is resident, None where peaks cannot be measured."""
    gc.collect()
    # Returned to the system, or what is measured would use free memory, unseen.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    try:
        RESET.write_text("5")
        return status("VmRSS")
    except OSError:
        return None


def status(name: str) -> int:
    """A number of /proc/self/status in bytes."""
    for line in STATUS.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return 1024 * int(value.split()[0])
    raise OSError(f"{STATUS} has no {name}")
