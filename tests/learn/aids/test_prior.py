import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from scipy.stats import spearmanr

from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import PartialLabels
from simkit.learn.aids.aids import Aid
from simkit.learn.aids.means import RunningMean
from simkit.learn.aids.prepare import prepare
from simkit.learn.aids.prior import ClassPrior
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train

NAMES = ("cat", "dog", "eel", "fox")


def message(act) -> str:
    with pytest.raises(BadInput) as error:
        act()
    return str(error.value)


def test_it_is_a_value():
    given = np.array([0.1, 0.5, 0.25, 0], np.float32)
    prior = ClassPrior(given, NAMES)
    given[0] = 1
    assert prior.values.dtype == np.float64 and prior.values[0] == np.float32(0.1)
    for held in (prior, copy.deepcopy(prior), pickle.loads(pickle.dumps(prior))):
        assert isinstance(held, Aid) and held.id == prior.id
        with pytest.raises(ValueError):
            held.values[0] = 1
    assert ClassPrior(prior.values).id != prior.id
    assert ClassPrior(prior.values, reversed(NAMES)).id != prior.id


def test_what_is_no_share_is_refused():
    assert message(lambda: ClassPrior([0.1, 1.5])) == (
        "the prior of class 1 is 1.5; a share from 0 to 1 is expected"
    )
    assert message(lambda: ClassPrior([float("nan")])) == (
        "the prior of class 0 is nan; a share from 0 to 1 is expected"
    )
    assert (
        message(lambda: ClassPrior([[0.1]])) == "a class prior has shape (1, 1); (L,) is expected"
    )
    assert message(lambda: ClassPrior("much")) == (
        "a class prior holds no numbers; give (L,) shares of images"
    )
    assert message(lambda: ClassPrior([0.1, 0.2], ("cat", "cat"))) == (
        "2 class names (1 different) came for 2 priors; give one name for each"
    )


def test_priors_are_found_by_name_or_by_place():
    prior = ClassPrior([0.1, 0.2, 0.3, 0.4], NAMES)
    assert prior.of(("fox", "cat")).tolist() == [0.4, 0.1]
    assert message(lambda: prior.of(("cat", "doge"))) == (
        "no class of the prior is called 'doge'; did you mean 'dog'?"
    )
    unnamed = ClassPrior([0.1, 0.2])
    assert unnamed.of(("a", "b")).tolist() == [0.1, 0.2]
    assert message(lambda: unnamed.of("abc")) == (
        "the class prior is of 2 classes and the labels of 3; give one for each class, or name "
        "its classes"
    )


def test_building_averages_a_model_that_ignores_unknown_labels(pooled):
    settings = Settings(epochs=2, batch_size=32)
    trained = train(pooled, make("ignore"), settings=settings, seed=3)
    wanted = (1 / (1 + np.exp(-trained.scores(pooled.inputs).astype(float)))).mean(0)
    ready = prepare(pooled, make("csl"), settings=settings, seed=3)
    prior = ready.aid(ClassPrior)
    np.testing.assert_allclose(prior.values, wanted, rtol=1e-6)
    assert prior.classes == pooled.labels.classes
    assert prior.history.command == "class-prior" and prior.history.seed == 3
    assert prior.history.parents == (pooled.labels.id, pooled.inputs.id)
    csl = train(ready, make("csl(top_k=1)"), settings=Settings(epochs=1))
    assert prior.id in csl.history.parents


def test_the_running_average_is_over_the_training_itself(pooled):
    settings, mean = Settings(epochs=2, batch_size=32), RunningMean()
    train(pooled, make("ignore"), settings=settings, watch=(mean,))
    prior = ClassPrior.build(pooled, train=partial(train, settings=settings))
    np.testing.assert_array_equal(prior.running, mean.value)
    assert np.abs(prior.values - prior.running).max() > 1e-3
    assert prior.id != ClassPrior(prior.values, prior.classes).id
    turned = prior.classes[::-1]
    np.testing.assert_array_equal(prior.of(turned, running=True), mean.value[::-1])
    given = ClassPrior([0.1, 0.2])
    assert given.of("ab", running=True).tolist() == [0.1, 0.2]  # there is no training behind it
    with pytest.raises(BadInput, match="running means"):
        ClassPrior([0.1, 0.2], running=[0.1])


