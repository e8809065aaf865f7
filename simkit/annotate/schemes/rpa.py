"""Every label kept with the same probability."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from simkit.annotate.annotators import Ints
from simkit.annotate.schemes import Crowd, Scheme, register
from simkit.chance import Chance, threshold
from simkit.registry import Share, setting

# Up to so many places each one has its own number; above, only the kept ones are worked out.
# The two give different labels, so this is part of the scheme: it depends on N x L alone.
EVERY_PLACE = 1 << 28
# Worked on at a time, which changes no result: places with a number each, and kept ones.
PLACES, KEPT = 1 << 20, 1 << 18


@register
class RandomPerAnnotation(Scheme):
    """Verify each (image, class) with probability `keep`, independently; the rest unknown."""

    name: ClassVar[str] = "rpa"
    title: ClassVar[str] = "RPA"
    gist: ClassVar[str] = "random classes of each image"
    source: ClassVar[str] = "Ben-Baruch et al., CVPR 2022, section 5.1; its p is 1 - keep"
    amount: ClassVar[str | None] = "keep"
    by_image: ClassVar[bool] = True
    even: ClassVar[bool] = True
    caution: ClassVar[str] = (
        "Labels are an even sample of all (image, class) pairs: shares by class are those of the "
        "truth. Where classes are rare, most labels say absent, and some classes may have hardly a "
        "present one."
    )

    keep: Share = setting(0.1, "share of all (image, class) pairs that are asked about")

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        from simkit.annotate.sparse_draws import count_table, spread

        N, L = crowd.shape
        crowd.expect(len(crowd.images) * L * self.keep)
        if N * L <= EVERY_PLACE:
            places, step = chance.of("places"), max(1, PLACES // L)
            for first in range(0, N, step):
                edges = np.searchsorted(crowd.images, [first, first + step])
                images = crowd.images[slice(*edges)]
                if len(images):
                    crowd.verify(*kept_places(images, L, self.keep, places))
            return
        # For each image how many classes are kept, then the first ones of its own order.
        table = count_table(L, share=self.keep)
        order = chance.of("order").permutation(L)
        step = max(1, int(KEPT / max(1.0, L * self.keep)))
        for start in range(0, len(crowd.images), step):
            images = crowd.images[start : start + step]
            kept = np.searchsorted(table, chance.of("count")(images), side="right")
            owner, nth = spread(kept)
            crowd.verify(images[owner], order.at(nth, images, kept))


def kept_places(images: Ints, L: int, keep: float, chance: Chance) -> tuple[Ints, Ints]:
    """Images and classes of the places whose number of 64 bits falls under the share `keep`.

    The first 8 bits mostly decide, and they are quick to make for whole rows; where they equal
    those of the limit, the other 56 are looked up for that place.
    """
    first, last = int(images[0]), int(images[-1])
    leading = chance.block(first, last + 1, L, bits=8)
    together = len(leading) == len(images)
    leading = leading.ravel() if together else leading[images - first].ravel()
    top, rest = divmod(threshold(keep), 1 << 56)
    kept = np.flatnonzero(leading <= top)
    undecided = np.flatnonzero(leading[kept] == top)
    rows, columns = np.divmod(kept[undecided], L)
    others = chance(images[rows], columns) >> np.uint64(8)
    kept = np.delete(kept, undecided[others >= rest])
    rows = kept // L
    columns = kept - rows * L  # a division less than divmod
    return rows + first if together else images[rows], columns
