"""Answers of people: checked against the order, and kept in files that never change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from simkit.errors import BadInput, unknown
from simkit.files import parse_json, reading
from simkit.history import sha256
from simkit.labels.formats.base import write_lines
from simkit.orders.order import NOTHING, Order

YES_WORDS = ("yes", "y", "true", "1", "present", "1.0")
NO_WORDS = ("no", "n", "false", "0", "-1", "absent", "0.0", "-1.0")
UNSURE_WORDS = ("unsure", "maybe", "skip", "skipped", "?", "unknown", "don't know")
COLUMNS = ("question", "worker", "answer", "seconds", "shared")
TYPES = {"question": int, "worker": str, "answer": str, "seconds": float, "shared": int}
DAY = 86_400  # seconds; longer times count as not measured
WORDS = {
    **dict.fromkeys(YES_WORDS, "yes"),
    **dict.fromkeys(NO_WORDS, "no"),
    **dict.fromkeys(UNSURE_WORDS, "unsure"),
}


@dataclass(frozen=True, eq=False)
class Checked:
    """The answers of one file after the check.

    Attributes
    ----------
    answers : DataFrame
        Valid new answers: columns question, worker (hashed), answer, seconds (nan: not measured)
        and shared (the number of questions that these seconds are for).
    problems : DataFrame
        Rows that do not count: columns row (from 0), problem, and cause, which is the same text
        for rows with the same mistake. Every such row is listed, except empty answers and
        repetitions.
    """

    answers: pd.DataFrame
    problems: pd.DataFrame


def checked(order: Order, rows: pd.DataFrame) -> Checked:
    """Check raw answers against the questions of an order and its earlier answers.

    Parameters
    ----------
    order : Order
    rows : DataFrame
        Raw answers: columns question, worker, answer, and optionally seconds and shared; image
        and class explain why there is no such question (-1).

    Returns
    -------
    Checked
    """
    problems: list[tuple[int, str, str]] = []
    valid: list[tuple[int, str, str, float, int]] = []
    table, classes, images = order.table, set(order.classes), set(order.images.astype(str))
    kinds = table["kind"].to_dict()
    before = {
        (q, w): a for q, w, a in kept(order)[["question", "worker", "answer"]].itertuples(False)
    }
    rows = rows.assign(
        number=_numbers(rows, "question", table["question"].max()).fillna(-1),
        seconds=_numbers(rows, "seconds", DAY),
        shared=_numbers(rows, "shared", len(table)).fillna(1),
    )
    for place, row in enumerate(rows.to_dict("records")):
        number, text = row["number"], str(row["answer"]).strip()
        person = str(row["worker"]).strip()
        # A pseudonym, another one in each order.
        worker = f"w-{sha256(f'{order.id} {person}'.encode())[:10]}"
        kind = kinds.get(number)
        if kind is None:
            problems.append((place, *_not_asked(row, order.classes, images)))
            continue
        answer = _answer(text, kind, classes)
        if not text or text.lower() == "nan":
            continue  # not answered yet
        if answer is None:
            what = "a class of the order or nothing" if kind == "name" else "yes, no or unsure"
            problems.append((place, f"question {number:.0f}: {text!r} is not {what}", text))
            continue
        if not person:
            problems.append((place, f"question {number:.0f}: the worker is not named", "worker"))
            continue
        earlier = before.get((number, worker))
        if earlier is not None:
            if earlier != answer:
                problems.append((
                    place, f"question {number:.0f}: the same person answered {earlier} before and "
                    f"{answer} now; the first answer counts", "twice",
                ))  # fmt: skip
            continue
        before[number, worker] = answer
        valid.append((int(number), worker, answer, row["seconds"], max(1, int(row["shared"]))))
    return Checked(
        pd.DataFrame(valid, columns=list(COLUMNS)),
        pd.DataFrame(problems, columns=["row", "problem", "cause"]),
    )


def keep(order: Order, answers: pd.DataFrame) -> Path | None:
    """Add answers to the order's folder as a new file; None if there are no answers."""
    if not len(answers):
        return None
    rows = answers.astype(object).where(answers.notna(), None).to_dict("records")
    lines = [json.dumps({"order": order.id, **row}) for row in rows]
    count = len(list((order.folder / "answers").glob("*.jsonl")))
    digest = sha256("".join(f"{line}\n" for line in lines).encode())[:12]
    file = order.folder / "answers" / f"{count + 1:04d}-{digest}.jsonl"
    write_lines(file, lines)
    return file


def kept(order: Order) -> pd.DataFrame:
    """All answers of an order as they were received, one of a person to a question.

    Returns
    -------
    DataFrame
        Columns question, worker, answer, seconds and shared.

    Raises
    ------
    BadInput
        If a file was changed or belongs to another order.
    """
    tables = [pd.DataFrame(columns=list(COLUMNS)).astype(TYPES)]
    kinds, classes = order.table["kind"].to_dict(), set(order.classes)
    for file in sorted((order.folder / "answers").glob("*.jsonl")):
        with reading(file, "answers", "restore the file"):
            text = file.read_bytes()
            if sha256(text)[:12] != file.stem.partition("-")[2]:
                raise BadInput("it was changed after it was received; restore the file")
            rows: list[dict[str, Any]] = [parse_json(line) for line in text.decode().splitlines()]
            for other in {row["order"] for row in rows} - {order.id}:
                raise BadInput(f"it answers order {other}; move it to the folder of that order")
            if any(row["answer"] != _answer(row["answer"], kinds[row["question"]], classes)
                   for row in rows):  # fmt: skip
                raise ValueError("an answer is not valid")
            tables.append(pd.DataFrame(rows, columns=list(COLUMNS)).astype(TYPES))
    answers = pd.concat(tables)
    answers["seconds"] = _numbers(answers, "seconds", DAY)
    # Two who receive the same file at the same time both keep it.
    return answers.drop_duplicates(["question", "worker"], ignore_index=True)


def _not_asked(
    row: Mapping[str, Any], classes: tuple[str, ...], images: set[str]
) -> tuple[str, str]:
    """Why the question of a row is not in the order: the problem and its cause."""
    if row["question"] != -1 or "class" not in row:
        return f"question {row['question']!r} is not in this order", "question"
    name, image = str(row["class"]).strip(), str(row["image"]).strip()
    if name not in classes:
        return _misnamed(name, classes), name
    if image not in images:
        return f"image {image!r} is not in this order", "image"
    return f"the order does not ask about {name!r} in image {image!r}", "pair"


@cache
def _misnamed(name: str, classes: tuple[str, ...]) -> str:
    return str(unknown("class of this order", name, classes))


def _answer(text: str, kind: str, classes: set[str]) -> str | None:
    """The answer in its standard spelling; None if it is not valid."""
    if kind == "name":
        if text in classes:
            return text
        return NOTHING if text.lower() in (NOTHING, "none", "nothing else", "") else None
    return WORDS.get(text.lower())


def _numbers(rows: pd.DataFrame, column: str, most: int) -> pd.Series[float]:
    """Of any text; nan where it is no number from 0 to `most`, and without the column."""
    if column not in rows:
        return pd.Series(float("nan"), rows.index)
    numbers = pd.to_numeric(rows[column].astype(str), errors="coerce").astype(float)
    return numbers.where(numbers.between(0, most))
