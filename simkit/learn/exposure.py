"""What SE, SE-L and SE-I share: unknown labels as soft targets, each with its own temperature.

Source: Soft Exposure, section 3. No code was published; what the paper leaves open is a field.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.embed import temperatures as soft
from simkit.embed.label_embeddings import LabelMeans, LabelMedians
from simkit.embed.neighbours import Neighbours
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.learn.losses import reduce, wide
from simkit.learn.method import Method
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import NonNegative, Positive

FEW = 0.01  # of images or of known labels: hardly any
_ROWS = 64  # images whose temperatures are computed at a time: few know few classes together


@dataclass(frozen=True)
class Exposure(Method):
    """The loss -log sigmoid(x / T) of unknown labels (eq. 3), T > 0 for soft positives, T < 0 for
    soft negatives (eq. 8).

    The state is T (N, L), computed at the start and the same in every epoch; 0 where a label is
    known or ignored, and in images that were not asked. With store="none" it is what T is computed
    from, batch by batch: distances between classes (L, L), neighbours (N, k) and two bits for each
    label; the temperatures are the same. Trap of separate maxima: the only unknown label of an
    image has the largest d+ and the largest d-, a tie, and is a hard negative.
    """

    beta: NonNegative = 5.0  # |T| is exp(beta) beside something known, and 1 farthest from it
    gamma: NonNegative = 0.0  # added to every T
    distance: soft.Distance = "euclidean"  # the paper names none
    nearest: soft.Nearest = "min"  # median5: of the five smallest distances, in its rebuttal
    temperature: soft.Form = "printed"  # inverse: the nearer the harder, as its prose can be read
    maxima: soft.Maxima = "separate"  # d+ and d- are scaled each by its own maximum, or jointly
    pos_weight: Positive = 1.0  # of known positives; 5 in the paper's FE, unsaid for SE
    # float16 takes a quarter of the memory; beta above 11 goes beyond it (a loss without slope).
    # none: nothing of size N x L is kept; each step then costs b x L x L more (SE and SE-L).
    store: Literal["float64", "float32", "float16", "none"] = "float64"

    aids: ClassVar[tuple[type, ...]]
    traps: ClassVar[Mapping[str, str]]  # what labels bring about that know one side alone

    @property
    def _k(self) -> int:
        """Neighbouring images; 0 without."""
        return getattr(self, "k", 0)

    @property
    def needs(self) -> Needs:
        means = getattr(self, "psi", "median") == "mean"
        aids = (LabelMeans if means and kind is LabelMedians else kind for kind in self.aids)
        return Needs(labels=True, aids=tuple(aids), neighbours=self._k)

    def state_bytes(self, sizes: Sizes) -> int:
        N, L = sizes.images, sizes.classes
        if self.store != "none":
            return N * L * np.dtype(self.store).itemsize
        images = N * (soft.packed_width(L) + self._k * (4 + 8)) if self._k else 0
        return images + (LabelMedians in self.aids) * 8 * L**2

    @property
    def per_image(self) -> bool:
        """Temperatures are read and never changed."""
        return False

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        assert isinstance(task, Task)
        sources = self._sources(task)
        if self.store != "none":
            table = np.zeros(task.labels.shape, self.store)
            for start in range(0, len(task.rows), _ROWS):
                rows = task.rows[start : start + _ROWS]
                with np.errstate(over="ignore"):  # float16 has no number for a flat loss
                    table[rows] = self._of_rows(sources, task.labels, rows)
            sources = {"temperature": torch.from_numpy(table)}
        for name, tensor in sources.items():
            state.register_buffer(name, tensor)
        state.for_training = tuple(sources)
        self._warn(task.labels)
        return state

    def temperatures(self, task: Task, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """(b, L) temperatures of these images, 0 where a label is known or ignored.

        The task carries the aids. Images that were not asked have no temperatures.
        """
        rows = np.asarray(rows, np.int64)
        T = self._of_rows(self._sources(task), task.labels, rows)
        return np.where(task.labels.asked[rows, None], T, 0.0)

    def temperature_of(self, batch: Batch, state: nn.Module) -> Tensor:
        """(..., b, L) temperatures of a batch, 0 where a label is known or ignored."""
        if self.store != "none":
            return state.temperature.index_select(-2, batch.index)
        with torch.no_grad():
            return self._temperatures(dict(state.named_buffers()), batch.labels, batch.index)

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

        labels, images (2, ..., b, L): by classes of the image (eq. 4) and by neighbours (eq. 5),
        inf where there is none; None where the method has no aid for it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no distances")

    def _of_rows(
        self, sources: Mapping[str, Tensor], labels: PartialLabels, rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        codes = labels.rows(rows)
        known = torch.from_numpy((codes != UNKNOWN).any(0))
        T = self._temperatures(sources, torch.from_numpy(codes), torch.from_numpy(rows), known)
        return np.asarray(T.numpy())

    def _temperatures(
        self,
        sources: Mapping[str, Tensor],
        labels: Tensor,
        index: Tensor,
        known: Tensor | slice = slice(None),
    ) -> Tensor:
        """(..., b, L) temperatures of labels (..., b, L) of the rows index; known: classes of which
        some label may be known."""
        by_labels = by_images = None
        if "between" in sources:
            between = sources["between"][..., known, :]
            by_labels = soft.by_labels(labels[..., known], between, self.nearest)
        if "near" in sources:
            near, away = (sources[key].index_select(-2, index) for key in ("near", "away"))
            by_images = soft.by_images(sources["packed"], near.long(), away, self.nearest)
            by_images = by_images[..., : labels.shape[-1]]
        unknown = labels == UNKNOWN
        distances, ignored = self.distances(by_labels, by_images)
        distances = soft.scaled(distances, unknown, self.maxima)
        T = soft.temperatures(distances, beta=self.beta, gamma=self.gamma, form=self.temperature)
        return torch.where(unknown & ~ignored, T, 0.0)

    def _sources(self, task: Task) -> dict[str, Tensor]:
        """What T is computed from: `between` classes; `packed` labels, `near` images, how far
        `away` they are. Raises BadInput for aids of other labels or features."""
        sources = {}
        for kind in self.needs.aids:
            aid: Any = task.aid(kind)
            if not aid.fits(task):
                raise BadInput(
                    f"method {self.name!r} got {aid.name.replace('-', ' ')} of other labels or "
                    f"features than these; build them of this task with {kind.__name__}.build(task)"
                )
            if kind is not Neighbours:
                between = soft.label_distances(aid.psi, self.distance)
                sources["between"] = torch.from_numpy(between)
                continue
            k, others = self._k, len(task.rows) - 1
            if k > aid.index.shape[1] < others:
                raise BadInput(
                    f"{self.name}: k is {k}, and the neighbours of this task are "
                    f"{aid.index.shape[1]} for each image; give it more with "
                    f"task.with_aids(Neighbours.build(task, k={k}))"
                )
            away = (aid.distance if self.distance == "euclidean" else aid.cosine)[:, :k]
            absent = ((0, 0), (0, k - away.shape[1]))  # there may be fewer other images
            near = np.pad(aid.index[:, :k], absent, constant_values=-1)
            sources["packed"] = soft.packed_labels(task.labels)
            sources["near"] = torch.from_numpy(np.maximum(near, 0))
            sources["away"] = torch.from_numpy(np.where(near < 0, np.inf, np.pad(away, absent)))
        return sources

    def _warn(self, labels: PartialLabels) -> None:
        """Warn of labels of which soft exposure cannot make what it means to, and of gamma."""
        which, lack = _lack(labels, "images" in self.traps)
        if which:
            warnings.warn(
                f"method {self.name!r} compares the present with the absent, and {lack}: "
                f"{self.traps[which]}",
                stacklevel=3,
            )
        if self.gamma >= 1:
            warnings.warn(
                f"method {self.name!r} with gamma={self.gamma} brings temperatures of soft "
                "negatives to 0 or above it, where they pull hard or the wrong way; the paper "
                "takes gamma below 1",
                stacklevel=3,
            )


def _lack(labels: PartialLabels, images: bool) -> tuple[str, str]:
    """What hardly any labels say, as a key of `traps` and in words; "" for nothing.

    A handful of labels of the other kind is no way out, so both are counted: in images that know
    both, or among the labels.
    """
    counts = labels.counts()
    present, absent = counts["present"], counts["absent"]
    if not present and not absent:
        return "nothing", "of these labels nothing is known"
    if not absent:
        return "positives", "these labels say of nothing that it is absent"
    if not present:
        return "negatives", "these labels say of nothing that it is present"
    if images:
        both, asked = _know_both(labels), int(labels.asked.sum())
        if both <= FEW * asked:
            return "images", f"something of both is known in only {both:,} of {asked:,} images"
    elif min(present, absent) <= FEW * (present + absent):
        rare, word = min((present, "present"), (absent, "absent"))
        return "labels", f"only {rare:,} of {present + absent:,} known labels say {word!r}"
    return "", ""


def _know_both(labels: PartialLabels) -> int:
    """In how many images something is known to be present and something to be absent."""
    present, absent = ((labels.codes == code).sum(1) > 0 for code in (PRESENT, ABSENT))
    return int(np.count_nonzero(present & absent))
