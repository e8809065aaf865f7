"""Answers of people: checked against the order, and kept in files that never change."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from simkit.errors import BadInput
from simkit.files import whole
from simkit.orders.order import NOTHING, Order

YES_WORDS = ("yes", "y", "true", "1", "present", "1.0")
NO_WORDS = ("no", "n", "false", "0", "-1", "absent", "0.0", "-1.0")
UNSURE_WORDS = ("unsure", "maybe", "skip", "skipped", "?", "unknown", "don't know")
COLUMNS = ("question", "worker", "answer", "seconds", "shared")
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
        Rows that do not count: columns row (from 0) and problem. Every such row is listed, except
        empty answers and repetitions.
    """

    answers: pd.DataFrame
    problems: pd.DataFrame


def checked(order: Order, rows: pd.DataFrame) -> Checked:
    """Check raw answers against the questions of an order and its earlier answers.

    Parameters
    ----------
    order : Order
    rows : DataFrame
        Raw answers: columns question, worker, answer, and optionally seconds and shared.

    Returns
    -------
    Checked
    """
    problems: list[tuple[int, str]] = []
    valid: list[tuple[int, str, str, float, int]] = []
    table, classes = order.table, set(order.classes)
    kinds = table["kind"].to_dict()
    before = {
        (q, w): a for q, w, a in kept(order)[["question", "worker", "answer"]].itertuples(False)
    }
    for place, row in enumerate(rows.to_dict("records")):
        number, text = _whole(row["question"]), str(row["answer"]).strip()
        person = str(row["worker"]).strip()
        # A pseudonym, another one in each order.
        digest = hashlib.sha256(f"{order.id} {person}".encode("utf-8", "surrogatepass"))
        worker = f"w-{digest.hexdigest()[:10]}"
        kind = kinds.get(number)
        if kind is None:
            problems.append((place, f"question {row['question']!r} is not in this order"))
            continue
        answer = _answer(text, kind, classes)
        if not text or text.lower() == "nan":
            continue  # not answered yet
        if answer is None:
            what = "a class of the order or nothing" if kind == "name" else "yes, no or unsure"
            problems.append((place, f"question {number}: {text!r} is not {what}"))
            continue
        if not person:
            problems.append((place, f"question {number}: the worker is not named"))
            continue
        earlier = before.get((number, worker))
        if earlier is not None:
            if earlier != answer:
                problems.append((
                    place, f"question {number}: the same person answered {earlier} before and "
                    f"{answer} now; the first answer counts",
                ))  # fmt: skip
            continue
        before[number, worker] = answer
        shared = max(1, _whole(row.get("shared")))
        valid.append((number, worker, answer, _number(row.get("seconds")), shared))
    return Checked(
        pd.DataFrame(valid, columns=list(COLUMNS)),
        pd.DataFrame(problems, columns=["row", "problem"]),
    )


def keep(order: Order, answers: pd.DataFrame) -> Path | None:
    """Add answers to the order's folder as a new file; None if there are no answers."""
    if not len(answers):
        return None
    lines = [
        json.dumps({"order": order.id, **{k: _plain(v) for k, v in row.items()}})
        for row in answers.to_dict("records")
    ]
    text = "".join(f"{line}\n" for line in lines)
    count = len(list((order.folder / "answers").glob("*.jsonl")))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    file = order.folder / "answers" / f"{count + 1:04d}-{digest}.jsonl"
    with whole(file) as part:
        part.write_text(text, "utf-8")
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
    rows: list[dict[str, Any]] = []
    for file in sorted((order.folder / "answers").glob("*.jsonl")):
        text = file.read_bytes()
        if hashlib.sha256(text).hexdigest()[:12] != file.stem.partition("-")[2]:
            raise BadInput(f"{file} was changed after it was received; restore the file")
        rows += [json.loads(line) for line in text.decode().splitlines()]
    other_ids = {row["order"] for row in rows} - {order.id}
    if other_ids:
        raise BadInput(f"{order.folder / 'answers'} holds answers to order {other_ids.pop()}; move "
                       "them to its folder")  # fmt: skip
    answers = pd.DataFrame(rows, columns=["order", *COLUMNS]).drop(columns="order")
    # Two who receive the same file at the same time both keep it.
    return answers.drop_duplicates(["question", "worker"], ignore_index=True)


def _answer(text: str, kind: str, classes: set[str]) -> str | None:
    """The answer in its standard spelling; None if it is not valid."""
    if kind == "name":
        if text in classes:
            return text
        return NOTHING if text.lower() in (NOTHING, "none", "nothing else", "") else None
    return WORDS.get(text.lower())


def _whole(value: Any) -> int:
    number = _number(value)
    return int(number) if number.is_integer() else -1


def _number(value: Any) -> float:
    """Of any text; nan where it is no finite number that is at least 0."""
    try:
        number = float(str(value))
    except ValueError:
        return math.nan
    return number if 0 <= number < math.inf else math.nan


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else value
