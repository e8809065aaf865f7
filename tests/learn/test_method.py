import weakref
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from simkit import methods
from simkit.errors import BadInput
from simkit.learn.method import (
    Method,
    Wrapper,
    stack_states,
    state_for_prediction,
    state_of_run,
)
from simkit.learn.model import Head, Model
from simkit.learn.task import Needs, Sizes, Task
from tests.learn.methods import zoo


def test_the_public_names_serve_a_loop_of_ones_own():
    N, L = 6, 4
    Z = torch.tensor([[1, 0, -1, 0]] * N)
    m = methods.make("ll-r(delta=25)")
    assert m == methods.make("ll-r", delta=25)
    state = m.start(methods.Sizes(images=N, classes=L), None)
    x = torch.randn(N, L, requires_grad=True)
    batch = methods.Batch(index=torch.arange(N), labels=Z, boxes=None, flips=None)
    out = methods.Outputs(logits=x, maps=None, features=None)
    for epoch in (1, 2):
        loss = m.loss(batch, out, state)
        loss.backward()
        m.after_batch(batch, out, state)
        m.after_epoch(epoch, None, state)
    assert loss.shape == () and m.selected(batch, out, state).sum() == 12


@dataclass(frozen=True)
class Hint:
    value: int


@dataclass(frozen=True)
class Half(Method):
    name: ClassVar[str] = "half"

    @property
    def needs(self) -> Needs:
        return Needs(aids=(Hint,))

    def loss(self, batch, out, state):
        return out.logits.mean((-2, -1))


@dataclass(frozen=True)
class PlusOne(Wrapper):
    name: ClassVar[str] = "plus-one"
    default_needs: ClassVar[Needs] = Needs(epoch_scores=True)

    def extra(self, batch, out, state):
        return 1.0


def test_a_wrapper_joins_needs_and_adds_to_the_loss():
    method = PlusOne(Half())
    assert method.needs == Needs(epoch_scores=True, aids=(Hint,))
    state = method.start(Task(np.eye(2, dtype=int), aids=(Hint(1),)))
    batch = methods.Batch(torch.arange(2), torch.eye(2))
    assert method.loss(batch, methods.Outputs(torch.full((2, 2), 3.0)), state).item() == 4.0


def test_a_head_on_a_backbone_learns_faster():
    head, backbone = Head(torch.zeros(2, 3), torch.zeros(2)), torch.nn.Linear(4, 3)
    method = methods.make("an")
    (only,) = method.groups(Model(head), torch.nn.Module(), 0.1)
    assert only["lr"] == 0.1 and only["params"] == [head.weight, head.bias]
    model = Model(head, backbone=backbone, head_ratio=10)
    rates = [(g["lr"], len(g["params"])) for g in method.groups(model, torch.nn.Module(), 0.1)]
    assert rates == [(1.0, 2), (0.1, 2)]


@dataclass(frozen=True)
class ReadsFeatures(Half):
    @property
    def needs(self) -> Needs:
        return Needs(features=True)


def test_a_method_that_reads_features_wants_to_know_their_width():
    with pytest.raises(BadInput, match="train it on cached features"):
        ReadsFeatures().start(Sizes(2, 2))
    assert not list(ReadsFeatures().start(Sizes(2, 2, width=3)).buffers())


def test_what_is_reproduced_is_not_what_was_set():
    # A default cannot be told from nothing.
    for spec in (
        "ll-r(delta=1, reproduce=paper, k_of=batch)",
        "role(reproduce=spml, ratio=10, epsilon=spml)",
    ):
        assert methods.make(methods.spell(methods.make(spec))) == methods.make(spec)
    for spec, field in (
        ("role(reproduce=spml, ratio=3)", "ratio"),
        ("em-apl(reproduce=em, epsilon=csl)", "epsilon"),
    ):
        with pytest.raises(BadInput, match=f"has {field} .* leave one of them out"):
            methods.make(spec)


def state(value: float) -> nn.Module:
    outer, inner = nn.Module(), nn.Module()
    outer.register_buffer("count", torch.tensor(int(value)))
    inner.theta = nn.Parameter(torch.full((2, 3), value))
    outer.inner = inner
    return outer


def test_stacking_adds_a_run_axis_and_unstacking_takes_it_away():
    singles = [state(1.0), state(2.0)]
    together = stack_states(singles)
    assert together.count.tolist() == [1, 2] and together.inner.theta.shape == (2, 2, 3)
    assert isinstance(together.inner.theta, nn.Parameter)
    again = state_for_prediction(state_of_run(together, 1))
    assert again.count.item() == 2 and torch.equal(again.inner.theta, singles[1].inner.theta)


