"""From distances to temperatures: the softness of an unknown label's target.

For an unknown label, d+ is the distance to the closest present label and d- that to the closest
absent label: of another class in the same image (distances of label medians), or of the same class
in a neighbouring image. All shapes follow from the arguments' shapes and not from values, so that
nothing waits for the device. Source: Soft Exposure, eq. 3 to 8.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.labels.partial import ABSENT, PRESENT, PartialLabels

Distance = Literal["euclidean", "cosine"]
Nearest = Literal["min", "median5"]
Form = Literal["printed", "inverse"]
Maxima = Literal["separate", "joint"]

SMALLEST = 1e-6  # of |T|, which gamma can bring to zero
_ENTRIES = 1 << 24  # distances in memory at a time: 128 MB
_ROWS = 4096  # images packed at a time
_CODES = (PRESENT, ABSENT & 3)  # as two bits


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
    for start in range(0, N, _ROWS):
        codes = labels.rows(np.arange(start, min(start + _ROWS, N))).view(np.uint8) & 3
        codes = np.pad(codes, ((0, 0), (0, -L % 4)))
        for place in range(4):
            packed[start : start + _ROWS] |= codes[:, place::4] << (2 * place)
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
