"""Partial labels as CSV, for spreadsheets and other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import ClassVar

import numpy as np

from simkit.errors import BadInput
from simkit.labels.formats.base import check_any_label, lost_with_label_rows, reading, register
from simkit.labels.formats.tables import (
    cell,
    from_rows,
    ids_of,
    read_columns,
    rows_between,
    write_lines,
)
from simkit.labels.partial import PartialLabels

COLUMNS = ["image_id", "class", "state"]
ROWS = 1 << 16  # rows that are written at a time
_WHAT = "labels (CSV with image_id, class, state)"
_STATES = {"1": 1, "+1": 1, "-1": -1}


@register
@dataclass(frozen=True)
class Csv:
    """One row for each known label: image_id, class, state (1 present, -1 absent); UTF-8."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "Plain table"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    mark: ClassVar[bytes] = b""
    holds: ClassVar[str] = (
        "the known labels; images and classes without any label, asked images, effort and history "
        "are lost, classes come in the order of their first row, and ids that look like numbers "
        "come back as numbers"
    )

    def write(self, labels: PartialLabels, path: str | PathLike[str]) -> None:
        """Rows in the order of the images, then of the classes. Raises BadInput."""
        check_any_label(labels)
        write_lines(path, _lines(labels))

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Images and classes without a label, asked images, effort, history; see `holds`."""
        return lost_with_label_rows(labels)

    def read(self, path: str | PathLike[str]) -> PartialLabels:
        """Images and classes in the order of their first row. Raises BadInput."""
        with reading(path, _WHAT) as file:
            (ids, rows), (classes, columns), (texts, place) = read_columns(file, COLUMNS)
            odd = [text for text in texts if text.strip() not in _STATES]
            if odd:
                raise BadInput(
                    f"state is {odd[0][:40]!r}; write 1 for present, -1 for absent and no row for "
                    "unknown"
                )
            states = np.array([_STATES[text.strip()] for text in texts], np.int8)[place]
            return from_rows(rows, columns, states, ids_of(ids), tuple(classes))


def _lines(labels: PartialLabels) -> Iterator[str]:
    total, names = labels.codes.nnz, [cell(name) for name in labels.classes]
    yield ",".join(COLUMNS)
    for start in range(0, total, ROWS):
        rows = rows_between(labels, start, min(start + ROWS, total))
        for image, c, state in zip(*(column.tolist() for column in rows), strict=True):
            yield f"{cell(str(image))},{names[c]},{state}"
