"""The packs of photographs that benchmarks/photographs.py is about, and its two checks on them."""

from __future__ import annotations

import json
import os
import tarfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import simkit.data
from simkit.embed.backbones import backbone
from simkit.embed.features import extract, read_features
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.train import train
from simkit.metrics import average_precision

SPLITS = ("train", "val", "test")
WEIGHTS = "weights/mobilenet_v2-imagenet1k.fp16.safetensors"
# Chosen on val with complete labels, on both packs, among rates from 0.001 to 0.03.
TRAINING = Settings(epochs=25, lr=1e-3)
PUBLISHED = {"voc12-animals": 0.899}  # of the data's own description, for the same classes
WITHIN = 0.01
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # inverse, of the probe; chosen on val
QUICK = (1e-3,)


@dataclass(frozen=True)
class Pack:
    """Photographs in SIMKIT_DATA; classes with `least` positives or more in test are scored."""

    name: str
    least: int
    positives: float  # expected in a picture, as EN is told: published for VOC and COCO
    folder: Path  # unpacked pictures, features and runs

    @property
    def archive(self) -> Path:
        return Path(os.environ["SIMKIT_DATA"]) / "images" / self.name

    @property
    def spec(self) -> str:
        listed = ",".join(f"{s}={self.archive / f'instances_{s}.json'}" for s in SPLITS)
        images = self.folder / "images"
        return f"coco:{listed}" + (f",images={images}" if images.is_dir() else "")

    @property
    def methods(self) -> tuple[str, ...]:
        """As in the papers; CSL with its settings for OpenImages and for COCO."""
        en = f"en(expected={self.positives})+scl"
        return ("an", "ignore", "ll-r", "csl(eta=0.05)", "csl(eta=0.5)", en, "se")

    @cached_property
    def data(self) -> Any:
        return simkit.data.open(self.spec)

    @cached_property
    def present(self) -> dict[str, np.ndarray]:
        return {split: np.asarray(self.data.truth[split].present.todense()) for split in SPLITS}

    @cached_property
    def counts(self) -> dict[str, np.ndarray]:
        """(N, L) what is no difficult object, by split."""
        found = {split: np.ones_like(present) for split, present in self.present.items()}
        for split, difficult in self.data.difficult.items():
            found[split] &= ~np.asarray(difficult.todense())
        return found

    @property
    def scored(self) -> np.ndarray:
        """The classes that the probe is about."""
        return np.flatnonzero(self.present["test"].sum(0) >= self.least)

    def unpack(self) -> None:
        if (self.folder / "images").is_dir():
            return
        for archive in sorted(self.archive.glob("*.tar")):
            with tarfile.open(archive) as tar:
                tar.extractall(self.folder, filter="data")

    def features(self) -> dict[str, np.ndarray]:
        """(N, 1280) pooled features by split; their maps are kept in files beside them."""
        net = backbone("mobilenet_v2", Path(os.environ["SIMKIT_DATA"]) / WEIGHTS)
        for split in SPLITS:
            extract(self.data, split, net, out=self.folder / "features" / split)
        read = (read_features(self.folder / "features" / s / "pooled", "pooled") for s in SPLITS)
        return {split: np.asarray(one.values) for split, one in zip(SPLITS, read, strict=True)}

    def brought(self) -> dict[str, np.ndarray]:
        """The features that come with the data."""
        file = Path(os.environ["SIMKIT_DATA"]) / "features" / f"{self.name}-mobilenet_v2-gap.npz"
        with np.load(file) as known:
            values, names = known["features"], known["file_names"].tolist()
        place = {name: row for row, name in enumerate(names)}
        listed = {s: json.loads((self.archive / f"instances_{s}.json").read_text()) for s in SPLITS}
        return {
            split: values[[place[image["file_name"]] for image in found["images"]]]
            for split, found in listed.items()
        }


def mean_ap(pack: Pack, split: str, scores: np.ndarray) -> float:
    """Of (N, C) scores of the classes that are scored."""
    labels = (of[split][:, pack.scored] for of in (pack.present, pack.counts))
    return float(average_precision(scores, *labels).mean())


def probe(
    pack: Pack, features: dict[str, np.ndarray], penalties: tuple[float, ...] = PENALTIES
) -> float:
    """Logistic regression of each class on standardised features, by scikit-learn."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def scores(penalty: float, learned: tuple[str, ...], split: str) -> np.ndarray:
        x = np.concatenate([features[s] for s in learned]).astype(np.float32)
        y, counts = (np.concatenate([of[s] for s in learned])
                     for of in (pack.present, pack.counts))  # fmt: skip
        found = []
        for c in pack.scored:
            model = make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=2000))
            model.fit(x[counts[:, c]], y[counts[:, c], c])
            found.append(model.decision_function(features[split].astype(np.float32)))
        return np.stack(found, 1)

    best = penalties[0]
    if len(penalties) > 1:
        best = max(penalties, key=lambda p: mean_ap(pack, "val", scores(p, ("train",), "val")))
    return mean_ap(pack, "test", scores(best, ("train", "val"), "test"))


def head(pack: Pack, features: dict[str, np.ndarray], draw: int) -> float:
    """Our own head on complete labels of train and val; difficult objects are left out of them.

    `ignore` on what is known is `full` where everything is.
    """
    x = np.concatenate([features[split] for split in ("train", "val")])
    y, counts = (np.concatenate([of[split] for split in ("train", "val")])
                 for of in (pack.present, pack.counts))  # fmt: skip
    task = Task((np.where(y, 1, -1) * counts).astype(np.int8), FeatureInputs(x))
    done = train(task, make("ignore"), settings=TRAINING, draw=draw)
    return mean_ap(pack, "test", done.scores(FeatureInputs(features["test"]))[:, pack.scored])


def right(pack: Pack, heads: list[float]) -> bool:
    """Whether our head reaches what is published of these features, where something is."""
    wanted = PUBLISHED.get(pack.name)
    return wanted is None or abs(float(np.mean(heads)) - wanted) <= WITHIN


def quick(pack: Pack) -> tuple[str, dict[str, float], bool]:
    """Probe and head on the features that come with the data."""
    features = pack.brought()
    found = probe(pack, features, QUICK), head(pack, features, 0)
    names = (f"{pack.name}, probe", f"{pack.name}, head")
    checks = dict(zip(names, found, strict=True))
    lines = [f"{name}: mAP {100 * value:.1f}" for name, value in checks.items()]
    return "\n".join(lines), checks, right(pack, [found[1]])
