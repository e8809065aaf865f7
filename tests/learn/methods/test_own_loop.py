"""A loop of one's own has its method's state brought up to date as each epoch ends."""

import pytest
import torch

from simkit import methods
from simkit.errors import BadInput
from simkit.learn.methods.own_loop import epochs

LABELS = torch.tensor([[1, 0, 0], [0, 1, -1]], dtype=torch.int8)


def test_epochs_end_as_in_training() -> None:
    """The share of large losses grows by epochs: it is that of the epoch that runs, from 1."""
    method = methods.make("ll-r", delta=20.0)
    state, by_hand = (method.start(methods.Sizes(images=2, classes=3)) for _ in range(2))
    seen = []
    for epoch in methods.epochs(3, method, state):
        assert same(state, by_hand)
        method.after_epoch(epoch, None, by_hand)
        seen.append(epoch)
    assert seen == [1, 2, 3]
    assert same(state, by_hand)
    fresh = method.start(methods.Sizes(images=2, classes=3))
    assert not same(state, fresh)


def test_scores_are_computed_for_those_who_read_them() -> None:
    model, asked = torch.nn.Linear(4, 3), []

    def scores() -> torch.Tensor:
        asked.append(torch.is_grad_enabled())
        return model(torch.ones(2, 4))

    for name, calls in (("em-apl", 2), ("an", 0)):
        method = methods.make(name)
        assert method.needs.epoch_scores == bool(calls)
        asked.clear()
        assert list(epochs(2, method, method.start(methods.Task(LABELS)), scores)) == [1, 2]
        assert asked == [False] * calls
    method = methods.make("em-apl")
    with pytest.raises(BadInput, match="reads the scores of all images at the end of every epoch"):
        list(epochs(6, method, method.start(methods.Task(LABELS))))


def test_an_epoch_that_is_left_does_not_end() -> None:
    method = methods.make("ll-r", delta=20.0)
    state, fresh = (method.start(methods.Sizes(images=2, classes=3)) for _ in range(2))
    for _ in epochs(3, method, state):
        break
    assert same(state, fresh)


@pytest.mark.parametrize("count", [-1, True, 2.5, "3", None])
def test_a_number_of_epochs_is_whole_and_not_below_none(count: object) -> None:
    method = methods.make("an")
    state = method.start(methods.Sizes(images=2, classes=3))
    with pytest.raises(BadInput, match=f"the number of epochs is {count!r}; "):
        methods.epochs(count, method, state)
    assert list(methods.epochs(0, method, state)) == []


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Equal in every tensor."""
    a, b = one.state_dict(), other.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a) and bool(a)
