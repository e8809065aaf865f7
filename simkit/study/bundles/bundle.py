"""The unit of work as a value: purchases of labels in some draws, each with all its methods."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from simkit.annotate import schemes
from simkit.annotate.habits import Habits
from simkit.annotate.prices import Prices
from simkit.history import content_id, versions
from simkit.learn import methods
from simkit.learn.methods import Around
from simkit.learn.steps.optim import Settings
from simkit.study.grids.pictures import Pictures
from simkit.study.grids.tuning import Setting
from simkit.study.material.material import Source
from simkit.study.runs import SWEEP


@dataclass(frozen=True)
class Purchase:
    """Labels that are bought together, and the methods that learn from them.

    budget: dollars; hours: of people's time; neither: the scheme's amount as written.
    images: which share of them may be asked about (a float), or how many (a whole number).
    reference: everything is labelled, at its own cost.
    settings: one for each method, where a sweep tries or chose them; else the grid's hold.
    """

    scheme: str
    methods: tuple[str, ...]
    budget: float | None = None
    hours: float | None = None
    images: float | int = 1.0
    reference: bool = False
    settings: tuple[Setting, ...] = ()

    def setting(self, spec: str) -> Setting | None:
        """What is set for one of its methods by a sweep."""
        return self.settings[self.methods.index(spec)] if self.settings else None

    def spelled(self, spec: str) -> str:
        """One of its methods as it is trained."""
        found = self.setting(spec)
        return spec if found is None else found.method

    def __str__(self) -> str:
        money = "" if self.budget is None else f", budget {self.budget:g}"
        time = "" if self.hours is None else f", {self.hours:g} hours"
        return f"{self.scheme}{money}{time}"

    @property
    def labels(self) -> Purchase:
        """What is bought, whoever learns from it."""
        return dataclasses.replace(self, methods=(), settings=())

    @cached_property  # the same purchase is in a bundle of every draw
    def decides(self) -> dict[str, Any]:
        """All of it as plain values, settings spelled out."""
        return {
            **{name: value for name, value in dataclasses.asdict(self).items() if value != ()},
            "scheme": schemes.spell(schemes.make(self.scheme)),
            "methods": [methods.spell(methods.make(spec)) for spec in self.methods],
            "names": [self.scheme, *self.methods],
            "images": [type(self.images).__name__, self.images],
        }


@dataclass(frozen=True)
class Bundle:
    """Purchases in one draw, or in several where one is soon done, with their methods; a value that
    travels as it is.

    ids: of the truth and features it was planned for. `key` is a hash of everything that decides
    the result; the same bundle gives the same rows, what the machine decides aside.
    pictures: where the whole backbone is trained, from what.
    """

    source: Source
    purchases: tuple[Purchase, ...]
    draws: tuple[int, ...]
    seed: int
    validation: str
    habits: Habits
    prices: Prices
    train: Settings
    curves: bool
    memory: float
    ids: Mapping[str, str]
    pictures: Pictures | None = None

    @cached_property  # every run of the bundle asks for it; it travels along with the bundle
    def key(self) -> str:
        """Sixteen hexadecimal digits."""
        decides = {
            "purchases": [one.decides for one in self.purchases],
            "habits": self.habits.to_json(),
            "prices": repr(self.prices),
            "train": dataclasses.asdict(self.train),
            "pictures": self.pictures and dataclasses.asdict(self.pictures),
            "ids": dict(self.ids),
            "versions": {**versions(), "torch": torch.__version__},
            **{
                name: getattr(self, name)
                for name in ("draws", "seed", "validation", "curves", "memory")
            },
        }
        return content_id("bundle", json.dumps(decides, sort_keys=True))

    def settings(self, spec: str) -> Settings:
        """How a method is trained."""
        return self.pictures.settings(spec, self.train) if self.pictures else self.train

    @property
    def runs(self) -> int:
        """How many trainings it holds."""
        return len(self.draws) * sum(len(one.methods) for one in self.purchases)

    @property
    def draw(self) -> int:
        """The draw of a bundle that has one."""
        (found,) = self.draws
        return found

    def each(self) -> list[Bundle]:
        """One for each draw."""
        return [dataclasses.replace(self, draws=(draw,)) for draw in self.draws]

    def __str__(self) -> str:
        if self.pictures:  # every method has a purchase of its own
            trained = [f"{one}, {', '.join(one.methods)}" for one in self.purchases]
            return f"{' and '.join(trained)}, {_names(self.draws)}"
        others = len(self.purchases) - 1
        more = f" and {others} more" if others else ""
        return f"{self.purchases[0]}{more}, {_names(self.draws)}"


def draw_name(draw: int) -> str:
    """ "draw 3", or "tuning" for the draw of the sweep."""
    return "tuning" if draw == SWEEP else f"draw {draw}"


def _names(draws: Sequence[int]) -> str:
    first = draw_name(draws[0])
    return first if len(draws) == 1 else f"{first.replace('draw', 'draws')} to {draws[-1]}"


def on_complete_labels(specs: Iterable[str]) -> tuple[str, ...]:
    """The methods that complete labels are trained with: `full` and `around_full` of each method,
    then the methods themselves, as some score higher or lower than `full` on the same labels."""
    given = tuple(specs)
    return tuple(dict.fromkeys(["full", *map(around_full, given), *given]))


def around_full(spec: str) -> str:
    """`full` in those wrappers of a method that change the model's outputs, which make another
    model (`an+boostlu`: `full+boostlu`); `full` alone where there is none."""
    _, *texts = re.split(r"\+(?![^(]*\))", spec)
    made, around = methods.make(spec), []
    for text in reversed(texts):
        if isinstance(made, Around):
            if type(made).changed is not Around.changed:
                around.append(text.strip())
            made = made.inner
    return "+".join(["full", *reversed(around)])


def kind_of(method: str) -> str:
    """ "maps" for methods that need feature maps, else "pooled"."""
    return "maps" if methods.make(method).needs.maps else "pooled"
