"""The sentences of a plan: what is taken to hold, where prices are from, how it was asked for."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from os import PathLike

import numpy as np

from simkit.annotate.prices import Prices
from simkit.planning.choosing.candidates import Candidate
from simkit.planning.choosing.rounds import COUNT as ROUNDS
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.tested import Tested
from simkit.planning.evidence.ways import Way
from simkit.planning.money.project import Project
from simkit.planning.told.wording import points, several
from simkit.study.grids.limit import money


def assumptions(
    chosen: Candidate,
    evidence: Evidence,
    project: Project,
    others: Sequence[Way] = (),
    *,
    tested: Tested = Tested(),
) -> Iterator[str]:
    """What is taken to hold, the most doubtful first; of the other ways that are told as well."""
    for way in dict.fromkeys((chosen.way, *others)):
        yield evidence.assumption(way, project.images)
    yield (
        f"mAP is {_of(tested)}, of models trained as in the pilot; other images, "
        "classes, backbones or schedules have other curves."
    )
    yield (
        "Curves are pooled from five families over resampled draws and continue as they began; "
        f"bands are about a single purchase of labels and {_about(tested)}."
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
        score = float(tested.elsewhere(np.array([ceiling.score]))[0])
        yield (
            f"Labelling all of the pilot's {evidence.images:,} images completely gives "
            f"{points(score)} mAP{price}, for comparison."
        )


def _of(tested: Tested) -> str:
    """Of which images mAP is."""
    if tested.small:
        return (
            "of new images like those of the pilot's test split, over all classes that are known "
            "to occur, as if a model told those that the split lacks as well as the others"
        )
    return "of the pilot's test split"


def _about(tested: Tested) -> str:
    """Whether the luck of the test images is part of the bands."""
    if tested.small:
        return f"about the choice of {several(tested.images or 0, 'test image')}"
    if tested.images is None:
        return (
            "not about the choice of the test images; how many these are is not known, as the data "
            "of the comparison cannot be opened here"
        )
    return "not about the choice of the test images"


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
        "target": None if project.target is None else float(f"{project.target:.12g}"),
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


def left_out(evidence: Evidence, project: Project, more: Sequence[str]) -> list[str]:
    """What is on file and has no curve, each once."""
    return list(dict.fromkeys([*evidence.left_out, *evidence.unpriced(project.prices), *more]))
