"""The k-th largest of many values, where k is a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def kth_largest(values: Tensor, k: Tensor, among: Tensor | None = None) -> Tensor:
    """The k-th largest value along the last dimension; nan for k = 0.

    values (..., n) float32 or float64, not tracked for gradients;  k (...) int64 from 0 to n;
    among (..., n) bool: which values take part, -inf is the answer if they are fewer than k.
    torch.topk wants k as a Python number, which a device would have to be waited for, and which
    would compile anew when it grows. On a device all values are sorted; on the CPU, where sorting
    takes many times as long as the loss, numpy divides them at the k-th.
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


# An operator of its own, so that a compiler looks at its shape alone. torch.library.custom_op
# would do it in fewer words, and load the compiler (seconds) when it is first called.
torch.library.define("simkit::divided", "(Tensor values, Tensor k, Tensor? among) -> Tensor")


@torch.library.impl("simkit::divided", "cpu")
def _divided(values: Tensor, k: Tensor, among: Tensor | None) -> Tensor:
    n = values.shape[-1]
    runs = k.numel()
    rows, counts = values.reshape(runs, n).numpy(), k.reshape(-1).tolist()
    masks = [None] * runs if among is None else among.reshape(runs, n).numpy()
    found = [_kth(*given) for given in zip(rows, counts, masks, strict=True)]
    return torch.tensor(found, dtype=values.dtype).reshape(k.shape)


def _kth(row: NDArray[Any], k: int, mask: NDArray[np.bool_] | None) -> float:
    # What takes no part is left out: numpy is slow where most values are the smallest one.
    kept = row.copy() if mask is None else np.compress(mask, row)
    if not 0 < k <= len(kept):
        return np.nan if k == 0 else -np.inf
    kept.partition(len(kept) - k)
    return float(kept[-k])


@torch.library.register_fake("simkit::divided")
def _shape(values: Tensor, k: Tensor, among: Tensor | None) -> Tensor:
    return values.new_empty(k.shape)
