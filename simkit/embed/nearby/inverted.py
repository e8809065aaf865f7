"""Neighbours among very many rows: faiss looks into the nearest lists alone, and says how well."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.chance import Chance
from simkit.embed.nearby.nearest import Found, Places, cosines, nearest, ranked, squared_lengths
from simkit.embed.nearby.shortlist import imported_faiss, on_gpu, same_threads, without_own
from simkit.embed.unit import Rows

SAMPLE = 1000  # rows whose neighbours are searched exactly as well
ENOUGH = 0.99  # of the true neighbours
_TRAIN = 40  # rows for each list that say where the lists lie
_SPARE = 16
_READ = 1 << 22  # features read at a time


def nearest_in_lists(
    features: Rows,
    k: int,
    *,
    enough: float = ENOUGH,
    sample: int = SAMPLE,
    device: str = "auto",
) -> tuple[Found, float]:
    """The K nearest other rows that are found in a part of the lists, and the measured recall.

    features (n, D) float32 of length one. Rows lie in about 4 sqrt(n) lists around centres
    (faiss's IndexIVFScalarQuantizer, which keeps rows in fp16); the more lists are looked into,
    the more of the neighbours are found. Their number is doubled until, of a sample of rows, the
    share of true neighbours (by exact search) that are found is `enough`. Distances are those of
    the features, as `nearest` has them. Holds 2 n D bytes in the lists; while their centres are
    learnt 640 sqrt(n) D bytes, 40 rows for each, and as much again by faiss; and 200 MB to read
    and multiply. Raises BadInput where faiss is not installed. Source: Johnson, Douze & Jegou,
    IEEE Transactions on Big Data 2019.
    """
    n = features.shape[0]
    k = max(0, min(k, n - 1))
    if k == 0:
        return nearest(features, k), 1.0
    faiss = imported_faiss()
    asked = np.sort(Chance.seeded(0).of("recall").permutation(n).at(np.arange(min(sample, n))))
    truly = nearest(features, k, own=asked, device=device)
    with same_threads(faiss):
        index, lists = _filled(faiss, features, device)
        probes = min(8, lists)
        while True:
            faiss.ParameterSpace().set_index_parameter(index, "nprobe", probes)
            recall = _share(_searched(index, features, k, asked), truly)
            if recall >= enough or probes == lists:
                return _searched(index, features, k, np.arange(n)), recall
            probes = min(2 * probes, lists)


def _filled(faiss: Any, features: Rows, device: str) -> tuple[Any, int]:
    """An index of all rows, and the number of its lists."""
    n, width = features.shape
    lists = max(1, min(round(4 * math.sqrt(n)), n // _TRAIN))
    index = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(width),
        width,
        lists,
        faiss.ScalarQuantizer.QT_fp16,
        faiss.METRIC_INNER_PRODUCT,
        False,  # rows as they are: what is left of them beside a centre would be one more copy
    )
    if on_gpu(device):
        index.resources = faiss.StandardGpuResources()  # lives as long as the index
        index = faiss.index_cpu_to_gpu(index.resources, 0, index)
    learnt = Chance.seeded(0).of("lists").permutation(n).at(np.arange(min(n, _TRAIN * lists)))
    step = max(1, _READ // width)
    index.train(_gathered(features, np.sort(learnt), step))
    for start in range(0, n, step):
        index.add(features[start : start + step])
    return index, lists


def _gathered(features: Rows, places: Places, step: int) -> NDArray[np.float32]:
    """These rows, read in turns, because reading takes several times what they take."""
    found = np.empty((len(places), features.shape[1]), np.float32)
    for start in range(0, len(places), step):
        found[start : start + step] = features[places[start : start + step]]
    return found


def _searched(index: Any, features: Rows, k: int, own: Places) -> Found:
    n, width = features.shape
    places, away = np.empty((len(own), k), np.int64), np.empty((len(own), k))
    most, step = min(k + _SPARE, n - 1), max(1, _READ // width)
    for start in range(0, len(own), step):
        mine = own[start : start + step]
        product, met = index.search(features[mine], most + 1)
        product, met = without_own(product, met, mine)
        # Where too few were met, and for rows of zeros, which have no direction, all are asked.
        few = ((met >= 0).sum(1) < k) | ~features[mine].any(1)
        many = start + np.flatnonzero(~few)
        near = ranked(features, own[many], met[~few], met[~few] >= 0, k)
        places[many], away[many] = near
        if few.any():
            rest = nearest(features, k, own=mine[few])
            places[start : start + step][few] = rest.place
            away[start : start + step][few] = rest.distance
    squares = squared_lengths(features)
    return Found(places, away, cosines(squares[own, None], squares[places], away))


def _share(found: Found, truly: Found) -> float:
    """Which share of the true neighbours is found; one at the same distance is as good."""
    if not truly.distance.size:
        return 1.0
    return float((found.distance <= truly.distance[:, -1:]).mean())
