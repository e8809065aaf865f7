"""How fast partial labels are simulated, against the way the published scripts do it.

    python benchmarks/simulate.py                 # a label matrix as large as COCO's training set
    python benchmarks/simulate.py --size large    # also 1 M images x 9,600 classes, 7.6 M present
    python benchmarks/simulate.py --size huge     # and 9 M images x 9,600 classes, 61.3 M present
    python benchmarks/simulate.py --quick --json  # within 50 seconds; the last line is JSON

Measured is the public function `simulate`, from truth to labels in memory, on one thread, in
seconds of processor time.
With SIMKIT_DATA set, the real COCO validation labels are simulated too.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from published_loops import PUBLISHED
from scipy.sparse import csr_array

from simkit.annotate.simulate import simulate
from simkit.labels.hierarchy import Hierarchy, close
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth

COCO = (82_081, 80)
# Images, classes and labels drawn; some of them meet, so that fewer are present.
SIZES = {"large": (1_000_000, 9_600, 7_800_000), "huge": (9_000_000, 9_600, 62_600_000)}
SCHEMES = {
    "single-positive": "single-positive",
    "rpa": "rpa(keep=0.1)",
    "fpc": "fpc(per_class=1000)",
}
LARGE_SCHEMES = {
    **SCHEMES,
    "rpa": "rpa(keep=0.001)",
    "proposals": "proposals(per_image=7)",
    "federated": "federated(per_class=1000)",
    "fraction-of-positives": "fraction-of-positives(keep=0.1)",
}
BARS = {"single-positive": 100, "rpa": 3, "fpc": 3}
INSTEAD = {
    "single-positive": "a loop over images, as published for single positive labels",
    "rpa": "a mask of dense random numbers, as published with RPA",
    "fpc": "a loop over classes, as published with FPC",
}


def long_tailed(shape: tuple[int, int], present: int, offset: float, seed: int = 0) -> Truth:
    """About `present` labels; the class of rank r has a share in proportion to 1 / (r + offset)."""
    N, L = shape
    rng = np.random.default_rng(seed)
    edges = np.cumsum(1 / (np.arange(1, L + 1) + offset))
    classes = np.searchsorted(edges, rng.random(present) * edges[-1])
    keys = np.unique(rng.integers(0, N, present) * L + rng.permutation(L)[classes])
    indptr = np.searchsorted(keys, np.arange(N + 1) * L)
    matrix = csr_array((np.ones(len(keys), bool), keys % L, indptr), shape=shape)
    return Truth.of(matrix)


def same_kind(name: str, theirs: np.ndarray, ours: PartialLabels, truth: np.ndarray) -> bool:
    """Whether both are one scheme's labels: counts agree and none of ours contradicts the truth."""
    codes = ours.rows(np.arange(len(truth)))
    right = bool(((codes > 0) <= (truth == 1)).all() and ((codes < 0) <= (truth == 0)).all())
    if name == "single-positive":
        same = np.array_equal((codes > 0).sum(1), (theirs == 1).sum(1))
        return right and bool(same) and not (codes < 0).any()
    positive = (codes > 0).sum(0), (theirs == 1).sum(0)
    negative = (codes < 0).sum(0), (theirs == 0).sum(0)
    if name == "fpc":
        return right and all(np.array_equal(a, b) for a, b in (positive, negative))
    # Two independent binomial counts differ by less than six times the root of their sum.
    near = [np.abs(a - b) <= 6 * np.sqrt(a + b + 1) for a, b in (positive, negative)]
    return right and bool(np.all(near))


def coco_size(repeats: int) -> tuple[list[dict[str, Any]], bool]:
    """Both contestants in turn on the same matrix; the best of each, and whether they agree."""
    truth = long_tailed(COCO, 250_000, 1.0)
    dense = truth.rows(np.arange(COCO[0])).astype(np.int64)
    simulate(truth, "single-positive")  # the truth's content id is worked out once per truth
    rows, equal = [], True
    for name, spec in SCHEMES.items():
        theirs, ours = [], []
        for repeat in range(repeats):
            seconds, observed = measuring.timed(PUBLISHED[name], dense, repeat)
            theirs.append(seconds)
            for again in range(3):  # ours is short: three goes for each of theirs
                seconds, labels = measuring.timed(simulate, truth, spec, seed=3 * repeat + again)
                ours.append(seconds)
            equal = equal and same_kind(name, observed, labels, dense)
        rows.append(row(name, COCO, min(ours), min(theirs), labels))
    return rows, equal


def row(
    name: str, shape: tuple[int, int], ours: float, theirs: float | None, labels: PartialLabels
) -> dict[str, Any]:
    """One line of the table."""
    ratio = None if theirs is None else theirs / ours
    times = {"ours": ours, "theirs": theirs, "ratio": ratio}
    return {"case": name, "shape": shape, "kept": int(labels.codes.nnz), **times}


