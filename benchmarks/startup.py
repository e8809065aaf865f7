"""The cost of starting a command: memory, processor time, imports, and the files walked through.

    python benchmarks/startup.py [--quick] [--json]
    python benchmarks/startup.py --before CLONE [--runs FOLDER]   # against an earlier version

Each command runs in a process of its own on small inputs: as users run it, for the memory and the
seconds of processor time (the least of three runs), and once under a profiler that counts the files
of simkit in which a function is executed. The commands that decide, price and order load no torch.

With `--before`, `simkit simulate --scheme fpc`, and with `--runs` a plan of the finished comparison
in FOLDER, run in turns with an earlier version in another clone; a second table has the seconds of
importing each package (`python -X importtime`), without those that it imports.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import measuring

ROOT = Path(__file__).parents[1]
SMALL = "scenes:images=200,val=40,test=60"
CHILD = """
import inspect, json, sys, time
files = set()
def walk(frame, event, _):
    if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # bodies of functions
        files.add(frame.f_code.co_filename)
if sys.argv[1] == "walk":
    sys.setprofile(walk)
from simkit.cli.main import code
result = code(sys.argv[2:])
sys.setprofile(None)
seconds = time.process_time()
import simkit
from simkit.progress import peak_memory
root = simkit.__file__.removesuffix("__init__.py")
heavy = sorted({"torch", "torchvision", "faiss"} & set(sys.modules))
facts = {"mb": peak_memory(), "seconds": seconds, "heavy": heavy, "code": result}
print("\\n" + json.dumps(facts | {"files": sum(file.startswith(root) for file in files)}))
"""


class Limit(NamedTuple):
    """The most that a command may take; files: the aim, which is reported and not enforced."""

    mb: float
    seconds: float
    files: int | None = None


GOES, TURNS = 3, 5
LEAST = 8.0  # milliseconds of a package with a line of its own
LIGHT = Limit(250, 1.3)
TRAIN = Limit(2000, 20, 25)
COMMANDS = {  # in this order: each uses files that those before it wrote
    "list schemes": LIGHT,
    "simulate --scheme fpc": LIGHT._replace(files=22),
    "cost fpc.parquet": LIGHT,
    "convert fpc.parquet fpc.csv": LIGHT,
    "show fpc.parquet": LIGHT,
    f"order --data {SMALL} --scheme rpa --budget 5 --to csv --out order-{{how}}": LIGHT,
    "receive order-{how} answers.csv": LIGHT,
    "show order-plain": LIGHT,
    "status project": LIGHT,
    "plan runs --budget 200 --images 3000": Limit(250, 2.0, 30),
    "show runs": LIGHT,
    f"train --method ll-r --epochs 2 --labels small.parquet --data {SMALL}": TRAIN,
}


def environment(folder: Path, root: Path = ROOT) -> dict[str, str]:
    """That of a user, whose Python keeps compiled files."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    places = {"PYTHONPATH": root, "SIMKIT_CACHE": folder / "cache"}
    places["PYTHONPYCACHEPREFIX"] = folder / "compiled" / root.name
    return kept | {name: str(place) for name, place in places.items()}


