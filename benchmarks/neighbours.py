"""How fast the exact search for neighbours is, against faiss's IndexFlatIP.

    python benchmarks/neighbours.py                 # 5k x 512, 5k x 2,048, 20k x 512, 20k x 2,048
    python benchmarks/neighbours.py --size large    # also 200k x 512 in lists, with its memory
    python benchmarks/neighbours.py --quick --json  # within 50 seconds; the last line is JSON
    python benchmarks/neighbours.py --one lists --images 9000000 --queries 200000 --threads 2 \
        --folder DIR                                # in lists alone, of a file of 9.2 GB
    python benchmarks/neighbours.py --one pretended # a GPU's search, without a GPU

Measured is `nearest`, the search behind `Neighbours.build`: the 10 nearest others of every row, by
exact distances of candidates, which faiss finds among more than 5,792 rows. faiss alone gets the
same float32 rows of unit length and searches 11 products, the row itself among them. Both run on
one thread, take turns, and are measured in seconds of processor time; GFLOP/s are those of all
products. What they find is compared by exact distances: of two rows at the same distance, to
float32, either may come first with faiss alone. MB is what a search takes above what its process
held before, of features that lie in a file in fp16; of a search in lists without the pages of that
file, which the system may drop at any time. Its features lie in clusters of about 300 rows that
vary in 24 directions and, less, in all others; its time is divided into what comes before the
search and the search itself, of as many rows as --queries says. With SIMKIT_DATA real features are
searched as well.

The search of a GPU is pretended by faiss's on the CPU, whose squared distances get errors of up to
four roundings of float32 before the nearest are chosen. Counted are the rows that the float32 bound
leaves undecided, and the seconds without that search: of exact distances and of further searches.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

from simkit.embed.neighbours import imported_faiss  # isort: skip

faiss = imported_faiss()  # before numpy, with the best kernels that it has for this processor

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from threadpoolctl import threadpool_info  # noqa: E402  (scikit-learn needs it too)

from simkit.embed import neighbours  # noqa: E402
from simkit.embed.feature_files import MappedRows  # noqa: E402
from simkit.embed.neighbours import (  # noqa: E402
    distances,
    nearest,
    nearest_in_lists,
)
from simkit.embed.unit_features import UnitFeatures  # noqa: E402
from simkit.learn.inputs import FeatureInputs  # noqa: E402

K = 10
SIZES = {"5k x 512": (5_000, 512), "5k x 2,048": (5_000, 2_048)}
MORE = {"20k x 512": (20_000, 512), "20k x 2,048": (20_000, 2_048)}
EXACT, LISTS = (20_000, 256), 200_000  # searched for their memory
WIDTH = 512  # of the search in lists and of a pretended GPU
ASKED = 1_000  # rows of them whose neighbours are searched exactly as well
ALIKE = 8_000  # rows of one domain, searched by a pretended GPU
ERROR = 2.0**-22  # of its squared distances, as shares of the squared lengths of rows
BAR = 0.95
FLOAT32 = 1e-4  # how far distances of what faiss found may be off: its products are rounded


def example(n: int, width: int) -> NDArray[np.float32]:
    """Rows of unit length around 50 centres, not below zero, as pooled features are."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((50, width), np.float32)
    rows = centres[rng.integers(50, size=n)] + 1.5 * rng.standard_normal((n, width), np.float32)
    np.maximum(rows, 0, out=rows)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def clustered(path: Path, n: int) -> None:
    """A file of rows of unit length in clusters, not below zero."""
    rng = np.random.default_rng(0)
    clusters = max(10, n // 300)
    coarse = rng.standard_normal((max(4, clusters // 50), WIDTH), np.float32)
    centres = coarse[rng.integers(len(coarse), size=clusters)]
    centres = (centres + 0.7 * rng.standard_normal((clusters, WIDTH), np.float32)).astype(
        np.float16
    )
    directions = 0.16 * rng.standard_normal((64, 24, WIDTH), np.float32)
    stored = np.lib.format.open_memmap(path, "w+", np.float16, (n, WIDTH))
    for number, start in enumerate(range(0, n, 1 << 14)):
        count = min(1 << 14, n - start)
        # Those of a block vary in the same directions: their clusters are every 64th.
        own = (rng.integers(clusters, size=count) // 64 * 64 + number % 64) % clusters
        rows = centres[own] + 0.2 * rng.standard_normal((count, WIDTH), np.float32)
        rows += rng.standard_normal((count, 24), np.float32) @ directions[number % 64]
        np.maximum(rows, 0, out=rows)
        stored[start : start + count] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    stored.flush()


def real() -> dict[str, NDArray[np.float32]]:
    """Features of photographs, where SIMKIT_DATA is set."""
    folder = Path(os.environ.get("SIMKIT_DATA", "")) / "features"
    found = {}
    for name in ("voc12-animals", "coco-mini"):
        path = folder / f"{name}-mobilenet_v2-gap.npz"
        if "SIMKIT_DATA" in os.environ and path.is_file():
            rows = np.load(path)["features"].astype(np.float64)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            found[f"{name}, {len(rows):,} x {rows.shape[1]:,}"] = rows.astype(np.float32)
    return found


def by_faiss(rows: NDArray[np.float32]) -> NDArray[np.int64]:
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return np.asarray(index.search(rows, K + 1)[1])


def contest(case: str, rows: NDArray[np.float32]) -> tuple[dict[str, Any], bool]:
    """Ours against faiss, in turns."""
    nearest(rows[:64], K)
    by_faiss(rows[:64])
    goes = 7 if len(rows) * rows.shape[1] < 1e7 else 3 if len(rows) < 20_000 else 2
    ours, theirs, found, other = measuring.turns(
        lambda: nearest(rows, K), lambda: by_faiss(rows), goes
    )
    row = {"case": case, "shape": rows.shape, **measuring.speed(ours, theirs)}
    row |= {"gflop": 2e-9 * len(rows) ** 2 * rows.shape[1]}
    row |= {"same": float((found.place == without_own(other)).mean())}
    return row, agree(rows, found.distance, without_own(other))


def without_own(places: NDArray[np.int64]) -> NDArray[np.int64]:
    own = places == np.arange(len(places))[:, None]
    own[~own.any(1), -1] = True
    return places[~own].reshape(len(places), K)


def agree(rows: Any, away: NDArray[np.float64], others: NDArray[np.int64]) -> bool:
    """Whether theirs are as near as ours at every rank, and nowhere nearer."""
    theirs = distances(rows, np.repeat(np.arange(len(others)), K), others.ravel())
    gap = np.sort(theirs.reshape(away.shape), axis=1) - away
    return bool(-1e-12 <= gap.min() and gap.max() <= FLOAT32)


def alone(way: str) -> dict[str, Any]:
    """A search in a process of its own, with the memory it takes."""
    program = [sys.executable, __file__, "--one", way]
    answer = subprocess.run(program, check=True, capture_output=True, text=True)
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def one_alone() -> dict[str, Any]:
    """The exact search that `alone` runs."""
    n, width = EXACT
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.npy"
        np.save(path, example(n, width).astype(np.float16))
        values = np.load(path, mmap_mode="r")
        rows = UnitFeatures(FeatureInputs(values, "generated"), np.arange(n), "neighbours")
        nearest(rows[:300], K)  # what is loaded once
        before = measuring.forget_peak()
        seconds, _ = measuring.timed(nearest, rows, K)
        row = {"memory_mb": measuring.peak_mb() - before, "ours": seconds, "shape": (n, width)}
        return row | {"case": f"{n:,} x {width} from a file"}


def in_lists(n: int, queries: int, folder: str | None) -> dict[str, Any]:
    """A search in lists in this process; `queries` of n rows ask."""
    asked = np.sort(np.random.default_rng(1).choice(n, queries, replace=False))
    search, took, peak, over = neighbours._in_lists, list[tuple[float, float]](), [0.0], []

    def timed(*values: Any) -> Any:
        start = time.process_time(), time.perf_counter()
        found = search(*values)
        took.append((time.process_time() - start[0], time.perf_counter() - start[1]))
        return found

    def watch() -> None:
        while not over:
            lines = Path("/proc/self/status").read_text().splitlines()
            own = (float(line.split()[1]) / 1e3 for line in lines if line.startswith("RssAnon"))
            peak[0] = max(peak[0], *own)
            time.sleep(0.05)

    with tempfile.TemporaryDirectory(dir=folder) as made:
        clustered(Path(made) / "features.npy", n)
        values: Any = MappedRows((Path(made) / "features.npy",))
        rows = UnitFeatures(FeatureInputs(values, "generated"), np.arange(n), "neighbours")
        threading.Thread(target=watch).start()
        wall = time.perf_counter()
        try:
            neighbours._in_lists = timed
            seconds, (found, recall) = measuring.timed(nearest_in_lists, rows, K, queries=asked)
        finally:
            neighbours._in_lists = search
            over.append(True)
        wall = time.perf_counter() - wall
        own = np.random.default_rng(2).choice(queries, min(ASKED, queries), replace=False)
        exact = nearest(rows, K, queries=asked[own])
    true = float((found.distance[own] <= exact.distance[:, -1:]).mean())
    row = {"memory_mb": peak[0], "ours": seconds, "shape": (n, WIDTH), "recall": recall}
    row |= {"true recall": true, "wall": wall, "asked": queries, "search": took[-1][0]}
    return row | {"search wall": took[-1][1], "case": f"in lists, {n:,} x {WIDTH} from a file"}


class PretendedGpu:
    """faiss with one GPU, which searches as the CPU does, with errors of its own."""

    def __init__(self) -> None:
        self.seconds, self._rng = 0.0, np.random.default_rng(3)

    def __getattr__(self, name: str) -> Any:
        return getattr(faiss, name)

    def get_num_gpus(self) -> int:
        return 1

    def StandardGpuResources(self) -> None:
        return None

    def index_cpu_to_gpu_multiple_py(self, resources: Any, index: Any) -> Any:
        self.add, self._index = index.add, index
        return self

    def search(self, rows: NDArray[np.float32], count: int) -> tuple[Any, Any]:
        start = time.process_time()
        squared, place = self._index.search(rows, 2 * count)
        # Roundings of the squared lengths that the search adds up.
        most = ERROR * np.square(rows).sum(1, keepdims=True)
        squared += (most * self._rng.uniform(-1, 1, squared.shape)).astype(np.float32)
        order = np.argsort(squared, axis=1)[:, :count]
        self.seconds += time.process_time() - start
        return np.take_along_axis(squared, order, 1), np.take_along_axis(place, order, 1)


def pretended(n: int) -> bool:
    """A table of searches with and without the pretended GPU; whether both find the same."""
    rng, width = np.random.default_rng(0), WIDTH
    centre = rng.standard_normal(width)
    centre /= np.linalg.norm(centre)
    few = rng.standard_normal((n, 16)) @ rng.standard_normal((16, width)) / np.sqrt(16 * width)
    cases = {
        "one centre, deviation 0.001": centre + 1e-3 * rng.standard_normal((n, width)),
        "one centre, 16 directions": centre + 0.3 * few,
        "random": rng.standard_normal((n, width)),
    }
    candidates, imported, lines, equal = neighbours._candidates, imported_faiss, [], True

    for case, drawn in cases.items():
        rows = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
        plain, wanted = measuring.timed(nearest, rows, K, device="cpu")
        asked, gpu = dict[int, int](), PretendedGpu()

        def watched(search: Any, of: Any, queries: Any, count: int, asked: Any = asked) -> Any:
            asked[count] = asked.get(count, 0) + len(queries)
            return candidates(search, of, queries, count)

        try:
            neighbours._candidates = watched
            neighbours.imported_faiss = lambda gpu=gpu: gpu  # type: ignore[misc]
            took, found = measuring.timed(nearest, rows, K, device="cuda")
        finally:
            neighbours._candidates, neighbours.imported_faiss = candidates, imported
        equal &= all(np.array_equal(*pair) for pair in zip(found, wanted, strict=True))
        _, *again = (f"{count:,}: {part / n:.1%}" for count, part in asked.items())
        text = "; ".join(again) or "none"
        lines.append([f"{case}, {n:,} x {width}", f"{plain:.2f}", f"{took:.2f}"])
        lines[-1] += [f"{gpu.seconds:.2f}", f"{took - gpu.seconds:.2f}", text]
    heads = (
        "case",
        "CPU, s",
        "pretended, s",
        "its search",
        "the rest",
        "searched again, by candidates",
    )
    measuring.table(heads, lines)
    print(f"the same neighbours: {equal}")
    return equal


def architectures() -> str:
    """What the libraries multiply with, as threadpoolctl tells."""
    found = [one for one in threadpool_info() if one["user_api"] == "blas"]
    told = (f"{Path(one['filepath']).name}: {one.get('architecture', '?')}" for one in found)
    return "; ".join([*told, f"torch: {torch.backends.cpu.get_cpu_capability()}"])


def table(rows: list[dict[str, Any]]) -> None:
    heads = ("case", "s", "faiss, s", "times as fast", "by medians", "GFLOP/s", "faiss", "same")
    lines = []
    for row in rows:
        cells = [row["case"], f"{row['ours']:.3f}", "", "", "", "", "", "", ""]
        if "theirs" in row:
            cells[2:5] = (f"{row[key]:.2f}" for key in ("theirs", "ratio", "median ratio"))
            cells[5:7] = (f"{row['gflop'] / row[key]:.0f}" for key in ("ours", "theirs"))
            cells[7] = f"{row['same']:.2%}"
        elif "recall" in row:
            cells[7] = f"recall {row['recall']:.3f}"
        cells[8] = f"{row['memory_mb']:,.0f}" if "memory_mb" in row else ""
        lines.append(cells)
    measuring.table((*heads, "MB"), lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=("small", "large"), default="small")
    parser.add_argument("--quick", action="store_true", help="5,000 rows and the real features")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--one", choices=("exact", "lists", "pretended"), help="alone")
    parser.add_argument(
        "--images", type=int, help=f"in lists [{LISTS:,}]; by a pretended GPU [{ALIKE:,}]"
    )
    parser.add_argument("--queries", type=int, help="of them, which ask [default: all]")
    parser.add_argument("--threads", type=int, default=1, help="of the search in lists")
    parser.add_argument("--folder", help="where its file is written for a while")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    faiss.omp_set_num_threads(given.threads)
    if given.one == "lists":
        n = given.images or LISTS
        print(json.dumps(in_lists(n, given.queries or n, given.folder)))
        return
    if given.one == "pretended":
        equal = pretended(given.images or ALIKE)
        measuring.finish("neighbours", as_json=given.json, equal=equal, ratios={}, sizes={})
    if given.one:
        print(json.dumps(one_alone()))
        return
    sizes = SIZES if given.quick else SIZES | MORE
    rows, equal = [], True
    for case, features in [*real().items(), *((c, example(*s)) for c, s in sizes.items())]:
        row, same = contest(case, features)
        rows, equal = [*rows, row], equal and same
    rows += [alone(way) for way in ("exact", "lists")[: 1 + (given.size == "large")]]
    table(rows)
    print(architectures())
    print(f"the same neighbours: {equal}")
    ratios = {row["case"]: row["ratio"] for row in rows if "same" in row}
    measuring.against(ratios, BAR, 2, theirs="IndexFlatIP of faiss, without exact distances")
    measuring.finish(
        "neighbours",
        as_json=given.json,
        equal=equal,
        ratios=ratios,
        sizes={row["case"]: row["shape"] for row in rows},
        memory_mb={row["case"]: row["memory_mb"] for row in rows if "memory_mb" in row},
    )


if __name__ == "__main__":
    main()
