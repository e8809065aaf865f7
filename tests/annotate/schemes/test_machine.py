"""A machine as one of the annotators."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import hypergeom

from simkit.annotate import schemes
from simkit.annotate.prices import cost
from simkit.annotate.schemes import MISSING
from simkit.annotate.schemes.machine import sample_size, shows
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.orders.order_crowd import NO, UNSURE, JoinedAnswers, OrderCrowd, ask
from tests.orders.people import finish

LOGIT = np.log(9)  # of a probability of 0.9


def scores_of(present, seed, spread=1.5):
    rng = np.random.default_rng(seed)
    return rng.normal(-3, spread, present.shape) + present * rng.normal(4, 1.5, present.shape)


def test_given_thresholds_divide_pairs_between_machine_and_people():
    present = np.random.default_rng(0).random((60, 9)) < 0.2
    scores = scores_of(present, 0)
    labels = simulate(present, "machine(high=0.9, low=0.1, verify=1)", scores=scores)
    codes = labels.codes.toarray()
    high, low = scores >= LOGIT, scores <= -LOGIT
    assert (codes[high] == 1).all() and (codes[low] == -1).all()
    others = ~high & ~low
    assert (codes[others] == np.where(present, 1, -1)[others]).all()
    assert labels.effort.count("verify") == others.sum() and labels.effort.machine == 60
    bill = {line.kind: line for line in cost(labels, "hourly").lines}
    assert bill["machine"].dollars == pytest.approx(60 * 0.0015)
    alone = simulate(present, "machine(high=0.9, low=0.1, verify=0)", scores=scores)
    assert not alone.effort.count("verify") and (alone.codes != 0).sum() == (high | low).sum()


@pytest.mark.parametrize("wrong", [0.04, 0.12])
def test_the_bound_holds_in_95_of_100_draws(wrong):
    """The surest pairs are wrong as often as `wrong`; the bound is 0.1."""
    held = trusted = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        scores = rng.normal(0, 2, (200, 20))
        present = (scores > 0) ^ (rng.random(scores.shape) < wrong)
        scheme = "machine(wrong_present=0.1, wrong_absent=0.1, verify=0)"
        labels = simulate(present, scheme, scores=scores, seed=seed)
        people = labels.effort.count("verify")
        codes = labels.codes.toarray()
        mistakes = [(codes == 1) & ~present, (codes == -1) & present]
        machine = max(1, (codes != 0).sum() - people)
        trusted += machine > 100
        held += sum(part.sum() for part in mistakes) <= 0.1 * machine
    assert held >= 95
    assert trusted >= 50 or wrong > 0.1


def test_an_order_gives_the_labels_of_the_simulation_and_asks_step_by_step():
    present = np.random.default_rng(1).random((150, 12)) < 0.3
    truth, scores = Truth.of(present), scores_of(present, 1, spread=0.7)
    scheme = schemes.make("machine(wrong_present=0.2, wrong_absent=0.2, verify=0.1)")
    asked, rounds = finish(truth, scheme, scores=scores)
    labels = simulate(truth, scheme, scores=scores)
    assert rounds > 2 and (labels.effort.machine, asked.labels.effort.machine) == (150, 150)
    assert (asked.labels.codes != labels.codes).nnz == 0
    assert asked.labels.effort.count("verify") == labels.effort.count("verify")


def test_a_machine_that_labels_nothing_is_said_with_the_reasons():
    present = np.random.default_rng(1).random((100, 10)) < 0.3
    present[:, 0] = True
    scores = np.random.default_rng(2).normal(0, 2, present.shape)
    with pytest.warns(UserWarning, match="the machine labels nothing") as said:
        labels = simulate(present, "machine", scores=scores)
    assert labels.codes.nnz == labels.effort.count("verify") and said[0].filename == __file__
    text = str(said[0].message)
    assert "of 100 of its surest present labels, more than 1 (a larger wrong_present" in text
    assert "500 pairs may be absent, fewer than the 4,000 of the first group" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(present, "machine(high=0.9, low=0.1)", scores=scores)


def test_scores_are_needed():
    with pytest.raises(BadInput, match="machine needs a model's scores"):
        simulate(np.eye(3, dtype=bool), "machine")


def test_a_group_of_any_size_keeps_the_bound():
    """The labels of the machine, with the most wrong ones in a group that may be accepted."""
    sample, bound = sample_size(0.05, 0.95), 0.05
    for size in range(4 * sample, 16 * sample):
        if not shows(sample, size, bound, 0.95):
            continue
        for mistakes in (0, 1):
            wrong = next(W for W in range(size) if W - mistakes > bound * (size - sample))
            assert hypergeom.cdf(mistakes, size, wrong, sample) <= 0.05
    assert (sample, sample_size(0.005, 0.95)) == (100, 1000)


def test_unsure_answers_do_not_confirm_the_machine():
    present = np.random.default_rng(2).random((200, 20)) < 0.3
    scores = np.random.default_rng(3).normal(0, 2, present.shape)
    scheme = schemes.make("machine(high=1, wrong_absent=0.1, verify=0)")
    images, classes = np.arange(200), tuple("abcdefghijklmnopqrst")
    places = np.arange(present.size)
    joined = JoinedAnswers(places, np.where(present, UNSURE, NO).astype(np.int8).ravel())
    asked = ask(scheme, OrderCrowd(images, classes, joined, scores=scores))
    assert not len(asked.questions) and asked.labels.effort.count("verify") < 100
    assert asked.labels.codes.nnz < 60  # of the sample alone


def test_given_and_measured_thresholds_never_label_a_pair_twice():
    scores = np.random.default_rng(4).normal(0, 2, (1000, 20))
    labels = simulate(scores > 0, "machine(high=0.3, wrong_absent=0.1, verify=0)", scores=scores)
    sure = scores >= np.log(0.3 / 0.7)
    assert (labels.codes.toarray()[sure] == 1).all()


def test_images_without_scores_cost_nothing():
    present = np.random.default_rng(5).random((20, 6)) < 0.4
    scores = scores_of(present, 5)
    scores[3:] = MISSING
    machine = simulate(present, "machine(high=0.9, low=0.1, verify=0)", scores=scores)
    proposed = simulate(present, "proposals(per_image=3, by=scores)", scores=scores)
    for labels in (machine, proposed):
        assert labels.effort.machine == 3 and not labels.codes[3:].nnz


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p, "between 0 and 1, like probabilities"),
        (lambda p: 100 * p, "between 0 and 100, like percentages or ranks"),
        (lambda p: 255 * p, "logits are expected"),
        (lambda p: np.where(p < 0.1, -1, 100 * p), "all scores except -1 .* like percentages"),
        (lambda p: np.where(p < 0.1, -1, 100 * (p > 0.5)), "all scores except -1 .* 0 and 100"),
    ],
)
def test_scores_on_another_scale_are_refused(change, words):
    present = np.random.default_rng(2).random((50, 4)) < 0.3
    with pytest.raises(BadInput, match=words):
        simulate(present, "machine", scores=change(expit(scores_of(present, 5))))


def test_scores_that_may_be_cosines_get_a_warning():
    present = np.random.default_rng(2).random((50, 4)) < 0.3
    with pytest.warns(UserWarning, match="count as logits; do not"):
        simulate(present, "machine", scores=scores_of(present, 5) / 40)


@pytest.mark.parametrize(
    ("place", "change", "words"),
    [
        (np.s_[:, 2], expit, r"classes whose scores look like .*: 1 of 5 \('class-2'\)"),
        (np.s_[:, 2], lambda z: 100 * expit(z), "classes whose scores look like .*: 1 of 5"),
        (np.s_[:, 2], lambda z: np.where(np.arange(50) < 3, expit(z), MISSING), "classes whose"),
        (np.s_[7], expit, r"images whose scores look like .*: 1 of 50 \(7\)"),
        (np.s_[3:5], lambda z: softmax(z, axis=1), "images whose scores look like .*: 2 of 50"),
        (np.s_[0, 0], lambda z: -999, r"scores beyond 90, .*: 1 \(-999\)"),
    ],
)
def test_a_part_of_the_scores_on_another_scale_is_named(place, change, words):
    present = np.random.default_rng(2).random((50, 5)) < 0.3
    scores = scores_of(present, 5)
    scores[place] = change(scores[place])
    with pytest.warns(UserWarning, match=words):
        simulate(present, "machine", scores=scores)


def test_logits_of_a_class_may_all_be_above_0():
    present = np.random.default_rng(2).random((50, 5)) < 0.3
    scores = scores_of(present, 5)
    scores[:, 2] = 0.1 + 1.6 * present[:, 2]
    with warnings.catch_warnings(record=True, action="always") as noted:
        simulate(present, "machine", scores=scores)
    assert not [one for one in noted if "classes whose scores" in str(one.message)]
