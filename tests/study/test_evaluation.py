"""`simkit.evaluate`: mAP, its interval, thresholds and mistakes of a trained model, by value."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

import simkit
from simkit import FeatureInputs, Settings, Task, Trained, Truth, methods
from simkit.data.dataset import Dataset
from simkit.errors import BadInput
from simkit.learn.predict import Prediction
from simkit.learn.trained import too_frequent
from simkit.metrics.ap import LabelCounts, ap_of_classes
from simkit.results.test_split import on_new_images
from simkit.study.evaluation import Evaluation, evaluated
from simkit.study.trial import trial
from tests.study.conftest import save_truth

HOSTILE = "<script>alert(1)</script>"
NAMES = ("cat", HOSTILE, "cow", "eel", "fox")
IMAGES = ["p", "q", "r", "s"]
PRESENT = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1]], bool)
KNOWN = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1]], bool)
SCORES = np.array(
    [[4, 3, 0, 0, 9], [3, 2, 0, 0, 9], [2, 9, 0, 0, 9], [1, 1, 0, 0, 9]], float
)  # fmt: skip
DATA = Dataset("hand", {"train": Truth.of(PRESENT, IMAGES, (*NAMES[:4],), KNOWN)})


@pytest.fixture(scope="module")
def model() -> Trained:
    labels = simkit.PartialLabels.of([[1, -1, 1, -1, 1]] * 2, classes=NAMES)
    task = Task(labels, FeatureInputs(np.eye(2, dtype=np.float32)))
    return simkit.train(task, methods.make("an"), settings=Settings(epochs=1))


def unseen(scores: np.ndarray) -> dict[str, Prediction]:
    table = pd.DataFrame(scores, IMAGES, [*NAMES])
    return {"train": Prediction(table, np.zeros(len(table), bool), True)}


def by_hand(model: Trained, scores: np.ndarray = SCORES) -> Evaluation:
    with pytest.warns(UserWarning, match="the labels do not have: 1 of 5 .fox."):
        return evaluated(model, DATA, unseen(scores))


def test_means_are_over_classes_with_present_and_absent_labels(model) -> None:
    done = by_hand(replace(model, thresholds=(2.5, 1.5, 0.0, 0.0, 0.0), thresholds_from=7))
    # cat is present at ranks 1 and 3; of the other, rank 1 is unknown, 2 absent and 3 present.
    np.testing.assert_allclose(done.by_class["ap"], [(1 + 2 / 3) / 2, 1 / 2, np.nan, np.nan])
    assert done.map == pytest.approx((5 / 6 + 1 / 2) / 2)
    np.testing.assert_allclose(done.by_class["precision"][:2], [1 / 2, 1 / 2])
    np.testing.assert_allclose(done.by_class["recall"][:2], [1 / 2, 1])
    assert (done.precision, done.recall) == (0.5, 0.75)
    assert done.by_class["present"].tolist() == [2, 1, 0, 4]
    assert done.by_class["best_threshold"][:2].tolist() == [2, 2]
    assert "1 without present labels (cow) and 1 without absent labels (eel)" in done.left_out
    assert done.expected.low <= done.expected.mean <= done.expected.high
    for part in (done.left_out, "chosen with the highest F1, on 7 images of val"):
        assert part in done.text(width=1000) and part in done.html()


def test_classes_without_a_threshold_get_no_tags_and_are_named(model) -> None:
    thresholds = {"thresholds": (2.5, np.nan, 0.0, 0.0, 0.0), "thresholds_from": 7}
    done = by_hand(replace(model, **thresholds, tag_precision=0.8))
    assert (done.precision, done.recall) == (0.5, 0.5)  # of cat alone
    text = done.text(width=1000)
    assert "means over 1 class; thresholds chosen with the highest F1 of those" in text
    untagged = "No tags of 1 class, for which no threshold reaches 80% precision "
    untagged += f"with certainty: {HOSTILE}"
    # The first test is of 20 images: if all show the class, 0.8 ** 20 = 0.012 is significant.
    assert (
        f"{untagged}; tests need at least 20 labelled images, the surest with the class: " in text
    )
    assert "such as 0.3" in text
    assert next(line for line in text.splitlines() if line.startswith(HOSTILE)).endswith("no tags")


def test_labels_of_people_prevail_in_tags_and_both_are_seen(model) -> None:
    model = replace(model, thresholds=(2.5, np.nan, 0.0, 0.0, 0.0), thresholds_from=7)
    scores = pd.DataFrame([[2.5, 9, -1, 0, np.nan], [0, 0, 1, -1, 9]], ["p", "q"], [*NAMES])
    tags = simkit.learn.predict.tags_of(model, scores)
    assert tags["tag"].tolist() == [1, pd.NA, 0, 1, pd.NA, 0, pd.NA, 1, 0, 1]
    assert tags["people"].isna().all() and {*tags["source"].dropna()} == {"model"}
    # Other images and classes do not matter, and neither does the order; 0 is unknown.
    codes = np.array([[1, 0, -1], [1, 1, 1], [-1, 1, 1]])
    labels = simkit.PartialLabels.of(codes, np.array([*"qzp"]), (NAMES[1], "yak", NAMES[0]))
    tags = simkit.learn.predict.tags_of(model, scores, [labels])
    assert tags["tag"].tolist() == [1, 0, 0, 1, pd.NA, 0, 1, 1, 0, 1]
    assert [*tags["source"].fillna("")] == (
        ["people", "people", "model", "model", "", "people", "people", "model", "model", "model"]
    )
    assert tags["people"].tolist()[:2] == [1, 0] and tags["model"].tolist()[:2] == [1, pd.NA]
    assert tags["people"].tolist()[5:7] == [0, 1] and tags["model"].tolist()[5:7] == [0, pd.NA]
    assert tags[["image", "class", "score"]].iloc[6].tolist() == ["q", NAMES[1], 0.0]
    other = simkit.PartialLabels.of(codes[:1], np.array(["z"]), [*NAMES[:3]])
    with pytest.raises(BadInput, match="none of the scored images, but z"):
        simkit.learn.predict.tags_of(model, scores, [other])


def test_the_surest_mistakes_are_known_labels_beyond_the_thresholds(model) -> None:
    done = by_hand(replace(model, thresholds=(2.5, 1.5, 1.0, 1.0, 0.0)))
    rows = done.mistakes[["mistake", "image", "class", "score"]].to_numpy().tolist()
    assert rows == [
        ["false positive", "p", HOSTILE, 3.0], ["false positive", "q", "cat", 3.0],
        ["miss", "p", "eel", 0.0], ["miss", "q", "eel", 0.0], ["miss", "r", "cat", 2.0],
    ]  # fmt: skip


def test_images_that_could_not_be_read_do_not_count(model) -> None:
    scores = np.where(np.arange(4)[:, None] == 3, np.nan, SCORES)
    done = by_hand(model, scores)
    np.testing.assert_allclose(done.by_class["ap"][:2], [5 / 6, 1 / 2])
    assert done.by_class["absent"].tolist() == [1, 1, 3, 0]
    assert "s" not in [*done.mistakes["image"]]


def test_without_thresholds_the_probability_is_a_half(model) -> None:
    done = by_hand(model, SCORES - 2.5)
    assert done.by_class["threshold"].tolist() == [0.0] * 4
    assert "probability 1/2" in done.text(width=1000) and repr(done) == done.text()


class Elements(HTMLParser):
    """Names and attributes of the elements of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_needs_nothing_else_and_names_of_classes_are_text(model) -> None:
    done = by_hand(model)
    elements = Elements(done.html()).found
    sources = [attrs.get("src") or "" for tag, attrs in elements if tag == "img"]
    assert len(sources) == 2 and all(source.startswith("data:image/") for source in sources)
    assert not [tag for tag, _ in elements if tag in ("script", "link", "iframe")]
    assert "&lt;script&gt;alert" in done.html() and "<script" not in done._repr_html_()


