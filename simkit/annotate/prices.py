"""Price lists, and the bill of the questions behind labels in seconds and dollars."""

from __future__ import annotations

import math
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from importlib import resources
from typing import Annotated, Any, Literal

import numpy as np

from simkit import quantities
from simkit.errors import BadInput, located, noting, unknown
from simkit.files import AnyPath, reading
from simkit.labels.cells import parse_number, parse_seconds
from simkit.labels.effort import QUESTIONS, Effort
from simkit.labels.partial import PartialLabels
from simkit.registry import Range, build, settle

DEFAULT = "hourly"  # of a bill and of a plan
IMAGES, ASSURANCE, MACHINE, SET_UP = "images", "quality assurance", "machine", "set-up"
MOST = 10**9  # of seconds, dollars, people
SLOWEST = 120.0  # seconds that people take for a question about a class, at most
_DEAREST = 500.0  # dollars an hour
AT_WAGE = ":wage="  # in the name of a list at another wage
BY_USER = "set by the user"  # source of a wage that replaces that of a price list
_MONEY = ("wage", "setup", "setup_class", "machine", "dollars")
_POINT = 'numbers have a decimal point, as in 15.5, and text is in quotation marks, as in "page"'
Amount = Annotated[float, Range(0, MOST)]


@dataclass(frozen=True)
class Rate:
    """The price of one person's work on one kind of question.

    per      "question", "image" (all questions of this kind about an image at once) or "page" (up
             to `page` questions about an image at once).
    seconds, dollars   per unit; None: unknown. At least one of them is given.
    source   source of the number, or "assumption: ..." with the reasoning.

    Questions of different kinds about the same image never share a page: annotators answer them in
    different tools.
    """

    per: Literal["question", "page", "image"]
    seconds: Amount | None = None
    dollars: Amount | None = None
    source: str = ""
    page: Annotated[int, Range(0, MOST)] = 0

    def __post_init__(self) -> None:
        settle(self, "price")

    def units(self, effort: Effort, kind: str) -> int:
        """The number of units of work in the questions of this kind."""
        if self.per == "question":
            return effort.count(kind)
        if self.per == "image":
            return effort.images(kind)
        histogram = effort.questions.get(kind, np.zeros(1, np.int64))
        return int(histogram @ -(-np.arange(len(histogram)) // self.page))


@dataclass(frozen=True)
class Prices:
    """A price list: rates by kind of question, people per question, wage in dollars an hour.

    workers      people per question, where the effort does not say how many answered.
    setup        dollars for a project, once anything is asked;  setup_class  dollars for a class.
    qa           quality assurance, management and rework, as a share of the cost of the questions.
    image        the price of loading one image for one person; None: nothing.
    machine      dollars for a machine's scores of one image.
    as_of        year, or year-month-day, of its sources;  ended  why nobody sells at these prices
                 any more, "" if somebody does.
    Each number has a text with its source.
    """

    name: str
    title: str
    workers: Annotated[int, Range(1, MOST)]
    rates: Mapping[str, Rate]
    wage: Amount | None = None
    workers_source: str = ""
    wage_source: str = ""
    setup: Amount = 0.0
    setup_class: Amount = 0.0
    setup_source: str = ""
    # More than 5 is a percentage that was meant as a share.
    qa: Annotated[float, Range(0, 5)] = 0.0
    qa_source: str = ""
    image: Rate | None = None
    machine: Amount = 0.0015
    machine_source: str = "Google Cloud Vision, label detection: $1.50 for 1,000 images (2026)"
    as_of: str = ""
    ended: str = ""

    def __post_init__(self) -> None:
        settle(self, "price list")
        if self.wage == 0:
            raise BadInput("wage is 0; dollars an hour above 0 are expected, such as 15")
        if not self.rates:
            raise BadInput("no kind of question has a price; add a table such as [verify]")
        try:
            date.fromisoformat(f"{self.as_of}-01-01" if len(self.as_of) == 4 else self.as_of)
        except ValueError:
            if self.as_of:
                raise BadInput(
                    f"as_of is {self.as_of!r}; a year such as 2026 or a date such as 2026-07-30 is "
                    "expected"
                ) from None
        for kind, rate in self.all_rates.items():
            only = {"search": "question", "image": "image"}.get(kind, rate.per)
            if rate.per != only:
                raise BadInput(
                    f"{kind}: per is {rate.per!r}; looks and loaded images are counted one by "
                    f'one, so write per = "{only}"'
                )
            free = rate.dollars is None and (rate.seconds is None or self.wage is None)
            if free or (rate.per == "page" and not rate.page):
                raise BadInput(
                    f"{kind}: the price is {rate.dollars} dollars, {rate.seconds} seconds at a "
                    f"wage of {self.wage} for a {rate.per} of {rate.page}; give dollars, or "
                    "seconds and a wage for the list, and the questions on a page"
                )

    @property
    def all_rates(self) -> dict[str, Rate]:
        """The rates, with that of loading an image."""
        return {**self.rates, **({"image": self.image} if self.image else {})}

    def once_set_up(self) -> Prices:
        """The same list without set-up, for later purchases."""
        return replace(self, setup=0.0, setup_class=0.0)

    def at_wage(self, wage: float | str) -> Prices:
        """The same list at another wage.

        Parameters
        ----------
        wage : float or str
            Dollars an hour, as `simkit.quantities.dollars` reads them.

        Returns
        -------
        Prices

        Raises
        ------
        BadInput
            For a wage of 0 or none at all, and where a price of the list is in dollars, which no
            wage changes.
        """
        hourly = quantities.dollars(wage, "wage", hourly=True)
        priced = [kind for kind, rate in self.all_rates.items() if rate.dollars is not None]
        if priced:
            raise BadInput(
                f"price list {self.name!r} has prices in dollars, not in seconds "
                f"({', '.join(priced)}), so a wage does not change it; leave the wage out, or take "
                "a list of seconds such as hourly"
            )
        return replace(self, wage=hourly, wage_source=BY_USER)

    def _repr_html_(self) -> str:
        from pandas import DataFrame

        rows = [{"question": kind, **vars(rate)} for kind, rate in self.all_rates.items()]
        return DataFrame(rows).to_html(index=False, border=0, na_rep="")


@dataclass(frozen=True)
class BillItem:
    """One kind of question on the bill; seconds and dollars of all people together.

    Attributes
    ----------
    questions : int
        Number of questions; for "images" that of loaded images; 0 for "quality assurance" and
        "set-up".
    pages, page, images : int or None
        For prices by the page: number of pages for each person, questions that fit on one page,
        and images on these pages.
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
        """Share of the places on all pages that questions fill; None without pages."""
        return self.questions / (self.pages * self.page) if self.pages and self.page else None


@dataclass(frozen=True)
class Cost:
    """The bill. `seconds` is None where the time of any line is not known.

    dropped, dropped_dollars  answers that were paid for and not kept, and their cost with its share
             of quality assurance, at the mean price of a question of their kind; part of
             `dollars`.
    """

    seconds: float | None
    dollars: float
    lines: tuple[BillItem, ...]
    workers: int
    prices: str
    dropped: int = 0
    dropped_dollars: float = 0.0

    def __str__(self) -> str:
        *lines, (*_, total) = self.rows()
        parts = ", ".join(f"{kind} ${dollars}" for kind, _, _, dollars in lines)
        return f"${total} at {self.prices} prices, {self.people}{parts and f': {parts}'}"

    @property
    def people(self) -> str:
        """How many people answer each question."""
        if self.workers == 1:
            return "1 person for each question"
        return f"{self.workers} people for each question, their hours added"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        lines = [{**vars(line), "full": line.full} for line in self.lines]
        return {**vars(self), "lines": lines}

    def _repr_html_(self) -> str:
        from pandas import DataFrame

        columns = ["question", "asked", "hours", "dollars"]
        rows = [*self.rows()]
        rows[-1] = (f"total at {self.prices} prices", *rows[-1][1:])
        return DataFrame(rows, columns=columns).to_html(index=False, border=0)

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Kind, questions, hours and dollars of each line and of the total, as text.

        Dollars add up to the cent.
        """
        cents = quantities.in_cents(line.dollars for line in self.lines)
        lines = (*self.lines, BillItem("total", 0, self.seconds, self.dollars, ""))
        for line, dollars in zip(lines, (*cents, self.dollars), strict=True):
            hours = "unknown" if line.seconds is None else f"{line.seconds / 3600:,.2f}"
            asked = f"{line.questions:,}" if line.questions else ""
            yield line.kind, asked, hours, quantities.exact_money(dollars, sign="")


def presets() -> list[str]:
    """Names of the price lists that come with simkit, the default one first."""
    return sorted(_shipped(), key=lambda name: (name != DEFAULT, name))


def prices(name: Prices | AnyPath) -> Prices:
    """A price list by name or from a file.

    Parameters
    ----------
    name : str, path or Prices
        A shipped list, or the path of a TOML file, which ends in .toml: title, workers, wage,
        set-up and quality assurance, a table for each kind of question and one for loading an
        image, as prices.toml shows; `like = "google"` takes over what the file leaves out from
        that preset. `hourly:wage=22` is a list at another wage. A list is returned as it is.

    Returns
    -------
    Prices

    Warns
    -----
    UserWarning
        If the list is historical.

    Raises
    ------
    BadInput
        Naming file, field and mend.
    """
    if isinstance(name, Prices):
        return name
    text = str(name)
    usual, at, wage = text.partition(AT_WAGE)
    if at:
        return replace(prices(usual).at_wage(wage), name=text)
    if text.lower() in _shipped():
        listed = preset(text.lower())
    elif text.lower().endswith(".toml"):
        with reading(name, "prices (TOML)", f"correct it: {_POINT}") as path:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
            listed = _from_tables(values, path.stem, str(path))
        _note_large(listed, text)
    else:
        file = "; a list of your own is a TOML file, such as prices.toml" * ("." in text)
        raise BadInput(f"{unknown('price list', text, _shipped())}{file}")
    if listed.ended:
        # One place for all callers, so that it is said once.
        warnings.warn(f"the prices {listed.name!r} are historical: {listed.ended}", stacklevel=1)
    return listed


def _note_large(listed: Prices, file: str) -> None:
    """A note about amounts in a file that are probably of another unit."""
    large = [
        (kind, f"{rate.seconds:,.10g} seconds for a question", rate.seconds / 1000, "milliseconds")
        for kind, rate in listed.rates.items()
        if rate.per == "question" and rate.seconds and rate.seconds > SLOWEST
    ]
    if listed.wage and listed.wage > _DEAREST:
        large.append(("wage", f"${listed.wage:,.10g} an hour", listed.wage / 100, "cents"))
    if large:
        field, amount, less, unit = large[0]
        noting(file)(f"{field} is {amount}; write {less:g} if these are {unit}")


def _typed(key: str, value: Any) -> Any:
    """An amount that is written as text, such as "$15", "1.8 s" or "40%", as a number.

    Other values are returned as they are. Raises BadInput.
    """
    if not isinstance(value, str):
        return value
    if key in _MONEY:
        return quantities.dollars(value, key, hourly=key == "wage")
    try:
        if key == "seconds":
            return parse_seconds(value.strip())
        return parse_number(value.strip()) if key == "qa" else value
    except ValueError:
        raise BadInput(f"{key} is {value!r}; {_POINT}") from None


def preset(name: str) -> Prices:
    """A shipped list, without the warning of `prices`."""
    return _from_tables(_shipped()[name], name, "prices.toml")


@lru_cache
def _shipped() -> dict[str, dict[str, Any]]:
    text = resources.files("simkit.annotate").joinpath("prices.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _from_tables(values: dict[str, Any], name: str, where: str) -> Prices:
    """A list from the tables of a file called `where`."""
    with located(where):
        if "like" in values:
            changes = {key: value for key, value in values.items() if key != "like"}
            like, at, wage = str(values["like"]).lower().partition(AT_WAGE)
            if at:
                changes.setdefault("wage", wage)
            if like not in _shipped():
                raise BadInput(f"like: {unknown('price list', like, _shipped())}")
            # The preset's source does not apply to changed numbers, nor its date to new prices.
            stale = {f"{key}_source".replace("setup_class", "setup") for key in changes}
            if changes.keys() & {*QUESTIONS, "wage"}:
                stale |= {"as_of", "ended"}
            preset = {key: value for key, value in _shipped()[like].items() if key not in stale}
            values = preset | changes
        fields = [key for key in Prices.__dataclass_fields__ if key not in ("name", "rates")]
        for key in values:
            if key not in (*fields, *QUESTIONS):
                raise unknown("field or kind of question", key, (*fields, *QUESTIONS))
        rates = {}
        for kind in (kind for kind in (*QUESTIONS, "image") if kind in values):
            table = values[kind]
            if isinstance(table, Mapping) and kind == "image":
                table = {"per": "image", **table}
            if not isinstance(table, Mapping) or "per" not in table:
                raise BadInput(
                    f"{kind} is {table!r}; a table [{kind}] with per (question, page or image) and "
                    "seconds or dollars is expected"
                )
            with located(kind):
                amounts = {key: _typed(key, value) for key, value in table.items()}
                rates[kind] = build(Rate, amounts, "price")
        head = {key: _typed(key, value) for key, value in values.items() if key not in rates}
        head = {"title": name, "workers": 1, **head, "name": name}
        head |= {"image": rates.pop("image", None), "rates": rates}
        head["as_of"] = str(head.get("as_of", ""))  # TOML may give a number or a date
        return build(Prices, head, "price list")


def cost(labels: PartialLabels | Effort, prices: Prices | str = DEFAULT) -> Cost:
    """The cost of the questions behind labels.

    Parameters
    ----------
    labels : PartialLabels or Effort
        The labels, or the questions asked for them.
    prices : Prices or str
        The price list, its name or file; "hourly" by default.

    Returns
    -------
    Cost
        One line for each kind of question; then, where the list has a price for them, "images" (an
        image is loaded for each kind of question about it, and for each look of a search), "quality
        assurance" (a share of the cost of the questions), "machine" (for the images that a machine
        scored) and "set-up" (once, if anything was asked). More questions never cost less.

    Raises
    ------
    BadInput
        If the list has no price for a question kind of the labels, or the labels do not record
        their questions.
    """
    listed = _listed(prices)
    if not hasattr(labels, "effort") and not isinstance(labels, Effort):
        raise BadInput(f"a {type(labels).__name__} holds no questions; give simulated labels")
    effort = labels if isinstance(labels, Effort) else labels.effort
    bought = isinstance(labels, Effort) or not labels.codes.nnz or effort.machine
    if not (bought or effort.kinds()):
        raise BadInput(
            "these labels do not record their questions, so they have no price; give labels from "
            "simkit.simulate, or the parquet or npz file that `simkit simulate` wrote"
        )
    classes = len(effort.looks)  # those asked about: a hierarchy may have added more since
    if not classes and not isinstance(labels, Effort):
        classes = labels.shape[1]
    workers = listed.workers if effort.workers is None else effort.workers
    lines = []
    for kind in effort.kinds():
        rate = listed.rates.get(kind)
        if rate is None:
            raise BadInput(
                f"price list {listed.name!r} has no price for {kind!r}; add a table [{kind}], or "
                'like = "hourly" for all missing prices'
            )
        units = rate.units(effort, kind)
        amounts = _amounts(rate, units * workers, listed)
        pages = (units, rate.page, effort.images(kind)) if rate.per == "page" else ()
        lines.append(BillItem(kind, effort.count(kind), *amounts, rate.source, *pages))
    asked = tuple(lines)
    # An answer that was dropped cost as much as the mean question of its kind.
    dropped = math.fsum(
        line.dollars * min(1.0, effort.dropped.get(line.kind, 0) / line.questions) for line in asked
    )
    once = _clean(listed.setup + listed.setup_class * classes)
    anything = asked or effort.machine
    if anything and listed.image is not None:
        loaded = sum(
            line.questions if line.kind == "search" else effort.images(line.kind) for line in asked
        )
        amounts = _amounts(listed.image, loaded * workers, listed)
        lines.append(BillItem(IMAGES, loaded, *amounts, listed.image.source))
    if anything and listed.qa:
        seconds = _seconds(asked)
        dollars = _clean(listed.qa * math.fsum(line.dollars for line in asked))
        longer = None if seconds is None else _clean(listed.qa * seconds)
        lines.append(BillItem(ASSURANCE, 0, longer, dollars, listed.qa_source))
    if effort.machine:
        dollars = _clean(effort.machine * listed.machine)
        lines.append(BillItem(MACHINE, effort.machine, 0.0, dollars, listed.machine_source))
    if anything and once:
        lines.append(BillItem(SET_UP, 0, 0.0, once, listed.setup_source))  # takes no time
    return Cost(
        seconds=_seconds(tuple(lines)),
        dollars=_clean(math.fsum(line.dollars for line in lines)),
        lines=tuple(lines),
        workers=workers,
        prices=listed.name,
        dropped=sum(effort.dropped.values()),
        dropped_dollars=_clean(dropped * (1 + listed.qa)),
    )


_listed = prices  # `cost` has an argument of this name


def _amounts(rate: Rate, units: int, listed: Prices) -> tuple[float | None, float]:
    seconds = None if rate.seconds is None else _clean(units * rate.seconds)
    if rate.dollars is not None:
        return seconds, _clean(units * rate.dollars)
    assert seconds is not None and listed.wage is not None
    return seconds, _clean(seconds * listed.wage / 3600)


def _seconds(lines: tuple[BillItem, ...]) -> float | None:
    seconds = [line.seconds for line in lines if line.seconds is not None]
    return _clean(math.fsum(seconds)) if len(seconds) == len(lines) else None


def _clean(amount: float) -> float:
    """Rounded, without errors of binary fractions: 200 looks at $0.035 are exactly $7."""
    return round(amount, 9)
