"""The settings that a comparison tries for every method before it compares them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from simkit.chance import Chance
from simkit.errors import BadInput, located, unknown
from simkit.learn import methods
from simkit.learn.method import layers
from simkit.learn.methods import Method, Wrapper
from simkit.registry import Range, as_table, convert, expect, plain, setting, settle

MOST = 10_000  # draws, or trainings of a sweep: more are a typing error and take minutes to plan
ALL = "all"  # stands for every method in a space
# Learning rates are a factor of sqrt(10) apart, counted in half decades from that of the training.
_FIRST = (-2, -1, 0, 1, 2)
_LAST = 6  # further rates are not tried


@dataclass(frozen=True)
class Setting:
    """Settings of one method by name: `lr` is a setting of the training, all others of the method.

    Attributes
    ----------
    score
        mAP in [0, 1] on validation labels, on which a sweep chose these settings.
    error
        Standard deviation of the score over choices: other draws would have chosen other settings.
    runs
        Number of settings that the sweep tried for this method.
    edge
        Whether one of the numbers is the smallest or largest that was tried.
    """

    values: tuple[tuple[str, Any], ...]
    score: float | None = None
    error: float = 0.0
    runs: int = 0
    edge: bool = False

    @property
    def lr(self) -> float | None:
        """The learning rate; None for that of the training."""
        return dict(self.values).get("lr")

    @property
    def text(self) -> str:
        """As JSON."""
        return json.dumps(dict(self.values))

    def method(self, spec: str) -> str:
        """The complete name of the method with these settings. Raises BadInput."""
        method = methods.make(spec)
        for name, value in self.values:
            if name == "lr":
                expect(convert(value, float, "lr") > 0, "lr", value, "a number above 0")
            elif name in (names := _names(method)):
                method = _with_setting(method, name, value)
            else:
                raise unknown(f"setting of method {spec!r}", name, ["lr", *names])
        return methods.spell(method)


@dataclass(frozen=True)
class Tuning:
    """A sweep: settings of every method under every scheme, tried before methods are compared.

    They are tried at the middle budget in draws of their own, chosen on complete labels of the
    validation split, and used at all budgets. The cost of these labels is a separate line of the
    bill.

    A method without a space is tried with five learning rates a factor of sqrt(10) apart, and with
    further ones as long as the best is the smallest or the largest; then, at the best rate, with
    the alternative value of its most important setting, if it has one. Without `alternatives`
    these are left out, for a sweep of a setting, whose points must keep their values. Raises
    BadInput.
    """

    runs: Annotated[int, Range(2, MOST)] = setting(4, "settings for each method with a space")
    draws: Annotated[int, Range(1, MOST)] = setting(2, "draws in which every setting is tried")
    space: Mapping[str, Mapping[str, Sequence[Any]]] = setting(
        dict,
        'lists of values by method (or "all") and setting: lr of the training, or a field of the '
        "method (of the innermost that has it); `runs` points of their product are sampled",
    )
    alternatives: bool = setting(
        True, "try another value of the most important setting of methods without a space"
    )

    def __post_init__(self) -> None:
        settle(self, "tuning")
        space: dict[str, dict[str, tuple[Any, ...]]] = {}
        for spec, table in as_table(self.space, "tuning.space").items():
            space[spec] = {}
            method, dot, last = spec.rpartition(".")
            if dot and not isinstance(table, Mapping):  # TOML divides all.lr, Python does not
                nested = f'{{"{method}": {{"{last}": [...]}}}}'
                raise BadInput(f"tuning.space has the key {spec!r}; in Python write {nested}")
            for name, values in as_table(table, f"tuning.space.{spec}").items():
                field = f"tuning.space.{spec}.{name}"
                listed = isinstance(values, Sequence) and not isinstance(values, str) and values
                expect(listed, field, values, "a list of values to try")
                kept = [convert(v, float, field) if name == "lr" else plain(v) for v in values]
                space[spec][name] = tuple(v for i, v in enumerate(kept) if v not in kept[:i])
        object.__setattr__(self, "space", space)

    def check(self, specs: Sequence[str]) -> None:
        """Raise BadInput if a space is of another method, or invalid."""
        as_table(self.space, "tuning.space", "method of this grid", [ALL, *specs])
        with located("tuning.space"):
            for spec in specs:
                for name, choices in self.values(spec).items():
                    for value in choices:
                        Setting(((name, value),)).method(spec)

    def values(self, spec: str) -> dict[str, Sequence[Any]]:
        """The values to try for a method, by name of the setting."""
        return {**self.space.get(ALL, {}), **self.space.get(spec, {})}

    def alternative(self, spec: str) -> tuple[tuple[str, Any], ...]:
        """What is tried beside the defaults of a method without a space; may be empty."""
        return alternative(spec) if self.alternatives and not self.values(spec) else ()

    def settings(self, spec: str, *, lr: float, seed: int) -> list[Setting]:
        """The settings to try first for a method; they depend only on its space and the seed, so
        methods with the same space try the same points."""
        values = self.values(spec)
        if not values:
            return [_rate(lr, half) for half in _FIRST]
        shape = [len(choices) for choices in values.values()]
        order = Chance.seeded(seed).of("tuning", *values).permutation(math.prod(shape))
        sampled = np.sort(order.at(np.arange(min(self.runs, math.prod(shape)))))
        return [
            Setting(tuple((name, values[name][at]) for name, at in zip(values, point, strict=True)))
            for point in zip(*np.unravel_index(sampled, shape), strict=True)
        ]

    def further(self, spec: str, tried: Sequence[Setting], *, lr: float) -> Setting | None:
        """The setting to try next for a method without a space, if any.

        tried: with their scores; those without a score failed.
        """
        rates = [one for one in tried if [name for name, _ in one.values] == ["lr"]]
        if self.values(spec) or not (scored := [one for one in rates if one.score is not None]):
            return None
        best, every = best_of(scored, rates), [rate for one in rates if (rate := one.lr)]
        assert best.lr is not None
        if best.lr in (min(every), max(every)):
            half = round(2 * math.log10(best.lr / lr)) + (1 if best.lr == max(every) else -1)
            if abs(half) <= _LAST:
                return _rate(lr, half)
        other = Setting((*best.values, *self.alternative(spec)))
        return None if other.values in {one.values for one in tried} else other


def alternative(spec: str) -> tuple[tuple[str, Any], ...]:
    """Another value of the most important setting of a method, or of several that belong together.

    Empty if it declares none, or if the name of the method sets one of them. That of a wrapper
    counts only if the wrapped method declares none.
    """
    part = next((one for one in layers(methods.make(spec)) if one.alternative), None)
    defaults = {} if part is None else {one.name: one.default for one in dataclasses.fields(part)}
    values = {} if part is None else part.alternative
    return () if any(getattr(part, n) != defaults[n] for n in values) else tuple(values.items())


def _rate(lr: float, half: int) -> Setting:
    """half: number of half decades from `lr`."""
    return Setting((("lr", float(f"{lr * 10 ** (half / 2):.3g}")),))


def best_of(scored: Sequence[Setting], tried: Sequence[Setting]) -> Setting:
    """The setting with the highest score; of equal ones, the first that is not at the edge."""
    return max(scored, key=lambda one: (one.score or 0.0, not at_edge(one, tried)))


def at_edge(setting: Setting, tried: Sequence[Setting]) -> bool:
    """Whether a number of the setting is the smallest or largest of three or more values."""
    for name, value in setting.values:
        values: set[Any] = {dict(other.values).get(name) for other in tried} - {None}
        numeric = len(values) > 2 and all(type(other) in (int, float) for other in values)
        if numeric and value in (min(values), max(values)):
            return True
    return False


def _with_setting(method: Method, name: str, value: Any) -> Method:
    """The method with one setting changed, that of the innermost part that has it."""
    if isinstance(method, Wrapper) and name in _names(method.inner):
        return dataclasses.replace(method, inner=_with_setting(method.inner, name, value))
    return dataclasses.replace(method, **{name: value})


def _names(method: Method) -> list[str]:
    fields = [field for part in layers(method) for field in dataclasses.fields(part)]
    return [field.name for field in fields if field.name != "inner"]
