"""Progress of long work, callables of (done, total); the cores it may use, and its memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Progress = Callable[[int, int], None]
_STATUS = Path("/proc/self/status")
SWITCH = "SIMKIT_PROGRESS"  # environment variable; "off": notebooks show no bars


def silent(done: int, total: int) -> None:
    """Show nothing."""


def notebook_bar(what: str) -> Progress:
    """A progress bar below a notebook cell; `silent` elsewhere, or with `SIMKIT_PROGRESS=off`."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = type(shell).__name__ == "ZMQInteractiveShell"
    if not kernel or os.environ.get(SWITCH, "").lower() == "off":
        return silent
    from tqdm import tqdm

    bars: list[Any] = []

    def advance(done: int, total: int) -> None:
        if not bars:
            # Position 0, because the bar of an interrupted cell is never closed.
            bars.append(tqdm(desc=what, total=total, initial=done, leave=False, position=0))
        bar = bars[0]
        bar.total, bar.n = total, done
        bar.refresh()
        if done >= total:
            bar.close()
            bars.clear()

    return advance


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not available on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_memory() -> float | None:
    """Megabytes (2**20 bytes) this process has held at most; None where the platform is silent.

    Linux's count of this process comes first: getrusage starts a child process at the peak of its
    parent.
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
