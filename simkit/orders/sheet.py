"""Tables for spreadsheets and vendors (CSV, JSONL), and the instructions."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simkit.errors import BadInput
from simkit.files import parse_json, reading, whole
from simkit.labels.formats.base import write_lines
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.orders.order import Order

# Usual names of columns; the first is that of simkit.
USUAL = {
    "question": ("question", "question_id", "id"),
    "image": ("image", "file", "filename", "file_name", "image_id", "path"),
    "class": ("class", "label", "category", "class_name", "tag"),
    "answer": ("answer", "value", "response", "result", "present", "vote"),
    "worker": ("worker", "annotator", "worker_id", "annotator_id", "user", "completed_by", "who"),
    "seconds": ("seconds", "time", "duration", "lead_time", "work_time", "time_spent"),
}
TEXTS = {
    "verify": "Is this class in the image?",
    "search": "Is this class in the image?",
    "sweep": "Is this class in the image?",
    "descend": "Is this class, or any kind of it, in the image?",
    "name": "Name one class of the list that is in the image, or `nothing`.",
}
RULE = (
    "Answer `yes` if you see any part of the class, however small, and `no` if you looked and "
    "found none. Answer `unsure` if you cannot decide, for example because the image is too "
    "dark; do not guess."
)
CLASSES, EXAMPLES = "## Classes\n", "\n## Examples\n"  # headings in the instructions
TYPICAL, ALIKE = 3, 2  # examples of a class: images with it, and similar ones without it


def listed(order: Order, questions: pd.DataFrame) -> pd.DataFrame:
    """Questions with names of images and classes; gold questions look like all others."""
    classes = np.where(questions["kind"] == "name", "", np.array(order.classes, object)[
        questions["class"].to_numpy(np.int64)
    ])  # fmt: skip
    return pd.DataFrame({
        "question": questions["question"], "image": order.images[questions["image"].to_numpy()],
        "class": classes, "kind": questions["kind"], "task": questions["task"],
        "round": questions["round"],
    })  # fmt: skip


def write(order: Order, questions: pd.DataFrame, folder: Path, *, jsonl: bool = False) -> Path:
    """Write `questions.csv` (or .jsonl) with empty columns answer, worker and seconds.

    A question for several people has one row for each of them. Returns the file.
    """
    table = listed(order, questions).assign(order=order.id)
    people = np.where(questions["gold"] == 0, order.settings.people, 1)
    table = table.loc[table.index.repeat(people)].assign(answer="", worker="", seconds="")
    file = folder / ("questions.jsonl" if jsonl else "questions.csv")
    if jsonl:
        rows = table.to_dict("records")
        write_lines(file, (json.dumps(row, ensure_ascii=False) for row in rows))
    else:
        with whole(file) as part:
            table.to_csv(part, index=False)
    return file


def read(file: Path, order: Order, columns: dict[str, str]) -> pd.DataFrame:
    """Read the raw answers in a table.

    A row names its question by number, or by image and class.

    Parameters
    ----------
    file : Path
        CSV or JSONL.
    order : Order
    columns : dict of str to str
        Columns of the file whose names are not the usual ones, by field (see `USUAL`).

    Returns
    -------
    DataFrame
        Columns question, worker, answer, and, if the table has them, seconds and shared.

    Raises
    ------
    BadInput
        If a column is missing or ambiguous, or the file answers another order.
    """
    with reading(file, "answers", "save it again as CSV UTF-8, or restore the file"):
        text = file.read_text("utf-8-sig")
        if file.suffix.lower() == ".csv":
            rows: list[Any] = _table(text)
        else:
            rows = [parse_json(line, "replace") for line in text.split("\n") if line.strip()]
        if any(isinstance(value, dict | list) for row in rows for value in row.values()):
            raise ValueError("a value is neither text nor a number")
        table = pd.DataFrame(rows, dtype=object).fillna("")
        if not len(table):
            raise BadInput("it has no rows; give a file with answers")
        for stated in {*table["order"].astype(str)} - {""} if "order" in table else ():
            order.check_id(file, stated)
        names = {field: _column(field, table, columns, file) for field in USUAL}
        known = {field for field, name in names.items() if name is not None}
        for field in dict.fromkeys(["answer", "worker", "question", *columns]):
            if field not in known and not (field == "question" and {"image", "class"} <= known):
                wanted = repr(columns[field]) if field in columns else f"for {field}"
                wanted += ", or for image and class" * (field == "question")
                raise BadInput(
                    f"{file} has no column {wanted} (columns: {', '.join(table.columns)}); name it "
                    f"with --columns {field}=NAME"
                )
        out = pd.DataFrame({field: table[names[field]] for field in USUAL if field in known})
        if "question" not in out:  # look questions up by image and class; -1 if there is none
            asked = listed(order, order.table)
            keys = asked["image"].astype(str) + "\0" + asked["class"]
            number = pd.Series(asked["question"].to_numpy(), keys).groupby(level=0).first()
            image, name = (out[field].astype(str).str.strip() for field in ("image", "class"))
            numbers = number.reindex(image + "\0" + name).fillna(-1)
            out["question"] = numbers.astype(int).set_axis(out.index)
        if "shared" in table:
            out["shared"] = table["shared"]
        return out


def _table(text: str) -> list[dict[str, object]]:
    """The rows of a CSV file with commas, semicolons or tabs."""
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restkey="")
    rows = list(reader)
    names = reader.fieldnames or []
    twice = [name for place, name in enumerate(names) if name and name in names[:place]]
    if twice:
        raise BadInput(f"there are two columns {twice[0]!r}; remove or rename one of them")
    return rows


def _column(field: str, table: pd.DataFrame, columns: dict[str, str], file: Path) -> str | None:
    """The file's column for this field; None without one."""
    if field in columns:
        return columns[field] if columns[field] in table else None
    names = {str(name).strip().lower().replace(" ", "_"): str(name) for name in table.columns}
    usual = [names[name] for name in USUAL[field] if name in names]
    if len(usual) > 1 and usual[0] != field:
        raise BadInput(
            f"{file}: {field} could be {' or '.join(usual)}; name one with --columns {field}=NAME"
        )
    return usual[0] if usual else None


