"""Side information: prepared once, and the class prior by hand, in files and as estimated."""

import json
import os
import pickle
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import spearmanr

from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import PartialLabels
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Needs, Task, make
from simkit.learn.methods.assume_negative import AssumeNegative
from simkit.learn.optim import Settings
from simkit.learn.side_info import ClassPrior, mean_probability, prepare
from simkit.learn.train import train, train_stack

NAMES = ("cat", "dog", "eel", "fox")


@dataclass(frozen=True, eq=False)
class MeanScore:
    """Mean logits of a model that was trained for it."""

    values: np.ndarray
    name: ClassVar[str] = "mean-score"

    @property
    def id(self) -> str:
        return f"{self.values.sum():.6f}"

    @classmethod
    def build(cls, task, *, train):
        return cls(train(task, make("ignore")).scores(task.inputs).mean(0))


@dataclass(frozen=True)
class NeedsScores(AssumeNegative):
    name: ClassVar[str] = "needs-scores"

    @property
    def needs(self) -> Needs:
        return Needs(aids=(MeanScore,))


def test_what_methods_need_is_built_once_for_all(pooled):
    how = {"settings": Settings(epochs=1), "seed": 3}
    ready = prepare(pooled, make("an"), NeedsScores(), NeedsScores(pos_weight=2), **how)
    assert len(ready.aids) == 1
    assert ready.aid(MeanScore).values.shape == (5,)
    assert prepare(ready, NeedsScores()) is ready and prepare(pooled, make("an")) is pooled
    assert prepare(pooled, NeedsScores(), **how).aids[0].id == ready.aids[0].id
    plain, aided = train_stack([(ready, make("an")), (ready, NeedsScores())])
    assert ready.aids[0].id in aided.history.parents
    assert ready.aids[0].id not in plain.history.parents


def test_a_prior_is_a_value():
    given = np.array([0.1, 0.5, 0.25, 0], np.float32)
    prior = ClassPrior(given, NAMES)
    given[0] = 1
    assert prior.values.dtype == np.float64 and prior.values[0] == np.float32(0.1)
    assert pickle.loads(pickle.dumps(prior)).id == prior.id
    with pytest.raises(ValueError):
        prior.values[0] = 1
    assert ClassPrior(prior.values).id != prior.id
    assert ClassPrior(prior.values, reversed(NAMES)).id != prior.id


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0.1, 1.5],), "class 1 is 1.5; a share from 0 to 1"),
        (([0.1, 1.5], ("cat", "dog")), "class 'dog' is 1.5"),
        (([float("nan")],), "class 0 is nan"),
        (([[0.1]],), "shape"),
        (("much",), "shape"),
        (([0.1, 0.2], ("cat", "cat")), "give one name for each"),
    ],
)
def test_priors_that_are_no_shares_are_refused(given, message):
    with pytest.raises(BadInput, match=message):
        ClassPrior(*given)


def test_priors_are_read_by_name_or_by_place():
    prior = ClassPrior([0.1, 0.2, 0.3, 0.4], NAMES)
    assert prior.of(("fox", "cat")).tolist() == [0.4, 0.1]
    with pytest.raises(BadInput, match="did you mean 'dog'"):
        prior.of(("cat", "doge"))
    unnamed = ClassPrior([0.1, 0.2])
    assert unnamed.of(("a", "b")).tolist() == [0.1, 0.2]
    assert unnamed.of("ab", running=True).tolist() == [0.1, 0.2]  # no training is behind it
    with pytest.raises(BadInput, match="name its classes"):
        unnamed.of("abc")


def test_building_averages_a_model_that_ignores_unknown_labels(pooled):
    settings, steps = Settings(epochs=2, batch_size=32), []

    def watch(epoch, batch, out, state):
        steps.append(sigmoid(out.logits.numpy()))

    trained = train(pooled, make("ignore"), settings=settings, seed=3, watch=(watch,))
    wanted = sigmoid(trained.scores(pooled.inputs)).mean(0)
    ready = prepare(pooled, make("csl"), settings=settings, seed=3)
    prior = ready.aid(ClassPrior)
    np.testing.assert_allclose(prior.values, wanted, rtol=1e-6)
    np.testing.assert_allclose(prior.running, np.concatenate(steps).mean(0), rtol=1e-6)
    assert np.abs(prior.values - prior.running).max() > 1e-3
    turned = prior.classes[::-1]
    np.testing.assert_array_equal(prior.of(turned, running=True), prior.running[::-1])
    assert prior.classes == pooled.labels.classes
    assert prior.history.command == "class-prior" and prior.history.seed == 3
    assert prior.history.parents == (pooled.labels.id, pooled.inputs.id)
    assert prior.id != ClassPrior(prior.values, prior.classes).id
    csl = train(ready, make("csl(top_k=1)"), settings=Settings(epochs=1))
    assert prior.id in csl.history.parents


def test_without_inputs_there_is_nothing_to_train_on():
    with pytest.raises(BadInput, match="no inputs to train on; give"):
        prepare(Task(np.array([[1, -1]])), make("csl"))


