"""Estimated priors by hand, and what trained methods make of unknown labels."""

import os
from pathlib import Path

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.side_info import ClassPrior, prepare
from simkit.papers.analysis.learning import (
    COUNTED,
    TrainingOptions,
    estimates,
    likelihood,
    likely_labels,
    priors,
    rank_agreement,
    readings,
    recorded,
)

TRUTH = Truth.of(
    np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1], [0, 1, 0, 0]]),
    classes=("ape", "bee", "cow", "dog"),
)  # in 2, 3, 2 and 1 of 4 images
GOOD = ClassPrior([0.4, 0.7, 0.3, 0.1])
NAMED = ClassPrior([0.9, 0.2, 0.3, 0.4], ("dog", "cow", "bee", "ape"))
BOTH = {"given": GOOD, "named": NAMED}
QUICK = Settings(epochs=2, batch_size=8)


def learnable(N: int, shares, known: float, noise: float, asked=None) -> tuple[Truth, Task]:
    """Features that tell what is present in images that show classes in these shares."""
    rng = np.random.default_rng(2)
    present = rng.random((N, len(shares))) < shares
    codes = np.where(rng.random(present.shape) < known, np.where(present, 1, -1), 0)
    features = (present + noise * rng.standard_normal(present.shape)).astype(np.float32)
    asked = np.ones(N, bool) if asked is None else asked
    labels = PartialLabels.of((codes * asked[:, None]).astype(np.int8), asked=asked)
    return Truth.of(present), Task(labels, FeatureInputs(features))


def test_priors_stand_in_the_order_of_the_true_frequency() -> None:
    table = priors(TRUTH, BOTH)
    assert table["class"].tolist() == ["bee", "ape", "cow", "dog"] * 2
    assert table["rank"].tolist() == [0, 1, 2, 3] * 2
    assert table["true"].tolist() == [0.75, 0.5, 0.5, 0.25] * 2
    assert table["prior"].tolist() == [0.7, 0.4, 0.3, 0.1, 0.3, 0.4, 0.2, 0.9]
    assert table["estimate"].tolist() == ["given"] * 4 + ["named"] * 4
    with pytest.raises(BadInput, match="'bee'; did you"):
        priors(TRUTH, {"odd": ClassPrior([0.1, 0.2], ("ape", "bees"))})


def test_agreement_is_over_the_most_frequent_classes() -> None:
    table = rank_agreement(TRUTH, BOTH, (2, 4))
    assert table["top"].tolist() == [2, 4, 2, 4]
    # Ranks of the truth 4, 2.5, 2.5, 1; given 4, 3, 2, 1: 4.5 / sqrt(4.5 * 5). Named 2, 3, 1, 4.
    wanted = [1.0, 4.5 / np.sqrt(22.5), -1.0, -3 / np.sqrt(22.5)]
    np.testing.assert_allclose(table["spearman"], wanted)
    flat = rank_agreement(TRUTH, {"flat": ClassPrior([0.2] * 4), "given": GOOD})
    assert flat["top"].tolist() == [4, 4] and flat["spearman"].isna().tolist() == [True, False]


def test_frequencies_are_of_the_images_that_the_truth_knows() -> None:
    share, images = np.array([0.9, 0.8, 0.6, 0.5, 0.2]), np.array([10, 20, 40, 80, 100])
    rows = np.arange(100)[:, None]
    truth = Truth.of(rows < share * images, known=rows < images)
    perfect = {"perfect": ClassPrior(share)}
    np.testing.assert_allclose(priors(truth, perfect)["true"], share)
    assert rank_agreement(truth, perfect)["spearman"].tolist() == pytest.approx([1.0])
    blank = Truth.of(np.zeros((2, 1)), known=np.zeros((2, 1)))
    assert priors(blank, {"any": ClassPrior([0.5])})["true"].tolist() == [0.0]


def test_ignoring_finds_the_shares_and_assuming_negative_and_counting_do_not() -> None:
    """The first class is in 80 % of the images, the second in 20 %; ten labels of each kind."""
    chance = np.random.default_rng(0)
    present = chance.random((400, 2)) < (0.8, 0.2)
    codes = np.zeros((400, 2), np.int8)
    for c in range(2):
        for sign, where in ((1, present[:, c]), (-1, ~present[:, c])):
            codes[np.flatnonzero(where)[:10], c] = sign
    features = present + 0.1 * chance.standard_normal((400, 2))
    task = Task(codes, FeatureInputs(features.astype(np.float32)))
    training = {"settings": Settings(epochs=30, lr=0.1)}
    found = estimates(task, "ignore, an, labels", **training)
    assert list(found) == ["ignore", "an", COUNTED]
    np.testing.assert_allclose(found["ignore"].values, present.mean(0), atol=0.1)
    assert (found["an"].values < 0.3).all()
    np.testing.assert_allclose(found[COUNTED].values, 10 / 400)
    assert estimates(task, ("ignore",), **training)["ignore"].id == found["ignore"].id
    built = prepare(task, make("csl"), **training).aid(ClassPrior)
    np.testing.assert_array_equal(built.values, found["ignore"].values)  # what CSL goes by


