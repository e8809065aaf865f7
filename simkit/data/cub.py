"""CUB-200-2011: 312 attributes of birds, as the single-positive papers use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from simkit.data.dataset import Dataset, Terms, register
from simkit.data.lists import different, inner, lines
from simkit.data.splits import Part, Unknown, assemble, divided, with_pictures
from simkit.errors import BadInput
from simkit.files import reading
from simkit.labels.formats.base import check_memory, text_ids
from simkit.labels.truth import Truth
from simkit.registry import Range, setting, settle

_IMAGES = "images of CUB (lines of a number and a file name)"
_SPLIT = "the split of CUB (lines of an image number and 0 or 1)"
_ATTRIBUTES = "names of attributes (lines of a number and a name)"
_LABELS = "attributes of images (lines of image, attribute, presence, certainty and seconds)"


@register
class Cub:
    """CUB-200-2011 with its 312 attributes as classes; image files if the folder images exists.

    root: the folder CUB_200_2011, or its parent. attributes.txt may be in attributes/, in the
    folder itself, or in its parent, as in the archive. Images keep the order and the names of
    images.txt; the published split takes a fifth of the training images for validation.
    certain: the least certainty of an answer that counts (1 not visible, 2 guessing, 3 probably,
    4 definitely); less certain answers are unknown. 1, the default, counts all answers, as the
    published preprocessing does.
    unknown: the label of less certain answers: unknown ("keep"), absent ("absent"), or absent in
    the training set only ("absent-in-train"); a simulated crowd needs a complete training set.
    Source: Wah et al., The Caltech-UCSD Birds-200-2011 Dataset, 2011, with the README of its
    archive; the attributes as classes: Cole et al., CVPR 2021.
    """

    name: ClassVar[str] = "cub"
    title: ClassVar[str] = "CUB-200-2011, 312 attributes of birds"
    example: ClassVar[str] = "cub:CUB_200_2011"
    terms: ClassVar[Terms] = Terms(
        "Caltech-UCSD Birds-200-2011",
        note="no licence is stated; the photographs belong to their authors",
        page="https://www.vision.caltech.edu/datasets/cub_200_2011/",
        cite="C. Wah and others: The Caltech-UCSD Birds-200-2011 Dataset, CNS-TR-2011-001, 2011",
    )
    paths: ClassVar[tuple[str, ...]] = ("root", "hierarchy")

    root: str = setting(..., "the folder CUB_200_2011, or its parent")
    certain: Annotated[int, Range(1, 4)] = setting(
        1, "least certainty of answers that count: 1 (all) to 4"
    )
    unknown: Unknown = setting("keep", "keep uncertain answers unknown, or assume them absent")
    hierarchy: str = setting("", "a JSON file or the name of a shipped one")

    def __post_init__(self) -> None:
        settle(self)

    def open(self) -> Dataset:
        """Read labels; image files are decoded on use. Raises BadInput."""
        import pandas as pd  # every command loads this module, and hardly any needs pandas

        place = inner(self.root, "the folder CUB_200_2011", "images.txt", "CUB_200_2011")
        numbers, files = _names(place / "images.txt", _IMAGES)
        path = place / "train_test_split.txt"
        numbered, sides = _names(path, _SPLIT, unique=False)
        marks = pd.Series(sides, numbered).reindex(numbers, fill_value="nothing")
        if not marks.isin(["0", "1"]).all() or not (marks == "1").any():
            odd = ", ".join(sorted(set(marks)))[:80]
            raise BadInput(f"{path}: images are marked {odd}; 1 (training) or 0 is expected")
        folders = [place / "attributes", place, place.resolve().parent]
        usual = [each / "attributes.txt" for each in folders]
        path = next((path for path in usual if path.is_file()), usual[0])
        attributes, classes = _names(path, _ATTRIBUTES)
        present, known = _answers(place, numbers, attributes, self.certain)
        truth = Truth.of(present & known, text_ids(files), classes, None if known.all() else known)
        folder = place / "images" if (place / "images").is_dir() else ""
        whole = with_pictures(Part(truth), folder, files, drop_missing=None)
        parts = divided(whole, np.where(marks == "1", "train", "test"), self.unknown)
        return assemble(self.name, parts, self)


def _names(path: Path, what: str, *, unique: bool = True) -> tuple[NDArray[np.int64], list[str]]:
    """Lines of a number and a text: the numbers (n,), unique, and the texts."""
    with reading(path, what):
        rows = [line.split(maxsplit=1) for line in lines(path, what)]
        numbers = different([str(int(number)) for number, _ in rows])
        texts = [text for _, text in rows]
        return np.array(numbers, np.int64), different(texts) if unique else texts


def _answers(
    place: Path, images: NDArray[np.int64], attributes: NDArray[np.int64], certain: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(N, L) bool each: attributes marked as present, and answers that are certain enough."""
    import pandas as pd

    path = place / "attributes" / "image_attribute_labels.txt"
    with reading(path, _LABELS) as file:
        check_memory(4 * len(images) * len(attributes), file, "the table of answers")
        # Some lines of the release have more than five columns; the first four are regular.
        columns = (0, 1, 2, 3)
        with file.open(encoding="utf-8") as stream:
            table = np.loadtxt(stream, np.int32, comments=None, usecols=columns, ndmin=2)
    image, attribute, seen, sure = table.T
    rows = pd.Index(images).get_indexer(pd.Index(image))
    columns = pd.Index(attributes).get_indexer(pd.Index(attribute))
    for what, column, good in (
        ("image", image, rows >= 0),
        ("attribute", attribute, columns >= 0),
        ("presence", seen, (seen == 0) | (seen == 1)),
        ("certainty", sure, (sure >= 0) & (sure <= 4)),
    ):
        if not good.all():
            line = int(np.argmin(good))
            odd = f"{what} is {column[line]} in line {line + 1}"
            raise BadInput(f"{path}: {odd}, which is not a valid value; download it again")
    present, known = (np.zeros((len(images), len(attributes)), bool) for _ in range(2))
    known[rows, columns] = True
    if np.count_nonzero(known) != len(rows):
        raise BadInput(f"{path}: an image and an attribute have two lines; keep one")
    present[rows, columns] = seen == 1
    # A certainty of 0 is undocumented; it counts as the lowest.
    known[rows, columns] = np.maximum(sure, 1) >= certain
    return present, known
