"""Selection of large losses, and the methods LL-R, LL-Ct and LL-Cp.

The loss of an unknown label, assumed negative, increases with its logit. The largest losses are
therefore selected by the largest logits, which avoids rounding errors: in float32 the losses of
confident negatives differ by less than their rounding.

A method combines an effect (`Rejecting`, `Correcting`, `Remembering`) with a rule (`Relative`,
`Absolute`). Source: Kim et al., Large Loss Matters in Weakly Supervised Multi-Label Classification,
CVPR 2022.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.learn.losses import kth_largest, wide
from simkit.learn.method import Method, register
from simkit.learn.methods.known_labels import Full
from simkit.learn.task import Batch, Needs, Outputs, Sizes
from simkit.registry import NonNegative, Range, setting

KOf = Literal["batch", "unknown"]
Reproduce = Literal["cvpr22", "cvpr23", "paper"]
Percent = Annotated[float, Range(0, 100)]
_ROWS = 4096  # images packed at a time


@dataclass(frozen=True)
class LargeLoss(Method):
    """Assume negative, except for unknown labels with a large loss: the base class."""

    family: ClassVar[str] = "large loss"

    def open(self, batch: Batch, state: nn.Module) -> Tensor:
        """(..., b, L) bool: labels that may be modified, never known ones."""
        return batch.labels == UNKNOWN

    @abstractmethod
    def large(self, logits: Tensor, unknown: Tensor, state: nn.Module) -> Tensor:
        """(..., b, L) bool: the `unknown` labels with a large loss in this step."""

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        return self._large(self.open(batch, state), out, state)

    def _large(self, unknown: Tensor, out: Outputs, state: nn.Module) -> Tensor:
        logits = wide(out.logits.detach())
        return self.large(logits, unknown.expand_as(logits), state)


def _mean(logits: Tensor, present: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean weighted cross-entropy, (...), in few passes over memory, backwards too."""
    logits = wide(logits)
    target = present.to(logits.dtype).expand_as(logits)
    values = F.binary_cross_entropy_with_logits(logits, target, weight, reduction="none")
    return values.sum((-2, -1)) / (logits.shape[-2] * logits.shape[-1])


@dataclass(frozen=True)
class Rejecting(LargeLoss):
    """LL-R: large losses count 0, but remain in the denominator of the mean (eq. 4)."""

    gist: ClassVar[str] = "large losses rejected"

    def on_complete(self) -> Method:
        return Full()

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        kept = ~self.selected(batch, out, state)
        return _mean(out.logits, batch.labels == PRESENT, kept.to(wide(out.logits).dtype))


@dataclass(frozen=True)
class Correcting(LargeLoss):
    """LL-Ct: labels with large losses count as present in their step (eq. 5-6).

    The paper writes a weight, the ratio of the two losses; its gradient is the same.
    """

    gist: ClassVar[str] = "large losses corrected"

    def on_complete(self) -> Method:
        return Full()

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        corrected = self.selected(batch, out, state)
        return _mean(out.logits, (batch.labels == PRESENT) | corrected)