def test_plain_values_are_json(model) -> None:
    values = json.loads(json.dumps(by_hand(model).to_json(), allow_nan=False))
    assert [row["ap"] for row in values["by_class"]][1:] == [0.5, None, None]
    assert (values["map"], values["images"]) == (pytest.approx(2 / 3), 4)


def test_data_without_classes_or_labels_of_the_model_are_refused(model) -> None:
    others = Dataset("odd", {"train": Truth.of(PRESENT, IMAGES, [*"wxyz"])})
    with pytest.raises(BadInput, match="odd has none of the model's classes"):
        simkit.evaluate(model, others)
    nothing = Dataset("bare", {"train": Truth.of(PRESENT, IMAGES, NAMES[:4], KNOWN * False)})
    with pytest.raises(BadInput, match="bare has no labels"):
        simkit.evaluate(model, nothing)
    alike = Dataset("alike", {"train": Truth.of(PRESENT[:, 2:], IMAGES, NAMES[2:4])})
    with pytest.raises(BadInput, match="no class has both present and absent labels"):
        evaluated(model, alike, unseen(SCORES))


@pytest.fixture(scope="module")
def on_scenes() -> tuple[str, Trained]:
    spec = "scenes:images=150,val=30,test=40"
    labels = simkit.simulate(simkit.data.open(spec).truth["train"], "full-subset")
    source = simkit.Source(spec, (), (), "scenes-net")
    settings = Settings(epochs=3)
    done = trial(labels, methods.make("an"), source, settings=settings, report=True,
                 tag_precision=0.2)  # fmt: skip
    return spec, done.trained


