"""What questions cost: the bill in seconds and dollars."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simkit.annotate.price_lists import DEFAULT, presets, prices
from simkit.annotate.rates import Prices, Rate
from simkit.errors import BadInput
from simkit.labels.effort import Effort
from simkit.labels.partial import PartialLabels

__all__ = ["Cost", "Line", "Prices", "Rate", "cost", "presets", "prices"]

IMAGES, ASSURANCE, SET_UP = "images", "quality assurance", "set-up"


@dataclass(frozen=True)
class Line:
    """One kind of question on the bill; seconds and dollars of all people together.

    questions  how many were asked; for "images" how many were loaded; 0 for "quality assurance" and
               "set-up".
    pages, page, images  where the price is by the page: how many pages each person went through,
               for how many questions one has room, and how many images they show; else None.
    """

    kind: str
    questions: int
    seconds: float | None
    dollars: float
    source: str
    pages: int | None = None
    page: int | None = None
    images: int | None = None

    @property
    def full(self) -> float | None:
        """The share of the room on all pages that questions took; None without pages."""
        return self.questions / (self.pages * self.page) if self.pages and self.page else None


@dataclass(frozen=True)
class Cost:
    """The bill. `seconds` is None where the time of any line is not known.

    dropped, dropped_dollars  answers that were paid for and not kept, and what they cost with their
             share of quality assurance, at the mean price of a question of their kind; part of
             `dollars`.
    """

    seconds: float | None
    dollars: float
    lines: tuple[Line, ...]
    workers: int
    prices: str
    dropped: int = 0
    dropped_dollars: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        lines = [{**vars(line), "full": line.full} for line in self.lines]
        return {**vars(self), "lines": lines}


def cost(labels: PartialLabels | Effort, prices: Prices | str = DEFAULT) -> Cost:
    """What the questions behind these labels cost by this price list, or its name.

    One line for each kind of question; then, where the list has a price for them, "images" (an
    image is loaded for each kind of question about it, and for each look of a search), "quality
    assurance" (a share of what the questions cost) and "set-up" (once, if anything was asked).
    More questions never cost less. Without a list it is "hourly". Raises BadInput when the list has
    no price for a kind of question that was asked.
    """
    listed = _named(prices)
    effort = labels if isinstance(labels, Effort) else labels.effort
    classes = len(effort.looks)  # those asked about: a hierarchy may have added more since
    if not classes and not isinstance(labels, Effort):
        classes = labels.shape[1]
    workers = listed.workers if effort.workers is None else effort.workers
    asked = tuple(_line(effort, kind, listed, workers) for kind in effort.kinds())
    lines = (*asked, *_extras(effort, asked, listed, workers, classes)) if asked else ()
    dollars = _clean(math.fsum(line.dollars for line in lines))
    lost = _lost(effort, asked, listed)
    count = sum(effort.dropped.values())
    return Cost(_seconds(lines), dollars, lines, workers, listed.name, count, lost)


def _named(given: Prices | str) -> Prices:
    return given if isinstance(given, Prices) else prices(given)


def _line(effort: Effort, kind: str, listed: Prices, workers: int) -> Line:
    rate = listed.rates.get(kind)
    if rate is None:
        raise BadInput(
            f"price list {listed.name!r} has no price for {kind!r}; add a table [{kind}]"
        )
    units = rate.units(effort, kind)
    seconds, dollars = _amounts(rate, units * workers, listed)
    questions = effort.count(kind)
    if rate.per != "page":
        return Line(kind, questions, seconds, dollars, rate.source)
    images = effort.images(kind)
    return Line(kind, questions, seconds, dollars, rate.source, units, rate.page, images)


def _amounts(rate: Rate, units: int, listed: Prices) -> tuple[float | None, float]:
    seconds = None if rate.seconds is None else _clean(units * rate.seconds)
    if rate.dollars is not None:
        return seconds, _clean(units * rate.dollars)
    assert seconds is not None and listed.wage is not None
    return seconds, _clean(seconds * listed.wage / 3600)


def _extras(
    effort: Effort, asked: tuple[Line, ...], listed: Prices, workers: int, classes: int
) -> Iterator[Line]:
    """What is paid for besides the questions."""
    if listed.image is not None:
        loaded = sum(
            effort.count(line.kind) if line.kind == "search" else effort.images(line.kind)
            for line in asked
        )
        yield Line(
            IMAGES, loaded, *_amounts(listed.image, loaded * workers, listed), listed.image.source
        )
    if listed.qa:
        seconds = _seconds(asked)
        more = _clean(listed.qa * math.fsum(line.dollars for line in asked))
        longer = None if seconds is None else _clean(listed.qa * seconds)
        yield Line(ASSURANCE, 0, longer, more, listed.qa_source)
    once = _clean(listed.setup + listed.setup_class * classes)
    if once:
        yield Line(SET_UP, 0, 0.0, once, listed.setup_source)  # nobody answers in this time


def _lost(effort: Effort, asked: tuple[Line, ...], listed: Prices) -> float:
    """Dollars for the answers that were dropped, at the mean price of questions of their kind."""
    lost = (
        line.dollars * min(1.0, effort.dropped.get(line.kind, 0) / line.questions) for line in asked
    )
    return _clean(math.fsum(lost) * (1 + listed.qa))


def _seconds(lines: tuple[Line, ...]) -> float | None:
    known = [line.seconds for line in lines if line.seconds is not None]
    return _clean(math.fsum(known)) if len(known) == len(lines) else None


def _clean(amount: float) -> float:
    """Without the noise of binary fractions: 200 looks at $0.035 are $7, not a hair more."""
    return round(amount, 9)
