"""Soft exposure (SE, SE-L, SE-I): unknown labels as soft targets, each with its own temperature.

For an unknown label, d+ is the distance to the closest present label and d- that to the closest
absent label: of another class in the same image (distances of label medians), or of the same class
in a neighbouring image. All shapes follow from the arguments' shapes and not from values, so that
nothing waits for the device. Source: Kundu & Tighe, NeurIPS 2020, eq. 3 to 8. No code was
published; choices that the paper leaves open are settings.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.embed.neighbours import Neighbours
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.learn.label_embeddings import LabelMeans, LabelMedians
from simkit.learn.losses import reduce, wide
from simkit.learn.method import Method, register
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import Count, NonNegative, Positive, setting

Distance = Literal["euclidean", "cosine"]
Nearest = Literal["min", "median5"]
Form = Literal["printed", "inverse"]
Maxima = Literal["separate", "joint"]

SMALLEST = 1e-6  # of |T|, which gamma can bring to zero
_ENTRIES = 1 << 24  # distances in memory at a time: 128 MB
_PACKED = 4096  # images packed at a time
_CODES = (PRESENT, ABSENT & 3)  # as two bits
FEW = 0.01  # of images or of known labels: too few
_ROWS = 64  # images whose temperatures are computed at a time: few images share few known classes


def label_distances(psi: NDArray[np.float64], distance: Distance) -> NDArray[np.float64]:
    """(L, L) distances between the label embeddings psi (L, D); inf for a class without one."""
    embedded = ~np.any(np.isnan(psi), axis=-1)
    psi = np.where(embedded[:, None], psi, 0.0)
    if distance == "euclidean":
        between = np.stack([np.sqrt(((psi - row) ** 2).sum(-1)) for row in psi])
    else:
        lengths = np.sqrt((psi**2).sum(-1))
        products = lengths[:, None] * lengths
        between = np.maximum(1 - psi @ psi.T / np.where(products > 0, products, 1.0), 0.0)
    return np.where(embedded[:, None] & embedded, between, np.inf)


def by_labels(labels: Tensor, between: Tensor, nearest: Nearest) -> Tensor:
    """d+ and d- by labels: to the present and the absent classes of the same image (eq. 4).

    Parameters
    ----------
    labels
        (..., b, m) int8 of m of the classes: at least all those known in some image.
    between
        (..., m, L) distances from these classes to all (`label_distances`).
    nearest
        The smallest distance, or the median of the five smallest (or fewer).

    Returns
    -------
    (2, ..., b, L) distances, inf without any label. The cost is b x m x L.
    """
    (b, m), L = labels.shape[-2:], between.shape[-1]
    step = max(1, _ENTRIES // max(1, labels[..., :1].numel() * L))
    closest = []
    for code in (PRESENT, ABSENT):
        best = between.new_full((*labels.shape[:-2], b, 1, L), torch.inf)
        for start in range(0, m, step):
            known = (labels[..., start : start + step] == code)[..., None]  # (..., b, step, 1)
            away = between[..., None, start : start + step, :]
            some = _smallest(torch.where(known, away, torch.inf), nearest)
            best = _smallest(torch.cat([best, some], -2), nearest)
        closest.append(_middle(best, nearest))
    return torch.stack(closest)


def by_images(packed: Tensor, near: Tensor, away: Tensor, nearest: Nearest) -> Tensor:
    """d+ and d- by images: to the neighbours in which a class is present or absent (eq. 5).

    Parameters
    ----------
    packed
        (..., N, w) labels of all images (`packed_labels`).
    near
        (..., b, k) int64 rows of neighbours.
    away
        (..., b, k) distances to them, inf for missing neighbours.
    nearest
        As in `by_labels`.

    Returns
    -------
    (2, ..., b, 4 w) distances, inf without any label. The last classes are padding of the last
    byte.
    """
    b, k = near.shape[-2:]
    rows = near.flatten(-2)[..., None].expand(*near.shape[:-2], b * k, packed.shape[-1])
    neighbour_labels = packed.gather(-2, rows).unflatten(-2, (b, k))
    shifts = torch.arange(0, 8, 2, dtype=torch.uint8, device=packed.device)
    codes = ((neighbour_labels[..., None] >> shifts) & 3).flatten(-2)  # (..., b, k, 4 w)
    distances = (torch.where(codes == code, away[..., None], torch.inf) for code in _CODES)
    return torch.stack([_middle(_smallest(values, nearest), nearest) for values in distances])


def packed_labels(labels: PartialLabels) -> Tensor:
    """(N, ceil(L / 4)) uint8: two bits for each label of +1, -1 and 0."""
    N, L = labels.shape
    packed = np.zeros((N, -(-L // 4)), np.uint8)
    for start in range(0, N, _PACKED):
        codes = labels.rows(np.arange(start, min(start + _PACKED, N))).view(np.uint8) & 3
        codes = np.pad(codes, ((0, 0), (0, -L % 4)))
        for place in range(4):
            packed[start : start + _PACKED] |= codes[:, place::4] << (2 * place)
    return torch.from_numpy(packed)


def scaled(distances: Tensor, counted: Tensor, maxima: Maxima) -> Tensor:
    """d+ and d- (2, ..., b, L), each divided by its maximum in the image, or both by the larger
    one.

    Only `counted` entries (..., b, L) enter the maxima; a maximum of 0 is not divided by. Source:
    the text below eq. 8.
    """
    top = torch.where(counted, distances, 0.0).amax(-1, keepdim=True)
    if maxima == "joint":
        top = top.amax(0, keepdim=True)
    return distances / torch.where(top > 0, top, 1.0)


def temperatures(distances: Tensor, *, beta: float, gamma: float, form: Form) -> Tensor:
    """Signed temperatures (..., b, L) of scaled distances d+ and d- (2, ..., b, L) (eq. 8).

    T = exp(beta (1 - d+)) + gamma where d+ < d-, else -exp(beta (1 - d-)) + gamma. "inverse" uses
    exp(beta d): near entries get |T| = 1 and far ones a flat loss. |T| is at least 1e-6.
    Temperatures beyond the range of floats are infinite: a loss without gradient.
    """
    present, absent = distances[0], distances[1]
    positive = present < absent
    nearer = torch.where(positive, present, absent)
    size = torch.exp(beta * (nearer if form == "inverse" else 1 - nearer))
    T = torch.where(positive, size, -size) + gamma
    smallest = torch.where(positive, torch.full_like(T, SMALLEST), -SMALLEST)
    return torch.where(T.abs() < SMALLEST, smallest, T)


def _smallest(values: Tensor, nearest: Nearest) -> Tensor:
    """The smallest of values (..., m, L) along m, or the five smallest in order."""
    if nearest == "min":
        return values.amin(-2, keepdim=True)
    return values.topk(min(5, values.shape[-2]), dim=-2, largest=False, sorted=True).values


def _middle(ordered: Tensor, nearest: Nearest) -> Tensor:
    """(..., L): the median along m of the finite ones of ordered values (..., m, L)."""
    if nearest == "min":
        return ordered.squeeze(-2)
    count = torch.isfinite(ordered).sum(-2, keepdim=True)
    low = torch.take_along_dim(ordered, (count - 1).clamp(min=0) // 2, -2)
    high = torch.take_along_dim(ordered, count // 2, -2)
    return ((low + high) / 2).squeeze(-2)


@dataclass(frozen=True)
class Exposure(Method):
    """The loss -log sigmoid(x / T) of unknown labels (eq. 3), T > 0 for soft positives, T < 0 for
    soft negatives (eq. 8).

    The state is T (N, L), computed at the start and constant; 0 for known and ignored labels, and
    in images that were not asked. With store="none" it is the data from which T is computed batch
    by batch: distances between classes (L, L), neighbours (N, k) and two bits for each label; the
    temperatures are the same. With separate maxima, the only unknown label of an image has the
    largest d+ and the largest d-, a tie, and is a hard negative.
    """

    beta: NonNegative = setting(5.0, "T is exp(beta) at distance 0, 1 at the largest distance")
    gamma: NonNegative = setting(0.0, "added to every T")
    # Not stated in the paper.
    distance: Distance = setting("euclidean", "distance of classes or images")
    nearest: Nearest = setting("min", "median5: of the five smallest")
    temperature: Form = setting("printed", "inverse: the nearer, the harder the label")
    maxima: Maxima = setting("separate", "separate maxima of d+ and d-, or joint")
    # 5 in the paper's FE, not stated for SE.
    pos_weight: Positive = setting(1.0, "weight of known positives")
    # float16 takes a quarter of the memory; beta above 11 exceeds its range (a loss without
    # gradient). none: nothing of size N x L is stored; each step then costs b x L x L more (SE and
    # SE-L).
    store: Literal["float64", "float32", "float16", "none"] = setting(
        "float64", "precision of the stored temperatures; none: compute them in every step"
    )

    alternative: ClassVar = {"beta": 20.0}
    family: ClassVar[str] = "soft exposure"
    aids: ClassVar[tuple[type, ...]]

    @property
    def _k(self) -> int:
        """Number of neighbouring images; 0 without."""
        return getattr(self, "k", 0)

    @property
    def needs(self) -> Needs:
        means = getattr(self, "psi", "median") == "mean"
        aids = (LabelMeans if means and kind is LabelMedians else kind for kind in self.aids)
        return Needs(labels=True, aids=tuple(aids), neighbours=self._k)

    for_training: ClassVar = ("temperature", "between", "packed", "near", "away")

    def shapes(self, sizes: Sizes) -> Any:
        N, L, k = sizes.images, sizes.classes, self._k
        if self.store != "none":
            return {"temperature": (getattr(torch, self.store), (N, L))}
        shapes: dict[str, Any] = {}
        if LabelMedians in self.aids:
            shapes["between"] = torch.float64, (L, L)
        if k:
            shapes["packed"] = torch.uint8, (N, -(-L // 4))
            shapes |= {"near": (torch.int32, (N, k)), "away": (torch.float64, (N, k))}
        return shapes

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        sources = self._sources(task)
        if self.store != "none":
            table = state.temperature.numpy()
            for start in range(0, len(task.rows), _ROWS):
                rows = task.rows[start : start + _ROWS]
                with np.errstate(over="ignore"):  # float16 overflows for a flat loss
                    table[rows] = self._of_rows(sources, task.labels, rows)
        else:
            for name, tensor in sources.items():
                getattr(state, name).copy_(tensor)
        lack = _lack(task.labels, LabelMedians in self.aids)
        if lack:
            warnings.warn(
                f"method {self.name!r} compares the present with the absent, and {lack}; unknown "
                "labels are ignored or fall to the side that is known",
                stacklevel=3,
            )
        if self.gamma >= 1:
            warnings.warn(
                f"method {self.name!r} with gamma={self.gamma} brings temperatures of soft "
                "negatives to 0 or above it, where they pull hard or the wrong way; the paper "
                "takes gamma below 1",
                stacklevel=3,
            )

    def temperatures(self, task: Task, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """(b, L) temperatures of these images, 0 for known and ignored labels.

        The task has the side information. Images that were not asked have no temperatures.
        """
        rows = np.asarray(rows, np.int64)
        T = self._of_rows(self._sources(task), task.labels, rows)
        return np.where(task.labels.asked[rows, None], T, 0.0)

    def temperature_of(self, batch: Batch, state: nn.Module) -> Tensor:
        """(..., b, L) temperatures of a batch, 0 for known and ignored labels."""
        if self.store != "none":
            return state.temperature.index_select(-2, batch.index)
        with torch.no_grad():
            return self._temperatures(dict(state.named_buffers()), batch.labels, batch.index)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = wide(out.logits)
        T = self.temperature_of(batch, state).to(x.dtype)
        T = torch.where(batch.labels == UNKNOWN, T, batch.labels.to(x.dtype))  # known: 1 or -1
        ignored = T == 0
        values = -F.logsigmoid(x / T.masked_fill(ignored, 1.0))  # torch cuts softplus off at 20
        if self.pos_weight != 1:
            values = values * (1 + (self.pos_weight - 1) * (batch.labels == PRESENT))
        return reduce(values.masked_fill(ignored, 0.0), "sum_classes")

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Unknown labels not assumed absent: soft positives and ignored ones."""
        T = self.temperature_of(batch, state)
        return (batch.labels == UNKNOWN) & ~(T < 0)

    @abstractmethod
    def distances(self, labels: Tensor | None, images: Tensor | None) -> tuple[Tensor, Tensor]:
        """d+ and d- (2, ..., b, L) before scaling, and a mask of ignored labels (..., b, L).

        d is 0 for labels that shall not enter the maximum. labels, images (2, ..., b, L): by
        classes of the image (eq. 4) and by neighbours (eq. 5), inf without any; None if the method
        does not use them.
        """

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
        """(b, L) temperatures of labels (..., b, L) of the rows index.

        known: classes with any known label.
        """
        of_labels = of_images = None
        if "between" in sources:
            between = sources["between"][..., known, :]
            of_labels = by_labels(labels[..., known], between, self.nearest)
        if "near" in sources:
            near, away = (sources[key].index_select(-2, index) for key in ("near", "away"))
            of_images = by_images(sources["packed"], near.long(), away, self.nearest)
            of_images = of_images[..., : labels.shape[-1]]
        unknown = labels == UNKNOWN
        distances, ignored = self.distances(of_labels, of_images)
        distances = scaled(distances, unknown, self.maxima)
        T = temperatures(distances, beta=self.beta, gamma=self.gamma, form=self.temperature)
        return torch.where(unknown & ~ignored, T, 0.0)

    def _sources(self, task: Task) -> dict[str, Tensor]:
        """The data from which T is computed: `between` classes; `packed` labels, `near` images, and
        distances `away`. Raises BadInput for side information of other labels or features."""
        sources = {}
        for kind in self.needs.aids:
            aid: Any = task.aid(kind)
            if not aid.fits(task):
                raise BadInput(
                    f"method {self.name!r} got {aid.name.replace('-', ' ')} of other labels or "
                    f"features than these; build them of this task with {kind.__name__}.build(task)"
                )
            if kind is not Neighbours:
                between = label_distances(aid.psi, self.distance)
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
            sources["packed"] = packed_labels(task.labels)
            sources["near"] = torch.from_numpy(np.maximum(near, 0))
            sources["away"] = torch.from_numpy(np.where(near < 0, np.inf, np.pad(away, absent)))
        return sources


