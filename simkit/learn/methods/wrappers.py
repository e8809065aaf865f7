"""Methods around another one: consistency losses (CL, SCL) and BoostLU.

CL and SCL add the distance to earlier predictions of the same image. Source: Verelst et al.,
Spatial Consistency Loss for Training Multi-Label Classifiers from Single-Label Annotations, WACV
2023. BoostLU raises the positive attributions of the class maps before they are averaged.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simkit.cache import cache_folder
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT
from simkit.learn.losses import wide
from simkit.learn.method import MAPS, WarmedUp, Wrapper, register, required
from simkit.learn.methods.expected import SCORES, Mu, start_scores, update_scores
from simkit.learn.task import Batch, Needs, Outputs, Sizes
from simkit.registry import Count, NonNegative, Range, setting

Distance = Literal["l1", "l2", "jsd"]


@dataclass(frozen=True)
class Consistency(WarmedUp, Wrapper):
    """Adds `weight` times the distance to a moving average of earlier predictions.

    distance l2 is the squared error, jsd the Jensen-Shannon divergence of the two predictions
    (nats). The term is added after the first `warmup` epochs, in which the average is already
    updated.
    """

    # The paper selects 0.1 or 1 on validation labels. Its norm reads as a sum; the mean used here,
    # which has the scale of the other losses, is that many times smaller, so the larger weight is
    # default.
    weight: NonNegative = setting(1.0, "weight of the distance; 0.1 or 1 in the paper")
    distance: Distance = setting("l1", "distance to the moving average")
    reduction: Literal["mean", "sum"] = setting("mean", "over the entries of an image")
    warmup: Annotated[int, Range(0)] = setting(5, "initial epochs without the term")
    mu: Mu = setting(0.8, "decay of the moving average")

    alternative: ClassVar = {"weight": 0.1}
    source: ClassVar[str] = "Verelst et al., WACV 2023"

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        notes = super().notes(epochs=epochs, optimiser=optimiser)
        return notes + self._late("warmup", epochs)

    def term(self, logits: Tensor, before: Tensor, state: nn.Module) -> Tensor:
        """(...) the weighted distance of a batch, 0 during warm-up.

        logits (..., b, places);  before, of the same shape: probabilities.
        """
        apart = distances(logits, before, self.distance)
        each = apart.mean(-1) if self.reduction == "mean" else apart.sum(-1)
        return self.weight * each.mean(-1) * state.active.squeeze(-1)


@register
class ConsistencyLoss(Consistency):
    """Consistency loss: predictions stay close to a running average over earlier epochs.

    Wraps any method. Probabilities (..., b, L) are compared with scores (N, L), their moving
    averages, which start at 1 for known positives and 0 for all other labels.
    """

    name: ClassVar[str] = "cl"
    title: ClassVar[str] = "CL"
    gist: ClassVar[str] = "predictions consistent over epochs"

    default_needs: ClassVar[Needs] = Needs(labels=True)
    tensors: ClassVar = SCORES
    for_training: ClassVar = ("scores",)

    on_complete = Wrapper.on_complete

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        super().fill(state, task, chance)
        start_scores(state, task)

    def extra(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        logits = wide(out.logits)
        before = state.scores.index_select(-2, batch.index)
        return self.term(logits, before.to(logits.dtype), state)

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        super().after_batch(batch, out, state)
        update_scores(state, batch, out, self.mu)


def distances(logits: Tensor, before: Tensor, distance: Distance) -> Tensor:
    """Distance of sigmoid(logits) to the probabilities `before`, for every entry."""
    p = torch.sigmoid(logits)
    if distance == "l1":
        return (p - before).abs()
    if distance == "l2":
        return (p - before).square()
    complement = torch.sigmoid(-logits)
    entropy = p * F.softplus(-logits) + complement * F.softplus(logits)
    both = _less_log((p + before) / 2) + _less_log((complement + (1 - before)) / 2)
    return both - (entropy + _less_log(before) + _less_log(1 - before)) / 2


def _less_log(p: Tensor) -> Tensor:
    """-p log p with a finite gradient at 0."""
    return -p * torch.log(p.clamp(min=torch.finfo(p.dtype).tiny))


_SIDE = 28  # of heat maps if that of the class maps is unknown: twice 14, for images of 448 pixels


@register
class SpatialConsistencyLoss(Consistency):
    """Spatial consistency loss: class maps stay close to a running average over earlier epochs.

    Wraps any method. Class maps (..., b, L, h, w), as probabilities, are compared with heat maps H
    (N, L, side, side) uint8, by default of twice their side: H = mu H + (1 - mu) p in the region of
    a random crop, perhaps mirrored; without crops an image is compared with itself, which has
    little effect. mapped: keep the heat maps, 4.1 GB for COCO, in a file of the cache folder
    instead of memory. Trained models do not store heat maps. The paper keeps ten classes per image
    on ImageNet; here all are kept.
    """

    side: Count | None = setting(None, "side of heat maps in cells; none: twice that of class maps")
    mapped: bool = setting(False, "keep the heat maps in a file, not in memory")

    name: ClassVar[str] = "scl"
    title: ClassVar[str] = "SCL"
    gist: ClassVar[str] = "class maps consistent over epochs"

    default_needs: ClassVar[Needs] = Needs(maps=True, views=True, labels=True)

    for_training: ClassVar = ("heat",)

    on_complete = Wrapper.on_complete

    def shapes(self, sizes: Sizes) -> Any:
        heat = sizes.images, sizes.classes, self._side(sizes), self._side(sizes)
        return super().shapes(sizes) | ({} if self.mapped else {"heat": (torch.uint8, heat)})

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        super().fill(state, task, chance)
        if self.mapped:
            side = self._side(task.sizes)
            state.register_buffer("heat", file_of_maps((*task.labels.shape, side, side)))
            state.in_file = ("heat",)
        # 255 everywhere in the classes known to be present
        state.heat.numpy()[(task.labels.codes == PRESENT).nonzero()] = 255

    def extra(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        maps = self._maps(out)
        h, w = maps.shape[-2:]
        kept = before(state.heat, batch, h, w, maps.dtype)
        return self.term(maps.flatten(-3), kept.flatten(-3), state)

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        super().after_batch(batch, out, state)
        probabilities = torch.sigmoid(self._maps(out).detach())
        changed = after(state.heat, batch, probabilities, self.mu)
        state.heat.index_copy_(-4, batch.index, changed)

    def _side(self, sizes: Sizes) -> int:
        usual = _SIDE if sizes.map_side is None else 2 * sizes.map_side
        return usual if self.side is None else self.side

    def _maps(self, out: Outputs) -> Tensor:
        return wide(required(out.maps, self, MAPS))


def file_of_maps(shape: tuple[int, ...]) -> Tensor:
    """Zeros (N, L, side, side) uint8 in a file in the cache folder, deleted after its last use."""
    folder = cache_folder() / "heat-maps"
    folder.mkdir(parents=True, exist_ok=True)
    needed, free = int(np.prod(shape)), shutil.disk_usage(folder).free
    if needed > free:
        raise BadInput(
            f"the heat maps take {needed / 1e9:.1f} GB and {folder} has {free / 1e9:.1f} GB "
            "left; make room, or set SIMKIT_CACHE to a folder with more"
        )
    # An unlinked temporary file: it disappears with its last user, even a killed one.
    with tempfile.TemporaryFile(dir=folder) as file:
        return torch.from_numpy(np.memmap(file, np.uint8, "w+", shape=shape))


def before(maps: Tensor, batch: Batch, height: int, width: int, dtype: torch.dtype) -> Tensor:
    """(..., b, L, height, width) in [0, 1]: the heat maps of the views in the batch.

    maps (..., N, L, W, W) uint8. The crop's region is mirrored like the image and resized
    (bilinear, half-pixel centres).
    """
    W, weights = maps.shape[-1], []
    for (first, last), size in zip(regions(batch, W), (height, width), strict=True):
        cells = (last - first)[:, None].double()
        place = torch.arange(size, device=first.device) + 0.5
        place = (place * cells / size - 0.5).clamp(min=0)
        weights.append(_hats(torch.minimum(place, cells - 1) + first[:, None], W, dtype))
    kept = maps.index_select(-4, batch.index).to(dtype) / 255
    return resampled(kept, weights[0], _mirrored(weights[1], batch, -2))


def after(maps: Tensor, batch: Batch, probabilities: Tensor, mu: float) -> Tensor:
    """(..., b, L, W, W) uint8: updated heat maps, mu times the old and 1 - mu times new ones.

    probabilities (..., b, L, h, w). Only the crop's region changes. Values are rounded half to
    even: truncation would lower the maps at every update. Changes of probabilities below
    0.5 / 255 / (1 - mu), 0.0098 at 0.8, are lost in the rounding.
    """
    W, weights, inside = maps.shape[-1], [], []
    cell = torch.arange(W, device=maps.device)
    for (first, last), size in zip(regions(batch, W), probabilities.shape[-2:], strict=True):
        cells = (last - first)[:, None].double()
        place = (cell - first[:, None] + 0.5) * size / cells - 0.5
        weights.append(_hats(place.clamp(0, size - 1), size, probabilities.dtype))
        inside.append((cell >= first[:, None]) & (cell < last[:, None]))
    old = maps.index_select(-4, batch.index)
    seen = resampled(probabilities, weights[0], _mirrored(weights[1], batch, -1))
    new = (mu * old + 255 * (1 - mu) * seen).round().to(torch.uint8)
    return torch.where((inside[0][:, :, None] & inside[1][:, None])[:, None], new, old)


def regions(batch: Batch, side: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """First row and the one after the last (b,) int64 of each box, and its columns alike.

    Each box has at least one. Without boxes the whole image.
    """
    if batch.boxes is None:
        first = torch.zeros_like(batch.index)
        return (first, first + side), (first, first + side)
    y0, x0, y1, x1 = (batch.boxes.double() * side).round().long().unbind(-1)
    top, left = y0.clamp(0, side - 1), x0.clamp(0, side - 1)
    bottom, right = y1.clamp(max=side), x1.clamp(max=side)
    return (top, torch.maximum(bottom, top + 1)), (left, torch.maximum(right, left + 1))


def resampled(values: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """values (..., b, L, h, w) to (..., b, L, H, W) by rows (b, H, h) and columns (b, W, w)."""
    with torch.autocast(values.device.type, enabled=False):
        for weights in (columns, rows):  # the last dimension first; each pass transposes the maps
            flat = values.flatten(-3, -2) @ weights.mT
            values = flat.unflatten(-2, values.shape[-3:-1]).mT
    return values


def _hats(place: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """(..., n) coordinates in `size` cells to (..., n, size) weights of the two nearest cells."""
    cell = torch.arange(size, device=place.device)
    return (1 - (place[..., None] - cell).abs()).clamp(min=0).to(dtype)


def _mirrored(weights: Tensor, batch: Batch, dim: int) -> Tensor:
    if batch.flips is None:
        return weights
    return torch.where(batch.flips[:, None, None], weights.flip(dim), weights)


@register
class BoostLU(Wrapper):
    """Boost the positive scores of class maps: m above beta becomes alpha m + (1 - alpha) beta.

    Maps are (..., b, L, h, w); logits are the means of the boosted maps. Wraps any method; the
    paper uses train=False around AN (boost at inference only), AN, and LL-R, LL-Ct or LL-Cp. The
    bias of the 1x1 convolution is boosted as well, as in the published code. At m = beta the
    derivative is 1 (alpha in the paper). Around LL-Cp the unboosted classes are determined by the
    initial labels.
    """

    alpha: Annotated[float, Range(1)] = setting(5.0, "slope above the threshold beta")
    beta: float = setting(0.0, "threshold: values of a map below it are unchanged")
    train: bool = setting(True, "boost in training")
    eval: bool = setting(True, "boost in prediction")
    # Classes without any known positive are not boosted in training (paper, CUB; not in its code).
    zero_positive: Literal["plain", "boost"] = setting("plain", "classes without known positives")
    reproduce: Literal["cvpr23", "paper"] | None = setting(None, "the published code or the paper")

    name: ClassVar[str] = "boostlu"
    title: ClassVar[str] = "BoostLU"
    gist: ClassVar[str] = "positive scores amplified"
    alternative: ClassVar = {"alpha": 2.0}
    source: ClassVar[str] = "Kim et al., CVPR 2023, eq. 6-8"

    presets: ClassVar = {"cvpr23": {"zero_positive": "boost"}, "paper": {"zero_positive": "plain"}}

    on_complete = Wrapper.on_complete

    @property
    def needs(self) -> Needs:
        return self.inner.needs | Needs(maps=self.train or self.eval, labels=self._masks)

    @property
    def _masks(self) -> bool:
        return self.train and self.zero_positive == "plain"

    def shapes(self, sizes: Sizes) -> Any:
        return {"has_positive": (torch.bool, (sizes.classes,))} if self._masks else {}

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        super().fill(state, task, chance)
        if self._masks:
            state.has_positive.copy_(torch.from_numpy(task.labels.per_class(PRESENT) > 0))

    def changed(self, out: Outputs, state: nn.Module, *, training: bool) -> Outputs:
        if not (self.train if training else self.eval):
            return out
        maps = required(out.maps, self, MAPS)
        gain = maps.new_full((), self.alpha - 1)
        if training and self._masks:
            gain = gain * state.has_positive[..., None, :]
        # The logits are the means of the boosted maps, which are large and seldom read in training.
        logits = out.logits + gain * _positive_means(maps, self.beta)
        boosted = None
        if self.inner.needs.maps or not training:
            positive = torch.relu(maps - self.beta if self.beta else maps)
            boosted = torch.addcmul(maps, gain[..., None, None], positive)
        return Outputs(logits, boosted, out.features)


def _positive_means(maps: Tensor, beta: float = 0.0) -> Tensor:
    """(..., b, L) means over (..., b, L, h, w) maps of max(m - beta, 0), in few passes over memory,
    backwards too."""
    return _PositiveMeans.apply(maps, beta)  # type: ignore[no-any-return, no-untyped-call]


class _PositiveMeans(torch.autograd.Function):
    """It keeps no map besides the given ones, and its gradient is one pass."""

    @staticmethod
    def forward(ctx: Any, maps: Tensor, beta: float) -> Tensor:
        ctx.save_for_backward(maps)
        ctx.beta = beta
        return torch.relu(maps - beta if beta else maps).sum((-2, -1)) / math.prod(maps.shape[-2:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (maps,) = ctx.saved_tensors
        # In the order of the maps in memory, in which the pass is three times as fast.
        of_each = torch.empty_like(maps[..., 0, 0])
        torch.div(gradient, math.prod(maps.shape[-2:]), out=of_each)
        of_each = of_each[..., None, None].expand_as(maps)
        return torch.ops.aten.threshold_backward(of_each, maps, ctx.beta), None
