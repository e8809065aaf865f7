"""One method on one set of labels: train it, and score it on a split it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.data import Dataset
from simkit.data import open as open_data
from simkit.embed.backbones import backbone as load_backbone
from simkit.embed.networks.base import Backbone
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.aids.prepare import prepare
from simkit.learn.feeding.inputs import FeatureInputs, ImageInputs
from simkit.learn.machines.team import Team
from simkit.learn.methods import Method, Task, spell
from simkit.learn.metrics import average_precision, mean_ap
from simkit.learn.steps.optim import Settings
from simkit.learn.train import Trained, train
from simkit.learn.validation import Validation
from simkit.study.aligned import of_train
from simkit.study.bundles.bundle import kind_of
from simkit.study.bundles.detailed import Detailed, report_of
from simkit.study.material.material import Material, Source, open_material
from simkit.study.material.near import with_near
from simkit.study.material.shown import Shown, decoded


@dataclass(frozen=True, eq=False)
class Trial:
    """A trained model and how it did: mAP(C) in [0, 1] over leaves and over all classes of `split`.

    A class that is present nowhere in the split is left out of both. asked: pictures trained on;
    scored: how many leaves and classes there are, and how many of them (_scored) have an AP.
    detailed: more metrics, where they were asked for.
    held_out: further asked pictures that are in the validation split, and were not trained on.
    chosen_by: images whose complete labels chose the epoch; 0 where the last one was taken.
    """

    trained: Trained
    split: str
    images: int
    map: float
    map_all: float
    asked: int
    held_out: int
    chosen_by: int = 0
    detailed: Detailed | None = None
    scored: Mapping[str, int] = field(default_factory=dict)


def trial(
    labels: PartialLabels,
    method: Method,
    *,
    data: str,
    backbone: str = "scenes-net",
    weights: str = "",
    features: tuple[tuple[str, str], ...] = (),
    fine_tune: bool = False,
    shown: Shown = Shown(),
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    device: str = "auto",
    compile: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
    where: str = "these labels",
    team: Team = Team(),
    report: bool = False,
) -> Trial:
    """Train `method` on `labels` of the train split of `data`, from cached features or from pixels.

    It is scored on the test split, or on val where there is no test split. The epoch is chosen only
    where the settings say so, on the val split, and never on what is scored. `where` names the
    labels in errors. device, compile, checkpoint, team: as `train` takes them. Where pixels are
    learned from, classes and pictures that are near each other (SE) are so by cached features.

    report: take more metrics, see `Detailed`; F1 has its thresholds from val, where there is one.

    Raises BadInput for labels of another data set, where there are neither pictures nor features,
    and where an epoch shall be chosen and there is nothing to choose it by.
    """
    opened = open_data(data)
    everything, labels = int(labels.asked.sum()), of_train(labels, opened, where)
    asked = int(labels.asked.sum())
    split = "test" if "test" in opened.truth else "val"
    splits = _splits(opened, split, settings, data, report)
    net = load_backbone(backbone, weights or None, size=shown.size) if fine_tune else None
    kind = kind_of(spell(method))
    files = Source(data, splits, () if fine_tune else (kind,), backbone, weights, features)
    team.check([method])
    given: dict[str, Any] = {"data": opened, "progress": progress}
    material, inputs = team.in_turn(lambda: _read(files, method, net, shown, given))
    how: dict[str, Any] = {"settings": settings, "seed": seed, "draw": draw, "backbone": net}
    how |= {"device": device, "compile": compile, "team": team}
    how["validation"] = None if settings.select == "last" else _held(material, inputs)
    task = Task(labels=material.readable(labels, "train"), inputs=inputs["train"])
    task = with_near(task, method, _near(files, team, given)) if fine_tune else task
    task = prepare(task, method, **how)
    trained = train(task, method, progress=progress, checkpoint=checkpoint, **how)
    trained = _told(trained, opened.name, "" if features else backbone, weights)
    scores = trained.scores(inputs[split], device=device, precision=settings.precision)
    counts = {"asked": asked, "held_out": everything - asked}
    counts["chosen_by"] = len(inputs["val"]) if how["validation"] else 0
    done = _scored(trained, scores, material, split, counts)
    if not report:
        return done
    more = report_of(trained, split, scores, labels, material, inputs, files, given, how)
    return replace(done, detailed=more)


def _scored(
    trained: Trained,
    scores: NDArray[np.float32],
    material: Material,
    split: str,
    counts: Mapping[str, Any],
) -> Trial:
    known, data = material.known(split), material.data
    ap = average_precision(scores, data.truth[split].present, known)
    kinds = {"leaves": ap[data.leaves], "classes": ap}
    sizes = {kind: len(part) for kind, part in kinds.items()}
    sizes |= {f"{kind}_scored": int((~np.isnan(part)).sum()) for kind, part in kinds.items()}
    own, over_all = map(mean_ap, kinds.values())
    return Trial(trained, split, len(scores), own, over_all, **counts, scored=sizes)


def _read(
    files: Source, method: Method, net: Backbone | None, shown: Shown, given: dict[str, Any]
) -> tuple[Material, dict[str, ImageInputs | FeatureInputs]]:
    """The material, and for each split what is learned from; what was not cached is, then."""
    shown = shown.to(method)
    kind = kind_of(spell(method))
    material = open_material(files, **given)
    return material, {split: _inputs(material, split, kind, net, shown) for split in files.splits}


def _near(files: Source, team: Team, given: dict[str, Any]) -> Callable[[], Material]:
    """What opens the pooled features of train."""
    pooled = replace(files, splits=("train",), kinds=("pooled",))
    return lambda: team.in_turn(lambda: open_material(pooled, **given))


def _inputs(
    material: Material, split: str, kind: str, net: Backbone | None, shown: Shown
) -> ImageInputs | FeatureInputs:
    """The pictures of a split where a network learns, else their features."""
    if net is None:
        return material.inputs(split, kind)
    return shown.inputs(decoded(material.data, split, net.size))


def _told(trained: Trained, data: str, backbone: str, weights: str) -> Trained:
    """With the data set and the backbone of the features, and its weights, in its history."""
    settings = {**trained.history.settings, "data": data, "backbone": backbone}
    if backbone:  # one that learned has told its weights itself; no folder, as in every history
        settings.setdefault("weights", Path(weights).name or "its own")
    return replace(trained, history=replace(trained.history, settings=settings))


def _splits(
    data: Dataset, scored: str, settings: Settings, spec: str, report: bool
) -> tuple[str, ...]:
    """The splits in use: train, what is scored, and val to choose an epoch or F1's thresholds."""
    if settings.select == "last":
        more = ("val",) if report and scored != "val" and "val" in data.truth else ()
        return ("train", scored, *more)
    if scored == "val" or "val" not in data.truth:
        raise BadInput(
            f"select is 'best', and {spec!r} has nothing to choose an epoch by but the {scored} "
            "split, which is scored; name both a val and a test part, or set select to 'last'"
        )
    return ("train", scored, "val")


def _held(material: Material, inputs: Mapping[str, Any]) -> Validation:
    """The val split with its complete labels."""
    return Validation(
        inputs["val"],
        material.truth("val"),
        known=material.known("val"),
        classes=material.data.leaves,
    )
