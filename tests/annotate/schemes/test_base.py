"""Schemes by name."""

import pytest

from simkit.annotate import schemes
from simkit.errors import BadInput


@pytest.mark.parametrize(
    "spec,message",
    [
        ("fcp", "no scheme is called 'fcp'"),
        ("rpa(keep=1.5)", "rpa: keep is 1.5"),
        ("rpa(keep=little)", "rpa: keep is 'little'"),
        ("fraction-of-positives(ratio=-1)", "fraction-of-positives: ratio is -1"),
        ("single-positive(negatives=-1)", "single-positive: negatives is -1"),
        ("rpa(per_class=3)", "no setting of scheme 'rpa' is called 'per_class'"),
        ("fpc(per_class=0)", "fpc: per_class is 0"),
        ("fpc(per_class=2.5)", "fpc: per_class is 2.5"),
        ("fpc(search=magic)", "fpc: search is 'magic'"),
        ("fpc(precision=1e-7)", "fpc: precision is 1e-07"),
        ("fpc(per_class=9223372036854775808)", "fpc: per_class is 9223372036854775808"),
        ("knowledge-graph(mode=all)", "knowledge-graph: mode is 'all'"),
    ],
)
def test_settings_that_cannot_be(spec, message):
    with pytest.raises(BadInput) as error:
        schemes.make(spec)
    assert message in str(error.value)
