"""Partial labels: the only form in which labels travel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.history import History, content_id
from simkit.labels.effort import Effort
from simkit.labels.truth import (
    Truth,
    check_axes,
    class_names,
    frozen,
    image_ids,
    locked,
    matrix_of,
    places,
    sealed,
)

PRESENT, ABSENT, UNKNOWN = 1, -1, 0


@dataclass(frozen=True, eq=False)
class PartialLabels:
    """What is known of every image: +1 present, -1 absent, 0 unknown.

    codes (N, L) int8 CSR, sorted: +1 and -1 are stored, what is not stored is unknown.
    asked (N,) bool: images about which at least one question was asked; only they enter training.
    images (N,) ids, int64 or text;  classes: L names;
    effort: what was asked;  history: how it came about.
    All arrays are read-only, also after pickling and copying.
    """

    codes: csr_array
    asked: NDArray[np.bool_]
    images: NDArray[Any]
    classes: tuple[str, ...]
    effort: Effort = field(default_factory=Effort)
    history: History = field(default_factory=lambda: History("given"))

    def __repr__(self) -> str:
        (N, L), counts = self.shape, self.counts()
        return (
            f"<PartialLabels {self.id}: {N:,} images, {int(self.asked.sum()):,} of them asked, "
            f"{L:,} classes, {counts['present']:,} present, {counts['absent']:,} absent>"
        )

    @staticmethod
    def of(
        codes: Any,
        images: Any = None,
        classes: Any = None,
        asked: Any = None,
        *,
        effort: Effort | None = None,
        history: History | None = None,
    ) -> PartialLabels:
        """From a dense or sparse matrix (N, L) of +1, -1 and 0, checked.

        `asked` defaults to the images that carry a label. Raises BadInput for other codes, for
        duplicate entries, ids or names, and for sizes that do not fit.
        """
        given = matrix_of(codes)
        if not np.isin(given.data, (-1, 0, 1)).all():
            raise BadInput("labels hold other values than +1, -1 and 0; translate them first")
        matrix = csr_array(given.astype(np.int8))
        matrix.sum_duplicates()
        if matrix.nnz != given.nnz:
            raise BadInput("the labels name a class twice in one image; keep one of them")
        matrix.eliminate_zeros()
        N, L = matrix.shape
        ids = image_ids(np.arange(N) if images is None else images)
        names = class_names(classes, L)
        check_axes(ids, names, (N, L))
        known = np.diff(matrix.indptr) > 0
        given_asked = known if asked is None else np.asarray(asked, bool)
        if given_asked.shape != (N,):
            raise BadInput(f"asked has shape {given_asked.shape}; ({N},) is expected")
        marked = given_asked | known
        return PartialLabels(
            frozen(matrix),
            locked(marked),
            locked(ids),
            names,
            effort or Effort(),
            history or History("given"),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(N, L)."""
        return self.codes.shape

    @cached_property
    def id(self) -> str:
        """Content id of the labels: codes, asked images, ids and class names."""
        return content_id(
            "partial",
            self.codes.indptr,
            self.codes.indices,
            self.codes.data,
            self.asked,
            self.images,
            json.dumps(self.classes),
        )

    def rows(self, index: Any) -> NDArray[np.int8]:
        """(b, L) int8 for these images."""
        return self.codes[np.asarray(index)].toarray()

    def counts(self) -> dict[str, int]:
        """How many entries are present, absent and unknown."""
        present = int(np.count_nonzero(self.codes.data == PRESENT))
        absent = int(self.codes.nnz) - present
        N, L = self.shape
        return {"present": present, "absent": absent, "unknown": N * L - present - absent}

    def wrong(self, truth: Truth) -> dict[str, int]:
        """How many labels contradict a complete `truth`: called present, called absent."""
        self.check_about(truth)
        there = csr_array(self.codes.multiply(truth.present)).data  # labels of what is present
        right = int(np.count_nonzero(there == PRESENT))
        denied = int(np.count_nonzero(there == ABSENT))
        return {"present": self.counts()["present"] - right, "absent": denied}

    def per_class(self, code: int) -> NDArray[np.int64]:
        """(L,) in how many images each class carries this code (+1 or -1)."""
        return np.bincount(self.codes.indices[self.codes.data == code], minlength=self.shape[1])

    def check_about(self, truth: Truth, where: str = "these labels") -> None:
        """Raise BadInput, naming the labels `where`, unless they are about this truth.

        Images and classes must be the same, in the same order; and where the history says from
        which truth they were simulated, it must be this one.
        """
        if self.classes != truth.classes:
            odd = set(self.classes) ^ set(truth.classes)
            detail = f"class {min(odd)!r} is in one of them only" if odd else "the order differs"
        elif not np.array_equal(self.images, truth.images):
            detail = "the image ids differ"
        elif self.history.command == "simulate" and self.history.parents[:1] != (truth.id,):
            detail = "images and classes have the same names, but the truth behind them differs"
        else:
            return
        own, theirs = (f"{N} images x {L} classes" for N, L in (self.shape, truth.shape))
        raise BadInput(
            f"{where} ({own}) are labels of another data set than the one given ({theirs}): "
            f"{detail}; name the data set they were made from"
        )

    def of_images(self, images: NDArray[Any]) -> PartialLabels:
        """The labels of these image ids, all of them among `self.images`, in their order."""
        index = places(self.images, images)
        assert np.array_equal(self.images[index], images)
        return replace(
            self,
            codes=frozen(csr_array(self.codes[index])),
            asked=locked(self.asked[index]),
            images=locked(images),
        )

    def over_all_images(self) -> PartialLabels:
        """The same labels where every image takes part; those not asked about are unknown."""
        return replace(self, asked=locked(np.ones(len(self.asked), bool)))

    def save(self, path: str | PathLike[str]) -> None:
        """Write parquet: a long table image_id, class, state; the rest in its metadata."""
        from simkit.labels.formats.parquet import Parquet

        Parquet().write(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> PartialLabels:
        """Read what `save` wrote, or any long table with these three columns. Raises BadInput."""
        from simkit.labels.formats.parquet import Parquet

        return Parquet().read(path)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        frozen(self.codes)
        for array in (self.asked, self.images):
            sealed(array)
