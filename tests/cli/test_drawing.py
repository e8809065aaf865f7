"""`simkit show RUNS --figure NAME` draws any figure of a comparison."""

from pathlib import Path

import pytest

from simkit import figures
from simkit.results import runs
from tests.results import planted_classes

OF_RUNS = [name for name in figures.names() if getattr(figures.get(name), "of_runs", False)]


@pytest.fixture
def folder(shell) -> str:
    Path("runs").mkdir()
    runs.write(runs.writers(planted_classes.table()), Path("runs"))
    return "runs"


@pytest.mark.parametrize("name", OF_RUNS)
def test_every_figure_of_runs_is_drawn(shell, folder: str, name: str) -> None:
    done = shell("show", folder, "--figure", name, "--out", f"new/{name}.svg")
    assert (done.code, done.out) == (0, f"wrote new/{name}.svg\n"), done.err
    assert Path(f"new/{name}.svg").read_text().lstrip().startswith("<?xml")


def test_settings_come_from_the_name_or_beside_it(shell, folder: str) -> None:
    done = shell(
        "show", folder, "--figure", "class-difference(first=csl)", "--set", "scheme=rpa",
        "--out", "a.svg",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "CSL instead of AN: rpa for up to $10" in Path("a.svg").read_text()


def test_the_file_has_the_figures_name_unless_another_is_given(shell, folder: str) -> None:
    assert shell("show", folder, "--figure", "per-class", "--json").json == {
        "figure": "per_class.png"
    }
    assert Path("per_class.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("named", "options"),
    [
        ("--out is x.jpg", ("--out", "x.jpg")),
        ("runs.png is a folder", ("--out", "runs.png")),
        ("--set is 'scheme'; write", ("--set", "scheme")),
        ("--set gives scheme twice", ("--set", "scheme=a", "--set", "scheme=b")),
        ("did you mean 'fpc'?", ("--set", "scheme=fcp")),
        ("per-class: budget is 'much'", ("--set", "budget=much")),
        ("did you mean 'scheme'?", ("--set", "sceme=fpc")),
    ],
)
def test_a_drawing_that_cannot_be_made_is_one_sentence(shell, folder: str, named, options) -> None:
    Path("runs.png").mkdir()
    done = shell("show", folder, "--figure", "per-class", *options)
    assert done.code == 2 and named in done.err and done.err.count("\n") == 1


def test_figures_of_other_things_and_other_folders_are_refused(shell, folder: str) -> None:
    done = shell("show", folder, "--figure", "confusion")
    assert done.code == 2 and "simkit.analysis.confusion" in done.err
    assert done.err.endswith(f"{', '.join(OF_RUNS)}\n")
    Path("empty").mkdir()
    done = shell("show", "empty", "--figure", "heat-map", "--out", "h.png")
    assert done.code == 2 and done.err.startswith("simkit: empty ") and not Path("h.png").exists()
    assert "--out needs --figure NAME" in shell("show", folder, "--out", "h.png").err
    done = shell("show", folder, "--figure", "heat-map", "--set", "metric=f1")
    assert done.code == 2 and "metric is 'f1'" in done.err and "map_all" in done.err
