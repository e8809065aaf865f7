import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.learn.metrics import blocks
from simkit.learn.metrics.top import at_k, top1
from tests.reference import metrics as slow

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
    monkeypatch.setattr(blocks, "_ENTRIES", 6 * 7)
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
        (lambda: top1(SCORES, [0, 1]),
         "truth has shape (2,) of int64 and the scores (4, 3); the index of a class for each "
         "image, or images x classes, is expected"),
        (lambda: top1(SCORES, [0, 1, 2, 3]), "truth names classes 0 to 3; the scores have 0 to 2"),
        (lambda: top1(SCORES, [0, 1, 2, -1]),
         "truth names classes -1 to 2; the scores have 0 to 2"),
        (lambda: top1(SCORES, np.zeros((4, 2), bool)),
         "truth has shape (4, 2) and the scores (4, 3); they must agree"),
        (lambda: at_k(SCORES, np.zeros((4, 3), bool), 4),
         "k is 4; with 3 classes it must be a whole number from 1 to 3"),
        (lambda: at_k(SCORES, np.zeros((4, 3), bool), 1.0),
         "k is 1.0; with 3 classes it must be a whole number from 1 to 3"),
        (lambda: at_k(SCORES, np.zeros((4, 3), bool), "a"),
         "k is 'a'; with 3 classes it must be a whole number from 1 to 3"),
        (lambda: top1(np.zeros((3, 0)), np.zeros((3, 0))),
         "scores have shape (3, 0); without a class none is highest, so bring scores of one at "
         "least"),
        (lambda: top1(SCORES / 0.0, [0, 1, 2, 0]),
         "the scores hold nan; the model that gave them has diverged, lower its lr"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*encountered in divide")
def test_bad_input_is_explained(call, message):
    with pytest.raises(BadInput) as error:
        call()
    assert str(error.value) == message


def test_published_numbers(golden):
    g = np.load(golden / "metrics.npz")
    for k in (1, 3, 5):
        found = at_k(g["scores"], g["Y"] == 1, k)
        assert found.precision == pytest.approx(float(g[f"spml_prec_at_{k}"]), rel=1e-9)
        assert found.recall == pytest.approx(float(g[f"spml_rec_at_{k}"]), rel=1e-9)
        assert found.any == pytest.approx(float(g[f"spml_top_{k}"]), rel=1e-9)
