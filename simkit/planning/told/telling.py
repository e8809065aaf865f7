"""The sentences of a plan: what was asked, what is recommended, what to beware of, what is taken
to hold."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from os import PathLike

from simkit.annotate.prices import Prices
from simkit.planning.choosing import choice
from simkit.planning.choosing.candidates import Candidate, Curves
from simkit.planning.choosing.rounds import COUNT as ROUNDS
from simkit.planning.curves.backtest import Backtest
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.ways import Way
from simkit.planning.money.project import Project
from simkit.planning.told.names import order, trained
from simkit.planning.told.planned import Reach
from simkit.planning.told.wording import percent, points, span
from simkit.study.limit import money


def question(project: Project, evidence: Evidence) -> str:
    """What was asked, as a heading."""
    has = [f"{len(evidence.classes):,} classes"]
    if project.images is not None:
        has.append(f"{project.images:,} images")
    has.append(f"{project.prices.name} prices")
    if project.target is not None:
        has.append(f"{points(project.target)} mAP wanted")
    return f"What to buy for {money(project.budget)}: {', '.join(has)}"


def recommendation(
    chosen: Candidate, project: Project, rounds: int, reach: Reach | None = None
) -> str:
    """The plan in one sentence, in words; the dollars at which a target is reached come first."""
    amount = chosen.amount
    people = chosen.way.habits.workers
    each = f", each answer from {people} people" if people and people > 1 else ""
    times = f" in {rounds} rounds" if rounds > 1 else ""
    told = (
        f"{order(amount.spec, amount.images)} for {money(chosen.dollars)}{times} "
        f"({amount.labels:,} known labels, {amount.per_image:.3g} for each image{each}), train "
        f"{trained(chosen.method)} on them and expect {points(chosen.median)} mAP, nine times in "
        f"ten {span(chosen.band90)}"
    )
    if project.target is None or chosen.p_target is None:
        return f"{told}."
    enough = _enough(reach, chosen)
    if enough:
        return f"{enough}; for the most mAP, {told[0].lower()}{told[1:]}."
    wanted = f"{points(project.target)} or more has a chance of {percent(chosen.p_target)}"
    return f"{told}; {wanted}."


def _enough(reach: Reach | None, chosen: Candidate) -> str:
    """At how many dollars nearly all samples have the target; "" where that is not below."""
    sure = None if reach is None else reach.quantiles[-1]
    if reach is None or sure is None or sure >= chosen.dollars:
        return ""
    return (
        f"{money(sure)} of {chosen.way} labels are enough for {points(reach.target)} mAP in 95 % "
        "of samples"
    )


def warnings(
    chosen: Candidate, own: Backtest | None, every: Backtest | None, note: str, reach: Reach | None
) -> Iterator[str]:
    """What to read first. own: the back-test of the chosen curve;  every: of all curves."""
    if own is not None and not own.passed:
        missed = sum(not row.covered for row in own.rows)
        yield (
            f"The back-test missed: of {len(own.rows)} larger sizes of this curve that its smaller "
            f"ones predict, {missed} lie outside the 90 % band (the largest: {_largest(own)}), so "
            "do not rely on the bands below before a larger pilot."
        )
    elif every is not None and not every.passed:
        missed = sum(not row.covered for row in every.rows)
        yield (
            f"The back-test missed: {missed} of {len(every.rows)} sizes of the pilot lie outside "
            "the 90 % bands that its smaller sizes give, so do not rely on the bands below before "
            "a larger pilot."
        )
    elif own is None:
        yield (
            "There is no back-test of this curve: the pilot has too few sizes to predict the "
            "largest from the others, so nothing shows that the bands hold; add a budget to the "
            "comparison."
        )
    if chosen.grade == "red":
        times = chosen.dollars / chosen.reach
        yield (
            f"The recommended amount lies {times:.0f} times beyond the pilot; take it for a "
            "direction and label a larger pilot first."
        )
    if note:
        yield f"{note[0].upper()}{note[1:]}."
    if reach is not None and reach.reached < 0.5:
        yield (
            f"{points(reach.target)} mAP is probably out of reach for this way of buying: "
            f"{percent(reach.reached)} of samples get there below {money(reach.most)} of labels."
        )


def _largest(own: Backtest) -> str:
    row = max(own.rows, key=lambda one: (one.dollars, one.sizes))
    return f"{points(row.measured)} mAP measured, {span((row.low, row.high))} predicted"


def assumptions(
    chosen: Candidate, evidence: Evidence, project: Project, others: Sequence[Way] = ()
) -> Iterator[str]:
    """What is taken to hold, the most doubtful first; of the other ways that are told as well."""
    for way in dict.fromkeys((chosen.way, *others)):
        yield evidence.assumption(way, project.images)
    yield (
        "mAP is of the pilot's test split, of models trained as in the pilot; other images, "
        "classes, backbones or schedules have other curves."
    )
    yield (
        "Curves are pooled from five families over resampled draws and continue as they began; "
        "bands are about a single purchase of labels and not about the choice of the test images."
    )
    if evidence.draws > 1:
        yield f"The spread between purchases is estimated from {evidence.draws} draws."
    habits = chosen.way.habits
    if habits.perfect:
        yield "The pilot's annotators made no mistakes; real ones cost some mAP."
    if project.images is None:
        yield (
            "There are as many images as the plan asks for; with the number that exist it would "
            "be made for so many."
        )
    if project.precision is None:
        yield (
            "A test set exists already, and the bill has none; it has one where it is said how "
            "precisely the mAP is to be known."
        )
    if evidence.validation != "none" and not project.validation_images:
        yield (
            f"The pilot chose epochs by {evidence.validation} labels of a validation split, which "
            "are not on the bill: there are such labels already, or validation images "
            "(--validation-images) buy them."
        )
    ceiling = evidence.ceiling(project.prices)
    if ceiling is not None:
        price = "" if ceiling.dollars is None else f" and costs {money(ceiling.dollars)}"
        yield (
            f"Labelling all of the pilot's {evidence.images:,} images completely gives "
            f"{points(ceiling.score)} mAP{price}, for comparison."
        )


def sources(kinds: Sequence[str], prices: Prices) -> tuple[str, ...]:
    """Where the prices of these lines of a bill are from."""
    told = {kind: prices.rates[kind].source for kind in kinds if kind in prices.rates}
    if prices.image is not None:
        told["loading an image"] = prices.image.source
    if any(prices.rates[kind].dollars is None for kind in kinds if kind in prices.rates):
        told["wage"] = prices.wage_source
    if prices.qa:
        told["quality assurance"] = prices.qa_source
    if prices.setup or prices.setup_class:
        told["set-up"] = prices.setup_source
    return tuple(f"{what}: {source or 'no source is given'}" for what, source in told.items())


def command(
    folders: Sequence[str | PathLike[str]],
    project: Project,
    *,
    prices: Prices | str | None,
    rounds: int,
    risk: str,
    seed: int,
) -> str:
    """The line of a shell that makes this plan; options at their defaults are left out.

    prices: as they were given; None: those of the runs.
    """
    options = {
        "budget": project.budget,
        "images": project.images,
        "target": project.target,
        "prices": prices.name if isinstance(prices, Prices) else prices,
        "precision": project.precision,
        "validation-images": project.validation_images or None,
        "image-price": project.image_price or None,
        "gpu-price": project.gpu_price or None,
        "gpu-hours": project.gpu_hours,
        "rounds": None if rounds == ROUNDS else rounds,
        "risk": None if risk == "robust" else risk,
        "seed": seed or None,
    }
    parts = ["simkit", "plan", *(str(folder) for folder in folders)]
    for name, value in options.items():
        if value is not None:
            parts += [f"--{name}", f"{value:.15g}" if isinstance(value, float) else str(value)]
    return shlex.join(parts)


def left_out(
    curves: Curves, evidence: Evidence, project: Project, more: Sequence[str]
) -> list[str]:
    """What is on file and has no curve, or a curve that is not followed to the end, each once."""
    found = [*evidence.left_out, *evidence.unpriced(project.prices), *more]
    return list(dict.fromkeys([*found, *choice.told(curves, evidence, project)]))
