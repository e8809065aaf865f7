"""The nearest neighbours of every image: faiss proposes candidates, float64 distances decide.

float32 distances are off by a bounded amount. A row whose candidates leave open who is nearest
within that bound is searched again among more of them, so that neither batches nor threads nor the
processor change a bit of the result.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from simkit.chance import Chance
from simkit.embed.unit import Floats, Rows, same_features, unit_rows
from simkit.errors import BadInput
from simkit.history import content_id
from simkit.labels.truth import locked

NEIGHBOURS = 32
IN_LISTS_ABOVE = 1_000_000  # images; all with all take hours on a processor beyond it
_KEPT = 4  # searches that a process remembers
SAMPLE = 1000  # rows by which the recall of a search in lists is measured
ENOUGH = 0.99  # recall from which no more lists are searched
BATCH = 1 << 22  # features read at a time
_SPARE = 8  # candidates beyond K, so that rounding seldom leaves a row open
_TIMES = 8  # as many candidates for a row that is left open
_PAIRS = 1 << 17  # features in pairs of rows, in float64: a megabyte, for the processor's cache
_MOST = 2047  # candidates that faiss gives on a GPU; beyond them all rows are compared
_TRAIN = 40  # rows for each list from which its centre is learned

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The K asked images whose features are nearest to each asked image's, itself left out.

    index (N, K) int32 rows, nearest first, the smaller index first at equal distances; -1 in the
    rows of images that were not asked.  distance (N, K) float64 between features of unit length,
    Euclidean, and cosine (N, K) float64, one minus the cosine; nan where index is -1.  recall: the
    share of the true neighbours that were found, 1 by an exact search, else measured on a sample.
    inputs: the id of the features, "" where nobody said.
    """

    index: NDArray[np.int32]
    distance: NDArray[np.float64]
    cosine: NDArray[np.float64]
    recall: float = 1.0
    inputs: str = ""

    name: ClassVar[str] = "neighbours"

    @cached_property
    def id(self) -> str:
        """Content id."""
        return content_id(self.name, self.index, self.distance, self.cosine)

    @classmethod
    def wanted(cls, needs: Any) -> dict[str, Any]:
        """How to `build` them for methods with these needs."""
        return {"k": max(NEIGHBOURS, needs.neighbours)}

    @classmethod
    def build(
        cls,
        task: Any,
        *,
        train: Callable[..., Any] | None = None,
        k: int = NEIGHBOURS,
        in_lists_above: int | None = IN_LISTS_ABOVE,
    ) -> Neighbours:
        """Search among the asked images, with faiss.

        Takes some minutes on one thread for 65,000 images of 2,048 features, 25 times that for
        325,000, and less on a GPU. A process remembers its last searches.

        Parameters
        ----------
        task
            With features of N images.
        k
            Neighbours of each image; all others where there are fewer.
        in_lists_above
            More asked images than this are searched by `nearest_in_lists`, whose recall stands in
            the result and in a warning; None: the search is exact, however many there are.

        Raises
        ------
        BadInput
            For another k, and where the task has no features.
        """
        if k != int(k) or k < 1:
            raise BadInput(f"neighbours: k is {k}; a whole number of at least 1 is expected")
        k, asked = int(k), np.asarray(task.labels.asked)
        features = None if task.inputs is None else task.inputs.id
        in_lists = in_lists_above is not None and int(asked.sum()) > in_lists_above
        key = content_id(str(features), asked, str(k), str(in_lists))
        if key not in _recent:
            result = cls._searched(unit_rows(task, "neighbours"), asked, k, in_lists)
            _recent[key] = replace(result, inputs=features or "")
            if in_lists:
                warnings.warn(
                    f"neighbours of {int(asked.sum()):,} images were searched in lists, which "
                    f"finds {result.recall:.1%} of them by a sample; "
                    "Neighbours.build(task, in_lists_above=None) finds all and takes longer",
                    stacklevel=2,
                )
        _recent[key] = _recent.pop(key)  # the latest is the last
        while len(_recent) > _KEPT:
            del _recent[next(iter(_recent))]
        return _recent[key]

    @classmethod
    def _searched(
        cls, features: Rows, asked: NDArray[np.bool_], k: int, in_lists: bool
    ) -> Neighbours:
        result, recall = nearest_in_lists(features, k) if in_lists else (nearest(features, k), 1.0)
        rows, shape = np.flatnonzero(asked), (len(asked), result.place.shape[1])
        index = np.full(shape, -1, np.int32)
        index[rows] = rows[result.place]
        values = np.full((2, *shape), np.nan)
        values[0, rows], values[1, rows] = result.distance, result.cosine
        return cls(locked(index), locked(values[0]), locked(values[1]), recall)

    def fits(self, task: Any) -> bool:
        """Whether these may be of the task: its asked images and, where both are known, features.

        Whoever trains on pictures or maps may take neighbours by other features.
        """
        if len(self.index) != len(task.labels.asked):
            return False
        if self.index.shape[1] and ((self.index[:, 0] >= 0) != task.labels.asked).any():
            return False
        return same_features(self.inputs, task)


