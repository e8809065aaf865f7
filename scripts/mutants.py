"""How many changes of the code that decides about money the tests notice.

    python scripts/mutants.py [ROOM ...] [--survivors] [--out benchmarks/results/mutants.md]

mutmut changes one operator, number or argument of a function at a time, and runs the tests that
call it. Rooms are named below, each with its files and tests; all of them take some hours.
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).parents[1]
BAR = 0.85
UNNOTICED = (0, 5, 33, None)  # exit codes of mutmut: survived, no tests, not run
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
# They start processes, whose mutants are not counted, or look at callers, which mutmut replaces.
LEFT_OUT = "not trained_pilots and not process and not buys_everything and not are_warned_of"


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
    found = [mutant for file in files for path in (place / "mutants" / "simkit").glob(file)
             if path.suffix == ".py" for mutant in judged(path)]  # fmt: skip
    if survivors:
        print(*(change for name, change, noticed in found if not noticed), sep="\n")
    return sum(noticed for _, _, noticed in found), len(found)


def judged(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Name, change and whether a test noticed it, of each mutant of a file but those of texts.

    A test that knows every sentence would be in the way, so texts are not counted.
    """
    codes = json.loads(Path(f"{path}.meta").read_text("utf-8"))["exit_code_by_key"]
    functions = {
        one.name: one for one in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(one, ast.FunctionDef)
    }  # fmt: skip
    for name, code in codes.items():
        function, number = name.rsplit(".", 1)[1].rsplit("__mutmut_", 1)
        before = functions[f"{function}__mutmut_orig"]
        after = functions[f"{function}__mutmut_{number}"]
        lines = [ast.unparse(one).splitlines()[1:] for one in (before, after)]
        if _without_texts(before) != _without_texts(after):
            change = "\n".join(line for line in unified_diff(*lines, n=0, lineterm="")
                               if line[:3] not in ("---", "+++") and line[:2] != "@@")  # fmt: skip
            yield name, f"{name}\n{change}\n", code not in UNNOTICED


def _without_texts(function: ast.FunctionDef) -> str:
    copy = deepcopy(function)
    copy.name = ""
    for node in ast.walk(copy):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(copy)


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
