"""Schemes by name."""

import numpy as np
import pytest

from simkit.annotate import schemes
from simkit.errors import BadInput


def test_the_schemes():
    assert {
        "single-positive", "rpa", "fpc", "knowledge-graph", "full-subset",
        "fraction-of-positives", "federated", "proposals", "mixed",
    } <= set(schemes.names())  # fmt: skip


def test_settings_are_spelled_out():
    assert schemes.spell(schemes.make("fpc")) == (
        "fpc(per_class=100, search='proposals', precision=0.5, keep_looks=False)"
    )
    assert schemes.spell(schemes.make("full-subset")) == "full-subset"


@pytest.mark.parametrize(
    "spec,message",
    [
        ("fcp", "no scheme is called 'fcp'"),
        ("rpa(keep=1.5)", "rpa: keep is 1.5"),
        ("rpa(keep=-0.1)", "rpa: keep is -0.1"),
        ("rpa(keep=little)", "rpa: keep is 'little'"),
        ("rpa(per_class=3)", "no setting of scheme 'rpa' is called 'per_class'"),
        ("fpc(per_class=0)", "fpc: per_class is 0"),
        ("fpc(per_class=-5)", "fpc: per_class is -5"),
        ("fpc(per_class=2.5)", "fpc: per_class is 2.5"),
        ("fpc(search=magic)", "fpc: search is 'magic'"),
        ("fpc(precision=0)", "fpc: precision is 0.0"),
        ("fpc(precision=1e-7)", "fpc: precision is 1e-07"),
        ("fpc(per_class=9223372036854775808)", "fpc: per_class is 9223372036854775808"),
        ("knowledge-graph(mode=all)", "knowledge-graph: mode is 'all'"),
    ],
)
def test_settings_that_cannot_be(spec, message):
    with pytest.raises(BadInput) as error:
        schemes.make(spec)
    assert message in str(error.value)


def test_numbers_of_numpy_are_numbers():
    scheme = schemes.get("fpc")(
        per_class=np.int64(7), precision=np.float32(0.25), keep_looks=np.True_
    )
    spelled = "fpc(per_class=7, search='proposals', precision=0.25, keep_looks=True)"
    assert schemes.spell(scheme) == spelled
    assert schemes.make(spelled) == scheme
