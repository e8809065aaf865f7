"""How fast a folder of 10,000 runs is told and read, and how much memory that takes.

    python benchmarks/compare_files.py                 # 80 classes, bundles of 20 runs
    python benchmarks/compare_files.py --quick --json  # the last line is JSON

Runs are made up: lists over classes, losses and curves as real ones have them. `simkit show` is
timed as a process of its own, for a comparison that ended (one table) and for one under way
(bundles alone); the table is read to the last number. The bar is 2 seconds for `simkit show`. On
two busy cores it took 0.85 s and 144 MB, and 0.66 s and 121 MB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from simkit.history import versions
from simkit.results import job_store, runs
from simkit.study.worker import environment

BAR = 2.0
_SHOW = """
import sys
from pathlib import Path
from simkit.cli.main import code
code(["show", sys.argv[1]])
# What getrusage tells would count what the process held that began this one.
lines = Path("/proc/self/status").read_text().splitlines()
(peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
print(int(peak) / 1024, file=sys.stderr)
"""


def row(number: int, classes: int, rng: np.random.Generator) -> dict[str, Any]:
    """A run of one of 4 schemes x 10 methods x 5 budgets x draws."""
    counts = rng.integers(0, 900, (2, classes)).tolist()
    return {
        "scheme": f"rpa(keep=0.{1 + number % 4})", "method": f"method-{number // 4 % 10}",
        "reference": False, "budget": 10.0 * (1 + number // 40 % 5), "draw": number // 200,
        "seed": 0, "dollars": 9.5, "images": 1000, "present": 5, "absent": 5, "unknown": 70,
        "class_present": counts[0], "class_absent": counts[1], "map": float(rng.random()),
        "ap": rng.random(classes).tolist(), "losses": rng.random(10).tolist(),
        "curve": rng.random(10).tolist(), "curve_of": "test", "stack": 20, "train_seconds": 0.7,
        "bundle_seconds": 14.0, "peak_memory_mb": 800.0, "environment": environment(), "notes": [],
        "key": "0" * 16,
    }  # fmt: skip


def written(folder: Path, count: int, classes: int, each: int) -> tuple[Path, Path]:
    """Two folders: a comparison that ended, and the same one under way."""
    rng = np.random.default_rng(0)
    ended, under_way = folder / "ended", folder / "under way"
    parts = {}
    for first in range(0, count, each):
        rows = [row(number, classes, rng) for number in range(first, first + each)]
        parts[f"{first:016}-code"] = runs.to_table(rows).replace_schema_metadata(None)
    for stem, part in parts.items():
        job_store.save(job_store.Result(part), under_way / "bundles", stem)
    names = [f"class {number}" for number in range(classes)]
    job_store.begin(under_way, grid="draws = 50", keys=list(parts), classes=names, leaves=())
    runs.write(runs.writers(runs.concat(list(parts.values()), {"classes": names})), ended)
    return ended, under_way


def shown(folder: Path) -> tuple[float, float]:
    """Seconds of `simkit show` from start to end, and the megabytes that it took."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _SHOW, str(folder)], capture_output=True, text=True, check=True
    )
    taken = time.perf_counter() - start
    assert "000 runs: 4 schemes, 10 methods" in done.stdout, done.stdout
    return taken, float(done.stderr.split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 runs")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    given = parser.parse_args()
    count, classes, each = 2_000 if given.quick else 10_000, 80, 20
    seconds, memory, tables = {}, {}, {}
    with tempfile.TemporaryDirectory() as place:
        folders = written(Path(place), count, classes, each)
        for folder in folders:
            told = [shown(folder) for _ in range(3)]
            seconds[f"show, {folder.name}"] = min(one for one, _ in told)
            memory[f"show, {folder.name}"] = max(one for _, one in told)
            start = time.perf_counter()
            tables[folder.name] = runs.read(folder)
            seconds[f"table, {folder.name}"] = time.perf_counter() - start
    for what, taken in seconds.items():
        print(f"{what}: {taken:.2f} s" + (f", {memory[what]:,.0f} MB" if what in memory else ""))
    size = tables["ended"].nbytes / 1e6
    print(f"{count:,} runs with {classes} classes: a table of {size:,.0f} MB; the bar is {BAR:g} s")
    ratios = {name: round(BAR / taken, 2) for name, taken in seconds.items() if "show" in name}
    equal = tables["ended"].equals(tables["under way"])
    if given.json:
        summary = {"name": "compare_files", "ratios": ratios, "equal": equal}
        sizes = {"runs": count, "classes": classes, "bundles": count // each}
        more = {"memory_mb": memory, "sizes": sizes, "seconds": seconds}
        print(json.dumps({**summary, **more, "versions": versions()}))
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
