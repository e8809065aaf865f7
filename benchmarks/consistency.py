"""Spatial consistency where the network learns along, from crops: Table 2 in small, and why.

    python benchmarks/consistency.py [--draws 2]

`scenes`, 600 pictures for training and 1,000 for testing, single positives, scenes-net with its
head. All see the same crops: 20 epochs of the head alone, then 8 of all, where the paper (Verelst
et al., WACV 2023) has 5 and 25. Its 5 are 41,000 steps of the head, on COCO in batches of 8; here
5 would be 190, and 20 are 760. Then how much of a picture a crop shows (appendices A and C), what
may be behind the outcome, and training from random weights (Table 1); EP, EPR and most of this in
the first draw alone. Tables go to stdout, each training to stderr as soon as it is done. 20 minutes
of one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import measuring
import numpy as np
import pandas as pd
from findings import shown

import simkit
from simkit.learn.inputs import ImageInputs
from simkit.learn.optim import Settings
from simkit.learn.trained import Trained
from simkit.metrics import average_precision, mean_ap, top1
from simkit.papers.analysis.explaining import from_pixels, object_size, positives
from simkit.study.sources import ImageTransform

DATA = simkit.data.open("scenes:images=600,val=1,test=1000")
TRUTH, LEAVES = DATA.truth["test"], DATA.leaves
PIXELS = ImageInputs(DATA.pictures["test"])
SHORT = Settings(
    epochs=8, batch_size=16, lr=3e-4, schedule="cosine",
    head_epochs=20, head_lr=1e-2, head_then="go-on", head_augment=True,
)  # fmt: skip
SCRATCH = Settings(epochs=15, batch_size=16, lr=3e-4, schedule="cosine", head_ratio=1.0)
SINGLE, FEWER = "single-positive", "fraction-of-positives(keep=0.8)"
EN, EP, EPR = (f"{name}(expected=9.5)" for name in ("en", "ep", "epr"))
CL, SCL = "cl(warmup=20)", "scl(warmup=20)"  # until the head has learned
WEAK = f"{EN}+scl(warmup=20,weight=0.1)"
TABLE = ["full", "an", EN, f"an+{CL}", f"{EN}+{CL}", f"an+{SCL}", f"{EN}+{SCL}", WEAK]
ONCE = [f"{EP}+{CL}", f"{EPR}+{CL}", f"{EP}+{SCL}", f"{EPR}+{SCL}"]  # in the first draw alone
PARTS = ["full", "an", EN, f"{EN}+{CL}", f"{EN}+{SCL}"]
CROP, CROPS = 0.25, (0.1, 0.5, 1.0)  # smallest share of the area: the usual one, and others


def trained(method: str, scheme: str = SINGLE, *, crop: float = CROP, **how: Any) -> Trained:
    """A network, shown the same crops whatever the method; tells how good it is."""
    start = time.monotonic()
    given = {"settings": SHORT, "shown": ImageTransform(crop=(crop, 1.0)), **how}
    model = from_pixels(DATA, [method], scheme, **given)[method]
    about = f"{method}, {100 * score(model):.1f}, {time.monotonic() - start:.0f} s"
    print(about, file=sys.stderr, flush=True)
    return model


def score(model: Trained) -> float:
    """mAP over leaves, 0 to 1."""
    return float(mean_ap(average_precision(model.scores(PIXELS), TRUTH.present)[LEAVES]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    several = [
        {name: trained(name, draw=draw) for name in (*TABLE, *(() if draw else ONCE))}
        for draw in range(arguments.draws)
    ]
    rows = []
    for name in (*TABLE, *ONCE):
        found = [score(models[name]) for models in several if name in models]
        each = [f"{100 * value:.1f}" for value in found] + [""] * (len(several) - len(found))
        rows.append([name, shown(found) if len(found) > 1 else "", *each])
    measuring.table(["method", "mAP", *(f"draw {n}" for n in range(arguments.draws))], rows)
    by_part([{name: models[name] for name in PARTS} for models in several])
    sys.stdout.flush()
    by_crop([score(several[0][name]) for name in (EN, f"{EN}+{SCL}")])
    behind(arguments.draws)


def by_part(some: Sequence[dict[str, Trained]]) -> None:
    """Table 3 and appendix D: by the number of classes in a picture, and by the size of objects."""
    about = (PIXELS, TRUTH)
    sizes = object_size(some, *about, DATA.boxes["test"], classes=LEAVES)
    counts = positives(some, *about, counts=(2, 3), classes=LEAVES)
    both = pd.concat([counts, sizes])
    parts = list(both["part"].unique())
    of_parts = both.groupby(["method", "part"])["map"].mean()
    rows = []
    for name in PARTS:
        first = [
            top1(models[name].scores(PIXELS)[:, LEAVES], TRUTH.present[:, LEAVES])
            for models in some
        ]
        means = [of_parts[name, part] for part in parts]
        rows.append([name, *(f"{100 * value:.1f}" for value in (np.mean(first), *means))])
    print()
    measuring.table(["method", "top-1", *parts], rows)


def by_crop(usual: Sequence[float]) -> None:
    """Appendices A and C, the first draw alone: the smallest share of the area in a crop."""
    found = {CROP: usual}
    for crop in CROPS:
        found[crop] = [score(trained(name, crop=crop)) for name in (EN, f"{EN}+{SCL}")]
    rows = [[f"{crop:g}", *(f"{100 * x:.1f}" for x in found[crop])] for crop in sorted(found)]
    print()
    measuring.table(["smallest share of the area", EN, f"{EN}+{SCL}"], rows)


def behind(draws: int) -> None:
    """What may be behind the outcome; and Table 1 from random weights."""
    early = {"settings": replace(SHORT, head_epochs=5)}
    anew = {"settings": replace(SHORT, head_then="restart")}
    random = {"settings": SCRATCH, "weights": "random"}
    print(f"\n| what differs | method | {' | '.join(f'draw {n}' for n in range(draws))} |")
    print(f"|---|---|{'--:|' * draws}")
    for told, methods, how, last in (
        ("memory begun after the head", [EN, f"{EN}+scl(warmup=0)"], anew, draws),
        ("5 epochs of the head", [EN, f"{EN}+scl"], early, 1),
        ("80 % of positives named", [EN, f"{EN}+{SCL}"], {"scheme": FEWER}, 1),
        ("random weights, 15 epochs", ["full", "an", EN, f"{EN}+scl"], random, 1),
    ):
        for name in methods:
            found = [f"{100 * score(trained(name, draw=n, **how)):.1f}" for n in range(last)]
            cells = " | ".join([told, name, *found, *[""] * (draws - last)])
            print(f"| {cells} |", flush=True)


if __name__ == "__main__":
    main()
