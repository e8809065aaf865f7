"""How much is asked for, and what contradicts it."""

from typing import Any

import pytest

from simkit.annotate import schemes
from simkit.cli.amounts import check_amounts, images
from simkit.errors import BadInput


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1.0", 1.0),
        ("500", 500),
        (" 7 ", 7),
        ("10,000", 10_000),
        ("2.5k", 2500),
        ("1e-3", 0.001),
        ("50%", 0.5),
        ("1e-05", 1e-5),
    ],
)
def test_whole_numbers_count_images(text: str, value: float) -> None:
    assert (images(text), type(images(text))) == (value, type(value))


@pytest.mark.parametrize("text", ["", "lots", "1/2", "-3", "0", "2,5", "1.5"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="or a number of images is expected"):
        images(text)


GIVEN = {
    "scheme": "rpa", "keep": None, "budget": None, "legacy_rng": False, "unit": "dollars",
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 5.0, "keep": 0.1}, "leave one of them out"),
        ({"budget": 5.0, "scheme": "rpa(keep=0.1)"}, "leave one of them out"),
        ({"budget": 5.0, "legacy_rng": True}, "whose amount is stated and not bought"),
        ({"unit": "hours"}, "there is no --budget"),
    ],
)
def test_options_that_contradict_each_other(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        check_amounts(schemes.make("rpa"), GIVEN | given)
    check_amounts(schemes.make("rpa"), GIVEN)
