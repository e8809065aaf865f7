"""Partial labels: the one representation of labels in all of simkit."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse

from simkit.errors import BadInput
from simkit.files import AnyPath
from simkit.history import History, content_id
from simkit.labels import coding
from simkit.labels.cells import BOTH, Minus
from simkit.labels.coding import is_frame, of_tensor, presence
from simkit.labels.effort import Effort
from simkit.labels.truth import (
    Truth,
    axes,
    frame_classes,
    locked,
    matrix_of,
    note_names,
    places,
    sealed,
)
from simkit.registry import Registry

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PRESENT, ABSENT, UNKNOWN = 1, -1, 0
formats: Registry[Any] = Registry("format", "simkit.labels.formats")  # imported at first use


@dataclass(frozen=True, eq=False)
class PartialLabels:
    """Partial labels: +1 present, -1 absent or 0 unknown for every image and class.

    All arrays are read-only, also after pickling and copying.

    Attributes
    ----------
    codes
        (N, L) int8 CSR, sorted: +1 and -1 are stored, other entries are unknown.
    asked
        (N,) bool: images with at least one question; only these are used in training.
    images
        (N,) ids, int64 or text.
    classes
        L names.
    effort
        The number of questions of each kind.
    history
        Command, settings and seed that made the labels.
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
        """Partial labels from a matrix of +1, -1 and 0, checked.

        Parameters
        ----------
        codes : (N, L) array, tensor or scipy sparse matrix
            +1 present, -1 absent, 0 or not stored unknown.
        images : (N,) int or str, optional
            Ids; 0 to N - 1 by default.
        classes : sequence of str, optional
            L names; class-0, class-1 ... by default.
        asked : (N,) bool, optional
            Images with at least one question; images with a label always count as asked.
        effort, history : Effort, History, optional
            The questions asked, and how the labels were made.

        Returns
        -------
        PartialLabels

        Raises
        ------
        BadInput
            For other codes, for duplicate entries, ids or names, and for sizes that do not fit.

        Warns
        -----
        UserWarning
            For an array of only 1 and 0, in which 0 may mean absent.
        """
        numbers = _codes(codes, quiet=history is not None)
        matrix = csr_array(numbers.astype(np.int8))
        matrix.sum_duplicates()
        N, L = matrix.shape
        ids, names = axes(images, classes, (N, L))
        if matrix.nnz != numbers.nnz:
            rows, columns = (axis.astype(np.int64) for axis in coo_array(numbers).coords)
            pairs = np.sort(rows * L + columns)
            row, column = divmod(int(pairs[:-1][pairs[1:] == pairs[:-1]][0]), L)
            pair = f"image {ids[row]} and class {names[column]!r}"
            raise BadInput(f"{pair} have two labels; keep one")
        matrix.eliminate_zeros()
        labelled = np.diff(matrix.indptr) > 0
        marked = labelled if asked is None else np.asarray(asked, bool)
        if marked.shape != (N,):
            raise BadInput(f"asked has shape {marked.shape}; ({N},) is expected")
        effort, history = effort or Effort(), history or History("given")
        return PartialLabels(sealed(matrix), sealed(marked | labelled), ids, names, effort, history)

    @staticmethod
    def from_pandas(
        frame: pd.DataFrame, classes: Any = None, images: Any = None, *, minus: Minus = ""
    ) -> PartialLabels:
        """Partial labels from a long table with one row per label, or from a wide one.

        Parameters
        ----------
        frame : pandas.DataFrame
            Long: columns image (or image_id), class and state; others are ignored. Wide: a row for
            each image, named by the index, and a column for each class. Labels are 1 or True
            (present), 0 or False (absent), and nan, None or pandas.NA (unknown).
        classes : sequence of str, optional
            L names in order; by default the categories of the column, or else the names in the
            order of their first rows.
        images : (N,) int or str, optional
            Ids of all asked images, including those without a label; by default the ids in the
            order of their first rows.
        minus : {"", "absent", "unknown"}
            Meaning of -1. In a long table it is absent, as in `to_pandas`, and with 0 beside it
            must be stated. In a wide frame that also has 0 it is unknown, with a warning, and
            otherwise must be stated.

        Returns
        -------
        PartialLabels

        Raises
        ------
        BadInput
            If a column is missing, a row names another image or class, two rows have the same
            image and class, a label has another value, or the meaning of -1 is unclear.
        """
        import pandas as pd

        table = frame.rename(columns={"image_id": "image"})
        if not {"class", "state"} & {*table.columns}:
            return _of_wide(frame, classes, images, minus)
        missing = {"image", "class", "state"}.difference(table.columns)
        if missing:
            raise BadInput(f"a column {min(missing)!r} is missing; give image, class and state")
        kind = table["class"].dtype
        if classes is None:
            categorical = isinstance(kind, pd.CategoricalDtype)
            classes = kind.categories if categorical else table["class"].unique()
        listed = np.asarray(table["image"].unique() if images is None else images)
        ids, names = axes(listed, classes, (len(listed), len(classes)))
        rows, columns = (
            pd.Index(values).get_indexer(np.asarray(table[key]))
            for key, values in (("image", ids), ("class", names))
        )
        odd = np.flatnonzero((rows < 0) | (columns < 0))
        if len(odd):
            image, name = (table[key].iloc[odd[0]] for key in ("image", "class"))
            shown = repr(image) if isinstance(image, str) else str(image)
            raise BadInput(
                f"row {odd[0]} is about image {shown} and class {name!r}, and one of them is not "
                "among the given images and classes; add it or remove the row; 7 and '7' differ"
            )
        note_names(listed, classes)
        states = coding.states(np.asarray(table["state"])[:, None], "state")[:, 0]
        if not minus and (states == 0).any() and (states == -1).any():
            raise BadInput(f'{BOTH}; add minus="unknown" if 0 means absent')
        states = coding.decided(states, minus or "absent")
        known = states >= 0
        if not known.all():
            warnings.warn(
                f"rows left out because their state is unknown: {(~known).sum():,} of "
                f"{len(known):,}",
                stacklevel=2,
            )
        signs = np.where(states == 1, PRESENT, ABSENT)[known]
        codes = coo_array((signs, (rows[known], columns[known])), shape=(len(ids), len(names)))
        asked = None if images is None else np.ones(len(ids), bool)
        return PartialLabels.of(codes, ids, names, asked)

    def to_arrow(self) -> pa.Table:
        """A long table with one row per label.

        Returns
        -------
        pyarrow.Table
            image (int64 or text), class (dictionary of all classes) and state (int8, +1 or -1), in
            the order of images and classes. Asked images without a label have no row.
        """
        import pyarrow as pa

        images = pa.array(np.repeat(self.images, np.diff(self.codes.indptr)))
        columns = pa.array(self.codes.indices.astype(np.int32))
        named = pa.DictionaryArray.from_arrays(columns, pa.array(self.classes, pa.string()))
        return pa.table({"image": images, "class": named, "state": self.codes.data})

    def to_pandas(self) -> pd.DataFrame:
        """The table of `to_arrow` as a data frame; the class column is categorical."""
        return self.to_arrow().to_pandas()

    def _repr_html_(self) -> str:
        """A summary for notebooks."""
        import pandas as pd

        asked = ", ".join(f"{self.effort.count(kind):,} {kind}" for kind in self.effort.kinds())
        rows = {
            "images": f"{self.shape[0]:,}, {int(self.asked.sum()):,} of them asked",
            "classes": f"{self.shape[1]:,}",
            **{state: f"{number:,}" for state, number in self.counts().items()},
            "questions": asked or "not recorded",
            "scheme": self.history.settings.get("scheme", self.history.command),
        }
        table = pd.Series(rows, name="").to_frame().to_html(border=0, header=False)
        return f"<p>PartialLabels {self.id}</p>{table}"

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
        """The number of present, absent and unknown entries."""
        present = int(np.count_nonzero(self.codes.data == PRESENT))
        absent = int(self.codes.nnz) - present
        N, L = self.shape
        return {"present": present, "absent": absent, "unknown": N * L - present - absent}

    def wrong(self, truth: Truth) -> dict[str, int]:
        """The number of wrong labels, given a complete `truth`: false present, false absent."""
        self.check_about(truth)
        labels = csr_array(self.codes.multiply(truth.present)).data  # of present entries
        right = int(np.count_nonzero(labels == PRESENT))
        denied = int(np.count_nonzero(labels == ABSENT))
        return {"present": self.counts()["present"] - right, "absent": denied}

    def per_class(self, code: int) -> NDArray[np.int64]:
        """(L,) the number of images in which each class has this code (+1 or -1)."""
        return np.bincount(self.codes.indices[self.codes.data == code], minlength=self.shape[1])

    def check_about(self, truth: Truth, where: str = "these labels") -> None:
        """Raise BadInput, naming the labels `where`, unless they belong to this truth.

        Images and classes must be the same, in the same order, and simulated labels must have been
        made from this truth.
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
        here, expected = (f"{N} images x {L} classes" for N, L in (self.shape, truth.shape))
        raise BadInput(
            f"{where} ({here}) are labels of another data set than the one given ({expected}): "
            f"{detail}; give the data set they were made from"
        )

    def of_images(self, images: NDArray[Any]) -> PartialLabels:
        """The labels of `images`, a subset of `self.images`, in the order of `images`."""
        index = places(self.images, images)
        assert np.array_equal(self.images[index], images)
        return replace(
            self,
            codes=sealed(csr_array(self.codes[index])),
            asked=sealed(self.asked[index]),
            images=locked(images),
        )

    def over_all_images(self) -> PartialLabels:
        """The same labels with every image marked as asked; added images have unknown labels."""
        return replace(self, asked=locked(np.ones(len(self.asked), bool)))

    def save(self, path: AnyPath) -> None:
        """Write parquet: a long table image_id, class, state; all else is in its metadata.

        Raises BadInput for a path with the ending of another format.
        """
        parquet, ending = formats.make("parquet"), Path(path).suffix.lower()
        if ending not in parquet.suffixes and any(ending in each.suffixes for each in formats):
            raise BadInput(
                f"{path}: save writes parquet; for {ending} use "
                "simkit.formats.for_path(path, writing=True).write(labels, path)"
            )
        parquet.write(self, path)

    @staticmethod
    def load(path: AnyPath) -> PartialLabels:
        """Read a file of `save`, or any long table with its three columns. Raises BadInput."""
        labels: PartialLabels = formats.make("parquet").read(path)
        return labels

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        sealed(tuple(state.values()))


_CODED = "+1 (present), -1 (absent) and 0 (unknown)"


def _codes(codes: Any, *, quiet: bool) -> Any:
    """The codes as a sparse matrix. Raises BadInput for other codings, and warns if one is likely.

    quiet: no warning, because this package made the codes.
    """
    if is_frame(codes):
        named = frame_classes(codes) == tuple(codes.columns)
        names = ", frame.index and frame.columns" if named else " and frame.index"
        raise BadInput(
            "labels are a frame; PartialLabels.from_pandas(frame) reads 1 (present), 0 (absent) "
            f"and nan (unknown); for the codes {_CODED}, pass frame.to_numpy(){names}"
        )
    codes = of_tensor(codes)
    numbers = matrix_of(codes)
    if numbers.dtype == bool:
        raise BadInput(
            f"labels are bool; {_CODED} are expected: pass numpy.where(labels, 1, -1) if False is "
            "absent, or labels.astype(int) if it is unknown"
        )
    odd = numbers.data[~np.isin(numbers.data, (-1, 0, 1))]
    if len(odd):
        mend = "recode them first"
        if np.isnan(odd[0]):
            mend = (
                "pass numpy.nan_to_num(labels) if -1 is absent, or a frame of 1, 0 and nan to "
                "PartialLabels.from_pandas"
            )
        raise BadInput(f"labels hold {odd[0]}; the values {_CODED} are expected; {mend}")
    zeros = math.prod(numbers.shape) - numbers.nnz
    if not quiet and not issparse(codes) and 0 < numbers.nnz == numbers.sum() and zeros:
        warnings.warn(
            f"labels have 1 and 0 but no -1; zeros read as unknown: {zeros:,}; if they are absent, "
            "pass numpy.where(labels == 1, 1, -1)",
            stacklevel=3,
        )
    return numbers


def _of_wide(frame: pd.DataFrame, classes: Any, images: Any, minus: Minus) -> PartialLabels:
    """Labels of a frame with a row for each image and a column for each class."""
    if classes is not None or images is not None:
        raise BadInput(
            "a frame with a column for each class names its classes and images itself; leave "
            "classes and images out, or name the columns of a long table image, class and state"
        )
    try:
        states = presence(frame, minus)
    except BadInput as error:
        long = "the columns of a table with one row per label are image, class and state"
        raise BadInput(f"{error}; {long}") from None
    states = states.toarray() if issparse(states) else states
    note_names(frame.index, frame.columns)
    codes = csr_array((states == 1).astype(np.int8) - (states == 0))
    return PartialLabels.of(codes, frame.index.to_numpy(), frame_classes(frame))
