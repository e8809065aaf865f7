"""The row of a finished run: what was bought, how it was trained, how it scored."""

from __future__ import annotations

import json
import platform
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from simkit.history import versions
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.learn import methods
from simkit.learn.metrics import average_precision, mean_ap, overall_ap, present_counts
from simkit.learn.trained import Trained
from simkit.study.bundles.bundle import Bundle
from simkit.study.bundles.learning import Learner, device_of
from simkit.study.bundles.stacks import Run
from simkit.study.grids.tuning import Setting
from simkit.study.material.material import Material
from simkit.study.runs import Row


def row(bundle: Bundle, material: Material, run: Run, trained: Trained) -> Row:
    """All but the scores and what the machine decides."""
    purchase, bought = run.purchase, run.bought
    labels, held = bought.train, bought.validation
    asked = int(labels.asked.sum())
    counts = labels.counts()
    present, absent = _by_class(labels)
    return {
        "scheme": purchase.scheme,
        "scheme_spec": str(labels.history.settings["scheme"]),
        "method": run.spec,
        "method_spec": methods.spell(run.method),
        "reference": purchase.reference,
        "budget": purchase.budget,
        "budget_hours": purchase.hours,
        "draw": bundle.draw,
        "seed": bundle.seed,
        "dollars": bought.dollars,
        "seconds": bought.seconds,
        "validation_dollars": bought.validation_dollars,
        "effort": json.dumps(labels.effort.to_json()),
        "validation_effort": held and json.dumps(held.effort.to_json()),
        "images": asked,
        "present": counts["present"],
        "absent": counts["absent"],
        "unknown": asked * labels.shape[1] - counts["present"] - counts["absent"],
        "class_present": present,
        "class_absent": absent,
        "epochs": trained.epoch,
        "lr": trained.history.settings["lr"],
        **_tuned(bundle, purchase.setting(run.spec)),
        "trained": "backbone" if bundle.pictures else "head",
        "select": bundle.settings(run.spec).select,
        "validation": bundle.validation,
        "losses": [_number(one) for one in trained.losses],
        "curve": [_number(one) for one in trained.validation],
        "curve_of": _curve_of(bundle),
        "environment": environment(device_of(trained)),
        "labels_id": labels.id,
        "truth_id": bundle.ids["truth train"],
        "test_id": bundle.ids["truth test"],
        "features_id": Learner(bundle, material, purchase, run.spec).inputs_id,
        "key": bundle.key,
    }


def scored(material: Material, scores: Any) -> Row:
    """AP of every class on the test split and its means; scores (N, L)."""
    present, leaves = material.truth("test").present, material.data.leaves
    known = material.known("test")
    ap = average_precision(scores, present, known)
    counts = present_counts(present, known)
    return {
        "map": _number(mean_ap(ap[leaves])),
        "map_all": _number(mean_ap(ap)),
        "map_o": _number(overall_ap(ap[leaves], counts[leaves])),
        "ap": [_number(one) for one in ap],
    }


def environment(device: str = "cpu") -> str:
    """What the run was computed with: versions, platform and device, as JSON."""
    what = {**versions(), "torch": str(torch.__version__)}
    where = {"system": platform.system(), "machine": platform.machine(), "device": device}
    return json.dumps({**what, **where, "threads": torch.get_num_threads()}, sort_keys=True)


def _tuned(bundle: Bundle, setting: Setting | None) -> Row:
    chosen = setting if setting and setting.runs else None
    return {
        "tuned": setting.text if setting else None,
        "tuned_runs": chosen.runs if chosen else None,
        "tuned_map": chosen.score if chosen else None,
        "tuned_by": bundle.validation if chosen else None,
        "tuned_dollars": chosen.dollars if chosen else None,
    }


def _curve_of(bundle: Bundle) -> str | None:
    if bundle.validation != "none":
        return "val"
    return "test" if bundle.curves else None


def _by_class(labels: PartialLabels) -> tuple[list[int], list[int]]:
    """How many images each class is known to be present in, and absent from."""
    codes = labels.codes
    known: NDArray[np.int64] = np.asarray((codes != 0).sum(0)).ravel()
    present: NDArray[np.int64] = np.asarray((codes == PRESENT).sum(0)).ravel()
    return present.tolist(), (known - present).tolist()


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
