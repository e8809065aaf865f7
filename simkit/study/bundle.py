"""The unit of work as a value: one scheme, budget and draw with all methods."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch

from simkit.annotate import schemes
from simkit.annotate.habits import Habits
from simkit.annotate.prices import Prices
from simkit.history import content_id, versions
from simkit.learn import methods
from simkit.learn.methods import Around
from simkit.learn.optim import Settings
from simkit.study.material import Source


@dataclass(frozen=True)
class Bundle:
    """All methods on the labels of one scheme, budget and draw; a value that travels as it is.

    ids: of the truth and features it was planned for. `key` is a hash of everything that decides
    the result; the same bundle gives the same rows, times aside.
    """

    source: Source
    scheme: str
    methods: tuple[str, ...]
    budget: float | None
    draw: int
    seed: int
    images: float | int
    validation: str
    reference: bool
    habits: Habits
    prices: Prices
    train: Settings
    ids: Mapping[str, str]

    @property
    def key(self) -> str:
        """Sixteen hexadecimal digits."""
        decides = {
            "scheme": schemes.spell(schemes.make(self.scheme)),
            "methods": [methods.spell(methods.make(spec)) for spec in self.methods],
            "names": [self.scheme, *self.methods],
            "habits": self.habits.to_json(),
            "prices": repr(self.prices),
            "train": dataclasses.asdict(self.train),
            "ids": dict(self.ids),
            "versions": {**versions(), "torch": torch.__version__},
            **{
                name: getattr(self, name)
                for name in ("budget", "draw", "seed", "images", "validation", "reference")
            },
        }
        return content_id("bundle", json.dumps(decides, sort_keys=True))

    def __str__(self) -> str:
        money = "" if self.budget is None else f", budget {self.budget:g}"
        return f"{self.scheme}{money}, draw {self.draw}"


def ceilings(specs: Iterable[str]) -> tuple[str, ...]:
    """What complete labels are trained with: `full`, alone and in each wrapper that changes the
    model's outputs, since such a wrapper makes another model (`an+boostlu`: `full+boostlu`)."""
    found = ["full"]
    for spec in specs:
        _, *texts = re.split(r"\+(?![^(]*\))", spec)
        made, around = methods.make(spec), []
        for text in reversed(texts):
            if isinstance(made, Around):
                if type(made).changed is not Around.changed:
                    around.append(text.strip())
                made = made.inner
        found.append("+".join(["full", *reversed(around)]))
    return tuple(dict.fromkeys(found))


def kind_of(method: str) -> str:
    """ "maps" for methods that need feature maps, else "pooled"."""
    return "maps" if methods.make(method).needs.maps else "pooled"
