"""Training heads on features: the processor time of one training, by method.

    python benchmarks/heads.py                      # all methods, and one stack of them
    python benchmarks/heads.py --quick              # few methods, once
    python benchmarks/heads.py --against ../earlier # in turn with another checkout of simkit
    python benchmarks/heads.py --methods role,en    # these alone

1,200 images with 1,280 features and 20 classes, 25 epochs in batches of 64, Adam, as in the atlas'
grids on photographs, but with random numbers. Each method trains 16 runs, with labels of their own,
in one stack; the mixed stack has one run of every method. Seconds are processor time of one thread
and the least of several goes; those with two checkouts are in turns, in two processes, and their
losses and scores are compared. On a busy machine no ratio is judged.
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
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from simkit.learn import methods
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task
from simkit.learn.settings import Settings
from simkit.learn.side_info import prepare
from simkit.learn.train import train_stack

ROOT = Path(__file__).parents[1]
IMAGES, FEATURES, CLASSES, RUNS = 1_200, 1_280, 20, 16
SETTINGS = Settings(epochs=25, batch_size=64, lr=0.001, keep="average")
COUNTED = ("en", "ep", "epr", "role")  # need the number of classes of an image
# Wrappers, and methods that heads on features of partial labels cannot use.
LEFT_OUT = ("full", "boostlu", "cl", "scl", "vlpl", "aevlp", "cnn-rnn")
METHODS = [name for name in methods.names() if name not in LEFT_OUT]
FEW = ("an", "role", "ll-cp")
MIXED = "one of each"
AGREE = 1e-5  # losses and scores, as a share of the largest


@cache
def material() -> tuple[FeatureInputs, list[np.ndarray]]:
    """Features (N, D) float16, and for each run labels (N, L): an image has a known positive."""
    rng = np.random.default_rng(0)
    inputs = FeatureInputs(rng.random((IMAGES, FEATURES), np.float32).astype(np.float16))
    labels = []
    for _ in range(RUNS):
        drawn = rng.random((IMAGES, CLASSES))
        codes = (drawn < 0.06).astype(np.int8) - (drawn > 0.8).astype(np.int8)
        codes[np.arange(IMAGES), rng.integers(CLASSES, size=IMAGES)] = 1
        labels.append(codes)
    return inputs, labels


def stack_of(name: str) -> list[tuple[Task, Any]]:
    """The runs of a method, or one of each method, on the first labels."""
    inputs, labels = material()
    runs = []
    for each in METHODS if name == MIXED else [name]:
        method = methods.make(each, **({"expected": 1.3} if each in COUNTED else {}))
        for codes in labels[:1] if name == MIXED else labels:
            runs.append((prepare(Task(codes, inputs), method, settings=SETTINGS), method))
    return runs


def serve(folder: Path) -> None:
    """For each name in the input: train, print the seconds of a training, and keep the results."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # as in comparisons
    warnings.simplefilter("ignore")
    inputs = material()[0]
    for name in map(str.strip, sys.stdin):
        runs = stack_of(name)
        seconds, trained = measuring.timed(train_stack, runs, settings=SETTINGS)
        scores = np.stack([each.scores(inputs) for each in trained])
        np.savez(folder / "results.npz", scores=scores, losses=[one.losses for one in trained])
        print(json.dumps(seconds / len(runs)), flush=True)


class Checkout:
    """A process that trains with the code of a folder."""

    def __init__(self, root: Path, results: Path) -> None:
        self._results = results
        command = [sys.executable, __file__, "--serve", str(results)]
        self._process = subprocess.Popen(
            command, text=True, env={**os.environ, "PYTHONPATH": str(root.resolve())},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def seconds(self, name: str) -> float:
        """Of one training in the stack of this name."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(name, file=self._process.stdin, flush=True)
        return float(json.loads(self._process.stdout.readline()))

    def results(self) -> dict[str, np.ndarray]:
        """Losses and scores of the last stack."""
        with np.load(self._results / "results.npz") as found:
            return dict(found)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def apart(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> float:
    """The largest difference, as a share of the largest number."""
    each = (np.abs(ours[key] - theirs[key]).max() / np.abs(theirs[key]).max() for key in theirs)
    return float(max(each))


def measured(names: list[str], checkouts: list[Checkout], goes: int) -> dict[str, list[float]]:
    """By name: the least seconds of every checkout and, of two, how far apart they are."""
    found = {}
    for name in names:
        turns = [[each.seconds(name) for each in checkouts] for _ in range(goes)]
        row = [min(seconds) for seconds in zip(*turns, strict=True)]
        if len(checkouts) == 2:
            ours, theirs = (each.results() for each in checkouts)
            row.append(apart(ours, theirs))
        found[name] = row
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="the folder of another checkout of simkit")
    parser.add_argument("--methods", help="names of methods, separated by commas")
    parser.add_argument("--goes", type=int, default=2, help="trainings of which the least counts")
    parser.add_argument("--quick", action="store_true", help="few methods, once")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        return serve(given.serve)
    names = [*FEW] if given.quick else [*METHODS, MIXED]
    names = given.methods.split(",") if given.methods else names
    roots = [ROOT] + ([given.against] if given.against else [])
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / str(k) for k in range(len(roots))]
        for place in places:
            place.mkdir()
        checkouts = [Checkout(*each) for each in zip(roots, places, strict=True)]
        found = measured(names, checkouts, 1 if given.quick else given.goes)
        for each in checkouts:
            each.close()
    print(f"seconds of a processor for one training; {RUNS} runs in the stack of a method")
    rows = [[name, f"{row[0]:.3f}"] for name, row in found.items()]
    heads, ratios, equal = ["method", "s"], {}, True
    if given.against:
        heads += ["against, s", "times as fast", "apart"]
        for row, (name, (ours, theirs, off)) in zip(rows, found.items(), strict=True):
            ratios[name] = theirs / ours
            row += [f"{theirs:.3f}", f"{theirs / ours:.2f}", f"{off:.1e}"]
            equal &= off <= AGREE
    measuring.table(heads, rows)
    sizes = {"images": IMAGES, "features": FEATURES, "classes": CLASSES, "runs": RUNS}
    seconds = {name: round(row[0], 4) for name, row in found.items()}
    measuring.finish(
        "heads", as_json=given.json, equal=equal, ratios=ratios, sizes=sizes, seconds=seconds
    )


if __name__ == "__main__":
    main()
