"""What is drawn of votes: cells, workers, bars."""

import numpy as np
import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study import figures

NAMES = ("part", "name", "answer", "votes", "share", "simulated", "miss", "false_alarm")


def table(*rows: dict) -> pa.Table:
    return pa.Table.from_pylist([{name: row.get(name) for name in NAMES} for row in rows])


def cell(part: str, name: str, answer: str, votes: float, share: float) -> dict:
    return {"part": part, "name": name, "answer": answer, "votes": votes, "share": share}


MATRIX = [
    cell("matrix", "present", "no", 20.0, 0.2),
    cell("matrix", "present", "maybe", 10.0, 0.1),
    cell("matrix", "present", "yes", 70.0, 0.7),
    cell("matrix", "absent", "no", 950.0, 0.95),
    cell("matrix", "absent", "maybe", 0.0, 0.0),
    cell("matrix", "absent", "yes", 50.0, 0.05),
]
WORKERS = [
    {"part": "worker", "name": "a", "votes": 800.0, "miss": 0.25, "false_alarm": 0.04},
    {"part": "worker", "name": "b", "votes": 300.0, "miss": 0.5, "false_alarm": 0.0},
    {"part": "worker", "name": "c", "votes": 1.0, "miss": float("nan"), "false_alarm": 0.1},
]
YES = [
    {"part": "yes", "name": str(n), "share": share, "simulated": again}
    for n, (share, again) in enumerate([(0.6, 0.5), (0.1, 0.2), (0.3, 0.3)])
]


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_cells_say_shares_and_numbers():
    gold = [cell("gold", "present", "yes", 8.0, 0.8)]
    drawing = figures.make("confusion")(table(*MATRIX, *gold, *WORKERS, *YES))
    axes = drawing.axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["says no", "says maybe", "says yes"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["present", "absent"]
    said = texts(axes)
    assert said[:2] == ["20.0%", "20"] and "95.0%" in said and "950" in said
    assert [text for text in said if "experts" in text] == ["experts: 80.0%"]
    assert drawing.get_suptitle() == "How 3 people answer: 1,100 votes"


def test_without_a_maybe_there_is_no_column_for_it():
    two = [row for row in MATRIX if row["answer"] != "maybe"]
    two += [cell("matrix", name, "maybe", 0.0, 0.0) for name in ("present", "absent")]
    axes = figures.make("confusion")(table(*two, *WORKERS, *YES)).axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["says no", "says yes"]


def test_each_worker_is_a_point_as_large_as_his_votes():
    axes = figures.make("confusion")(table(*MATRIX, *WORKERS, *YES)).axes[1]
    points = axes.collections[0]
    # The worker who met no present class has no place; nothing stands at the edge of the log axis.
    assert np.allclose(points.get_offsets(), [[0.04, 0.25], [0.001, 0.5]])
    large, small = points.get_sizes()
    assert large - 12 == (small - 12) * 800 / 300
    assert texts(axes) == ["area: votes, at most 800"]


def test_real_and_simulated_bars_stand_side_by_side():
    axes = figures.make("confusion")(table(*MATRIX, *WORKERS, *YES)).axes[2]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == [0.6, 0.1, 0.3, 0.5, 0.2, 0.3]
    assert axes.get_xlabel() == "yes among 2 votes"


def test_a_table_without_votes_is_refused():
    with pytest.raises(BadInput) as error:
        figures.make("confusion")(table(*MATRIX))
    assert str(error.value) == (
        "confusion: the table holds no votes; make it from votes and their fit"
    )


def refused(*rows: dict) -> str:
    with pytest.raises(BadInput) as error:
        figures.make("confusion")(table(*rows))
    return str(error.value)


@pytest.mark.parametrize("name", ["", "Present", "cat"])
def test_other_truths_than_present_and_absent_are_refused(name):
    odd = [MATRIX[0] | {"name": name}, *MATRIX[1:]]
    told = refused(*odd, *WORKERS, *YES)
    assert f"a row of the matrix is of {name!r}, where present or absent is expected" in told


@pytest.mark.parametrize("part", ["matrix", "worker"])
def test_votes_that_are_all_none_are_refused(part):
    rows = [*({"part": "matrix"} | row for row in MATRIX), *WORKERS, *YES]
    rows = [row | {"votes": 0.0} if row["part"] == part else row for row in rows]
    assert "the table holds no votes" in refused(*rows)


@pytest.mark.parametrize("column, place", [("share", 0), ("miss", 6), ("false_alarm", 7),
                                           ("simulated", 10), ("share", 11)])  # fmt: skip
@pytest.mark.parametrize("value", [-1.0, 1.5, 1e300])
def test_shares_outside_0_to_1_are_refused(column, place, value):
    rows = [*MATRIX, *WORKERS, *YES]
    rows[place] = rows[place] | {column: value}
    told = refused(*rows)
    assert told.startswith(f"confusion: column {column!r} holds {value:g} where a share from 0 to")
    rows[place] = rows[place] | {column: float("inf")}
    assert f"column {column!r} holds infinite numbers" in refused(*rows)


def test_votes_below_none_are_refused_and_numbers_of_agreement_may_be():
    low = [MATRIX[0] | {"votes": -2.0}, *MATRIX[1:]]
    assert "column 'votes' holds -2" in refused(*low, *WORKERS, *YES)
    kappa = {"part": "agreement", "name": "kappa", "share": -0.2, "simulated": 1.5}
    assert figures.make("confusion")(table(*MATRIX, *WORKERS, *YES, kappa)).axes
