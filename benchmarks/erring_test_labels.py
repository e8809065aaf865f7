"""mAP measured on few test images, against labels with errors, beside that on true labels.

    SIMKIT_DATA=... python benchmarks/erring_test_labels.py [detector] [animals] [clothes]

Scores of real models on photographs with true labels: `detector`, the class scores of YOLOX-nano on
the VOC 2012 animals, and linear classifiers on features of EfficientNet-Lite2, trained on the true
labels of 600 of the `animals` or of the `clothes` (CCP). Errors are planted in the labels; samples
of images test, and three times as many images are the pool that tells how frequent a class is. True
is the mAP of all images that trained no classifier, over the classes that 40 of them show. A
correction holds if this is in its 90 % band.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import measuring
import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from simkit.metrics.ap import LabelCounts
from simkit.results.test_split import TestSplit

WORLDS = {"detector": "voc12-animals", "animals": "voc12-animals", "clothes": "clothing-ccp"}
ERRORS = ((0.0, 0.0), (0.02, 0.02), (0.05, 0.05), (0.03, 0.002))  # missed, reported
SIZES, DRAWS, TRAINED, SHOWN = (50, 165, 600), 12, 600, 40


def labelled(data: Path, pack: str, files: list[str]) -> tuple[np.ndarray, list[str]]:
    """(N, L) which of these images shows each class, and the classes."""
    place, shown, names = {file: n for n, file in enumerate(files)}, {}, {}
    for split in ("train", "val", "test"):
        listed = json.loads((data / "images" / pack / f"instances_{split}.json").read_text())
        names |= {one["id"]: one["name"] for one in listed["categories"]}
        rows = {one["id"]: place[one["file_name"]] for one in listed["images"]}
        for one in listed["annotations"]:
            shown[rows[one["image_id"]], one["category_id"]] = True
    columns = {category: n for n, category in enumerate(names)}
    truth = np.zeros((len(files), len(names)), bool)
    for row, category in shown:
        truth[row, columns[category]] = True
    return truth, list(names.values())


def scored(data: Path, world: str) -> tuple[np.ndarray, np.ndarray]:
    """(N, L) truth and scores of the images that trained no classifier."""
    pack = WORLDS[world]
    if world == "detector":
        with np.load(data / "labels" / f"yolox_nano_scores-{pack}.npz") as file:
            truth, names = labelled(data, pack, file["file_names"].tolist())
            voc = json.loads((data / "meta" / "voc_categories.json").read_text())
            coco = {one["name"]: one["coco_name"] for one in voc}
            detected = file["class_names"].tolist()
            columns = [detected.index(coco[name]) for name in names]
            return truth, file["scores"][:, columns].astype(float)
    with np.load(data / "features" / f"{pack}-tf_efficientnet_lite2-gap.npz") as file:
        features = file["features"].astype(float)
        truth, _ = labelled(data, pack, file["file_names"].tolist())
    order = np.random.default_rng(0).permutation(len(truth))
    train, test = order[:TRAINED], order[TRAINED:]
    features = StandardScaler().fit(features[train]).transform(features)
    mixed = np.flatnonzero((truth[train].sum(0) > 4) & ~truth[train].all(0))
    fitted = [
        LogisticRegression(C=1e-3, max_iter=200).fit(features[train], truth[train, c])
        for c in mixed
    ]
    scores = [one.decision_function(features[test]) for one in fitted]
    return truth[np.ix_(test, mixed)], np.stack(scores, axis=1)


def precision(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """(L,) AP; nan without a present label."""
    pairs = zip(labels.T, scores.T, strict=True)
    return np.array([average_precision_score(*p) if p[0].any() else np.nan for p in pairs])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("worlds", nargs="*", metavar="WORLD")
    arguments = parser.parse_args()
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    heads = ("missed / reported", "test images", "measured", "as true: error", "held",
             "corrected: error", "deviation", "held", "half-width")  # fmt: skip
    for world in arguments.worlds or WORLDS:
        truth, scores = scored(Path(os.environ["SIMKIT_DATA"]), world)
        frequent = truth.sum(0) >= SHOWN
        truth, scores = truth[:, frequent], scores[:, frequent]
        true = float(precision(truth, scores).mean())
        rng, rows = np.random.default_rng(0), []
        for miss, false_alarm in ERRORS:
            uniform = rng.random(truth.shape)
            labels = np.where(truth, uniform >= miss, uniform < false_alarm)
            for images in SIZES:
                drawn = [judged(labels, scores, images, (miss, false_alarm), true, rng)
                         for _ in range(DRAWS)]  # fmt: skip
                mean = np.mean(drawn, axis=0)
                rows.append((
                    f"{miss:.0%} / {false_alarm:.1%}", f"{images}", f"{100 * mean[0]:.1f}",
                    f"{100 * (mean[1] - true):+.1f}", f"{mean[2]:.0%}",
                    f"{100 * (mean[4] - true):+.1f}", f"{100 * np.std(drawn, axis=0)[4]:.1f}",
                    f"{mean[5]:.0%}", f"{100 * mean[6]:.1f}",
                ))  # fmt: skip
        print(f"\n## {world}: {100 * true:.1f} mAP on true labels, {truth.shape[1]} classes\n")
        measuring.table(heads, rows)


def judged(
    labels: np.ndarray, scores: np.ndarray, images: int, errors: tuple[float, float],
    true: float, rng: np.random.Generator,
) -> list[float]:  # fmt: skip
    """mAP measured on one sample; without and with the errors: the estimate, whether its 90 % band
    holds the true one, and half the width of that band."""
    test, pool = (rng.permutation(len(labels))[: times * images] for times in (1, 3))
    ap = precision(labels[test], scores[test])
    row = [float(np.nanmean(ap))]
    for rates in (None, errors):
        shares = labels[pool].mean(axis=0)
        counts = LabelCounts.of(labels[test])
        split = TestSplit.of(images, counts, ap, shares, len(pool), errors=rates)
        value = float(split.on_new_images(np.array(row[:1]))[0])
        ends = np.arcsin(np.sqrt(value)) + norm.ppf([0.05, 0.95]) * split.spread
        low, high = np.sin(np.clip(ends, 0, np.pi / 2)) ** 2
        row += [value, float(low <= true <= high), (high - low) / 2]
    return row


if __name__ == "__main__":
    main()
