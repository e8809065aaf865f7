"""What the benchmarks share: one thread, rivals, turns, memory, tables, and how they end.

Import it before numpy: how many threads may be used is read when that is loaded.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import importlib  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Mapping, Sequence  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, NoReturn  # noqa: E402

from simkit.files import whole  # noqa: E402
from simkit.history import versions  # noqa: E402


def rival(module: str) -> Any:
    """A library to compare with, or None after a line on how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = {"sklearn": "scikit-learn"}.get(module.split(".")[0], module.split(".")[0])
        print(f"{package} is not installed and left out; pip install {package}")
        return None


def machine() -> str:
    """The processor, and how busy it is: other work takes its caches, memory and clock rate."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
        name = next(names, platform.processor())
    except OSError:
        name = platform.processor()
    noted = " (BUSY: repeat on an idle machine before judging a ratio)" if busy() else ""
    return f"{name}, {os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}{noted}"


def busy() -> bool:
    """Whether more runs on this machine than it has processors."""
    return os.getloadavg()[0] > (os.cpu_count() or 1)


def timed(function: Callable[..., Any], *values: Any, **settings: Any) -> tuple[float, Any]:
    """Seconds of processor time, which others on the machine disturb less than the clock's."""
    start = time.process_time()
    result = function(*values, **settings)
    return time.process_time() - start, result


def turns(
    ours: Callable[[], Any], theirs: Callable[[], Any], goes: int
) -> tuple[list[float], list[float], Any, Any]:
    """Both in turn: the seconds of each go of ours and of theirs, and what they found last."""
    seconds: tuple[list[float], list[float]] = ([], [])
    found: list[Any] = [None, None]
    for _ in range(goes):
        for k, function in enumerate((ours, theirs)):
            took, found[k] = timed(function)
            seconds[k].append(took)
    return *seconds, *found


def speed(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    """Best seconds of both, and how many times as fast ours is, by the best and by medians."""
    middle = statistics.median(theirs) / statistics.median(ours)
    best = {"ours": min(ours), "theirs": min(theirs)}
    return {**best, "ratio": min(theirs) / min(ours), "median ratio": middle}


def forget_peak() -> float:
    """Start the high-water mark of this process's memory again; MB held now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_mb()


def peak_mb() -> float:
    """The most MB this process held since `forget_peak`, by the kernel's own count."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in markdown; the first column is text, the others are numbers."""
    print("| " + " | ".join(heads) + " |")
    print("|---|" + (len(heads) - 1) * "--:|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def printed(text: str, out: Path | None) -> None:
    """Print a result, and write it to a file if one was asked for."""
    print(text)
    if out is not None:
        with whole(out) as path:
            path.write_text(f"{text.rstrip()}\n", encoding="utf-8")


def instead(theirs: str) -> None:
    """Say what one would run in place of simkit."""
    print(f"One would run instead: {theirs}.")


def against(ratios: Mapping[str, float], bar: float, digits: int = 1, *, theirs: str) -> None:
    """Each ratio, and whether it reaches the bar, which is not judged on a busy machine.

    theirs: what one would run in place of simkit.
    """
    instead(theirs)
    for case, ratio in ratios.items():
        verdict = "reached" if ratio >= bar else "NOT reached"
        verdict = "not judged, as the machine is busy" if busy() else verdict
        print(f"{case}: {ratio:.{digits}f} times as fast; the bar of {bar} is {verdict}")


def finish(
    name: str,
    *,
    as_json: bool,
    equal: bool,
    ratios: Mapping[str, float],
    sizes: Mapping[str, Any],
    memory_mb: Mapping[str, float] | None = None,
    **more: Any,
) -> NoReturn:
    """Print the machine and, where wanted, one JSON object as the last line; leave, 1 if not equal.

    ratios: how many times as fast, for each case.  sizes: the shapes.  memory_mb: of those cases
    that were measured.  more: what else this benchmark has to say.
    """
    print(machine())
    if not equal:
        print(f"{name}: RESULTS DIFFER", file=sys.stderr)
    if as_json:
        rounded = {case: round(ratio, 2) for case, ratio in ratios.items()}
        found = {"name": name, "ratios": rounded, "equal": equal, "memory_mb": memory_mb or {}}
        found |= {"sizes": sizes, **more, "machine": machine(), "judged": not busy()}
        found["versions"] = versions()
        print(json.dumps(found))
    sys.exit(0 if equal else 1)
