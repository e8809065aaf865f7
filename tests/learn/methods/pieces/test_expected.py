import warnings

import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.methods import Outputs, Sizes, Task, make
from simkit.learn.methods.pieces.expected import expected_counts, highest
from tests.learn.methods.steps import batch_of, started
from tests.reference import consistency as slow


def labels(seed: int, shape=(23, 5)) -> np.ndarray:
    """Partial labels: a class without labels, images of which nothing is known."""
    rng = np.random.default_rng(seed)
    Z = rng.choice([-1, 0, 0, 0, 1, 1], shape)
    Z[:, 1] = 0
    Z[::7] = 0
    return Z


def test_counts_by_hand():
    assert expected_counts(np.array([3, 1, 0]), 10, 2.0, "normalised").tolist() == [10, 5, 0]
    assert expected_counts(np.array([3, 1, 0]), 10, 2.0, "literal").tolist() == [6, 2, 0]
    # 14.5 and 43.5 are rounded to the even neighbour
    assert expected_counts(np.array([5, 15]), 99, 2.9, "literal").tolist() == [14, 44]
    assert expected_counts(np.zeros(2, int), 10, 2.0, "normalised").tolist() == [0, 0]
    single = np.array([6, 3, 1])
    for expected in (1.5, 2.9):
        both = [expected_counts(single, 10, expected, how) for how in ("normalised", "literal")]
        np.testing.assert_array_equal(*both)


def test_the_first_of_equal_scores_are_chosen():
    scores = torch.tensor([[0.5, 0.2], [0.9, 0.2], [0.5, 0.2], [0.5, 0.7]])
    found = highest(scores, torch.tensor([3, 2])).T
    assert found.tolist() == [[True, True, True, False], [True, False, False, True]]
    more = highest(scores.expand(2, 4, 2), torch.tensor([[0, 4], [3, 2]]))
    assert more[0].T.tolist() == [[False] * 4, [True] * 4] and torch.equal(more[1].T, found)


@pytest.mark.parametrize("ranking", ["all", "unknown"])
@pytest.mark.parametrize("how", ["normalised", "literal"])
@pytest.mark.parametrize("expected", [0.7, 2.9, 50])
@pytest.mark.parametrize("kind", ["en", "ep"])
def test_ten_epochs_equal_the_slow_form(kind, expected, how, ranking):
    Z = labels(3)
    rng = np.random.default_rng(4)
    method, state = started(
        make(kind, expected=expected, expected_counts=how, ranking=ranking, mu=0.6), Z
    )
    twin = slow.Expecting(Z.tolist(), expected=expected, mu=0.6, how=how, ranking=ranking)
    asked = np.flatnonzero(Z.any(1))
    for epoch in range(1, 11):
        logits = rng.choice([1, 30], Z.shape) * rng.standard_normal(Z.shape)
        for rows in (asked[:6], asked[6:]):
            batch, out = batch_of(Z[rows], rows), Outputs(torch.tensor(logits[rows]))
            wanted = np.mean([twin.loss(i, logits[i], kind) for i in rows])
            np.testing.assert_allclose(method.loss(batch, out, state), wanted, rtol=1e-9)
            hidden = [[twin.hidden(i, c) for c in range(5)] for i in rows]
            np.testing.assert_array_equal(method.selected(batch, out, state), hidden)
            method.after_batch(batch, out, state)
            for i in rows:
                twin.see(i, logits[i])
        method.after_epoch(epoch, None, state)
        twin.end_epoch()
        np.testing.assert_allclose(state.scores, twin.scores, rtol=1e-9)


def test_images_that_were_not_asked_about_are_never_expected():
    Z = np.zeros((6, 2), int)
    Z[3:, 0] = 1
    method, state = started("en(expected=9)", Z)
    rows = np.array([3, 4, 5])
    method.after_batch(batch_of(Z[rows], rows), Outputs(torch.full((3, 2), -9.0)), state)
    method.after_epoch(1, None, state)
    assert state.expected[:, 0].tolist() == [False] * 3 + [True] * 3
    assert state.counts.tolist() == [3, 0]


def test_known_labels_are_never_expected_otherwise():
    Z = np.array([[1, 0], [-1, 0], [0, 1]])
    method, state = started("en(expected=9)", Z)
    method.after_epoch(1, None, state)
    assert method.selected(batch_of(Z), Outputs(torch.zeros(3, 2)), state).tolist() == [
        [False, True],
        [False, True],
        [True, False],
    ]


def test_counts_that_say_nothing_of_frequency_are_warned_about():
    Z = np.kron(np.eye(4, dtype=int), np.ones((3, 1), int))
    with pytest.warns(UserWarning) as caught:
        started("en(expected=2)", Z)
    assert [str(w.message) for w in caught] == [
        "method 'en' takes the number of known positives of a class for how frequent it is, and "
        "most classes have 3 here, as if labels were given out in fixed numbers; the expected "
        "positives will be as even"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        started("en(expected=2)", labels(0))
        started("en(expected=2, expected_counts=literal)", Z)


def test_settings_that_cannot_be():
    for spec, message in (
        ("en(expected=0)", "en: expected is 0.0; a number of positives above 0 is expected"),
        ("ep(mu=1)", "ep: mu is 1.0; a number from 0 to below 1 is expected"),
    ):
        with pytest.raises(BadInput) as error:
            make(spec)
        assert str(error.value) == message
    with pytest.raises(BadInput) as error:
        make("en(expected=2)").start(Sizes(images=3, classes=2))
    assert str(error.value) == (
        "method 'en' needs the whole label matrix to start, and only sizes came; give "
        "Task(labels=...) instead of Sizes"
    )


def test_updates_leave_no_trace_of_gradients():
    Z = labels(0)
    method, state = started("en(expected=2)", Z)
    logits = torch.zeros(Z.shape, requires_grad=True)
    method.after_batch(batch_of(Z), Outputs(logits), state)
    assert not state.scores.requires_grad


def test_unasked_images_do_not_change_what_is_expected():
    Z = labels(5)
    asked = np.flatnonzero(Z.any(1))
    logits = np.random.default_rng(0).standard_normal(Z.shape)
    found = []
    for codes, rows in ((Z, asked), (Z[asked], np.arange(len(asked)))):
        method = make("en(expected=2)")
        state = method.start(Task(PartialLabels.of(codes)))
        batch, out = batch_of(codes[rows], rows), Outputs(torch.tensor(logits[asked]))
        method.after_batch(batch, out, state)
        method.after_epoch(1, None, state)
        found.append(method.loss(batch, out, state))
    assert found[0] == found[1]
