import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from scipy.stats import binomtest, norm
from sklearn.metrics import f1_score

from simkit.errors import BadInput
from simkit.metrics import at_k, f1, f1_thresholds, mean_ap, precision_recall, ranking, top1
from simkit.metrics.thresholds import exact_interval
from tests.reference import metrics as slow


def test_thresholds_by_hand():
    scores = np.array([[0.9, 0.9], [0.7, 0.7], [0.5, 0.5], [0.1, 0.1]])
    present = np.array([[1, 0], [0, 0], [1, 0], [0, 0]], bool)
    # from 0.9 on: 1 of 1 called, 1 of 2 found, F1 2/3; from 0.5 on: 2 of 3 and 2 of 2, 4/5
    assert f1_thresholds(scores, present).tolist() == [0.5, 0.9]
    assert f1(scores, present, [0.5, 0.9])[0] == pytest.approx(0.8, abs=1e-15)


def test_precision_and_recall_by_hand():
    scores = np.array([[0.9, 0.2, 0.8, 0.9], [0.7, 0.4, 0.1, 0.8], [0.3, 0.3, 0.1, 0.7]])
    present = np.array([[1, 1, 1, 1], [0, 0, 0, 1], [1, 0, 0, 1]], bool)
    # The second class is never predicted; the fourth has no absent image.
    precision, recall = precision_recall(scores, present, 0.5)
    np.testing.assert_allclose(precision, [1 / 2, np.nan, 1, np.nan])
    np.testing.assert_allclose(recall, [1 / 2, 0, 1, 1])
    known = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]], bool)
    precision, recall = precision_recall(scores, present, [0.7, 0.3, 0.1, 0.75], known)
    np.testing.assert_allclose(precision, [1 / 2, 0, 1 / 3, np.nan])
    np.testing.assert_allclose(recall, [1, 0, 1, 2 / 3])
    assert np.isnan(precision_recall(scores, ~present, 0.5)[1][3])


def test_scores_that_are_stored_sparsely_rank_above_those_that_are_not():
    rng = np.random.default_rng(2)
    scores = np.where(rng.random((40, 5)) < 0.7, rng.random((40, 5)) + 1, 0)
    present = rng.random((40, 5)) < 0.4
    some = csr_array(scores)
    np.testing.assert_array_equal(f1(some, present, 1.5), f1(scores, present, 1.5, scores > 0))
    assert top1(some, present) == top1(scores, present)
    assert at_k(some, present, 2) == at_k(scores, present, 2)


def test_of_thresholds_that_do_equally_well_the_largest_is_taken():
    scores = np.arange(9, 0, -1)[:, None]
    present = np.isin(scores, [9, 5, 1])
    # F1 is 2 x 1 / (1 + 3) from 9 on, 2 x 2 / (5 + 3) from 5 on, 2 x 3 / (9 + 3) from 1 on
    assert f1_thresholds(scores, present).tolist() == [9]
    assert f1_thresholds(scores[:-1], present[:-1]).tolist() == [9]
    assert f1_thresholds(scores[1:], present[1:]).tolist() == [1]  # 2/6 and 4/10


def test_intervals_are_those_of_clopper_and_pearson():
    right, of = np.array([0, 1, 3, 8, 57]), np.array([5, 9, 4, 8, 80])
    for level in (0.95, 0.8):
        wanted = [
            binomtest(k, n).proportion_ci(level, "exact") for k, n in zip(right, of, strict=True)
        ]
        np.testing.assert_allclose(np.transpose(exact_interval(right / of, of, level)), wanted)
    np.testing.assert_allclose(
        exact_interval(np.array([8 / 8]), np.array([8]))[0], 0.025 ** (1 / 8)
    )
    assert np.isnan(exact_interval(np.array([0.0]), np.array([0]))).all()


