"""The committed results: complete, small, readable, and the same when a run is trained again."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import simkit
from scripts import atlas
from simkit.annotate import schemes
from simkit.learn import methods
from simkit.learn.optim import Settings
from simkit.study.trial import trial

ATLAS = Path(__file__).parents[1] / "atlas"
FOLDERS = sorted(file.parent for file in ATLAS.glob("*/table.parquet"))
LARGEST = 8_000_000  # bytes, all tables together
TRAINING = {"epochs": 12, "batch_size": 32, "schedule": "cosine"}  # of the grids on scenes


def trained_again(row, data: str) -> tuple[str, float]:
    """The id of the labels and the mAP of one run, from its row alone."""
    source = simkit.Source(data, ("train", "test"), (), "scenes-net")
    opened = simkit.data.open(data)
    amount = schemes.make(row.scheme_spec).amount  # without one, a budget buys so many images
    labels = simkit.simulate(
        opened.truth["train"],
        row.scheme_spec,
        images=int(row.images) if amount is None else 1.0,
        hierarchy=opened.hierarchy,
        seed=int(row.seed),
        draw=int(row.draw),
    )
    done = trial(
        labels,
        methods.make(row.method_spec),
        source,
        settings=Settings(**TRAINING, lr=float(row.lr)),
        seed=int(row.seed),
        draw=int(row.draw),
    )
    return labels.id, done.map


def test_all_tables_are_small_and_open_as_runs() -> None:
    assert FOLDERS
    assert sum(file.stat().st_size for file in ATLAS.glob("*/*.parquet")) < LARGEST
    for folder in FOLDERS:
        runs = simkit.open_runs(folder)
        keys = ["scheme", "method", "budget", "draw", "trained"]
        assert not runs.table.duplicated(keys).any()
        assert runs.table["map"].notna().all()
        assert len(runs.reference) or folder.name.endswith(("-networks", "-heads", "-amounts"))
        assert runs.table.attrs["classes"]
        # As they are typed: `--set budget=3.3` finds its runs.
        assert all(one == float(f"{one:.3g}") for one in runs.table["budget"].dropna())


def test_what_is_written_about_the_tables_is_theirs(monkeypatch) -> None:
    monkeypatch.setattr(atlas, "ATLAS", ATLAS)
    assert atlas.gains() == (ATLAS / "gains.md").read_text("utf-8")
    for folder in FOLDERS:
        assert atlas.summary(folder) == (folder / "summary.md").read_text("utf-8"), folder


def test_differences_are_those_at_the_budget_of_the_settings() -> None:
    table = simkit.open_runs(ATLAS / "voc12-animals").table
    rows = table[(table["scheme"] == "rpa") & (table["budget"] == 3.5)]  # 11.5 % of $30.34
    means = 100 * rows.groupby("method")["map"].mean()
    section = (ATLAS / "gains.md").read_text("utf-8").partition("## rpa, to an")[2]
    (line,) = (one for one in section.partition("\n## ")[0].splitlines() if "| ll-r |" in one)
    assert line.startswith(f"| ll-r | {means['ll-r'] - means['an']:+.1f}")


def test_a_killed_comparison_ends_the_script_and_a_smaller_table_replaces_none(
    tmp_path, monkeypatch, capsys
) -> None:
    shutil.copytree(ATLAS / "scenes-mobilenet", tmp_path / "scenes-mobilenet")
    monkeypatch.setattr(atlas, "ATLAS", tmp_path)
    part = {"data": "scenes:images=8", "schemes": ["rpa"], "methods": ["an"]}
    monkeypatch.setattr(
        atlas, "every_part", lambda _: iter([("scenes-mobilenet", "budgets", part)])
    )
    for code in (-9, 2):
        monkeypatch.setattr(
            atlas.subprocess, "run", lambda *_, code=code: SimpleNamespace(returncode=code)
        )
        with pytest.raises(SystemExit):
            atlas.make(["scenes-mobilenet"], 1)
    before = (tmp_path / "scenes-mobilenet" / "table.parquet").read_bytes()
    simkit.compare(
        part | {"draws": 1}, out=tmp_path / "runs" / "scenes-mobilenet" / "budgets", workers=1
    )
    atlas.pack("scenes-mobilenet", {"budgets"})
    kept = tmp_path / "scenes-mobilenet" / "table.parquet"
    assert f"remove {kept} to replace it" in capsys.readouterr().out
    assert kept.read_bytes() == before
    kept.unlink()  # the mend
    atlas.pack("scenes-mobilenet", {"budgets"})
    assert len(simkit.open_runs(kept.parent).table) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "method"), [("fpc", "an"), ("knowledge-graph", "ll-r")])
def test_a_run_of_scenes_repeats(scheme: str, method: str) -> None:
    table = simkit.open_runs(ATLAS / "scenes").table
    cell = table[(table["scheme"] == scheme) & (table["method"] == method)]
    row = cell.sort_values(["budget", "draw"]).iloc[1]
    labels_id, score = trained_again(row, "scenes:images=1000")
    assert labels_id == row.labels_id
    assert score == pytest.approx(row["map"], abs=0.015 if method == "ll-r" else 0.005)
