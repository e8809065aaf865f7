"""What SE, SE-L and SE-I share: unknown labels as soft targets with temperatures of their own.

Source: Soft Exposure, section 3. No code was published; what the paper leaves open is a field.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.embed import temperatures as soft
from simkit.embed.label_means import LabelMeans
from simkit.embed.medians import LabelMedians
from simkit.embed.neighbours import Neighbours
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.methods.base import Batch, Method, Needs, Outputs, Sizes, Task
from simkit.learn.methods.pieces import exposure_sources as near
from simkit.learn.methods.pieces.exposure_traps import trap
from simkit.learn.methods.pieces.losses import reduce, wide

_ROWS = 4096  # images whose temperatures are computed at a time


@dataclass(frozen=True)
class Exposure(Method):
    """The loss -log sigmoid(x / T) of unknown labels, T > 0 for soft positives, T < 0 for others.

    The state is T (N, L), computed at the start and the same in every epoch; 0 where a label is
    known or ignored, and in images that were not asked. With store="none" it is what T is computed
    from, batch by batch: distances between classes, neighbours and two bits for each label; the
    temperatures are the same to the last digits. Trap of separate maxima: the only unknown label of
    an image has the largest d+ and the largest d-, a tie, and is a hard negative.
    """

    beta: float = 5.0  # |T| is exp(beta) beside something known, and 1 farthest from it
    gamma: float = 0.0  # added to every T
    distance: soft.Distance = "euclidean"  # the paper names none
    nearest: soft.Nearest = "min"  # median5: of the five smallest distances, in its rebuttal
    temperature: soft.Form = "printed"  # inverse: the nearer the harder, as its prose can be read
    maxima: soft.Maxima = "separate"  # d+ and d- are scaled each by its own maximum, or jointly
    pos_weight: float = 1.0  # of known positives; 5 in the paper's FE, unsaid for SE
    # float16 takes a quarter of the memory; beta above 11 goes beyond it (a loss without slope).
    # none: nothing of size N x L is kept; each step then costs b x L x L more (SE and SE-L).
    store: Literal["float64", "float32", "float16", "none"] = "float64"

    aids: ClassVar[tuple[type, ...]]
    traps: ClassVar[Mapping[str, str]]  # what labels bring about that know one side alone

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("beta", "gamma"):
            value = getattr(self, key)
            if value < 0:
                raise BadInput(f"{self.name}: {key} is {value}; a number of at least 0 is expected")
        if not self.pos_weight > 0:
            raise BadInput(
                f"{self.name}: pos_weight is {self.pos_weight}; a number above 0 is expected"
            )
        if self._k is not None and self._k < 1:
            raise BadInput(f"{self.name}: k is {self._k}; a whole number above 0 is expected")

    @property
    def _k(self) -> int | None:
        return getattr(self, "k", None)

    @property
    def needs(self) -> Needs:
        aids = self.aids
        if getattr(self, "psi", "median") == "mean":
            aids = tuple(LabelMeans if kind is LabelMedians else kind for kind in aids)
        exact = getattr(self, "search", "auto") == "exact"
        return Needs(labels=True, aids=aids, neighbours=self._k or 0, exact=exact)

    def state_bytes(self, sizes: Sizes) -> int:
        if self.store == "none":
            return near.bytes_of(sizes, k=self._k, labels=LabelMedians in self.aids)
        return sizes.images * sizes.classes * np.dtype(self.store).itemsize

    @property
    def per_image(self) -> bool:
        """Temperatures are read and never changed."""
        return False

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        assert isinstance(task, Task)
        sources = self._sources(task)
        if self.store == "none":
            for name, tensor in sources.tensors(self._k).items():
                state.register_buffer(name, tensor)
        else:
            found = np.zeros(task.labels.shape, self.store)
            for start in range(0, len(task.rows), _ROWS):
                rows = task.rows[start : start + _ROWS]
                with np.errstate(over="ignore"):  # float16 has no number for a flat loss
                    found[rows] = self._of_rows(sources, rows)
            state.register_buffer("temperature", torch.from_numpy(found))
        state.for_training = tuple(state._buffers)
        caught = trap(self.name, task.labels, self.traps)
        if caught:
            warnings.warn(caught, stacklevel=2)
        if self.gamma >= 1:
            warnings.warn(
                f"method {self.name!r} with gamma={self.gamma} brings temperatures of soft "
                "negatives to 0 or above it, where they pull hard or the wrong way; the paper "
                "takes gamma below 1",
                stacklevel=2,
            )
        return state

    def temperatures(self, task: Task, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """(b, L) temperatures of these images, 0 where a label is known or ignored.

        The task carries the aids. Images that were not asked have no temperatures.
        """
        rows = np.asarray(rows, np.int64)
        found = self._of_rows(self._sources(task), rows)
        return np.where(task.labels.asked[rows, None], found, 0.0)

    def temperature_of(self, batch: Batch, state: nn.Module) -> Tensor:
        """(..., b, L) temperatures of a batch, 0 where a label is known or ignored."""
        if self.store != "none":
            return state.temperature.index_select(-2, batch.index)
        with torch.no_grad():
            labels, images = near.of_batch(state, batch, self.nearest)
            return self._signed(labels, images, batch.labels)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = wide(out.logits)
        T = self.temperature_of(batch, state).to(x.dtype)
        T = torch.where(batch.labels == UNKNOWN, T, batch.labels.to(x.dtype))  # known: 1 or -1
        ignored = T == 0
        values = -F.logsigmoid(x / T.masked_fill(ignored, 1.0))  # softplus would be cut off at 20
        if self.pos_weight != 1:
            values = values * (1 + (self.pos_weight - 1) * (batch.labels == PRESENT))
        return reduce(values.masked_fill(ignored, 0.0), "sum_classes")

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Unknown labels that are not taken for absent: soft positives and ignored ones."""
        T = self.temperature_of(batch, state)
        return (batch.labels == UNKNOWN) & ~(T < 0)

    def distances(self, labels: Tensor | None, images: Tensor | None) -> tuple[Tensor, Tensor]:
        """d+ and d- (2, ..., b, L) before scaling, and which labels are ignored (..., b, L) (their
        d is 0 where it shall not count as the largest).

        labels, images (2, ..., b, L): by classes of the image and by neighbours, inf where there
        is none; None where the method has no aid for it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no distances")

    def _of_rows(self, sources: near.Sources, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        labels = torch.from_numpy(sources.labels.rows(rows))
        found = self._signed(sources.by_labels(rows), sources.by_images(rows), labels)
        return np.asarray(found.numpy())

    def _signed(self, by_labels: Tensor | None, by_images: Tensor | None, labels: Tensor) -> Tensor:
        """(..., b, L) temperatures of labels (..., b, L) from what they are near to."""
        unknown = labels == UNKNOWN
        distances, ignored = self.distances(by_labels, by_images)
        distances = soft.scaled(distances, unknown, self.maxima)
        found = soft.temperatures(
            distances, beta=self.beta, gamma=self.gamma, form=self.temperature
        )
        return torch.where(unknown & ~ignored, found, 0.0)

    def _sources(self, task: Task) -> near.Sources:
        between = index = away = None
        for kind in self.needs.aids:
            if kind is Neighbours:
                index, away = near.neighbours(self.name, task, self._k or 1, self.distance)
            else:
                between = near.between(self.name, task, kind, self.distance)
        return near.Sources(task.labels, self.nearest, between, index, away)
