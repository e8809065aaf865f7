import pytest

from simkit.annotate.prices import prices
from simkit.planning.curves.fit import fit
from simkit.planning.evidence.evidence import Evidence


@pytest.fixture(scope="module")
def evidence(pilot):
    return Evidence.of(pilot)


@pytest.fixture(scope="module")
def curves(evidence):
    listed = prices("coco-tagging")
    pairs = [(way, method) for way, method in evidence.pairs if method in ("an", "ll-r")]
    return {pair: fit(evidence.points(*pair, listed), resamples=40) for pair in pairs}
