"""What a machine proposed, verified by people."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from simkit.annotate.simulate import simulate
from tests.annotate.conftest import random_truth

TRUTH = random_truth(N=3000, L=60, share=0.1)


def test_every_candidate_is_verified_and_billed():
    labels = simulate(TRUTH, "proposals", seed=3)
    assert labels.effort.counts() == {
        "verify": labels.codes.nnz, "workers": None, "dropped": 0
    }  # fmt: skip
    assert abs(labels.codes.nnz / 3000 - 7) < 4.5 * np.sqrt(7 / 3000)


@pytest.mark.parametrize("skew,low,high", [(0, 0.95, 1), (2, 0.2, 0.85), (5, -0.3, 0.6)])
def test_with_skew_annotated_counts_stop_following_frequency(skew, low, high):
    labels = simulate(TRUTH, f"proposals(skew={skew})")
    rank = spearmanr(labels.per_class(1), TRUTH.counts).statistic
    assert low <= rank <= high


def test_nothing_and_everything():
    nothing = simulate(TRUTH, "proposals(per_image=0)")
    assert nothing.codes.nnz == 0 and not nothing.asked.any() and not nothing.effort.kinds()
    everything = simulate(TRUTH, "proposals(per_image=1000, recall=1)")
    assert everything.counts()["unknown"] == 0
