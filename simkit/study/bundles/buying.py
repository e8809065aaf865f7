"""Buying the labels of a bundle: for training and, where asked for, for validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from simkit.annotate.budget import amount_for
from simkit.annotate.prices import Cost, Prices, cost
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.study.bundles.bundle import Bundle, Purchase
from simkit.study.material.material import Material

Limit = tuple[float, Literal["dollars", "seconds"]]


@dataclass(frozen=True, eq=False)
class Bought:
    """Labels to train on and, where they are paid for, to choose the epoch by.

    dollars and seconds are of both together; seconds is None where the time is not known.
    """

    train: PartialLabels
    dollars: float
    seconds: float | None
    validation: PartialLabels | None = None
    validation_dollars: float = 0.0


def buy(purchase: Purchase, bundle: Bundle, material: Material) -> Bought:
    """The labels of a purchase: for its dollars or hours, or for the amounts as written.

    Validation labels come out of the same budget and from the same people: all of the validation
    split ("complete"), or a part in proportion to its size, asked about by the scheme itself
    ("partial"). Raises BadInput where they would use it up.
    """
    held, bill = _validation(purchase, bundle, material)
    with _beside(purchase, bill):
        labels, main = _asked(purchase, bundle, material, "train", _left(purchase, bill))
    times = [one.seconds for one in (main, bill) if one]
    known = [seconds for seconds in times if seconds is not None]
    total = sum(known) if len(known) == len(times) else None
    price = bill.dollars if bill else 0.0
    return Bought(labels, main.dollars + price, total, held, price)


@contextmanager
def _beside(purchase: Purchase, bill: Cost | None) -> Iterator[None]:
    """What is warned of a budget says what validation labels took of it before."""
    limit = _limit(purchase)
    if limit is None or bill is None:
        yield
        return
    most, unit = limit
    told = (
        f"validation labels took {bill.dollars:,.2f} of {most:,.2f} dollars before"
        if unit == "dollars"
        else f"validation labels took {(bill.seconds or 0.0) / 3600:,.2f} of {most / 3600:g} hours "
        "before"
    )
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    for warning in heard:
        text = str(warning.message)
        more = f"; {told}" if " can spend " in text else ""
        warnings.warn(f"{text}{more}", warning.category, stacklevel=3)


def _limit(purchase: Purchase) -> Limit | None:
    """What may be spent, and in which unit; None for an amount as written."""
    if purchase.hours is not None:
        return 3600 * purchase.hours, "seconds"
    return None if purchase.budget is None else (purchase.budget, "dollars")


def _left(purchase: Purchase, bill: Cost | None) -> Limit | None:
    """What is left when the validation labels are paid for."""
    limit = _limit(purchase)
    if limit is None or bill is None:
        return limit
    most, unit = limit
    spent = bill.dollars if unit == "dollars" else bill.seconds
    if spent is None:
        raise BadInput(
            "budgets are in hours and the price list does not know the time of validation labels; "
            "give budgets in dollars, or name a price list with times"
        )
    if most <= spent:
        told = (
            f"costs {spent:.2f} dollars of a budget of {most:g}"
            if unit == "dollars"
            else f"takes {spent / 3600:.2f} hours of {most / 3600:g}"
        )
        raise BadInput(
            f"labelling the validation split {told}; raise the budget or set validation to none"
        )
    return most - spent, unit


def _validation(
    purchase: Purchase, bundle: Bundle, material: Material
) -> tuple[PartialLabels | None, Cost | None]:
    if bundle.validation == "none":
        return None, None
    if bundle.validation == "complete":
        truth = material.truth("val")
        everything = simulate(truth, "full-subset", **_common(bundle, material, "val"))
        return everything, cost(everything, _prices(bundle, "val"))
    sizes = [material.truth(split).shape[0] for split in ("train", "val")]
    limit = _limit(purchase)
    if limit is not None:
        limit = (limit[0] * sizes[1] / sum(sizes), limit[1])
    return _asked(purchase, bundle, material, "val", limit)


def _asked(
    purchase: Purchase, bundle: Bundle, material: Material, split: str, limit: Limit | None
) -> tuple[PartialLabels, Cost]:
    """Labels of one split for this much, or for the amount as written, and what they cost."""
    truth, images, common = material.truth(split), purchase.images, _common(bundle, material, split)
    prices = _prices(bundle, split)
    if split != "train" and isinstance(images, int):  # the same share of them
        images = images / material.truth("train").shape[0]
    if limit is None:
        labels = simulate(truth, purchase.scheme, images=images, **common)
        return labels, cost(labels, prices)
    most, unit = limit
    bought = amount_for(most, truth, purchase.scheme, prices, unit=unit, images=images, **common)
    return bought.labels, bought.cost


def _prices(bundle: Bundle, split: str) -> Prices:
    """The project is set up once, for the labels to train on."""
    return bundle.prices if split == "train" else bundle.prices.once_set_up()


def _common(bundle: Bundle, material: Material, split: str) -> dict[str, Any]:
    return {
        "hierarchy": material.hierarchy,
        "habits": bundle.habits,
        "boxes": material.data.boxes.get(split),
        "seed": bundle.seed,
        "draw": bundle.draw,
    }
