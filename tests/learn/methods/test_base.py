from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from simkit import methods
from simkit.errors import BadInput
from simkit.learn.heads.heads import Head, Model
from simkit.learn.methods.base import Around, Method, Needs, Sizes, Task


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


def test_wrappers_are_written_behind_a_plus_and_spelled_completely():
    m = methods.make("ll-r(delta=0.5)+boostlu(alpha=5)")
    assert methods.spell(m) == (
        "ll-r(delta=0.5, k_of='batch', reproduce=None)"
        "+boostlu(alpha=5.0, beta=0.0, train=True, eval=True, zero_positive='plain', "
        "reproduce=None)"
    )
    assert methods.make(methods.spell(m)) == m


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
class PlusOne(Around):
    name: ClassVar[str] = "plus-one"
    own_needs: ClassVar[Needs] = Needs(epoch_scores=True)

    def extra(self, batch, out, state):
        return 1.0


def test_a_method_without_its_aid_says_so():
    for task in (Sizes(2, 2), Task(np.eye(2, dtype=int))):
        with pytest.raises(BadInput) as error:
            Half().start(task)
        assert str(error.value) == (
            "method 'half' needs Hint, which this task does not carry; `prepare(task, method)` "
            "builds it, or pass one with task.with_aids(...)"
        )


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
    with pytest.raises(BadInput) as error:
        ReadsFeatures().start(Sizes(2, 2))
    assert str(error.value) == (
        "method 'half' reads pooled features, and their width is not known; train it on cached "
        "features (FeatureInputs), or give Sizes(..., width=D)"
    )
    assert not list(ReadsFeatures().start(Sizes(2, 2, width=3)).buffers())


def test_nobody_is_sent_from_sizes_to_a_task_and_back():
    with pytest.raises(BadInput) as error:
        methods.make("imcl").start(Task(np.eye(2, dtype=int)))
    assert str(error.value) == (
        "method 'imcl' reads pooled features, and their width is not known; train it on cached "
        "features (FeatureInputs)"
    )


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (
            "role(reproduce=spml, ratio=3)",
            "role: reproduce='spml' has ratio 10.0 and 3.0 was given; leave one of them out",
        ),
        (
            "ll-r(delta=1, reproduce=paper, k_of=batch)",  # the default cannot be told from nothing
            None,
        ),
        (
            "em-apl(reproduce=em, epsilon=csl)",
            "em-apl: reproduce='em' has epsilon 'spml' and 'csl' was given; leave one of them out",
        ),
        ("role(reproduce=spml, ratio=10, epsilon=spml)", None),
    ],
)
def test_what_is_reproduced_is_not_what_was_set(spec, wanted):
    if wanted is None:
        made = methods.make(spec)
        assert methods.make(methods.spell(made)) == made
        return
    with pytest.raises(BadInput) as error:
        methods.make(spec)
    assert str(error.value) == wanted
