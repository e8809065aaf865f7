"""A wide table in the coding of the partial-labelling repositories: 1, 0 and, for unknown, -1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import AnyPath, reading
from simkit.labels import tables
from simkit.labels.cells import Minus
from simkit.labels.formats import base
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.registry import setting

_WHAT = "a wide table of labels (CSV with image and a column for each class)"
_THEIRS = np.array([-1, 1, 0], np.int8)  # at our codes UNKNOWN, PRESENT, ABSENT
_OURS = np.array([UNKNOWN, ABSENT, PRESENT], np.int8)  # at their codes -1, 0 and 1
_ROWS = 1 << 12  # rows that are written at a time


@base.register
class CslCsv(base.Format):
    """One row per image: image, then for each class 1 present, 0 absent, -1 unknown; UTF-8.

    The coding is that of the training targets in the code of Ben-Baruch et al., CVPR 2022. Their
    repository reads COCO's JSON and simulates in memory; it has no reader for a table of labels,
    so the layout is ours: the columns after the first are the array of targets.

    file: name of an image file, with {} in place of the image id.
    minus: meaning of -1 in a file without 0, as other tools write them; by default unknown.

    Holds all labels of the asked images; images not asked about, effort and history are lost, and
    ids that look like numbers are read back as numbers.
    """

    name: ClassVar[str] = "csl-csv"
    title: ClassVar[str] = "Wide table, unknown -1"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    mark: ClassVar[bytes] = (  # but not the header of a table with one row per label
        rb"(?i)\A(image|\"image\")[,;\t](?!.*LabelName)"
        rb"(?!(class|labels?|category|tags?|class[ _]?name|state)[,;\t\r\n])"
    )

    file: str = setting("{}", "image file, with {} in place of the id")
    minus: Minus = setting("", "absent or unknown: what -1 means in a file without 0")

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write one row per asked image. Raises BadInput, also above 2**27 entries."""
        asked = base.asked_rows(labels, path)
        names = base.file_names(asked.images, self.file)
        if "" in (*names, *labels.classes):
            raise BadInput("an image id or a class name is empty; each row and column needs a name")

        def lines() -> Iterator[str]:
            yield ",".join(map(base.cell, ["image", *labels.classes]))
            for start in range(0, len(names), _ROWS):
                block = names[start : start + _ROWS]
                codes = _THEIRS[asked.rows(range(start, start + len(block)))]
                for name, row in zip(block, codes.tolist(), strict=True):
                    yield ",".join([base.cell(name), *map(str, row)])

        base.write_lines(path, lines())

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Images not asked about, effort and history."""
        return (*base.lost_with_asked_rows(labels, self.file), *base.lost_spelling(labels))

    def read(self, path: AnyPath) -> PartialLabels:
        """All images in the file count as asked about. Raises BadInput."""
        with reading(path, _WHAT) as file:
            table = tables.read_table(file)
            image = table.columns[0]
            if image not in table.named(tables.USUAL["image"]):
                what = "image and the classes are expected"
                raise BadInput(f"its first column is {image.name[:60]!r}; {what}")
            image.note_shortened()
            columns = table.classes(table.columns[1:])
            if not columns:
                raise BadInput("it has no class columns; add one per class, with 1, 0 and -1")
            codes = tables.presence(columns, self.minus or "unknown")
            if not self.minus and (codes == -1).any() and not (codes == 0).any():
                table.note(
                    "no cell is 0, so -1 and empty cells are read as unknown; if -1 means absent, "
                    "name the format as csl-csv(minus=absent)"
                )
            classes = base.distinct([column.name for column in columns], file)
            base.note_classes_of(file, classes)
            matrix = csr_array(_OURS[codes + 1])
            ids = base.ids_of(image.cells())
            return PartialLabels.of(matrix, ids, classes, np.ones(len(ids), bool))
