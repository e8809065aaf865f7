"""Interfaces of methods: the task, its batches, the model's outputs, and the method's needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import PartialLabels

A = TypeVar("A")


@dataclass(frozen=True)
class Sizes:
    """Number of images and classes, sufficient to start a method that needs no labels.

    Parameters
    ----------
    images, classes
        N and L.
    width
        D of the pooled features, for methods that read them.
    map_side
        Height or width of the class maps, whichever is larger; None if unknown.
    """

    images: int
    classes: int
    width: int | None = None
    map_side: int | None = None


@dataclass(frozen=True, eq=False)
class Task:
    """A training task: partial labels, an input for each of their images, and side information.

    Parameters
    ----------
    labels
        PartialLabels, of which only asked images are used, or an (N, L) array, scipy matrix or
        tensor (also sparse) of +1 present, -1 absent, 0 unknown, of which all rows are. There is no
        field for ground truth.
    inputs
        FeatureInputs or ImageInputs with a row for each image of the labels.
    aids
        Side information, such as a ClassPrior: at most one value of a kind.
    map_side
        Side of the class maps of a backbone; known as soon as one is trained.
    """

    labels: PartialLabels
    inputs: Any = None
    aids: tuple[Any, ...] = ()
    map_side: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.labels, PartialLabels):
            # A task takes codes, so 0 is unknown: a history says that this is no question.
            labels = PartialLabels.of(self.labels, history=History("given"))
            object.__setattr__(self, "labels", labels.over_all_images())
        N = self.labels.shape[0]
        if self.inputs is not None and not hasattr(type(self.inputs), "batch"):
            raise BadInput(
                f"the inputs are a {type(self.inputs).__name__}, and batches are read by row; give "
                "FeatureInputs(features), or ImageInputs(images) for a backbone"
            )
        if self.inputs is not None and len(self.inputs) != N:
            raise BadInput(
                f"the inputs hold {len(self.inputs)} images and the labels {N}; "
                "give one input for each image of the labels, in the same order"
            )
        object.__setattr__(self, "aids", tuple(self.aids))

    @property
    def sizes(self) -> Sizes:
        """Number of images and classes of the labels, and the sizes of the features."""
        shape = getattr(getattr(self.inputs, "values", None), "shape", ())
        return Sizes(
            *self.labels.shape,
            width=getattr(self.inputs, "width", None),
            map_side=max(shape[2:], default=self.map_side),
        )

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the asked images, which are used in training."""
        return np.flatnonzero(self.labels.asked)

    def with_aids(self, *aids: Any) -> Task:
        """The same task with this side information added; a new value replaces one of its kind."""
        kept = tuple(old for old in self.aids if type(old) not in {type(aid) for aid in aids})
        return replace(self, aids=(*kept, *aids))

    def aid(self, kind: type[A]) -> A:
        """The side information of this kind. Raises BadInput if the task has none."""
        check_aids("this", (kind,), self.aids)
        return next(aid for aid in self.aids if isinstance(aid, kind))


@dataclass(frozen=True, eq=False)
class Batch:
    """The images of one step.

    Parameters
    ----------
    index
        (b,) int64 rows of the task.
    labels
        (..., b, L) int8.
    boxes
        (b, 4) float crops as shares of the image (y0, x0, y1, x1), or None.
    flips
        (b,) bool, mirrored left to right, or None.
    share
        Share of the images of an optimiser step, below 1 for gradients accumulated over several
        batches.
    """

    index: Tensor
    labels: Tensor
    boxes: Tensor | None = None
    flips: Tensor | None = None
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class Outputs:
    """The model's outputs for a batch.

    Parameters
    ----------
    logits
        (..., b, L), the means of the class maps.
    maps
        (..., b, L, h, w) or None.
    features
        (b, D), pooled, or None.
    """

    logits: Tensor
    maps: Tensor | None = None
    features: Tensor | None = None

    def detached(self) -> Outputs:
        """The same without gradients."""
        return Outputs(*(None if x is None else x.detach() for x in vars(self).values()))

    def of_run(self, run: int) -> Outputs:
        """The outputs of one run."""
        maps = None if self.maps is None else self.maps[run]
        return Outputs(self.logits[run], maps, self.features)


@dataclass(frozen=True)
class Needs:
    """The needs of a method; `a | b` joins two.

    Parameters
    ----------
    maps
        Outputs.maps in every step.
    views
        Batch.boxes and Batch.flips.
    features
        Outputs.features in every step, and their width at the start.
    epoch_scores
        Logits of all images at the end of every epoch.
    labels
        The whole label matrix at the start.
    aids
        Kinds of side information.
    neighbours
        Number of neighbours of each image.
    """

    maps: bool = False
    views: bool = False
    features: bool = False
    epoch_scores: bool = False
    labels: bool = False
    aids: tuple[type[Any], ...] = ()
    neighbours: int = 0

    def __or__(self, other: Needs) -> Needs:
        joined = {
            field.name: getattr(self, field.name) or getattr(other, field.name)
            for field in fields(self)
        }
        joined["aids"] = tuple(dict.fromkeys((*self.aids, *other.aids)))
        joined["neighbours"] = max(self.neighbours, other.neighbours)
        return Needs(**joined)


def check_aids(method: str, needed: Iterable[type], aids: tuple[Any, ...]) -> None:
    """Raise BadInput with the first kind that `method` needs and `aids` lacks."""
    for kind in needed:
        if any(isinstance(aid, kind) for aid in aids):
            continue
        raise BadInput(
            f"method {method!r} needs {kind.__name__}, which this task does not carry; "
            "`prepare(task, method)` builds it, or pass one with task.with_aids(...)"
        )
