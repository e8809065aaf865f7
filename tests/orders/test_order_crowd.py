"""Questions about images without labels, and the labels from their answers, as in `simulate`."""

from __future__ import annotations

import numpy as np
import pytest

import simkit
from simkit.annotate import schemes
from simkit.annotate.simulate import simulate
from simkit.orders.order_crowd import JoinedAnswers, OrderCrowd, ask
from tests.orders.people import answered, finish, names

SCENES = simkit.data.open("scenes:images=120")
EVERY = [
    ("rpa(keep=0.2)", 1, 1.0, 1),
    ("full-subset", 1, 0.25, 1),
    ("single-positive", 1, 1.0, 1),
    ("single-positive(positives=3, negatives=4)", 3, 60, 5),
    ("single-positive(positives=1, negatives=6, keep_looks=true)", 1, 1.0, 5),
    ("single-positive(positives=2, bias=rare)", 2, 70, 1),
    ("mixed(share=0.3, rest='single-positive(bias=typical)')", 1, 1.0, 1),
    ("fpc(per_class=7, search=random)", 1, 1.0, 60),
    ("fpc(per_class=40, search=random, keep_looks=true)", 1, 80, 40),
    ("federated(per_class=30, search=random)", 1, 40, 40),
    ("mixed(share=0.3)", 1, 1.0, 1),
    ("knowledge-graph", 1, 1.0, 2),
    ("knowledge-graph(mode=truth)", 1, 0.5, 2),
    ("knowledge-graph(mode=path-only)", 1, 1.0, 1),
]


@pytest.mark.parametrize(("spec", "most", "part", "rounds"), EVERY)
def test_answers_by_the_keyed_choices_give_the_simulated_labels(spec, most, part, rounds):
    truth, scheme = SCENES.truth["train"], schemes.make(spec)
    asked, taken = finish(truth, scheme, most=most, part=part, hierarchy=SCENES.hierarchy)
    labels = simulate(truth, scheme, images=part, hierarchy=SCENES.hierarchy)
    assert (asked.labels.codes != labels.codes).nnz == 0
    assert np.array_equal(asked.labels.asked, labels.asked)
    assert asked.labels.effort.to_json() == labels.effort.to_json()
    assert 1 <= taken <= rounds


def test_a_larger_amount_asks_what_a_smaller_one_does_and_more():
    truth = SCENES.truth["train"]
    small, large = (
        ask(schemes.make(f"rpa(keep={keep})"), OrderCrowd(truth.images, truth.classes)).questions
        for keep in (0.1, 0.3)
    )
    pairs = [set(each[["image", "class"]].itertuples(index=False)) for each in (small, large)]
    assert pairs[0] < pairs[1]


def test_unsure_answers_are_billed_and_leave_labels_unknown():
    truth, scheme = SCENES.truth["train"], schemes.make("rpa(keep=0.2)")
    first = ask(scheme, OrderCrowd(truth.images, truth.classes)).questions
    joined = answered(JoinedAnswers(), first, truth, names(truth, scheme, 1))
    joined.states[::2] = 0
    labels = ask(scheme, OrderCrowd(truth.images, truth.classes, joined)).labels
    assert labels.effort.count("verify") == len(first)
    assert labels.codes.nnz == len(first) // 2


def test_scores_order_searches_and_choose_proposals():
    truth = SCENES.truth["train"]
    scores = truth.present.toarray() + np.random.default_rng(0).uniform(0, 0.5, truth.shape)
    scheme = schemes.make("fpc(per_class=5)")
    found, _ = finish(truth, scheme, scores=scores, batch=5)
    searched, _ = finish(truth, schemes.make("fpc(per_class=5, search=random)"), batch=5)
    assert found.labels.counts()["present"] == np.minimum(truth.present.sum(0), 5).sum()
    assert found.labels.effort.count("search") < 0.6 * searched.labels.effort.count("search")
    proposed = ask(
        schemes.make("proposals"), OrderCrowd(truth.images, truth.classes, scores=scores)
    ).questions
    right = truth.present.toarray()[proposed["image"], proposed["class"]]
    assert right.mean() > 0.8


def test_a_search_in_batches_takes_fewer_rounds_and_finds_as_much():
    truth, scheme = SCENES.truth["train"], schemes.make("fpc(per_class=7, search=random)")
    one, many = (finish(truth, scheme, part=60, batch=batch) for batch in (1, 20))
    assert many[1] <= 7 < one[1]
    assert (one[0].labels.codes != many[0].labels.codes).nnz == 0
