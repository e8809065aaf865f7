"""The nearest other rows of every row, exactly: products propose, distances in float64 decide."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from simkit.embed.nearby.pairs import read
from simkit.embed.nearby.shortlist import PRODUCTS, Shortlist, rounding, shortlist
from simkit.embed.unit import Floats, Rows

_PAIRS = 1 << 15  # float64 differences held at a time: 256 KB, which stays in a processor's cache
_READ = 1 << 21  # features read at a time
_SQUARES = 1 << 17  # a megabyte of float64, for the same reason
_ROWS = 1 << 15

Places = NDArray[np.int64]
Near = tuple[Places, Floats]  # places and distances


class Found(NamedTuple):
    """place (q, K) int64, distance (q, K) and cosine (q, K) float64 of the K nearest."""

    place: Places
    distance: Floats
    cosine: Floats


def nearest(
    features: Rows,
    k: int,
    *,
    own: Places | None = None,
    scores: int = PRODUCTS,
    engine: str = "auto",
    device: str = "auto",
) -> Found:
    """Indices (q, K), Euclidean distances and one minus the cosine, of the K nearest other rows.

    features (n, D) float32 of length one or zero, K = min(k, n - 1);  own (q,): which rows ask,
    all by default. Ordered by distance, then index. float32 products propose candidates; float64
    distances of the float32 features decide. A product is off by a bounded amount, so every row
    that could belong is looked at: neither the engine (see `shortlist`), nor `scores`, how many
    products are held at a time, nor the number of threads changes a bit.
    """
    n = features.shape[0]
    k = max(0, min(k, n - 1))
    asking = np.arange(n) if own is None else own
    if k == 0 or not len(asking):
        return Found(*(np.zeros((len(asking), k), kind) for kind in (np.int64, float, float)))
    squares = squared_lengths(features)
    how: dict[str, Any] = {"engine": engine, "device": device, "products": scores}
    search = _exact if squares.all() else _beside_zeros
    index, away = search(features, squares, k, own, how)
    return Found(index, away, cosines(squares[asking, None], squares[index], away))


def _exact(
    features: Rows, squares: Floats, k: int, own: Places | None, how: dict[str, Any]
) -> Near:
    asking = np.arange(len(squares)) if own is None else own
    if k == 0 or not len(asking):
        return np.zeros((len(asking), k), np.int64), np.zeros((len(asking), k))
    short = shortlist(features, k, own=own, **how)
    return _settled(features, squares, short, k, asking, how["products"])


def _settled(
    features: Rows, squares: Floats, short: Shortlist, k: int, own: Places, products: int
) -> Near:
    """The k nearest, exactly, by a list of those with the largest products."""
    n, width = features.shape
    # Lengths differ by rounding too: |x - y|^2 = |x|^2 + |y|^2 - 2 x y.
    off = short.off + float(np.ptp(squares)) / 4
    least = short.product[:, k - 1].astype(np.float64) - 2 * off
    index, away = np.empty((len(own), k), np.int64), np.empty((len(own), k))
    for start in range(0, len(own), _ROWS):
        part = slice(start, start + _ROWS)
        open_ = short.product[part] >= least[part, None]
        near = ranked(features, own[part], short.place[part], open_, k)
        index[part], away[part] = near
    if short.place.shape[1] < n - 1:  # others may be as near as the last on the list
        doubtful = np.flatnonzero(short.rest >= least)
        # Looked at again by other products, which are off as well.
        least -= rounding(width)
        _widened(features, own, doubtful, least, (index, away), products)
    return index, away


def cosines(here: Floats, there: Floats, away: Floats) -> Floats:
    """One minus the cosine, from the squares of both lengths and the distance."""
    lengths = np.sqrt(here * there)
    product = (here + there - away**2) / 2
    return np.maximum(1 - product / np.where(lengths > 0, lengths, 1.0), 0.0)


def ranked(features: Rows, own: Places, index: Places, open_: NDArray[np.bool_], k: int) -> Near:
    """The k nearest of the open entries of index (q, m), at least k in each row."""
    row, column = np.nonzero(open_)
    away = np.full(index.shape, np.inf)
    first, second, n = own[row], index[row, column], features.shape[0]
    # Who is near is often so both ways, and the distance is the same.
    pairs, place = np.unique(
        np.minimum(first, second) * n + np.maximum(first, second), return_inverse=True
    )
    away[row, column] = distances(features, pairs // n, pairs % n)[place]
    return _first(index, away, k)


def _first(index: Places, away: Floats, k: int) -> Near:
    """The first k of each row, by distance, then place."""
    order = np.lexsort((index, away), axis=-1)[:, :k]
    return np.take_along_axis(index, order, 1), np.take_along_axis(away, order, 1)


def distances(features: Rows, first: Places, second: Places) -> Floats:
    """Euclidean distances (p,) between pairs of rows, in float64."""
    step = max(1, _PAIRS // features.shape[1])
    found = np.empty(len(first))
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        gap = features[second[part]].astype(np.float64)
        gap -= features[first[part]].astype(np.float64)  # faster than to subtract float32
        np.multiply(gap, gap, out=gap)
        found[part] = gap.sum(1)
    return np.sqrt(found)


def _widened(
    features: Rows,
    own: Places,
    doubtful: Places,
    least: Floats,
    found: Near,
    products: int,
) -> None:
    """Rank for the doubtful rows everything whose product is not below `least`."""
    n, width = features.shape
    index, away = found
    step = max(1, products // n)
    read_at_once = max(1, _READ // width)
    for start in range(0, len(doubtful), step):
        rows = doubtful[start : start + step]
        here = read(features, own[rows], "cpu")
        product = torch.empty((len(rows), n))
        for at in range(0, n, read_at_once):
            turn = slice(at, at + read_at_once)
            torch.mm(here, read(features, turn, "cpu").T, out=product[:, turn])
        product[np.arange(len(rows)), own[rows]] = -torch.inf
        for place, near in zip(rows, product.numpy(), strict=True):
            several = np.flatnonzero(near >= least[place])
            gap = distances(features, np.full(len(several), own[place]), several)
            order = np.lexsort((several, gap))[: index.shape[1]]
            index[place], away[place] = several[order], gap[order]


class _Chosen:
    """Some of the rows, in this order."""

    def __init__(self, rows: Rows, places: Places) -> None:
        self._rows, self._places = rows, places
        self.shape: tuple[int, ...] = (len(places), rows.shape[1])

    def __getitem__(self, index: Any) -> NDArray[np.float32]:
        return self._rows[self._places[index]]


def _beside_zeros(
    features: Rows, squares: Floats, k: int, own: Places | None, how: dict[str, Any]
) -> Near:
    """Rows of zeros are as far from all others as those are long, which no product says."""
    n, lengths = len(squares), np.sqrt(squares)
    asking = np.arange(n) if own is None else own
    index, away = np.empty((len(asking), k), np.int64), np.empty((len(asking), k))
    live, zero = np.flatnonzero(squares > 0), np.flatnonzero(squares == 0)
    mine = squares[asking] > 0
    some = None if own is None else np.searchsorted(live, asking[mine])
    few = max(0, min(k, len(live) - 1))
    near, gap = _exact(_Chosen(features, live), squares[live], few, some, how)
    others = zero[:k]  # all are at the same distance
    shape = len(near), len(others)
    near = np.concatenate([live[near], np.broadcast_to(others, shape)], 1)
    far = np.broadcast_to(lengths[asking[mine], None], shape)
    index[mine], away[mine] = _first(near, np.concatenate([gap, far], 1), k)
    # Seen from a row of zeros the order is the same for all.
    by_length = np.lexsort((np.arange(n), lengths))[: k + 1]
    for place in np.flatnonzero(~mine):
        index[place] = by_length[by_length != asking[place]][:k]
        away[place] = lengths[index[place]]
    return index, away


def squared_lengths(features: Rows) -> Floats:
    """(n,) squares of the lengths."""
    n, width = features.shape
    step, found = max(1, _SQUARES // width), np.empty(n)
    for start in range(0, n, step):
        some = features[start : start + step].astype(np.float64)
        np.multiply(some, some, out=some)
        found[start : start + step] = some.sum(1)
    return found
