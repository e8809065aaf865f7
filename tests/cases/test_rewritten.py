"""One table, rewritten at random as people and programs do: the same labels, or a word about it."""

from __future__ import annotations

import csv
import io
import json
import random
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from simkit.data.label_table import read_content
from simkit.errors import BadInput

FILES = ("img_{:03}.jpg", "{:012}.jpg", "Bäume/été {}.jpg", "{}.jpg", "a,b {}.jpg", "x/IMG {}.JPG")
CLASSES = (
    ["cat", "dog", "hot dog", "person"], ["Hund", "Katze", "Bär", "Äpfel"], ["1", "2", "3", "4"],
    ["cat", "dog", "other"], ["yes", "no", "maybe"], ["R&B", "AC/DC", "salt, pepper", "C++"],
)  # fmt: skip
CODES = (
    ("1", "0"), ("1.0", "0.0"), ("yes", "no"), ("TRUE", "FALSE"), ("ja", "nein"), ("x+", "x-"),
    ("present", "absent"), ("1", "-1"), ("y", "n"), ("positive", "negative"),
)  # fmt: skip
FILE_COLUMNS = (
    "file",
    "File",
    "file_name",
    "Filename",
    "image",
    "Image Name",
    "image_path",
    "path",
)
CLASS_COLUMNS = ("class", "label", "Label", "category", "class_name", "tags")
BETWEEN = {"|": "|", ";": ";", ", ": ","}
OTHERS = {  # the cells of a further column, by its name
    "": str, "id": str, "index": lambda n: str(n + 1), "width": lambda n: "640",
    "score": lambda n: f"0.{n % 9 + 1}", "notes": lambda n: ["", "blurry"][n % 2],
    "annotator": lambda n: ["anna", "ben"][n % 2], "date": lambda n: f"2024-03-{n % 28 + 1:02}",
    "count": lambda n: str(n % 4), "reviewed": lambda n: ["yes", "no"][n % 2],
    "split": lambda n: "train", "is_test": lambda n: str(n % 2), "comment": lambda n: "",
    "url": "http://x/{}".format, "image_id": str,
}  # fmt: skip
Rows = list[list[str]]


def table(draw: random.Random) -> tuple[dict[str, set[str]], list[str], Rows, dict[str, Any]]:
    """The classes in each image, a table of them, and the options with which to read it."""
    name, classes = draw.choice(FILES), draw.choice(CLASSES)
    files = [name.format(n) for n in range(draw.randint(4, 14))]
    shown = {file: {c for c in classes if draw.random() < 0.45} for file in files}
    for n, c in enumerate(classes):  # each class somewhere, and one in each image
        shown[files[n % len(files)]].add(c)
    for row in shown.values():
        row.update([classes[0]] * (not row))
    header, rows, options = [draw.choice(FILE_COLUMNS)], [], {}
    shape = draw.choice(("long", "wide", "lists"))
    if shape == "wide":
        header, (yes, no) = [*header, *classes], draw.choice(CODES)
        rows = [[f, *(yes if c in shown[f] else no for c in classes)] for f in files]
        options = {"minus": "absent"} if no == "-1" else {}
    elif shape == "long":
        header.append(draw.choice(CLASS_COLUMNS))
        rows = [[f, c] for f in files for c in classes if c in shown[f]]
    else:
        header.append(draw.choice(CLASS_COLUMNS))
        marks = [mark for mark in BETWEEN if not any(mark in c for c in classes)]
        write = mark = draw.choice((*marks, json.dumps, str))
        if isinstance(mark, str):
            write, options = mark.join, {"between": BETWEEN[mark]}
            options = options if draw.random() < 0.8 else {}
        rows = [[f, write([c for c in classes if c in shown[f]])] for f in files]
    if draw.random() < 0.6 and (other := draw.choice([*OTHERS])) not in header:
        place = 0 if other in ("", "id", "index") else draw.choice((1, len(header)))
        header.insert(place, other)
        for n, row in enumerate(rows):
            row.insert(place, OTHERS[other](n))
    if draw.random() < 0.3:
        draw.shuffle(rows)
    return shown, header, rows, options


def written(draw: random.Random, folder: Path, header: list[str], rows: Rows) -> Path:
    """The table as a file of any kind."""
    kind = draw.choice(("csv", "csv", "xlsx", "json", "jsonl", "parquet"))
    file = folder / f"labels.{kind}"
    if kind == "csv":
        mark, end, text = draw.choice(",;\t|"), draw.choice(("\n", "\r\n")), io.StringIO()
        quoting = draw.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
        csv.writer(text, delimiter=mark, lineterminator=end, quoting=quoting).writerows(
            [header, *rows]
        )
        lines = text.getvalue().splitlines(keepends=True)
        change = draw.choice(("", "", "blank", "title", "sep", "again", "comment"))
        lines = {
            "blank": [*lines, mark * (len(header) - 1) + end], "sep": [f"sep={mark}{end}", *lines],
            "title": [f"Labels of our photographs{end}", *lines],
            "again": [*lines[:3], lines[0], *lines[3:]], "comment": [f"# exported{end}", *lines],
        }.get(change, lines)  # fmt: skip
        encoding = draw.choice(("utf-8", "utf-8-sig", "utf-16", "cp1252"))
        file.write_bytes("".join(lines).encode(encoding))
        return file
    typed: list[list[Any]] = rows
    if draw.random() < 0.7 and kind != "parquet":
        values = {"TRUE": True, "FALSE": False, "": None}
        typed = [[int(t) if t.isdigit() and str(int(t)) == t else values.get(t, t) for t in row]
                 for row in rows]  # fmt: skip
    frame = pd.DataFrame(typed, columns=header, dtype=object)
    if kind == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(file, index=False)
    elif kind == "parquet":
        frame.to_parquet(file)
    else:
        frame.to_json(file, orient="records", lines=kind == "jsonl", force_ascii=False)
    return file


def test_rewritten_tables_mean_the_same_or_a_note_or_an_error_says_otherwise(
    tmp_path: Path,
) -> None:
    verdicts, silent = Counter[str](), []
    for seed in range(250):
        draw = random.Random(seed)
        shown, header, rows, options = table(draw)
        file = written(draw, tmp_path, header, rows)
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            try:
                content = read_content(file, **options)
            except BadInput:
                verdicts["refused"] += 1
                continue
        present = content.present.toarray()
        names = np.array(content.classes, object)
        read = {f: {*names[row]} for f, row in zip(content.files, present, strict=True)}
        same = read == shown and len(names) == len(set().union(*shown.values()))
        verdicts["same" if same else "noted" if notes else "silent"] += 1
        if not same and not notes:
            silent.append((seed, header, rows[:2]))
    assert not silent
    assert verdicts["same"] > 150 and verdicts["refused"] < 60, verdicts
