"""The work on one bundle: annotate, train all methods together, score them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from simkit.errors import BadInput
from simkit.learn import methods
from simkit.learn.methods import Task
from simkit.learn.metrics import average_precision, mean_ap, overall_ap, present_counts
from simkit.learn.prepare import prepare
from simkit.learn.scoring import of_trained
from simkit.learn.train import train_stack
from simkit.learn.trained import Trained
from simkit.learn.validation import Validation
from simkit.study.bundle import Bundle, kind_of
from simkit.study.buying import Bought, buy
from simkit.study.material import Material, opened_as
from simkit.study.runs import Done, Row, told


def run(bundle: Bundle) -> Done:
    """Annotate, train and score; one row for each method. Any executor can call this.

    It uses one thread, so that any number of processes gives the same bits. A method that cannot
    work with these labels fails alone. Raises BadInput where the data are not those the bundle was
    planned for, and the error of the first method where all of them fail.
    """
    with _one_thread(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        material = opened_as(bundle.source, bundle.ids)
        bought = buy(bundle, material)
        found: dict[str, Row | Exception] = {}
        for kind in bundle.source.kinds:
            chosen = [spec for spec in bundle.methods if kind_of(spec) == kind]
            if chosen:
                found |= _each(bundle, material, bought, kind, chosen)
    errors = {spec: one for spec in bundle.methods if isinstance(one := found[spec], Exception)}
    if len(errors) == len(bundle.methods):
        raise errors[bundle.methods[0]]
    heard = list(dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning))
    rows = [
        row | {"notes": heard} for spec in bundle.methods if isinstance(row := found[spec], dict)
    ]
    lasting = all(isinstance(error, BadInput) for error in errors.values())
    return Done(rows, {spec: told(error) for spec, error in errors.items()}, lasting)


def _each(
    bundle: Bundle, material: Material, bought: Bought, kind: str, chosen: list[str]
) -> dict[str, Row | Exception]:
    """A row or an error for each method: a stack that fails is halved until it is one method."""
    try:
        return dict(_stack(bundle, material, bought, kind, chosen))
    except Exception as error:
        if len(chosen) == 1:
            return {chosen[0]: error}
    half = len(chosen) // 2
    return {
        spec: one
        for part in (chosen[:half], chosen[half:])
        for spec, one in _each(bundle, material, bought, kind, part).items()
    }


def _stack(
    bundle: Bundle, material: Material, bought: Bought, kind: str, chosen: list[str]
) -> dict[str, Row]:
    inputs = material.inputs("train", kind)
    held = None
    if bundle.validation != "none":
        held = Validation(
            material.inputs("val", kind),
            bought.validation,
            known=material.known("val"),
            classes=material.data.leaves,
        )
    made = [methods.make(spec) for spec in chosen]
    start = time.perf_counter()
    how: dict[str, Any] = {"settings": bundle.train, "seed": bundle.seed, "draw": bundle.draw}
    labels = material.readable(bought.train, "train")
    task = prepare(Task(labels=labels, inputs=inputs), *made, **how)
    trained = train_stack([(task, method) for method in made], validation=held, **how)
    seconds = (time.perf_counter() - start) / len(made)
    scores = of_trained(trained, material.inputs("test", kind))
    return {
        spec: _row(bundle, material, bought, spec, one, kind)
        | _scores(material, found)
        | {"train_seconds": seconds, "peak_memory_mb": _peak_memory()}
        for spec, one, found in zip(chosen, trained, scores, strict=True)
    }


def _row(
    bundle: Bundle, material: Material, bought: Bought, spec: str, trained: Trained, kind: str
) -> Row:
    labels = bought.train
    asked = int(labels.asked.sum())
    counts = labels.counts()
    return {
        "scheme": bundle.scheme,
        "scheme_spec": str(labels.history.settings["scheme"]),
        "method": spec,
        "method_spec": methods.spell(methods.make(spec)),
        "reference": bundle.reference,
        "budget": bundle.budget,
        "draw": bundle.draw,
        "seed": bundle.seed,
        "dollars": bought.dollars,
        "seconds": bought.seconds,
        "validation_dollars": bought.validation_dollars,
        "images": asked,
        "present": counts["present"],
        "absent": counts["absent"],
        "unknown": asked * labels.shape[1] - counts["present"] - counts["absent"],
        "epochs": trained.epoch,
        "lr": trained.history.settings["lr"],
        "select": bundle.train.select,
        "validation": bundle.validation,
        "labels_id": labels.id,
        "truth_id": bundle.ids["truth train"],
        "test_id": bundle.ids["truth test"],
        "features_id": bundle.ids[f"features train {kind}"],
        "key": bundle.key,
    }


def _scores(material: Material, scores: Any) -> Row:
    present, leaves = material.truth("test").present, material.data.leaves
    known = material.known("test")
    ap = average_precision(scores, present, known=known)
    counts = present_counts(present, known=known)
    return {
        "map": _number(mean_ap(ap[leaves])),
        "map_all": _number(mean_ap(ap)),
        "map_o": _number(overall_ap(ap[leaves], counts[leaves])),
        "ap": [_number(one) for one in ap],
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _peak_memory() -> float | None:
    """Megabytes this process has held at most; None where the platform does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
