"""Learning curves of complete labels, from which growth.py fits how mAP grows beyond a pilot.

    SIMKIT_DATA=... python benchmarks/growth_worlds.py --out FOLDER     # an hour on one core

One file for each variant of a world: its features and its schedule of training. A world is a data
set; all its variants are left out together. Photographs have features of ImageNet networks
(`voc-animals`, `clothing`, `corel`, `coco-mini`, `msrc`), `scenes` are the drawings that ship with
simkit. Of `coco`, `mirflickr`, `nus-wide` and `voc` the labels are real and the features are made
from the photographs of Corel-5k, by a regression of their features on their labels: an image has
the sum of the effects of its classes (each that of a class of Corel-5k, `easy` and `hard` in
strength, varied from image to image), and a mixture of two photographs' residuals.

In each of two or three draws a world's images are ordered at random. Its first 14, 28, ... 14,400
are labelled completely, and heads of four methods learn from each such part. Pilots are the first
56, 112, 225 and 450 images; beside them stand as many test images as make a quarter of the pilot.
In each pilot parts of 8, 16, 32 and 64 % are drawn three times, as a comparison does. AP of each
class is stored, on the pilot's test images and on all images that no head has learned from.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measuring  # noqa: F401  # one thread
import numpy as np
import torch
from scipy.sparse import csr_array, vstack

from simkit import metrics
from simkit.learn import methods
from simkit.learn.inputs import FeatureInputs
from simkit.learn.optim import Settings
from simkit.learn.stack import scores_of_all
from simkit.learn.task import Task
from simkit.learn.train import train_stack
from simkit.study import sources
from simkit.study.grid import demo_grid

METHODS = ("an", "asl", "focal", "lsan")
REPEATS = 3  # of each part of a pilot
LADDER = (14, 28, 56, 112, 225, 450, 900, 1800, 3600, 7200, 14_400)  # images
PILOTS = (56, 112, 225, 450)  # training images; a third as many test images make 75, ... 600
PARTS = (0.08, 0.16, 0.32, 0.64)  # of a pilot's images
SCHEDULES = {
    "10 epochs": Settings(),
    "40 epochs": Settings(epochs=40, batch_size=32, lr=0.003, schedule="cosine"),
    "demo": demo_grid().train,
}
TEST = 2000  # images at most, for the mAP that counts
LEAST = 20  # images that show a class, or it is left out
DIMENSIONS, RIDGE, SPREAD = 192, 10.0, 0.5  # of made features; of effects; of strengths in images
STRENGTHS = {"easy": 1.4, "hard": 0.8}
Features = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Variant:
    """A world with certain features and a schedule; in each of so many draws at most so many images
    are learned from."""

    world: str
    features: str
    schedule: str
    load: Callable[[], tuple[Features, csr_array]]
    most: int = LADDER[-1]
    draws: int = 3

    @property
    def name(self) -> str:
        return f"{self.world} {self.features} {self.schedule}".replace(" ", "-")


def shared() -> Path:
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    return Path(os.environ["SIMKIT_DATA"])


def photographs(pack: str, network: str) -> tuple[Features, csr_array]:
    """Features and labels of all photographs of a pack."""
    with np.load(shared() / "features" / f"{pack}-{network}-gap.npz") as file:
        values = np.asarray(file["features"], np.float32)
        place = {name: k for k, name in enumerate(file["file_names"].tolist())}
    folder = shared() / ("labels" if pack == "corel5k" else "images") / pack
    present: dict[int, set[int]] = {}
    for split in ("train", "val", "test"):
        listed = json.loads((folder / f"instances_{split}.json").read_text())
        row = {image["id"]: place[image["file_name"]] for image in listed["images"]}
        for one in row.values():
            present.setdefault(one, set())
        for note in listed["annotations"]:
            present[row[note["image_id"]]].add(note["category_id"])
    rows = sorted(present)
    classes = sorted(set().union(*present.values()))
    dense = np.array([[c in present[row] for c in classes] for row in rows])
    return values[rows], csr_array(dense)


def scenes(images: int = LADDER[-1]) -> tuple[Features, csr_array]:
    """Of so many images and of the test split."""
    source = sources.StudySource(
        data=f"scenes:images={images}", splits=("train", "test"), kinds=("pooled",),
        backbone="scenes-net",
    )  # fmt: skip
    data = sources.open_source(source)
    values = [np.asarray(data.inputs(split, "pooled").values) for split in source.splits]
    labels = [csr_array(data.truth(split).present)[:, data.data.leaves] for split in source.splits]
    return np.concatenate(values).astype(np.float32), csr_array(vstack(labels))


def made(names: tuple[str, ...], strength: str) -> tuple[Features, csr_array]:
    """Real labels with made features."""
    parts = []
    for name in names:
        with np.load(shared() / "labels" / f"{name}.npz") as file:
            ones = np.ones(len(file["indices"]), bool)
            shape = tuple(file["shape"])
            parts.append(csr_array((ones, file["indices"], file["indptr"]), shape=shape))
    labels = csr_array(vstack(parts))
    rng = np.random.default_rng(1)
    labels = csr_array(labels[rng.permutation(labels.shape[0])[: LADDER[-1] + TEST]])
    return features(labels, STRENGTHS[strength], rng), labels


def features(labels: csr_array, strength: float, rng: np.random.Generator) -> Features:
    """(N, 1280) made features, as the module describes them."""
    values, present = photographs("corel5k", "tf_efficientnet_lite2")
    middle, known = values.mean(axis=0), present.toarray().astype(np.float64)
    known = known[:, known.sum(axis=0) >= LEAST]
    _, _, axes = np.linalg.svd((values - middle)[::2], full_matrices=False)
    axes = axes[:DIMENSIONS]
    reduced = (values - middle) @ axes.T
    effects = np.linalg.solve(known.T @ known + RIDGE * np.eye(known.shape[1]), known.T @ reduced)
    rest = reduced - known @ effects
    N, L = labels.shape
    strengths = labels.astype(np.float64)
    strengths.data = strength * np.exp(SPREAD * rng.normal(size=strengths.nnz) - SPREAD**2 / 2)
    made = strengths @ effects[rng.permutation(len(effects))[:L]]
    part = rng.random((N, 1)) * np.pi / 2
    made += np.cos(part) * rest[rng.integers(len(rest), size=N)]
    made += np.sin(part) * rest[rng.integers(len(rest), size=N)]
    return np.maximum(made @ axes + middle, 0).astype(np.float32)


def variants() -> list[Variant]:
    """Cheap worlds first."""
    mobile, lite = "mobilenet_v2", "tf_efficientnet_lite2"
    packs = [("msrc", "msrc-v2", lite), ("coco-mini", "coco-mini", mobile),
             ("coco-mini", "coco-mini", lite), ("voc-animals", "voc12-animals", mobile),
             ("voc-animals", "voc12-animals", lite), ("clothing", "clothing-ccp", lite),
             ("corel", "corel5k", lite)]  # fmt: skip
    labels = {"voc": ("voc2007_trainval", "voc2007_test", "voc2012_trainval"),
              "mirflickr": ("mirflickr25k",), "nus-wide": ("nuswide81_sample",),
              "coco": ("coco2014_val",)}  # fmt: skip
    short = {mobile: "mobilenet", lite: "lite"}
    found = []
    for schedule in ("10 epochs", "40 epochs"):
        long = schedule == "40 epochs"
        for world, pack, network in packs:
            load = lambda pack=pack, network=network: photographs(pack, network)  # noqa: E731
            found.append(Variant(world, short[network], schedule, load))
        # Ten epochs at the default rate are too few for parts of `scenes`; the demo's are not.
        found.append(
            Variant(
                "scenes",
                "scenes-net",
                "demo" if long else schedule,
                scenes,
                LADDER[-3 if long else -1],
                2 if long else 3,
            )
        )
        for k, (world, names) in enumerate(labels.items()):
            strength = [*STRENGTHS][(k + long) % 2]
            load = lambda names=names, strength=strength: made(names, strength)  # noqa: E731
            found.append(Variant(world, strength, "10 epochs", load, LADDER[-2], 2))
    return found


class Images:
    """Images of a variant in the order of a draw: the first to learn from, the last for testing."""

    def __init__(self, values: Features, labels: csr_array, draw: int, most: int) -> None:
        N = len(values)
        test = min(TEST, N // 3)
        self.order = np.random.default_rng(draw).permutation(N)
        self.train, self.test = self.order[: N - test][:most], self.order[N - test :]
        self.values, self.present, self.draw = values, labels.toarray(), draw
        self.inputs = FeatureInputs(values[self.test])

    def ap(
        self, rows: np.ndarray[Any, Any], settings: Settings, few: int = 0, *, repeat: int = 0
    ) -> list[Any]:
        """(M, L) AP of the methods after learning from the train images at `rows`: on all test
        images, and on the first `few` of them."""
        images = self.train[rows]
        codes = np.where(self.present[images], 1, -1).astype(np.int8)
        task = Task(codes, FeatureInputs(self.values[images]))
        runs = [(task, methods.make(name)) for name in METHODS]
        trained = train_stack(runs, settings=settings, seed=self.draw, draw=repeat)
        scores = np.asarray(scores_of_all(trained, self.inputs))
        sizes = (len(self.test), few) if few else (len(self.test),)
        found = []
        for size in sizes:
            present = csr_array(self.present[self.test[:size]])
            found.append([metrics.average_precision(one[:size], present) for one in scores])
        return [np.array(one, np.float32) for one in found]


def curves(variant: Variant, values: Features, labels: csr_array) -> dict[str, Any]:
    """All learning curves of a variant."""
    settings, L = SCHEDULES[variant.schedule], labels.shape[1]
    most = min(variant.most, len(values) - min(TEST, len(values) // 3))
    ladder = [n for n in LADDER if n <= most]
    pilots = [n for n in PILOTS if 4 * n <= ladder[-1]]
    shape = (variant.draws, len(ladder), len(METHODS), L)
    made = {"ladder": np.array(ladder), "pilots": np.array(pilots), "curve": np.full(shape, np.nan)}
    shape = (variant.draws, len(pilots), len(PARTS) + 1, REPEATS, len(METHODS), L)
    made |= {"many": np.full(shape, np.nan), "few": np.full(shape, np.nan)}
    # How many images of the pilot, and of its test images, show each class.
    made |= {"shown": np.zeros((variant.draws, len(pilots), 2, L), int)}
    for draw in range(variant.draws):
        images = Images(values, labels, draw, variant.most)
        for k, n in enumerate(ladder):
            made["curve"][draw, k] = images.ap(np.arange(n), settings)[0]
        for p, n in enumerate(pilots):
            few = n // 3
            made["shown"][draw, p, 0] = images.present[images.train[:n]].sum(axis=0)
            made["shown"][draw, p, 1] = images.present[images.test[:few]].sum(axis=0)
            for k, part in enumerate((*PARTS, 1.0)):
                for repeat in range(REPEATS):
                    rng = np.random.default_rng([draw, n, repeat])
                    rows = np.sort(rng.permutation(n)[: round(part * n)])
                    many, on_few = images.ap(rows, settings, few, repeat=repeat)
                    made["many"][draw, p, k, repeat] = many
                    made["few"][draw, p, k, repeat] = on_few
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder that keeps the curves")
    parser.add_argument("--only", default="", help="variants whose name contains this")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    for variant in variants():
        path = arguments.out / f"{variant.name}.npz"
        if path.is_file() or arguments.only not in variant.name:
            continue
        start = time.process_time()
        values, labels = variant.load()
        often = labels.sum(axis=0) >= LEAST
        found = curves(variant, values, csr_array(labels[:, often]))
        np.savez_compressed(path, world=variant.world, features=variant.features,
                            schedule=variant.schedule, **found)  # fmt: skip
        means = np.nanmean(found["curve"], axis=(0, 2, 3))
        print(f"{variant.name}: {time.process_time() - start:.0f} s, {labels.shape[0]:,} images, "
              f"{often.sum()} classes, mAP " + " ".join(f"{100 * x:.1f}" for x in means),
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
