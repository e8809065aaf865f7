"""Tables of people's answers and votes: the labels, times and people that they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import simkit
from simkit.errors import BadInput
from tests.cases.reading import Case, Ordered, Received, check, written


@pytest.fixture
def order(tmp_path: Path) -> Ordered:
    """Six questions, on cat and dog in a, b and c."""
    return Ordered(tmp_path)


def answered(table: pd.DataFrame, answers: str = "yes no", *, quoting: int = 0, **more: Any) -> str:
    """Answers of anna to all questions in turn, as CSV."""
    words = (answers.split(" ") * len(table))[: len(table)]
    return table.assign(answer=words, worker="anna", **more).to_csv(index=False, quoting=quoting)


RIGHT = ["10", "10", "10"]
HEADER = "question,image,class,answer,worker\n"


@pytest.mark.parametrize(
    ("change", "right"),
    [
        pytest.param(lambda t: answered(t, "TRUE FALSE"), Received(RIGHT, None, 0), id="sheet"),
        pytest.param(lambda t: answered(t, "WAHR FALSCH"), Received(RIGHT, None, 0), id="german"),
        pytest.param(lambda t: answered(t, "1.0 0.0"), Received(RIGHT, None, 0), id="floats"),
        pytest.param(
            lambda t: answered(t, "1 0 -1"), Received(["10", "?1", "0?"], None, 0), id="uncertain"
        ),
        pytest.param(
            lambda t: answered(t[:4]) + answered(t[4:]), Received(RIGHT, None, 0), id="header-again"
        ),
        pytest.param(
            lambda t: "\ufeff" + answered(t, quoting=1), Received(RIGHT, None, 0),
            id="mark-and-quotes",
        ),
        pytest.param(
            lambda t: answered(t.assign(question=t["question"] + ".0")), Received(RIGHT, None, 0),
            id="float-numbers",
        ),
        pytest.param(
            lambda t: answered(t, seconds="0:02"), Received(RIGHT, 2.0, 0), id="clock"
        ),
        pytest.param(
            lambda t: answered(t.drop(columns="question"), duration_ms=2900),
            Received(RIGHT, 2.9, 0), id="milliseconds",
        ),
    ],
)  # fmt: skip
def test_answers(order: Ordered, capsys: Any, change: Any, right: Received) -> None:
    assert order.receive(capsys, change(order.table)) == right


def test_the_results_of_a_crowd(order: Ordered, capsys: Any) -> None:
    """Each error names an option; with all of them the table is read."""
    results = order.table.rename(columns={"image": "Input.image", "class": "Input.class"})
    results = results.drop(columns="question").assign(
        HITId="3X", AssignmentId=range(6), WorkerId="A1B2", WorkTimeInSeconds="12",
        **{"Answer.present": ["yes", "no"] * 3},
    )  # fmt: skip
    usual = {"answer": "Answer.present", "worker": "WorkerId", "image": "Input.image",
             "class": "Input.class", "seconds": "WorkTimeInSeconds"}  # fmt: skip
    options: list[str] = []
    for _ in range(len(usual) + 1):
        try:
            received = order.receive(capsys, results.to_csv(index=False), *options)
        except BadInput as error:
            field = next(name for name in usual if f" {name}" in str(error))
            options += ["--columns", f"{field}={usual.pop(field)}"]
        else:
            break
    assert received == Received(RIGHT, 12.0, 0)


def test_times_that_are_dates(order: Ordered, capsys: Any) -> None:
    with pytest.warns(UserWarning, match="time"):
        content = answered(order.table, time="2021-04-22T10:00:05Z")
        assert order.receive(capsys, content) == Received(RIGHT, None, 0)


def test_times_of_days_are_counted(order: Ordered, capsys: Any) -> None:
    assert order.receive(capsys, answered(order.table, seconds=90_000)) == Received(RIGHT, None, 6)


def test_numbers_with_a_mark_of_thousands(tmp_path: Path, capsys: Any) -> None:
    """1.000 is question 1000 to a spreadsheet in Europe, and never question 1."""
    order = Ordered(tmp_path, " ".join(f"c{n}" for n in range(70)), "a b c d e f g h i j k l m n o")
    last = order.table.iloc[999:1000].assign(question="1.000")
    with pytest.raises(BadInput, match=r"question.*image and class"):
        order.receive(capsys, answered(last[["question"]]))
    assert "".join(order.receive(capsys, answered(last)).rows).index("1") == 999


def test_a_row_of_totals(order: Ordered, capsys: Any) -> None:
    content = answered(order.table, seconds=2.0) + "Total,,,3,,12\n"
    assert order.receive(capsys, content) == Received(RIGHT, 2.0, 1)


def test_entities_in_names(tmp_path: Path, capsys: Any) -> None:
    order = Ordered(tmp_path, "cat R&D")
    table = order.table.assign(**{"class": order.table["class"].str.replace("&", "&amp;")})
    received = order.receive(capsys, answered(table.drop(columns="question")))
    assert received == Received(["1?"] * 3, None, 3)


VOTES = "image,class,worker,answer\n"
TWO = (("7", "8"), [2, 0])  # people, answers: 2 yes, 1 maybe, 0 no


def _votes(file: Path, content: str, minus: Any = "") -> Any:
    votes = simkit.read_votes(written(file, content), minus=minus)
    return votes.workers, votes.vote_answer.tolist()


CASES = {
    "zeros-of-ids": Case(VOTES + "a,cat,007,yes\na,cat,7,no\n", (("007", "7"), [2, 0])),
    "shortened-ids": Case(
        VOTES + "a,cat,1.23457E+12,yes\nb,cat,1.23457E+12,no\n", TWO,
        asks=r"1\.23457E\+12.*as text", mended=VOTES + "a,cat,7,yes\nb,cat,8,no\n",
    ),
    "e-mail": Case(
        VOTES + "a,cat,Anna@x.org,yes\nb,cat,anna@x.org,no\n", (("Anna@x.org",), [2, 0]),
        note="'Anna@x.org' and 'anna@x.org'",
    ),
    "header-again": Case(VOTES + "a,cat,7,yes\n" + VOTES + "a,cat,8,no\n", TWO, note="row 3"),
    "other-names": Case("file_name;label;annotator;value\na;cat;7;TRUE\na;cat;8;FALSE\n", TWO),
    "row-numbers": Case("," + VOTES + "0,a,cat,7,yes\n1,a,cat,8,no\n", TWO),
    "uncertain": Case(VOTES + "a,cat,7,1\na,cat,8,0\na,cat,9,-1\n", TWO, note="1 of 3"),
    "minus": Case(
        VOTES + "a,cat,7,1\na,cat,8,-1\n", TWO, asks="minus=absent", options="absent",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_votes(name: str, tmp_path: Path) -> None:
    check(CASES[name], lambda text, minus: _votes(tmp_path / "votes.csv", text, minus))
