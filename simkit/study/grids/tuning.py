"""Which settings of a method are tried before it is compared: as many for every method."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simkit.chance import Chance
from simkit.errors import BadInput, unknown
from simkit.learn import methods
from simkit.learn.methods import Around, Method
from simkit.learn.steps.optim import Settings
from simkit.registry import build, convert
from simkit.study.grids.fields import MOST, expect, plain, whole
from simkit.study.grids.toml import text_of

ALL = "all"


@dataclass(frozen=True)
class Setting:
    """A setting of a method: the method spelled completely, and the rate it learns at.

    values: what was set, by name.  score: mAP in [0, 1] on the validation labels of the sweep,
    dollars: what all labels cost that it was tried with, and runs: of how many trainings it was the
    best; before anything is chosen, None and 0.
    """

    method: str
    lr: float | None
    values: tuple[tuple[str, Any], ...]
    score: float | None = None
    runs: int = 0
    dollars: float = 0.0

    @property
    def text(self) -> str:
        """What was set, as JSON."""
        return json.dumps(dict(self.values))


@dataclass(frozen=True)
class Tuning:
    """A sweep that chooses the settings of every method by its validation labels.

    runs   trainings for each method under each scheme and budget: the same number for all.
    space  what is tried: for methods as the grid lists them, and for "all", the names of settings
           with their values. Of the training this is lr, all else are settings of the method (of
           the innermost that has it: delta of ll-r in ll-r+boostlu). What a method says goes
           before what is said for all.

    A setting is a point of the product of its values; `runs` of them are drawn without
    replacement. Raises BadInput that names the field.
    """

    runs: int = 4
    space: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fine = whole(self.runs) and 2 <= self.runs <= MOST
        expect(fine, "tuning.runs", self.runs, f"a whole number from 2 to {MOST:,}")
        _expect_table(self.space, "tuning.space")
        found = {spec: _values(table, spec) for spec, table in self.space.items()}
        object.__setattr__(self, "space", found)

    def check(self, specs: Sequence[str]) -> None:
        """Raise BadInput unless it has enough to try for each of these methods, and no others."""
        for spec in self.space:
            if spec not in (ALL, *specs):
                error = unknown("method of this grid", spec, [ALL, *specs])
                raise BadInput(f"tuning.space: {error}")
        self._check_names(specs)
        for spec in specs:
            count = self.count(spec)
            if count < self.runs:
                fewer = f", or set runs to {count} at most" if count > 1 else ""
                raise BadInput(
                    f"tuning.runs is {self.runs}, and {spec!r} has {count} to try; add values or "
                    f"settings to [tuning.space.{ALL}] or [tuning.space.{text_of(spec)}]{fewer}"
                )
            expect(count < 2**31, f"the space of {spec!r}", count, "fewer than 2**31 settings")

    def _check_names(self, specs: Sequence[str]) -> None:
        """Raise BadInput for settings that a method does not have, or not with these values."""
        for spec in specs:
            try:
                made = methods.make(spec)
                for name, values in self.tried(spec).items():
                    for value in values:
                        _set(made, spec, name, value)
            except BadInput as error:
                raise BadInput(f"tuning.space: {error}") from None

    def count(self, spec: str) -> int:
        """How many settings a method has to try."""
        return math.prod(len(values) for values in self.tried(spec).values())

    def settings(self, spec: str, *, seed: int) -> list[Setting]:
        """The settings that are tried for a method. They depend on the seed, its text and its
        space alone; no other method of the grid changes them."""
        own = self.tried(spec)
        order = Chance.seeded(seed).of("tuning", spec).permutation(self.count(spec))
        chosen = order.at(np.arange(self.runs))
        places = np.unravel_index(np.sort(chosen), [len(values) for values in own.values()])
        found = []
        for point in zip(*places, strict=True):
            given = {name: own[name][at] for name, at in zip(own, point, strict=True)}
            method = methods.make(spec)
            for name, value in given.items():
                method = _set(method, spec, name, value)
            found.append(Setting(methods.spell(method), given.get("lr"), tuple(given.items())))
        return found

    def tables(self) -> dict[str, dict[str, Any]]:
        """As tables of a TOML file, by their headings."""
        spaces = {f"tuning.space.{text_of(spec)}": dict(v) for spec, v in self.space.items()}
        return {"tuning": {"runs": self.runs}, **spaces}

    def tried(self, spec: str) -> dict[str, Sequence[Any]]:
        """The values that are tried for a method, by the names of its settings."""
        return {**self.space.get(ALL, {}), **self.space.get(spec, {})}


def _values(table: Any, spec: str) -> dict[str, tuple[Any, ...]]:
    where = f"tuning.space.{spec}"
    _expect_table(table, where)
    found: dict[str, tuple[Any, ...]] = {}
    for name, values in table.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise BadInput(f"{where}.{name} is {values!r}; a list of values to try is expected")
        if name == "lr":
            values = [convert(value, float, f"{where}.lr") for value in values]
            for value in values:
                expect(value > 0, f"{where}.lr", value, "a number above 0")
        each = tuple(_value(value, f"{where}.{name}") for value in values)
        if len(set(each)) < len(each):
            raise BadInput(
                f"{where}.{name} is {list(values)!r}, which names one twice; leave one out"
            )
        found[name] = each
    return found


def _value(value: Any, where: str) -> Any:
    """One value to try, as it can be kept, compared and written down."""
    if isinstance(value, list | tuple):
        return tuple(_value(one, where) for one in value)
    value = plain(value)
    fine = isinstance(value, bool | int | float | str)
    expect(fine, where, value, "a list of numbers, texts or truth values")
    return value


def _expect_table(value: Any, name: str) -> None:
    if not isinstance(value, Mapping):
        raise BadInput(f"{name} is {value!r}; a table such as [{name}] is expected")


def _set(method: Method, spec: str, name: str, value: Any) -> Method:
    """The method with one of its settings changed: of the innermost part that has it."""
    if name == "lr":
        return method
    changed = _changed(method, name, value)
    if changed is None and name in {each.name for each in dataclasses.fields(Settings)}:
        raise BadInput(f"{name!r} is a setting of [train], of which lr alone can be tried")
    if changed is None:
        raise unknown(f"setting of method {spec!r}", name, ["lr", *_names(method)])
    return changed


def _changed(method: Method, name: str, value: Any) -> Method | None:
    if isinstance(method, Around):
        inner = _changed(method.inner, name, value)
        if inner is not None:
            return dataclasses.replace(method, inner=inner)
    own = {each.name: getattr(method, each.name) for each in dataclasses.fields(method)}
    if name == "inner" or name not in own:
        return None
    return build(type(method), {**own, name: value}, "method")


def _names(method: Method) -> list[str]:
    inner = _names(method.inner) if isinstance(method, Around) else []
    return inner + [each.name for each in dataclasses.fields(method) if each.name != "inner"]
