"""Grids for `simkit compare`, by which every scheme has the sizes that its pilot tells."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from simkit.planning.pilot.sizes import Part

if TYPE_CHECKING:
    from simkit.planning.pilot.design import Pilot

METHODS = ("an", "ll-r", "ll-r+boostlu")
YOURS = """\
data = "YOURS"  # such as "coco:train=train.json,val=test.json,test=test.json,images=pictures"
# backbone = "resnet50"  # the network that looks at your pictures; see `simkit list backbones`
# weights = "imagenet"  # or a file of weights for it"""  # val is there so that train stays whole
SAME = 1.02  # times as many dollars are the same size


def grids(made: Pilot, prices: str) -> tuple[str, ...]:
    """Grids as TOML: one for all schemes that have the same sizes.

    A single grid would give every scheme the budgets of the dearest one, and a cheaper scheme,
    whose images are used up by then, would be measured at its end again and again.
    """
    return tuple(_text(made, own, place, prices) for place, own in enumerate(_alike(made.parts)))


def budgets(parts: tuple[Part, ...], set_up: float = 0.0) -> tuple[float, ...]:
    """Dollars by which each of these schemes buys its sizes, each with the set-up."""
    most = map(max, zip(*(part.budgets for part in parts), strict=True))
    return tuple(math.ceil(100 * (dollars + set_up) - 1e-6) / 100 for dollars in most)


def _alike(parts: tuple[Part, ...]) -> Iterator[tuple[Part, ...]]:
    """Schemes by their sizes, in the order in which they are told."""
    left = list(parts)
    while left:
        own = tuple(part for part in left if _same(left[0], part))
        left = [part for part in left if part not in own]
        yield own


def _same(one: Part, other: Part) -> bool:
    sizes = zip(one.budgets, other.budgets, strict=False)
    return len(one.sizes) == len(other.sizes) and all(
        abs(math.log(a / b)) < math.log(SAME) for a, b in sizes
    )


def _text(made: Pilot, parts: tuple[Part, ...], place: int, prices: str) -> str:
    held = f"  # each with ${made.set_up:,.2f} of set-up" if made.set_up else ""
    lines = [
        f"# grid-{place + 1}.toml",
        YOURS,
        f"schemes = {json.dumps([part.scheme for part in parts])}",
        f"methods = {json.dumps(list(METHODS))}",
        f"budgets = {json.dumps(list(budgets(parts, made.set_up)))}{held}",
        f"prices = {json.dumps(prices)}",
        f"draws = {made.draws}",
        *(["reference = false  # grid-1.toml has it"] if place else []),
    ]
    return "\n".join(lines)
