"""The nearest neighbours of every image: float32 proposes candidates, float64 distances decide.

float32 distances have a bounded error. Among a few thousand images, the candidates of a row are all
that may be its nearest neighbours within that bound. Among more, faiss finds the candidates; if
they leave the nearest neighbours undecided, the row is searched again with more. The result is
therefore bit-identical for all batches, threads and processors.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from simkit.chance import Chance
from simkit.embed.unit_features import Floats, Rows, same_features, unit_rows
from simkit.errors import BadInput
from simkit.history import content_id
from simkit.labels.truth import locked

NEIGHBOURS = 32
IN_LISTS_ABOVE = 1_000_000  # images; an exact search of more takes hours on a CPU
_KEPT = 4  # searches cached in a process
SAMPLE = 1000  # rows for the measured recall of a search in lists
ENOUGH = 0.99  # recall at which the search in more lists stops
BATCH = 1 << 22  # features read at a time
_SPARE = 8  # candidates beyond K, so that rounding seldom leaves a row undecided
_TIMES = 8  # as many candidates for an undecided row
_PAIRS = 1 << 17  # features in pairs of rows, in float64: a megabyte, which fits into the cache
_MOST = 2048  # candidates that faiss finds on a GPU
_TRAIN = 40  # rows for each list in the training of its centre
_LEAST = 39 * 16  # rows from which faiss learns codes of four bits without a warning
_PRODUCTS = 1 << 25  # products of all rows in memory: 128 MB, of 5,792 rows
_GROUPS = 64  # for each neighbour, so that two seldom lie in one
_HELD = 1 << 30  # features in the index of an exact search on a CPU: 4 GB
_CODES = 128  # four bits each: the code of a row
_PROBES = 8  # lists searched at first

Places = NDArray[np.int64]
Search = Callable[[NDArray[np.float32], int], tuple[NDArray[np.float32], Places]]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The K asked images with the features nearest to each asked image's, itself excluded.

    Attributes
    ----------
    index
        (N, K) int32 rows, nearest first, the smaller index first at equal distances; -1 in the rows
        of images that were not asked.
    distance
        (N, K) float64 Euclidean distance between features of unit length; nan where index is -1.
    cosine
        (N, K) float64, one minus the cosine similarity; nan where index is -1.
    recall
        Share of the true neighbours in `index`: 1 for an exact search, else measured on a sample.
    inputs
        Id of the features, "" if unknown.
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
        """Arguments of `build` for methods with these needs."""
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

        The search takes some minutes on one thread for 65,000 images of 2,048 features, 25 times as
        long for 325,000, and less on a GPU. A process caches its last searches.

        Parameters
        ----------
        task
            With features of N images.
        k
            Neighbours of each image, at most all others.
        in_lists_above
            More asked images than this are searched by `nearest_in_lists`, which reports its recall
            in the result and in a warning; None: always an exact search.

        Raises
        ------
        BadInput
            If the task has no features.
        """
        asked = np.asarray(task.labels.asked)
        features = None if task.inputs is None else task.inputs.id
        in_lists = in_lists_above is not None and int(asked.sum()) > in_lists_above
        key = content_id(str(features), asked, str(k), str(in_lists))
        if key not in _recent:
            rows, recall = unit_rows(task, "neighbours"), 1.0
            if in_lists:
                found, recall = nearest_in_lists(rows, k)
            else:
                found = nearest(rows, k)
            place, shape = np.flatnonzero(asked), (len(asked), found.place.shape[1])
            index, values = np.full(shape, -1, np.int32), np.full((2, *shape), np.nan)
            index[place] = place[found.place]
            values[:, place] = found.distance, found.cosine
            arrays = locked(index), locked(values[0]), locked(values[1])
            _recent[key] = cls(*arrays, recall, features or "")
            if in_lists:
                warnings.warn(
                    f"neighbours of {int(asked.sum()):,} images were searched in lists, which "
                    f"finds {recall:.1%} of them by a sample; "
                    "Neighbours.build(task, in_lists_above=None) finds all and takes longer",
                    stacklevel=2,
                )
        _recent[key] = _recent.pop(key)  # the latest is the last
        while len(_recent) > _KEPT:
            del _recent[next(iter(_recent))]
        return _recent[key]

    def fits(self, task: Any) -> bool:
        """Whether these may belong to the task: its asked images and, if both are known, features.

        A task on images or maps may use neighbours by other features.
        """
        if len(self.index) != len(task.labels.asked):
            return False
        if self.index.shape[1] and ((self.index[:, 0] >= 0) != task.labels.asked).any():
            return False
        return same_features(self.inputs, task)