@pytest.mark.parametrize("precision", [0.3, 0.6])
def test_thresholds_at_a_precision_have_the_highest_f1_among_those_that_surely_reach_it(precision):
    rng = np.random.default_rng(5)
    present, known = rng.random((400, 8)) < 0.4, rng.random((400, 8)) < 0.9
    known[19:, 1] = False  # too few images
    scores = np.round(rng.normal(size=(400, 8)) + np.arange(8) / 3 * present, 1)  # with ties
    present[:, 0] = False
    wanted, more = np.full(8, np.inf), 0
    for c, of in enumerate(known.T):
        numbers = [n for n in (20, 40, 80, 160, 320) if n <= of.sum()]
        best, part = 0.0, 0.0
        for number in numbers:
            part += 0.05 / len(numbers)
            limits = [x for x in np.unique(scores[of, c]) if (scores[of, c] >= x).sum() <= number]
            called = scores[of, c] >= (min(limits) if limits else np.inf)
            hits = int((called & present[of, c]).sum())
            if binomtest(hits, number, precision, "greater").pvalue > part:
                part = 0.0
                continue
            more += part > 0.05 / len(numbers)
            reached = 2 * hits / (called.sum() + present[of, c].sum())
            if reached > best:
                best, wanted[c] = reached, scores[of, c][called & present[of, c]].min()
    assert more and 1 < np.isinf(wanted).sum() < 8
    found = f1_thresholds(scores, present, known, precision=precision)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("precision", [0.5, 0.8])
@pytest.mark.parametrize("images", [150, 1000])
def test_the_precision_of_thresholds_is_kept_on_new_images(precision, images):
    """Of classes whose precision is a little too low from any score on, 5 % get tags at most: with
    the lowest threshold whose own interval reaches it, 10 to 21 % would. Where scores tell more,
    fewer than 2 % of the tagged classes are below."""
    rng = np.random.default_rng(0)

    def drawn(images, share, distance):
        present = rng.random((images, len(share))) < share
        return rng.normal(size=present.shape) + distance * present, present

    below = np.full(2000, precision - 0.001)
    tagged = np.isfinite(f1_thresholds(*drawn(images, below, 0.0), precision=precision))
    assert 0.005 < tagged.mean() < 0.05
    share, distance = rng.choice([0.1, 0.2, 0.3, 0.45], 600), rng.choice([0.7, 1.2, 2, 3], 600)
    limits = f1_thresholds(*drawn(images, share, distance), precision=precision)
    some = np.isfinite(limits)
    above = [share * norm.sf(limits - distance), (1 - share) * norm.sf(limits)]
    kept = above[0][some] / np.sum(above, axis=0)[some]
    assert 100 < some.sum() < 500
    assert np.mean(kept < precision) < 0.02 and kept.min() > precision - 0.08


@given(
    arrays(np.float32, (9, 3), elements=st.integers(-3, 3)),
    arrays(bool, (9, 3)),
    arrays(bool, (9, 3)),
)
def test_equal_to_the_slow_loop_where_labels_are_masked(scores, present, known):
    wanted = [slow.f1_threshold(scores[known[:, c], c], present[known[:, c], c]) for c in range(3)]
    found = f1_thresholds(scores, present, known)
    np.testing.assert_array_equal(found, wanted)
    f1s = [
        slow.f1_of(scores[k, c] >= wanted[c], present[k, c])
        for c, k in enumerate(known.T)
    ]  # fmt: skip
    got = f1(scores, present, found, known, convention="spml")
    np.testing.assert_allclose(got, f1s, rtol=1e-15)
    both = (present & known).any(0) & (~present & known).any(0)
    np.testing.assert_array_equal(np.isnan(f1(scores, present, found, known)), ~both)


def test_equal_to_scikit_learn_in_every_form(monkeypatch):
    monkeypatch.setattr(ranking, "_ENTRIES", 70)
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((200, 6)).astype(np.float32)
    present, known = rng.random((200, 6)) < 0.3, rng.random((200, 6)) < 0.5
    wanted = [f1_score(present[k, c], scores[k, c] >= 0.2) for c, k in enumerate(known.T)]
    limits = np.full(6, 0.2)
    np.testing.assert_allclose(f1(scores, present, 0.2, known), wanted, rtol=1e-14)
    for form in (csr_array, torch.from_numpy, np.ndarray.tolist):
        got = f1(torch.from_numpy(scores), form(present), limits, form(known))
        np.testing.assert_allclose(got, wanted, rtol=1e-14)
        np.testing.assert_array_equal(
            f1_thresholds(torch.from_numpy(scores), form(present), form(known)),
            f1_thresholds(scores, present, known),
        )


def test_a_threshold_calls_the_score_it_was_taken_from():
    scores = np.array([[0.1], [0.2]], np.float32)  # neither is the number of that name in float64
    present = np.array([[False], [True]])
    assert f1(scores, present, f1_thresholds(scores, present)).tolist() == [1]
    halves = torch.from_numpy(scores).bfloat16()
    assert f1(halves, present, f1_thresholds(halves, present)).tolist() == [1]


