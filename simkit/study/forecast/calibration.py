"""How fast this machine trains, against what counting says: a second or two of work."""

from __future__ import annotations

import time
import warnings

import numpy as np
import torch
from numpy.typing import NDArray

from simkit.labels.partial import PartialLabels
from simkit.learn import methods
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Method, Task
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train_stack
from simkit.study.bundles.bundle import kind_of
from simkit.study.bundles.work import one_thread
from simkit.study.forecast.durations import Size, of_backbone, of_stack
from simkit.study.grids.grid import Grid
from simkit.study.material.material import Material

_BATCHES = 8  # that one epoch of the calibration has
_LONGEST = 2.0  # seconds: what takes longer is not begun


def calibrated(grid: Grid, material: Material) -> tuple[float, float]:
    """Seconds that training takes for one that is counted, and the seconds that this took.

    The methods of the grid train together on a few batches of its features, with all labels. What
    they need besides, and how labels are bought, is not timed. Of a backbone one picture is timed
    on its way forwards, on the CPU.
    """
    start = time.perf_counter()
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        speed = _of_backbones(material) if material.pixels else _of_heads(grid, material)
    return speed, time.perf_counter() - start


def _of_heads(grid: Grid, material: Material) -> float:
    taken = counted = 0.0
    kinds = sorted({kind_of(spec) for spec in grid.methods})
    for kind in kinds:
        values = material.features["train", kind].values
        rows = min(len(values), _BATCHES * grid.train.batch_size)
        asked = np.zeros(len(values), bool)  # all over the file, as rows are read in training
        asked[np.linspace(0, len(values) - 1, rows).astype(int)] = True
        truth = material.truth("train")
        codes: NDArray[np.int8] = np.where(truth.present.toarray(), np.int8(1), np.int8(-1))
        codes[~asked] = 0
        labels = PartialLabels.of(codes, truth.images, truth.classes, asked)
        task = Task(labels, material.inputs("train", kind))
        size = Size(rows, labels.shape[1], values.shape[1], int(np.prod(values.shape[2:])))
        own = [methods.make(spec) for spec in grid.methods if kind_of(spec) == kind]
        seconds, runs = _timed(task, own, grid.train.batch_size, _LONGEST / len(kinds))
        taken += seconds
        counted += of_stack(runs, size, epochs=1, batch_size=grid.train.batch_size)
    return taken / counted


def _timed(task: Task, some: list[Method], batch_size: int, longest: float) -> tuple[float, int]:
    """Seconds of an epoch, and how many runs it had: those that can be trained so."""
    runs = []
    begun = time.perf_counter()
    for method in some:
        if method.needs.aids and time.perf_counter() - begun > longest / 2:
            continue  # aids take long to make; the others stand for their methods
        try:
            runs.append((prepare(task, method, settings=Settings(epochs=1)), method))
        except Exception:  # it will be told when the method is trained
            continue
    try:
        return _epoch(runs, batch_size, longest), len(runs)
    except Exception:
        return _epoch([(task, methods.make("full"))], batch_size, longest), 1


def _epoch(runs: list[tuple[Task, Method]], batch_size: int, longest: float) -> float:
    """Seconds of one epoch more: what a training takes to begin and to end is not in it."""

    def taken(epochs: int) -> float:
        start = time.perf_counter()
        train_stack(runs, settings=Settings(epochs=epochs, batch_size=batch_size), device="cpu")
        return time.perf_counter() - start

    begun = time.perf_counter()
    taken(1)  # what is done for the first time takes longer
    short, more = taken(1), 4
    long = taken(1 + more)
    while long < 2 * short and time.perf_counter() - begun + 4 * long < longest:
        more *= 4
        long = taken(1 + more)
    return max(long - short, long / 100) / more


def _of_backbones(material: Material) -> float:
    assert material.pixels is not None
    net = min(material.pixels.networks.values(), key=lambda one: one.size)
    picture = torch.zeros(1, 3, net.size, net.size, dtype=torch.uint8)
    with torch.no_grad():
        ready = net.prepare(picture)
        net(ready)
        start = time.perf_counter()
        net(ready)
    work = min(material.pixels.work.values())
    return (time.perf_counter() - start) / of_backbone(work)
