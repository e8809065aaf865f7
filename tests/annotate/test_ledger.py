"""The ledger: answers in any order, billed once each, as labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.annotate import crowd as module
from simkit.annotate.crowd import Ledger
from simkit.errors import BadInput


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6), st.booleans()))),
    st.booleans(),
)
def test_labels_are_the_answers_and_a_yes_outweighs_a_no(pieces, by_image):
    if by_image:  # as most schemes ask
        every = sorted((one for piece in pieces for one in piece), key=lambda one: one[0])
        pieces = [[one for one in every if one[0] // 2 == k] for k in range(5)]
    ledger, expected = Ledger(10, 7), np.zeros((10, 7), int)
    for piece in pieces:
        before, codes = expected.copy(), ledger.codes()
        rows, columns, yes = np.array(piece, int).reshape(-1, 3).T
        ledger.record(rows, columns, yes > 0)
        for n, c, answer in piece:
            expected[n, c] = 1 if answer or expected[n, c] == 1 else -1
        assert np.array_equal(codes.toarray(), before)  # further answers change no labels
    codes = ledger.codes()
    assert np.array_equal(codes.toarray(), expected)
    assert codes.dtype == np.int8 and codes.has_sorted_indices and (codes.data != 0).all()
    assert np.array_equal(ledger.codes().toarray(), expected)  # asking again changes nothing


def test_the_bill_counts_questions_by_image():
    ledger = Ledger(6, 3)
    ledger.bill("verify", np.array([1, 1, 4]))
    ledger.bill("verify", np.array([4]))
    ledger.bill("sweep", np.array([2, 5]), np.array([3, 2]))
    ledger.bill("name", np.array([], int))
    ledger.bill_look(np.array([0, 2]), np.array([10, 5]))
    ledger.seen[0] = True
    effort = ledger.effort(2, ledger.codes())
    # Two images with two verifications; one image swept for 3 classes, one for 2.
    assert effort.questions["verify"].tolist() == [0, 0, 2]
    assert effort.questions["sweep"].tolist() == [0, 0, 1, 1]
    assert effort.looks.tolist() == [10, 0, 5]
    assert effort.counts() == {"verify": 4, "search": 15, "sweep": 5, "workers": 2, "dropped": 0}
    assert ledger.asked().tolist() == [True, True, True, False, True, True]


def test_more_answers_than_fit_are_refused(monkeypatch):
    monkeypatch.setattr(module, "LIMIT", 1000)
    ledger = Ledger(100, 100)
    ledger.record(np.arange(100), np.arange(100), True)
    ledger.expect(900)
    with pytest.raises(BadInput, match=r"this would store about 1e\+04 answers, and 1,000 are"):
        ledger.expect(10_000)


def test_verified_pairs_are_billed_and_the_affirmed_ones_kept_or_dropped():
    images, classes, yes = np.array([0, 0, 2]), np.array([0, 1, 1]), np.array([True, False, True])
    for keep_yes, codes, dropped in (
        (True, [[1, -1], [0, 0], [0, 1]], {}),
        (False, [[0, -1], [0, 0], [0, 0]], {"verify": 2}),
    ):
        ledger = Ledger(3, 2)
        ledger.verified(images, classes, yes, keep_yes=keep_yes)
        assert ledger.codes().toarray().tolist() == codes
        effort = ledger.effort(None, ledger.codes())
        assert effort.questions["verify"].tolist() == [0, 1, 1] and effort.dropped == dropped
        assert ledger.asked().tolist() == [True, False, True]


def test_what_was_affirmed_and_is_known_otherwise_is_not_dropped():
    ledger = Ledger(3, 2)
    one, two = np.array([0]), np.array([2])
    ledger.record(one, np.array([0]), True)
    for image in (one, two):
        ledger.verified(image, np.array([0]), np.array([True]), keep_yes=False)
    assert ledger.effort(None, ledger.codes()).dropped == {"verify": 1}
