"""How many changes of the code that decides about money the tests notice.

    python scripts/mutants.py [ROOM ...] [--sample N] [--survivors] [--out FILE]

mutmut changes one operator, number or argument of a function at a time, and runs the tests that
call it. Rooms are named below, each with its files and tests; all of them take some hours, so
--sample draws as many changes of each room, every one with the same chance.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from contextlib import chdir
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

ROOT = Path(__file__).parents[1]
BAR = 0.85
SEED = 0
UNNOTICED = (0, 5, 33, None)  # exit codes of mutmut: survived, no tests, not run
ROOMS = {  # files of simkit, and tests
    "average precision": (["metrics/*.py"], ["metrics"]),
    "statistics": (
        ["results/statistics.py", "results/comparisons.py", "results/cells.py"],
        [f"results/test_{name}.py" for name in
         ("statistics", "best", "cells", "comparisons", "classes")],
    ),
    "planning": (
        [f"planning/{name}.py" for name in
         ("choose", "costs", "curves", "evidence", "pilot", "plan")] + ["results/test_split.py"],
        ["planning"]
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
         "annotate/schemes/*.py"],
        ["annotate/schemes"] + [f"annotate/test_{name}.py" for name in
         ("simulate", "sparse_draws", "crowd", "ledger", "search", "proposer", "repeated_answers")],
    ),
}  # fmt: skip
# They start processes, whose mutants are not counted, or look at callers, which mutmut replaces.
LEFT_OUT = " and ".join(
    f"not {name}"
    for name in ("trained_pilots", "process", "buys_everything", "are_warned_of", "of_the_caller")
)


def prepared(room: str, place: Path) -> dict[str, tuple[ast.FunctionDef, ast.FunctionDef]]:
    """Change the code of a room in a copy of the project: functions before and after, by name.

    Changes of texts alone are left out: a test that knows every sentence would be in the way.
    """
    files, tests = ROOMS[room]
    lines = {
        "source_paths": ["simkit"], "only_mutate": [f"simkit/{file}" for file in files],
        "also_copy": [path.name for path in place.iterdir() if path.name != "simkit"],
        "pytest_add_cli_args": ["-q", "-p", "no:cacheprovider", "-p", Path(__file__).stem,
                                "-k", LEFT_OUT],
        "pytest_add_cli_args_test_selection": [f"tests/{test}" for test in tests],
        "timeout_multiplier": 4.0, "timeout_constant": 5.0,
    }  # fmt: skip
    text = "\n".join(f"{name} = {json.dumps(value)}" for name, value in lines.items())
    with (place / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[tool.mutmut]\n{text}\n")
    changes = {}
    with chdir(place):  # where mutmut reads its configuration
        from mutmut.__main__ import create_file_mutants
        from mutmut.utils.format_utils import get_mutant_name

        for path in sorted(path for file in files for path in Path("simkit").glob(file)):
            create_file_mutants(path)
            functions = {
                one.name: one for one in ast.walk(ast.parse(("mutants" / path).read_text("utf-8")))
                if isinstance(one, ast.FunctionDef)
            }  # fmt: skip
            for name, after in functions.items():
                function, is_change, number = name.rpartition("__mutmut_")
                before = functions.get(f"{function}__mutmut_orig")
                if is_change and number.isdigit() and before and not _same_code(before, after):
                    changes[get_mutant_name(path, name)] = (before, after)
    return changes


def unnoticed(names: list[str], place: Path) -> list[str]:
    """The changes among `names` that no test of the room notices."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-m", "mutmut", "run", *names]
    subprocess.run(command, cwd=place, env=environment, check=True, stdout=subprocess.DEVNULL)
    codes: dict[str, int | None] = {}
    for path in (place / "mutants").rglob("*.meta"):
        codes |= json.loads(path.read_text("utf-8"))["exit_code_by_key"]
    return [name for name in names if codes[name] in UNNOTICED]


