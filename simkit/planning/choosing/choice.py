"""Which labels to buy, and which method to train on them: the front of candidates and the choice.

Everything is decided on samples of mAP (`curves`): sample s of two curves is of the same draws, so
that candidates are compared by paired differences and never by whether their bands overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.planning.choosing.candidates import Candidate, Curves, How, Pair, candidates
from simkit.planning.choosing.complete import MOST_LABELS, is_complete

__all__ = ["Candidate", "Curves", "How", "by_pair", "candidates", "choose", "front"]

FLAT = 0.001  # of mAP: less than this is not worth a dollar
TIE = 0.005  # of mAP: what differs by less, and not surely, counts as equal
NEAR = 1.05  # bills that differ by less than this factor are equally cheap
LEVEL = 0.9  # of the paired interval that has to leave 0 out for a difference to be sure


def front(found: Iterable[Candidate], by: Literal["low", "median"] = "low") -> list[Candidate]:
    """The candidates that no cheaper one equals: ascending in total dollars and in mAP."""
    kept: list[Candidate] = []
    for one in sorted(found, key=lambda c: (c.total, -getattr(c, by))):
        if not kept or getattr(one, by) > getattr(kept[-1], by):
            kept.append(one)
    return kept


def choose(found: Sequence[Candidate], how: How = "robust") -> Candidate:
    """The candidate to buy.

    Along each curve the cheapest one within 0.1 points of its best: nothing is spent where nothing
    is gained. Of those the one with the highest `score`; where others are within half a point of
    it, by score and by the median of the paired difference, and its 90 % interval holds 0, the
    cheapest of them, and of about equal bills the simplest: no mixture, no setting, no sum of
    methods, then complete labels. `note` says so. Where that buys most labels of its images,
    complete labels of them are bought instead, if the budget pays for these (`_completed`).
    """
    if not found:
        raise BadInput("there are no candidates to choose from; give curves and a budget")
    ends = [_cheapest(own, how) for own in by_pair(found).values()]
    best = max(ends, key=lambda c: c.score(how))
    equal = [one for one in ends if one is best or _ties(best, one, how)]
    least = min(one.total for one in equal)
    near = [one for one in equal if one.total <= NEAR * least]
    chosen = min(near, key=lambda c: (*_effort(c), -c.score(how)))
    whole = _completed(chosen, found, how)
    if whole is not None:
        return replace(whole, note=_note(whole, [], found, instead=chosen))
    return replace(chosen, note=_note(chosen, equal, found))


def _completed(chosen: Candidate, found: Sequence[Candidate], how: How) -> Candidate | None:
    """Complete labels of the images of a choice that buys `MOST_LABELS` of theirs; None where it
    does not, or these are not among the candidates, cost more for a label or are surely worse."""
    if is_complete(chosen.way):
        return None
    amount = chosen.amount
    whole = [
        one
        for one in found
        if is_complete(one.way)
        and one.way.habits == chosen.way.habits
        and one.amount.images >= amount.images
        and amount.per_image >= MOST_LABELS * one.amount.per_image
        and one.dollars * amount.labels <= NEAR * chosen.dollars * one.amount.labels
        and difference(one.samples, chosen.samples)[2] >= 0
    ]
    if not whole:
        return None
    fewest = min(one.amount.images for one in whole)
    alike = [one for one in whole if one.amount.images == fewest]
    return max(alike, key=lambda one: one.score(how))


def by_pair(found: Iterable[Candidate]) -> dict[Pair, list[Candidate]]:
    """Candidates of each curve, cheapest first."""
    groups: dict[Pair, list[Candidate]] = {}
    for one in sorted(found, key=lambda c: c.dollars):
        groups.setdefault(one.pair, []).append(one)
    return groups


def difference(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float, float]:
    """Median and 90 % interval of paired samples (S,): one less the other."""
    edges = [0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2]
    median, low, high = np.quantile(one - other, edges).tolist()
    return median, low, high


def _cheapest(own: Sequence[Candidate], how: How) -> Candidate:
    best = max(one.score(how) for one in own)
    return next(one for one in own if one.score(how) >= best - FLAT)


def _ties(best: Candidate, other: Candidate, how: How) -> bool:
    median, low, high = difference(best.samples, other.samples)
    return max(best.score(how) - other.score(how), median) <= TIE and low <= 0 <= high


def _effort(one: Candidate) -> tuple[bool, int, bool]:
    """How much there is to set up and to explain; complete labels leave nothing unknown."""
    settings = sum(f"{one.way.scheme} {one.method}".count(c) for c in "=+")
    return "mixed" in one.way.scheme, settings, not is_complete(one.way)


def _note(
    chosen: Candidate,
    equal: Sequence[Candidate],
    found: Sequence[Candidate],
    *,
    instead: Candidate | None = None,
) -> str:
    notes = []
    if instead is not None:
        share = instead.amount.per_image / chosen.amount.per_image
        notes.append(
            f"instead of {instead}, which for ${instead.total:,.2f} buys {100 * share:.0f} % of "
            f"all labels of its {instead.amount.images:,} images and leaves the rest unknown"
        )
    others = [one for one in equal if one is not chosen]
    if others:
        cheap = all(chosen.total * NEAR < one.total for one in others)
        plain = all(_effort(chosen) < _effort(one) for one in others)
        why = "cheapest" if cheap else "simplest" if plain else "best for its price"
        notes.append(f"within noise of {', '.join(map(str, others))}; of these it is the {why}")
    own = by_pair(found)[chosen.pair][-1]
    if own.dollars > chosen.dollars:
        notes.append(
            f"${own.dollars - chosen.dollars:,.2f} more of the same would gain less than "
            f"{100 * FLAT:g} points"
        )
    return "; ".join(notes)
