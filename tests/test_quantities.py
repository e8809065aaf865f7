"""Dollars, counts, shares and scores, as people type them."""

import math

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.quantities import count, dollars, in_cents, points, points_apart, score, share


@pytest.mark.parametrize(
    ("read", "value", "number"),
    [
        (dollars, 2000, 2000.0),
        (dollars, 0, 0.0),
        (dollars, "$2,000", 2000.0),
        (dollars, " 2 000 ", 2000.0),
        (dollars, "2k", 2000.0),
        (dollars, "$2.5k", 2500.0),
        (dollars, "0.035", 0.035),
        (dollars, "1.2990", 1.299),
        (count, 10_000.0, 10_000),
        (count, np.int64(7), 7),
        (count, "2.3k", 2300),
        (share, 1, 1.0),
        (share, "5%", 0.05),
        (share, ".5", 0.5),
        (score, 60, 0.6),
        (score, np.float32(0.5), 0.5),
        (score, "60%", 0.6),
        (score, "0.6%", 0.006),
    ],
)
def test_what_people_type(read, value, number) -> None:
    found = read(value, "field")
    assert (found, type(found)) == (number, int if read is count else float)


NOTHING = [True, np.True_, None, math.nan, math.inf, -1, -0.5, "", " ", "nan", "-5", "many",
           "5 x", 10**400, "1e99", "2,5", "0,500", "2.000.000", "1,000 000", [5], "５"]  # fmt: skip


@pytest.mark.parametrize("read", [dollars, count, share, score])
@pytest.mark.parametrize("value", NOTHING, ids=lambda value: repr(value)[:12])
def test_the_rest_is_refused_with_field_and_mend(read, value) -> None:
    with pytest.raises(BadInput, match=r"^--field is .*expected: write "):
        read(value, "--field")


@pytest.mark.parametrize(
    ("read", "value", "mend"),
    [
        (dollars, "5%", "write 2000"),
        (dollars, "2,5", "commas separate thousands"),
        (dollars, "2.000", "write 2,000 or 2.0000.*commas separate thousands"),
        (dollars, "$1.299", "write 1,299 or 1.2990"),
        (dollars, "1.200 $", "write 1,200 or 1.2000"),
        (dollars, ".5k", "single quotes"),  # what a shell makes of $2.5k
        (dollars, ",000", "single quotes"),  # of $2,000
        (dollars, "000", "single quotes"),  # of $2000
        (count, 0, "write 10000"),
        (count, 2.5, "write 10000"),
        (count, "$10", "write 10000"),
        (share, 0, "write 5% or 0.05"),
        (share, 95, "write 95% or 0.95"),
        (share, "12.5", "write 12.5% or 0.125"),
        (share, "120%", "write 5% or 0.05"),
        (score, 1, "write 60% or 0.6"),
        (score, 100, "write 60% or 0.6"),
        (score, "1k", "write 60% or 0.6"),
    ],
)
def test_each_has_limits(read, value, mend) -> None:
    with pytest.raises(BadInput, match=mend):
        read(value, "field")


def test_cents_add_up_and_small_amounts_read_the_same_in_every_bill():
    assert in_cents([0.334] * 3) == [0.34, 0.33, 0.33]  # 1.00 in all
    assert in_cents([5.003, 0.534]) == [5.01, 0.53]  # a small one reads the same in every bill
    assert in_cents([0.534, 2.0, 0.534]) == [0.54, 2.0, 0.53]
    assert in_cents([0.336] * 2) == [0.33, 0.34]
    assert in_cents([]) == []


def test_differences_of_map_are_those_of_the_printed_numbers() -> None:
    assert points(0.41059) == "41.1" and points(float("nan")) == "none"
    # 33.84 and 29.16 are 4.68 apart, but are printed as 33.8 and 29.2.
    assert points_apart(0.3384, 0.2916) == 4.6
