import json

import pyarrow as pa
import pytest
from simkit.study.kept import Kept
from simkit.study.told.described import describe

from simkit.errors import BadInput
from simkit.study import kept, runs
from tests.study import planted

MADE = {"simkit": "0.1.0", "torch": "2.11.0", "python": "3.11.9", "numpy": "2.0.0",
        "system": "Linux", "machine": "x86_64", "device": "cpu", "threads": 1}  # fmt: skip


def made(table, **columns):
    """The table with other values in all rows of some columns."""
    for name, value in columns.items():
        place = table.schema.get_field_index(name)
        column = pa.array([value] * len(table), table.schema.field(name).type)
        table = table.set_column(place, table.schema.field(name), column)
    return table


def test_runs_versions_hours_and_the_summary_are_told(tmp_path):
    how = {"train_seconds": 36.0, "peak_memory_mb": 850.4, "environment": json.dumps(MADE)}
    runs.write(runs.writers(made(planted.table(), **how)), tmp_path)
    (tmp_path / "summary.md").write_text("what it says", encoding="utf-8")
    facts = describe(tmp_path)
    assert facts["text"] == (
        "380 runs: 5 schemes, 5 methods, 5 draws\n"
        "made with simkit 0.1.0, torch 2.11.0, python 3.11.9 on Linux x86_64 cpu\n"
        "3.8 hours of training; at most 850 MB in one process\n"
        "what it says"
    )
    assert facts["budgets"] == [50.0, 150.0, 450.0] and facts["budgets_hours"] == []
    assert facts["environments"] == [MADE]
    json.dumps(facts)


def test_what_was_made_in_two_places_names_both(tmp_path):
    here = json.dumps(MADE)
    there = json.dumps(MADE | {"torch": "2.12.0", "machine": "arm64", "system": "Darwin"})
    parts = [
        made(planted.table(draws=1), environment=text, train_seconds=1.0) for text in (here, there)
    ]
    runs.write(runs.writers(runs.together(parts, classes=())), tmp_path)
    assert describe(tmp_path)["text"].splitlines()[1:] == [
        "made with simkit 0.1.0, torch 2.11.0 and 2.12.0, python 3.11.9 on Darwin arm64 cpu and "
        "Linux x86_64 cpu",
        "2.5 minutes of training",
    ]


def test_what_is_under_way_is_counted(tmp_path):
    row = planted.row(scheme="fpc", method="an", map=0.5)
    kept.save(Kept(runs.tidy([row], classes=())), folder=tmp_path / "bundles", key="a")
    kept.begin(tmp_path, grid="draws = 2", keys=["a", "not there yet"], classes=["cat", "dog"])
    facts = describe(tmp_path)
    assert facts["unfinished"] == "1 of 2 bundles"
    assert facts["text"].splitlines()[-1] == (
        "a comparison did not come to its end here: 1 of 2 bundles are there"
    )


def test_what_failed_is_told_and_time_besides_training(tmp_path):
    table = made(planted.table(draws=1), train_seconds=0.1, bundle_seconds=90.0, key="a")
    table = runs.with_failures(table, ["fpc, draw 1: it broke"], planned=len(table) + 2)
    runs.write(runs.writers(table), tmp_path)
    facts = describe(tmp_path)
    assert facts["text"] == (
        "76 of 78 runs: 5 schemes, 5 methods, 1 draws\n"
        "7.6 seconds of training, with annotating and scoring 1.5 minutes\n"
        "failed: fpc, draw 1: it broke"
    )
    assert (facts["failures"], facts["planned"]) == (["fpc, draw 1: it broke"], 78)
    (tmp_path / "summary.md").write_text("what it says", encoding="utf-8")
    assert describe(tmp_path)["text"].endswith("1.5 minutes\nwhat it says")


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(BadInput, match="holds no finished runs; give the folder that"):
        describe(tmp_path)
