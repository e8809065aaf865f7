"""What a comparison says and leaves, from a table of runs."""

from simkit.study.grids.grid import Grid
from simkit.study.told.results import Comparison, written

from simkit.study import runs
from tests.study import planted

GRID = Grid(schemes=("fpc",), methods=("an", "ignore"))


def made(failures=(), *, lost=0):
    table = planted.table(draws=2)
    table = runs.with_failures(table, failures, planned=len(table) + lost)
    return Comparison(table, GRID, tuple(failures))


def test_what_failed_has_a_chapter_before_what_is_said(tmp_path):
    written(made(["fpc, draw 0: it broke"], lost=3), tmp_path)
    told = (tmp_path / "summary.md").read_text(encoding="utf-8")
    lost = "3 of 155 runs failed: no table, figure or sentence has them"
    assert f"\n# Failed\n\n{lost}.\n\n- fpc, draw 0: it broke\n\n# Which method" in told
    back = runs.table(tmp_path)
    assert (runs.failures(back), runs.planned(back)) == (("fpc, draw 0: it broke",), 155)
    assert lost in made(lost=3).text() and made(lost=3).to_json()["planned"] == 155


def test_where_nothing_failed_nothing_is_said_of_it(tmp_path):
    assert made().lacking() == [] and "failed" not in made().text()
    written(made(), tmp_path)
    assert "Failed" not in (tmp_path / "summary.md").read_text(encoding="utf-8")
