import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.prior import ClassPrior
from simkit.study.analysis.priors.prior import priors, rank_agreement

TRUTH = Truth.of(
    np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1], [0, 1, 0, 0]]),
    classes=("ape", "bee", "cow", "dog"),
)  # in 2, 3, 2 and 1 of 4 images
GOOD = ClassPrior([0.4, 0.7, 0.3, 0.1])
NAMED = ClassPrior([0.9, 0.2, 0.3, 0.4], ("dog", "cow", "bee", "ape"))


def test_classes_stand_in_the_order_of_their_true_frequency():
    table = priors(TRUTH, {"given": GOOD, "named": NAMED})
    assert table["class"].to_pylist() == ["bee", "ape", "cow", "dog"] * 2
    assert table["rank"].to_pylist() == [0, 1, 2, 3] * 2
    assert table["true"].to_pylist() == [0.75, 0.5, 0.5, 0.25] * 2
    assert table["prior"].to_pylist() == [0.7, 0.4, 0.3, 0.1, 0.3, 0.4, 0.2, 0.9]
    assert table["estimate"].to_pylist() == ["given"] * 4 + ["named"] * 4


def test_agreement_over_the_most_frequent_classes():
    table = rank_agreement(TRUTH, {"given": GOOD, "named": NAMED}, (2, 4))
    assert table["top"].to_pylist() == [2, 4, 2, 4]
    # Ranks of the truth 4, 2.5, 2.5, 1; given 4, 3, 2, 1: 4.5 / sqrt(4.5 * 5). Named 2, 3, 1, 4.
    wanted = [1.0, 4.5 / np.sqrt(22.5), -1.0, -3 / np.sqrt(22.5)]
    np.testing.assert_allclose(table["spearman"].to_pylist(), wanted)


def test_a_prior_of_other_classes_is_refused():
    with pytest.raises(BadInput) as error:
        priors(TRUTH, {"odd": ClassPrior([0.1, 0.2], ("ape", "bees"))})
    assert str(error.value) == "no class of the prior is called 'bee'; did you mean 'bees'?"