def _lack(labels: PartialLabels, images: bool) -> str:
    """The kinds of labels that are missing or rare, in words; "" for none.

    A handful of labels of the other kind is not sufficient, so both are counted: in `images` that
    know both, or among the labels.
    """
    present, absent = ((labels.codes == code).sum(1) for code in (PRESENT, ABSENT))
    counts = {"present": int(present.sum()), "absent": int(absent.sum())}
    missing = [word for word, count in counts.items() if not count]
    if missing:
        return f"these labels say of nothing that it is {' or '.join(missing)}"
    if images:
        both, asked = int(np.count_nonzero((present > 0) & (absent > 0))), int(labels.asked.sum())
        few = f"something of both is known in only {both:,} of {asked:,} images"
        return few if both <= FEW * asked else ""
    word, rare = min(counts.items(), key=itemgetter(1))
    total = sum(counts.values())
    few = f"only {rare:,} of {total:,} known labels say {word!r}"
    return few if rare <= FEW * total else ""


@register
class SoftExposure(Exposure):
    """Soft exposure: unknown labels take the sign of the nearest known label, softened by distance.

    Distances are to similar classes in the same image, and to the same class in similar images: d+
    and d- (..., b, L) are the smaller of the two (eq. 6-7). As printed, a label near a known one
    has a flat loss: at a distance of 0 it is nearly ignored, and the farthest have the full loss of
    a known label. With hardly any absent labels, nearly every unknown label becomes a soft
    positive.
    """

    psi: Literal["median", "mean"] = setting("median", "label embedding; a mean was worse")
    k: Count = setting(10, "neighbouring images; with fewer than 5 SE comes near SE-L")

    name: ClassVar[str] = "se"
    title: ClassVar[str] = "SE"
    gist: ClassVar[str] = "nearest known labels"
    look: ClassVar = ("#EB4A5B", "P")
    source: ClassVar[str] = "Kundu & Tighe NeurIPS 2020, eq. 3-8"
    aids: ClassVar[tuple[type, ...]] = (Neighbours, LabelMedians)

    def distances(self, labels: Tensor | None, images: Tensor | None) -> tuple[Tensor, Tensor]:
        assert labels is not None and images is not None
        images = torch.where(torch.isinf(images), 1.0, images)  # no neighbour with a known label
        nearer = torch.minimum(labels, images)
        return nearer, torch.zeros_like(nearer[0], dtype=torch.bool)


