"""Tables for spreadsheets and vendors (CSV, JSONL), and the instruction sheet."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd

from simkit.errors import BadInput
from simkit.files import readable, whole
from simkit.orders.order import Order

# What columns are called, ours first.
USUAL = {
    "question": ("question", "question_id", "id"),
    "image": ("image", "file", "filename", "file_name", "image_id", "path"),
    "class": ("class", "label", "category", "class_name", "tag"),
    "answer": ("answer", "value", "response", "result", "present", "vote"),
    "worker": ("worker", "annotator", "worker_id", "annotator_id", "user", "completed_by", "who"),
    "seconds": ("seconds", "time", "duration", "lead_time", "work_time", "time_spent"),
}
TEXTS = {
    "verify": "Is this in the image?",
    "search": "Is this in the image?",
    "sweep": "Is this in the image?",
    "descend": "Is this, or any kind of it, in the image?",
    "name": "Name one thing in the image: a class of the list, or `nothing`.",
}


def listed(order: Order, questions: pd.DataFrame) -> pd.DataFrame:
    """Questions with names, one row for each question; gold ones look like all others."""
    classes = np.where(questions["kind"] == "name", "", np.array(order.classes, object)[
        questions["class"].to_numpy(np.int64)
    ])  # fmt: skip
    return pd.DataFrame({
        "question": questions["question"], "image": order.images[questions["image"].to_numpy()],
        "class": classes, "kind": questions["kind"], "task": questions["task"],
        "round": questions["round"],
    })  # fmt: skip


def write(order: Order, questions: pd.DataFrame, folder: Path, *, jsonl: bool = False) -> Path:
    """`questions.csv` (or .jsonl) with empty columns answer, worker and seconds.

    A question for several people has as many rows.
    """
    table = listed(order, questions).assign(order=order.id)
    people = np.where(questions["gold"] == 0, order.terms.people, 1)
    table = table.loc[table.index.repeat(people)].assign(answer="", worker="", seconds="")
    file = folder / ("questions.jsonl" if jsonl else "questions.csv")
    with whole(file) as part:
        if jsonl:
            rows = (json.dumps(row, ensure_ascii=False) for row in table.to_dict("records"))
            part.write_text("".join(f"{row}\n" for row in rows), "utf-8")
        else:
            table.to_csv(part, index=False)
    return file


def read(file: Path, order: Order, columns: dict[str, str]) -> pd.DataFrame:
    """Raw answers of a table: columns question, worker, answer, seconds and shared.

    columns: which column of the file is which, where its names are not the usual ones. Rows are
    about a question by its number, or by image and class.

    Raises
    ------
    BadInput
        If it is unclear which column is which.
    """
    try:
        text = readable(file, "answers").read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{file} is not UTF-8 text; save it again as CSV UTF-8") from None
    if file.suffix.lower() == ".csv":
        rows = _table(text, file)
    else:
        rows = [
            _object(line, file, n) for n, line in enumerate(text.split("\n"), 1) if line.strip()
        ]
    table = pd.DataFrame(rows).fillna("")
    if not len(table):
        raise BadInput(f"{file} has no rows; give a file with answers")
    strange = {str(one) for one in table["order"]} - {order.id, ""} if "order" in table else set()
    if strange:
        raise BadInput(f"{file} answers order {strange.pop()}, and this is {order.id}; give the "
                       "folder of that order")  # fmt: skip
    found = {field: _column(field, table, columns, file) for field in USUAL}
    for field in ("answer", "worker"):
        if found[field] is None:
            raise BadInput(
                f"{file} has no column for {field} (columns: {', '.join(table.columns)}); say "
                f"which one it is with --columns {field}=NAME"
            )
    out = pd.DataFrame({field: table[name] for field, name in found.items() if name is not None})
    if "question" not in out:
        out["question"] = _numbers(out, order, file)
    if "shared" in table:
        out["shared"] = table["shared"]
    return out


def _table(text: str, file: Path) -> list[dict[str, object]]:
    """The rows of a CSV file with commas, semicolons or tabs."""
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise BadInput(f"{file} is no table ({error}); restore the file") from None
    names, *rows = [line for line in lines if line] or [[]]
    twice = [name for place, name in enumerate(names) if name and name in names[:place]]
    if twice:
        raise BadInput(f"{file} has two columns {twice[0]!r}; remove or rename one of them")
    return [dict(zip(names, row, strict=False)) for row in rows]


def _object(line: str, file: Path, number: int) -> dict[str, object]:
    try:
        value = json.loads(line)
        if isinstance(value, dict):
            return value
    except ValueError:
        pass
    raise BadInput(f"{file}, line {number} is not a JSON object; restore the file")


def _column(field: str, table: pd.DataFrame, columns: dict[str, str], file: Path) -> str | None:
    """The column of the file with this field; None if there is none."""
    if field in columns:
        if columns[field] not in table:
            raise BadInput(f"{file} has no column {columns[field]!r}; it has "
                           f"{', '.join(table.columns)}")  # fmt: skip
        return columns[field]
    names = {str(name).strip().lower().replace(" ", "_"): str(name) for name in table.columns}
    usual = [names[name] for name in USUAL[field] if name in names]
    if len(usual) > 1 and usual[0] != field:
        raise BadInput(
            f"{file}: {field} could be {' or '.join(usual)}; say which with --columns {field}=NAME"
        )
    return usual[0] if usual else None


def _numbers(rows: pd.DataFrame, order: Order, file: Path) -> pd.Series[int]:
    """The number of each row's question, by image and class; -1 where there is none."""
    if "image" not in rows or "class" not in rows:
        raise BadInput(f"{file} has neither a column question nor image and class; name them with "
                       "--columns question=NAME")  # fmt: skip
    table = listed(order, order.table)
    keys = table["image"].astype(str) + "\0" + table["class"]
    number = pd.Series(table["question"].to_numpy(), keys).groupby(level=0).first()
    asked = rows["image"].astype(str).str.strip() + "\0" + rows["class"].astype(str).str.strip()
    return number.reindex(asked).fillna(-1).astype(int).set_axis(rows.index)


def instructions(order: Order, questions: pd.DataFrame, folder: Path) -> Path:
    """`instructions.md`: what the people who answer have to know."""
    kinds = list(dict.fromkeys(questions["kind"]))
    text = [
        f"# Instructions for order {order.id}, round {len(order.rounds)}", "",
        f"{len(questions):,} questions about {questions['image'].nunique():,} images.", "",
        *(f"* `{kind}`: {TEXTS[kind]}" for kind in kinds), "",
        "Answer `yes` if any part of one can be seen, however small, and `no` if you looked and "
        "found none. Answer `unsure` if you cannot tell, for example because the image is too "
        "dark; do not guess. Some questions have a known answer, to measure how well we ask.", "",
        "## Classes", "",
        "Write below what belongs to each class and what does not, before work starts.", "",
        *(f"* **{name}**:" for name in order.classes), "",
    ]  # fmt: skip
    file = folder / "instructions.md"
    with whole(file) as part:
        part.write_text("\n".join(text), "utf-8")
    return file
