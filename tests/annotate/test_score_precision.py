"""Precision and recall of a model's scores, and their intervals, with images as the unit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, binomtest

from simkit.annotate.schemes import MISSING
from simkit.annotate.score_precision import (
    expected_recall,
    interval,
    precision_and_recall,
    sure_threshold,
)
from simkit.annotate.simulate import simulate

NAMES = tuple("abcdefgh")


def model(images: int, seed: int, L: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels; both are higher in some images than in others."""
    rng = np.random.default_rng(seed)
    image = rng.normal(0, 1, (images, 1))
    scores = image + np.linspace(-4, -1, L) + rng.normal(0, 2, (images, L))
    present = rng.random((images, L)) < expit(0.9 * scores + 0.3 * image)
    return scores, np.where(present, 1, -1).astype(np.int8)


def test_numbers_are_those_of_a_count_by_hand() -> None:
    scores = np.array([[3.0, 1.0, -2.0], [MISSING, 0.5, 2.5], [-1.0, MISSING, 2.0]])
    labels = np.array([[1, -1, 1], [1, 1, 1], [-1, -1, 0]], np.int8)
    table = precision_and_recall(scores, labels, ("a", "b", "c")).set_index(["class", "depth"])
    columns = ["proposed", "right", "present"]
    expected = {
        ("", "first 1"): [2, 2, 5], ("", "first 2"): [5, 3, 5], ("", "first 3"): [6, 4, 5],
        ("", "probability 0.9"): [2, 2, 5], ("", "probability 0.7"): [3, 2, 5],
        ("", "probability 0.5"): [4, 3, 5],
        ("", "probability 0.3"): [4, 3, 5], ("", "probability 0.1"): [6, 4, 5],
        ("a", "first 1"): [1, 1, 2], ("b", "first 2"): [2, 1, 1], ("c", "first 1"): [1, 1, 2],
        ("c", "probability 0.5"): [1, 1, 2], ("a", "probability 0.5"): [1, 1, 2],
    }  # fmt: skip
    for row, numbers in expected.items():
        assert table.loc[row, columns].tolist() == numbers, row
        proposed, right, present = numbers
        assert table.loc[row, "precision"] == right / proposed
        assert table.loc[row, "recall"] == right / present
    assert list(table.index.get_level_values("class").unique()) == ["", "a", "b", "c"]


def test_a_pair_of_each_image_has_the_exact_interval() -> None:
    scores, labels = model(150, 0)
    scores[:, 0] = -9
    table = precision_and_recall(scores, labels, NAMES)
    rows = table[(table["class"] != "") | (table["depth"] == "first 1")]
    assert (rows["proposed"] > 0).sum() > 50
    for name, of in (("precision", "proposed"), ("recall", "present")):
        # All classes together have several present ones in an image.
        for row in rows[
            (rows[of] > 0) & ((name == "precision") | (rows["class"] != ""))
        ].itertuples():
            exact = binomtest(row.right, getattr(row, of)).proportion_ci(0.95, "exact")
            ends = getattr(row, f"{name}_low"), getattr(row, f"{name}_high")
            assert ends == pytest.approx([exact.low, exact.high], abs=1e-9), row
    nothing = table[table["proposed"] == 0]
    assert len(nothing) and nothing["precision_low"].isna().all()


def test_pairs_of_one_image_count_as_their_variance_between_images_says() -> None:
    of = np.array([4, 2, 3, 1, 4, 2], float)
    right = np.array([4, 1, 3, 0, 1, 2], float)
    share = 11 / 16
    variance = sum((r - share * n) ** 2 for r, n in zip(right, of, strict=True)) * 6 / 5 / 16**2
    number = share * (1 - share) / variance
    assert 6 < number < 16  # fewer than pairs
    low, high = interval(right[:, None], of[:, None])
    assert low[0] == pytest.approx(beta.ppf(0.025, share * number, (1 - share) * number + 1))
    assert high[0] == pytest.approx(beta.ppf(0.975, share * number + 1, (1 - share) * number))
    low, high = interval(right[:, None], of[:, None], level=0.9)
    assert low[0] == pytest.approx(beta.ppf(0.05, share * number, (1 - share) * number + 1))
    # Images that are wholly right or wrong count once; images that are all alike, as their pairs.
    whole = interval(np.array([[4.0], [0], [4], [4], [0], [4]]), np.full((6, 1), 4.0))
    once = binomtest(4, 6).proportion_ci(0.95, "exact")
    assert abs(whole[1][0] - whole[0][0]) == pytest.approx(once.high - once.low, abs=0.06)
    alike = interval(np.full((6, 1), 2.0), np.full((6, 1), 4.0))
    pairs = binomtest(12, 24).proportion_ci(0.95, "exact")
    assert (alike[0][0], alike[1][0]) == pytest.approx((pairs.low, pairs.high))
    nearly = interval(np.array([[2.0], [2], [2], [2], [2], [1]]), np.full((6, 1), 4.0))
    pairs = binomtest(11, 24).proportion_ci(0.95, "exact")  # never more than the pairs
    assert (nearly[0][0], nearly[1][0]) == pytest.approx((pairs.low, pairs.high))
    one = interval(np.array([[3.0]]), np.array([[4.0]]))
    assert one[0][0] < 0.05 and one[1][0] > 0.99