def test_rank_correlation_over_the_most_frequent_classes():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 6, 12) / 6
    prior = ClassPrior(rng.integers(0, 5, 12) / 5)
    assert prior.spearman(true) == pytest.approx(spearmanr(true, prior.values).statistic)
    top = np.argsort(-true, kind="stable")[:7]
    wanted = spearmanr(true[top], prior.values[top]).statistic
    assert prior.spearman(true, top=7) == pytest.approx(wanted)
    assert np.isnan(ClassPrior([0.5, 0.5]).spearman([0.1, 0.2]))


def test_reference_rank_correlations(golden):
    g = np.load(golden / "metrics.npz")
    prior = ClassPrior(g["prior_est"])
    for n, wanted in zip(g["ref_spearman_n"], g["ref_spearman_top_n"], strict=True):
        assert prior.spearman(g["prior_true"], top=int(n)) == pytest.approx(wanted, rel=1e-9)


def test_it_is_blind_where_the_labels_it_was_estimated_from_say_absent_of_nothing():
    labels = PartialLabels.of([[1, 1, 0, -1], [1, -1, 0, -1]])
    made = ClassPrior([0.9] * 4, history=History("class-prior", {}, 0, (labels.id, "features")))
    assert made.lacks_label(labels).tolist() == [True, False, True, False]
    other = PartialLabels.of([[1, 1, 0, -1], [1, 1, 0, -1]])
    assert not made.lacks_label(other).any() and not ClassPrior([0.9] * 4).lacks_label(labels).any()


def test_the_temporary_model_does_not_warn_of_itself():
    features = FeatureInputs(np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32))
    task = Task(np.eye(12, 3, dtype=int), features)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prior = prepare(task, make("csl"), settings=Settings(epochs=1)).aid(ClassPrior)
    assert prior.values.shape == (3,)


def test_saved_and_read_back(tmp_path, pooled):
    built = prepare(pooled, make("csl"), settings=Settings(epochs=1)).aid(ClassPrior)
    for prior in (built, ClassPrior([1 / 3, 0, 1])):
        assert (prior.running is None) == (prior is not built)
        prior.save(tmp_path / "prior.json")
        again = ClassPrior.load(tmp_path / "prior.json")
        assert again.id == prior.id and again.classes == prior.classes
        assert again.history == prior.history and (again.values == prior.values).all()


def test_a_table_of_the_published_code_is_read(tmp_path):
    path = tmp_path / "prior.csv"
    for text in ("Classes,avg_pred\ncat,0.5\ndog,0.25\n1542867\n", "cat,0.5\r\ndog,.25\r\n"):
        path.write_text(text)
        prior = ClassPrior.load(path)
        assert prior.classes == ("cat", "dog") and prior.values.tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("json", '{"priors": {}, "history": HISTORY}'),
        ("json", '{"priors": {"cat": 2.5}, "history": HISTORY}'),
        ("csv", "cat,0.5\ndog\nfox,0.1\n"),
        ("csv", "cat,0.5\ndog,much\n"),
        ("csv", "cat,0.5,1\ndog,0.1,2\n"),
    ],
)
def test_a_damaged_file_is_refused_by_its_name(tmp_path, name, text):
    path = tmp_path / f"prior.{name}"
    history = json.dumps(json.loads(ClassPrior([0.5]).history.to_json()))
    path.write_text(text.replace("HISTORY", history))
    with pytest.raises(BadInput, match=f"{path}(: | cannot be read as a class prior)"):
        ClassPrior.load(path)


@pytest.mark.skipif(not os.environ.get("SIMKIT_DATA"), reason="needs the optional data")
def test_the_published_prior_of_coco_ranks_classes_nearly_as_the_paper_says():
    folder = Path(os.environ["SIMKIT_DATA"])
    prior = ClassPrior.load(folder / "meta" / "prior_fpc_1000.csv")
    truth = np.load(folder / "labels" / "coco2014_train_cooccurrence.npz", allow_pickle=False)
    names = tuple(map(str, truth["class_names"]))
    assert len(prior.values) == 80 and prior.of(("person",)) == [0.542279]
    same = ClassPrior(prior.of(names), names)
    # The paper gives 0.81; the file that came with its code has 0.802.
    assert same.spearman(truth["image_counts"]) == pytest.approx(0.802, abs=0.001)


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(float)))


def test_mean_probabilities_are_over_asked_images_whatever_the_batches():
    features = np.random.default_rng(0).standard_normal((600, 3)).astype(np.float32)
    codes = np.sign(features[:, :2]).astype(int)
    codes[500:] = 0
    task = Task(PartialLabels.of(codes, asked=np.arange(600) < 500), FeatureInputs(features))
    trained = train(task, make("ignore"), settings=Settings(epochs=1))
    means = mean_probability(trained, task)
    assert means.dtype == np.float64
    np.testing.assert_allclose(means, sigmoid(trained.scores(task.inputs)[:500]).mean(0), rtol=1e-6)
