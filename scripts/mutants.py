"""How many changes of the code that decides about money the tests notice.

    python scripts/mutants.py [ROOM ...] [--survivors] [--out benchmarks/results/mutants.md]

mutmut changes one operator, number or argument of a function at a time, and runs the tests that
call it. Rooms are named below, each with its files and tests; all of them take some hours.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BAR = 0.85
ROOMS = {  # files of simkit, and tests
    "average precision": (["metrics/*.py"], ["metrics"]),
    "statistics": (
        ["results/statistics.py", "results/comparisons.py", "results/cells.py"], ["results"]
    ),
    "planning": (
        [f"planning/{name}.py" for name in
         ("choose", "costs", "curves", "evidence", "pilot", "plan", "test_split")], ["planning"]
    ),
    "prices": (
        ["annotate/prices.py", "annotate/budget.py", "annotate/evaluation_set.py"],
        [f"annotate/test_{name}.py" for name in ("prices", "budget", "evaluation_set", "ledger")],
    ),
    "annotators": (
        ["annotate/dawid_skene.py", "annotate/annotators.py"],
        ["annotate/test_dawid_skene.py", "annotate/test_annotators.py"],
    ),
    "simulators": (
        ["annotate/simulated_crowd.py", "annotate/sparse_draws.py", "annotate/simulate.py",
         "annotate/schemes/*.py"], ["annotate"],
    ),
}  # fmt: skip
# They start processes, whose mutants are not counted, or look at the whole project.
LEFT_OUT = "not trained_pilots and not process"


def tested(room: str, place: Path, *, survivors: bool) -> tuple[int, int]:
    """The numbers of mutants that the tests notice, and of all, of a room."""
    files, tests = ROOMS[room]
    lines = {
        "source_paths": ["simkit"], "only_mutate": [f"simkit/{file}" for file in files],
        "also_copy": [path.name for path in place.iterdir() if path.name != "simkit"],
        "pytest_add_cli_args": ["-q", "-p", "no:cacheprovider", "-k", LEFT_OUT],
        "pytest_add_cli_args_test_selection": [f"tests/{test}" for test in tests],
    }  # fmt: skip
    text = "\n".join(f"{name} = {json.dumps(value)}" for name, value in lines.items())
    with (place / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[tool.mutmut]\n{text}\n")
    command = [sys.executable, "-m", "mutmut"]
    subprocess.run([*command, "run"], cwd=place, check=True)
    subprocess.run([*command, "export-cicd-stats"], cwd=place, check=True, capture_output=True)
    counts = json.loads((place / "mutants" / "mutmut-cicd-stats.json").read_text("utf-8"))
    if survivors:
        listed = subprocess.run([*command, "results"], cwd=place, capture_output=True, text=True)
        for name in (line.split(":")[0].strip() for line in listed.stdout.splitlines()):
            subprocess.run([*command, "show", name], cwd=place, check=True)
    noticed = counts["killed"] + counts["timeout"] + counts["segfault"]
    return noticed, counts["total"] - counts["skipped"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=", ".join(ROOMS))
    parser.add_argument("--survivors", action="store_true", help="show what nobody noticed")
    parser.add_argument("--out", type=Path, help="file for the table")
    wants = parser.parse_args()
    rows = ["| room | mutants | noticed | |", "|---|--:|--:|---|"]
    for room in wants.rooms or ROOMS:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "simkit"
            listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
            for name in listed.stdout.splitlines():
                target = place / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, target)
            noticed, total = tested(room, place, survivors=wants.survivors)
        share = noticed / max(total, 1)
        rows.append(f"| {room} | {total:,} | {share:.1%} | {'met' if share >= BAR else 'below'} |")
        print(rows[-1])
    if wants.out:
        title = "# Changes that tests notice\n\n`python scripts/mutants.py`: at least "
        wants.out.write_text(
            f"{title}{BAR:.0%} in each room.\n\n" + "\n".join(rows) + "\n", "utf-8"
        )


if __name__ == "__main__":
    main()