def test_tags_that_are_far_more_frequent_than_labels_are_named(on_scenes) -> None:
    names, tagged, present = (
        [*"abcde"],
        np.array([74, 22, 132, 30, 0]),
        np.array([27, 11, 70, 0, 9]),
    )
    text = too_frequent(names, tagged, 135, present, 135)
    # Of b the intervals (10.5 to 23.6 % and 4.1 to 14.1 %) overlap, of c the ratio is below 2.
    assert text.startswith("check the tags of 2 classes, which the model finds far more often than")
    assert "say: d 22% of images (0% by labels), a 55% of images (20% by labels); " in text
    assert too_frequent(names[1:3], tagged[1:3], 135, present[1:3], 135) == ""
    assert "1 class, " in too_frequent(["a"], tagged[:1], 1350, present[:1], 1350)
    spec, model = on_scenes
    done = simkit.evaluate(replace(model, thresholds=(-99.0,) * len(model.classes)), spec)
    assert (done.by_class["tagged"] == len(done.scores)).all()
    assert "Check the tags of " in done.text(width=1000) and "Warning" in done.html()


def test_the_page_speaks_of_dots_only_where_some_are_drawn(model) -> None:
    assert "The dot is at the model" in by_hand(model).html()
    none = replace(model, thresholds=(np.nan,) * len(NAMES), thresholds_from=7)
    page = by_hand(none).html()
    assert "Precision (vertical) over recall." in page and "The dot" not in page