_recent: dict[str, Neighbours] = {}  # the last searches


class Nearest(NamedTuple):
    """The K nearest rows of q rows, nearest first, the smaller place first at equal distances.

    place (q, K) int64;  distance (q, K) float64, Euclidean;  cosine (q, K) float64, one minus it.
    """

    place: Places
    distance: Floats
    cosine: Floats


def nearest(
    features: Rows,
    k: int,
    *,
    queries: Places | None = None,
    device: str = "auto",
    batch: int = BATCH,
) -> Nearest:
    """The exact nearest other rows, by faiss's IndexFlatL2 and exact distances.

    Parameters
    ----------
    features
        (n, D) float32 rows of length one or zero. faiss holds 4 n D bytes of them.
    k
        Neighbours; all n - 1 others where there are fewer.
    queries
        (q,) places of the rows whose neighbours are searched; all by default.
    device
        "cpu", "cuda", or "auto" for a GPU where torch and faiss both see one.
    batch
        Features read at a time; changes nothing but memory and speed.

    Raises
    ------
    BadInput
        Where faiss is not installed.
    """
    n, width = features.shape
    k = max(0, min(k, n - 1))
    queries = np.arange(n) if queries is None else queries
    if k == 0 or not len(queries):
        return _nothing(len(queries), k)
    faiss = imported_faiss()
    index, rounding = _on_device(faiss, faiss.IndexFlatL2(width), device)
    # |x - y|^2 = |x|^2 + |y|^2 - 2 x y: four float32 sums of squares up to one.
    rounding = 4 * ((width + 8) * 2.0**-24 + rounding)
    for start in range(0, n, _rows(batch, width)):
        index.add(features[start : start + _rows(batch, width)])
    place = np.empty((len(queries), k), np.int64)
    distance = np.empty((len(queries), k))
    unsure, candidates = np.arange(len(queries)), min(k + _SPARE, n - 1)
    while len(unsure):
        if candidates > _MOST:
            candidates = n - 1
        left = []
        step = min(_rows(batch, width), _rows(batch, candidates))
        for start in range(0, len(unsure), step):
            block = unsure[start : start + step]
            squared, among = _candidates(index, features, queries[block], candidates)
            far = squared[:, :-1] > squared[:, [k - 1]] + 2 * rounding  # surely not among the k
            among = np.where(far, -1, among)
            place[block], distance[block] = _ranked(features, queries[block], among, k)
            left.append(block[distance[block, -1] ** 2 >= squared[:, -1] - rounding])
        unsure = np.concatenate(left)
        candidates = min(_TIMES * candidates, n - 1)
    return _with_cosines(features, queries, place, distance)


