"""A data set: truth for each split, and the pictures where there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy, close
from simkit.labels.truth import Truth
from simkit.registry import Registry, build

SPLITS = ("train", "val", "test")


class Pictures(Protocol):
    """The pictures of one split, decoded when they are read."""

    @property
    def id(self) -> str:
        """Names the content: equal ids, equal pixels."""
        ...

    def __len__(self) -> int: ...

    def read(self, index: Sequence[int] | NDArray[np.integer]) -> list[NDArray[np.uint8]]:
        """One (H, W, 3) uint8 RGB array for each of `index`."""
        ...


@dataclass(frozen=True, eq=False)
class Boxes:
    """Objects with their places: box i shows class `classes[i]` in image `images[i]` (both indices).

    corners (n, 4) float32: x0, y0, x1, y1 in pixels, half open.
    """

    images: NDArray[np.int64]
    classes: NDArray[np.int64]
    corners: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Truth and, where known, pictures, boxes and difficult objects for each split.

    hierarchy: when given, every truth is closed under it (ancestors are present with their
    descendants) and `leaves` are the classes without children; otherwise all classes are leaves.
    difficult: (N, L) bool, present only as a "difficult" object; left out of metrics.
    spec: the text that opens this data set again.
    """

    name: str
    truth: Mapping[str, Truth]
    pictures: Mapping[str, Pictures] = field(default_factory=dict)
    boxes: Mapping[str, Boxes] = field(default_factory=dict)
    difficult: Mapping[str, csr_array] = field(default_factory=dict)
    hierarchy: Hierarchy | None = None
    spec: str = ""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the L classes, the same in every split."""
        return self.truth["train"].classes

    @property
    def leaves(self) -> NDArray[np.int64]:
        """Indices of the classes that have no child."""
        if self.hierarchy is None:
            return np.arange(len(self.classes))
        return self.hierarchy.leaves

    def closed_under(self, hierarchy: Hierarchy) -> Dataset:
        """The same data over all classes of the hierarchy, ancestors present with descendants.

        Boxes and difficult objects keep their classes. Raises BadInput where a class is missing.
        """
        index = {name: c for c, name in enumerate(hierarchy.classes)}
        truth = {split: close(part, hierarchy) for split, part in self.truth.items()}
        own = np.array([index[name] for name in self.classes])
        boxes = {
            split: Boxes(part.images, own[part.classes], part.corners)
            for split, part in self.boxes.items()
        }
        difficult = {split: _moved(part, own, hierarchy) for split, part in self.difficult.items()}
        return replace(self, truth=truth, boxes=boxes, difficult=difficult, hierarchy=hierarchy)


def _moved(matrix: csr_array, own: NDArray[np.int64], hierarchy: Hierarchy) -> csr_array:
    """The matrix with its columns at the places `own` among the hierarchy's classes."""
    shape = (matrix.shape[0], len(hierarchy.classes))
    return csr_array((matrix.data, own[matrix.indices], matrix.indptr), shape=shape)


class Source(Protocol):
    """A kind of data set: a frozen dataclass whose fields are what its text may set."""

    name: ClassVar[str]
    title: ClassVar[str]
    example: ClassVar[str]

    def open(self) -> Dataset: ...


sources: Registry[Source] = Registry("data set", "simkit.data")
register = sources.register


def open(spec: str) -> Dataset:
    """Open a data set from its text: `name`, `name:MAIN` or `name:MAIN,key=value,...`.

    MAIN sets the first field of the source. Raises BadInput for an unknown name or key, and for
    files that cannot be read.
    """
    name, _, rest = spec.partition(":")
    source = sources[name.strip()]
    keys = list(getattr(source, "__dataclass_fields__", {}))
    settings: dict[str, Any] = {}
    for place, part in enumerate(rest.split(",") if rest else []):
        key, equals, value = part.partition("=")
        if not equals or key not in keys:
            if place > 0 or not keys:
                raise BadInput(f"{part!r} in {spec!r} is not key=value; keys are {', '.join(keys)}")
            key, value = keys[0], part
        settings[key] = value
    return build(source, settings, "data set").open()  # type: ignore[arg-type]
