"""How fast average precision is, against scikit-learn's class loop and torchmetrics.

    python benchmarks/metrics.py                 # 40k images x 80 classes and 20k x 5,000
    python benchmarks/metrics.py --size large    # also 125k x 9,600, with the memory it takes
    python benchmarks/metrics.py --quick --json  # within 50 seconds; the last line is JSON

Measured is the public function `average_precision`, on one thread, in seconds of processor time; in
a run, ours and theirs take turns on the same float32 scores and bool labels, images x classes, and
what they found is compared. scikit-learn and torchmetrics go through the classes one by one, so
with --quick, and at the large size, they get a share of them, and their time is scaled up.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import json
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score

from simkit.metrics import average_precision

torchmetrics = measuring.rival("torchmetrics.functional.classification")

# Images, classes, labels present per image, and the classes that others get with --quick.
SIZES = {"40k x 80": (40_000, 80, 2.9, 80), "20k x 5,000": (20_000, 5_000, 15.0, 100)}
LARGE = (125_000, 9_600, 7.0)
SAMPLE = 32  # classes that scikit-learn gets at the large size
BAR = 15
EXACT = 1e-12
FLOAT32 = 1e-5  # torchmetrics adds up in float32


def example(N: int, L: int, per_image: float) -> tuple[NDArray[Any], Any]:
    """Scores and labels with a long tail; every class is present once at least."""
    rng = np.random.default_rng(0)
    share = 1 / (np.arange(L) + 5)
    present = np.zeros((N, L), bool)
    scores = rng.standard_normal((N, L), dtype=np.float32)
    for c, p in enumerate(rng.permutation(share / share.sum() * per_image)):
        shows = np.append(rng.integers(N), np.flatnonzero(rng.random(N, np.float32) < p))
        present[shows, c] = True
        scores[np.flatnonzero(present[:, c]), c] += 1.5
    np.divide(scores, 2, out=scores)
    np.tanh(scores, out=scores)
    scores += 1
    scores /= 2
    return scores, present


def class_loop(scores: NDArray[Any], present: NDArray[Any], L: int) -> NDArray[Any]:
    return np.array([average_precision_score(present[:, c], scores[:, c]) for c in range(L)])


def by_torchmetrics(scores: NDArray[Any], present: NDArray[Any], L: int) -> NDArray[Any]:
    tensors = [torch.from_numpy(np.ascontiguousarray(a[:, :L])) for a in (scores, present)]
    ap = torchmetrics.multilabel_average_precision
    return np.asarray(ap(*tensors, num_labels=L, average=None, validate_args=False))


THEIRS: dict[str, Any] = {"scikit-learn": class_loop}
if torchmetrics is not None:
    THEIRS["torchmetrics"] = by_torchmetrics


def contest(size: str, quick: bool) -> tuple[list[dict[str, Any]], bool]:
    """Ours on every class against each of theirs, in turns."""
    N, L, per_image, few = SIZES[size]
    scores, present = example(N, L, per_image)
    asked = few if quick else L
    goes = 3 if L < 1000 else 2
    average_precision(scores[:, :64], present[:, :64])
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in THEIRS}
    equal = True
    for _ in range(goes):
        for name, function in THEIRS.items():
            seconds, ap = measuring.timed(average_precision, scores, present)
            ours.append(seconds)
            seconds, other = measuring.timed(function, scores, present, asked)
            theirs[name].append(seconds * L / asked)
            equal &= agree(name, ap[:asked], other)
    rows = [line(f"{size}, {name}", (N, L), ours, times, asked) for name, times in theirs.items()]
    by_class, sparse = np.ascontiguousarray(scores.T).T, csr_array(present)
    found = [measuring.timed(average_precision, by_class, sparse) for _ in range(goes)]
    equal &= bool(np.array_equal(found[0][1], ap))
    rows.append(line(f"{size}, class by class", (N, L), [seconds for seconds, _ in found]))
    return rows, equal and ties(scores, present, min(L, few))  # last: it changes the scores


def agree(name: str, ours: NDArray[Any], theirs: NDArray[Any]) -> bool:
    return bool(np.abs(ours - theirs).max() <= (EXACT if name == "scikit-learn" else FLOAT32))


def line(
    case: str,
    shape: tuple[int, ...],
    ours: list[float],
    theirs: list[float] | None = None,
    asked: int | None = None,
) -> dict[str, Any]:
    """One line of the table; ratios of the best and of the median times."""
    row = {"case": case, "shape": tuple(shape), "ours": min(ours), "theirs": None, "ratio": None}
    if theirs:
        row |= {**measuring.speed(ours, theirs), "asked": asked}
    return row


def ties(scores: NDArray[Any], present: NDArray[Any], L: int) -> bool:
    """Whether scores of 65 different values, in place, give what scikit-learn gives; L classes."""
    np.multiply(scores, 64, out=scores)
    np.rint(scores, out=scores)
    np.divide(scores, 64, out=scores)
    ap, other = average_precision(scores, present)[:L], class_loop(scores, present, L)
    print(f"ties, {' x '.join(map(str, scores.shape))}: the largest difference from scikit-learn "
          f"on {L:,} classes is {np.abs(ap - other).max():.1e}")  # fmt: skip
    return agree("scikit-learn", ap, other)


def large() -> list[dict[str, Any]]:
    """The large size in processes of their own: row by row, class by class, and few known."""
    rows = []
    for form in ("row by row", "class by class", "1 % known"):
        program = [sys.executable, __file__, "--one", form]
        answer = subprocess.run(program, check=True, capture_output=True, text=True)
        rows.append(json.loads(answer.stdout.splitlines()[-1]))
    return rows


def one_large(form: str) -> dict[str, Any]:
    """What `large` runs: make the input, measure time and then memory."""
    N, L, per_image = LARGE
    rng = np.random.default_rng(1)
    scores = rng.random((L, N) if form == "class by class" else (N, L), dtype=np.float32)
    scores = scores.T if form == "class by class" else scores
    places = np.unique(rng.integers(0, N * L, int(N * per_image)))
    present = csr_array((np.ones(len(places), bool), divmod(places, L)), (N, L))
    scores[divmod(places, L)] += 0.3
    known = None
    if form == "1 % known":
        cells = np.union1d(places, rng.integers(0, N * L, N * L // 100))
        known = csr_array((np.ones(len(cells), bool), divmod(cells, L)), (N, L))
        del cells
    seconds, ap = measuring.timed(average_precision, scores, present, known)
    # Traced in a second go: the kernel's count misses what reuses memory freed while making input.
    tracemalloc.start()
    average_precision(scores, present, known)
    used = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    theirs = None
    if known is None:
        some = np.ascontiguousarray(scores[:, :SAMPLE]), present[:, :SAMPLE].toarray()
        took, other = measuring.timed(class_loop, *some, SAMPLE)
        assert agree("scikit-learn", ap[:SAMPLE], other), "scikit-learn gives another result"
        theirs = [took * L / SAMPLE]
    row = line(f"125k x 9,600, {form}", (N, L), [seconds], theirs, SAMPLE)
    return row | {"memory_mb": used}


def table(rows: list[dict[str, Any]]) -> None:
    heads = ("case", "ms", "theirs, ms", "of so many classes", "times as fast", "by medians", "MB")
    lines = []
    for row in rows:
        cells = [row["case"], f"{row['ours'] * 1e3:,.1f}", "", "", "", "", ""]
        if row["theirs"]:
            cells[2:4] = f"{row['theirs'] * 1e3:,.0f}", f"{row['asked']:,}"
            cells[4:6] = f"{row['ratio']:.1f}", f"{row['median ratio']:.1f}"
        if "memory_mb" in row:
            cells[6] = f"{row['memory_mb']:,.0f}"
        lines.append(cells)
    measuring.table(heads, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=("small", "large"), default="small")
    parser.add_argument("--quick", action="store_true", help="a share of classes for the others")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.one:
        print(json.dumps(one_large(given.one)))
        return
    rows, equal = [], True
    for size in SIZES:
        found, same = contest(size, given.quick)
        rows, equal = rows + found, equal and same
    rows += large() if given.size == "large" else []
    table(rows)
    ratios = {row["case"]: row["ratio"] for row in rows if row["ratio"]}
    theirs = "average precision of scikit-learn or torchmetrics, class by class"
    measuring.against(ratios, BAR, theirs=theirs)
    measuring.finish(
        "metrics",
        as_json=given.json,
        equal=equal,
        ratios=ratios,
        sizes={row["case"]: row["shape"] for row in rows},
        memory_mb={row["case"]: row["memory_mb"] for row in rows if "memory_mb" in row},
        seconds={row["case"]: row["ours"] for row in rows},
    )


if __name__ == "__main__":
    main()
