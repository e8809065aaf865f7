"""Tables of an order that grow with each file of answers.

order1/names.csv    worker and name: who has which pseudonym; may be deleted at any time
order1/notes.csv    image, worker and note: what people noted on the page
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from simkit.files import reading, whole

NAMES, NOTES = "names.csv", "notes.csv"
COLUMNS = {NAMES: ["worker", "name"], NOTES: ["image", "worker", "note"]}


def read(folder: Path, name: str) -> pd.DataFrame:
    """One of the tables of an order's folder; empty without its file. Raises BadInput."""
    if not (folder / name).is_file():
        return pd.DataFrame(columns=COLUMNS[name], dtype=str)
    mend = "correct it, or delete it" if name == NAMES else "restore it, or move it away"
    with reading(folder / name, f"a table {', '.join(COLUMNS[name])}", mend) as place:
        return pd.read_csv(place, dtype=str, keep_default_na=False)[COLUMNS[name]]


def add(folder: Path, name: str, rows: pd.DataFrame) -> list[str]:
    """Add rows to one of the tables, each once; the file's name if there are any, else nothing.

    Of several names of a person the first one stays.
    """
    if not len(rows):
        return []
    by = ["worker"] if name == NAMES else None
    before = read(folder, name)
    table = pd.concat([before, rows[COLUMNS[name]].astype(str)]).drop_duplicates(by)
    if len(table) > len(before):
        with whole(folder / name) as part:
            table.to_csv(part, index=False)
    return [name]