def test_more_common_classes_get_larger_priors():
    """Of every class as many labels are known as present as absent: counting could not tell."""
    rng = np.random.default_rng(0)
    shares = np.array([0.05, 0.15, 0.3, 0.6])
    features = rng.standard_normal((800, 8))
    score = features @ rng.standard_normal((8, 4))
    present = score > np.diagonal(np.quantile(score, 1 - shares, axis=0))
    codes = np.zeros((800, 4), int)
    for c in range(4):
        for code, where in ((1, present[:, c]), (-1, ~present[:, c])):
            codes[rng.permutation(np.flatnonzero(where))[:40], c] = code
    task = Task(PartialLabels.of(codes, asked=np.ones(800, bool)), FeatureInputs(features))
    prior = prepare(task, make("csl"), settings=Settings(epochs=20)).aid(ClassPrior)
    assert prior.spearman(shares) == pytest.approx(1)
    assert (np.diff([row["present"] for row in prior.table(task.labels)]) == 0).all()


def test_without_inputs_there_is_nothing_to_train_on():
    assert message(lambda: prepare(Task(np.array([[1, -1]])), make("csl"))) == (
        "the task has no inputs to train on; give Task(labels, FeatureInputs(...)) or "
        "Task(labels, ImageInputs(...))"
    )


def test_rank_correlation_over_the_most_frequent_classes():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 6, 12) / 6
    prior = ClassPrior(rng.integers(0, 5, 12) / 5)
    assert prior.spearman(true) == pytest.approx(spearmanr(true, prior.values).statistic)
    top = np.argsort(-true, kind="stable")[:7]
    wanted = spearmanr(true[top], prior.values[top]).statistic
    assert prior.spearman(true, top=7) == pytest.approx(wanted)
    assert np.isnan(ClassPrior([0.5, 0.5]).spearman([0.1, 0.2]))
    assert message(lambda: prior.spearman(true, top=1)) == (
        "top is 1; a number of classes from 2 to 12 is expected"
    )
    assert message(lambda: prior.spearman([1, 2])) == (
        "true frequencies have shape (2,); (12,) is expected"
    )


def test_reference_rank_correlations(golden):
    g = np.load(golden / "metrics.npz")
    prior = ClassPrior(g["prior_est"])
    for n, wanted in zip(g["ref_spearman_n"], g["ref_spearman_top_n"], strict=True):
        assert prior.spearman(g["prior_true"], top=int(n)) == pytest.approx(wanted, rel=1e-9)


def test_the_table_sets_priors_beside_what_the_labels_say():
    labels = PartialLabels.of([[1, -1, 0, 1], [1, -1, 0, 0], [-1, 0, 0, 0]], classes=NAMES)
    prior = ClassPrior([0.125, 0.5, 0.25, 0.0], NAMES)
    assert prior.table()[0] == {"class": "dog", "prior": 0.5}
    rows = prior.table(labels)
    assert [row["class"] for row in rows] == ["dog", "eel", "cat", "fox"]
    assert rows[2] == {"class": "cat", "prior": 0.125, "known": 3, "present": 2 / 3}
    assert rows[1]["known"] == 0 and np.isnan(rows[1]["present"])
    assert prior.show(labels, lines=3) == (
        "class  prior     known  present\n"
        "dog    0.500         2    0.000\n"
        "eel    0.250         0      nan\n"
        "cat    0.125         3    0.667\n"
        "and 1 more"
    )
    assert ClassPrior([0.25, 0.5]).show() == "class    prior\nclass-1  0.500\nclass-0  0.250"


def test_it_is_blind_where_the_labels_it_was_estimated_from_say_absent_of_nothing():
    labels = PartialLabels.of([[1, 1, 0, -1], [1, -1, 0, -1]])
    made = ClassPrior([0.9] * 4, history=History("class-prior", {}, 0, (labels.id, "features")))
    assert made.blind(labels).tolist() == [True, False, True, False]
    other = PartialLabels.of([[1, 1, 0, -1], [1, 1, 0, -1]])
    assert not made.blind(other).any() and not ClassPrior([0.9] * 4).blind(labels).any()


def test_the_temporary_model_does_not_warn_of_itself():
    features = FeatureInputs(np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32))
    task = Task(np.eye(12, 3, dtype=int), features)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = prepare(task, make("csl"), settings=Settings(epochs=1)).aid(ClassPrior)
    assert found.values.shape == (3,)
