"""The page of a plan: one screen in a terminal, one file in a browser, a part of a notebook.

`python tests/planning_new/test_report.py plan.html` writes the example that these tests use.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from simkit.planner import report
from simkit.planner.report import Chart, Line, Mark, Page, Section, Table

DOLLARS = tuple(float(d) for d in np.geomspace(30, 2400, 40))


def curve(label: str, ceiling: float, start: float, *, chosen: bool = False) -> Line:
    """A line that rises from `start` at $30 towards `ceiling`, with four measured runs."""
    median = tuple(ceiling - (ceiling - start) * (d / 30) ** -0.35 for d in DOLLARS)
    width = [0.012 + 0.004 * place / 8 for place in range(len(median))]
    low = tuple(v - w for v, w in zip(median, width, strict=True)) if chosen else ()
    high = tuple(v + w for v, w in zip(median, width, strict=True)) if chosen else ()
    at = ((30, 0.01), (60, -0.006), (120, 0.004), (240, 0.0))
    measured = tuple(Mark(x, float(np.interp(x, DOLLARS, median)) + off) for x, off in at)
    return Line(label, DOLLARS, median, low, high, measured, chosen)


def example() -> Page:
    """A realistic page."""
    lines = (
        curve("single-positive, LL-R", 0.60, 0.30),
        curve("complete labels, P-ASL", 0.72, 0.28, chosen=True),
        curve("FPC, LL-R", 0.70, 0.31),
        curve("RPA 10 %, CSL", 0.66, 0.25),
        curve("proposals, AN", 0.50, 0.27),
    )
    chart = Chart(
        lines, Mark(928, 0.5867, "$928: 58.7 mAP"), 1000, 0.6,
        alt="Expected mAP over dollars for five purchases. Complete labels with P-ASL reach 58.7 "
        "points at $928; FPC with LL-R is 0.6 points lower.",
        note="Lines are medians, the shade is the 90 % band, circles are the pilot's runs.",
    )  # fmt: skip
    runners = Table(
        "Runners-up for the same money",
        ("labels", "method", "mAP", "90 % range", "behind"),
        (
            ("FPC, 55 per class", "LL-R", "58.1", "54.9 to 61.2", "0.6"),
            ("RPA, keep 10 %", "CSL", "53.4", "49.0 to 57.7", "5.3"),
            ("single-positive", "LL-R", "52.0", "49.9 to 54.4", "6.7"),
        ),
        numbers=(2, 3, 4),
    )
    bill = Table(
        "Bill",
        ("item", "amount", "hours", "dollars"),
        (
            ("training labels", "1,240 images", "51.2", "$768"),
            ("validation labels", "120 images", "5.0", "$75"),
            ("test labels", "136 images", "5.7", "$85"),
            ("total", "1,496 images", "61.9", "$928"),
        ),
        numbers=(1, 2, 3),
    )
    return Page(
        "Plan for $1,000: 80 classes, 60,000 images, $15 an hour",
        (
            ("Spend", "$928 on complete labels of 1,240 images, trained with P-ASL"),
            ("Expect", "58.7 mAP on new images; 34 % chance to reach the target of 60"),
            ("Range", "55.3 to 61.9 mAP with 90 % probability"),
            (
                "Trust",
                "Medium: the purchase is 3.9 times the largest measured; the pilot's two largest "
                "sizes were predicted within 1.1 points from the smaller ones",
            ),
            ("Time", "62 hours of annotation: 2 people, 4 weeks at 8 hours a week"),
            (
                "Next step",
                "buy 310 of the 1,240 images first ($192), run `simkit plan` again: this halves the "
                "range and decides between complete labels and FPC",
            ),
        ),
        (runners, bill),
        (
            Section("Rounds", ("Buy in three rounds and plan again after each.",),
                    table=Table("Rounds", ("round", "images", "dollars", "mAP"),
                                (("1", "310", "$192", "50.2"), ("2", "620", "$384", "55.0"),
                                 ("3", "1,240", "$768", "58.7")), (1, 2, 3))),
            Section("What would change the plan", items=(
                "Below $400 FPC with LL-R is ahead.",
                "At $25 an hour the same plan costs $1,547.")),
            Section("How the range was made", (
                "2,000 bootstrap draws of the pilot's runs, the power law fitted to each; the test "
                "set's own noise of 0.8 points is part of the range.",)),
            Section("Prices", ("hourly: $15 an hour, 2.1 seconds a question.",),
                    code="simkit list prices"),
        ),
        chart,
        "simkit plan runs/ --budget 1000 --images 60000 --target 60 --wage 15",
        "medium",
    )  # fmt: skip


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(report.html(example()), encoding="utf-8")
    print(report.terminal(example()))
