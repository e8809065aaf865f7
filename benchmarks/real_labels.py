"""What every scheme reveals of real label statistics, and what it costs.

    SIMKIT_DATA=... NLTK_DATA=... python benchmarks/real_labels.py

For each set of complete labels and each scheme: labels and positives revealed, how the number of
positives annotated per class ranks against the true frequencies (Spearman), answers paid for and
dropped, and dollars. Where no shipped hierarchy fits, one is made from WordNet with the most
frequent sense of every name; without WordNet those rows are left out. Sizes and places of objects
are not in label matrices, so single positives are uniform here.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import simkit.data
from simkit.annotate import schemes
from simkit.annotate.prices import cost, prices
from simkit.annotate.simulate import simulate
from simkit.data import Dataset
from simkit.errors import BadInput
from simkit.history import versions
from simkit.labels.wordnet import from_wordnet

SETS = {
    "COCO 2014 val": ("coco2014_val", "coco-80"),
    "VOC 2012": ("voc2012_trainval", "voc-20"),
    "MIRFLICKR-25000": ("mirflickr25k", ""),
    "NUS-WIDE (sample)": ("nuswide81_sample", ""),
    "ImageNet ReaL": ("imagenet_real", ""),
}
SCHEMES: tuple[tuple[str, float], ...] = (
    ("single-positive", 1.0),
    ("single-positive(positives=2, negatives=2)", 1.0),
    ("rpa(keep=0.1)", 1.0),
    ("fpc(per_class=100)", 1.0),
    ("fpc(per_class=100, search=random)", 1.0),
    ("fraction-of-positives(keep=0.1)", 1.0),
    ("fraction-of-positives(keep=0.1, ratio=0)", 1.0),
    ("knowledge-graph", 1.0),
    ("knowledge-graph(mode=truth)", 1.0),
    ("knowledge-graph(mode=path-only)", 1.0),
    ("federated(per_class=100)", 1.0),
    ("proposals", 1.0),
    ("proposals(skew=2.0)", 1.0),
    ("full-subset", 0.1),
)


def data_set(folder: Path, file: str, hierarchy: str) -> tuple[Dataset, Dataset | None]:
    """The labels as they are, and under a hierarchy where there can be one."""
    flat = simkit.data.open(f"npz:{folder / 'labels' / file}.npz")
    if hierarchy:
        path = folder / "labels" / f"{file}.npz"
        return flat, simkit.data.open(f"npz:{path},hierarchy={hierarchy}")
    try:
        tree, _ = from_wordnet(flat.classes)
    except BadInput:
        return flat, None
    return flat, flat.closed_under(tree)


def row(name: str, data: Dataset, scheme: str, images: float, price_list: str) -> dict[str, Any]:
    """One line of the table."""
    truth = data.truth[data.to_label]
    labels = simulate(truth, scheme, images=images, hierarchy=data.hierarchy)
    counts = labels.counts()
    annotated = np.bincount(labels.codes.indices[labels.codes.data > 0], minlength=truth.shape[1])
    there = truth.counts > 0
    varies = len(set(annotated[there])) > 1
    bill = cost(labels, prices(price_list))
    return {
        "data": name,
        "images": truth.shape[0],
        "classes": truth.shape[1],
        "scheme": scheme if images == 1 else f"{scheme}, {images:.0%} of the images",
        "labels": (counts["present"] + counts["absent"]) / np.prod(truth.shape),
        "positives": counts["present"] / truth.present.nnz,
        "rank": float(spearmanr(annotated[there], truth.counts[there])[0]) if varies else None,
        "dropped": sum(labels.effort.dropped.values()),
        "dollars": bill.dollars,
    }


def rows(folder: Path, price_list: str) -> Iterator[dict[str, Any]]:
    for name, (file, hierarchy) in SETS.items():
        flat, closed = data_set(folder, file, hierarchy)
        for scheme, images in SCHEMES:
            data = closed if schemes.make(scheme).needs_hierarchy else flat
            if data is not None:
                yield row(name, data, scheme, images, price_list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prices", default="coco-tagging")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    arguments = parser.parse_args()
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    warnings.simplefilter("ignore")
    found = []
    print("| data | images x classes | scheme | labels | positives | rank correlation "
          "| dropped answers | $ |\n|---|--:|---|--:|--:|--:|--:|--:|")  # fmt: skip
    for one in rows(Path(os.environ["SIMKIT_DATA"]), arguments.prices):
        found.append(one)
        rank = "equal counts" if one["rank"] is None else f"{one['rank']:.3f}"
        print(
            f"| {one['data']} | {one['images']:,} x {one['classes']} | {one['scheme']} "
            f"| {one['labels']:.2%} | {one['positives']:.1%} | {rank} "
            f"| {one['dropped']:,} | {one['dollars']:,.0f} |",
            flush=True,
        )
    if arguments.json:
        print(json.dumps({"name": "real_labels", "rows": found, "versions": versions()}))


if __name__ == "__main__":
    main()
