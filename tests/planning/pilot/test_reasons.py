"""Why a pilot is what it is."""

import pytest

from simkit.planning.pilot.design import pilot
from simkit.planning.pilot.reasons import why
from simkit.planning.pilot.standin import like


@pytest.fixture(scope="module")
def made():
    return pilot(like(20, 2.0, images=400), "careful", 200.0, schemes=["full-subset"])


def test_the_money_of_the_pilot_is_not_spent_twice(made) -> None:
    assert made.dollars == pytest.approx(30, abs=0.1)
    assert (
        "The pilot's labels cost $30.00, so the plan afterwards is for the $170.00 that are left; "
        "the pilot's own labels are there besides and are not counted again"
    ) in list(why(made))


def test_schemes_that_buy_more_images_need_no_limit(made) -> None:
    assert not any("used up" in reason for reason in why(made))


def test_no_sentence_brings_its_full_stop(made) -> None:
    assert all(reason and not reason.endswith(".") for reason in why(made))
