"""docs/papers.md: every figure and table of the papers, and places that exist."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

import simkit
from tests.test_notebooks import TO_EXECUTE

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "papers.md"
VERDICTS = (
    "confirmed", "in part", "contradicted", "open", "by construction", "not testable here",
    "not reproduced",
)  # fmt: skip
# What the papers have: the last figure and the last table, then those of appendix or supplement.
NUMBERED = {
    "BoostLU": {"Fig.": 5, "Table": 3, "Appendix Fig.": 2},
    "Large Loss Matters": {"Fig.": 6, "Table": 4, "Supplement, Table": 2, "Supplement, Fig.": 1},
    "Class-aware Selective Loss": {"Fig.": 13, "Table": 5},
    "Soft Exposure": {"Fig.": 5, "Table": 2},
    "Spatial Consistency": {"Fig.": 5, "Table": 3},
}


class Row(NamedTuple):
    """A line of a table, by the heads of its columns."""

    item: str
    shows: str
    analysis: str
    figure: str
    seen: str
    verdict: str


def tables() -> dict[str, list[Row]]:
    """The rows of each paper's table."""
    found: dict[str, list[Row]] = {}
    for part in FILE.read_text("utf-8").split("\n## ")[1:]:
        lines = [line for line in part.splitlines() if line.startswith("|")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
        found[part.splitlines()[0]] = [Row(*row) for row in cells]  # TypeError: other columns
    return found


ROWS = [pytest.param(row, id=f"{p}-{row.item}") for p, rows in tables().items() for row in rows]
EVERY = pytest.mark.parametrize("row", ROWS)


def test_every_figure_and_table_has_a_row() -> None:
    found = tables()
    assert list(found) == list(NUMBERED)
    for paper, kinds in NUMBERED.items():
        items = [row.item for row in found[paper]]
        assert len(set(items)) == len(items), f"{paper}: twice the same"
        for kind, last in kinds.items():
            named = [re.match(rf"{re.escape(kind)} (\d+)", item) for item in items]
            assert {int(m[1]) for m in named if m} == set(range(1, last + 1)), f"{paper}, {kind}"


@EVERY
def test_what_a_row_names_exists(row: Row) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", " ".join(row)):
        assert (FILE.parent / link).is_file(), link
    analyses = re.findall(r"\]\(([^)]+)\)", row.analysis)
    assert analyses or row.analysis == "none"
    assert all(re.match(r"\.\./simkit/(results|papers)/", link) for link in analyses)
    figures = re.findall(r"`([^`]+)`", row.figure)
    assert figures or row.figure == "none"
    assert set(figures) <= set(simkit.figures.names())


@EVERY
def test_the_notebooks_of_a_row_draw_its_figures(row: Row) -> None:
    notebooks = re.findall(r"\]\(([^)]+)\.ipynb\)", row.seen)
    texts = [(FILE.parent / f"{path}.py").read_text("utf-8") for path in notebooks]
    for figure in re.findall(r"`([^`]+)`", row.figure) if texts else ():
        assert any(f'("{figure}"' in text for text in texts), f"{figure} is not drawn there"
    for analysis in (
        re.findall(r"\[(\w+)\]", row.analysis) if texts and row.figure == "none" else ()
    ):
        used = re.compile(rf"\b{analysis}\(")
        assert any(used.search(text) for text in texts), f"{analysis} is not used there"


@EVERY
def test_a_verdict_is_one_of_few_and_gives_its_reason(row: Row) -> None:
    found = re.match(r"\*\*([a-z ]+)\*\*", row.verdict)
    assert found and found[1] in VERDICTS
    reason = row.verdict[found.end() :].split()
    assert found[1] == "confirmed" or len(reason) >= 4, "why?"
    assert row.seen != "none" or found[1] == "not reproduced", "seen nowhere"


@EVERY
def test_the_numbers_of_a_verdict_came_out_where_the_row_says(row: Row) -> None:
    """Decimal numbers, without those of the paper: in outputs of a notebook, or in results."""
    links = re.findall(r"\]\(([^)]+)\)", f"{row.seen} {row.verdict}")
    if not links or TO_EXECUTE.intersection(Path(link).name[:2] for link in links):
        pytest.skip("not seen, or in a notebook that is to be executed again")
    shown = "".join((FILE.parent / link).read_text("utf-8") for link in links)
    own = re.sub(r"\(?paper[^;,)]*[;,)]?", "", row.verdict)
    assert not {number for number in re.findall(r"\d[\d,]*\.\d+", own) if number not in shown}
