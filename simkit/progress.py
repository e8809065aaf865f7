"""Progress of long work: callables of (done, total)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

Progress = Callable[[int, int], None]
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
            bars.append(tqdm(desc=what, total=total, initial=done, leave=False))
        bar = bars[0]
        bar.total, bar.n = total, done
        bar.refresh()
        if done >= total:
            bar.close()
            bars.clear()

    return advance
