"""The chart: where things lie, told apart without colour, described in words."""

import re
from dataclasses import replace

import pytest

from simkit.planning.told.chart import MOST, chart, described, figure, legend, ticks
from tests.planning.sample import CHOSEN, LINES, sample


def polylines(text: str) -> list[list[tuple[float, float]]]:
    found = re.findall(r'<polyline points="([^"]+)"', text)
    return [[tuple(map(float, p.split(","))) for p in one.split()] for one in found]


def test_more_dollars_lie_to_the_right_and_more_map_higher() -> None:
    (*_, chosen) = polylines(chart(sample(), name="c"))  # drawn last, so on top
    assert len(chosen) == len(LINES[0].dollars)
    assert chosen == sorted(chosen)
    assert [y for _, y in chosen] == sorted((y for _, y in chosen), reverse=True)


def test_the_axis_is_a_log_axis() -> None:
    points = polylines(chart(sample(), name="c"))[-1]
    (a, _), (b, _), _, (d, _) = points
    assert b - a == pytest.approx((d - a) * 0.3757, abs=0.3)  # log 4 / log 40


def test_lines_are_told_apart_in_black_and_white() -> None:
    text = chart(sample(lines=LINES * 2), name="c")
    looks = re.findall(r'<polyline [^>]*stroke-width="([^"]+)" stroke-dasharray="([^"]*)"', text)
    assert len(looks) == MOST == len(set(looks))
    assert legend(sample(lines=LINES)).count("<li>") == 3


def test_every_run_of_the_pilot_is_a_mark() -> None:
    text = chart(sample(lines=LINES[:1]), name="c")
    assert text.count('r="3.2"') == 4


def test_budget_pilot_and_choice_are_there() -> None:
    text = chart(sample(), name="c")
    assert (
        ">budget</text>" in text
        and ">pilot ends</text>" in text
        and ">choice 71.2 mAP</text>" in text
    )
    budget = float(re.search(r'<line class="budget" x1="([\d.]+)"', text)[1])
    choice = float(re.search(r'<circle class="choice" cx="([\d.]+)"', text)[1])
    pilot = float(re.search(r'<line class="pilot" x1="([\d.]+)"', text)[1])
    assert pilot < choice < budget


def test_it_is_described_for_those_who_do_not_see_it() -> None:
    told = described(sample(lines=LINES[:1]))
    assert told == (
        "single-positive trained with ll-r: 50.0 mAP at $100, 71.2 at $4,000 (90 % band 68.4 to "
        "74.1). The choice is $4,000 with 71.2 mAP; the budget has $4,400 for labels."
    )
    assert told in chart(sample(lines=LINES[:1]), name="c")


@pytest.mark.parametrize("low, high", [(0.02, 0.5), (60, 940), (1, 1e9), (3.0, 3.2), (99, 101)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert len(found) <= 7 and all(low <= one <= high for one in found)
    if high / low > 10:
        assert len(found) >= 2


def test_what_is_flat_or_a_single_place_is_still_drawn() -> None:
    flat = replace(
        LINES[0], dollars=(5.0,), median=(0.5,), low5=(0.5,), high95=(0.5,), points=((5.0, 0.5),)
    )
    plan = sample(lines=(flat,), chosen=replace(CHOSEN, dollars=5.0, times=1.0), left=5.0)
    assert "nan" not in chart(plan, name="c")


def test_without_curves_there_is_no_chart() -> None:
    assert chart(sample(lines=()), name="c") == ""


def test_the_words_at_the_choice_lie_on_no_curve() -> None:
    near = replace(LINES[1], median=(0.45, 0.57, 0.64, 0.66))  # just below the choice's bar
    for lines in (LINES, (LINES[0], near, LINES[2])):
        text = chart(sample(lines=lines), name="c")
        found = re.search(r'class="strong" x="([\d.]+)" y="([\d.]+)"', text)
        x, y = float(found[1]), float(found[2]) - 5
        for line in polylines(text):
            assert all(abs(b - y) > 10 for a, b in line if x - 70 <= a <= x)


def test_marks_that_are_of_other_images_than_the_lines_say_so() -> None:
    assert "small marks the pilot's runs;" in figure(sample(), name="c")
    told = figure(sample(images="new images"), name="c")
    assert "small marks the pilot's runs on its own test images;" in told
