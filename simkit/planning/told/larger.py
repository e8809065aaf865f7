"""Which larger pilot would tell what this one does not: its budgets, its images, its command."""

from __future__ import annotations

import math
from pathlib import Path

from simkit.planning.choosing.candidates import Candidate
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.gathering import scale
from simkit.planning.money.project import Project
from simkit.study.grids.limit import money

MORE = 2  # sizes, each twice the one before: so much further the next back-test looks


def larger(chosen: Candidate, evidence: Evidence, project: Project) -> str:
    """In a sentence: the pilot's own scale, gone on with, on as many images as that takes; "" where
    the project has too few images for a larger one."""
    budgets = scale(evidence.of_way(chosen.way), MORE)
    most, images = 2**MORE * chosen.reach, _images(chosen, evidence, project)
    wanted = f"{images:,} images or more"
    if project.images is not None and project.images < images:
        wanted = f"all {project.images:,} images"
        images = project.images
        everything = evidence.most(chosen.way, project.prices, images)
        if everything < 2 * chosen.reach:
            return ""  # not one size more
        most = min(most, everything)
        if everything < 2**MORE * chosen.reach:
            budgets = budgets[: 1 - MORE]
    on = f" and data with {wanted}" if images > evidence.images else ""
    if not budgets:
        return f"A larger pilot would be one with up to {money(most)} of these labels{on}."
    grid = Path(evidence.folders[0]) / "grid.toml"
    return (
        f"A larger pilot: put budgets = {budgets}{on} into a copy of {grid}, `simkit compare "
        "grid.toml --out larger`, then plan from larger."
    )


def _images(chosen: Candidate, evidence: Evidence, project: Project) -> int:
    """As many as the pilot had, or as its largest size takes: in tens from 100 on."""
    everything = evidence.most(chosen.way, project.prices, evidence.images)
    times = max(1.0, 2**MORE * chosen.reach / everything)
    wanted = evidence.images * times
    step = 10.0 ** max(0, math.floor(math.log10(wanted)) - 1)
    return evidence.images if times == 1 else int(step * math.ceil(wanted / step))
