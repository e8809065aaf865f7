"""A wide table in the coding of the partial-labelling repositories: 1, 0 and, for unknown, -1."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import AnyPath, reading
from simkit.labels.formats import base
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.registry import setting

_WHAT = "a wide table of labels (CSV with image and a column for each class)"
_THEIRS = np.array([-1, 1, 0], np.int8)  # at our codes UNKNOWN, PRESENT, ABSENT
_OURS = {"1": PRESENT, "0": ABSENT, "-1": UNKNOWN}
_NUMBERS = {1.0: PRESENT, 0.0: ABSENT, -1.0: UNKNOWN}
_ROWS = 1 << 12  # rows that are written at a time


@base.register
@dataclass(frozen=True)
class CslCsv(base.Format):
    """One row per image: image, then for each class 1 present, 0 absent, -1 unknown; UTF-8.

    The coding is that of the training targets in the code of Ben-Baruch et al., CVPR 2022. Their
    repository reads COCO's JSON and simulates in memory; it has no reader for a table of labels,
    so the layout is ours: the columns after the first are the array of targets.

    file: name of an image file, with {} in place of the image id.
    """

    name: ClassVar[str] = "csl-csv"
    title: ClassVar[str] = "Wide table, unknown -1"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    mark: ClassVar[bytes] = rb"\A(\xef\xbb\xbf)?(image|\"image\"),"
    holds: ClassVar[str] = (
        "all labels of the asked images; images not asked about, effort and history are lost, and "
        "ids that look like numbers are read back as numbers"
    )

    file: str = setting("{}", "image file, with {} in place of the id")

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write one row per asked image. Raises BadInput, also above 2**27 entries."""
        asked = base.asked_rows(labels, path)
        names = base.file_names(asked.images, self.file)

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
        return base.lost_with_asked_rows(labels, self.file)

    def read(self, path: AnyPath) -> PartialLabels:
        """All images in the file count as asked about. Raises BadInput."""
        names, codes = list[str](), array("b")
        with reading(path, _WHAT) as file:
            # Row by row: a columnar reader needs ten thousand bytes per column.
            with file.open(encoding="utf-8-sig", newline="") as stream:
                rows = csv.reader(stream)
                header = next(rows, [])
                if header[:1] != ["image"] or len(header) < 2:
                    raise BadInput("the first row must name image and then the classes")
                for row in filter(None, rows):  # an empty line is no row
                    names.append(row[0])
                    place, L = len(names), len(header)
                    if len(row) != L:
                        raise BadInput(f"row {place} has {len(row)} cells; the first row has {L}")
                    try:
                        codes.extend(
                            _OURS[text] if text in _OURS else _NUMBERS[float(text)]
                            for text in row[1:]
                        )
                    except (KeyError, ValueError):
                        odd = f"row {place} holds a value other than 1, 0 and -1 (unknown)"
                        raise BadInput(odd) from None
            classes = base.distinct(header[1:], file)
            matrix = csr_array(np.frombuffer(codes, np.int8).reshape(len(names), len(classes)))
            return PartialLabels.of(matrix, base.ids_of(names), classes, np.ones(len(names), bool))