def real_labels(folder: Path) -> list[dict[str, Any]]:
    """The four schemes on COCO's 2014 validation labels; super-categories are the hierarchy."""
    stored = np.load(folder / "labels" / "coco2014_val.npz", allow_pickle=False)
    data = (np.ones(len(stored["indices"]), bool), stored["indices"], stored["indptr"])
    names = [str(name) for name in stored["class_names"]]
    truth = Truth.of(csr_array(data, shape=tuple(stored["shape"])), stored["image_ids"], names)
    listed = json.loads((folder / "meta" / "coco_categories.json").read_text())
    above = {entry["name"]: "any " + entry["supercategory"] for entry in listed}
    hierarchy = Hierarchy.of([*names, *sorted(set(above.values()))], [(n, above[n]) for n in names])
    closed = close(truth, hierarchy)
    cases = {**SCHEMES, "knowledge-graph": "knowledge-graph"}
    rows = []
    for name, spec in cases.items():
        graph = {"hierarchy": hierarchy} if name == "knowledge-graph" else {}
        on = closed if graph else truth
        goes = [measuring.timed(simulate, on, spec, **graph) for _ in range(3)]
        rows.append(row(f"{name}, real", on.shape, min(go[0] for go in goes), None, goes[0][1]))
    return rows


def large(size: str) -> list[dict[str, Any]]:
    """All schemes on one stored matrix."""
    *shape, present = SIZES[size]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "truth.npz"
        truth = long_tailed((shape[0], shape[1]), present, 1.82)
        np.savez(file, indptr=truth.present.indptr, indices=truth.present.indices)
        del truth
        return [one_alone(size, file, name) for name in LARGE_SCHEMES]


def one_alone(size: str, file: Path, name: str) -> dict[str, Any]:
    """One scheme on the stored matrix in its own process: seconds, and memory above the input."""
    program = [sys.executable, __file__, "--size", size, "--one", name, "--input", str(file)]
    answer = subprocess.run(program, check=True, capture_output=True, text=True)
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def one_large(size: str, file: Path, name: str) -> dict[str, Any]:
    """What `one_alone` runs: read, reset the high-water mark of memory, simulate."""
    shape = SIZES[size][:2]
    stored = np.load(file)
    matrix = (np.ones(len(stored["indices"]), bool), stored["indices"], stored["indptr"])
    truth = Truth.of(csr_array(matrix, shape=shape))
    del matrix, stored
    before = measuring.forget_peak()
    seconds, labels = measuring.timed(simulate, truth, LARGE_SCHEMES[name])
    line = row(f"{name}, {size}", shape, seconds, None, labels)
    return {**line, "memory_mb": measuring.peak_mb() - before}


def table(rows: list[dict[str, Any]]) -> None:
    heads = ("images x classes", "kept", "ms", "published ms", "ratio", "MB")
    print("{:24}{:>20}{:>12}{:>10}{:>14}{:>8}{:>8}".format("case", *heads))
    for line in rows:
        theirs = "" if line["theirs"] is None else f"{line['theirs'] * 1e3:,.1f}"
        ratio = "" if line["ratio"] is None else f"{line['ratio']:,.1f}"
        shape = "{:,} x {:,}".format(*line["shape"])
        used = f"{line['memory_mb']:,.0f}" if "memory_mb" in line else ""
        ms = f"{line['ours'] * 1e3:,.1f}"
        print(
            f"{line['case']:24}{shape:>20}{line['kept']:>12,}{ms:>10}{theirs:>14}{ratio:>8}{used:>8}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=("coco", *SIZES), default="coco")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, within 50 seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--one", choices=tuple(LARGE_SCHEMES), help=argparse.SUPPRESS)
    parser.add_argument("--input", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # the long tail has classes and images with too few labels
    if given.one:
        print(json.dumps(one_large(given.size, given.input, given.one)))
        return
    rows, equal = coco_size(3 if given.quick else 7)
    if os.environ.get("SIMKIT_DATA"):
        rows += real_labels(Path(os.environ["SIMKIT_DATA"]))
    for size in [*SIZES][: [*SIZES].index(given.size) + 1] if given.size in SIZES else ():
        rows += large(size)
    table(rows)
    ratios = {line["case"]: round(line["ratio"], 2) for line in rows if line["ratio"]}
    for name, bar in BARS.items():
        measuring.against({name: ratios[name]}, bar, theirs=INSTEAD[name])
    measuring.finish(
        "simulate",
        as_json=given.json,
        equal=equal,
        ratios=ratios,
        sizes={line["case"]: [*line["shape"], line["kept"]] for line in rows},
        memory_mb={line["case"]: line["memory_mb"] for line in rows if "memory_mb" in line},
        seconds={line["case"]: line["ours"] for line in rows},
    )


if __name__ == "__main__":
    main()
