"""A plan under each change of its assumptions: what the labels cost then, what the budget gives,
and whether something else is better."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simkit.errors import BadInput
from simkit.planning.choosing.candidates import Candidate, Curves, How, Pair, candidates
from simkit.planning.choosing.choice import choose
from simkit.planning.choosing.complete import measured
from simkit.planning.choosing.followed import Followed, followed
from simkit.planning.choosing.retested import retested
from simkit.planning.curves.fit import Curve, fit
from simkit.planning.curves.peers import Peers
from simkit.planning.curves.points import Points
from simkit.planning.evidence import together
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.tested import Tested
from simkit.planning.money import sensitivity
from simkit.planning.money.project import Project
from simkit.planning.told.parts import Change

Note = Callable[[], None]


def changed(
    evidence: Evidence,
    project: Project,
    curves: Curves,
    chosen: Candidate,
    *,
    tested: Tested = Tested(),
    risk: How,
    resamples: int,
    seed: int,
    note: Note = lambda: None,
) -> tuple[Change, ...]:
    """Each change in turn, all else being equal; note is called after each.

    tested: the test split of the runs.
    """
    found = []
    for change in sensitivity.changes(project):
        found.append(_under(change, evidence, curves, chosen, tested, (risk, resamples, seed)))
        note()
    return tuple(found)


def _under(
    change: sensitivity.Change,
    evidence: Evidence,
    curves: Curves,
    chosen: Candidate,
    tested: Tested,
    how: tuple[How, int, int],
) -> Change:
    told = change.told(evidence, chosen.way)
    try:
        then = change.of(evidence)
        points = measured(chosen.pair, then, change.project.prices)
        same = None if points is None else chosen.dollars * points.reach / chosen.reach
        if not change.scores(evidence, chosen.way):
            return Change(change.what, same, None, "not known", told)
        risk, resamples, seed = how
        refitted = _refitted(curves, then, change.project, resamples, seed)
        after = retested(followed(refitted, then, change.project), tested)
        found = candidates(after, then, change.project)
        best = choose(found, risk)
        # The others would be judged by scores that are not known either.
        comparable = all(change.scores(evidence, way) for way, _ in after)
    except BadInput as error:
        return Change(change.what, None, None, "nothing", str(error))
    own = [one for one in found if one.pair == chosen.pair]
    median = choose(own, risk).median if own else None
    choice = _choice(best, chosen) if comparable else "not known"
    return Change(change.what, same, median, choice, told)


def _choice(best: Candidate, chosen: Candidate) -> str:
    return "the same" if best.pair == chosen.pair else str(best)


def _refitted(
    curves: Curves, then: Evidence, project: Project, resamples: int, seed: int
) -> dict[Pair, Curve]:
    """Fits of the changed points where there were fits; those that nothing changed stay."""
    found: dict[Pair, Curve] = {}
    every = {pair: then.points(*pair, project.prices) for pair in curves}
    peers = together.peers(every, then, project.prices)
    for pair, curve in curves.items():
        points = every[pair]
        fits = curve.fitted if isinstance(curve, Followed) else curve
        if points is None or fits is None:
            continue
        if not _equal(points, curve.points) or not _same(peers, fits.peers):
            fits = fit(points, peers=peers, resamples=resamples, seed=seed)
        found[pair] = fits
    return found


def _same(one: Peers | None, other: Peers | None) -> bool:
    return (one and one.name) == (other and other.name)


def _equal(one: Points, other: Points) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("dollars", "score", "draw", "size")
    )
