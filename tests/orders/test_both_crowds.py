"""Both crowds answer every question of the protocol, or refuse it in one way, whoever asks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from simkit.annotate import schemes
from simkit.annotate.crowd import Crowd
from simkit.annotate.proposer import Proposer
from simkit.annotate.schemes import Scheme
from simkit.annotate.simulate import simulate
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.orders.order_crowd import JoinedAnswers, OrderCrowd, ask
from tests.annotate.schemes.variants import SPECS, options_of
from tests.orders.people import SCENES, TRUTH, answered, finish, names

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TREE = SCENES.hierarchy
SCORES = {"features": options_of(TRUTH)["features"], "scores": options_of(TRUTH)["scores"]}
FEW = np.arange(0, 40, 3)
QUESTIONS: dict[str, Callable[[Crowd, Chance], object]] = {
    "verify": lambda crowd, chance: crowd.verify([0, 0, 9], [1, 2, 3]),
    "mistakes": lambda crowd, chance: crowd.mistakes(FEW, FEW % 7, True),
    "name": lambda crowd, chance: crowd.name(FEW, chance=chance),
    "name_share": lambda crowd, chance: crowd.name_share(0.1, chance=chance.of("share")),
    "rule_out": lambda crowd, chance: crowd.among(FEW).rule_out(3, chance=chance.of("out")),
    "rule_out_pairs": lambda crowd, chance: crowd.rule_out_pairs(50, chance=chance.of("pairs")),
    "search": lambda crowd, chance: crowd.search(
        [2, 5], chance=chance.of("search"), present=3, absent=4
    ),
    "sweep": lambda crowd, chance: crowd.sweep([3, 8], [0, 4, 5]),
    "descend": lambda crowd, chance: crowd.descend(FEW[:5], chance=chance),
    "propose": lambda crowd, chance: [
        crowd.verify(*pairs)
        for pairs in crowd.propose(Proposer(2.0, 0.8, 0.5, 0.0, crowd.shape[1], chance))
    ],
    "pay_machine": lambda crowd, chance: crowd.pay_machine(FEW),
    "machine": lambda crowd, chance: crowd.machine(FEW, FEW % 5, FEW > 20),
    "expect": lambda crowd, chance: crowd.expect(100),
    "among": lambda crowd, chance: crowd.among(FEW).verify(FEW[:4], [6, 6, 6, 6]),
    "rows_of": lambda crowd, chance: crowd.among(FEW).rows_of(FEW),
}
WITHOUT_SCORES = " ".join(QUESTIONS.keys() - {"name_share", "propose"})


@dataclass(frozen=True)
class Everything(Scheme):
    """A scheme of somebody else's, which asks all questions, or some."""

    name: ClassVar[str] = "everything"
    title: ClassVar[str] = "Everything"
    source: ClassVar[str] = "this test"
    amount: ClassVar[str | None] = None

    questions: str = " ".join(QUESTIONS)

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        for question, put in QUESTIONS.items():
            if question in self.questions.split():
                put(crowd, chance)


def ordered(scheme: Scheme, joined: JoinedAnswers = JoinedAnswers(), **aids):
    crowd = OrderCrowd(TRUTH.images, TRUTH.classes, joined, hierarchy=TREE, **aids)
    return ask(scheme, crowd)


def test_every_question_of_the_protocol_is_among_them():
    public = {n for n, _ in inspect.getmembers(Crowd, inspect.isfunction) if n[0] != "_"}
    assert public == {*QUESTIONS, "labels"}
    assert all(getattr(Crowd, name).__doc__ for name in public)


def test_the_simulated_crowd_answers_all_of_them_and_bills_each_kind():
    labels = simulate(TRUTH, Everything(), hierarchy=TREE, **SCORES)
    assert {"verify", "name", "sweep", "descend", "search"} <= set(labels.effort.kinds())
    assert labels.effort.machine == len(FEW)
    again = simulate(TRUTH, Everything(), hierarchy=TREE, **SCORES)
    assert again.id == labels.id


@pytest.mark.parametrize("aids", [SCORES, {}], ids=["scores", "none"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_order_lists_a_question_or_refuses_it_with_a_mend(question, aids):
    scheme = Everything(questions=question)
    if question == "name_share" or (question == "propose" and not aids):
        with pytest.raises(BadInput, match=r"^an order cannot .*order .*rpa"):
            ordered(scheme, **aids)
        return
    asked = ordered(scheme, **aids)
    quiet = question in ("pay_machine", "machine", "expect", "rows_of")
    assert bool(len(asked.questions)) != quiet


def test_questions_of_a_plug_in_answered_in_an_order_give_the_simulated_labels():
    scheme = Everything(questions=WITHOUT_SCORES)
    asked, rounds = finish(TRUTH, scheme, once=False, hierarchy=TREE)
    labels = simulate(TRUTH, scheme, hierarchy=TREE)
    assert rounds > 1
    assert (asked.labels.codes != labels.codes).nnz == 0
    assert asked.labels.effort.to_json() == labels.effort.to_json()


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_walk_through_pairs_lists_those_that_are_needed_whatever_the_answers(share):
    """Unsure answers and yes answers lead to further pairs, open ones do not."""
    scheme, joined, seen = Everything(questions="rule_out_pairs"), JoinedAnswers(), 0
    for _ in range(30):
        questions = ordered(scheme, joined).questions
        if not len(questions):
            break
        assert len(questions) <= 50 - seen
        joined = answered(joined, questions, TRUTH, names(TRUTH, scheme, 1))
        joined.states[: int(share * len(joined.states))] = 0
        seen = int((joined.states == -1).sum())
    labels = ordered(scheme, joined).labels
    assert labels.counts()["absent"] == 50 or share == 1
    assert labels.effort.count("verify") == len(joined.places)


def test_an_order_without_a_hierarchy_says_how_to_get_one():
    with pytest.raises(BadInput, match="make a new order with --hierarchy"):
        ask(Everything(questions="descend"), OrderCrowd(TRUTH.images, TRUTH.classes))


def test_only_images_of_the_crowd_may_be_asked_about():
    crowd = OrderCrowd(TRUTH.images, TRUTH.classes).among(FEW)
    with pytest.raises(BadInput, match="image 1 is not among those this crowd is asked about"):
        crowd.verify([0, 1], [0, 0])


@pytest.mark.parametrize("spec", [spec for spec in SPECS if "{}" not in spec])
def test_every_scheme_can_be_ordered_or_is_refused_with_a_mend(spec):
    scheme = schemes.make(spec)
    try:
        asked = ordered(scheme, **SCORES)
    except BadInput as error:
        assert scheme.name == "fraction-of-positives"
        assert str(error).startswith("an order cannot")
        return
    assert len(asked.questions) or asked.labels.codes.nnz


@pytest.mark.parametrize("spec", ["fpc(per_class=9, search=scores)", "federated(search=scores)"])
def test_a_search_by_scores_costs_what_its_order_costs(spec):
    luck = np.random.default_rng(4).normal(size=TRUTH.shape)
    scores = 1.5 * TRUTH.present.toarray() + luck - 1
    asked, _ = finish(TRUTH, schemes.make(spec), once=False, scores=scores)
    labels = simulate(TRUTH, spec, scores=scores)
    assert (asked.labels.codes != labels.codes).nnz == 0
    assert asked.labels.effort.to_json() == labels.effort.to_json()
