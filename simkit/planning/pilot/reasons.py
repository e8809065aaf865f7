"""Why a pilot is what it is, what it can tell and what it cannot: sentences for people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from simkit.planning.curves import reach
from simkit.planning.pilot.sizes import FILLED
from simkit.planning.told.wording import percent

if TYPE_CHECKING:
    from simkit.planning.pilot.design import Pilot

FEW = 10  # images that show a class, below which its AP says little


def headline(made: Pilot) -> str:
    """What to label first and for how much; where the budget buys everything, that before it."""
    held = f" and {made.test_images:,} to measure by" if made.test_images else ""
    told = f"abel {made.images:,} images completely to train on{held}, for ${made.dollars:,.2f}"
    share = f"({percent((made.dollars + made.set_up) / made.budget)} of the budget)"
    if made.set_up:
        told += f" and the set-up for ${made.set_up:,.2f}"
        share = f"(${made.dollars + made.set_up:,.2f}, {share[1:]}"
    told += f" {share} by {made.prices}."
    if made.everything > made.budget:
        return f"L{told}"
    return (
        f"Label everything: complete labels of all {made.exist:,} images cost "
        f"${made.everything:,.2f}, and the budget pays for them. To see first whether less money "
        f"would do, l{told}"
    )


def why(made: Pilot) -> Iterator[str]:
    """Sentences, without the full stop."""
    yield from _sizes(made)
    yield from made.left_out
    yield from _limits(made)
    if made.test_images:
        yield (
            f"{made.test_images:,} of the images are kept apart to measure by, where mAP is known "
            f"to about +-{made.half_width:.1f} points; differences on the same images to less"
        )
    if made.rare:
        yield (
            f"{made.rare:,} of {made.classes:,} classes are expected in fewer than {FEW} of the "
            "images to train on; the pilot says little about these"
        )
    yield from _paid(made)
    yield from _far(made)


def _sizes(made: Pilot) -> Iterator[str]:
    names = ", ".join(part.scheme for part in made.parts)
    yield (
        f"Complete labels hold the answers to whatever a scheme would ask, so {names} "
        f"{'is' if len(made.parts) == 1 else 'are'} simulated on the same {made.images:,} images "
        "to train on and priced as if they had been bought"
    )
    yield (
        "The sizes of a scheme are nested, each about twice the one before: the largest are parts "
        f"of what is bought, and {made.draws} draws of each take other parts of it, which costs "
        "nothing more"
    )
    sparse = [part.scheme for part in made.parts if part.amount != "images"]
    if sparse:
        yield (
            f"{' and '.join(sparse)} {'asks' if len(sparse) == 1 else 'ask'} about single classes "
            f"of any of the {made.images:,} images to train on, so "
            f"the sizes end where {100 * FILLED:g} % of that is used up: at the end every scheme "
            "has the same complete labels, and would look as if nothing more could be gained, "
            "while a few labels of each of more images do gain"
        )


def _limits(made: Pilot) -> Iterator[str]:
    """What kept the pilot smaller than its share of the budget would pay for."""
    many = made.images + made.test_images
    if made.exist is not None and many < min(made.affordable, made.exist):
        yield (
            f"The pilot takes at most a third of the {made.exist:,} images, so that "
            f"{made.exist - many:,} are left to decide about"
        )
    elif many < made.affordable:
        yield (
            f"The pilot's share of the budget would pay for {made.affordable:,} images, but "
            f"{many:,} are enough to begin a curve and to measure by"
        )


def _paid(made: Pilot) -> Iterator[str]:
    besides = " with what is bought besides" if made.extra else ""
    which = "that are left"
    if made.remaining is not None and made.rest < math.floor(made.budget - made.spent):
        which = f"that complete labels of the other {made.remaining:,} images would cost"
    yield (
        f"The pilot's labels{besides} cost ${made.spent:,.2f}, so the plan afterwards is for the "
        f"${made.rest:,.2f} {which}; the pilot's own labels are there besides and are not "
        "counted again"
    )
    if made.set_up:
        yield (
            f"The set-up (${made.set_up:,.2f}) is paid with the pilot, once for the whole project; "
            f"the plan's bill has it, and so the ${made.rest:,.2f} still hold it, as every budget "
            "of the grids does"
        )


def _far(made: Pilot) -> Iterator[str]:
    """Whose curve ends too far before the budget, and what is to be done."""
    bought = dict(made.extra)
    far = []
    for part in made.parts:
        if part.scheme in bought:
            yield (
                f"{part.scheme}: its largest simulated size costs "
                f"${part.sizes[-1].dollars:,.2f}, and the money that is left is "
                f"{part.times:,.0f} times that; buy ${bought[part.scheme]:,.2f} of it directly "
                f"besides, and it is {reach.AMBER:g} times"
            )
        elif part.extra:
            far.append(f"{part.scheme} ({part.times:,.0f} times)")
    if far:
        yield (
            f"More than {reach.AMBER:g} times beyond their largest size, a plan says little about "
            f"{', '.join(far)}: buy the first round of the plan, compare again with its labels, "
            "and plan the rest by that"
        )