def test_a_model_is_evaluated_on_test_images_as_scikit_learn_does(on_scenes) -> None:
    spec, model = on_scenes
    done = simkit.evaluate(model, spec)
    truth = simkit.data.open(spec).truth["test"].present.toarray()
    scores = simkit.predict(model, spec, split="test")
    places = [scores.columns.get_loc(name) for name in done.by_class.index]
    assert len(done.scores) == 40 and len(places) == 41
    for c, ap in zip(places, done.by_class["ap"], strict=True):
        if truth[:, c].any():
            expected = average_precision_score(truth[:, c], scores.iloc[:, c])
            assert ap == pytest.approx(expected, abs=1e-9)
    assert done.map == pytest.approx(model.scored["map"], abs=1e-6)  # as training measured it
    assert done.expected.low == pytest.approx(model.scored["low"], abs=1e-5)
    mean = f"{100 * model.scored['map']:.1f}"
    known = (
        f"<Trained an: 52 classes, mAP {mean} on 40 images of test; scenes-net, trained on scenes"
    )
    assert repr(model).startswith(known)
    assert model.thresholds_from == 180 and model.tag_precision == 0.2
    html = done.html()
    assert html.count("where the picture says otherwise, the label is wrong") == 2
    assert html.count("<details open>") == 3 and html.count("data:image/jpeg") > 12
    assert html.count("data:image/svg") == done.by_class["ap"].notna().sum()


def test_images_of_the_training_are_left_out(on_scenes, tmp_path) -> None:
    spec, model = on_scenes
    model.save(tmp_path)
    data, loaded = simkit.data.open(spec), Trained.load(tmp_path)
    parts = {s: {k: v for k, v in getattr(data, s).items() if k != "test"}
             for s in ("truth", "pictures")}  # fmt: skip
    done = simkit.evaluate(loaded, replace(data, **parts))
    assert len(done.scores) == 30 and done.seen == 150  # val, train
    expected = "150 of these 180 images are training images of the model; mAP is on the other 30."
    assert expected in done.text(width=1000)
    with pytest.raises(BadInput, match="all 150 images of scenes were"):
        simkit.evaluate(loaded, data, split="train")
    earlier = simkit.evaluate(replace(loaded, trained_on=None), replace(data, **parts))
    assert len(earlier.scores) == 30  # the id of the features is that of the training
    assert "cannot be checked" in simkit.evaluate(replace(loaded, trained_on=None), spec).text()
    assert not simkit.evaluate(loaded, spec).training_note


def test_without_pictures_the_rows_of_features_are_recognised(tiny, tmp_path) -> None:
    grid = tiny()
    labels = simkit.simulate(simkit.data.open(grid.data).truth["train"], "full-subset")
    source = simkit.Source(grid.data, (), (), features=tuple(grid.features.items()))
    model = trial(labels, methods.make("an"), source, settings=Settings(epochs=1)).trained
    model.save(tmp_path / "model")
    parts = [np.load(grid.features[split])["features"] for split in ("train", "test")]
    present = np.random.default_rng(1).random((50, 4)) < 0.4
    save_truth(tmp_path / "mixed.npz", present, "mixed")
    np.savez(tmp_path / "mixed-features.npz", features=np.concatenate([parts[0][:10], parts[1]]))
    data = grid.data.rpartition("=")[0] + f"={tmp_path / 'mixed.npz'}"
    brought = {"test": tmp_path / "mixed-features.npz"}
    done = simkit.evaluate(tmp_path / "model", data, features=brought)
    assert done.seen == 10 and [*done.scores.index] == [f"mixed {i}" for i in range(10, 50)]
    assert done.present.tolist() == present[10:].tolist()


def test_the_interval_holds_map_on_many_images() -> None:
    rng, classes = np.random.default_rng(0), 8
    shares, apart = np.geomspace(0.02, 0.3, classes), 1.5 + 0.7 * rng.standard_normal(classes)

    def measured(images: int) -> tuple[np.ndarray, LabelCounts]:
        present = rng.random((images, classes)) < shares
        scores = rng.standard_normal(present.shape) + present * apart
        return ap_of_classes(scores, present), LabelCounts.of(present)

    many, few = np.nanmean(measured(20_000)[0]), [measured(40) for _ in range(30)]
    intervals = [on_new_images(*each) for each in few]
    assert np.mean([one.low <= many <= one.high for one in intervals]) >= 0.9
    too_high = np.mean([np.nanmean(ap) for ap, _ in few]) - many
    assert too_high > 0.05
    assert abs(np.mean([one.mean for one in intervals]) - many) < 0.6 * too_high