def descriptions(order: Order, file: Path | None = None) -> str:
    """What people wrote about the classes in an earlier `instructions.md`, in Markdown.

    By default it is that of the previous round; without one, a line for each class to fill in.
    """
    if file is None:
        file = order.folder / f"round-{len(order.rounds) - 1}" / "instructions.md"
        if not file.is_file():
            lines = (f"* **{name}**:" for name in order.classes)
            return "\n".join([
                "Before work starts, describe what belongs to each class and what does not.", "",
                *lines,
            ])  # fmt: skip
    with reading(file, "instructions", "save it as UTF-8 text") as place:
        text = place.read_text("utf-8-sig")
    return (text.partition(CLASSES)[2] or text).partition(EXAMPLES)[0].strip()


def shown(described: str) -> str:
    """The rule for answers and the descriptions that exist, as plain text for a page."""
    empty = re.compile(
        r"^(Before work starts, .*|\* \*\*.*\*\*:[ ]*)(\n(?=\*|\n)|\Z)", re.MULTILINE
    )
    return f"{RULE}\n\n{empty.sub('', described)}".replace("`", "").replace("**", "").strip()


def instructions(
    order: Order, questions: pd.DataFrame, folder: Path, described: str,
    labels: PartialLabels | None = None,
) -> Path:  # fmt: skip
    """Write `instructions.md` for the people who answer, with examples from known labels.

    Returns the file.
    """
    kinds = list(dict.fromkeys(questions["kind"]))
    asked = [TEXTS[kinds[0]]] if len(kinds) == 1 else [f"* `{k}`: {TEXTS[k]}" for k in kinds]
    gold = " The answers to some questions may be known already, as a check."
    text = [
        f"# Instructions for order {order.id}, round {len(order.rounds)}", "",
        f"{len(questions):,} questions about {questions['image'].nunique():,} images.", "",
        *asked, "",
        RULE + gold * bool(order.settings.gold), "",
        CLASSES, described,
        *([] if labels is None else _examples(order, questions, labels)),
    ]  # fmt: skip
    file = folder / "instructions.md"
    write_lines(file, text)
    return file


def _examples(order: Order, questions: pd.DataFrame, labels: PartialLabels) -> list[str]:
    """A section with the known images of each class nearest to the mean of those that show it.

    Empty without features. These questions are left out, because gold ones have a known answer.
    """
    if order.features is None:
        return []
    rows, columns = labels.codes.nonzero()
    places = pd.Index(order.images.astype(str)).get_indexer(labels.images.astype(str))
    classes = pd.Index(order.classes).get_indexer(labels.classes)
    known = pd.DataFrame({"image": places[rows], "class": classes[columns]})
    asked = pd.MultiIndex.from_frame(questions[["image", "class"]])
    named = questions.loc[questions["kind"] == "name", "image"]
    free = ~pd.MultiIndex.from_frame(known).isin(asked) & ~known["image"].isin(named)
    free &= (known >= 0).all(axis=1)
    lines = []
    for c, part in known.assign(shown=labels.codes.data == PRESENT)[free].groupby("class"):
        shown, features = part["shown"].to_numpy(), order.features[part["image"]].astype(float)
        if shown.any():
            lengths = np.linalg.norm(features, axis=1)
            cosine = features @ features[shown].mean(0) / np.where(lengths, lengths, 1)
            near = np.argsort(-cosine, kind="stable")
            typical, alike = (
                ", ".join(f"`{order.images[image]}`" for image in part["image"].iloc[chosen])
                for chosen in (near[shown[near]][:TYPICAL], near[~shown[near]][:ALIKE])
            )
            lines.append(
                f"* **{order.classes[int(c)]}** is in {typical}"  # type: ignore[call-overload]
                + (f"; not in {alike}, which look similar" if alike else "")
            )
    return ["", "## Examples", "", *lines] if lines else []
