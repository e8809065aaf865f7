"""OpenImages' human-verified image-level labels: present and absent classes, one per row."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import AnyPath, reading
from simkit.labels import tables
from simkit.labels.formats import base
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.registry import setting

COLUMNS = ["ImageID", "Source", "LabelName", "Confidence"]
WHAT = "OpenImages image-level labels (CSV with ImageID, Source, LabelName, Confidence)"
_NAMES = "class descriptions (CSV with MID, display name)"
_HEADERS = {"labelname", "mid", "id", "label"}


@base.register
class OpenImages(base.Format):
    """Rows ImageID, Source, LabelName, Confidence: 1 verified to be present, 0 to be absent.

    names: a class description file (MID, display name). With it the classes are its display names,
    all of them and in its order, and are written as MIDs. Without it each LabelName is a class, in
    the order of first rows. Every Source is read alike; "verification" is written.
    Source: the data formats page of Open Images; Kuznetsova et al., IJCV 2020.

    Holds the known labels; images without a label and, without names=FILE, classes without one are
    lost, and so are the order of classes, asked images, effort and history; the Source of a row is
    not kept.
    """

    name: ClassVar[str] = "openimages"
    title: ClassVar[str] = "OpenImages, human-verified image-level labels"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    mark: ClassVar[bytes] = rb"^\"?ImageID\"?[,;\t](.*[,;\t])?\"?LabelName\"?[,;\t]"

    names: str = setting("", "a class description file (MID, display name), in its order")

    def read(self, path: AnyPath) -> PartialLabels:
        """Images in the order of their first rows. Raises BadInput."""
        names = read_names(self.names) if self.names else None
        with reading(path, WHAT) as file:
            rows = read_rows(file)
            classes = names or {name: name for name in rows.labels}
            codes = rows.codes(classes, file, self.names)
            return PartialLabels.of(codes, rows.images, tuple(classes.values()))

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Images and classes without a label, the order of classes, effort and history."""
        lost = base.lost_with_label_rows(labels, ordered_classes=bool(self.names))
        return (*lost, *base.lost_spelling(labels))

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write rows in the order of the images, then of the classes. Raises BadInput."""
        names = labels.classes
        if self.names:
            mids = {name: mid for mid, name in read_names(self.names).items()}
            odd = next((name for name in names if name not in mids), None)
            if odd is not None:
                raise BadInput(f"class {odd!r} is not in {self.names}; add it with its MID")
            names = tuple(mids[name] for name in names)

        def cell(text: str) -> str:
            if not text:
                raise BadInput("an image id or a class name is empty; OpenImages' format needs one")
            return base.cell(text)

        rows = base.label_rows(labels, names, cell)
        states = {PRESENT: 1, ABSENT: 0}
        lines = (f"{image},verification,{name},{states[code]}" for image, name, code in rows)
        base.write_lines(path, chain([",".join(COLUMNS)], lines))


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a file as indices: m labels of N images, with K label names.

    images (N,) ids, labels K names in the order of their first rows;  rows, columns (m,) int32;
    states (m,) int8: +1 verified to be present, -1 verified to be absent.
    """

    images: NDArray[Any]
    labels: tuple[str, ...]
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    states: NDArray[np.int8]

    def codes(self, classes: dict[str, str], file: Path, names: str) -> csr_array:
        """The labels (N, L) int8 of these rows; warnings report rows that do not count.

        Rows with the same image and class are votes: the majority counts, and a tie is unknown.

        Parameters
        ----------
        classes : dict of str to str
            The class name of each label name, in the order of the columns; others are left out.
        file, names : Path, str
            The files of the rows and of the class names.

        Returns
        -------
        (N, L) int8 csr_array
            +1 present, -1 absent, not stored unknown.
        """
        column = {label: c for c, label in enumerate(classes)}
        columns = np.array([column.get(label, -1) for label in self.labels], np.int32)[self.columns]
        used = slice(None) if len(columns) == 0 or columns.min() >= 0 else columns >= 0
        shape = len(self.images), len(column)
        places = self.rows[used], columns[used]
        votes = csr_array((self.states[used].astype(np.int32), places), shape=shape)
        votes.sum_duplicates()
        ties, strange = np.count_nonzero(votes.data == 0), len(columns) - len(columns[used])
        codes = csr_array((np.sign(votes.data).astype(np.int8), votes.indices, votes.indptr), shape)
        codes.eliminate_zeros()
        base.note_classes_of(file, [*classes.values()], csr_array(codes > 0))
        notes = {
            "pairs of image and class are verified as present as often as absent; they stay "
            "unknown": ties,
            f"of {len(self.rows):,} labels are of classes that are not in {names}; they are left "
            "out": strange,
        }
        for note, number in notes.items():
            if number:
                warnings.warn(f"{file}: {number:,} {note}", stacklevel=3)
        return codes


def read_rows(path: Path) -> Rows:
    """Read a label file. Raises BadInput, also for machine-generated labels."""
    table = tables.read_table(path)
    image, label, confidence = (
        table.column((name,), name) for name in ("ImageID", "LabelName", "Confidence")
    )
    image.note_shortened()
    if "" in image.texts or "" in label.texts:
        raise BadInput("an ImageID or a LabelName is empty; fill it or leave the row out")
    values = confidence.numbers()
    if not np.isin(values, [0, 1]).all():
        raise BadInput(
            f"Confidence is {', '.join(confidence.texts)[:40]}, not 1 (present) or 0 (absent); "
            "give the file of human-verified labels, not of machine-generated ones"
        )
    return Rows(
        base.ids_of(image.texts), tuple(label.texts), image.codes, label.codes,
        np.where(values == 1, 1, -1).astype(np.int8),
    )  # fmt: skip


def read_names(path: AnyPath) -> dict[str, str]:
    """The class name of each MID, in the order of a file such as oidv7-class-descriptions.csv.

    The name of a class is its display name, or "Name (/m/0abc)" where several classes share one. A
    header is optional, and a file of MIDs alone is accepted. Raises BadInput.
    """
    with reading(path, _NAMES) as file:
        rows = tables.text_rows(file)
        if rows and rows[0][0].strip().lower() in _HEADERS:
            rows = rows[1:]
        times = Counter(row[0] for row in rows)
        odd = [row for row in rows if not row[0] or len(row) > 2 or times[row[0]] > 1]
        if odd or not rows:
            what = f"has the row {str(odd[0])[:60]}" if odd else "names no class"
            raise BadInput(f"it {what}; give one row MID,display name per class")
        shown = {row[0]: row[-1] or row[0] for row in rows}
        often = Counter(shown.values())
        return {mid: name if often[name] == 1 else f"{name} ({mid})" for mid, name in shown.items()}
