import os
from pathlib import Path

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.aids.prepare import prepare
from simkit.learn.aids.prior import ClassPrior
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.steps.optim import Settings
from simkit.study.analysis.priors.prior import COUNTED, estimates, priors, rank_agreement

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


def test_the_share_is_of_the_images_that_the_truth_knows():
    share, images = np.array([0.9, 0.8, 0.6, 0.5, 0.2]), np.array([10, 20, 40, 80, 100])
    rows = np.arange(100)[:, None]
    truth = Truth.of(rows < share * images, known=rows < images)
    perfect = {"perfect": ClassPrior(share)}
    assert priors(truth, perfect)["true"].to_pylist() == pytest.approx(share.tolist())
    assert rank_agreement(truth, perfect)["spearman"].to_pylist() == pytest.approx([1.0])
    blank = Truth.of(np.zeros((2, 1)), known=np.zeros((2, 1)))
    assert priors(blank, {"any": ClassPrior([0.5])})["true"].to_pylist() == [0.0]


def test_a_prior_of_other_classes_is_refused():
    with pytest.raises(BadInput) as error:
        priors(TRUTH, {"odd": ClassPrior([0.1, 0.2], ("ape", "bees"))})
    assert str(error.value) == "no class of the prior is called 'bee'; did you mean 'bees'?"


@pytest.mark.parametrize("top", [2.5, 1, 5, True])
def test_tops_are_numbers_of_classes(top):
    for tops in (top, (top,)):
        with pytest.raises(BadInput) as error:
            rank_agreement(TRUTH, {"given": GOOD}, tops)
        assert str(error.value) == (
            f"rank_agreement: one of tops is {top}; a whole number from 2 to 4 is expected"
        )
    with pytest.raises(BadInput, match=r"^rank_agreement: the truth has one class; an order needs"):
        rank_agreement(Truth.of(np.ones((2, 1))), {"given": ClassPrior([0.5])})


def test_no_estimate_is_named():
    for act, name in ((priors, "priors"), (rank_agreement, "rank_agreement")):
        for given, came in (({}, "came"), (GOOD, "came by name, but a ClassPrior")):
            with pytest.raises(BadInput) as error:
                act(TRUTH, given)
            assert str(error.value) == (
                f"{name}: no estimate {came}; give some, as {{'ignore': prior}}"
            )


def test_a_constant_estimate_has_no_correlation_and_tops_reach_to_all_classes():
    flat = ClassPrior([0.2, 0.2, 0.2, 0.2])
    table = rank_agreement(TRUTH, {"flat": flat, "given": GOOD})
    assert table["top"].to_pylist() == [4, 4]
    assert table["spearman"].null_count == 1 and table["spearman"][0].as_py() is None


def task_of_two_classes(N: int = 400) -> tuple[Truth, Task]:
    """The first class is in 80 % of the images, the second in 20 %; ten labels of each kind."""
    chance = np.random.default_rng(0)
    present = chance.random((N, 2)) < (0.8, 0.2)
    codes = np.zeros((N, 2), np.int8)
    for c in range(2):
        for sign, where in ((1, present[:, c]), (-1, ~present[:, c])):
            codes[np.flatnonzero(where)[:10], c] = sign
    features = present + 0.1 * chance.standard_normal((N, 2))
    return Truth.of(present), Task(codes, FeatureInputs(features.astype(np.float32)))


def test_ignoring_finds_the_shares_and_assuming_negative_and_counting_do_not():
    truth, task = task_of_two_classes()
    found = estimates(task, "ignore, an, labels", settings=Settings(epochs=30, lr=0.1))
    assert list(found) == ["ignore", "an", COUNTED]
    true = truth.counts / len(truth.present.toarray())
    np.testing.assert_allclose(found["ignore"].values, true, atol=0.1)
    assert (found["an"].values < 0.3).all()
    np.testing.assert_allclose(found[COUNTED].values, 10 / 400)
    again = estimates(task, ("ignore",), settings=Settings(epochs=30, lr=0.1))["ignore"]
    assert again.id == found["ignore"].id
    built = prepare(task, make("csl"), settings=Settings(epochs=30, lr=0.1)).aid(ClassPrior)
    np.testing.assert_array_equal(built.values, again.values)  # what CSL goes by


def test_nothing_to_estimate_by_is_refused():
    with pytest.raises(BadInput) as error:
        estimates(task_of_two_classes()[1], ())
    assert str(error.value) == (
        "estimates: no method is named; name those to estimate by, as ignore, or labels"
    )


@pytest.mark.skipif("SIMKIT_DATA" not in os.environ, reason="SIMKIT_DATA names no real data")
def test_the_published_prior_of_coco_agrees_with_the_truth_as_published():
    """Figure 7: 0.81 over all 80 classes, at 1,000 labels per class; figure 11: the top ten."""
    data = Path(os.environ["SIMKIT_DATA"])
    with np.load(data / "labels" / "coco2014_train_cooccurrence.npz") as file:
        classes, counts = tuple(file["class_names"].tolist()), file["image_counts"]
    # Only counts are known of the training images; any truth with these shares will do.
    shares = np.round(1000 * counts / 82081).astype(int)
    truth = Truth.of(np.arange(1000)[:, None] < shares, classes=classes)
    published = {"published": ClassPrior.load(data / "meta" / "prior_fpc_1000.csv")}
    (row,) = rank_agreement(truth, published, (80,)).to_pylist()
    assert row["spearman"] == pytest.approx(0.81, abs=0.015)
    table = priors(truth, published).to_pylist()
    top = sorted(table, key=lambda row: -row["prior"])[:10]
    assert top[0]["class"] == "person" and max(row["rank"] for row in top) < 15