def test_intervals_hold_the_precision_and_recall_of_the_model() -> None:
    """About 95 % of the intervals in 200 samples; if all did, they would be too wide."""
    truth = precision_and_recall(*model(200_000, 1), NAMES)
    held = {"precision": [], "recall": []}
    for seed in range(200):
        table = precision_and_recall(*model(150, 100 + seed), NAMES)
        for name, rows in held.items():
            inside = truth[name].between(table[f"{name}_low"], table[f"{name}_high"])
            rows.append(inside.where(table[name].notna()).astype(float).to_numpy())
    for rows in held.values():
        assert 0.955 < np.nanmean(rows) < 0.98
        together = np.nanmean(rows, axis=0)[:10]  # all classes
        assert together.min() > 0.9 and 0.93 < together.mean() < 0.985


@pytest.mark.parametrize(("present", "bound"), [(True, 0.2), (False, 0.04)])
def test_beyond_the_threshold_labels_are_wrong_as_often_as_allowed_in_5_of_100_samples(
    present: bool, bound: float
) -> None:
    scores, labels = model(200_000, 2)
    found_one = broken = 0
    for seed in range(200):
        start = sure_threshold(*model(200, 300 + seed), present=present, bound=bound)
        if start is not None:
            sure = scores >= logit(start) if present else scores <= logit(start)
            found_one += 1
            broken += (labels[sure] == (-1 if present else 1)).mean() > bound
    assert found_one > 150 and broken <= 10


def test_the_threshold_includes_the_last_set_that_passes() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, (400, 4))
    labels = np.where(scores > 1, 1, -1).astype(np.int8)
    start = sure_threshold(scores, labels, present=True, bound=0.05)
    assert start is not None and len(str(start)) <= 6
    sets = [100 * 1.25**n for n in range(20)]  # one mistake in 100 shows 5 %
    passed = []
    for size in sets:
        last = np.sort(scores.ravel())[::-1][int(size) - 1]
        taken = (scores >= last).astype(float).sum(axis=1)
        wrong = ((scores >= last) & (labels < 0)).astype(float).sum(axis=1)
        if size > 800 or interval(wrong[:, None], taken[:, None], level=0.9)[1][0] > 0.05:
            break
        passed.append((scores >= last).sum())
    assert len(passed) > 3 and (scores >= logit(start)).sum() == passed[-1]
    assert (labels[scores >= logit(start)] < 0).mean() <= 0.05
    wrong_everywhere = -labels
    assert sure_threshold(scores, wrong_everywhere, present=True, bound=0.05) is None
    scores[:, 1:] = MISSING
    right = np.ones_like(labels)
    for present, most in ((True, right), (False, -right)):
        some = sure_threshold(scores, most, present=present, bound=0.05)
        assert some is not None
        sure = scores[:, 0] >= logit(some) if present else scores[:, 0] <= logit(some)
        assert sure.sum() == 195  # 100 * 1.25**3: at most half of the scored pairs
    assert sure_threshold(scores[:150], labels[:150], present=True, bound=0.05) is None  # too few


def test_proposals_find_as_much_as_expected() -> None:
    scores, labels = model(300, 5)
    scores[:200, 3:] = MISSING
    share, low, high = expected_recall(scores, labels, 4.0)
    present = labels > 0
    shares = []
    for seed in range(60):
        bought = simulate(present, "proposals(by=scores, per_image=4)", scores=scores, seed=seed)
        shares.append((bought.codes.toarray() > 0).sum() / present.sum())
    assert share == pytest.approx(np.mean(shares), abs=0.006)
    assert low < share < high and 0.05 < high - low < 0.15
