"""simkit: plan annotation budgets for partially annotated multi-label image classification.

    >>> import simkit
    >>> scenes = simkit.data.open("scenes")
    >>> labels = simkit.simulate(scenes.truth["train"], "fpc(per_class=50)")
    >>> simkit.cost(labels).dollars  # by the hour; simkit.prices has other price lists

Names are loaded when they are first used: importing simkit loads neither torch nor nltk.
"""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "simulate": ("simkit.annotate.simulate", "simulate"),
    "replay": ("simkit.annotate.simulate", "replay"),
    "cost": ("simkit.annotate.prices", "cost"),
    "prices": ("simkit.annotate.prices", "prices"),
    "amount_for": ("simkit.annotate.budget", "amount_for"),
    "evaluation_set": ("simkit.annotate.evaluation", "evaluation_set"),
    "train": ("simkit.learn.train", "train"),
    "compare": ("simkit.study.compare", "compare"),
    "Grid": ("simkit.study.grid", "Grid"),
    "Pictures": ("simkit.study.grid", "Pictures"),
    "Tuning": ("simkit.study.grid", "Tuning"),
    "demo_grid": ("simkit.study.grid", "demo"),
    "open_runs": ("simkit.study.runs", "open_runs"),
    "Source": ("simkit.study.sources", "Source"),
    "open_source": ("simkit.study.sources", "open_source"),
    "ImageTransform": ("simkit.study.sources", "ImageTransform"),
    "decoded_pictures": ("simkit.study.sources", "decoded"),
    "interval": ("simkit.study.statistics", "interval"),
    "plan": ("simkit.planning.plan", "plan"),
    "plan_pilot": ("simkit.planning.pilot", "plan_pilot"),
    "Truth": ("simkit.labels.truth", "Truth"),
    "PartialLabels": ("simkit.labels.partial", "PartialLabels"),
    "Habits": ("simkit.annotate.habits", "Habits"),
    "BadInput": ("simkit.errors", "BadInput"),
    "data": ("simkit.data", None),
    "formats": ("simkit.labels.formats", None),
    "schemes": ("simkit.annotate.schemes", None),
    "methods": ("simkit.learn.methods", None),
    "metrics": ("simkit.learn.metrics", None),
    "analysis": ("simkit.analysis", None),
    "figures": ("simkit.figures", None),
    "study": ("simkit.study", None),
}

__all__ = list(_PUBLIC)  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'simkit' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    if name == "study":  # a folder brings none of its files by itself
        importlib.import_module("simkit.study.runs")
    found = importlib.import_module(module)
    value = found if attribute is None else getattr(found, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
