"""How long tables from outside take to read, against pandas.read_csv on the same file.

    python benchmarks/tables.py [--quick] [--json]

Cases are a labels.csv with a row per label, sorted by image and shuffled, and a file of votes. Ours
is the whole way to labels or votes, with the checks of every cell. Theirs is `pandas.read_csv`
alone, whose texts stay in the buffers of Arrow since pandas 3; with `dtype=object`, a Python string
for each cell, as before pandas 3; and with a code for each image and class (`factorize`), which
labels need. Both take turns in one process, in seconds of processor time.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simkit.annotate.votes import read_votes
from simkit.data.label_table import read_content

ROWS, VOTES, QUICK = 1_000_000, 924_810, 200_000
BAR = 0.67


def label_rows(path: Path, rows: int, *, ordered: bool) -> Path:
    """A labels.csv with 2.5 labels for each image."""
    random = np.random.default_rng(0)
    images, classes = random.integers(0, rows * 2 // 5, rows), random.integers(0, 80, rows)
    images = np.sort(images) if ordered else images
    files = [f"train/{image:012d}.jpg" for image in images]
    pd.DataFrame({"file": files, "class": [f"class {c}" for c in classes]}).to_csv(
        path, index=False
    )
    return path


def vote_rows(path: Path, rows: int) -> Path:
    """Three votes of 200 workers on each question."""
    question = np.arange(rows) // 3
    workers = [f"w{(q * 7 + n % 3 * 61) % 200}" for n, q in enumerate(question)]
    pd.DataFrame({
        "image": [f"train/{q // 8:012d}.jpg" for q in question],
        "class": [f"class {q % 8}" for q in question], "worker": workers,
        "answer": np.where(question * 31 % 5 > 1, "no", "yes"),
    }).to_csv(path, index=False)  # fmt: skip
    return path


def factorized(path: Path) -> pd.DataFrame:
    """The table of pandas after its first two columns were coded."""
    table = pd.read_csv(path)
    for place in (0, 1):
        pd.factorize(table.iloc[:, place])
    return table


RIVALS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "read_csv": pd.read_csv,
    "of objects": lambda path: pd.read_csv(path, dtype=object),
    "and factorize": factorized,
}


def contest(read: Callable[[Path], Any], path: Path, goes: int) -> dict[str, Any]:
    """Seconds and ratios of one case."""
    case: dict[str, Any] = {}
    for name, rival in RIVALS.items():
        ours, theirs, counts, table = measuring.turns(
            lambda: read(path), lambda rival=rival: rival(path), goes
        )
        case[name] = measuring.speed(ours, theirs)
    case["equal"] = counts == (table.iloc[:, 0].nunique(), table.iloc[:, 1].nunique())
    return case | {"shape": [len(table), table.shape[1]]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} rows")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, votes = (QUICK, QUICK) if options.quick else (ROWS, VOTES)

    def labels(path: Path) -> tuple[int, int]:
        content = read_content(path)
        return len(content.files), len(content.classes)

    def answers(path: Path) -> tuple[int, int]:
        content = read_votes(path)
        return len(content.images), len(content.classes)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = {
            f"labels, {rows:,} rows": (labels, label_rows(folder / "a.csv", rows, ordered=True)),
            f"labels, {rows:,} rows shuffled": (
                labels, label_rows(folder / "b.csv", rows, ordered=False)
            ),
            f"votes, {votes:,} rows": (answers, vote_rows(folder / "c.csv", votes)),
        }  # fmt: skip
        results = {case: contest(*each, 3 if options.quick else 5) for case, each in cases.items()}
    measuring.table(
        ("case", "s", *(part for name in RIVALS for part in (f"{name}, s", "times as fast"))),
        [
            [case, f"{each['read_csv']['ours']:.2f}",
             *(f"{each[name][key]:.2f}" for name in RIVALS for key in ("theirs", "ratio"))]
            for case, each in results.items()
        ],
    )  # fmt: skip
    ratios = {case: each["read_csv"]["ratio"] for case, each in results.items()}
    objects = {f"{case}, of objects": each["of objects"]["ratio"] for case, each in results.items()}
    measuring.against(ratios | objects, BAR, 2, theirs="pandas.read_csv, without any check")
    measuring.finish(
        "tables",
        as_json=options.json,
        equal=all(each["equal"] for each in results.values()),
        ratios=ratios,
        sizes={case: each["shape"] for case, each in results.items()},
        others={case: {n: each[n]["ratio"] for n in RIVALS} for case, each in results.items()},
    )


if __name__ == "__main__":
    main()
