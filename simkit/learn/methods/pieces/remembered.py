"""Corrections that stay: one bit for each image and class, as LL-Cp keeps them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import PRESENT, UNKNOWN, PartialLabels
from simkit.learn.methods.base import Batch, Needs, Outputs, Sizes, Task
from simkit.learn.methods.pieces.large_loss import LargeLoss, correcting
from simkit.learn.methods.pieces.losses import wide


@dataclass(frozen=True)
class Remembering(LargeLoss):
    """What is corrected counts as present from then on; put it before a rule, as LL-Cp does.

    state.present holds what is known to be present and what was corrected, packed as `packed` says.
    A correction acts in its own step and from the image's next visit on. Of an image that is in a
    batch more than once every copy's corrections stay.
    """

    @property
    def needs(self) -> Needs:
        return Needs(labels=True)

    def state_bytes(self, sizes: Sizes) -> int:
        return super().state_bytes(sizes) + sizes.images * _bytes(sizes.classes)

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        assert isinstance(task, Task)
        state.register_buffer("present", packed(task.labels))
        return state

    def open(self, batch: Batch, state: nn.Module) -> Tensor:
        rows = state.present.index_select(-2, batch.index)
        return (batch.labels == UNKNOWN) & ~unpack(rows, batch.labels.shape[-1])

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        unknown, open = batch.labels == UNKNOWN, self.open(batch, state)
        logits = wide(out.logits)
        corrected = self.large(logits.detach(), open.expand_as(logits), state)
        present = (batch.labels == PRESENT) | (unknown & ~open)
        return correcting(logits, present, corrected)

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        index = batch.index.long()
        rows = state.present.index_select(-2, index)
        new = pack(_of_all_copies(self.lasting(batch, out, state), index))
        state.present.index_copy_(-2, index, rows | new)

    def lasting(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """(..., b, L) bool: corrections of this step that stay."""
        return self.selected(batch, out, state)


def _of_all_copies(flags: Tensor, index: Tensor) -> Tensor:
    """(..., b, L) bool: of an image that is in a batch more than once, what any copy says."""
    places = torch.arange(len(index), device=index.device)
    same = index[:, None] == index
    first = torch.where(same, places, len(index)).amin(-1) if len(index) else places
    counts = torch.zeros_like(flags, dtype=torch.int32).index_add_(-2, first, flags.int())
    return counts.index_select(-2, first).bool()


def _bytes(classes: int) -> int:
    return (classes + 7) // 8


def packed(labels: PartialLabels) -> Tensor:
    """(N, ceil(L / 8)) uint8 of what is present: class c is bit c % 8 of byte c // 8."""
    N, L = labels.shape
    bits = np.zeros((N, _bytes(L)), np.uint8)
    rows, classes = labels.codes.tocoo().coords
    places = labels.codes.data == PRESENT
    rows, classes = rows[places], classes[places]
    # No bit is added twice, so that adding is setting.
    np.add.at(bits, (rows, classes // 8), (1 << (classes % 8)).astype(np.uint8))
    return torch.from_numpy(bits)


def pack(flags: Tensor) -> Tensor:
    """(..., b, L) bool as (..., b, ceil(L / 8)) uint8."""
    whole = F.pad(flags.to(torch.uint8), (0, -flags.shape[-1] % 8)).unflatten(-1, (-1, 8))
    return (whole << _places(flags)).sum(-1, dtype=torch.uint8)


def unpack(rows: Tensor, classes: int) -> Tensor:
    """The first `classes` bits of every row, (..., b, classes) bool; `pack` undone."""
    bits = (rows[..., None] >> _places(rows)) & 1
    return bits.flatten(-2)[..., :classes].bool()


def _places(like: Tensor) -> Tensor:
    return torch.arange(8, dtype=torch.uint8, device=like.device)
