"""Where what was measured speaks against a choice, or against the curves behind it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simkit.planning.choosing.candidates import Candidate
from simkit.planning.choosing.complete import METHOD, MOST_LABELS, is_complete, price, reference
from simkit.planning.choosing.limits import Curves
from simkit.planning.curves.fit import SLACK
from simkit.planning.curves.points import Points
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.project import Project


def contradicted(
    chosen: Candidate, curves: Curves, evidence: Evidence, project: Project
) -> Iterator[str]:
    """Sentences: of other methods that were better wherever they were measured; where no curve of
    complete labels foretells what complete labels of the whole pool gave; and where the choice buys
    most labels of its images, of what all of them cost."""
    yield from _behind(chosen, curves)
    yield from _nearly(chosen, evidence, project)
    yield from _reference(chosen, curves, evidence, project)


def _behind(chosen: Candidate, curves: Curves) -> Iterator[str]:
    own = curves[chosen.pair].points
    if chosen.dollars <= chosen.reach * (1 + 1e-9):
        return
    ahead = [
        method
        for (way, method), curve in curves.items()
        if way == chosen.way and method not in (chosen.method, METHOD) and _under(own, curve.points)
    ]
    if ahead:
        yield (
            f"{chosen.method} was behind {' and '.join(ahead)} at every size of {chosen.way} that "
            f"was measured; its lead at ${chosen.dollars:,.2f} is extrapolated, so train "
            f"{'both' if len(ahead) == 1 else 'all of them'} on what is bought."
        )


def _under(one: Points, other: Points) -> bool:
    """Whether the mean of one lies below that of the other at all sizes of both."""
    if not np.array_equal(one.costs, other.costs):
        return False
    means = [np.nanmean(points.table, axis=0) for points in (one, other)]
    return bool((means[0] < means[1]).all())


def _nearly(chosen: Candidate, evidence: Evidence, project: Project) -> Iterator[str]:
    amount, each = chosen.amount, price(chosen.way, evidence, project.prices)
    share = amount.labels / (amount.images * len(evidence.classes))
    if share >= MOST_LABELS and each is not None and not is_complete(chosen.way):
        yield (
            f"{amount.spec} buys {100 * share:.0f} % of all labels of its {amount.images:,} images "
            f"for ${chosen.dollars:,.2f}; to label them completely costs "
            f"${each * amount.images:,.2f} and leaves nothing unknown."
        )


def _reference(
    chosen: Candidate, curves: Curves, evidence: Evidence, project: Project
) -> Iterator[str]:
    found = reference(evidence, project.prices)
    if found is None:
        return
    dollars, measured = found.points.reach, float(found.points.score.mean())
    alike = {
        pair: curve
        for pair, curve in curves.items()
        if is_complete(pair[0]) and pair[1] != METHOD and curve.reach < dollars
    }
    bands = {pair: curve.band(dollars)[:, 0].tolist() for pair, curve in alike.items()}
    if not bands or any(low - SLACK <= measured <= high + SLACK for low, high in bands.values()):
        return
    pair = chosen.pair if chosen.pair in bands else min(
        bands, key=lambda one: min(abs(measured - edge) for edge in bands[one])
    )  # fmt: skip
    low, high = bands[pair]
    less = "more" if low > measured else "less"
    yield (
        f"Complete labels of all {found.images:,} images of the pilot gave {100 * measured:.1f} "
        f"mAP, and the curve of {pair[0]} with {pair[1]} promises {100 * low:.1f} to "
        f"{100 * high:.1f} there: curves this far beyond the pilot promise {less} than was "
        "measured."
    )
