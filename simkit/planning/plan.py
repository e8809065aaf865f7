"""From comparisons and a budget to a plan: fit, choose, check, and say how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

from simkit.annotate.prices import Prices
from simkit.errors import BadInput
from simkit.planning.assembled import Ground, assembled
from simkit.planning.changed import Note
from simkit.planning.choosing.candidates import How, Pair, candidates
from simkit.planning.choosing.choice import choose
from simkit.planning.choosing.followed import check_wide, followed
from simkit.planning.choosing.retested import retested
from simkit.planning.curves.fit import Curve, fit
from simkit.planning.evidence import together
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.tested import Tested
from simkit.planning.money import bill as money
from simkit.planning.money.project import Project
from simkit.planning.told import telling
from simkit.planning.told.planned import Plan

Folder = str | PathLike[str]

CHANGES = 5  # of the assumptions, as sensitivity.py lists them: steps on the way to a plan

__all__ = ["Plan", "plan"]


def plan(
    folders: Folder | Sequence[Folder],
    budget: float,
    *,
    images: int | None = None,
    target: float | None = None,
    prices: Prices | str | None = None,
    precision: float | None = None,
    validation_images: int = 0,
    image_price: float = 0.0,
    gpu_price: float = 0.0,
    gpu_hours: float | None = None,
    rounds: int = 3,
    risk: How = "robust",
    seed: int = 0,
    resamples: int = 200,
    progress: Callable[[float, int], None] = lambda done, total: None,
) -> Plan:
    """What to buy for `budget` dollars, by the runs of one or several comparisons.

    folders    that `simkit compare` wrote, all about the same data.
    images     that exist; None: enough.  target  mAP that is wanted: 0.6, or 60 points.
    prices     a list, its name or its TOML file; None: the one the labels were bought by.
    precision  points to which mAP is to be known on a test set that has to be labelled; None: there
               is one.  validation_images  to label completely besides.
    image_price  dollars to obtain an image;  gpu_price  dollars an hour, for gpu_hours, or as long
               as the pilot took.
    rounds     purchases into which the labels are divided;  risk  robust (20 % quantile of mAP as
               high as possible) or expected (its mean, and the chance of the target).
    seed       of all resampling: the same seed gives the same plan;  resamples  of each pilot, 20
               or more; each gives a sample for every family of curves.
    progress   called with (steps done, all steps).

    The plan shows itself: `text`, `html`, `markdown`, and in a notebook. `to_json` gives plain
    values, whose keys `simkit plan --keys` explains.

    Raises BadInput for what is no comparison and for budgets that pay for no labels.
    """
    evidence = Evidence.of(*(places := _places(folders)))
    project = Project(
        budget=budget, images=images, target=target, prices=_prices(prices, evidence),  # type: ignore[arg-type]
        image_price=image_price, precision=precision, validation_images=validation_images,
        gpu_price=gpu_price, gpu_hours=gpu_hours, rounds=rounds,
    )  # fmt: skip
    _check_hours(project)
    money.left(project, evidence)  # says so before long work where the budget pays for no labels
    steps = _Steps(progress, len(evidence.pairs) + CHANGES)
    fits, unfit = fitted(evidence, project, resamples=resamples, seed=seed, note=steps)
    tested, on_test = Tested.of(evidence), followed(fits, evidence, project)
    curves = retested(on_test, tested)
    found = candidates(curves, evidence, project)
    how: dict[str, Any] = {"rounds": rounds, "risk": risk, "seed": seed}
    return assembled(
        Ground(evidence, project, curves, tuple(found), choose(found, risk), tested, on_test),
        resamples=resamples, unfit=unfit, note=steps, **how,
        command=telling.command(places, project, prices=prices, **how),
    )  # fmt: skip


def _check_hours(project: Project) -> None:
    if project.gpu_hours and not project.gpu_price:
        raise BadInput(
            f"gpu_hours is {project.gpu_hours:g} and gpu_price is not given; hours cost nothing "
            "without the price of one, so give gpu_price (--gpu-price) or leave gpu_hours out"
        )


def _places(folders: Any) -> list[Folder]:
    if isinstance(folders, str | PathLike):
        return [folders]
    places = list(folders) if isinstance(folders, Sequence) else []
    if not places or not all(isinstance(place, str | PathLike) for place in places):
        raise BadInput(
            f"folders is {folders!r}; the folder that `simkit compare` wrote to is expected, or a "
            "list of several"
        )
    return places


class _Steps:
    """Counts what is done and passes it on."""

    def __init__(self, progress: Callable[[float, int], None], total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self) -> None:
        self.done += 1
        self.progress(min(self.done, self.total), self.total)


def fitted(
    evidence: Evidence,
    project: Project,
    *,
    resamples: int = 200,
    seed: int = 0,
    note: Note = lambda: None,
) -> tuple[dict[Pair, Curve], list[str]]:
    """A curve for every way with every method, and a sentence for each that has none.

    note is called after each.
    Raises BadInput, with the first of these sentences, where there is no curve at all, and where
    none rises.
    """
    curves: dict[Pair, Curve] = {}
    unfit: list[str] = []
    every = {pair: evidence.points(*pair, project.prices) for pair in evidence.pairs}
    peers = together.peers(every, evidence, project.prices)
    for (way, method), points in every.items():
        note()
        if points is None:
            continue  # evidence.unpriced says why
        try:
            check_wide(points)
            curves[way, method] = fit(points, peers=peers, resamples=resamples, seed=seed)
        except BadInput as error:
            unfit.append(f"{way} with {method}: {error}")
    if not curves:
        raise BadInput((unfit or evidence.unpriced(project.prices) or ["no curve"])[0])
    if not any(curve.points.rises for curve in curves.values()):
        (way, method), curve = next(iter(curves.items()))
        raise BadInput(f"no curve rises; {way} with {method}: {curve.points.still()}")
    return curves, unfit


def _prices(given: Prices | str | None, evidence: Evidence) -> Prices | str:
    if given is not None:
        return given
    if len(evidence.prices) > 1:
        raise BadInput(
            f"the runs were bought by several price lists ({', '.join(evidence.prices)}); say "
            "which one the plan is for with prices"
        )
    return evidence.prices[0]
