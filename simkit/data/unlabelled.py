"""Images of an order, without known labels, and the test images of another data set."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import replace
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from simkit.data.dataset import SPLITS, Dataset, Pictures, open, register
from simkit.data.images import EncodedPictures, FilePictures, with_depths
from simkit.errors import BadInput
from simkit.labels.hierarchy import columns_of
from simkit.labels.truth import Truth
from simkit.registry import setting


@register
class Unlabelled:
    """Images without known labels, to train on the labels of an order; written as a TOML file.

    `simkit receive` writes such a file, `data.toml`, beside the labels. Labels cannot be simulated
    on these images, because their truth is not known.

    images: the text of a data set; its labels, if it has any, are not used.
    split: its split.
    classes: names of the classes of the labels.
    scored: the text of a data set with labels of the same classes, such as a pilot. Its splits val
    and test are used, and their images are not trained on. Without it, models are trained but not
    scored.
    """

    name: ClassVar[str] = "unlabelled"
    title: ClassVar[str] = "Images of an order, with the test images of another data set"
    example: ClassVar[str] = "unlabelled:folder:photos"

    images: str = setting(..., "the text of a data set, whose labels are not used")
    classes: tuple[str, ...] = setting((), "names of the classes")
    split: str = setting("train", "the split of `images` that is labelled")
    scored: str = setting("", "the text of a labelled data set, for its splits val and test")

    def open(self) -> Dataset:
        """Open both data sets. Raises BadInput for missing classes or splits."""
        if not self.classes:
            mend = 'write a TOML file with source = "unlabelled", images and classes'
            raise BadInput(f"unlabelled: classes is empty; {mend}")
        data = open(self.images)
        if self.split not in data.truth:
            raise BadInput(f"{self.images!r} has no split {self.split!r}; correct `split`")
        ids, own = data.truth[self.split].images, data.pictures.get(self.split)
        truth: dict[str, Truth] = {}
        pictures: dict[str, Pictures] = {}
        if self.scored:
            other = open(self.scored)
            columns = columns_of(self.classes, other.classes, f"class of {self.scored!r}")
            for split in SPLITS[1:]:
                if part := other.truth.get(split):
                    known = None if part.known is None else part.known[:, columns]
                    present = part.present[:, columns]
                    truth[split] = Truth.of(present, part.images, self.classes, known)
            pictures = {s: other.pictures[s] for s in SPLITS[1:] if s in other.pictures}
        if isinstance(own, EncodedPictures):
            # A pilot may be from the same images: its scored ones must not be trained on.
            scored = {place for s in pictures for place in _places(pictures[s])}
            kept = np.array([place not in scored for place in _places(own)], bool)
            ids, own = ids[kept], own.select(np.flatnonzero(kept))
        nothing = csr_array((len(ids), len(self.classes)), dtype=bool)
        train = Truth.of(nothing, ids, self.classes, nothing)
        if own is not None:
            pictures = {"train": own, **pictures}
        files = {s: each for s, each in pictures.items() if isinstance(each, EncodedPictures)}
        with warnings.catch_warnings(action="ignore"):  # notes on each were given above
            # The same brightness in all splits, although each data set was measured separately.
            pictures |= with_depths(files)
        return Dataset(data.name, {"train": train, **truth}, pictures, spec=self.images)


def _places(pictures: Pictures) -> list[Hashable]:
    """The identity of each image; empty if the images are drawn."""
    if isinstance(pictures, FilePictures):
        pictures = replace(pictures, folder=pictures.folder.resolve())
    rows = range(len(pictures))
    return [*map(pictures.place, rows)] if isinstance(pictures, EncodedPictures) else []
