"""A share of all present labels, and absent ones in proportion."""

import numpy as np
import pytest

from simkit.annotate import sparse_draws
from simkit.annotate.simulate import simulate
from simkit.labels.truth import Truth

# 200 images x 20 classes, 10 % of them present.
N, L = 200, 20
TRUTH = Truth.of(np.random.default_rng(0).permutation(N * L).reshape(N, L) < 400)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(params=["permuted", "drawn"], autouse=True)
def route(request, monkeypatch) -> None:
    if request.param == "drawn":
        monkeypatch.setattr(sparse_draws, "PERMUTED", 0)


@pytest.mark.parametrize("keep", [0.0, 0.05, 0.3, 0.501, 1.0])
@pytest.mark.parametrize("ratio", [0, 0.5, 1.25, 3])
def test_counts_are_exact(keep, ratio):
    labels = simulate(TRUTH, f"fraction-of-positives(keep={keep}, ratio={ratio})")
    kept = round(400 * keep)
    counts = labels.counts()
    assert (counts["present"], counts["absent"]) == (kept, round(ratio * kept))
    # Every kept pair is named; one question for each absent one and each present one that was met,
    # which is dropped unless it was named.
    effort = labels.effort
    assert effort.count("name") == kept
    met = effort.count("verify") - counts["absent"]
    dropped = effort.counts()["dropped"]
    assert dropped <= met <= dropped + kept
    # About as many of those met were named as there are named ones.
    assert abs(met - dropped - keep * met) <= 4.5 * np.sqrt(met * keep * (1 - keep)) + 1e-9


def test_more_absent_labels_than_there_are():
    labels = simulate(TRUTH, "fraction-of-positives(keep=0.5, ratio=100)")
    assert labels.counts() == {"present": 200, "absent": 3600, "unknown": 200}
    assert labels.effort.count("verify") == 4000 and labels.effort.dropped == {"verify": 200}


def test_without_a_ratio_it_is_drawn_between_one_and_one_and_a_half():
    ratios = []
    for seed in range(60):
        counts = simulate(TRUTH, "fraction-of-positives(keep=0.5)", seed=seed).counts()
        assert counts["present"] == 200 and 200 <= counts["absent"] <= 300
        ratios.append(counts["absent"] / 200)
    # Mean and deviation of a uniform number from 1 to 1.5.
    assert abs(np.mean(ratios) - 1.25) < 4.5 * (0.5 / np.sqrt(12)) / np.sqrt(60)
    assert len(set(ratios)) > 40
    same = [simulate(TRUTH, f"fraction-of-positives(keep={k})").counts() for k in (0.25, 1 / 4)]
    assert same[0] == same[1]
    # One ratio for all shares of one seed.
    few, many = (simulate(TRUTH, f"fraction-of-positives(keep={k})").counts() for k in (0.5, 0.95))
    assert abs(few["absent"] / 200 - many["absent"] / 380) < 0.5 / 200 + 0.5 / 380


def test_everything_is_every_label():
    labels = simulate(TRUTH, "fraction-of-positives(keep=1)")
    assert labels.counts() == {"present": 400, "absent": 3600, "unknown": 0}
    assert labels.effort.counts() == {
        "verify": 4000, "name": 400, "workers": None, "dropped": 0
    }  # fmt: skip
