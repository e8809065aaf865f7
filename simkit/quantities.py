"""Parsing of dollars, counts, shares and scores, from Python values or text; printing of times."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

from simkit.errors import BadInput

# Thousands may be grouped, always by the same mark, as in 2,000 or 2 000 or 2_000.
_TYPED = re.compile(
    r"(?P<dollar>\$?)\s*"
    r"(?P<whole>[1-9][0-9]{0,2}([, _\u00a0\u202f])[0-9]{3}(?:\3[0-9]{3})*"
    r"|0|[1-9][0-9]*|(?=\.[0-9]))"
    r"(?P<rest>(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,2})?)"
    r"\s*(?P<unit>[km%]?)\s*(?P<after>\$?)",
    re.IGNORECASE,
)
_TIMES = {"k": 1000, "m": 1_000_000, "%": 1}
_OTHER_LOCALE = re.compile(r"[1-9][0-9]{0,2}(\.000)+")  # 2.000 is 2 here and 2,000 elsewhere
# So is 1.299 as an amount of money.
_GROUPED = re.compile(r"\$?\s*([1-9][0-9]{0,2})\.([0-9]{3})\s*\$?")
_FOREIGN = re.compile(  # 15,50 and 15.50 EUR, but not 2,5k
    r"[^0-9.,%-]*([0-9]+(?:[.,][0-9]{1,2})?)\s*(?![km%c])[^0-9%]*", re.IGNORECASE
)
_COMMAS = "commas separate thousands (2,000) and points decimals (2.5)"
_SHELL = "shells expand $, so leave it out or put the amount in single quotes"
_MOST = 1e15


def dollars(value: Any, name: str, *, hourly: bool = False) -> float:
    """An amount of money of at least 0, or a wage above 0.

    Parameters
    ----------
    value : number or str
        Dollars, such as 2000, "2000", "$2,000", "2 000", "2k", "$2.5k" or "1.2M".
    name : str
        Field or option, for the error message.
    hourly : bool
        Whether the amount is a wage.

    Returns
    -------
    float
        Dollars.

    Raises
    ------
    BadInput
        For other values, among them "2,5" and "1.299", which differ between countries.
    """
    number, marks = _read(value)
    text, expected = str(value).strip(), "dollars, 0 or more, are expected"
    usual = "2000, 2,000 or 2k"
    if hourly:
        expected, usual = "dollars an hour above 0 are expected", "15 or 15.50"
    if grouped := isinstance(value, str) and _GROUPED.fullmatch(text):
        whole, rest = grouped.groups()
        mend = f"write {whole},{rest} or {whole}.{rest}0, whichever is meant"
        raise _refused(value, name, expected, mend)
    # The rest of "$2.5k" and "$2,000" after expansion by a shell.
    expanded = isinstance(value, str) and re.match(r"[.,]|00", text) is not None
    if not expanded and marks <= set("$km") and 0 <= number <= _MOST and (number or not hourly):
        return number
    mend = f"{_SHELL}, as in {usual}" if expanded else f"write {usual}"
    foreign = isinstance(value, str) and not expanded and number and _FOREIGN.fullmatch(text)
    if foreign:
        mend = f"write {foreign[1].replace(',', '.')}, if these are dollars"
    raise _refused(value, name, expected, mend)


def count(value: Any, name: str, *, least: int = 1) -> int:
    """A whole number of at least 1, or of at least `least`.

    Parameters
    ----------
    value : number or str
        Such as 10000, 10_000.0, "10,000" or "10k".
    name : str
        Field or option, for the error message.
    least : int
        The smallest number.

    Returns
    -------
    int

    Raises
    ------
    BadInput
        For other values.
    """
    number, marks = _read(value)
    if marks <= set("km") and least <= number <= _MOST and number.is_integer():
        return int(number)
    raise _refused(
        value, name, f"a whole number, {least} or more, is expected", "write 10000, 10,000 or 10k"
    )


def rates(value: Any, name: str) -> tuple[float, float]:
    """Error rates of annotators: shares of present classes missed and of absent ones reported.

    Parameters
    ----------
    value : number, str or pair of these
        Such as (0.03, 0.002), "3%,0.2%", or one number for both, such as 0.03, "3%" or 0.
    name : str
        Field or option, for the error message.

    Returns
    -------
    (float, float)
        Each 0 or more, with a sum below 1.

    Raises
    ------
    BadInput
        For other values.
    """
    parts = value.split(",") if isinstance(value, str) else value
    parts = list(parts) if isinstance(parts, list | tuple) else [parts]
    wanted = "one or two shares are expected, of classes missed and of classes reported"
    mend = "write 3%,0.2% or 0.03,0.002"
    read = [_read(part) for part in parts]
    shares = [number / 100 if "%" in marks else number for number, marks in read]
    fine = len(parts) in (1, 2) and all(marks <= set("%") for _, marks in read)
    if not (fine and all(part >= 0 for part in shares)):  # or nan
        raise _refused(value, name, wanted, mend)
    if shares[0] + shares[-1] >= 1:
        wanted = (
            "shares are expected that add up to less than 100% (a single one counts for both), as "
            "answers with these rates are no better than guesses"
        )
        raise _refused(value, name, wanted, mend)
    return shares[0], shares[-1]


def spelled_rates(errors: tuple[float, float]) -> str:
    """The text that `rates` reads, such as 3%,0.2%."""
    return ",".join(f"{100 * rate:.6g}%" for rate in errors)


def share(value: Any, name: str) -> float:
    """A part of the whole, above 0 and up to 1.

    Parameters
    ----------
    value : number or str
        Such as 0.05, "0.05", "5%" or "5 %".
    name : str
        Field or option, for the error message.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    BadInput
        For other values, including numbers above 1 without %.
    """
    number, marks = _read(value)
    part = number / 100 if "%" in marks else number
    if marks <= set("%") and 0 < part <= 1:
        return part
    percent = number if not marks and 1 < number <= 100 else 5
    mend = f"write {percent:g}% or {percent / 100:g}"
    raise _refused(value, name, "a share above 0 and up to 1 is expected", mend)


def score(value: Any, name: str) -> float:
    """A mAP, above 0 and below 1.

    Parameters
    ----------
    value : number or str
        As a share (0.6, "0.6") or in points (60, "60", "60%"): above 1 it is in points.
    name : str
        Field or option, for the error message.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    BadInput
        For other values, including 1, which is ambiguous.
    """
    number, marks = _read(value)
    part = number / 100 if "%" in marks or number > 1 else number
    if marks <= set("%") and 0 < part < 1:
        return part
    raise _refused(
        value, name, "a mAP above 0 and below 1, or 100 points, is expected", "write 60% or 0.6"
    )


def duration(seconds: float | None) -> str:
    """Seconds as text, in hours, minutes or seconds."""
    if seconds is None:
        return "time unknown"
    if seconds >= 3600:
        return f"{seconds / 3600:,.1f} hours"
    return f"{seconds / 60:,.1f} minutes" if seconds >= 60 else f"{seconds:,.1f} seconds"


def numbered(number: float, noun: str) -> str:
    """A whole number with its noun, such as 1 image or 2,000 images."""
    return f"{number:,.0f} {noun}{'' if round(number) == 1 else 's'}"


def today() -> date:
    """The day; SOURCE_DATE_EPOCH fixes it, for files that are the same every day."""
    now = os.environ.get("SOURCE_DATE_EPOCH")
    return date.today() if now is None else datetime.fromtimestamp(int(now), UTC).date()


def money(dollars: float) -> str:
    """A sum with few digits: $0.75, $12, $1,250; only sums below $10 have cents."""
    dollars = round(dollars, 2)
    cents = dollars < 10 and dollars != round(dollars)
    return f"${dollars:,.2f}" if cents else f"${dollars:,.0f}"


def percent(share: float) -> str:
    """A share of the whole: 15 %, or less than 1 %."""
    return "less than 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def points(value: float) -> str:
    """A share, such as mAP, in points with one decimal; "none" for nan."""
    return "none" if math.isnan(value) else f"{100 * value:.1f}"


def points_apart(one: float, other: float) -> float:
    """The difference of two shares as `points` prints them, in points."""
    return round(float(points(one)) - float(points(other)), 1)


def two_digits(number: float) -> str:
    """A number of at least two digits: 1,250, 12, 1.2."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def short_money(dollars: float) -> str:
    """A sum of up to 3 digits, as on an axis: $0.75, $12, $1.25k, $3M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if dollars >= size:
            return f"${dollars / size:.3g}{letter}"
    return f"${dollars:.3g}"


def exact_money(dollars: float, *, sign: str = "$") -> str:
    """A sum to the cent, and whole dollars without cents: $0, $12.50, $1,250.

    sign: "" for a column that names it, where all sums have cents.
    """
    text = f"{sign}{dollars:,.2f}"
    return text.removesuffix(".00") if sign else text


def in_cents(amounts: Iterable[float]) -> list[float]:
    """Dollars in whole cents that add up to the rounded sum.

    Each is rounded to the nearest cent, so that it reads the same in every bill; the largest that
    are not whole cents are adjusted by one cent where the sum needs it.
    """
    exact = list(amounts)
    cents = [round(100 * round(each, 2)) for each in exact]
    lacking = round(100 * round(math.fsum(exact), 2)) - sum(cents)
    off = [abs(each - cent / 100) > 1e-9 for each, cent in zip(exact, cents, strict=True)]
    largest = sorted(range(len(exact)), key=lambda place: (not off[place], -exact[place]))
    for place in largest[: abs(lacking)]:
        cents[place] += 1 if lacking > 0 else -1
    return [each / 100 for each in cents]


def _read(value: Any) -> tuple[float, set[str]]:
    """The number, or nan, and the marks ($ k m %) beside it."""
    if isinstance(value, str):
        typed = _TYPED.fullmatch(value.strip())
        if typed is None or _OTHER_LOCALE.fullmatch(value.strip(" $kKmM")):
            return math.nan, set()
        digits = re.sub(r"[^0-9]", "", typed["whole"]) + typed["rest"]
        unit = typed["unit"].lower()
        number = Decimal(digits) * _TIMES.get(unit, 1)  # as a float 2.3k would be 2299.9...
        return float(number), {mark for mark in (typed["dollar"], unit, typed["after"]) if mark}
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            return float(value), set()
        except OverflowError:
            pass
    return math.nan, set()


def _refused(value: Any, name: str, expected: str, mend: str) -> BadInput:
    if isinstance(value, str) and re.search(r"[0-9][.,][0-9]", value):
        mend += f"; {_COMMAS}"
    return BadInput(f"{name} is {value!r}; {expected}: {mend}")
