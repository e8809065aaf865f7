"""The largest products of every row with all others, each product taken once for both its rows.

To sort all products would take longer than to multiply, so a sample says first, for every row, how
large a product must be to be looked at: about one in thirty of those that are is kept at the end.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from simkit.embed.unit import Rows

LEAST = 32  # rows in a block
_PANEL = 512  # rows that are multiplied at a time: their products stay near the processor
_SAMPLE = 32  # one row in so many says what a large product is,
_FEWEST, _MOST = 256, 4096  # within these bounds
_RANK = 4  # of a row's products with the sample, the one that others must reach
_TIMES = 3  # as many as are kept should reach it
_WAITING = 1 << 21  # products that wait until the largest of each row are kept
_AT_ONCE = 512  # rows whose largest are sought at a time

Products = NDArray[np.float32]
Places = NDArray[np.int32]


class Largest:
    """The `most` largest products of each row so far.

    product (n, most) float32, largest first, -inf where fewer have come;  place (n, most) int32;
    least (n,): what a product must reach to be looked at.
    """

    def __init__(self, least: Products, most: int) -> None:
        self.least = least
        self.product = np.full((len(least), most), -np.inf, np.float32)
        self.place = np.zeros((len(least), most), np.int32)
        self._waiting: list[tuple[Places, Places, Products]] = []
        self._count = 0

    @property
    def rest(self) -> Products:
        """(n,) no product that is not kept is above this."""
        last = self.product[:, -1]
        return np.where(np.isfinite(last), last, self.least)

    def meet(self, found: Products, first: int, second: int) -> None:
        """Take the products (p, q) of rows that start at `first` with those that start at
        `second`; where they are the same rows, each comes before those that follow it."""
        rows, columns = found.shape
        large = found >= self.least[first : first + rows, None]
        large |= found >= self.least[None, second : second + columns]
        at = np.flatnonzero(large)
        product = found.ravel()[at]
        row, column = np.divmod(at.astype(np.int32), np.int32(columns))
        row, column = row + np.int32(first), column + np.int32(second)
        mine = product >= self.least[row]
        self._wait(row[mine], column[mine], product[mine])
        # Among the same rows each product is met twice already.
        theirs = (column >= first + rows) & (product >= self.least[column])
        self._wait(column[theirs], row[theirs], product[theirs])
        if self._count > _WAITING:
            self.settle()

    def _wait(self, row: Places, place: Places, product: Products) -> None:
        self._waiting.append((row, place, product))
        self._count += len(row)

    def settle(self) -> None:
        """Keep the largest of those that wait; from then on only larger ones are looked at."""
        if not self._count:
            return
        row, place, product = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        self._waiting, self._count = [], 0
        n = len(self.least)
        short = row.astype(np.uint16) if n <= 1 << 16 else row  # which numpy sorts much faster
        order = np.argsort(short, kind="stable")
        row, place, product = row[order], place[order], product[order]
        bounds = np.searchsorted(row, np.arange(0, n + _AT_ONCE, _AT_ONCE))
        for number, (start, stop) in enumerate(pairwise(bounds.tolist())):
            if start < stop:
                part, at = slice(start, stop), number * _AT_ONCE
                self._keep(at, row[part] - np.int32(at), place[part], product[part])
        last = self.product[:, -1]
        self.least = np.where(np.isfinite(last), np.nextafter(last, np.float32(2)), self.least)

    def _keep(self, start: int, row: Places, place: Places, product: Products) -> None:
        """Put products of some rows, which count from `start` and are sorted, among the kept."""
        kept, kept_place = (all_[start : start + _AT_ONCE] for all_ in (self.product, self.place))
        n, most = kept.shape
        count = np.bincount(row, minlength=n)
        slot = most + np.arange(len(row)) - (np.cumsum(count) - count)[row]
        table = np.full((n, most + int(count.max())), -np.inf, np.float32)
        places = np.zeros(table.shape, np.int32)
        table[:, :most], table[row, slot] = kept, product
        places[:, :most], places[row, slot] = kept_place, place
        top = torch.from_numpy(table).topk(most)
        kept[:] = top.values.numpy()
        kept_place[:] = np.take_along_axis(places, top.indices.numpy(), 1)


def pairs(rows: Rows, most: int, products: int) -> Largest:
    """The `most` largest products of each of n rows with others, on the processor.

    products: how many are held at a time. Of a row that the sample misjudges fewer than `most`
    are kept; none above its `rest` is missing ever.
    """
    n = rows.shape[0]
    side = max(LEAST, min(n, math.isqrt(products)))
    largest = Largest(_enough(rows, most, side), most)
    for a in range(0, n, side):
        left = read(rows, slice(a, a + side))
        for b in range(a, n, side):
            right = left if a == b else read(rows, slice(b, b + side))
            for at in range(0, len(left), _PANEL):
                ahead = at if a == b else 0
                found = (left[at : at + _PANEL] @ right[ahead:].T).numpy()
                if a == b:
                    np.fill_diagonal(found, -np.inf)  # a row is not its own neighbour
                largest.meet(found, a + at, b + ahead)
    largest.settle()
    return largest


def _enough(rows: Rows, most: int, side: int) -> Products:
    """(n,) for each row a product that some times `most` others probably reach."""
    n = rows.shape[0]
    size = min(n, max(_FEWEST, min(_MOST, n // _SAMPLE)))
    sample = np.arange(size) * n // size
    rank = max(_RANK, round(_TIMES * most * size / n))
    left, found = read(rows, sample), np.empty(n, np.float32)
    for start in range(0, n, side):
        part = slice(start, min(start + side, n))
        product = read(rows, part) @ left.T
        mine = np.flatnonzero((sample >= part.start) & (sample < part.stop))
        product[sample[mine] - start, mine] = -torch.inf
        found[part] = product.topk(min(rank, size - 1)).values[:, -1].numpy()
    return found


def read(rows: Rows, which: Any, device: str = "cpu") -> torch.Tensor:
    """Some rows on a device."""
    return torch.from_numpy(np.require(rows[which], requirements=["C", "W"])).to(device)