def test_a_class_of_which_nothing_is_known_is_never_called():
    scores, present = np.zeros((3, 2)), np.ones((3, 2), bool)
    known = np.array([[1, 0]] * 3, bool)
    limits = f1_thresholds(scores, present, known)
    assert limits.tolist() == [0, np.inf]
    assert f1(scores, present, limits, convention="nan").tolist() == [1, 0]


def test_nan_scores_are_refused_where_they_are_known():
    scores, present = np.array([[np.nan], [1.0]]), np.ones((2, 1), bool)
    assert f1(scores, present, 0.5, [[False], [True]], convention="nan").tolist() == [1]
    for function in (f1_thresholds, lambda s, p: f1(s, p, 0.5)):
        with pytest.raises(BadInput, match="the scores hold nan; "):
            function(scores, present)


def test_reference_numbers(golden):
    g = np.load(golden / "metrics.npz")
    scores, present, rows = g["scores_notie"], g["Y"] == 1, int(g["ref_mf1_val_rows"])
    limits = f1_thresholds(scores[:rows], present[:rows])
    np.testing.assert_array_equal(limits, g["ref_mf1_thresholds_largest_argmax"])
    of_class = f1(scores[rows:], present[rows:], limits, convention="spml")
    np.testing.assert_allclose(of_class, g["ref_mf1_per_class_test"], rtol=1e-9)
    assert mean_ap(of_class) == pytest.approx(float(g["ref_mf1"]), rel=1e-9)


SCORES = np.array([[1, 3, 2], [2, 2, 1], [0, 1, 5], [4, 0, 0]])


def test_one_class_per_image():
    assert top1(SCORES, [1, 1, 2, 0]) == 0.75  # of equal scores the first class is taken
    assert top1(torch.from_numpy(SCORES), torch.tensor([1, 0, 2, 0])) == 1


def test_several_classes_per_image_and_images_without_any_left_out():
    present = np.array([[0, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 0]], bool)
    for form in (np.asarray, csr_array, torch.from_numpy, np.ndarray.tolist):
        assert top1(SCORES, form(present)) == pytest.approx(2 / 3)
    assert np.isnan(top1(SCORES, np.zeros((4, 3), bool)))
    assert np.isnan(top1(np.zeros((0, 3)), np.zeros(0, int)))


@given(
    arrays(np.float32, (8, 4), elements=st.integers(-2, 2)),
    arrays(bool, (8, 4)),
    st.integers(1, 4),
)
def test_equal_to_the_slow_loops(scores, present, k):
    if present.any():
        assert top1(scores, present) == pytest.approx(slow.top1(scores, present), abs=1e-15)
    found = at_k(scores, present, k)
    wanted = slow.at_k(scores, present, k)
    assert [found.precision, found.recall, found.any] == pytest.approx(wanted, abs=1e-14)


def test_blocks_of_images_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    scores, present = rng.standard_normal((50, 6)), rng.random((50, 6)) < 0.3
    classes = rng.integers(0, 6, 50)
    whole = top1(scores, present), top1(scores, classes), at_k(scores, present, 2)
    monkeypatch.setattr(ranking, "_ENTRIES", 6 * 7)
    assert (top1(scores, present), top1(scores, classes)) == whole[:2]
    halves = torch.from_numpy(scores).bfloat16()
    assert top1(halves, present) == top1(halves.float().numpy(), present)
    again = at_k(scores, csr_array(present), 2)
    assert [again.precision, again.recall, again.any] == pytest.approx(
        [whole[2].precision, whole[2].recall, whole[2].any], abs=1e-15
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: top1(SCORES, [0, 1]), "truth: .* has shape .* must agree"),
        (lambda: top1(SCORES, [0, 1, 2, 3]), "from 0 to 2"),
        (lambda: top1(SCORES, [0, 1, 2, -1]), "from 0 to 2"),
        (lambda: top1(SCORES, np.zeros((4, 2), bool)), "truth: .* has shape .* must agree"),
        (lambda: top1(SCORES / 0.0, [0, 1, 2, 0]), "diverged, lower its lr"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*encountered in divide")
def test_bad_input_is_explained(call, message):
    with pytest.raises(BadInput, match=message):
        call()


def test_published_numbers(golden):
    g = np.load(golden / "metrics.npz")
    for k in (1, 3, 5):
        found = at_k(g["scores"], g["Y"] == 1, k)
        assert found.precision == pytest.approx(float(g[f"spml_prec_at_{k}"]), rel=1e-9)
        assert found.recall == pytest.approx(float(g[f"spml_rec_at_{k}"]), rel=1e-9)
        assert found.any == pytest.approx(float(g[f"spml_top_{k}"]), rel=1e-9)
