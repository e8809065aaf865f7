"""Which larger pilot would tell what this one does not: its budgets, its images, its command."""

from __future__ import annotations

import math
from pathlib import Path

from simkit.errors import BadInput
from simkit.planning.choosing.candidates import Candidate
from simkit.planning.choosing.complete import price
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.gathering import scale
from simkit.planning.evidence.tested import Tested
from simkit.planning.money.project import Project
from simkit.planning.pilot.design import TEST, divided
from simkit.study.grids.limit import money

MORE = 2  # sizes, each twice the one before: so much further the next back-test looks


def larger(
    chosen: Candidate, evidence: Evidence, project: Project, tested: Tested = Tested()
) -> str:
    """In a sentence: the pilot's own scale, gone on with, on as many images as that takes or as a
    pilot for such a budget has, and with as many to measure by where the test split is small; ""
    where the project has too few images for a larger one."""
    images, held = _images(chosen, evidence, project), 0
    designed = _designed(chosen, evidence, project, tested)
    more = MORE
    if tested.small:
        held = max(math.ceil(images * TEST / (1 - TEST)), tested.images or 0)
    if designed is not None and designed[0] > images:
        images, held = designed
        most = evidence.most(chosen.way, project.prices, images)
        more = max(MORE, math.floor(math.log2(most / chosen.reach) + 1e-9))
    budgets, most = scale(evidence.of_way(chosen.way), more), 2**more * chosen.reach
    wanted = _wanted(images if images > evidence.images else 0, held)
    if project.images is not None and project.images < images:
        wanted = f"all {project.images:,} images"
        images = project.images
        everything = evidence.most(chosen.way, project.prices, images)
        if everything < 2 * chosen.reach:
            return ""  # not one size more
        most = min(most, everything)
        if everything < 2**MORE * chosen.reach:
            budgets = budgets[: 1 - MORE]
    on = f" and data with {wanted}" if wanted else ""
    if not budgets:
        return f"A larger pilot would be one with up to {money(most)} of these labels{on}."
    grid = Path(evidence.folders[0]) / "grid.toml"
    return (
        f"A larger pilot: put budgets = {budgets}{on} into a copy of {grid}, `simkit compare "
        "grid.toml --out larger`, then plan from larger."
    )


def _wanted(images: int, held: int) -> str:
    """What the data is to have; 0: what it has is enough."""
    if not held:
        return f"{images:,} images or more" if images else ""
    measure = f"{held:,} or more to measure by"
    return f"{images:,} images or more to train on and {measure}" if images else measure


def _designed(
    chosen: Candidate, evidence: Evidence, project: Project, tested: Tested
) -> tuple[int, int] | None:
    """Images to train on and to measure by of the pilot that is advised before there are runs; None
    where the budget or the images are too few for one."""
    each = price(chosen.way, evidence, project.prices)
    if each is None:
        return None
    try:
        found = divided(project.budget, each, images=project.images, test=tested.small)
    except BadInput:
        return None
    return found[1:]


def _images(chosen: Candidate, evidence: Evidence, project: Project) -> int:
    """As many as the pilot had, or as its largest size takes: in tens from 100 on."""
    everything = evidence.most(chosen.way, project.prices, evidence.images)
    times = max(1.0, 2**MORE * chosen.reach / everything)
    wanted = evidence.images * times
    step = 10.0 ** max(0, math.floor(math.log10(wanted)) - 1)
    return evidence.images if times == 1 else int(step * math.ceil(wanted / step))
