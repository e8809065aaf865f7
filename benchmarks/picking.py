"""Does it help to pick the images to label by their features, or by a model's uncertainty?

    python benchmarks/picking.py                                  # scenes
    SIMKIT_DATA=... python benchmarks/picking.py photographs

Compares images picked by coverage and by typicality with random ones, for the same number of images
and so the same price: complete labels or one positive label, for 5 to 40 % of the training images.
Heads on frozen features, 10 draws; the learning rate of every row is chosen on complete validation
labels. With complete labels LL-R equals `full`, because no label is unknown. The photographs are
the VOC 2012 animals, prepared as for the atlas, in a temporary folder.

Uncertainty needs two rounds: a model is trained on complete labels of 5 % of the images, chosen at
random, and scores all; the images about which it is least certain are labelled too, up to 10 or
20 % of all images.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import measuring
import numpy as np
import pandas as pd
from findings import shown

import simkit
from simkit.history import versions
from simkit.study.jobs import source_of

sys.path.append(str(Path(__file__).parents[1] / "scripts"))

DRAWS = 10
SHARES = (0.05, 0.1, 0.2, 0.4)
WAYS = ("random", "coverage", "typicality")
FIRST, TOTALS = 0.05, (0.1, 0.2)
RATES = (0.1, 1, 10)  # times the default learning rate
LABELS = {
    "complete": ("full-subset", ("full",)),
    "one positive": ("single-positive", ("an", "ll-r")),
}


def photographs(folder: Path) -> dict[str, Any]:
    """The fields of a grid on photographs; images and features are written into the folder."""
    import atlas

    atlas.ATLAS = folder
    return dict(atlas.photographs("voc12-animals", "voc-20").common)


def compared(source: dict[str, Any], rest: str, methods: tuple[str, ...], out: Path) -> Any:
    """The runs on images picked in every way and on all images, with counts of positive labels."""
    picked = [f"picked(share={s}, by={by}, rest={rest})" for s in SHARES for by in WAYS]
    grid = simkit.Grid(
        schemes=(*picked, rest), methods=methods, draws=DRAWS, fair=True, reference=False, **source
    )
    runs = simkit.compare(grid, out=out, workers=1).table
    present = np.stack([*runs["class_present"]])
    return runs.assign(positives=present.sum(1), classes=(present > 0).sum(1))


def map_differences(
    runs: pd.DataFrame, labels: str, rest: str, methods: tuple[str, ...]
) -> list[list[str]]:
    """Table rows by method and share: mAP of random images, and differences from it."""
    rows = []
    for method in methods:
        of_method = runs[runs["method"] == method]

        def scores(scheme: str, of_method: pd.DataFrame = of_method) -> list[float]:
            of_scheme = of_method[of_method["scheme"] == scheme].sort_values("draw")
            return of_scheme["map"].tolist()

        for share in SHARES:
            maps = [scores(f"picked(share={share}, by={by}, rest={rest})") for by in WAYS]
            differences = [shown(np.subtract(one, maps[0]).tolist()) for one in maps[1:]]
            rows.append([f"{labels}, {method}", f"{share:.0%}", shown(maps[0]), *differences])
        rows.append([f"{labels}, {method}", "100%", shown(scores(rest)), "", ""])
    return rows


def label_counts(runs: pd.DataFrame, labels: str, rest: str, method: str) -> list[list[str]]:
    """Table rows by share: dollars, positive labels and classes with any, as means over draws."""
    rows = []
    for share in SHARES:
        cells = []
        for by in WAYS:
            scheme = f"picked(share={share}, by={by}, rest={rest})"
            chosen = runs[(runs["scheme"] == scheme) & (runs["method"] == method)]
            cells.append(f"{chosen['positives'].mean():,.0f} ({chosen['classes'].mean():.1f})")
        rows.append([labels, f"{share:.0%}", f"{chosen['dollars'].mean():,.0f}", *cells])
    return rows


def two_rounds(source: dict[str, Any]) -> list[list[str]]:
    """Table rows by share and way: mAP, its difference from random images, positive labels."""
    grid = simkit.Grid(schemes=("picked",), methods=("full",), fair=True, **source)
    data = simkit.open_source(source_of(grid))
    truth, inputs = data.truth("train"), data.inputs("train", "pooled")
    given: dict[str, Any] = {"features": data.features["train", "pooled"].values}
    models = [f"uncertainty, lr x {rate}" for rate in RATES]
    found = pd.DataFrame(index=range(DRAWS))
    for draw in range(DRAWS):
        first = simkit.simulate(truth, f"picked(share={FIRST}, by=random)", draw=draw)
        first_heads = heads(data, first, grid, draw)
        scores = {way: h.scores(inputs) for way, h in zip(models, first_heads, strict=True)}
        for share in TOTALS:
            for way in ("random", "coverage", *models):
                by = way.partition(",")[0]
                if way in scores:  # the most uncertain, so that they are among the picked images
                    scores[way][first.asked] = 0
                scheme = f"picked(share={share}, by={by})"
                labels = simkit.simulate(truth, scheme, draw=draw, scores=scores.get(way), **given)
                assert by == "coverage" or labels.asked[first.asked].all()
                best = max(heads(data, labels, grid, draw), key=lambda h: mean_ap(data, h, "val"))
                found.loc[draw, f"{share:.0%}, {way}"] = mean_ap(data, best, "test")
                found.loc[draw, f"{share:.0%}, {way}, n"] = labels.counts()["present"]
    rows = []
    for share in TOTALS:
        random = found[f"{share:.0%}, random"]
        for way in ("random", "coverage", *models):
            maps, counts = found[f"{share:.0%}, {way}"], found[f"{share:.0%}, {way}, n"]
            gap = "" if way == "random" else shown((maps - random).tolist())
            rows.append([f"{share:.0%}", way, shown(maps.tolist()), gap, f"{counts.mean():,.0f}"])
    return rows


def heads(data: Any, labels: Any, grid: simkit.Grid, draw: int) -> list[Any]:
    """Models trained on these labels, one with each learning rate."""
    runs = [(simkit.Task(labels, data.inputs("train", "pooled")), simkit.methods.make("full"))]
    lrs = [rate * grid.train.rate(backbone=False) for rate in RATES]
    return simkit.train_stack(len(lrs) * runs, settings=grid.train, lrs=lrs, draw=draw)


def mean_ap(data: Any, model: Any, split: str) -> float:
    """As in comparisons."""
    leaves, known = data.data.leaves, data.known(split)
    scores = model.scores(data.inputs(split, "pooled"))
    present = data.truth(split).present.toarray()
    ap = simkit.metrics.average_precision(scores, present, known)
    return float(simkit.metrics.mean_ap(ap[leaves]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["scenes", "photographs"], default="scenes")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    map_rows, label_rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        source: dict[str, Any] = {"data": "scenes:images=1000", "train": simkit.demo_grid().train}
        if arguments.what == "photographs":
            source = photographs(Path(folder))
        for labels, (rest, methods) in LABELS.items():
            runs = compared(source, rest, methods, Path(folder) / "runs" / rest)
            map_rows += map_differences(runs, labels, rest, methods)
            label_rows += label_counts(runs, labels, rest, methods[0])
        round_rows = two_rounds(source)
    print("\nmAP in points, and differences from random images, with 95 % intervals\n")
    heads = ["labels, method", "images", "random", "coverage − random", "typicality − random"]
    measuring.table(heads, map_rows)
    print("\nDollars, positive labels, and in brackets classes with any\n")
    measuring.table(["labels", "images", "$", *WAYS], label_rows)
    print("\nTwo rounds with complete labels: mAP in points, and differences from random images\n")
    measuring.table(["images", "picked by", "mAP", "− random", "positive labels"], round_rows)
    if arguments.json:
        results = {"rows": map_rows, "labels": label_rows, "rounds": round_rows}
        results["versions"] = versions()
        print(json.dumps({"name": f"picking {arguments.what}", **results}))


if __name__ == "__main__":
    main()
