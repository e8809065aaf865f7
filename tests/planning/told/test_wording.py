"""How numbers of a plan are written."""

import pytest

from simkit.planning.curves import reach
from simkit.planning.told.wording import GRADES, percent, points, signed, span


@pytest.mark.parametrize(
    "share, text", [(0.5, "50 %"), (1.0, "more than 99 %"), (0.0, "less than 1 %")]
)
def test_chances_from_samples_are_never_quite_sure(share: float, text: str) -> None:
    assert percent(share) == text


def test_numbers_are_in_points() -> None:
    assert points(0.7134) == "71.3" and points(-0.0001) == "0.0"
    assert [signed(x) for x in (0.0123, -0.004, -0.0001, 0.0)] == ["+1.2", "-0.4", "0.0", "0.0"]
    assert span((0.1, 0.25)) == "10.0 to 25.0"


def test_every_grade_has_its_words_and_its_limits() -> None:
    assert list(GRADES) == ["green", "amber", "red"]
    assert f"at most {reach.GREEN:g} times" in GRADES["green"]
    assert f"{reach.GREEN:g} to {reach.AMBER:g} times" in GRADES["amber"]
    assert f"more than {reach.AMBER:g} times" in GRADES["red"]