def child(how: str, command: str, folder: Path, root: Path = ROOT) -> dict[str, Any]:
    """What one run of a command in a process of its own measures."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, how, *command.split()],
        cwd=folder, env=environment(folder, root), capture_output=True, text=True,
    )  # fmt: skip
    one: dict[str, Any] = json.loads((done.stdout.splitlines() or ["{}"])[-1] or "{}")
    if one.get("code", 1):
        sys.exit(f"simkit {command}: {done.stderr}")
    return one


def measured(command: str, folder: Path, *, walk: bool) -> dict[str, Any]:
    """Memory, seconds, heavy modules and walked files of one command."""
    walked = child("walk", command.format(how="walk"), folder)["files"] if walk else 0
    goes = GOES if command.split()[0] not in ("order", "receive", "train") else 1  # that write
    runs = [child("plain", command.format(how="plain"), folder) for _ in range(goes)]
    return min(runs, key=lambda one: float(one["seconds"])) | {"files": walked}


def imports(command: str, folder: Path, root: Path) -> Counter[str]:
    """Milliseconds of importing each package in one run of a command."""
    words = [sys.executable, "-X", "importtime", "-m", "simkit", *command.split()]
    done = subprocess.run(
        words, cwd=folder, env=environment(folder, root), capture_output=True, text=True
    )
    found: Counter[str] = Counter()
    for line in done.stderr.splitlines():
        if line.startswith("import time:") and "imported package" not in line:
            own, _, name = line.removeprefix("import time:").split("|")
            package = name.strip().partition(".")[0]
            found["Python" if package in sys.stdlib_module_names else package] += int(own)
    return Counter({package: time / 1e3 for package, time in found.items()})


def against_before(commands: dict[str, str], before: Path, folder: Path) -> dict[str, float]:
    """Two tables: seconds of each command in turns with those of the earlier version, and the
    milliseconds of its imports; returns how many times as fast the commands are."""
    roots = {"before": before.resolve(), "now": ROOT}
    rows, tables, ratios = [], {}, {}
    for name, command in commands.items():
        best: dict[str, list[float]] = {version: [] for version in roots}
        least: dict[str, Counter[str]] = {}
        for _ in range(TURNS):
            for version, root in roots.items():
                best[version].append(float(child("plain", command, folder, root)["seconds"]))
                one = imports(command, folder, root)
                least[version] = one & least.get(version, one)  # the least time of each package
        then, now = (min(seconds) for seconds in best.values())
        ratios[name] = then / now
        tables[name] = least
        rows.append([f"simkit {name}", f"{then:.2f}", f"{now:.2f}", f"{then / now:.2f}"])
    measuring.instead("the same command of the earlier version")
    measuring.table(["command", "processor s before", "now", "times as fast"], rows)
    print()
    heads = [f"{name.split()[0]}, ms {version}" for name in commands for version in roots]
    columns = [tables[name][version] for name in commands for version in roots]
    packages = {package for column in columns for package, time in column.items() if time >= LEAST}
    shown = sorted(packages, key=lambda package: -max(column[package] for column in columns))
    lines = [[package, *(f"{column[package]:.0f}" for column in columns)] for package in shown]
    rest = [sum(time for name, time in column.items() if name not in shown) for column in columns]
    lines += [["others", *(f"{time:.0f}" for time in rest)]]
    lines += [["all", *(f"{column.total():.0f}" for column in columns)]]
    measuring.table(["package", *heads], lines)
    print()
    return ratios


def prepare(folder: Path) -> None:
    """Runs, a project and labels for the commands that read them."""
    from simkit.cli.main import code
    from tests.planning import planted

    planted.write(folder / "runs", planted.data(folder / "data", 300))
    here = Path.cwd()
    os.chdir(folder)
    sys.stdout = open(os.devnull, "w")
    code(["simulate", "--scheme", "rpa", "--data", SMALL, "--out", "small.parquet", "--no-card"])
    code(["quickstart", SMALL, "--budget", "300"])
    sys.stdout = sys.__stdout__
    os.chdir(here)


def answered(folder: Path) -> None:
    """Answer every question of the order with no."""
    import pandas as pd

    table = pd.read_csv(folder / "order-plain" / "round-1" / "questions.csv", dtype=str)
    table = table.assign(answer="no", worker="w", seconds="2")
    table.to_csv(folder / "answers.csv", index=False)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument(
        "--quick", action="store_true", help="without training, and files of two commands"
    )
    ask.add_argument("--json", action="store_true", help="one JSON object as the last line")
    ask.add_argument("--before", type=Path, metavar="CLONE", help="of an earlier version")
    ask.add_argument("--runs", type=Path, metavar="FOLDER", help="plan a finished comparison")
    given = ask.parse_args()
    sys.path.insert(0, str(ROOT))
    rows, facts = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.before:
            commands = {"simulate --scheme fpc": "simulate --scheme fpc --out fpc.parquet"}
            if given.runs:
                commands["plan RUNS"] = f"plan {given.runs.resolve()} --budget 500 --images 9000"
            found = against_before(commands, given.before, folder)
            measuring.finish("startup", as_json=given.json, equal=True, ratios=found, sizes={})
        prepare(folder)
        for command, limit in COMMANDS.items():
            if given.quick and limit is TRAIN:
                continue
            walk = limit.files is not None or not given.quick
            facts[command] = found = measured(command, folder, walk=walk)
            if command.startswith("order"):
                answered(folder)
            aim = "" if limit.files is None else f" (aim {limit.files})"
            rows.append([
                command, f"{found['mb']:,.0f} (most {limit.mb:,.0f})",
                f"{found['seconds']:.2f} (most {limit.seconds:g})", f"{found['files'] or ''}{aim}",
                ", ".join(found["heavy"]) or "none",
            ])  # fmt: skip
    measuring.table(["command", "MB", "processor seconds", "files", "heavy modules"], rows)
    kept = all(
        COMMANDS[command] is TRAIN or (found["mb"] <= COMMANDS[command].mb and not found["heavy"])
        for command, found in facts.items()  # seconds vary with the load of the machine
    )
    measuring.finish(
        "startup", as_json=given.json, equal=kept,
        ratios={c: COMMANDS[c].seconds / found["seconds"] for c, found in facts.items()},
        sizes={"images": 3000}, memory_mb={c: found["mb"] for c, found in facts.items()},
        files={c: found["files"] for c, found in facts.items()},
    )  # fmt: skip


if __name__ == "__main__":
    main()
