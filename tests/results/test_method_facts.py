"""Tables of runs say what their methods are, so that figures of them need no torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import simkit
from simkit.errors import BadInput
from simkit.results import method_facts, runs
from simkit.results.method_facts import MethodFacts
from tests.results import planted

WRITTEN = method_facts.written([*planted.METHODS, "full"])
SHOW = """
import sys
from simkit.cli.main import code
folder = sys.argv[1]
assert code(["show", folder]) == 0
for name in ("heat-map", "cost-curve"):
    assert code(["show", folder, "--figure", name, "--out", f"{folder}/{name}.png"]) == 0
print("torch loaded:", "torch" in sys.modules)
"""


def folder_of(path: Path, methods: str) -> Path:
    table = runs.to_table(planted.rows(draws=3), {"classes": ("cat", "dog"), "methods": methods})
    runs.write(runs.writers(table), path)
    return path


def drawn(folder: Path) -> tuple[list[bytes], bool]:
    """The pictures of a folder by a new process, and whether it loaded torch."""
    call = [sys.executable, "-c", SHOW, str(folder)]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    return [
        path.read_bytes() for path in sorted(folder.glob("*.png"))
    ], "torch loaded: True" in done.stdout


def test_tables_with_facts_are_shown_without_torch_and_as_with_the_methods(tmp_path: Path) -> None:
    pictures, loaded = drawn(folder_of(tmp_path / "new", WRITTEN))
    older, loaded_of_older = drawn(folder_of(tmp_path / "older", ""))
    assert pictures == older and len(pictures) == 2
    assert not loaded and loaded_of_older


def test_the_facts_of_a_table_come_before_those_of_the_process(tmp_path: Path) -> None:
    folder_of(tmp_path, method_facts.written(["ll-r", "scl"]).replace("LL-R", "Larger"))
    with pytest.raises(BadInput, match="damaged"):
        simkit.open_runs(tmp_path).summary()
    table = simkit.open_runs(folder_of(tmp_path / "new", WRITTEN)).table
    of_table = method_facts.of("LL-R(delta=1)+boostlu", table)
    assert of_table == MethodFacts(
        "LL-R(delta=1) + BoostLU", "", "large loss", ("#00965F", "^"), False, False
    )
    table.attrs["methods"] = json.dumps({"ll-r": {"title": "Mine", "invented": 1}})
    assert method_facts.of("ll-r", table) == MethodFacts("Mine")
    with method_facts.reading(table):
        assert method_facts.label("ll-r+scl") == "Mine + scl"  # of the table alone
    assert method_facts.label("ll-r") == "LL-R"
    nobody = method_facts.of("from-elsewhere(a=1)+scl", table)
    assert (nobody.title, nobody.unknown_as_absent) == ("from-elsewhere(a=1) + scl", None)
    assert method_facts.of("an").gist and method_facts.of("an").unknown_as_absent
