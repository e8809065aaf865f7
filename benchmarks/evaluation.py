"""How far is the formula off that says how well a random set of images tells mAP?

    SIMKIT_DATA=... python benchmarks/evaluation.py     # about a minute on one core

Many sets are drawn from a population whose AP is known, and the standard deviation and the bias of
their mAP are divided by those that `evaluation_set` works with:

normal       one class; scores are normal and higher where it is present.
photographs  the VOC 2012 animals of SIMKIT_DATA with the features that come with them (left out
             without it): a linear classifier, sets drawn with replacement from the test split.
not alike    normal scores again, of images that are hard for all classes at once (what is present
             raises the scores by a factor of its own in each image) or crowded (and so is the
             number of classes present).

`+-` is the standard error of the bias; a standard deviation is known to 1 to 2 %.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

import simkit.data
from simkit.annotate import evaluation
from simkit.history import versions
from simkit.metrics import average_precision, mean_ap

LEVELS = (0.3, 0.5, 0.7, 0.9)
SHARES = (0.01, 0.05, 0.2, 0.5)
PRESENT = (10, 30, 100, 200)  # expected images that show the class
SETS = {"normal": 4000, "photographs": 2000, "not alike": 1000}
BLOCK = 100  # sets drawn at a time

PACK = "voc12-animals"
SIZES = (200, 600, 2000)
LEAST = 20  # test photographs that show a class which takes part
RIDGE = 3000.0

IMAGES = 500
MIX = {"share": (0.4, 0.2, 0.1, 0.05, 0.05, 0.02), "raised": (0.5, 1.0, 1.5, 2.0)}
ALIKE = {  # how far images vary: in what makes them hard, and in how crowded they are
    "all alike": (0.0, 0.0),
    "hard 0.5": (0.5, 0.0),
    "hard 1": (1.0, 0.0),
    "crowded 0.7": (0.0, 0.7),
    "hard 0.5, crowded 0.7": (0.5, 0.7),
}


def precision(scores: Any, raised: float, share: float) -> NDArray[np.float64]:
    """Of all images that score higher, how many show the class; in the population."""
    hits, others = share * ndtr(raised - scores), (1 - share) * ndtr(-scores)
    return hits / (hits + others)


def raised_for(level: float, share: float) -> float:
    """By how much presence must raise normal scores for this AP."""
    normal = ndtri((np.arange(20_000) + 0.5) / 20_000)
    return brentq(lambda by: precision(normal + by, by, share).mean() - level, -1, 8)


def normal(rng: np.random.Generator, level: float, share: float, present: int) -> dict[str, Any]:
    """One class; each column of a block is a set."""
    raised, shape = raised_for(level, share), (round(present / share), BLOCK)
    found, off = [], []
    for _ in range(SETS["normal"] // BLOCK):
        shows = rng.random(shape) < share
        scores = rng.standard_normal(shape) + raised * shows
        ap, sets = average_precision(scores, shows), np.nonzero(shows)[1]
        # The mean of the population's precision is right on average, and often as lucky as `ap`:
        # their difference is the bias with less noise.
        hits = np.bincount(sets, precision(scores[shows], raised, share), BLOCK)
        found.append(ap)
        off.append(ap - hits / np.maximum(np.bincount(sets, minlength=BLOCK), 1))
    each, levels = np.array([share]), np.array([level])
    deviation, bias = evaluation.error(shape[0], each, levels, z=1.0)
    cell = {"level": level, "share": share, "present": present}
    noise = np.nanstd(off) / SETS["normal"] ** 0.5 / bias
    return cell | {"sd": np.nanstd(found) / deviation, "bias": np.nanmean(off) / bias, "+-": noise}


def photographs(rng: np.random.Generator, data: Path) -> list[dict[str, Any]]:
    """A classifier, and how its difference from one trained on half the photographs varies."""
    # With the val split, as otherwise one would be split off train.
    listed = {s: data / "images" / PACK / f"instances_{s}.json" for s in ("train", "val", "test")}
    truth = simkit.data.open("coco:" + ",".join(f"{s}={p}" for s, p in listed.items())).truth
    with np.load(data / "features" / f"{PACK}-mobilenet_v2-gap.npz") as file:
        values, place = file["features"], {name: i for i, name in enumerate(file["file_names"])}
    rows = {
        split: [place[image["file_name"]] for image in json.loads(path.read_text())["images"]]
        for split, path in listed.items()
    }
    x = {split: values[rows[split]].astype(np.float64) for split in rows}
    y = {split: truth[split].present.toarray().astype(bool) for split in rows}
    taking_part = y["test"].sum(axis=0) >= LEAST
    shows = y["test"][:, taking_part]
    wanted = y["train"][:, taking_part]
    half = rng.permutation(len(wanted))[: len(wanted) // 2]
    scores = linear(x["train"], wanted, x["test"])
    other = linear(x["train"][half], wanted[half], x["test"])
    level, shares = average_precision(scores, shows), shows.mean(axis=0)
    print(f"{len(wanted):,} photographs to train on, {len(shows):,} to test on, {len(shares)} "
          f"classes; mAP {100 * level.mean():.1f}, APs {100 * level.min():.0f} to "
          f"{100 * level.max():.0f}; trained on half of them "
          f"{100 * average_precision(other, shows).mean():.1f}")  # fmt: skip
    table = []
    for images in SIZES:
        drawn = [rng.integers(0, len(shows), images) for _ in range(SETS["photographs"])]
        one, two = (
            [mean_ap(average_precision(s[rows], shows[rows])) for rows in drawn]
            for s in (scores, other)
        )
        table.append({"images": images} | ratios(one, images, shares, level))
        deviation = evaluation.error(images, shares, level, z=1.0)[0]
        table[-1]["sd of difference"] = np.std(np.subtract(one, two)) / deviation
    return table


def linear(x: Any, wanted: Any, test: Any) -> NDArray[np.float64]:
    """Scores of a ridge regression on standardised features."""
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    x, centred = (x - mean) / scale, wanted - wanted.mean(axis=0)
    weights = np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ centred)
    return (test - mean) / scale @ weights


def unlike(
    rng: np.random.Generator, images: int, classes: int, hard: float, crowded: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Scores and presence, (images, classes) each."""
    share, raised = (np.resize(MIX[key], classes) for key in ("share", "raised"))
    fuller = np.exp(crowded * rng.standard_normal((images, 1)) - crowded**2 / 2)
    shows = rng.random((images, classes)) < np.minimum(share * fuller, 1)
    factor = np.maximum(1 + hard * rng.standard_normal((images, 1)), 0)
    return rng.standard_normal((images, classes)) + raised * factor * shows, shows


