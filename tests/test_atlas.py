"""The committed results: complete, small, readable, and the same when a run is trained again."""

from pathlib import Path

import pytest

import simkit
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
        assert len(runs.reference) or folder.name.endswith("-networks")
        assert runs.table.attrs["classes"]


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "method"), [("fpc", "an"), ("knowledge-graph", "ll-r")])
def test_a_run_of_scenes_repeats(scheme: str, method: str) -> None:
    table = simkit.open_runs(ATLAS / "scenes").table
    cell = table[(table["scheme"] == scheme) & (table["method"] == method)]
    row = cell.sort_values(["budget", "draw"]).iloc[1]
    labels_id, score = trained_again(row, "scenes:images=1000")
    assert labels_id == row.labels_id
    assert score == pytest.approx(row["map"], abs=0.015 if method == "ll-r" else 0.005)
