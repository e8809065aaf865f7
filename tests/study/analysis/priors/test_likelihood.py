import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task
from simkit.learn.steps.optim import Settings
from simkit.study.analysis.priors.likelihood import likelihood, likely_labels

LONG = Settings(epochs=15, batch_size=16, lr=0.1)
N, L = 200, 6


def task() -> tuple[Truth, Task]:
    """Features tell what is there; a third of the labels is known, and the first image unasked."""
    chance = np.random.default_rng(2)
    present = chance.random((N, L)) < 0.3
    codes = np.where(chance.random((N, L)) < 0.3, np.where(present, 1, -1), 0).astype(np.int8)
    codes[0] = 0
    features = present + 0.2 * chance.standard_normal((N, L))
    labels = PartialLabels.of(codes, asked=np.arange(N) > 0)
    return Truth.of(present), Task(labels, FeatureInputs(features.astype(np.float32)))


def test_the_likeliest_become_the_present_ones():
    truth, given = task()
    table = likelihood(given, truth, ["p-asl", "csl(prior=none,top_k=2)"], ranks=4, settings=LONG)
    assert table.num_rows == 2 * 15 * 4
    rows = {(r["method"], r["epoch"], r["rank"]): r for r in table.to_pylist()}
    codes, there = given.labels.rows(np.arange(1, N)), truth.rows(np.arange(1, N))
    assert rows["p-asl", 1, 1]["chance"] == pytest.approx(there[codes == 0].mean())
    assert rows["p-asl", 1, 2]["images"] == ((codes == 0).sum(1) >= 2).sum()
    for method in ("p-asl", "csl(prior=none,top_k=2)"):
        last = [rows[method, 15, rank]["present"] for rank in (1, 2, 3, 4)]
        assert last == sorted(last, reverse=True) and last[0] > 0.7 > 0.3 > last[3]
        assert rows[method, 1, 1]["present"] < last[0]


def test_the_likely_labels_of_an_image():
    truth, given = task()
    table = likely_labels(given, truth, "p-asl", images=[3, 5], top=2, settings=LONG).to_pylist()
    assert [(row["row"], row["rank"]) for row in table] == [(3, 1), (3, 2), (5, 1), (5, 2)]
    for row in table:
        c = truth.classes.index(row["class"])
        assert row["present"] == truth.rows([row["row"]])[0, c]
        assert given.labels.rows([row["row"]])[0, c] == 0 and 0 < row["probability"] < 1
    assert table[0]["probability"] > table[1]["probability"]


@pytest.mark.parametrize(
    "act, sentence",
    [
        (
            lambda truth, given: likelihood(given, truth, ["an"], ranks=0),
            "likelihood: ranks is 0; a whole number of at least 1 is expected",
        ),
        (
            lambda truth, given: likelihood(given, truth, ["an"], ranks=2.5),
            "likelihood: ranks is 2.5; a whole number of at least 1 is expected",
        ),
        (
            lambda truth, given: likely_labels(given, truth, images=[0]),
            "likely labels: image 0 was not asked about; choose of task.rows",
        ),
        (
            lambda truth, given: likely_labels(given, truth, images=N),
            "likely labels: there is no image 200; rows from 0 to 199 are expected",
        ),
        (
            lambda truth, given: likely_labels(given, truth, images=[3], top=-1),
            "likely labels: top is -1; a whole number of at least 1 is expected",
        ),
        (
            lambda truth, given: likely_labels(given, truth, ["an", "csl"], images=[3]),
            "likely labels: method is ['an', 'csl']; one method is expected",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused(act, sentence):
    with pytest.raises(BadInput) as error:
        act(*task())
    assert str(error.value) == sentence
