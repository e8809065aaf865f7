"""Binary cross-entropy and its reductions, on the last two dimensions."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Epsilon = Literal["spml", "csl"]
SPML_EPSILON = 1e-5
CSL_FLOOR = 1e-8

Reduction = Literal["mean_all", "sum", "sum_classes"]


def wide(logits: Tensor) -> Tensor:
    """The logits in float32 at least: losses, and what is selected by them, want the digits."""
    return logits if logits.dtype == torch.float64 else logits.float()


def log_of(p: Tensor, epsilon: Epsilon | None = None) -> Tensor:
    """log p as published code guards it.

    spml: log(p + 1e-5), as Cole et al. 2021 do: the loss ends at 11.513 and the gradient vanishes
    where the model is confidently wrong.  csl: p is at least 1e-8, as in the code of Ridnik et al.
    2021 and Ben-Baruch et al. 2022: beyond a logit of 18.4 the loss is 18.42, without gradient.
    """
    if epsilon == "spml":
        return torch.log(p + SPML_EPSILON)
    return torch.log(p.clamp(min=CSL_FLOOR) if epsilon == "csl" else p)


def bce(logits: Tensor, target: Tensor, epsilon: Epsilon | None = None) -> Tensor:
    """Cross-entropy of every entry, (..., b, L); exact without `epsilon`, else as in `log_of`.

    logits (..., b, L);  target, to be spread over them: bool, or float from 0 to 1.
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
    """(..., b, L) losses to one for each run, (...).

    mean_all: mean over all b * L entries, unknown ones included in the denominator (spml, LL).
    sum_classes: sum over classes, mean over images (Soft Exposure).
    sum: sum over everything (the code of Ben-Baruch et al. 2022 and of ASL).
    mean_observed: mean over `counted` entries; 0 where there is none.
    """
    if how == "mean_all":
        return values.mean((-2, -1))
    if how == "sum_classes":
        return values.sum(-1).mean(-1)
    if how == "sum":
        return values.sum((-2, -1))
    assert how == "mean_observed" and counted is not None, how
    return values.sum((-2, -1)) / counted.sum((-2, -1)).clamp(min=1)
