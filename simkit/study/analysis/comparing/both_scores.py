"""mAP and mF1 of methods on two splits: the head line of a paper's table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from simkit.annotate.schemes.full_subset import FullSubset
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Task, make
from simkit.learn.methods.full import Full
from simkit.learn.metrics import average_precision, f1, f1_thresholds, mean_ap
from simkit.learn.steps.optim import Settings
from simkit.learn.train import Trained, train_stack
from simkit.study import runs
from simkit.study.analysis.asked import listed
from simkit.study.analysis.comparing.chosen import Methods
from simkit.study.sources import StudyData

MORE = ("mf1", "val_map", "val_mf1")


def both_scores(
    material: StudyData,
    labelled: Mapping[tuple[str, int], PartialLabels],
    methods: Methods,
    *,
    settings: Settings = Settings(),
    seed: int = 0,
) -> pa.Table:
    """Train every method on all these labels, and score it on test and on val.

    material: with pooled features of train, val and test. labelled: labels of the train split by
    scheme and draw. methods: spelled as anywhere, also one text with commas; "full" among them
    learns from complete labels of all images where these are not complete, once in every draw.

    Returns a table of runs as `study.runs.COLUMNS` has it, one row for each scheme, draw and
    method, and then those of "full" that learned from other labels, as references. What costs
    and times would say is null, and there are three more columns in [0, 1]: mf1, val_map and
    val_mf1. All are over leaf classes. The thresholds of F1 are those that are best on
    val, class by class, so that val_mf1 flatters, as the paper's does. `ablation(table, base,
    metric="mf1")` compares them.

    Raises BadInput where nothing is to be trained, or a split has no features.
    Source: "Soft Exposure", Table 1.
    """
    specs = list(dict.fromkeys(listed(methods, "both_scores: methods")))
    if not labelled or not specs:
        raise BadInput("both_scores: nothing to train; give labels and at least one method")
    for split in ("train", "val", "test"):
        if (split, "pooled") not in material.features:
            raise BadInput(
                f"both_scores: the material has no pooled features of its {split} split; open it "
                "with splits train, val and test and kind pooled"
            )
    rows, more = [], []
    for scheme, draw, labels, own, reference in _purchases(material, labelled, specs, seed):
        counts = labels.counts()
        task = Task(material.readable(labels, "train"), material.inputs("train", "pooled"))
        how: dict[str, Any] = {"settings": settings, "seed": seed, "draw": draw}
        made = [make(spec) for spec in own]
        trained = train_stack([(prepare(task, method, **how), method) for method in made], **how)
        for spec, one in zip(own, trained, strict=True):
            found = _scores(material, one)
            rows.append(
                dict.fromkeys(runs.SCHEMA.names)
                | {"scheme": scheme, "method": spec, "draw": draw, "seed": seed}
                | {"reference": reference}
                | {"images": int(labels.asked.sum()), "map": found.pop("map"), "notes": []}
                | counts
            )
            more.append(found)
    table = runs.tidy(rows, classes=material.data.classes, leaves=material.data.leaves.tolist())
    for name in MORE:
        table = table.append_column(name, pa.array([one[name] for one in more], pa.float64()))
    return table


def _purchases(
    material: StudyData,
    labelled: Mapping[tuple[str, int], PartialLabels],
    specs: Sequence[str],
    seed: int,
) -> list[tuple[str, int, PartialLabels, list[str], bool]]:
    """Scheme, draw, labels, the methods that learn from these, and whether as a reference."""
    fulls = [spec for spec in specs if re.split(r"[+(]", spec)[0].strip() == Full.name]
    others = [spec for spec in specs if spec not in fulls]
    found, more = [], {}
    for (scheme, draw), labels in labelled.items():
        whole = labels.codes.nnz == int(labels.asked.sum()) * len(labels.classes)
        if own := specs if whole else others:
            found.append((scheme, draw, labels, list(own), False))
        if fulls and not whole and draw not in more:
            how: dict[str, Any] = {"seed": seed, "draw": draw, "hierarchy": material.hierarchy}
            labels = simulate(material.truth("train"), FullSubset.name, **how)
            more[draw] = (FullSubset.name, draw, labels, fulls, True)
    return [*found, *more.values()]


def _scores(material: StudyData, trained: Trained) -> dict[str, float]:
    leaves = material.data.leaves
    shown = {}
    for split in ("val", "test"):
        scores = trained.scores(material.inputs(split, "pooled"))[:, leaves]
        known = material.known(split)
        truth = material.truth(split).present[:, leaves]
        shown[split] = scores, truth, None if known is None else known[:, leaves]
    limits = f1_thresholds(*shown["val"])
    found = {}
    for split, head in (("test", ""), ("val", "val_")):
        scores, truth, known = shown[split]
        found[f"{head}map"] = mean_ap(average_precision(scores, truth, known))
        found[f"{head}mf1"] = mean_ap(f1(scores, truth, limits, known))
    return found