def nearest_in_lists(
    features: Rows,
    k: int,
    *,
    enough: float = ENOUGH,
    sample: int = SAMPLE,
    device: str = "auto",
) -> tuple[Nearest, float]:
    """The nearest other rows in a part of the lists of an inverted index, and their recall.

    Rows lie in about 4 sqrt(n) lists around learned centres (faiss's IndexIVFScalarQuantizer, rows
    in fp16). The number of searched lists is doubled until the recall, measured on a sample of rows
    by the exact search, is `enough`. Distances and their order are exact.

    Parameters
    ----------
    features, k, device
        As in `nearest`. faiss holds 2 n D bytes, and 1,280 sqrt(n) D while centres are learned; the
        exact search of the sample holds 4 n D bytes before that.
    enough
        Wanted recall.
    sample
        Rows in the sample.

    References
    ----------
    Johnson, Douze & Jégou, "Billion-scale similarity search with GPUs", IEEE Transactions on Big
    Data 2019.
    """
    n = features.shape[0]
    k = max(0, min(k, n - 1))
    if k == 0:
        return _nothing(n, k), 1.0
    faiss = imported_faiss()
    chosen = np.sort(Chance.seeded(0).of("recall").permutation(n).at(np.arange(min(sample, n))))
    exact = nearest(features, k, queries=chosen, device=device)
    index, lists = _filled(faiss, features, device)
    probes = min(8, lists)
    while True:
        faiss.ParameterSpace().set_index_parameter(index, "nprobe", probes)
        tried = _in_lists(index, features, k, chosen)
        recall = float((tried.distance <= exact.distance[:, -1:]).mean())
        if recall >= enough or probes == lists:
            return _in_lists(index, features, k, np.arange(n)), recall
        probes = min(2 * probes, lists)


def _candidates(
    index: Any, features: Rows, rows: Places, count: int
) -> tuple[NDArray[np.float32], Places]:
    """Squared distances (q, count + 1) and places (q, count) of candidates; all others are at least
    as far as the last of the distances."""
    n = features.shape[0]
    if count == n - 1:  # all others: nobody is beyond
        squared = np.zeros((len(rows), n), np.float32)
        squared[:, -1] = np.inf
        others = np.arange(n - 1)
        return squared, others + (others >= rows[:, None])
    squared, place = index.search(features[rows], count + 2)
    itself = place == rows[:, None]
    itself[~itself.any(1), -1] = True  # the last goes where the row itself is not among them
    squared, place = (values[~itself].reshape(len(rows), -1) for values in (squared, place))
    return squared, place[:, :-1]


def _ranked(features: Rows, rows: Places, place: Places, k: int) -> tuple[Places, Floats]:
    """The k nearest of the candidates (q, m), -1 where there is none, and their distances."""
    distance = np.full(place.shape, np.inf)
    row, column = np.nonzero(place >= 0)
    distance[row, column] = distances(features, rows[row], place[row, column])
    order = np.lexsort((place, distance), axis=-1)[:, :k]
    return np.take_along_axis(place, order, 1), np.take_along_axis(distance, order, 1)


def distances(features: Rows, first: Places, second: Places) -> Floats:
    """Euclidean distances (p,) between pairs of rows, in float64."""
    distance = np.empty(len(first))
    step = _rows(_PAIRS, features.shape[1])
    for start in range(0, len(first), step):
        block = slice(start, start + step)
        gap = features[second[block]].astype(np.float64)
        gap -= features[first[block]].astype(np.float64)
        np.multiply(gap, gap, out=gap)
        distance[block] = gap.sum(1)
    return np.sqrt(distance)


def _with_cosines(features: Rows, rows: Places, place: Places, distance: Floats) -> Nearest:
    n, width = features.shape
    squares = np.empty(n)
    for start in range(0, n, _rows(BATCH, width)):
        block = features[start : start + _rows(BATCH, width)].astype(np.float64)
        squares[start : start + len(block)] = np.multiply(block, block, out=block).sum(1)
    square, others = squares[rows, None], squares[place]
    lengths = np.sqrt(square * others)
    product = (square + others - distance**2) / 2
    cosine = np.maximum(1 - product / np.where(lengths > 0, lengths, 1.0), 0.0)
    return Nearest(place, distance, cosine)


