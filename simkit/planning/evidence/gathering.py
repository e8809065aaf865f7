"""Runs of several folders put together: what must agree, which sizes there are, what is shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.prices import Cost, Prices
from simkit.errors import BadInput
from simkit.planning.evidence.bought_by import list_id
from simkit.planning.evidence.measured import SAME, Measured, Run
from simkit.planning.evidence.ways import Way

LEAST = 3  # sizes a curve needs
SAME_PRICE = 1.005  # times as much is the same
_UNBIASED = ("full-subset", "rpa")  # schemes whose labels show how frequent the classes are


def check_alike(one: Measured, other: Measured) -> None:
    """Raise BadInput, naming both folders, unless runs of both may be compared."""
    both = f"{one.folder} and {other.folder}"
    for what, first, second in (
        ("classes", one.classes, other.classes),
        ("test splits", one.test_id, other.test_id),
        ("images to label", one.truth_id, other.truth_id),
    ):
        if first != second:
            raise BadInput(
                f"{both} are of different data: their {what} differ; plan from one of them, or "
                "from comparisons of the same data"
            )
    for name in SAME:
        if one.grid.get(name) != other.grid.get(name):
            raise BadInput(
                f"{both} were trained differently: {_apart(name, one.grid, other.grid)}; plan "
                "from one of them, or compare again with equal settings"
            )


def _apart(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """ "train.epochs is 5 and 10"."""
    first, second = one.get(name), other.get(name)
    if isinstance(first, dict) and isinstance(second, dict):
        key = next(k for k in {**first, **second} if first.get(k) != second.get(k))
        return f"{name}.{key} is {first.get(key)!r} and {second.get(key)!r}"
    shown = ("there" if isinstance(value, dict) else repr(value) for value in (first, second))
    return f"{name} is {' and '.join(shown)}"


def once(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Without those that stand in two folders."""
    found: dict[object, Run] = {}
    for run in runs:
        found.setdefault((run.way, run.method, run.reference, run.nominal, run.draw), run)
    return tuple(found.values())


def pairs(runs: Iterable[Run]) -> dict[tuple[Way, str], int]:
    """How many sizes each way was measured at with each method, references left out."""
    groups: dict[tuple[Way, str], list[Run]] = {}
    for run in runs:
        if not run.reference:
            groups.setdefault((run.way, run.method), []).append(run)
    return {pair: len(sizes(own)) for pair, own in groups.items()}


def sizes(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs of one way by nominal size, cheapest first.

    A budget that bought nothing more than a smaller one, as nothing was left, is no size.
    """
    found: dict[object, list[Run]] = {}
    seen: set[tuple[str, str]] = set()
    for run in sorted(runs, key=lambda run: (run.dollars, str(run.nominal))):
        if (run.labels_id, run.method) not in seen:
            seen.add((run.labels_id, run.method))
            found.setdefault(run.nominal, []).append(run)
    return list(found.values())


def worth(sizes: Sequence[list[Run]], price: Callable[[Run], float]) -> list[list[Run]]:
    """Sizes by what they cost, cheapest first, without those that buy less for the same money.

    By the page or by the image, more questions about an image may cost nothing: nobody would buy
    fewer of them then.
    """
    found: list[list[Run]] = []
    costs: list[float] = []
    for runs in sorted(sizes, key=lambda own: (fmean(map(price, own)), _labels(own))):
        dollars = fmean(map(price, runs))
        if found and dollars <= SAME_PRICE * costs[-1]:
            if _labels(runs) <= _labels(found[-1]):
                continue
            del found[-1], costs[-1]
        found.append(runs)
        costs.append(dollars)
    return found


def part_of(run: Run, *, pool: int, classes: int) -> float:
    """The share of a pool of images that a run labelled: of its images, or of its answers where
    all images are asked about."""
    by_images = run.way.grows == "images"
    return min(1.0, run.images / pool if by_images else run.labels / (pool * classes))


def _labels(runs: Sequence[Run]) -> float:
    return fmean(run.labels for run in runs)


def few(runs: Iterable[Run]) -> Iterator[str]:
    """A sentence for each way, or method along one, with too few sizes for a curve."""
    counts = pairs(runs)
    for way in dict.fromkeys(way for way, _ in counts):
        own = {method: n for (other, method), n in counts.items() if other == way}
        short = [method for method, n in own.items() if n < LEAST]
        if short:
            which = "" if len(short) == len(own) else f" with {', '.join(short)}"
            most = max(own[method] for method in short)
            told = f"{most} size{'s' if most > 1 else ''}"
            yield f"{way}{which} was measured at {told}, and a curve needs {LEAST}: left out"


def pool(folders: Sequence[Measured]) -> int:
    """How many images the pilot could ask about: all, where a run or a share tells; else as many
    as it did ask about, or was allowed to."""
    whole = [run.images for one in folders for run in one.runs if run.reference]
    if whole:
        return max(whole)
    most = 1
    for one in folders:
        allowed = one.grid.get("images", 1.0)
        asked = max(run.images for run in one.runs)
        share = isinstance(allowed, float)
        most = max(most, round(asked / allowed) if share else max(asked, allowed))
    return most


def shares(runs: Sequence[Run], classes: int) -> NDArray[np.float64] | None:
    """(L,) of images that show each class: from complete labels, else from a random part; None
    where labels of either kind are not on file."""
    for wanted in (
        [run for run in runs if run.reference],
        [run for run in runs if run.way.part.name in _UNBIASED],
    ):
        counted = [run for run in wanted if len(run.present) == len(run.absent) == classes]
        if counted:
            present = np.sum([run.present for run in counted], axis=0)
            known = present + np.sum([run.absent for run in counted], axis=0)
            return np.asarray(present / np.maximum(known, 1), np.float64)
    return None


def scale(runs: Iterable[Run], more: int) -> list[float]:
    """The budgets that these runs were bought for, in dollars, and so many more, each of which pays
    for about twice the labels of the one before; none where budgets were not what was given."""
    bought = [run for run in runs if run.nominal[0] == "dollars"]
    found = sorted({float(run.nominal[-1]) for run in bought})
    for _ in range(more if found else 0):
        once = bought[0].set_up
        found.append(round(once + 2 * (found[-1] - once), 2))
    return [int(one) if one == int(one) else one for one in found]


def dollars_of(run: Run, bills: Mapping[int, Cost], prices: Prices) -> float:
    """What a run's training labels cost by this list, without the set-up.

    bills: of the efforts by their identity. Raises BadInput for a run without an effort that was
    bought by another list.
    """
    if run.effort is not None:
        return bills[id(run.effort)].dollars
    if run.prices != prices.name or run.price_list not in ("", list_id(prices)):
        then = ", as it was then," if run.prices == prices.name else ""
        raise BadInput(
            f"the runs of {run.way} do not hold the questions behind their labels, so they can be "
            f"priced by {run.prices!r}{then} alone and not by {prices.name!r}; compare again with "
            "this version"
        )
    return max(0.0, run.dollars - run.set_up)


def unpriced(runs: Iterable[Run], prices: Prices) -> str:
    """Why this list cannot price these runs, as a sentence; empty where it can."""
    kinds = {kind for run in runs if run.effort is not None for kind in run.effort.kinds()}
    missing = sorted(kinds - set(prices.rates))
    if not missing:
        return ""
    return f"price list {prices.name!r} has no price for {missing[0]!r}; add a table [{missing[0]}]"
