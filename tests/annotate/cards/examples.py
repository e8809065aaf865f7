"""Labels with all that a card tells of them."""

from pathlib import Path
from typing import Any

import numpy as np

from simkit.annotate.cards.subject import Subject
from simkit.annotate.habits import Habits
from simkit.annotate.prices import cost
from simkit.annotate.simulate import simulate
from simkit.data.terms import Terms
from simkit.labels import formats
from simkit.labels.truth import Truth

OWNED = Terms(
    "Zoo", "other", "zoo-terms", "https://zoo.org/terms", "no lions", "https://zoo.org", "A. Keeper"
)


def subject(folder: Path, file: str = "zoo.parquet", **given: Any) -> Subject:
    """Labels of 60 images and 12 classes, written into `folder`."""
    scheme = given.pop("scheme", "rpa(keep=0.3)")
    classes = given.pop("classes", [f"class {c}" for c in range(12)])
    habits = given.pop("habits", Habits())
    ids = given.pop("ids", None)
    present = np.random.default_rng(0).random((60, len(classes))) < 0.3
    present[:, 0] = True
    truth = Truth.of(present, ids, classes)
    labels = simulate(truth, scheme, habits=habits, seed=3)
    path = folder / file
    form = formats.for_path(path, writing=True)
    form.write(labels, path)
    values = {
        "labels": labels,
        "files": (path,),
        "form": form.name,
        "lost": form.loses(labels),
        "data": "zoo",
        "split": "train",
        "terms": Terms(),
        "bill": cost(labels, "coco-tagging"),
        "wrong": labels.wrong(truth),
        "command": ("simkit", "simulate", "--data", "zoo.toml", "--scheme", scheme),
    }
    return Subject(**(values | given))