def test_every_label_is_known_left_out_or_assumed() -> None:
    N, L = 40, 6
    truth, task = learnable(N, np.linspace(0.9, 0.1, L), 0.3, 0.3)
    methods = ["an", "ignore", "csl(prior=none,top_k=2)"]
    table = readings(task, truth, methods, settings=QUICK)
    assert table["method"].unique().tolist() == methods and len(table) == 3 * L
    parts = table[["present", "absent", "ignored", "assumed"]].sum(axis=1)
    assert (parts == N).all() and (table["images"] == N).all()
    assert (table["true"][:L].diff().dropna() <= 0).all()
    assert table["rank"].tolist() == list(range(L)) * 3
    np.testing.assert_allclose(np.sort(table["true"][:L]), np.sort(truth.counts / N))
    an, ignore, csl = (table[table["method"] == name] for name in methods)
    open = task.labels.rows(np.arange(N)) == 0
    missed = (open & truth.rows(np.arange(N))).sum()
    assert an["assumed"].sum() == open.sum() and an["wrong"].sum() == missed
    assert an["ignored"].sum() == 0 and ignore["assumed"].sum() == 0
    assert ignore["ignored_present"].sum() == missed
    assert 0 < csl["ignored"].sum() <= 2 * N  # two of each image, where so many are unknown
    assert csl["wrong"].sum() + csl["ignored_present"].sum() == missed


def test_the_likeliest_labels_become_the_present_ones() -> None:
    N, L = 200, 6
    truth, task = learnable(N, [0.3] * L, 0.3, 0.2, asked=np.arange(N) > 0)
    training = {"settings": Settings(epochs=15, batch_size=16, lr=0.1)}
    methods = ["p-asl", "csl(prior=none,top_k=2)"]
    table = likelihood(task, truth, methods, ranks=4, **training)
    assert len(table) == 2 * 15 * 4
    rows = table.set_index(["method", "epoch", "rank"])
    codes, present = task.labels.rows(np.arange(1, N)), truth.rows(np.arange(1, N))
    assert rows.loc[("p-asl", 1, 1), "chance"] == pytest.approx(present[codes == 0].mean())
    assert rows.loc[("p-asl", 1, 2), "images"] == ((codes == 0).sum(1) >= 2).sum()
    for method in methods:
        last = rows.loc[(method, 15), "present"].tolist()
        assert last == sorted(last, reverse=True) and last[0] > 0.7 > 0.3 > last[3]
        assert rows.loc[(method, 1, 1), "present"] < last[0]
    listed = likely_labels(task, truth, "p-asl", images=[3, 5], top=2, **training)
    assert listed[["row", "rank"]].to_numpy().tolist() == [[3, 1], [3, 2], [5, 1], [5, 2]]
    for row in listed.to_dict("records"):
        c = truth.classes.index(row["class"])
        assert row["present"] == truth.rows([row["row"]])[0, c]
        assert task.labels.rows([row["row"]])[0, c] == 0 and 0 < row["probability"] < 1
    assert listed["probability"][0] > listed["probability"][1]


def test_likelihood_is_as_counted_image_by_image() -> None:
    rng = np.random.default_rng(1)
    present = rng.random((40, 5)) < 0.4
    codes = np.where(rng.random((40, 5)) < 0.4, np.where(present, 1, -1), 0).astype(np.int8)
    known = rng.random((40, 5)) < 0.9
    inputs = FeatureInputs((present + rng.standard_normal((40, 5))).astype(np.float32))
    task = Task(PartialLabels.of(codes, asked=np.ones(40, bool)), inputs)
    how = {"settings": Settings(epochs=3, batch_size=8, lr=0.1)}
    truth = Truth.of(present & known, known=known)
    found = likelihood(task, truth, "an", ranks=4, **how)
    every = recorded(task, "an", lambda *step: step[2].logits, TrainingOptions(**how))["an"]
    open = (codes == 0) & known
    wanted = []
    for epoch, logits in enumerate(every, start=1):
        hits = {}
        for image in range(40):
            own = [c for c in range(5) if open[image, c]]
            own.sort(key=lambda c, image=image, logits=logits: -logits[image][c])
            for k, c in enumerate(own[:4], start=1):
                hits.setdefault(k, []).append(present[image, c])
        chance = present[open].mean()
        wanted += [("an", epoch, k, len(hits[k]), np.mean(hits[k]), chance) for k in sorted(hits)]
    rows = found.itertuples(index=False, name=None)
    assert list(rows) == [pytest.approx(row) for row in wanted]


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda truth, task: likely_labels(task, truth, images=[0]), "image 0 was not asked"),
        (
            lambda truth, task: likely_labels(task, truth, "an,csl", images=[3]),
            "'an,csl' is not",
        ),
        (
            lambda _, task: readings(task, Truth.of(np.ones((40, 2)), classes=["a", "b"]), "an"),
            "classes",
        ),
    ],
)
def test_labels_that_cannot_be_listed_are_refused(act, words) -> None:
    with pytest.raises(BadInput, match=words):
        act(*learnable(40, (0.5, 0.5), 0.3, 1, asked=np.arange(40) > 0))


@pytest.mark.skipif("SIMKIT_DATA" not in os.environ, reason="SIMKIT_DATA names no real data")
def test_the_published_prior_of_coco_agrees_with_the_truth_as_published() -> None:
    """Figure 7: 0.81 over all 80 classes, at 1,000 labels per class; figure 11: the top ten."""
    data = Path(os.environ["SIMKIT_DATA"])
    with np.load(data / "labels" / "coco2014_train_cooccurrence.npz") as file:
        classes, counts = tuple(file["class_names"].tolist()), file["image_counts"]
    # Only counts are known of the training images; any truth with these shares will do.
    shares = np.round(1000 * counts / 82081).astype(int)
    truth = Truth.of(np.arange(1000)[:, None] < shares, classes=classes)
    published = {"published": ClassPrior.load(data / "meta" / "prior_fpc_1000.csv")}
    spearman = rank_agreement(truth, published, (80,))["spearman"]
    assert spearman.tolist() == pytest.approx([0.81], abs=0.015)
    top = priors(truth, published).nlargest(10, "prior")
    assert top["class"].iloc[0] == "person" and top["rank"].max() < 15
