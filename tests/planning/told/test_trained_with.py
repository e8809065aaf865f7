"""Which settings of a method a plan tells."""

import pytest

from simkit.planning.evidence.ways import Way
from simkit.planning.told.trained_with import key_settings, trained_with

BASE = {"method_spec": "an", "lr": 0.1, "epochs": 12, "tuned": None}


@pytest.mark.parametrize(
    "row, told",
    [
        ({}, (("learning rate", "0.1"), ("epochs", "12"))),
        ({"method_spec": "an(pos_weight=1.0)"}, (("learning rate", "0.1"), ("epochs", "12"))),
        (
            {"method_spec": "ll-r(delta=0.5, k_of='batch', reproduce=None)"},
            (("delta", "0.5"), ("learning rate", "0.1")),
        ),
        (
            {"method_spec": "csl(gamma_pos=0.0, gamma_neg=1.0, gamma_unknown=2.0)"},
            (("gamma_unknown", "2.0"), ("learning rate", "0.1")),
        ),
        (
            {"method_spec": "ll-r(delta=0.5)", "tuned": '{"lr": 0.03}'},
            (("learning rate", "0.03, tuned"), ("delta", "0.5")),
        ),
        (
            {"method_spec": "ls-constant(temperature=-2.0)", "lr": None},
            (("temperature", "-2.0"), ("epochs", "12")),
        ),
    ],
)
def test_two_settings_are_told(row, told) -> None:
    assert key_settings(BASE | row) == told


def test_they_are_those_of_the_largest_run_on_file(pilot) -> None:
    found = trained_with([pilot], Way.of("rpa"), "ll-r")
    assert found.spec == "ll-r"
    assert found.settings == (("learning rate", "0.01"), ("epochs", "10"))


def test_a_method_that_is_not_on_file_is_told_by_name(pilot) -> None:
    found = trained_with([pilot], Way.of("rpa"), "asl")
    assert (found.spec, found.settings) == ("asl", ())