@dataclass(frozen=True)
class Remembering(LargeLoss):
    """LL-Cp: corrected labels count as present from then on (eq. 7-9).

    state.present holds the known positives and the corrected labels, packed as by `packed`. A
    correction acts in its own step and from the image's next visit on.
    """

    gist: ClassVar[str] = "large losses corrected for good"

    default_needs: ClassVar[Needs] = Needs(labels=True)

    def shapes(self, sizes: Sizes) -> Any:
        packed = {"present": (torch.uint8, (sizes.images, -(-sizes.classes // 8)))}
        return super().shapes(sizes) | packed

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        super().fill(state, task, chance)
        state.present.copy_(packed(task.labels))

    def open(self, batch: Batch, state: nn.Module) -> Tensor:
        rows = state.present.index_select(-2, batch.index)
        return (batch.labels == UNKNOWN) & ~unpack(rows, batch.labels.shape[-1])

    def on_complete(self) -> Method:
        return Full()

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        unknown = self.open(batch, state)
        present = (batch.labels != ABSENT) & ~unknown
        return _mean(out.logits, present | self._large(unknown, out, state))

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        index = batch.index.long()
        rows = state.present.index_select(-2, index)
        new = pack(self.lasting(batch, out, state))
        state.present.index_copy_(-2, index, rows | new)

    def lasting(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """(..., b, L) bool: permanent corrections of this step."""
        return self.selected(batch, out, state)


@dataclass(frozen=True)
class Relative(LargeLoss):
    """The rule of LL-R, LL-Ct and LL-Cp: a percentage of the batch with the largest losses.

    From the second epoch on. The selection depends on the whole batch, so it differs if a batch is
    split over devices.
    """

    delta: Percent
    k_of: KOf = setting("batch", "reference of the percentage; unknown labels in the paper")
    # paper: k_of unknown; the others: rates as their floats, one more at some exact multiples.
    reproduce: Reproduce | None = setting(None, "published floats or exact rates")

    grows: ClassVar[bool] = True  # by delta with every epoch, or always delta
    presets: ClassVar = {
        "cvpr22": {"k_of": "batch"},
        "cvpr23": {"k_of": "batch"},
        "paper": {"k_of": "unknown"},
    }

    # Tensors, so that a new epoch causes no recompilation and no wait for the device: the share to
    # modify, as an exact fraction, and the share kept by published code, as the bits of a double,
    # which casts of the state to other floats leave unchanged.
    tensors: ClassVar = {"rate": (torch.int64, 2), "kept_bits": (torch.int64,)}

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        self.after_epoch(0, None, state)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        rate = Fraction(repr(self.delta)).limit_denominator(10**6) / 100
        rate = min(rate * (epoch if self.grows else epoch > 0), Fraction(1))
        kept = 1.0
        for _ in range(epoch):  # the published code subtracts floats repeatedly
            kept -= self.delta / 100
        state.rate.copy_(torch.tensor([rate.numerator, rate.denominator]))
        state.kept_bits.view(torch.float64).fill_(kept)

    def large(self, logits: Tensor, unknown: Tensor, state: nn.Module) -> Tensor:
        return unknown & (logits >= self.threshold(logits, unknown, state))

    def threshold(self, logits: Tensor, unknown: Tensor, state: nn.Module) -> Tensor:
        """(..., 1, 1) k-th largest logit of the unknown: nan for k = 0, -inf for too many."""
        limit = kth_largest(logits.flatten(-2), self.k(unknown, state), unknown.flatten(-2))
        return limit[..., None, None]

    def k(self, unknown: Tensor, state: nn.Module) -> Tensor:
        """(...) int64: number of labels to modify in this step, the percentage rounded up.

        At most all unknown labels (the published code then modifies known ones too).
        """
        entries = unknown.shape[-2] * unknown.shape[-1]
        if self.k_of == "unknown":
            count = unknown.sum((-2, -1))
        else:
            count = torch.full(unknown.shape[:-2], entries, device=unknown.device)
        numerator, denominator = state.rate.unbind(-1)
        if self.reproduce not in ("cvpr22", "cvpr23"):
            k = (numerator * count + denominator - 1) // denominator
        elif self.grows:
            kept = state.kept_bits.view(torch.float64)
            k = torch.ceil(count.double() * (1 - kept)).long()
        else:
            k = torch.ceil(count.double() * (self.delta / 100)).long() * (numerator > 0)
        return k.clamp(max=entries)


@dataclass(frozen=True)
class Absolute(LargeLoss):
    """The rule of the absolute variants: a loss above R(t) = r0 - t * delta in epoch t (from 1).

    At R = 0 every unknown label is modified; `min_threshold` keeps R above 0. There is no published
    code. Source: Kim et al., CVPR 2022, supplement B.
    """

    # The supplement searches r0 in 1, 1.5, 2 and delta in 0.1, 0.15, 0.2 without naming the best.
    # This is the middle r0 with the largest delta that leaves R above 0 for ten epochs.
    r0: NonNegative = setting(1.5, "threshold of the loss before the first epoch")
    delta: NonNegative = setting(0.1, "fall of the threshold in every epoch")
    min_threshold: NonNegative = setting(0.0, "lowest threshold")
    # Not stated in the supplement.
    skip_first_epoch: bool = setting(False, "modify nothing in the first epoch")

    alternative: ClassVar = {"delta": 0.02}
    source: ClassVar[str] = "Kim et al., CVPR 2022, supplement B"

    # One logit, as bits; a 0-dimensional tensor would make the compiler trace everything twice.
    tensors: ClassVar = {"above_bits": (torch.int64, 1)}

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        for epoch in range(1, epochs + 1):
            if self.least(epoch) <= 0:
                return (
                    f"{self.name}: every unknown label is modified from epoch {epoch} on, because "
                    "r0 - t * delta is not above 0; give a smaller delta, or min_threshold",
                )
        return ()

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        self.after_epoch(0, None, state)

    def least(self, epoch: int) -> float:
        """R of an epoch, from 1: the threshold of large losses."""
        return max(self.r0 - epoch * self.delta, self.min_threshold)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        loss = self.least(epoch + 1)
        logit = loss + math.log(-math.expm1(-loss)) if loss > 0 else -math.inf
        logit = math.inf if self.skip_first_epoch and epoch == 0 else logit
        state.above_bits.view(torch.float64).fill_(logit)

    def large(self, logits: Tensor, unknown: Tensor, state: nn.Module) -> Tensor:
        above = state.above_bits.view(torch.float64)
        return unknown & (logits > above[..., None].to(logits.dtype))


def packed(labels: PartialLabels) -> Tensor:
    """(N, ceil(L / 8)) uint8 of the known positives: class c is bit c % 8 of byte c // 8."""
    N = len(labels.images)
    blocks = np.array_split(np.arange(N), N // _ROWS + 1)
    return torch.cat([pack(torch.from_numpy(labels.rows(rows) == PRESENT)) for rows in blocks])


def pack(flags: Tensor) -> Tensor:
    """(..., b, L) bool as (..., b, ceil(L / 8)) uint8."""
    whole = F.pad(flags.to(torch.uint8), (0, -flags.shape[-1] % 8)).unflatten(-1, (-1, 8))
    return (whole << _places(flags)).sum(-1, dtype=torch.uint8)


def unpack(rows: Tensor, classes: int) -> Tensor:
    """The first `classes` bits of every row, (..., b, classes) bool; inverse of `pack`."""
    bits = (rows[..., None] >> _places(rows)) & 1
    return bits.flatten(-2)[..., :classes].bool()


def _places(like: Tensor) -> Tensor:
    return torch.arange(8, dtype=torch.uint8, device=like.device)


@register
class LargeLossRejection(Rejecting, Relative):
    """Large-loss rejection: unknown labels count as absent, except those with the largest losses.

    In epoch t these are (t - 1) * delta percent of the labels (..., b, L); rejected labels remain
    in the denominator of the mean. Known labels are never rejected. The selection depends on the
    whole batch, so it differs if a batch is split over devices.
    """

    # Percent per epoch: Kim et al. CVPR 2023 on single positives; CVPR 2022 searches 0.1 to 0.5,
    # and 0.005 and 0.01 on OpenImages.
    delta: Percent = setting(0.5, "percent more in every epoch")

    name: ClassVar[str] = "ll-r"
    title: ClassVar[str] = "LL-R"
    look: ClassVar = ("#00965F", "^")
    alternative: ClassVar = {"delta": 2.0}
    source: ClassVar[str] = "Kim et al., CVPR 2022, eq. 3-4"


@register
class LargeLossCorrection(Correcting, Relative):
    """Large-loss correction, temporary: unknown labels with the largest losses count as present.

    In epoch t these are (t - 1) * delta percent of the labels (..., b, L) of the batch, and a
    correction holds for its step alone. Known labels are never corrected.
    """

    # Percent per epoch: Kim et al. CVPR 2023 on single positives; CVPR 2022 searches 0.1 to 0.5
    # (0.2 was best on COCO), and 0.005 and 0.01 on OpenImages.
    delta: Percent = setting(0.2, "percent more in every epoch")

    name: ClassVar[str] = "ll-ct"
    title: ClassVar[str] = "LL-Ct"
    look: ClassVar = ("#3AD29D", "v")
    alternative: ClassVar = {"delta": 1.0}
    source: ClassVar[str] = "Kim et al., CVPR 2022, eq. 3, 5-6"


@register
class LargeLossPermanentCorrection(Remembering, Relative):
    """Large-loss correction, permanent: unknown labels with the largest losses become present.

    These are delta percent of the batch in every step from the second epoch on; the printed rate,
    read literally, would start in the first. Known labels are never corrected, and corrected labels
    are known from then on. The code of CVPR 2022, run from the command line, compares the name of
    the scheme by identity and therefore trains LL-Ct: `ll-ct(reproduce=cvpr22)` is the method that
    it ran, this one the method that it intended.
    """

    # Percent of every batch: Kim et al. CVPR 2023 on single positives; CVPR 2022 searches 0.1 to
    # 0.5, and 0.005 and 0.01 on OpenImages.
    delta: Percent = setting(0.1, "percent of every batch")
    # Permanent corrections: including those at the threshold (code of CVPR 2023), or only those
    # above it (code of CVPR 2022), where a label at the threshold is corrected in the step alone.
    update: Literal[">=", ">"] = setting(">=", "corrections kept; >: without ties at the threshold")

    name: ClassVar[str] = "ll-cp"
    title: ClassVar[str] = "LL-Cp"
    look: ClassVar = ("#004524", "<")
    alternative: ClassVar = {"delta": 0.5}
    source: ClassVar[str] = "Kim et al., CVPR 2022, eq. 3, 7-9"
    grows: ClassVar[bool] = False
    presets: ClassVar = {
        "cvpr22": {"k_of": "batch", "update": ">"},
        "cvpr23": {"k_of": "batch", "update": ">="},
        "paper": {"k_of": "unknown", "update": ">="},
    }

    on_complete = Remembering.on_complete

    def lasting(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        if self.update == ">=":
            return self.selected(batch, out, state)
        logits = wide(out.logits.detach())
        unknown = self.open(batch, state).expand_as(logits)
        least = torch.where(unknown, logits, torch.inf).amin((-2, -1), keepdim=True)
        return unknown & (logits > self.threshold(logits, unknown, state).maximum(least))


@register
class AbsoluteRejection(Rejecting, Absolute):
    """LL-R with an absolute threshold on the loss, which falls with every epoch.

    The threshold in epoch t is r0 - t * delta; at 0 every unknown label is rejected, which a note
    before training reports. There is no published code.
    """

    name: ClassVar[str] = "ll-r-abs"
    title: ClassVar[str] = "LL-R (abs)"
    look: ClassVar = ("#00965F", ">")
    alternative: ClassVar = {"delta": 0.5}


@register
class AbsoluteCorrection(Correcting, Absolute):
    """LL-Ct with an absolute threshold on the loss, which falls with every epoch.

    The threshold in epoch t is r0 - t * delta; at 0 every unknown label is corrected, which a note
    before training reports. There is no published code.
    """

    name: ClassVar[str] = "ll-ct-abs"
    title: ClassVar[str] = "LL-Ct (abs)"
    look: ClassVar = ("#3AD29D", "h")


@register
class AbsolutePermanentCorrection(Remembering, Absolute):
    """LL-Cp with an absolute threshold on the loss, which falls with every epoch.

    The threshold in epoch t is r0 - t * delta; at 0 every unknown label is corrected, which a note
    before training reports. There is no published code.
    """

    name: ClassVar[str] = "ll-cp-abs"
    title: ClassVar[str] = "LL-Cp (abs)"
    look: ClassVar = ("#004524", "8")
