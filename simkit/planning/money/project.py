"""What somebody has and wants who is about to buy labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simkit.annotate.prices import Prices
from simkit.annotate.prices import prices as price_list
from simkit.errors import BadInput

ROUNDS = 10  # of buying, at most
MOST = 1e12  # of dollars, hours and images: more is a slip of the keyboard


@dataclass(frozen=True)
class Project:
    """A budget, the images there are, and what things cost.

    budget   dollars for everything;  target  mAP to reach, 0 to 1 (above 1 it is taken for points,
             and a hundredth of it is kept); None: as much as possible.
    images   that exist to be labelled for training, besides those of validation and test; None: as
             many as wanted.
    prices   a price list, its name, or its TOML file;  image_price  dollars to obtain one image.
    precision  points to which a test set of its own is to tell mAP (95 %); None: there is one.
    shares   (L,) of images that show each class, by which the test set is sized; None: the pilot's.
    validation_images  labelled completely, besides those to train on.
    gpu_price  dollars an hour;  gpu_hours  for everything that is trained; None: a training after
             each of the rounds in which labels are bought, as long as the longest of the pilot.

    Raises BadInput that names the field.
    """

    budget: float
    images: int | None = None
    target: float | None = None
    prices: Prices = "coco-tagging"  # type: ignore[assignment]  # names are looked up
    image_price: float = 0.0
    precision: float | None = None
    shares: tuple[float, ...] | None = None
    validation_images: int = 0
    gpu_price: float = 0.0
    gpu_hours: float | None = None
    rounds: int = 1

    def __post_init__(self) -> None:
        if type(self.rounds) is not int or not 1 <= self.rounds <= ROUNDS:
            wanted = f"a whole number from 1 to {ROUNDS} is expected"
            raise BadInput(f"rounds is {self.rounds!r}; {wanted}")
        _number("budget", self.budget, "dollars above 0 are", lambda x: 0 < x <= MOST)
        if self.images is not None:
            _whole("images", self.images, least=1, most=int(MOST))
        if self.target is not None:
            wanted = "a mAP above 0 and below 1, such as 0.6, or its points, such as 60, is"
            _number("target", self.target, wanted, lambda x: 0 < x < 100 and x != 1)
            share = self.target / 100 if self.target > 1 else self.target
            object.__setattr__(self, "target", share)
        for name in ("image_price", "gpu_price"):
            _number(name, getattr(self, name), "dollars from 0 on are", lambda x: 0 <= x <= MOST)
        if self.precision is not None:
            wanted = "points of mAP above 0 and below 100 are"
            _number("precision", self.precision, wanted, lambda x: 0 < x < 100)
        _whole("validation_images", self.validation_images, least=0, most=int(MOST))
        if self.gpu_hours is not None:
            _number("gpu_hours", self.gpu_hours, "hours from 0 on are", lambda x: 0 <= x <= MOST)
        object.__setattr__(self, "prices", _listed(self.prices))
        if self.shares is not None:
            object.__setattr__(self, "shares", _shares(self.shares))


def _number(name: str, value: Any, wanted: str, fine: Callable[[float], bool]) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not fine(value):
        raise BadInput(f"{name} is {value!r}; {wanted} expected")


def _whole(name: str, value: Any, *, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        end = "on" if type(value) is not int or value < least else f"to {most:,}"
        raise BadInput(f"{name} is {value!r}; a whole number from {least} {end} is expected")


def _listed(given: Any) -> Prices:
    if isinstance(given, Prices):
        return given
    if isinstance(given, int | float):
        raise BadInput(
            f"prices is {given!r}, a number without a unit; give the name of a price list such as "
            "coco-tagging, or a TOML file that says what a question, a page or an image costs"
        )
    return price_list(given)


def _shares(given: Any) -> tuple[float, ...]:
    try:
        values = tuple(float(value) for value in given)
    except (TypeError, ValueError):
        values = ()
    if not values or not all(0 <= value <= 1 for value in values):
        raise BadInput(
            "shares must hold one number from 0 to 1 for each class: the share of images that "
            "show it"
        )
    return values
