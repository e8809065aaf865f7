"""What questions cost: price lists, and the bill in seconds and dollars."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from simkit.errors import BadInput, unknown
from simkit.files import readable
from simkit.labels.effort import QUESTIONS, Effort
from simkit.labels.partial import PartialLabels

UNITS = ("question", "page", "image")
_HEAD = ("title", "workers", "workers_source", "wage", "wage_source")
_RATE = ("per", "page", "seconds", "dollars", "source")


@dataclass(frozen=True)
class Rate:
    """What one person's work on one kind of question costs.

    per      "question", "image" (all questions of this kind about an image at once) or "page" (up
             to `page` questions about an image at once).
    seconds, dollars   of one unit; None: not known. One of them is given.
    source   where the number is from, or "assumption: ..." with the reasoning.
    """

    per: str
    seconds: float | None
    dollars: float | None
    source: str
    page: int = 0

    def units(self, effort: Effort, kind: str) -> int:
        """How many units of work the questions of this kind are."""
        if self.per == "question":
            return effort.count(kind)
        if self.per == "image":
            return effort.images(kind)
        histogram = effort.questions.get(kind, np.zeros(1, np.int64))
        return int(histogram @ -(-np.arange(len(histogram)) // self.page))


@dataclass(frozen=True)
class Prices:
    """A price list: rates by kind of question, people per question, wage in dollars an hour.

    `workers` counts where the effort does not say how many people answered.
    """

    name: str
    title: str
    workers: int
    rates: Mapping[str, Rate]
    wage: float | None = None
    workers_source: str = ""
    wage_source: str = ""


@dataclass(frozen=True)
class Line:
    """One kind of question on the bill; seconds and dollars of all people together."""

    kind: str
    questions: int
    seconds: float | None
    dollars: float
    source: str


@dataclass(frozen=True)
class Cost:
    """The bill. `seconds` is None where the time of any line is not known."""

    seconds: float | None
    dollars: float
    lines: tuple[Line, ...]
    workers: int
    prices: str

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        lines = [vars(line) for line in self.lines]
        return {**vars(self), "lines": lines}


def presets() -> list[str]:
    """Names of the price lists that come with simkit."""
    return sorted(_shipped())


def prices(name: str | PathLike[str]) -> Prices:
    """A shipped price list by name, or one from a TOML file: its path ends in .toml.

    A file holds title, workers, wage and a table for each kind of question, as prices.toml shows.
    Raises BadInput that names file, field and mend.
    """
    text = str(name)
    if text in _shipped():
        return _shipped()[text]
    if not text.endswith(".toml"):
        raise unknown("price list", text, _shipped())
    path = readable(name, "prices (TOML)")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read as TOML ({error}); mend that line") from None
    return _prices(values, Path(text).stem, str(path))


def cost(labels: PartialLabels | Effort, prices: Prices | str) -> Cost:
    """What the questions behind these labels cost by this price list, or its name.

    Raises BadInput when the list has no price for a kind of question that was asked.
    """
    listed = _named(prices)
    effort = labels if isinstance(labels, Effort) else labels.effort
    workers = listed.workers if effort.workers is None else effort.workers
    lines = tuple(_line(effort, kind, listed, workers) for kind in effort.kinds())
    known = [line.seconds for line in lines if line.seconds is not None]
    seconds = _clean(math.fsum(known)) if len(known) == len(lines) else None
    dollars = _clean(math.fsum(line.dollars for line in lines))
    return Cost(seconds, dollars, lines, workers, listed.name)


def _named(given: Prices | str) -> Prices:
    return given if isinstance(given, Prices) else prices(given)


def _line(effort: Effort, kind: str, listed: Prices, workers: int) -> Line:
    rate = listed.rates.get(kind)
    if rate is None:
        raise BadInput(
            f"price list {listed.name!r} has no price for {kind!r}; add a table [{kind}]"
        )
    units = rate.units(effort, kind) * workers
    seconds = None if rate.seconds is None else _clean(units * rate.seconds)
    if rate.dollars is not None:
        dollars = _clean(units * rate.dollars)
    else:
        assert seconds is not None and listed.wage is not None
        dollars = _clean(seconds * listed.wage / 3600)
    return Line(kind, effort.count(kind), seconds, dollars, rate.source)


def _clean(amount: float) -> float:
    """Without the noise of binary fractions: 200 looks at $0.035 are $7, not a hair more."""
    return round(amount, 9)


@lru_cache
def _shipped() -> dict[str, Prices]:
    text = resources.files("simkit.annotate").joinpath("prices.toml").read_text(encoding="utf-8")
    lists = tomllib.loads(text).items()
    return {name: _prices(values, name, f"prices.toml [{name}]") for name, values in lists}


def _prices(values: Mapping[str, Any], name: str, where: str) -> Prices:
    known = (*_HEAD, *QUESTIONS)
    for key in values:
        if key not in known:
            raise BadInput(f"{where}: {unknown('field or kind of question', key, known)}")
    wage = _number(values, "wage", where)
    workers = values.get("workers", 1)
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise BadInput(f"{where}: workers is {workers!r}; a whole number from 1 on is expected")
    rates = {kind: _rate(values[kind], kind, wage, where) for kind in QUESTIONS if kind in values}
    if not rates:
        raise BadInput(f"{where}: no kind of question has a price; add a table such as [verify]")
    words = {key: _text(values, key, where) for key in ("workers_source", "wage_source")}
    return Prices(name, _text(values, "title", where) or name, workers, rates, wage, **words)


def _rate(values: Any, kind: str, wage: float | None, where: str) -> Rate:
    where = f"{where}: {kind}"
    if not isinstance(values, Mapping):
        raise BadInput(
            f"{where} is {values!r}; a table [{kind}] with per and seconds or dollars is expected"
        )
    for key in values:
        if key not in _RATE:
            raise BadInput(f"{where}: {unknown('field', key, _RATE)}")
    per = values.get("per")
    if per not in UNITS:
        came = "is missing" if per is None else f"is {per!r}"
        raise BadInput(f"{where}: per {came}; it must be one of {', '.join(UNITS)}")
    if kind == "search" and per != "question":
        raise BadInput(
            f'{where}: per is {per!r}; looks are counted one by one, so write per = "question"'
        )
    page = values.get("page", 0)
    if per == "page" and (not isinstance(page, int) or isinstance(page, bool) or page < 1):
        raise BadInput(f"{where}: page is {page!r}; the number of questions on a page is expected")
    seconds, dollars = (_number(values, key, where) for key in ("seconds", "dollars"))
    if seconds is None and dollars is None:
        raise BadInput(f"{where}: neither seconds nor dollars is given; add one of them")
    if dollars is None and wage is None:
        raise BadInput(f"{where}: only seconds are given; add dollars here or wage for the list")
    return Rate(per, seconds, dollars, _text(values, "source", where), page)


def _number(values: Mapping[str, Any], key: str, where: str) -> float | None:
    value = values.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise BadInput(f"{where}: {key} is {value!r}; a number from 0 on is expected")
    return float(value)


def _text(values: Mapping[str, Any], key: str, where: str) -> str:
    value = values.get(key, "")
    if not isinstance(value, str):
        raise BadInput(f"{where}: {key} is {value!r}; text is expected")
    return value
