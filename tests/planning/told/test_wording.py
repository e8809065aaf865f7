"""How numbers of a plan are written."""

import pytest

from simkit.planning.curves import reach
from simkit.planning.told.wording import (
    GRADES,
    exactly,
    in_cents,
    listed,
    percent,
    points,
    several,
    signed,
    span,
    times,
)


@pytest.mark.parametrize(
    "share, text", [(0.5, "50 %"), (1.0, "more than 99 %"), (0.0, "less than 1 %")]
)
def test_chances_from_samples_are_never_quite_sure(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("dollars", "text"),
    [(499.9, "$499.90"), (500.0, "$500"), (499.999, "$500"), (0.07, "$0.07"), (12e3, "$12,000")],
)
def test_dollars_to_the_cent(dollars: float, text: str) -> None:
    assert exactly(dollars) == text


def test_numbers_are_in_points() -> None:
    assert points(0.7134) == "71.3" and points(-0.0001) == "0.0"
    assert [signed(x) for x in (0.0123, -0.004, -0.0001, 0.0)] == ["+1.2", "-0.4", "0.0", "0.0"]
    assert span((0.1, 0.25)) == "10.0 to 25.0"


def test_every_grade_has_its_words_and_its_limits() -> None:
    assert list(GRADES) == ["green", "amber", "red"]
    assert f"at most {reach.GREEN:g} times" in GRADES["green"]
    assert f"{reach.GREEN:g} to {reach.AMBER:g} times" in GRADES["amber"]
    assert f"more than {reach.AMBER:g} times" in GRADES["red"]


def test_one_is_one() -> None:
    assert (several(1, "image"), several(2_000, "image")) == ("1 image", "2,000 images")
    assert several(2, "class", "classes") == "2 classes"
    assert [times(x) for x in (1.0, 1.04, 2.2, 9.96, 49.97, 390.2)] == [
        "1 time", "1 time", "2.2 times", "10 times", "50 times", "390 times",
    ]  # fmt: skip
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == [
        "a", "a and b", "a, b and c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("amounts", "most", "told"),
    [
        ([484.985, 15.015], 500.0, [484.99, 15.01]),
        ([1 / 3, 1 / 3, 1 / 3], 1.0, [0.34, 0.33, 0.33]),
        ([3.0, 0.75], 10.0, [3.0, 0.75]),
        ([29.996], 29.996, [29.99]),  # never above what there is
        ([], 5.0, []),
    ],
)
def test_cents_add_up(amounts, most, told) -> None:
    found = in_cents(amounts, most)
    assert found == told and sum(found) <= most + 1e-9
    assert sum(found) == pytest.approx(sum(amounts), abs=0.01)
