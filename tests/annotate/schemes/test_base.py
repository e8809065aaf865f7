"""Schemes by name."""

import pytest

from simkit.annotate import schemes
from simkit.errors import BadInput


def test_the_schemes():
    assert {"single-positive", "rpa", "fpc", "knowledge-graph", "full-subset"} <= set(
        schemes.names()
    )


def test_settings_are_spelled_out():
    assert schemes.spell(schemes.make("fpc")) == (
        "fpc(per_class=100, search='proposals', precision=0.5, keep_looks=False)"
    )
    assert schemes.spell(schemes.make("single-positive")) == "single-positive"


@pytest.mark.parametrize(
    "spec,message",
    [
        ("fcp", "no scheme is called 'fcp'; did you mean 'fpc'?"),
        ("rpa(keep=1.5)", "rpa: keep is 1.5; a share from 0 to 1 is expected"),
        ("rpa(keep=-0.1)", "rpa: keep is -0.1; a share from 0 to 1 is expected"),
        ("rpa(keep=little)", "rpa: keep is 'little'; a number is expected"),
        ("rpa(per_class=3)", "no setting of scheme 'rpa' is called 'per_class'; known are keep"),
        ("fpc(per_class=0)", "fpc: per_class is 0; a whole number from 1 on is expected"),
        ("fpc(per_class=-5)", "fpc: per_class is -5; a whole number from 1 on is expected"),
        ("fpc(per_class=2.5)", "fpc: per_class is 2.5; a whole number is expected"),
        ("fpc(search=magic)", "fpc: search is 'magic'; it must be one of proposals, random"),
        ("fpc(precision=0)", "fpc: precision is 0.0; a share above 0 and up to 1 is expected"),
        (
            "knowledge-graph(mode=truth)",
            "knowledge-graph: mode is 'truth'; it must be one of verify",
        ),
    ],
)
def test_settings_that_cannot_be(spec, message):
    with pytest.raises(BadInput) as error:
        schemes.make(spec)
    assert str(error.value) == message


def test_values_are_checked_as_well_as_text():
    for settings, message in (
        ({"per_class": 2.5}, "fpc: per_class is 2.5; a whole number from 1 on is expected"),
        ({"per_class": "2"}, "fpc: per_class is '2'; a whole number from 1 on is expected"),
        ({"search": "magic"}, "fpc: search is 'magic'; it must be one of proposals, random"),
    ):
        with pytest.raises(BadInput) as error:
            schemes.schemes["fpc"](**settings)
        assert str(error.value) == message
