"""Spatial consistency where the network learns along, from crops: Table 2 in small, and why.

    python benchmarks/consistency.py [--draws 2]

`scenes`, 600 pictures for training and 1,000 for testing, single positives, scenes-net with its
head. All sees the same crops: 5 epochs of the head alone, then 8 of all, as the paper (Verelst et
al., WACV 2023) has it with 5 and 25. Then one draw each of what may be behind the outcome: fewer
labels that are missing, a shorter memory, a longer training; and from random weights (Table 1).
Tables go to stdout.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import measuring  # noqa: F401  one thread
import numpy as np
from findings import shown

import simkit
from simkit.learn.feeding.inputs import ImageInputs
from simkit.learn.metrics import average_precision, mean_ap, top1
from simkit.learn.steps.optim import Settings
from simkit.learn.trained import Trained
from simkit.study.analysis.explaining.from_pixels import from_pixels
from simkit.study.analysis.explaining.object_size import object_size, positives
from simkit.study.material.shown import Shown

DATA = simkit.data.open("scenes:images=600,val=1,test=1000")
TRUTH, LEAVES = DATA.truth["test"], DATA.leaves
SHORT = Settings(
    epochs=8, batch_size=16, lr=3e-4, schedule="cosine",
    head_epochs=5, head_lr=1e-2, head_then="go-on",
)  # fmt: skip
SCRATCH = Settings(epochs=15, batch_size=16, lr=3e-4, schedule="cosine", head_ratio=1.0)
SINGLE, FEWER = "single-positive", "fraction-of-positives(keep=0.8)"
EN, EP, EPR = (f"{name}(expected=9.5)" for name in ("en", "ep", "epr"))
TABLE = ["full", "an", EN, "an+cl", f"{EN}+cl", f"{EP}+cl", f"{EPR}+cl", "an+scl", f"{EN}+scl"]
TABLE += [f"{EP}+scl", f"{EPR}+scl", f"{EN}+scl(weight=0.1)"]
PARTS = ["full", "an", EN, f"{EN}+cl", f"{EN}+scl"]


def trained(methods: Sequence[str], scheme: str = SINGLE, **how: Any) -> dict[str, Trained]:
    """Networks by method, all shown the same crops."""
    given = {"settings": SHORT, "shown": Shown(crop=(0.25, 1.0)), **how}
    return from_pixels(DATA, methods, scheme, **given)


def score(model: Trained, pixels: ImageInputs) -> float:
    """mAP over leaves, 0 to 1."""
    return float(mean_ap(average_precision(model.scores(pixels), TRUTH.present)[LEAVES]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    wants = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    pixels = ImageInputs(DATA.pictures["test"])
    several = [trained(TABLE, draw=draw) for draw in range(wants.draws)]
    print("| method | mAP |\n|---|--:|")
    for name in TABLE:
        print(f"| {name} | {shown([score(models[name], pixels) for models in several])} |")
    some = [{name: models[name] for name in PARTS} for models in several]
    about = (pixels, TRUTH)
    sizes = object_size(some, *about, DATA.boxes["test"], classes=LEAVES).to_pylist()
    counts = positives(some, *about, counts=(2, 3), classes=LEAVES).to_pylist()
    parts = list(dict.fromkeys(row["part"] for row in (*counts, *sizes)))
    print(f"\n| method | top-1 | {' | '.join(parts)} |\n|---|--:|{'--:|' * len(parts)}")
    for name in PARTS:
        first = [
            top1(models[name].scores(pixels)[:, LEAVES], TRUTH.present[:, LEAVES])
            for models in some
        ]
        means = [
            np.mean([r["map"] for r in (*counts, *sizes) if (r["method"], r["part"]) == (name, p)])
            for p in parts
        ]
        values = " | ".join(f"{100 * value:.1f}" for value in (np.mean(first), *means))
        print(f"| {name} | {values} |")
    print("\n| what differs | method | mAP |\n|---|---|--:|")
    longer = replace(SHORT, epochs=24)
    random = {"settings": SCRATCH, "weights": "random"}
    for told, methods, how in (
        ("80 % of positives named", [EN, f"{EN}+scl"], {"scheme": FEWER}),
        ("mu 0.5", [f"{EN}+scl(mu=0.5)"], {}),
        ("24 epochs", [EN, f"{EN}+scl"], {"settings": longer}),
        ("random weights, 15 epochs", ["full", "an", EN, f"{EN}+scl"], random),
    ):
        for name, model in trained(methods, **how).items():
            print(f"| {told} | {name} | {100 * score(model, pixels):.1f} |", flush=True)


if __name__ == "__main__":
    main()
