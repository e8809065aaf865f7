"""Where the distances of soft exposure come from: aids that fit the labels, ready to be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.embed import temperature_steps as steps
from simkit.embed import temperatures as soft
from simkit.embed.neighbours import Neighbours
from simkit.embed.temperatures import Floats
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.methods.task import Batch, Sizes, Task

_WORDS = {"LabelMedians": "label medians", "LabelMeans": "label means", "Neighbours": "neighbours"}


@dataclass(frozen=True)
class Sources:
    """What d+ and d- are read from: labels (N, L), distances of classes, neighbours."""

    labels: PartialLabels
    nearest: soft.Nearest
    between: Floats | None  # (L, L)
    index: NDArray[np.int32] | None  # (N, k)
    away: Floats | None  # (N, k)

    def by_labels(self, rows: NDArray[np.int64]) -> Tensor | None:
        """(2, b, L) d+ and d- to the known classes of these images, inf where undefined."""
        if self.between is None:
            return None
        codes = self.labels.codes[rows]
        return torch.from_numpy(soft.from_labels(codes, self.between, self.nearest))

    def by_images(self, rows: NDArray[np.int64]) -> Tensor | None:
        """(2, b, L) d+ and d- to the neighbours of these images, inf where undefined."""
        if self.index is None or self.away is None:
            return None
        near, away = self.index[rows], self.away[rows]
        return torch.from_numpy(soft.from_images(self.labels.codes, near, away, self.nearest))

    def tensors(self, k: int | None) -> dict[str, Tensor]:
        """The same for `of_batch`: `between`; `known`, `index` and `away` for k neighbours."""
        found = {}
        if self.between is not None:
            found["between"] = torch.from_numpy(self.between)
        if self.index is not None and self.away is not None and k is not None:
            missing = ((0, 0), (0, k - self.index.shape[1]))  # there may be fewer other images
            index = np.pad(self.index, missing, constant_values=-1)
            away = np.pad(self.away, missing)
            found["known"] = steps.packed(self.labels.codes)
            found["index"] = torch.from_numpy(np.maximum(index, 0))
            found["away"] = torch.from_numpy(np.where(index < 0, np.inf, away))
        return found


def bytes_of(sizes: Sizes, *, k: int | None, labels: bool) -> int:
    """What `Sources.tensors` take, with k neighbours or none, and with labels or without."""
    images = 0 if k is None else sizes.images * (steps.width(sizes.classes) + k * (4 + 8))
    return images + labels * 8 * sizes.classes**2


def of_batch(
    state: nn.Module, batch: Batch, nearest: soft.Nearest
) -> tuple[Tensor | None, Tensor | None]:
    """(2, ..., b, L) d+ and d- by labels and by images, from a state that holds the tensors."""
    labels = images = None
    if hasattr(state, "between"):
        labels = steps.by_labels(batch.labels, state.between, nearest)
    if hasattr(state, "index"):
        near, away = (t.index_select(-2, batch.index) for t in (state.index, state.away))
        images = steps.by_images(state.known, near.long(), away, nearest)
        images = images[..., : batch.labels.shape[-1]]
    return labels, images


def between(method: str, task: Task, kind: type[Any], distance: soft.Distance) -> Floats:
    """(L, L) distances between classes by the aid of this kind. Raises BadInput for another's."""
    aid = task.aid(kind)
    if not aid.fits(task):
        raise BadInput(_of_others(method, kind))
    return soft.label_distances(aid.psi, distance)


def neighbours(
    method: str, task: Task, k: int, distance: soft.Distance
) -> tuple[NDArray[np.int32], Floats]:
    """(N, k) neighbours and distances to them. Raises BadInput where they do not fit."""
    aid, others = task.aid(Neighbours), len(task.rows) - 1
    if not aid.fits(task):
        raise BadInput(_of_others(method, Neighbours))
    if k > aid.index.shape[1] < others:
        raise BadInput(
            f"{method}: k is {k}, and the neighbours of this task are "
            f"{aid.index.shape[1]} for each image; give it more with "
            f"task.with_aids(Neighbours.build(task, k={k}))"
        )
    away = aid.distance if distance == "euclidean" else aid.cosine
    return aid.index[:, :k], away[:, :k]


def _of_others(method: str, kind: type[Any]) -> str:
    return (
        f"method {method!r} got {_WORDS[kind.__name__]} of other labels or features than these; "
        f"build them of this task with {kind.__name__}.build(task)"
    )
