"""Tables for people and one object for programs."""

import json

import numpy as np
import pytest

from simkit.cli.report import counts_line, hours, print_json, progress, table
from simkit.labels.partial import PartialLabels


def test_json_is_one_line_and_strict(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": 1, "b": None})
    out = capsys.readouterr().out
    assert out.count("\n") == 1 and json.loads(out) == {"a": 1, "b": None}
    with pytest.raises(ValueError):
        print_json({"a": float("nan")})


def test_a_piped_table_folds_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    table(["name", "number"], [["x" * 300, "12"], ["y", "3"]])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("x" * 300) and lines[1].endswith("12")
    assert lines[2].endswith(" 3")  # numbers stand at the right


def test_hours() -> None:
    assert (hours(None), hours(5400)) == ("unknown", "1.50")


def test_counts_line_by_hand() -> None:
    labels = PartialLabels.of(np.array([[1, 0], [-1, 1], [0, 0]], np.int8))
    assert counts_line(labels) == (
        "labels: 2 of 3 images asked, 2 classes\n3 labels known (50.00%): 2 present, 1 absent"
    )


def test_progress_is_silent_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("preparing", "working") as (prepare, advance):
        prepare(1, 1)
        advance(1, 2)
        advance(2, 2)
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == ""
