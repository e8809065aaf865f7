"""Tables for people and one object for programs."""

import json
import os
import subprocess
import sys

import click
import numpy as np
import pytest

from simkit.cli import options
from simkit.cli.output import counts_line, print_json, progress, say, table
from simkit.labels.partial import PartialLabels


def test_json_is_one_line_and_strict(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command
    @options.json
    def command() -> None:
        say("text")
        table(["column"], [["cell"]])
        print_json({"a": [float("nan"), 1.5], "b": None})

    command.main(["--json"], standalone_mode=False)
    out = capsys.readouterr().out
    assert out.count("\n") == 1 and json.loads(out) == {"a": [None, 1.5], "b": None}
    command.main([], standalone_mode=False)
    assert capsys.readouterr().out.split() == ["text", "column", "cell"]


def test_a_piped_table_folds_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    table(["name", "number"], [["x" * 300, "12"], ["y", "3"]])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("x" * 300) and lines[1].endswith("12")
    assert lines[2].endswith(" 3")  # numbers stand at the right


def test_a_pipe_has_no_colours_and_with_force_color_no_folds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    table(["name"], [["x" * 300]], title="a title")
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    table(["name"], [["x" * 300]])
    out = capsys.readouterr().out
    assert "x" * 300 in out and "\x1b[1m" in out


def test_counts_line_by_hand() -> None:
    labels = PartialLabels.of(np.array([[1, 0], [-1, 1], [0, 0]], np.int8))
    assert counts_line(labels) == (
        "labels: 2 of 3 images asked, 2 classes\n3 labels known (50.00%): 2 present, 1 absent"
    )


@pytest.mark.parametrize("forced", ["", "1"])
def test_a_pipe_sees_a_line_a_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, forced: str
) -> None:
    monkeypatch.setenv("FORCE_COLOR", forced)
    with progress("preparing", "working") as (prepare, advance):
        prepare(1, 1)
        advance(1, 4)
        advance(2, 4)
        assert capsys.readouterr().err == ""  # no minute has passed
        monkeypatch.setattr("simkit.cli.output.MINUTE", 0.0)
        advance(3, 4)
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("working: 3 of 4")
    with progress("working", quiet=True) as (advance,):
        advance(1, 4)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_a_terminal_sees_progress_and_the_time_left() -> None:
    import pty

    program = (
        "import time\n"
        "from simkit.cli.output import progress\n"
        "with progress('working') as (advance,):\n"
        "    [(advance(n, 4), time.sleep(0.2)) for n in range(4)]\n"
    )
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", program]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    subprocess.run(command, stderr=theirs, env=environment, check=True, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    assert "working" in shown and "75%" in shown and "0:00:0" in shown
