"""The comparisons behind plan_backtest.py: pilots and projects on three kinds of images.

    python benchmarks/plan_worlds.py --runs FOLDER [scenes] [coco] [mirflickr] [photographs]

Each world has pools of images, from which all smaller pools take the first images: pilots of 150,
300 and 600 completely labelled images and projects of 10 and 30 times as many. In each pool five
schemes spend eight (pilots: five) shares of what its complete labels cost, and five methods learn
from each purchase and from the complete labels, in five draws (pilots) or one, on `scenes` up to
1,500 images two. Projects of more images have four shares. The same command goes on where it was
stopped; `--images 150 1500` makes these pools.

`scenes` are the drawings that ship with simkit; photographs the VOC 2012 animals of SIMKIT_DATA
with their features. Of `coco` (COCO 2014 validation) and `mirflickr` the labels are real and the
features are made: each class has a direction, each present label adds it with a strength of its
own, classes that often occur together have directions in common, and noise is added.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from findings import photographs
from scipy.sparse import csr_array

import simkit.data
from simkit.annotate.prices import cost
from simkit.annotate.simulate import simulate
from simkit.learn.optim import Settings
from simkit.study.compare import compare
from simkit.study.grid import Grid, demo_grid

SCHEMES = ("single-positive", "rpa", "fpc", "fraction-of-positives", "full-subset")
METHODS = ("an", "ignore", "lsan", "ll-r", "csl")
PRICES = "coco-tagging"
OF_PILOTS = (0.04, 0.08, 0.16, 0.32, 0.64)  # shares of the price of complete labels
OF_PROJECTS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.4, 0.8)
MANY, OF_LARGE = 1500, (0.02, 0.08, 0.32, 0.8)  # images of large projects; their shares
ENOUGH = 1500  # images on which 12 epochs are enough; smaller pools get as many steps
PILOTS, TIMES = (150, 300, 600), (10, 30)
LABELS = {"coco": "coco2014_val", "mirflickr": "mirflickr25k"}
DIMENSIONS, STRENGTH, SPREAD = 96, 3.4, 0.6  # of made features; of classes, of their present labels


@dataclass(frozen=True)
class World:
    """A kind of images; pilots and projects (pilot, times) name the pools that are compared."""

    name: str
    pilots: tuple[int, ...]
    projects: tuple[tuple[int, int], ...]
    draws: int = 1  # in projects of at most MANY images

    @property
    def pools(self) -> dict[int, bool]:
        """Numbers of images, and whether such a pool is a pilot."""
        sizes = dict.fromkeys(self.pilots, True)
        return sizes | {pilot * times: False for pilot, times in self.projects}


EVERY = tuple((pilot, times) for pilot in PILOTS for times in TIMES)
WORLDS = {
    "scenes": World("scenes", PILOTS, EVERY, 2),
    "coco": World("coco", PILOTS, EVERY),
    "mirflickr": World("mirflickr", PILOTS, EVERY),
    "photographs": World("photographs", (60, 150), ((60, 10), (60, 30), (150, 10))),
}


def folder_of(runs: Path, world: str, images: int) -> Path:
    return runs / world / str(images)


def grid(world: World, images: int, folder: Path) -> Grid:
    """The comparison of one pool."""
    source = _source(world, images, folder)
    data = simkit.data.open(source["data"])
    truth = data.truth[data.to_label]
    whole = cost(simulate(truth, "full-subset"), PRICES).dollars
    shares, draws = (OF_PROJECTS, world.draws) if images <= MANY else (OF_LARGE, 1)
    if world.pools[images]:
        shares, draws = OF_PILOTS, 5
    budgets = tuple(round(share * whole, 2) for share in shares)
    return Grid(SCHEMES, METHODS, budgets=budgets, prices=PRICES, draws=draws, **source)


def _source(world: World, images: int, folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    if world.name == "scenes":
        return {"data": f"scenes:images={images}", "train": demo_grid().train}
    rate = 0.01 if world.name == "photographs" else 0.03
    epochs = min(60, max(12, 12 * ENOUGH // images))
    train = Settings(epochs=epochs, batch_size=32, lr=rate, schedule="cosine")
    if world.name == "photographs":
        return {**_photographs(images, folder), "train": train}
    return {**_made(LABELS[world.name], images, folder), "train": train}


def _photographs(images: int, folder: Path) -> dict[str, Any]:
    """The first images of a shuffled training split, as label matrices beside their features."""
    found = photographs(folder)
    data = simkit.data.open(found["data"])
    order = np.random.default_rng(0).permutation(data.truth["train"].shape[0])[:images]
    values = {split: np.load(folder / f"{split}.npz")["features"] for split in ("train", "test")}
    rows = {"train": order, "test": np.arange(len(values["test"]))}
    present = {split: csr_array(data.truth[split].present)[at] for split, at in rows.items()}
    return _written(folder, present, {split: values[split][at] for split, at in rows.items()},
                    data.classes)  # fmt: skip


def _made(name: str, images: int, folder: Path, *, test: int = 4000) -> dict[str, Any]:
    """Real labels with made features, the same for every pool."""
    with np.load(_shared() / "labels" / f"{name}.npz") as file:
        shape, names = tuple(file["shape"]), file["class_names"].tolist()
        ones = np.ones(len(file["indices"]), bool)
        labels = csr_array((ones, file["indices"], file["indptr"]), shape=shape)
    rng = np.random.default_rng(1)
    order = rng.permutation(labels.shape[0])
    labels = csr_array(labels[order])
    features = _features(labels, rng)
    rows = {"train": slice(test, test + images), "test": slice(0, test)}
    present = {split: labels[at] for split, at in rows.items()}
    return _written(folder, present, {split: features[at] for split, at in rows.items()}, names)


def _features(labels: csr_array, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """(N, DIMENSIONS) float16: noise of standard deviation 1, and a direction for each label."""
    N, L = labels.shape
    counts = np.maximum(labels.sum(axis=0), 1)
    together = (labels.T.astype(np.float64) @ labels.astype(np.float64)).toarray()
    alike = together / np.sqrt(np.outer(counts, counts))
    root = np.linalg.cholesky(0.7 * alike + 0.3 * np.eye(L) + 1e-6 * np.eye(L))
    directions = root @ rng.normal(size=(L, DIMENSIONS))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions *= STRENGTH * np.exp(0.3 * rng.normal(size=(L, 1)))
    strengths = labels.astype(np.float64)
    strengths.data = np.exp(SPREAD * rng.normal(size=strengths.nnz) - SPREAD**2)
    values = strengths @ directions + rng.normal(size=(N, DIMENSIONS))
    return np.asarray(np.maximum(values, -0.5), np.float16)  # as a last layer with a kink leaves it


def _written(
    folder: Path, present: dict[str, csr_array], features: dict[str, Any], names: Any
) -> dict[str, Any]:
    files = {split: folder / f"labels-{split}.npz" for split in present}
    for split, path in files.items():
        part = csr_array(present[split])
        ids = np.array([f"{split}-{place}" for place in range(part.shape[0])])
        np.savez(path, indptr=part.indptr, indices=part.indices, shape=part.shape,
                 class_names=np.array([*names]), image_ids=ids)  # fmt: skip
        np.savez(folder / f"features-{split}.npz", features=features[split])
    files["val"] = files["test"]  # without validation labels nothing reads it
    return {
        "data": f"npz:{files['train']},val={files['val']},test={files['test']}",
        "features": {split: str(folder / f"features-{split}.npz") for split in present},
    }


def _shared() -> Path:
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    return Path(os.environ["SIMKIT_DATA"])


def chapters(names: list[str]) -> Iterator[tuple[World, int]]:
    """Pools, pilots first and smaller ones before larger ones."""
    worlds = [WORLDS[name] for name in names]
    sizes = {(world.name, images): (not pilot, images) for world in worlds
             for images, pilot in world.pools.items()}  # fmt: skip
    for name, images in sorted(sizes, key=lambda key: sizes[key]):
        yield WORLDS[name], images


def compared(
    made: Grid, world: World, images: int, folder: Path, *, workers: int | None = None
) -> None:
    """Run one pool's comparison, or what is missing of it."""
    done = compare(made, out=folder, workers=workers)
    for failure in done.failures:
        print(f"failed: {failure}", file=sys.stderr)
    best = done.every["map"].max()
    print(f"{world.name} {images:,} images: {len(done.table):,} runs, best {best:.3f}",
          file=sys.stderr, flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("worlds", nargs="*", choices=[[], *WORLDS], default=[])
    parser.add_argument("--runs", type=Path, required=True, help="folder that keeps the runs")
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--images", type=int, nargs="+", help="only pools of so many images")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # they come again as notes of the comparison
    for world, images in chapters(arguments.worlds or [*WORLDS]):
        if arguments.images and images not in arguments.images:
            continue
        folder = folder_of(arguments.runs, world.name, images)
        compared(grid(world, images, folder), world, images, folder, workers=arguments.workers)


if __name__ == "__main__":
    main()