def difference(before: ast.FunctionDef, after: ast.FunctionDef) -> str:
    """The lines of a function that differ."""
    lines = [ast.unparse(one).splitlines()[1:] for one in (before, after)]
    return "\n".join(
        line for line in unified_diff(*lines, n=0, lineterm="")
        if line[:3] not in ("---", "+++") and line[:2] != "@@"
    )  # fmt: skip


def _same_code(one: Any, other: Any) -> bool:
    """Whether two parts of code differ in texts at most, and in a function's own name."""
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same_code, one, other))
    if not isinstance(one, ast.AST) or type(one) is not type(other):
        return type(one) is type(other) and one == other
    if isinstance(one, ast.Constant) and isinstance(one.value, str):
        return isinstance(other.value, str)
    fields = set(one._fields) - ({"name"} if isinstance(one, ast.FunctionDef) else set())
    return all(_same_code(getattr(one, field), getattr(other, field)) for field in fields)


# What follows is for pytest, which mutmut runs with this file as a plugin.

_of_fixtures: dict[object, set[str]] = {}  # functions that the set-up of a fixture called


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: object) -> Generator[None, Any, Any]:
    """Note the functions that a fixture calls: mutmut knows but its first test."""
    from mutmut.state import state

    before = set(state()._stats)
    state()._stats.clear()
    value = yield
    _of_fixtures[fixturedef] = set(state()._stats)
    state()._stats |= before
    return value


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: Any) -> None:
    """Count a fixture's functions for each test that uses it."""
    from mutmut.state import state

    for fixtures in item._fixtureinfo.name2fixturedefs.values():
        for fixture in fixtures:
            state()._stats |= _of_fixtures.get(fixture, set())


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Quick files first: most changes fail in the first test that reaches them."""
    from mutmut.state import state

    known = state().duration_by_test
    seconds: Counter[Path] = Counter()
    for item in items:
        seconds[item.path] += known.get(item.nodeid, 0)
    items.sort(key=lambda one: (seconds[one.path], one.path, known.get(one.nodeid, 0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=", ".join(ROOMS))
    parser.add_argument("--sample", type=int, metavar="N", help="changes tried in each room")
    parser.add_argument("--survivors", action="store_true", help="show what nobody noticed")
    parser.add_argument("--out", type=Path, help="file for the table")
    arguments = parser.parse_args()
    rows = ["| room | mutants | tried | noticed | 95 % interval | |", "|---|--:|--:|--:|---|---|"]
    for room in arguments.rooms or ROOMS:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "simkit"
            listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
            for name in listed.stdout.splitlines():
                target = place / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, target)
            changes = prepared(room, place)
            tried = sorted(changes)
            random.Random(SEED).shuffle(tried)  # a larger sample holds the smaller ones
            tried = tried[: arguments.sample]
            left = unnoticed(tried, place)
        if arguments.survivors:
            print(*(f"{name}\n{difference(*changes[name])}\n" for name in sorted(left)), sep="\n")
        share = 1 - len(left) / len(tried)
        low, high = binomtest(len(tried) - len(left), len(tried)).proportion_ci(method="wilson")
        verdict = "met" if share >= BAR else "below"
        rows.append(
            f"| {room} | {len(changes):,} | {len(tried):,} | {share:.1%} "
            f"| {low:.1%} to {high:.1%} | {verdict} |"
        )
        print(rows[-1], flush=True)
    if arguments.out:
        before = arguments.out.read_text("utf-8") if arguments.out.exists() else ""
        _, chapter, text = before.partition("\n## ")  # what was written by hand below the table
        title = "# Changes that tests notice\n\n`python scripts/mutants.py`: at least "
        table = "\n".join(rows)
        arguments.out.write_text(
            f"{title}{BAR:.0%} in each room.\n\n{table}\n{chapter}{text}", "utf-8"
        )


if __name__ == "__main__":
    main()
