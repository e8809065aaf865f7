import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.metrics import f1_score

from simkit.errors import BadInput
from simkit.learn.metrics import blocks, mean_ap
from simkit.learn.metrics.thresholds import f1, f1_thresholds
from tests.reference import metrics as slow


def test_thresholds_by_hand():
    scores = np.array([[0.9, 0.9], [0.7, 0.7], [0.5, 0.5], [0.1, 0.1]])
    present = np.array([[1, 0], [0, 0], [1, 0], [0, 0]], bool)
    # from 0.9 on: 1 of 1 called, 1 of 2 found, F1 2/3; from 0.5 on: 2 of 3 and 2 of 2, 4/5
    assert f1_thresholds(scores, present).tolist() == [0.5, 0.9]
    assert f1(scores, present, [0.5, 0.9])[0] == pytest.approx(0.8, abs=1e-15)


def test_of_thresholds_that_do_equally_well_the_largest_is_taken():
    scores = np.arange(9, 0, -1)[:, None]
    present = np.isin(scores, [9, 5, 1])
    # F1 is 2 x 1 / (1 + 3) from 9 on, 2 x 2 / (5 + 3) from 5 on, 2 x 3 / (9 + 3) from 1 on
    assert f1_thresholds(scores, present).tolist() == [9]
    assert f1_thresholds(scores[:-1], present[:-1]).tolist() == [9]
    assert f1_thresholds(scores[1:], present[1:]).tolist() == [1]  # 2/6 and 4/10


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
    np.testing.assert_array_equal(
        np.isnan(f1(scores, present, found, known)), ~(present & known).any(0)
    )


def test_equal_to_scikit_learn_in_every_form(monkeypatch):
    monkeypatch.setattr(blocks, "_ENTRIES", 70)
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
    assert f1(scores, present, limits).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("thresholds", "shape"), [([0.5], "(1,)"), ([0.5, np.nan], "(2,)"), (np.nan, "()")]
)
def test_bad_thresholds_are_explained(thresholds, shape):
    with pytest.raises(BadInput) as error:
        f1(np.zeros((3, 2)), np.ones((3, 2), bool), thresholds)
    assert str(error.value) == (
        f"thresholds have shape {shape}; one number, or one for each of 2 classes, and no nan, is "
        "expected"
    )


def test_nan_scores_are_refused_where_they_are_known():
    scores, present = np.array([[np.nan], [1.0]]), np.ones((2, 1), bool)
    assert f1(scores, present, 0.5, [[False], [True]]).tolist() == [1]
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