_recent: dict[str, Neighbours] = {}  # the last searches


class Nearest(NamedTuple):
    """The K nearest rows of q rows, nearest first, the smaller index first at equal distances.

    place (q, K) int64;  distance (q, K) float64, Euclidean;  cosine (q, K) float64, 1 - cosine.
    """

    place: Places
    distance: Floats
    cosine: Floats


def nearest(
    features: Rows, k: int, *, queries: Places | None = None, device: str = "auto"
) -> Nearest:
    """The exact nearest other rows, by the products of all rows or by faiss, and exact distances.

    Parameters
    ----------
    features
        (n, D) float32 rows of length one or zero. Up to 5,792 need no faiss on a CPU, but 4 n^2
        bytes. faiss holds 4 n D bytes of them, on every GPU or in memory; more than 4 GB are read
        again for every 2^22 features of `queries`.
    k
        Number of neighbours, at most all n - 1 others.
    queries
        (q,) indices of the rows to search for; all by default.
    device
        "cpu", "cuda" for all GPUs of faiss, or "auto" for them if torch and faiss have any and the
        rows are more than the CPU searches by products.

    Raises
    ------
    BadInput
        If faiss is needed and not installed.
    """
    n = features.shape[0]
    k = max(0, min(k, n - 1))
    queries = np.arange(n) if queries is None else queries
    if k == 0 or not len(queries):
        return Nearest(*(np.zeros((len(queries), k), kind) for kind in (np.int64, float, float)))
    if device != "cuda" and n * n <= _PRODUCTS:
        found = _by_products(features, queries, k)
    else:
        found = _by_faiss(features, queries, k, device)
    return _with_cosines(features, queries, *found)


