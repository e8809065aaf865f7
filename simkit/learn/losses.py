"""Losses of single entries, their reductions, and the k-th largest of them, for all methods.

Functions reduce over the last two dimensions, images and classes; others are runs.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from simkit.registry import Range

Epsilon = Literal["spml", "csl"]
SPML_EPSILON = 1e-5
CSL_FLOOR = 1e-8

Reduction = Literal["mean_all", "sum", "sum_classes"]
Gamma = Annotated[float, Range(0, 100)]
Clip = Annotated[float, Range(0, below=1)]
Weight = Annotated[float, Range(0, 1_000_000)]


def wide(logits: Tensor) -> Tensor:
    """The logits in float32 at least: losses, and selections by loss, need the precision."""
    return logits if logits.dtype == torch.float64 else logits.float()


def log_of(p: Tensor, epsilon: Epsilon | None = None) -> Tensor:
    """log p with the guards of published code.

    spml: log(p + 1e-5), as in Cole et al. 2021: the loss is at most 11.513 and the gradient
    vanishes where the model is confidently wrong.  csl: p is at least 1e-8, as in the code of
    Ridnik et al. 2021 and Ben-Baruch et al. 2022: beyond a logit of 18.4 the loss is 18.42, without
    gradient.
    """
    if epsilon == "spml":
        return torch.log(p + SPML_EPSILON)
    return torch.log(p.clamp(min=CSL_FLOOR) if epsilon == "csl" else p)


def bce(logits: Tensor, target: Tensor, epsilon: Epsilon | None = None) -> Tensor:
    """Binary cross-entropy of every entry: -t log p - (1 - t) log(1 - p) with p = sigmoid(x).

    Parameters
    ----------
    logits
        (..., b, L) x.
    target
        t, broadcastable to the logits: bool, or float from 0 to 1.
    epsilon
        Guard of the logarithm as in `log_of`; None: exact.

    Returns
    -------
    (..., b, L) losses.
    """
    logits = wide(logits)
    if epsilon is None:
        soft = target.to(logits.dtype).expand_as(logits)
        return F.binary_cross_entropy_with_logits(logits, soft, reduction="none")
    if target.dtype == torch.bool:
        return -log_of(torch.sigmoid(torch.where(target, logits, -logits)), epsilon)
    present = log_of(torch.sigmoid(logits), epsilon)
    return -(target * present + (1 - target) * log_of(torch.sigmoid(-logits), epsilon))


def entropy(logits: Tensor, epsilon: Epsilon | None = None) -> Tensor:
    """Entropy of every entry's own prediction, differentiable; exact without `epsilon`."""
    return bce(logits, torch.sigmoid(wide(logits)), epsilon)


def reduce(values: Tensor, how: str, counted: Tensor | None = None) -> Tensor:
    """Reduce (..., b, L) losses to one for each run, (...).

    mean_all: mean over all b * L entries, unknown ones included in the denominator (spml, LL).
    sum_classes: sum over classes, mean over images (Soft Exposure). sum: sum over all entries (the
    code of Ben-Baruch et al. 2022 and of ASL). mean_observed: mean over `counted` entries; 0
    without any.
    """
    if how == "mean_all":
        return values.mean((-2, -1))
    if how == "sum_classes":
        return values.sum(-1).mean(-1)
    if how == "sum":
        return values.sum((-2, -1))
    assert how == "mean_observed" and counted is not None, how
    return values.sum((-2, -1)) / counted.sum((-2, -1)).clamp(min=1)


