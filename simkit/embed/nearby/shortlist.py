"""Who may be near: the rows with the largest products, by float32 products of all with all.

A product of unit vectors in float32 is off by a bounded amount, which every search here states;
`simkit.embed.nearby.nearest` decides by exact distances among all rows that the bound leaves open.
So all searches lead to the same neighbours, and the fastest may be taken.
"""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.embed.nearby.pairs import LEAST, pairs, read
from simkit.embed.unit import Rows
from simkit.errors import BadInput, unknown

PRODUCTS = 1 << 24  # held at a time: 64 MB, and as much again when they are turned
_SPARE = 8  # rows beyond the asked ones, so that rounding seldom leaves one open
_SPARE_TF32 = 112
_MANY = 2048  # rows whose products are worth a sample first, which says what is large,
_SHARE = 16  # if one in so many is kept at most


class Shortlist(NamedTuple):
    """Of q rows at most m others with the largest products, largest first.

    place (q, m) int64;  product (q, m) float32, off by at most `off`, -inf where none is;
    rest (q,): no product of a row that is not listed is above it.
    """

    place: NDArray[np.int64]
    product: NDArray[np.float32]
    rest: NDArray[np.float32]
    off: float


def shortlist(
    rows: Rows,
    k: int,
    *,
    own: NDArray[np.int64] | None = None,
    engine: str = "auto",
    device: str = "auto",
    products: int = PRODUCTS,
) -> Shortlist:
    """At least k others for each row, or for the rows `own`; k is at most n - 1.

    engine: "blocks" are products by torch, each taken once for both of its rows (see `pairs`);
    "faiss" is faiss's IndexFlatIP, which holds all rows; "auto" is faiss on a GPU, where it is
    installed, and blocks elsewhere: they need half the products. Raises BadInput for another
    engine, and for "faiss" where it is not installed.  device: "cpu", "cuda", or "auto" for a GPU
    where there is one.
    """
    name = engine
    device = "cuda" if on_gpu(device) else "cpu"
    if engine == "auto":
        name = "faiss" if device == "cuda" and own is None and has_faiss() else "blocks"
    if name not in ENGINES:
        raise unknown("search", engine, ("auto", *ENGINES))
    return ENGINES[name](rows, k, own, device, products)


def rounding(width: int) -> float:
    """How far a float32 product of two unit vectors is off, at most, in any order of adding up."""
    return (width + 8) * 2.0**-24


def on_gpu(device: str) -> bool:
    """Whether this text for a device is one: "auto" is, where there is a GPU."""
    return torch.cuda.is_available() if device == "auto" else device != "cpu"


def has_faiss() -> bool:
    """Whether faiss can be imported."""
    return importlib.util.find_spec("faiss") is not None


def _by_blocks(
    rows: Rows, k: int, own: NDArray[np.int64] | None, device: str, products: int
) -> Shortlist:
    n, width = rows.shape
    most = min(k + _SPARE, n - 1)
    with _full_float32():
        if own is not None or device != "cpu" or n < max(_MANY, _SHARE * most):
            place, product = _all(rows, most, own, device, products)
            return Shortlist(place, product, product[:, -1], rounding(width))
        found = pairs(rows, most, products)
        place, product, rest = found.place.astype(np.int64), found.product, found.rest
        few = np.flatnonzero(np.isneginf(product[:, k - 1]))
        if len(few):
            place[few], product[few] = _all(rows, most, few, device, products)
            rest[few] = product[few, -1]
    return Shortlist(place, product, rest, rounding(width))


