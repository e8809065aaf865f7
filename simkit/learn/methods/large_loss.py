"""Which unknown labels have a large loss: the selection that LL-R, LL-Ct and LL-Cp share.

Source: Kim et al., Large Loss Matters in Weakly Supervised Multi-Label Classification, CVPR 2022.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_MANY = 1 << 15

KOf = Literal["batch", "unknown"]
Reproduce = Literal["cvpr22", "cvpr23", "paper"]


def start_rate(state: nn.Module) -> None:
    """Register what the rate depends on: `epoch` in progress, and the share of labels kept.

    Both are tensors, so that a new epoch compiles nothing anew and reading them waits for nothing.
    """
    state.register_buffer("epoch", torch.ones((), dtype=torch.int64))
    state.register_buffer("kept", torch.ones((), dtype=torch.float64))


RATE_BYTES = 16


def end_epoch(state: nn.Module, epoch: int, delta: float) -> None:
    """Note that `epoch` has ended; `kept` loses delta percent for each epoch that has ended.

    The published code subtracts in floats, again and again; so do we, to meet its k exactly.
    """
    kept = 1.0
    for _ in range(epoch):
        kept -= delta / 100
    state.epoch.fill_(epoch + 1)
    state.kept.fill_(kept)


def growing_k(
    state: nn.Module, unknown: Tensor, delta: float, k_of: KOf, reproduce: Reproduce | None
) -> Tensor:
    """How many labels to modify in this step, (...) int64: ceil((epoch - 1) delta % of a count).

    unknown (..., b, L) bool. k_of "batch" counts all b * L entries as the published code does,
    "unknown" the unknown ones as the paper says. The rate is an exact fraction, except under
    reproduce "cvpr22" and "cvpr23", whose floats give one more at some multiples. Never more than
    there are unknown labels (the published code would then modify known ones).
    """
    available = unknown.sum((-2, -1))
    entries = unknown.shape[-2] * unknown.shape[-1]
    if reproduce in ("cvpr22", "cvpr23"):
        k = torch.ceil(entries * (1 - state.kept)).long()
    else:
        share = Fraction(repr(delta)).limit_denominator(10**6)
        count = available if reproduce == "paper" or k_of == "unknown" else entries
        hundred = 100 * share.denominator
        k = ((state.epoch - 1) * share.numerator * count + hundred - 1) // hundred
    return torch.minimum(k.expand_as(available), available)


def large(losses: Tensor, unknown: Tensor, k: Tensor) -> Tensor:
    """(..., b, L) bool: unknown entries whose loss is at least the k-th largest among them.

    losses (..., b, L) at least 0;  k (...): exactly k entries and ties with the last; none for 0.
    """
    losses = losses.detach()
    if losses.dtype not in (torch.float32, torch.float64):
        losses = losses.float()
    candidates = torch.where(unknown, losses, -1.0).flatten(-2)
    limit = kth_largest(candidates, k)
    return unknown & (losses >= limit[..., None, None])


def kth_largest(values: Tensor, k: Tensor) -> Tensor:
    """The k-th largest of the values that are at least 0, along the last dimension; nan for k = 0.

    values (..., n) float32 or float64;  k (...) int64, at most the number of values >= 0.
    torch.topk wants k as a Python number; here it stays on the device. Few values are sorted; of
    many, sorting is four times as slow as finding the bits of one.
    """
    if values.shape[-1] > _MANY:
        return _by_bits(values, k)
    ordered = values.sort(-1, descending=True).values
    nothing = torch.full_like(ordered[..., :1], torch.nan)
    return torch.cat([nothing, ordered], -1).gather(-1, k[..., None]).squeeze(-1)


def _by_bits(values: Tensor, k: Tensor) -> Tensor:
    """The same without sorting: non-negative floats are ordered as their bits are.

    Each pass counts the values by their next bits, from the largest down, and keeps those bits of
    the k-th largest.
    """
    whole, rest = (torch.int32, 31) if values.dtype == torch.float32 else (torch.int64, 63)
    bits = values.contiguous().view(whole)
    found = torch.zeros_like(bits[..., 0])
    one = torch.ones((), dtype=torch.int32, device=values.device).expand(bits.shape)
    while rest:
        width = min(11, rest)
        rest -= width
        most = (1 << width) - 1
        head = bits >> rest
        alive = (head >> width) == (found >> rest >> width)[..., None]
        below = torch.where(alive, most - (head & most), most + 1).long()  # others: a last bin
        counts = torch.zeros((*k.shape, most + 2), dtype=torch.int32, device=values.device)
        at_least = counts.scatter_add_(-1, below, one).cumsum(-1)[..., :-1]
        chosen = (at_least < k[..., None]).sum(-1)
        k = k - F.pad(at_least, (1, 0)).gather(-1, chosen[..., None]).squeeze(-1)
        found = found | ((most - chosen).to(whole) << rest)
    return found.view(values.dtype)
