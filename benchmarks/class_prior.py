"""Ignore, negative or selective, and the class prior, on real data.

    SIMKIT_DATA=... python benchmarks/class_prior.py      # about two minutes on one core

First the prior that Ben-Baruch et al., CVPR 2022, published for COCO with 1,000 labels of a class,
against the labels of all COCO training images (their figures 7 and 11). Then photographs of VOC
2012 that show an animal, a head on MobileNetV2 features: Ignore against AN over the amount of
labels (figures 6 and 10), the parts of CSL (tables 1 and 5), and the prior estimated from partial
labels.
Tables go to stdout, as Markdown.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import measuring  # noqa: F401  one thread
import numpy as np
from findings import photographs, shown

import simkit
from simkit import Source, open_source
from simkit.labels.truth import Truth
from simkit.learn.methods import Task
from simkit.learn.side_info import ClassPrior
from simkit.papers.analysis.amounts import mode_gaps, with_class_ap
from simkit.papers.analysis.learning import estimates, priors, rank_agreement
from simkit.study.compare import compare
from simkit.study.grid import Grid

AMOUNTS = ("rpa(keep=0.03)", "rpa(keep=0.1)", "rpa(keep=0.3)", "rpa(keep=0.6)")
AMOUNTS += ("fpc(per_class=10)", "fpc(per_class=50)", "fpc(per_class=200)", "fpc(per_class=500)")
PROPOSED = "proposals(per_image=4,skew=2)"
PARTS = ("ignore", "partial-bce", "an", "lsan", "asl", "p-asl", "csl(prior=none,top_k=1)")
PARTS += ("csl(prior=none,top_k=2)", "csl(prior=none)", "csl(top_k=0,eta=0.3)", "csl(eta=0.3)")
PARTS += ("csl(eta=0.5)", "csl(prior=soft)")


def published(data: Path) -> None:
    """The prior that came with the paper, against the truth of COCO."""
    with np.load(data / "labels" / "coco2014_train_cooccurrence.npz") as file:
        classes, counts = tuple(file["class_names"].tolist()), file["image_counts"]
        images = int(file["n_images"])
    prior = ClassPrior.load(data / "meta" / "prior_fpc_1000.csv")
    same = ClassPrior(prior.of(classes))
    print("\n| most frequent classes | Spearman |\n|--:|--:|")
    for top in (5, 10, 20, 40, 60, 80):
        print(f"| {top} | {same.spearman(counts, top=top):.2f} |")
    rank = {classes[c]: place for place, c in enumerate(np.argsort(-counts), start=1)}
    first = [classes[c] for c in np.argsort(-same.values)[:10]]
    print("\nTen commonest by the estimate (true rank):", end=" ")
    print(", ".join(f"{name} ({rank[name]})" for name in first))
    print(f"Classes in an image: {same.values.sum():.1f} by the estimate, ", end="")
    print(f"{counts.sum() / images:.1f} in truth; above 0.5: {(same.values > 0.5).sum()} class")


def amounts(rows: list[dict[str, Any]], runs: Any) -> None:
    """Ignore and AN over the amount of labels, and the common class."""
    gaps = mode_gaps(runs, measures=("map", "dog")).set_index(["scheme", "measure"])
    print("\n| scheme | an | ignore | csl(prior=none) | ignore − an | dog: an | dog: ignore |")
    print("|---|" + 6 * "--:|")
    for scheme in AMOUNTS:
        own = {m: [r for r in rows if (r["scheme"], r["method"]) == (scheme, m)] for m in PARTS}
        cells = [shown([r["map"] for r in own[m]]) for m in ("an", "ignore", "csl(prior=none)")]
        gap = gaps.loc[(scheme, "map")]
        cells.append(f"{100 * gap['mean']:.1f} ({100 * gap['low']:.1f} to {100 * gap['high']:.1f})")
        cells += [shown([r["dog"] for r in own[m]]) for m in ("an", "ignore")]
        print(f"| {scheme} | " + " | ".join(cells) + " |")


def parts(rows: list[dict[str, Any]]) -> None:
    """Each part of CSL under machine proposals."""
    print("\n| method | mAP | mAP(O) | dog |\n|---|--:|--:|--:|")
    for method in PARTS:
        own = [r for r in rows if (r["scheme"], r["method"]) == (PROPOSED, method)]
        cells = [shown([r[key] for r in own]) for key in ("map", "map_o", "dog")]
        print(f"| {method} | " + " | ".join(cells) + " |")


def estimated(source: dict[str, Any]) -> None:
    """The prior from partial labels of the photographs, by three ways."""
    features = tuple((split, source["features"][split]) for split in ("train",))
    data = open_source(Source(source["data"], ("train",), ("pooled",), features=features))
    truth: Truth = data.truth("train")
    print("\n| scheme | estimate | Spearman, 20 classes | 10 commonest | classes in an image |")
    print("|---|---|--:|--:|--:|")
    for scheme in ("rpa(keep=0.1)", "fpc(per_class=50)", "fpc(per_class=200)", PROPOSED):
        task = Task(simkit.simulate(truth, scheme), data.inputs("train", "pooled"))
        found = estimates(task, ["ignore", "an", "labels"])
        agreed = rank_agreement(truth, found, (10, len(truth.classes)))
        for name, prior in found.items():
            ten, every = agreed["spearman"][agreed["estimate"] == name]
            ranks = " | ".join("–" if v != v else f"{v:.2f}" for v in (every, ten))
            print(f"| {scheme} | {name} | {ranks} | {prior.values.sum():.1f} |")
    true = priors(truth, {"": found["ignore"]})["true"].sum()
    print(f"\nIn truth {true:.1f} classes are in a photograph.")


def main() -> None:
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    warnings.simplefilter("ignore", UserWarning)
    published(Path(os.environ["SIMKIT_DATA"]))
    with tempfile.TemporaryDirectory() as folder:
        source = photographs(Path(folder))
        estimated(source)
        few = ("an", "ignore", "csl(prior=none)")
        found = []
        for schemes, methods in ((AMOUNTS, few), ((PROPOSED,), PARTS)):
            grid = Grid(schemes=schemes, methods=methods, draws=5, reference=False, **source)
            runs = compare(grid, out=Path(folder) / str(len(methods)), workers=1).table
            found.append(with_class_ap(runs, ["dog"]))
        amounts(found[0].to_dict("records"), found[0])
        parts(found[1].to_dict("records"))


if __name__ == "__main__":
    main()
