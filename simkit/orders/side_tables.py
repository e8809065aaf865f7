"""Tables of an order that grow with each file of answers.

order1/names.csv    worker and name: who has which pseudonym; may be deleted at any time
order1/notes.csv    image, worker and note: what people noted on the page
order1/without.csv  worker and class: whose answers are set aside; no class: about all classes
order1/declined.csv question: for which no further answers are awaited, which only measure errors
"""

from __future__ import annotations

import io
from collections.abc import Set
from pathlib import Path

import pandas as pd

from simkit.errors import BadInput
from simkit.files import reading, whole
from simkit.labels.cells import as_text, unmarked

NAMES, NOTES, WITHOUT, DECLINED = "names.csv", "notes.csv", "without.csv", "declined.csv"
COLUMNS = {
    NAMES: ["worker", "name"], NOTES: ["image", "worker", "note"], WITHOUT: ["worker", "class"],
    DECLINED: ["question"],
}  # fmt: skip


def read(folder: Path, name: str) -> pd.DataFrame:
    """One of the tables of an order's folder; empty without its file. Raises BadInput."""
    table = _whole(folder, name)[COLUMNS[name]]
    return table.assign(**{column: table[column].map(unmarked) for column in table})


def _whole(folder: Path, name: str) -> pd.DataFrame:
    """As `read`, with further columns that somebody added, as spreadsheets save it."""
    if not (folder / name).is_file():
        return pd.DataFrame(columns=COLUMNS[name], dtype=str)
    mend = "correct it, or delete it" if name == NAMES else "restore it, or move it away"
    with reading(folder / name, f"a table {', '.join(COLUMNS[name])}", mend) as place:
        text = place.read_bytes().decode("utf-8-sig")
        sep = max(",;\t", key=text.partition("\n")[0].count)
        table = pd.read_csv(io.StringIO(text), sep=sep, dtype=str, keep_default_na=False)
        if name == WITHOUT and "class" not in table:  # of an earlier version
            table["class"] = ""
        if missing := {*COLUMNS[name]}.difference(table.columns):
            raise BadInput(f"it has no column {min(missing)}; {mend}")
        return table


def add(folder: Path, name: str, rows: pd.DataFrame) -> list[str]:
    """Add rows to one of the tables, each once; the file's name if there are any, else nothing.

    Of several names of a person the first one stays.
    """
    if not len(rows):
        return []
    by = ["worker"] if name == NAMES else COLUMNS[name]
    before = _whole(folder, name)
    texts = rows[COLUMNS[name]].astype(str).map(as_text)  # people write what they like
    table = pd.concat([before, texts]).drop_duplicates(by).fillna("")
    if len(table) > len(before):
        with whole(folder / name) as part:
            table.to_csv(part, index=False)
    return [name]


def set_aside(folder: Path, aside: Set[tuple[str, str]]) -> None:
    """Write whose answers are set aside, as `OrderState.aside`; without any the file is removed."""
    if not aside:
        (folder / WITHOUT).unlink(missing_ok=True)
        return
    with whole(folder / WITHOUT) as part:
        rows = [[*map(as_text, pair)] for pair in sorted(aside)]
        pd.DataFrame(rows, columns=COLUMNS[WITHOUT]).to_csv(part, index=False)