def not_alike(rng: np.random.Generator, kind: str, classes: int) -> dict[str, Any]:
    scores, shows = unlike(rng, 400_000, 12, *ALIKE[kind])  # the classes repeat after twelve
    level = np.resize(average_precision(scores, shows), classes)
    shares = np.resize(shows.mean(axis=0), classes)
    found = [
        mean_ap(average_precision(*unlike(rng, IMAGES, classes, *ALIKE[kind])))
        for _ in range(SETS["not alike"])
    ]
    return {"kind": kind, "classes": classes} | ratios(found, IMAGES, shares, level)


def ratios(found: list[float], images: int, shares: Any, level: Any) -> dict[str, float]:
    """Deviation and bias of these mAPs, as shares of the formula's."""
    deviation, bias = evaluation.error(images, shares, level, z=1.0)
    middle = evaluation.error(images, shares, np.full(len(shares), 0.5), z=1.0)[0]
    return {
        "sd": np.std(found) / deviation,
        "sd, level 0.5": np.std(found) / middle,
        "bias": (np.mean(found) - level.mean()) / bias,
        "+-": np.std(found) / len(found) ** 0.5 / bias,
    }


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """A table, and the range of each ratio."""
    keys = list(rows[0])
    print(f"\n{title}\n\n| " + " | ".join(keys) + " |\n|" + len(keys) * "--:|")
    for row in rows:
        cells = [f"{v:.2f}" if isinstance(v, float) else str(v) for v in row.values()]
        print("| " + " | ".join(cells) + " |")
    measured = [key for key in keys if key.startswith(("sd", "bias"))]
    print("\n" + "; ".join(
        f"{key} {min(r[key] for r in rows):.2f} to {max(r[key] for r in rows):.2f}"
        for key in measured
    ), flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    arguments = parser.parse_args()
    rng = {name: np.random.default_rng([0, place]) for place, name in enumerate(SETS)}
    found = {}
    cells = [(a, s, n) for s in SHARES for a in LEVELS if a > s for n in PRESENT]
    found["normal"] = [normal(rng["normal"], *cell) for cell in cells]
    show("normal: times the formula's", found["normal"])
    if os.environ.get("SIMKIT_DATA"):
        print()
        found["photographs"] = photographs(rng["photographs"], Path(os.environ["SIMKIT_DATA"]))
        show("photographs: times the formula's", found["photographs"])
    kinds = [(kind, classes) for classes in (24, 80) for kind in ALIKE]
    found["not alike"] = [not_alike(rng["not alike"], *kind) for kind in kinds]
    show(f"not alike, sets of {IMAGES} images: times the formula's", found["not alike"])
    if arguments.json:
        print(json.dumps({"name": "evaluation", "ratios": found, "versions": versions()}))


if __name__ == "__main__":
    main()