def _all(
    rows: Rows, most: int, own: NDArray[np.int64] | None, device: str, products: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Places and products (q, most) of the largest, by looking at all."""
    n = rows.shape[0]
    side = max(LEAST, min(n, math.isqrt(products)))
    queries = np.arange(n) if own is None else own
    best = torch.full((len(queries), most), -torch.inf, device=device)
    index = torch.zeros((len(queries), most), dtype=torch.int64, device=device)
    for a in range(0, len(queries), side):
        mine = slice(a, min(a + side, len(queries)))
        left = read(rows, mine if own is None else own[mine], device)
        for b in range(a if own is None else 0, n, side):
            turn = slice(b, min(b + side, n))
            right = left if own is None and a == b else read(rows, turn, device)
            found = left @ right.T
            _hide(found, queries[mine], turn)
            _merge(best[mine], index[mine], found, b)
            if own is None and a < b:  # the same products are those of the other rows
                _merge(best[turn], index[turn], found.T.contiguous(), a)
    return index.cpu().numpy(), best.cpu().numpy()


def _hide(found: Tensor, queries: NDArray[np.int64], turn: slice) -> None:
    """A row is not its own neighbour."""
    here = np.flatnonzero((queries >= turn.start) & (queries < turn.stop))
    found[here, queries[here] - turn.start] = -torch.inf


def _merge(best: Tensor, index: Tensor, found: Tensor, start: int) -> None:
    """Put the largest of the products found, whose columns count from `start`, among the best."""
    top = found.topk(min(best.shape[1], found.shape[1]))
    if not start and top.values.shape == best.shape:  # nothing can be there yet
        best.copy_(top.values)
        index.copy_(top.indices)
        return
    both = torch.cat([best, top.values], 1).topk(best.shape[1])
    index.copy_(torch.cat([index, top.indices + start], 1).gather(1, both.indices))
    best.copy_(both.values)


def _by_faiss(
    rows: Rows, k: int, own: NDArray[np.int64] | None, device: str, products: int
) -> Shortlist:
    faiss = imported_faiss()
    n, width = rows.shape
    most = min(k + (_SPARE if device == "cpu" else _SPARE_TF32), n - 1)
    # On a GPU products may be in TF32, whose ten bits leave each factor off by 2^-10 at most.
    off = rounding(width) + (0 if device == "cpu" else 2.0**-9 + 2.0**-20)
    index = faiss.IndexFlatIP(width)
    if device != "cpu":
        resources = faiss.StandardGpuResources()  # must live as long as the index
        index = faiss.index_cpu_to_gpu(resources, 0, index)
    step = max(LEAST, products // width)
    with same_threads(faiss):
        for start in range(0, n, step):
            index.add(rows[start : start + step])
        queries = np.arange(n) if own is None else own
        parts = []
        for start in range(0, len(queries), step):
            mine = queries[start : start + step]
            product, place = index.search(rows[mine], most + 1)
            parts.append(without_own(product, place, mine))
    product, place = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Shortlist(place, product, product[:, -1], off)


ENGINES: dict[str, Callable[..., Shortlist]] = {"blocks": _by_blocks, "faiss": _by_faiss}


def without_own(
    product: NDArray[np.float32], place: NDArray[np.int64], own: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Products and places (q, m + 1) without each row itself, or without the last where it is
    not among them: (q, m)."""
    drop = place == own[:, None]
    drop[~drop.any(1), -1] = True
    shape = len(place), place.shape[1] - 1
    return product[~drop].reshape(shape), place[~drop].reshape(shape)


def imported_faiss() -> Any:
    """The package, or BadInput where it is not installed.

    faiss's wheels bring an OpenBLAS that is older than many processors and then multiplies as on
    the oldest, four times slower. It reads OPENBLAS_CORETYPE when it is loaded, which is set here
    unless the user has.
    """
    core = blas_core()
    if core and "faiss" not in sys.modules:
        os.environ.setdefault("OPENBLAS_CORETYPE", core)
    try:
        import faiss
    except ImportError:
        raise BadInput(
            "faiss is asked for and cannot be imported; install faiss-gpu or faiss-cpu, or search "
            'by blocks (engine="blocks")'
        ) from None
    return faiss


def blas_core() -> str:
    """What OpenBLAS calls the best of its kernels for this processor, "" where nothing says."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text("utf-8").split())
    except OSError:
        return ""
    return "SkylakeX" if "avx512f" in flags else "Haswell" if "avx2" in flags else ""


@contextmanager
def _full_float32() -> Iterator[None]:
    """Products in float32 whatever the program allows otherwise: the bound speaks of them."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def same_threads(faiss: Any) -> Iterator[None]:
    """As many threads as torch has; faiss counts its own."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(torch.get_num_threads())
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
