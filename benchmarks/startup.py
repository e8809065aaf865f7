"""The cost of starting a command: memory, processor time, and the files walked through.

    python benchmarks/startup.py [--quick] [--json]

Each command runs in a process of its own on small inputs: once as users run it, for the memory and
the seconds of processor time, and once under a profiler that counts the files of simkit in which a
function is executed. The commands that decide, price and order load no torch.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
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


def measured(command: str, folder: Path, *, walk: bool) -> dict[str, Any]:
    """Memory, seconds, heavy modules and walked files of one command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SIMKIT_CACHE": str(folder / "cache")}
    facts: dict[str, Any] = {}
    for how in ("walk", "plain") if walk else ("plain",):  # the last one's numbers stand
        done = subprocess.run(
            [sys.executable, "-c", CHILD, how, *command.format(how=how).split()],
            cwd=folder, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        one = json.loads(done.stdout.splitlines()[-1])
        if one["code"]:
            sys.exit(f"simkit {command}: {done.stderr}")
        facts = {**one, "files": max(one["files"], facts.get("files", 0))}
    return facts


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
    given = ask.parse_args()
    sys.path.insert(0, str(ROOT))
    rows, facts = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
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
