"""Partial labels as CSV, for spreadsheets and other programs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from simkit.errors import BadInput
from simkit.files import AnyPath, reading
from simkit.labels.formats import base
from simkit.labels.partial import PartialLabels
from simkit.registry import setting

COLUMNS = ["image_id", "class", "state"]
_WHAT = "labels (CSV with image_id, class, state)"
_COMPUTED = re.compile("^(?='*[=+@-])")  # a formula to spreadsheets, or marked before
_MARKED = re.compile("^'(?='*[=+@-])")
_STATES = {"1": 1, "+1": 1, "-1": -1}


@base.register
@dataclass(frozen=True)
class Csv(base.Format):
    """One row per known label: image_id, class, state (1 present, -1 absent); UTF-8."""

    as_text: bool = setting(
        False, "an apostrophe before cells that spreadsheets would compute, beginning with = + - @"
    )

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "Plain table"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    holds: ClassVar[str] = (
        "the known labels; images and classes without any label, asked images, effort and history "
        "are lost, classes are read back in the order of their first row, and ids that look like "
        "numbers as numbers"
    )

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write rows in the order of the images, then of the classes. Raises BadInput."""

        def cell(text: str) -> str:
            return base.cell(_COMPUTED.sub("'", text) if self.as_text else text)

        rows = base.label_rows(labels, labels.classes, cell)
        lines = (f"{image},{name},{state}" for image, name, state in rows)
        base.write_lines(path, chain([",".join(COLUMNS)], lines))

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Images and classes without a label, asked images, effort, history; see `holds`."""
        return base.lost_with_label_rows(labels)

    def read(self, path: AnyPath) -> PartialLabels:
        """Images and classes in the order of their first row. Raises BadInput."""
        with reading(path, _WHAT) as file:
            (ids, rows), (classes, columns), (texts, place) = base.read_columns(file, COLUMNS)
            if self.as_text:
                ids, classes = ([_MARKED.sub("", text) for text in each] for each in (ids, classes))
            odd = [text for text in texts if text.strip() not in _STATES]
            if odd:
                raise BadInput(f"state is {odd[0][:40]!r}; write 1 or -1, and no row for unknown")
            states = np.array([_STATES[text.strip()] for text in texts], np.int8)[place]
            images = base.ids_of(ids)
            return base.from_rows(rows, columns, states, images=images, classes=tuple(classes))
