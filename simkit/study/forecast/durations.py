"""About how long trainings take on one core, by counting; nothing is timed here.

The numbers fit stacks of 1, 11 and 44 heads within a third: 5,000 images, features of 256 and 2,048
numbers, 20 and 80 classes, batches of 64 and 16, eleven methods of a grid such as that of
benchmarks/compare.py, processor time on one thread of a server's core, least squares of relative
errors.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from dataclasses import dataclass

from simkit.annotate import schemes
from simkit.annotate.prices import cost, prices
from simkit.annotate.simulate import how_many, simulate
from simkit.study.bundles.bundle import Purchase, kind_of
from simkit.study.grids.grid import Grid
from simkit.study.material.material import Material

_STACK = 2e-4  # seconds for each step of a stack, however many runs are in it
_READ = 3.3e-8  # seconds to read one number of the features
_STEP = 2.8e-4  # seconds for the loss and the optimiser's step of one run
_RATE = 4e10  # multiplications and additions in a second
_FORWARDS = 3e10  # of them in a backbone
_PRICED = 256  # images that tell what an image costs
_RANK = 2e-8  # seconds to rank one score, for average precision


@dataclass(frozen=True)
class Size:
    """What a stack of heads works on: images to learn from, and those scored after every epoch and
    at the end; classes; width and points of the features (1 where they are pooled)."""

    images: int
    classes: int
    width: int
    points: int = 1
    each_epoch: int = 0
    at_end: int = 0


def of_stack(runs: int, size: Size, *, epochs: int, batch_size: int) -> float:
    """Seconds for heads that are trained together."""
    steps = epochs * math.ceil(size.images / batch_size)
    scored = epochs * size.each_epoch + size.at_end
    numbers = size.width * size.points * (epochs * size.images + scored)
    products = size.classes * size.width * size.points * (4 * epochs * size.images + 2 * scored)
    each = _STEP * steps + products / _RATE + _RANK * scored * size.classes
    return _STACK * steps + _READ * numbers + runs * each


def seconds(purchase: Purchase, grid: Grid, material: Material) -> float:
    """Seconds for a purchase, if its runs of a kind share a stack."""
    if material.pixels is not None:
        return _of_backbones(purchase, grid, material)
    kinds = [kind_of(purchase.spelled(spec)) for spec in purchase.methods]
    asked, found = _asked(purchase, grid, material), 0.0
    for kind in dict.fromkeys(kinds):
        size = dataclasses.replace(size_of(kind, grid, material), images=asked)
        epochs, batch_size = grid.train.epochs, grid.train.batch_size
        found += of_stack(kinds.count(kind), size, epochs=epochs, batch_size=batch_size)
    return found


def _asked(purchase: Purchase, grid: Grid, material: Material) -> int:
    """About how many images: where the limit buys images, by what some of them cost; all, where it
    buys something else, such as labels for each class."""
    truth, scheme = material.truth("train"), schemes.make(purchase.scheme)
    most = how_many(purchase.images, truth.shape[0])
    limit = purchase.budget or purchase.hours
    if limit is None or scheme.amount is not None:
        return most
    few = min(most, _PRICED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = simulate(
            truth,
            scheme,
            images=few,
            habits=grid.habits,
            hierarchy=material.hierarchy,
            boxes=material.data.boxes.get("train"),
            seed=grid.seed,
        )
        bill = cost(labels, prices(grid.prices).once_set_up())
    spent = bill.dollars if purchase.budget else (bill.seconds or 0.0) / 3600
    return most if not spent else max(1, min(most, round(few * limit / spent)))


def size_of(kind: str, grid: Grid, material: Material) -> Size:
    """What heads on features of that kind work on."""
    images, classes = material.truth("train").shape
    held = "test" if grid.validation == "none" else "val"
    watched = grid.curves or grid.validation != "none"
    _, width, *sides = material.features["train", kind].values.shape
    return Size(
        images,
        classes,
        width,
        math.prod(sides),
        each_epoch=material.truth(held).shape[0] if watched else 0,
        at_end=material.truth("test").shape[0],
    )


def _of_backbones(purchase: Purchase, grid: Grid, material: Material) -> float:
    """The same, where backbones learn: backwards takes about twice as long as forwards."""
    assert grid.pictures is not None and material.pixels is not None
    images, found = material.truth("train").shape[0], 0.0
    for spec in purchase.methods:
        settings = grid.pictures.settings(spec, grid.train)
        forwards = material.pixels.work[grid.pictures.shown(spec).size]
        found += 3 * of_backbone(forwards) * images * settings.epochs
    return found


def of_backbone(work: int) -> float:
    """Seconds for one picture on its way forwards, of so many multiplications and additions."""
    return work / _FORWARDS