def _by_products(features: Rows, queries: Places, k: int) -> tuple[Places, Floats]:
    """The k nearest rows of each query, and their distances, from the products of all rows."""
    n, width = features.shape
    held, centred = _read(features), _Centred(features)
    around = _read(centred)
    # numpy takes half the time for the products of an array with itself.
    asked = around if np.array_equal(queries, np.arange(n)) else around[queries]
    # |x - y|^2 is least where x y - |y|^2 / 2 is greatest; the bound is of its error in float32.
    near = asked @ around.T
    near -= (_squares(around) / 2).astype(np.float32)
    near[np.arange(len(queries)), queries] = -np.inf
    rounding = (1.01 * width + 16) * 2.0**-24 * centred.largest + _Centred.ERROR
    place, distance = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
    step = max(1, BATCH // n)
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        some = near[block]
        while some.shape[1] > _GROUPS * k:  # the greatest of disjoint groups: k rows reach the k-th
            half = some.shape[1] // 2
            some = np.maximum(some[:, :half], some[:, half : 2 * half])
        reached = np.partition(some, -k, axis=1)[:, [-k]]
        row, column = np.divmod(np.flatnonzero(near[block] >= reached - 2 * rounding), n)
        counts = np.bincount(row)
        among = np.full((len(counts), counts.max()), -1)
        among[np.arange(counts.max()) < counts[:, None]] = column
        place[block], distance[block] = _ranked(held, queries[block], among, k)
    return place, distance


def _by_faiss(features: Rows, queries: Places, k: int, device: str) -> tuple[Places, Floats]:
    """The k nearest rows of each query, and their distances, from faiss's IndexFlatL2."""
    n, width = features.shape
    centred = _Centred(features)
    search = _ExactSearch(centred, device)
    # |x - y|^2 = |x|^2 + |y|^2 - 2 x y: four float32 sums of squares up to the largest. faiss
    # multiplies in float32 on GPUs too, without TF32.
    rounding = 4 * (width + 16) * 2.0**-24 * centred.largest + _Centred.ERROR
    place = np.empty((len(queries), k), np.int64)
    distance = np.empty((len(queries), k))
    undecided, candidates = np.arange(len(queries)), min(k + _SPARE, n - 1)
    while len(undecided):
        left = []
        step = max(1, BATCH // max(width, candidates))
        for start in range(0, len(undecided), step):
            block = undecided[start : start + step]
            squared, among = _candidates(search, centred, queries[block], candidates)
            far = squared[:, :-1] > squared[:, [k - 1]] + 2 * rounding  # certainly not among the k
            among = np.where(far, -1, among)
            place[block], distance[block] = _ranked(features, queries[block], among, k)
            # Decided once the k-th exact distance is below whatever a row that is no candidate may
            # have: at least the last candidate's, less the rounding.
            left.append(block[distance[block, -1] ** 2 >= squared[:, -1] - rounding])
        undecided = np.concatenate(left)
        search.leave_gpus()  # few rows with many candidates are faster on a CPU
        candidates = min(_TIMES * candidates, n - 1)
    return place, distance


class _Centred:
    """Rows less their mean: distances are the same, and their errors in float32 shrink with the
    squared lengths of the rows. Features of one domain lie close together, far from zero.

    largest: the largest of these squared lengths.
    """

    ERROR = 2.0**-48  # of squared distances of at most 4, by the subtraction in float64

    def __init__(self, features: Rows) -> None:
        self._features, self.shape = features, features.shape
        total = sum(block.sum(0, dtype=np.float64) for block in _blocks(features))
        self._mean = total / self.shape[0]
        self.largest = max(float(_squares(block).max()) for block in _blocks(self))

    def __getitem__(self, index: Any) -> NDArray[np.float32]:
        return (self._features[index] - self._mean).astype(np.float32)


def _blocks(rows: Rows | _Centred) -> Iterator[NDArray[np.float32]]:
    """All rows, some at a time."""
    n, width = rows.shape
    step = max(1, BATCH // width)
    return (rows[start : start + step] for start in range(0, n, step))


def _read(rows: Rows | _Centred) -> NDArray[np.float32]:
    """All rows in memory."""
    return np.concatenate([*_blocks(rows)])


def nearest_in_lists(
    features: Rows, k: int, *, queries: Places | None = None, enough: float = ENOUGH
) -> tuple[Nearest, float]:
    """The approximate nearest other rows by lists of an inverted index, and their recall.

    Rows lie in about sqrt(n) lists around centres learned from a sample. Their codes of 64 bytes
    (faiss's IndexIVFPQFastScan) give candidates, and one byte for each feature ranks these (its
    IndexRefine). The numbers of searched lists and of candidates are doubled until the recall,
    measured on a sample of rows by the exact search, is `enough`, or all lists are searched.
    Distances and their order are exact, and the same for every number of threads.

    Parameters
    ----------
    features, k, queries
        As in `nearest`. faiss holds n (D + 72) bytes, at the peak twice as many.
    enough
        Required recall.

    References
    ----------
    Johnson, Douze & Jégou, "Billion-scale similarity search with GPUs", IEEE Transactions on Big
    Data 2019.
    """
    n, width = features.shape
    k = max(0, min(k, n - 1))
    queries = np.arange(n) if queries is None else queries
    if k == 0 or n < _LEAST:
        return nearest(features, k, queries=queries), 1.0
    faiss = imported_faiss()
    chosen = np.sort(Chance.seeded(0).of("recall").permutation(n).at(np.arange(min(SAMPLE, n))))
    exact = nearest(features, k, queries=chosen)
    lists = min(round(math.sqrt(n)), n // _TRAIN)
    codes = min(width, _CODES)
    padded = -(-width // codes) * codes  # the codes divide a row into parts of equal width
    index = faiss.index_factory(width, f"Pad{padded},IVF{lists},PQ{codes}x4fs,Refine(SQ8)")
    learned = Chance.seeded(0).of("lists").permutation(n).at(np.arange(min(n, _TRAIN * lists)))
    learned, step = np.sort(learned), max(1, BATCH // width)
    centres = np.empty((len(learned), width), np.float32)
    for start in range(0, len(learned), step):  # reading needs several times the memory of the rows
        centres[start : start + step] = features[learned[start : start + step]]
    index.train(centres)
    del centres
    for start in range(0, n, step):
        index.add(features[start : start + step])
    probes = _PROBES
    while True:
        how = f"nprobe={probes},k_factor_rf={probes // 2}"
        faiss.ParameterSpace().set_index_parameters(index, how)
        tried = _in_lists(index, features, k, chosen)
        recall = float((tried.distance <= exact.distance[:, -1:]).mean())
        if recall >= enough or probes >= lists:
            return _in_lists(index, features, k, queries), recall
        probes *= 2


def _candidates(
    search: Search, features: _Centred | Rows, rows: Places, count: int
) -> tuple[NDArray[np.float32], Places]:
    """Squared distances (q, count + 1) and indices (q, count) of candidates; all other rows are at
    least as far as the last of the distances."""
    n = features.shape[0]
    if count == n - 1:  # all other rows are candidates
        squared = np.zeros((len(rows), n), np.float32)
        squared[:, -1] = np.inf
        others = np.arange(n - 1)
        return squared, others + (others >= rows[:, None])
    squared, place = search(features[rows], count + 2)
    itself = place == rows[:, None]
    itself[~itself.any(1), -1] = True  # drop the last where the row itself is not a candidate
    squared, place = (values[~itself].reshape(len(rows), -1) for values in (squared, place))
    return squared, place[:, :-1]


def _ranked(features: Rows, rows: Places, place: Places, k: int) -> tuple[Places, Floats]:
    """The k nearest of the candidates (q, m), -1 for missing ones, and their distances.

    Ties go to the smaller row, because every faiss index returns candidates in a different order.
    """
    distance = np.full(place.shape, np.inf)
    row, column = np.nonzero(place >= 0)
    # Many are each other's candidates; their distance is computed once.
    pair = np.sort([rows[row], place[row, column]], axis=0)
    once, which = np.unique(pair[0] * features.shape[0] + pair[1], return_inverse=True)
    distance[row, column] = distances(features, *np.divmod(once, features.shape[0]))[which]
    order = np.lexsort((place, distance), axis=-1)[:, :k]
    return np.take_along_axis(place, order, 1), np.take_along_axis(distance, order, 1)


def distances(features: Rows, first: Places, second: Places) -> Floats:
    """Euclidean distances (p,) between pairs of rows, in float64."""
    distance = np.empty(len(first))
    step = max(1, _PAIRS // features.shape[1])
    for start in range(0, len(first), step):
        block = slice(start, start + step)
        gap = np.subtract(features[second[block]], features[first[block]], dtype=np.float64)
        np.multiply(gap, gap, out=gap)
        distance[block] = gap.sum(1)
    return np.sqrt(distance)


def _with_cosines(features: Rows, rows: Places, place: Places, distance: Floats) -> Nearest:
    """The neighbours with one minus their cosine, from x y = (|x|^2 + |y|^2 - |x - y|^2) / 2."""
    squares = _squares(features)
    cosine, step = np.empty_like(distance), max(1, BATCH // distance.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        square, others = squares[rows[part], None], squares[place[part]]
        lengths = np.sqrt(square * others)
        product = (square + others - distance[part] ** 2) / 2
        cosine[part] = np.maximum(1 - product / np.where(lengths > 0, lengths, 1.0), 0.0)
    return Nearest(place, distance, cosine)


def _squares(features: Rows) -> Floats:
    """Squared lengths (n,) of rows."""
    n, width = features.shape
    squares, step = np.empty(n), max(1, _PAIRS // width)
    for start in range(0, n, step):
        block = features[start : start + step].astype(np.float64)
        squares[start : start + len(block)] = np.multiply(block, block, out=block).sum(1)
    return squares


def _in_lists(index: Any, features: Rows, k: int, queries: Places) -> Nearest:
    n, width = features.shape
    place, distance = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
    threads, step = torch.get_num_threads(), max(1, BATCH // width)
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(queries), step):
            block = slice(start, start + step)
            candidates = min(k + _SPARE, n - 1)
            _, among = _candidates(index.search, features, queries[block], candidates)
            shares = np.array_split(queries[block], threads), np.array_split(among, threads)
            near, away = zip(*pool.map(partial(_ranked, features, k=k), *shares), strict=True)
            place[block], distance[block] = np.concatenate(near), np.concatenate(away)
    short = np.flatnonzero(place[:, -1] < 0)
    if len(short):  # fewer than k others lie in the searched lists
        exact = nearest(features, k, queries=queries[short], device="cpu")
        place[short], distance[short] = exact.place, exact.distance
    return _with_cosines(features, queries, place, distance)


class _ExactSearch:
    """A search among all rows: by all GPUs if they have room for these, else by the CPU."""

    def __init__(self, features: _Centred, device: str) -> None:
        self._faiss, self._features = imported_faiss(), features
        self._on_gpus: Search | None = None
        self._on_cpu: Search | None = None
        gpu = torch.cuda.is_available() if device == "auto" else device != "cpu"
        if gpu and getattr(self._faiss, "get_num_gpus", int)():  # faiss-cpu sees none
            try:
                empty = self._faiss.IndexFlatL2(features.shape[1])
                of_process = _gpu_resources(self._faiss)
                index = self._faiss.index_cpu_to_gpu_multiple_py(of_process, empty)
                self._on_gpus = self._filled(index)
            except RuntimeError:  # of faiss, for a lack of memory
                self._lack_memory()

    def __call__(self, rows: NDArray[np.float32], count: int) -> tuple[NDArray[np.float32], Places]:
        """Squared distances and indices (q, count) of the nearest rows."""
        if self._on_gpus is not None and count <= _MOST:
            try:
                return self._on_gpus(rows, count)
            except RuntimeError:  # as above
                self._lack_memory()
        self._on_cpu = self._on_cpu or self._cpu_search()
        return self._on_cpu(rows, count)

    def _lack_memory(self) -> None:
        warnings.warn(
            "the GPUs have no room for these features; their neighbours are searched on the CPU",
            stacklevel=5,
        )
        self.leave_gpus()

    def leave_gpus(self) -> None:
        """Search on the CPU from now on."""
        self._on_gpus = None

    def _cpu_search(self) -> Search:
        n, width = self._features.shape
        if n * width <= _HELD:
            return self._filled(self._faiss.IndexFlatL2(width))
        from faiss.contrib.exhaustive_search import knn_ground_truth

        def search(rows: NDArray[np.float32], count: int) -> tuple[NDArray[np.float32], Places]:
            squared, place = knn_ground_truth(rows, _blocks(self._features), count, ngpu=0)
            return squared, place

        return search

    def _filled(self, index: Any) -> Search:
        for block in _blocks(self._features):
            index.add(block)
        return index.search  # type: ignore[no-any-return]


@cache
def _gpu_resources(faiss: Any) -> list[Any]:
    """Memory and streams of each GPU, which faiss reserves; once in a process."""
    return [faiss.StandardGpuResources() for _ in range(faiss.get_num_gpus())]


def imported_faiss() -> Any:
    """Import faiss, or raise BadInput if it is not installed.

    faiss's wheels bring an OpenBLAS that treats newer processors as the oldest, and multiplies four
    times slower. OPENBLAS_CORETYPE, read at import, is set here unless the user has set it.
    """
    if "faiss" not in sys.modules:
        with suppress(OSError):  # of systems without this file
            flags = set(Path("/proc/cpuinfo").read_text("utf-8").split())
            cores = {"avx512f": "SkylakeX", "avx2": "Haswell"}  # OpenBLAS's kernels, best first
            for core in (cores[flag] for flag in cores if flag in flags):
                os.environ.setdefault("OPENBLAS_CORETYPE", core)
    try:
        import faiss
    except Exception as error:  # wheels for other processors and CUDA versions fail in many ways
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"nearest neighbours need faiss, which cannot be imported ({reason}); run pip install "
            "faiss-gpu, or faiss-cpu where there is no wheel of it"
        ) from None
    faiss.omp_set_num_threads(torch.get_num_threads())  # faiss has its own setting
    return faiss
