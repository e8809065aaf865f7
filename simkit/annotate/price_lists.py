"""Price lists: those that come with simkit, and those in files of one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

from simkit.annotate.rates import UNITS, Prices, Rate
from simkit.errors import BadInput, unknown
from simkit.files import readable
from simkit.labels.effort import QUESTIONS

_SOURCES = ("workers_source", "wage_source", "setup_source", "qa_source")
_HEAD = ("title", "workers", "wage", "setup", "setup_class", "qa", *_SOURCES)
_RATE = ("per", "page", "seconds", "dollars", "source")
DEFAULT = "hourly"  # of a bill and of a plan
MOST = 10**9  # seconds, dollars, people, questions on a page: whatever stands in a list
MOST_ASSURANCE = 5.0  # more is a percentage that was meant as one
_LIKE = "like"  # another list, whose entries hold where a file has none of its own
_IMAGE = "image"  # the table of what loading an image costs


def presets() -> list[str]:
    """Names of the price lists that come with simkit, the default one first."""
    return sorted(_shipped(), key=lambda name: (name != DEFAULT, name))


def prices(name: str | PathLike[str]) -> Prices:
    """A shipped price list by name, or one from a TOML file: its path ends in .toml.

    A file holds title, workers, wage, set-up and quality assurance, a table for each kind of
    question and one for loading an image, as prices.toml shows; `like = "google"` takes over what
    it leaves out from that preset. Raises BadInput that names file, field and mend.
    """
    text = str(name)
    if text in _shipped():
        return _prices(_shipped()[text], text, f"prices.toml [{text}]")
    if not text.endswith(".toml"):
        raise unknown("price list", text, _shipped())
    path = readable(name, "prices (TOML)")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{path} cannot be read as TOML ({error}); mend that line") from None
    if _LIKE in values:
        values = _joined(values, str(path))
    return _prices(values, Path(text).stem, str(path))


def _joined(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What a file says, and what the preset that it is like says besides."""
    like = values[_LIKE]
    if like not in presets():
        raise BadInput(f"{where}: {_LIKE}: {unknown('price list', like, _shipped())}")
    preset, own = _shipped()[like], {k: v for k, v in values.items() if k != _LIKE}
    # A number of one's own does not come from the source of the preset's.
    stale = {f"{key}_source" for key in own} | ({"setup_source"} if "setup_class" in own else set())
    return {key: value for key, value in preset.items() if key not in stale} | own


@lru_cache
def _shipped() -> dict[str, dict[str, Any]]:
    text = resources.files("simkit.annotate").joinpath("prices.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _prices(values: Mapping[str, Any], name: str, where: str) -> Prices:
    known = (*_HEAD, _IMAGE, *QUESTIONS)
    for key in values:
        if key not in known:
            raise BadInput(f"{where}: {unknown('field or kind of question', key, known)}")
    wage = _number(values, "wage", where)
    workers = values.get("workers", 1)
    if type(workers) is not int or not 1 <= workers <= MOST:
        raise BadInput(
            f"{where}: workers is {workers!r}; a whole number from 1 to {MOST:,} is expected"
        )
    rates = {kind: _rate(values[kind], kind, wage, where) for kind in QUESTIONS if kind in values}
    if not rates:
        raise BadInput(f"{where}: no kind of question has a price; add a table such as [verify]")
    image = _rate(values[_IMAGE], _IMAGE, wage, where) if _IMAGE in values else None
    title = _text(values, "title", where) or name
    extras = {key: _number(values, key, where) or 0.0 for key in ("setup", "setup_class", "qa")}
    if extras["qa"] > MOST_ASSURANCE:
        raise BadInput(
            f"{where}: qa is {values['qa']!r}; a share of the price of the questions is expected, "
            "such as 0.4 for 40 % on top"
        )
    words = {key: _text(values, key, where) for key in _SOURCES}
    return Prices(name, title, workers, rates, wage, image=image, **extras, **words)  # type: ignore[arg-type]


def _rate(values: Any, kind: str, wage: float | None, where: str) -> Rate:
    where = f"{where}: {kind}"
    if not isinstance(values, Mapping):
        raise BadInput(
            f"{where} is {values!r}; a table [{kind}] with per and seconds or dollars is expected"
        )
    for key in values:
        if key not in _RATE:
            raise BadInput(f"{where}: {unknown('field', key, _RATE)}")
    per, page = _unit(values, kind, where)
    seconds, dollars = (_number(values, key, where) for key in ("seconds", "dollars"))
    if seconds is None and dollars is None:
        raise BadInput(f"{where}: neither seconds nor dollars is given; add one of them")
    if dollars is None and wage is None:
        raise BadInput(f"{where}: only seconds are given; add dollars here or wage for the list")
    return Rate(per, seconds, dollars, _text(values, "source", where), page)


def _unit(values: Mapping[str, Any], kind: str, where: str) -> tuple[str, int]:
    """By what a rate counts, and how many questions are on a page (0: it has none)."""
    per = values.get("per", "image" if kind == _IMAGE else None)
    if per not in UNITS:
        came = "is missing" if per is None else f"is {per!r}"
        raise BadInput(f"{where}: per {came}; it must be one of {', '.join(UNITS)}")
    only = {"search": "question", _IMAGE: "image"}.get(kind, per)
    if per != only:
        why = "looks are counted one by one" if kind == "search" else "images are loaded one by one"
        raise BadInput(f'{where}: per is {per!r}; {why}, so write per = "{only}"')
    page = values.get("page", 0)
    if per == "page" and (type(page) is not int or not 1 <= page <= MOST):
        raise BadInput(f"{where}: page is {page!r}; the number of questions on a page is expected")
    return per, page if per == "page" else 0


def _number(values: Mapping[str, Any], key: str, where: str) -> float | None:
    value = values.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
        raise BadInput(f"{where}: {key} is {value!r}; a number from 0 to {MOST:,} is expected")
    return float(value)


def _text(values: Mapping[str, Any], key: str, where: str) -> str:
    value = values.get(key, "")
    if not isinstance(value, str):
        raise BadInput(f"{where}: {key} is {value!r}; text is expected")
    return value
