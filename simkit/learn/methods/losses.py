"""Binary cross-entropy and its reductions, on the last two dimensions."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Epsilon = Literal["spml"]
SPML_EPSILON = 1e-5


def bce(logits: Tensor, positive: Tensor, epsilon: Epsilon | None = None) -> Tensor:
    """Cross-entropy of every entry with target 1 where `positive` (bool) and 0 elsewhere.

    logits (..., b, L); returns the same shape. epsilon "spml" is -log(p + 1e-5), as the code of
    Cole et al. 2021 computes it: it saturates at 11.513 and its gradient vanishes where the model
    is confidently wrong. Without it the form is exact.
    """
    if epsilon == "spml":
        agreed = torch.sigmoid(torch.where(positive, logits, -logits))
        return -torch.log(agreed + SPML_EPSILON)
    target = positive.to(logits.dtype).expand_as(logits)
    return F.binary_cross_entropy_with_logits(logits, target, reduction="none")


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
