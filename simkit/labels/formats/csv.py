"""Partial labels as CSV, for spreadsheets and other programs."""

from __future__ import annotations

from itertools import chain
from typing import ClassVar

import numpy as np

from simkit.errors import BadInput
from simkit.files import AnyPath, reading
from simkit.labels import tables
from simkit.labels.cells import BOTH, as_text, unmarked
from simkit.labels.formats import base
from simkit.labels.partial import PartialLabels
from simkit.registry import setting

COLUMNS = ["image_id", "class", "state"]
_WHAT = "labels (CSV with image_id, class, state)"
STATE = ("state", "label_state")


@base.register
class Csv(base.Format):
    """One row per known label: image_id, class, state (1 present, -1 absent); UTF-8.

    Holds the known labels; images and classes without any label, asked images, effort and history
    are lost, classes are read back in the order of their first row, and ids that look like numbers
    as numbers.
    """

    as_text: bool = setting(
        False, "an apostrophe before cells that spreadsheets would compute, beginning with = + - @"
    )

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "Plain table"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write rows in the order of the images, then of the classes. Raises BadInput."""

        def cell(text: str) -> str:
            return base.cell(as_text(text) if self.as_text else text)

        rows = base.label_rows(labels, labels.classes, cell)
        lines = (f"{image},{name},{state}" for image, name, state in rows)
        base.write_lines(path, chain([",".join(COLUMNS)], lines))

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Images and classes without a label, asked images, effort and history."""
        return (*base.lost_with_label_rows(labels), *base.lost_spelling(labels))

    def read(self, path: AnyPath) -> PartialLabels:
        """Images and classes in the order of their first row. Raises BadInput."""
        with reading(path, _WHAT) as file:
            if base.ends(file).startswith(b"PAR1"):
                # Its classes and images without a label would be lost.
                raise BadInput("it is a parquet file; name its format as parquet")
            table = tables.read_table(file)
            if not table.named(STATE):
                raise BadInput(
                    "no column is called state; a row for each label is expected, with the columns "
                    f"image_id, class and state (1 or -1); {base.with_images(file)}"
                )
            image = table.column(("image_id", *tables.USUAL["image"]), "the image")
            name = table.column(tables.USUAL["class"], "the class")
            state = table.column(STATE, "the state")
            image.note_shortened()
            if self.as_text:
                image, name = (each.cleaned(unmarked) for each in (image, name))
            code = state.states("1 (present) and -1 or 0 (absent) are expected")
            if {0, -1} <= {*code.values()}:
                raise BadInput(BOTH)
            signs = {1: 1, 0: -1, -1: -1, None: 0}
            states = np.array([signs[value] for value in code.values()])[state.codes]
            known = states != 0
            if not known.all():
                table.note(f"rows left out because their state is unknown: {(~known).sum():,} of "
                           f"{len(table):,}")  # fmt: skip
            base.note_classes_of(file, name.texts)
            return base.from_rows(
                image.codes[known], name.codes[known], states[known],
                images=base.ids_of(image.texts), classes=tuple(name.texts),
            )  # fmt: skip
