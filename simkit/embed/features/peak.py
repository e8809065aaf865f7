"""How much memory a process has held at most."""

from __future__ import annotations

import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_memory() -> float | None:
    """Megabytes (2**20 bytes) this process has held at most; None where the platform is silent.

    Linux's own count of this process comes first: what getrusage says begins, in a process that
    was started by another, with what that one held.
    """
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