@register
class SoftExposureByLabels(Exposure):
    """SE by the known classes of an image alone: the nearest one decides, softened by distance.

    d+ and d- (..., b, L) are the distances of eq. 4. Ignored are all unknown labels of an image
    without known present or without known absent labels, and classes without any present label.
    Without absent labels the method equals Ignore.
    """

    psi: Literal["median", "mean"] = setting("median", "label embedding; a mean was worse")

    name: ClassVar[str] = "se-l"
    title: ClassVar[str] = "SE-L"
    gist: ClassVar[str] = "nearest known classes"
    look: ClassVar = ("#7C0022", "X")
    source: ClassVar[str] = "Kundu & Tighe NeurIPS 2020, eq. 3, 4, 8"
    aids: ClassVar[tuple[type, ...]] = (LabelMedians,)

    def distances(self, labels: Tensor | None, images: Tensor | None) -> tuple[Tensor, Tensor]:
        assert labels is not None
        ignored = torch.isinf(labels).any(0)
        return torch.where(ignored, 0.0, labels), ignored


@register
class SoftExposureByImages(Exposure):
    """SE by similar images alone: the nearest image decides, softened by its distance.

    d+ and d- (..., b, L) are the distances of eq. 5, 1 without neighbours with a known label. With
    hardly any absent labels, nearly every label with such neighbours becomes a soft positive.
    """

    k: Count = setting(10, "neighbouring images; with fewer than 5 SE-I comes near Ignore")
    # Labels without any neighbour of known label: by eq. 8 a hard negative; the paper's results,
    # close to those of NE, suggest that they are ignored.
    uncovered: Literal["ignore", "negative"] = setting("ignore", "labels without known neighbours")

    name: ClassVar[str] = "se-i"
    title: ClassVar[str] = "SE-I"
    gist: ClassVar[str] = "nearest images"
    look: ClassVar = ("#FDA298", "v")
    source: ClassVar[str] = "Kundu & Tighe NeurIPS 2020, eq. 3, 5, 8"
    aids: ClassVar[tuple[type, ...]] = (Neighbours,)

    def distances(self, labels: Tensor | None, images: Tensor | None) -> tuple[Tensor, Tensor]:
        assert images is not None
        nothing = torch.isinf(images)
        ignored = nothing.all(0)
        if self.uncovered == "negative":
            ignored = torch.zeros_like(ignored)
        return torch.where(nothing, 1.0, images), ignored