def focused(
    logits: Tensor,
    present: Tensor,
    gammas: tuple[float, float],
    *,
    clip: float = 0.0,
    detach: bool = True,
    epsilon: Epsilon | None = None,
) -> Tensor:
    """Cross-entropy times (probability of error) ** gamma: focal loss and ASL.

    Parameters
    ----------
    logits
        (..., b, L).
    present
        (..., b, L) bool.
    gammas
        Exponents for present and for absent labels.
    clip
        Subtracted from the probability of a negative, which has no loss and no gradient below it.
    detach
        No gradient through the focusing weight (the reference class of ASL; its optimised twin and
        focal loss differentiate it).
    epsilon
        As in `bce`.

    Returns
    -------
    (..., b, L) losses.
    """
    logits = wide(logits)
    error = torch.sigmoid(torch.where(present, -logits, logits))
    values = bce(logits, present, epsilon)
    if clip:
        # A clip keeps the log away from 0 already, unless it is below the rounding error.
        clipped = (error - clip).clamp(0, 1 - torch.finfo(error.dtype).eps)
        values = torch.where(present, values, -torch.log1p(-clipped))
        error = torch.where(present, error, clipped)
    if gammas == (0, 0):
        return values
    error = error.detach() if detach else error
    weight = power(error, gammas[0])
    if gammas[0] != gammas[1]:
        weight = torch.where(present, weight, power(error, gammas[1]))
    return values * weight


def power(base: Tensor, gamma: float) -> Tensor:
    """base ** gamma of numbers from 0 to 1; integer powers by multiplication, many times faster."""
    if gamma != int(gamma) or gamma > 16:
        # Away from 0, where the derivative of a power below 1 is infinite.
        return base.clamp(min=torch.finfo(base.dtype).tiny).pow(gamma)
    product, whole = None, int(gamma)
    while whole:
        if whole % 2:
            product = base if product is None else product * base
        whole //= 2
        base = base * base if whole else base
    return torch.ones_like(base) if product is None else product


def kth_largest(values: Tensor, k: Tensor, among: Tensor | None = None) -> Tensor:
    """The k-th largest value along the last dimension; nan for k = 0.

    torch.topk needs k as a Python number, which would wait for the device, and recompile whenever k
    grows. On a device all values are sorted; on the CPU, where sorting takes many times as long as
    the loss, numpy partitions them at the k-th.

    Parameters
    ----------
    values
        (..., n) float32 or float64, without gradients.
    k
        (...) int64 from 0 to n.
    among
        (..., n) bool: the values to include; the result is -inf if they are fewer than k.

    Returns
    -------
    (...) the values.
    """
    if values.device.type == "cpu":
        return torch.ops.simkit.divided(values, k, among)
    return by_sorting(values, k, among)


def by_sorting(values: Tensor, k: Tensor, among: Tensor | None = None) -> Tensor:
    """`kth_largest` on a device."""
    if among is not None:
        values = torch.where(among, values, -torch.inf)
    ordered = values.sort(-1, descending=True).values
    nothing = torch.full_like(ordered[..., :1], torch.nan)
    return torch.cat([nothing, ordered], -1).gather(-1, k[..., None]).squeeze(-1)


# An operator, so that a compiler sees its shape only. torch.library.custom_op would be shorter, but
# loads the compiler (seconds) at its first call.
torch.library.define("simkit::divided", "(Tensor values, Tensor k, Tensor? among) -> Tensor")


@torch.library.impl("simkit::divided", "cpu")
def _divided(values: Tensor, k: Tensor, among: Tensor | None) -> Tensor:
    n = values.shape[-1]
    runs = k.numel()
    rows, counts = values.reshape(runs, n).numpy(), k.reshape(-1).tolist()
    masks = [None] * runs if among is None else among.reshape(runs, n).numpy()
    largest = []
    for row, rank, mask in zip(rows, counts, masks, strict=True):
        # Excluded values are removed: numpy is slow if most values equal the smallest one.
        kept = row.copy() if mask is None else np.compress(mask, row)
        if 0 < rank <= len(kept):
            kept.partition(len(kept) - rank)
            largest.append(float(kept[-rank]))
        else:
            largest.append(np.nan if rank == 0 else -np.inf)
    return torch.tensor(largest, dtype=values.dtype).reshape(k.shape)


@torch.library.register_fake("simkit::divided")
def _shape(values: Tensor, k: Tensor, among: Tensor | None) -> Tensor:
    return values.new_empty(k.shape)