def _filled(faiss: Any, features: Rows, device: str) -> tuple[Any, int]:
    """An index of all rows in lists, and their number."""
    n, width = features.shape
    lists = max(1, min(round(4 * math.sqrt(n)), n // _TRAIN))
    index = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatL2(width), width, lists, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_L2,
        False,  # rows as they are: residuals would be one more copy
    )  # fmt: skip
    index, _ = _on_device(faiss, index, device)
    step = _rows(BATCH, width)
    learned = Chance.seeded(0).of("lists").permutation(n).at(np.arange(min(n, _TRAIN * lists)))
    learned = np.sort(learned)
    centres = np.empty((len(learned), width), np.float32)
    for start in range(0, len(learned), step):  # reading takes several times the room of the rows
        centres[start : start + step] = features[learned[start : start + step]]
    index.train(centres)
    for start in range(0, n, step):
        index.add(features[start : start + step])
    return index, lists


def _in_lists(index: Any, features: Rows, k: int, queries: Places) -> Nearest:
    n, width = features.shape
    place, distance = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
    candidates = min(k + _SPARE, n - 1)
    for start in range(0, len(queries), _rows(BATCH, width)):
        block = slice(start, start + _rows(BATCH, width))
        _, among = _candidates(index, features, queries[block], candidates)
        place[block], distance[block] = _ranked(features, queries[block], among, k)
    short = np.flatnonzero(place[:, -1] < 0)
    if len(short):  # fewer than k others lie in the searched lists
        exact = nearest(features, k, queries=queries[short], device="cpu")
        place[short], distance[short] = exact.place, exact.distance
    return _with_cosines(features, queries, place, distance)


def _nothing(queries: int, k: int) -> Nearest:
    return Nearest(*(np.zeros((queries, k), kind) for kind in (np.int64, float, float)))


def _rows(features: int, width: int) -> int:
    """Rows that hold so many features, at least one."""
    return max(1, features // width)


def _on_device(faiss: Any, index: Any, device: str) -> tuple[Any, float]:
    """The index on a GPU or the processor, and how far its products of unit rows may be off beyond
    the rounding of float32."""
    gpu = torch.cuda.is_available() if device == "auto" else device != "cpu"
    if not gpu or not getattr(faiss, "get_num_gpus", int)():  # faiss-cpu sees none
        return index, 0.0
    resources = faiss.StandardGpuResources()
    index = faiss.index_cpu_to_gpu(resources, 0, index)
    index.resources = resources  # must live as long as the index
    return index, 2.0**-9 + 2.0**-20  # TF32 keeps ten bits of each factor


def imported_faiss() -> Any:
    """The package, or BadInput where it is not installed.

    faiss's wheels bring an OpenBLAS that takes processors newer than itself for the oldest, and
    multiplies four times slower. OPENBLAS_CORETYPE, read when it is loaded, is set here unless the
    user has.
    """
    if "faiss" not in sys.modules and (core := blas_core()):
        os.environ.setdefault("OPENBLAS_CORETYPE", core)
    try:
        import faiss
    except ImportError:
        raise BadInput(
            "nearest neighbours need faiss, which cannot be imported; run pip install faiss-gpu, "
            "or faiss-cpu where there is no wheel of it"
        ) from None
    faiss.omp_set_num_threads(torch.get_num_threads())  # it counts its own
    return faiss


def blas_core() -> str:
    """The name of OpenBLAS's best kernels for this processor, "" where it is not known."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text("utf-8").split())
    except OSError:
        return ""
    return "SkylakeX" if "avx512f" in flags else "Haswell" if "avx2" in flags else ""