def test_a_view_shares_memory_and_a_copy_does_not():
    together = stack_states([state(1.0), state(2.0)])
    seen, copied = state_of_run(together, 0), state_for_prediction(state_of_run(together, 0))
    together.count[0] = 7
    with torch.no_grad():
        together.inner.theta[0] = 9
    assert seen.count.item() == 7 and seen.inner.theta[0, 0].item() == 9
    assert copied.count.item() == 1 and copied.inner.theta[0, 0].item() == 1
    assert together.inner.theta.shape == (2, 2, 3)


def test_a_single_state_is_taken_over_without_a_copy():
    single = state(3.0)
    together = stack_states([single])
    assert together.count.tolist() == [3] and together.inner.theta.shape == (1, 2, 3)
    single.count.fill_(5)
    assert together.count.tolist() == [5]
    assert single.count.shape == () and state_of_run(together, 0).count.item() == 5


def test_states_may_be_made_one_by_one():
    alive: list[weakref.ref[nn.Module]] = []

    def made():
        for value in (1.0, 2.0, 3.0):
            assert all(seen() is None for seen in alive)  # the last one has been let go
            each = state(value)
            alive.append(weakref.ref(each))
            yield each
            del each

    together = stack_states(made(), 3)
    assert together.count.tolist() == [1, 2, 3]
    assert together.inner.theta[:, 0, 0].tolist() == [1, 2, 3]


def test_a_copy_of_one_run_does_not_hold_the_others():
    together = stack_states([state(1.0), state(2.0)])
    copied = state_for_prediction(state_of_run(together, 1))
    assert copied.count.untyped_storage().nbytes() == 8 and copied.count.item() == 2


def test_prediction_goes_without_what_training_alone_needs():
    full = state(1.0)
    full.inner.register_buffer("heat", torch.ones(4))
    full.inner.for_training = ("heat",)
    kept = state_for_prediction(full)
    assert set(kept.state_dict()) == {"count", "inner.theta"} and full.inner.heat.sum() == 4
    full.count.fill_(8)
    assert kept.count.item() == 1


def test_states_in_files_are_not_read_into_memory():
    singles = [state(1.0), state(2.0)]
    for single in singles:
        single.inner.register_buffer("heat", torch.ones(4))
        single.inner.in_file = ("heat",)
    with pytest.raises(BadInput, match="train these runs one at a time, or with"):
        stack_states(singles)
    alone = stack_states(singles[:1])
    assert alone.inner.heat.data_ptr() == singles[0].inner.heat.data_ptr()


LABELS = torch.tensor([[1, 0, 0], [0, 1, -1]], dtype=torch.int8)


def test_epochs_end_as_in_training_and_one_that_is_left_does_not():
    """The share of large losses grows by epochs: it is that of the epoch that runs, from 1."""
    method = methods.make("ll-r", delta=20.0)
    state, by_hand = (method.start(methods.Sizes(images=2, classes=3)) for _ in range(2))
    for epoch in methods.epochs(3, method, state):
        assert zoo.same(zoo.tensors(state), zoo.tensors(by_hand))
        method.after_epoch(epoch, None, by_hand)
    assert epoch == 3 and zoo.same(zoo.tensors(state), zoo.tensors(by_hand))
    fresh, left = (method.start(methods.Sizes(images=2, classes=3)) for _ in range(2))
    assert not zoo.same(zoo.tensors(state), zoo.tensors(fresh))
    for _ in methods.epochs(3, method, left):
        break
    assert zoo.same(zoo.tensors(left), zoo.tensors(fresh))


def test_scores_are_computed_for_methods_that_read_them():
    model, asked = torch.nn.Linear(4, 3), []

    def scores() -> torch.Tensor:
        asked.append(torch.is_grad_enabled())
        return model(torch.ones(2, 4))

    for name, calls in (("em-apl", 2), ("an", 0)):
        method = methods.make(name)
        asked.clear()
        state = method.start(methods.Task(LABELS))
        assert list(methods.epochs(2, method, state, scores)) == [1, 2]
        assert asked == [False] * calls
    method = methods.make("em-apl")
    with pytest.raises(BadInput, match="reads the scores of all images at the end of every epoch"):
        list(methods.epochs(6, method, method.start(methods.Task(LABELS))))
