"""Order and size of scores in maps, against plain reference code and planted damage."""

import dataclasses
import warnings

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from scipy.stats import spearmanr

from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import make
from simkit.study.analysis.explaining.activation import explanations
from simkit.study.analysis.explaining.damage import (
    Course,
    damage,
    ends,
    gaussian,
    spearman,
    summary,
)
from simkit.study.analysis.explaining.models import models
from tests.study.analysis.explaining.conftest import SETTINGS


@pytest.fixture(scope="module")
def table(scenes, trained):
    partial = {key: trained[key] for key in ("an", "an+boostlu(train=false)")}
    return damage(
        trained["full"], partial, scenes.inputs("test", "maps"), scenes.truth("test"), batch=30
    )


def test_spearman_is_scipys_also_with_ties() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, (2, 5, 20)).astype(float)
    x[3] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = [spearmanr(a, b).statistic for a, b in zip(x, y, strict=True)]
    assert np.isnan(wanted[3])
    np.testing.assert_allclose(spearman(x, y), wanted, rtol=1e-12)


def test_ends_are_means_of_a_share_of_cells() -> None:
    cells = np.arange(100.0)[::-1]
    assert ends(cells, 0.05) == (97, 2)
    assert ends(cells[:10], 0.05) == (99, 90)  # one cell at least


def test_the_gaussian_stands_in_the_middle() -> None:
    found = gaussian(5, 7, 0.25)
    assert found[2, 3] == found.max() == 1
    np.testing.assert_allclose(found, found[::-1, ::-1])
    np.testing.assert_allclose(found[2, 5], np.exp(-((2 / 7) ** 2) / (2 * 0.25**2)))


def test_one_row_by_hand(scenes, trained, table) -> None:
    full, an = (
        np.concatenate(list(explanations(trained[key], scenes.inputs("test", "maps"))))
        for key in ("full", "an")
    )
    rows = table.to_pylist()
    assert len(rows) == 2 * 80 * 52
    for row in (rows[0], rows[31 * 52 + 7], rows[80 * 52 - 1]):
        c = scenes.truth("test").classes.index(row["class"])
        x, y = (maps[row["image"], c].astype(float).ravel() for maps in (full, an))
        assert row["model"] == "an"
        assert row["present"] == scenes.truth("test").rows([row["image"]])[0, c]
        close = {"rtol": 1e-5}
        np.testing.assert_allclose(row["agreement"], spearmanr(x, y).statistic, **close)
        wanted = spearmanr(x, gaussian(8, 8, 0.25).ravel()).statistic
        np.testing.assert_allclose(row["control"], wanted, **close)
        np.testing.assert_allclose(row["top"], np.sort(y)[-3:].mean(), **close)
        np.testing.assert_allclose(row["full_bottom"], np.sort(x)[:3].mean(), **close)
        wanted = np.sqrt(((x - y) ** 2).sum() / (x**2).sum())
        np.testing.assert_allclose(row["distance"], wanted, **close)


def test_missing_labels_lower_the_top_of_present_classes_most(table) -> None:
    rows = {(row["model"], row["labels"]): row for row in summary(table).to_pylist()}
    present, absent = rows["an", "present"], rows["an", "absent"]
    assert present["maps"] + absent["maps"] == 80 * 52
    assert present["agreement"] > present["control"] + 0.1 and present["positive"] > 0.75
    lost = present["full_top"] - present["top"]
    assert lost > 3 * abs(absent["full_top"] - absent["top"]) > 0
    assert lost > 3 * abs(present["full_bottom"] - present["bottom"])


def test_a_boost_restores_scores_and_leaves_the_order(table) -> None:
    rows = {(row["model"], row["labels"]): row for row in summary(table).to_pylist()}
    plain, boosted = rows["an", "present"], rows["an+boostlu(train=false)", "present"]
    np.testing.assert_allclose(boosted["agreement"], plain["agreement"], atol=0.01)
    assert boosted["top"] > 4 * plain["top"] > 0
    np.testing.assert_allclose(boosted["bottom"], plain["bottom"], rtol=0.05)


def test_a_model_beside_itself_is_whole(scenes, trained) -> None:
    inputs, truth = scenes.inputs("test", "maps"), scenes.truth("test")
    found = damage(trained["full"], {"again": trained["full"]}, inputs, truth)
    np.testing.assert_allclose(found["agreement"].to_numpy(), 1, rtol=1e-12)
    assert not found["distance"].to_numpy().any()


def test_gradients_stay_on_afterwards(scenes, trained, table) -> None:
    assert torch.is_grad_enabled()


def test_what_is_not_known_is_left_out(scenes, trained) -> None:
    truth = scenes.truth("test")
    known = np.zeros(truth.shape, bool)
    known[[0, 5], [1, 2]] = True
    partly = Truth(truth.present, truth.images, truth.classes, csr_array(known))
    found = damage(trained["full"], {"an": trained["an"]}, scenes.inputs("test", "maps"), partly)
    assert found["image"].to_pylist() == [0, 5] and found["class"].to_pylist() == ["one", "two"]


def test_flat_maps_have_no_correlation(scenes, trained) -> None:
    model = dataclasses.replace(trained["an"]).on("cpu")
    with torch.no_grad():
        model.model.head.weight.zero_()
    found = damage(
        trained["full"], {"flat": model}, scenes.inputs("test", "maps"), scenes.truth("test")
    )
    assert np.isnan(found["agreement"].to_numpy()).all()
    row = summary(found).to_pylist()[0]
    assert np.isnan(row["agreement"]) and np.isnan(row["positive"]) and row["top"] == row["bottom"]


def test_the_course_ends_at_the_trained_model(scenes) -> None:
    inputs, truth = scenes.inputs("test", "maps"), scenes.truth("test")
    course = Course(make("an"), inputs, truth)
    done = models(scenes, ["an"], "rpa(keep=0.5)", settings=SETTINGS, watch={"an": [course]})["an"]
    rows = course.table("an").to_pylist()
    assert [(r["epoch"], r["labels"]) for r in rows] == [
        (epoch, labels) for epoch in range(1, 11) for labels in ("present", "absent")
    ]
    present = truth.rows(range(80))
    assert rows[-2]["model"] == "an"
    np.testing.assert_allclose(rows[-2]["logit"], done.scores(inputs)[present].mean(), rtol=1e-4)
    tops = damage(done, {"an": done}, inputs, truth)["top"].to_numpy().reshape(80, 52)
    np.testing.assert_allclose(rows[-1]["top"], tops[~present].mean(), rtol=1e-4)


def test_a_course_leaves_out_what_is_not_known(scenes, trained) -> None:
    inputs, truth = scenes.inputs("test", "maps"), scenes.truth("test")
    known = np.arange(80 * 52).reshape(80, 52) % 3 > 0
    partly = Truth(truth.present, truth.images, truth.classes, csr_array(known))
    course, done = Course(make("an"), inputs, partly), trained["an"]
    course.after_epoch(1, done.model, done.state)
    present, scores = truth.rows(range(80)), done.scores(inputs)
    for row, which in zip(course.rows, (present & known, ~present & known), strict=True):
        np.testing.assert_allclose(row["logit"], scores[which].mean(), rtol=1e-4)


def test_a_course_needs_inputs(scenes) -> None:
    with pytest.raises(BadInput, match=r"^Course: there are no inputs; give those of images"):
        Course(make("an"), FeatureInputs(np.zeros((0, 4), np.float32)), scenes.truth("test"))


@pytest.mark.parametrize("given", [{"share": 0}, {"share": 0.6}, {"spread": 0}])
def test_shares_are_shares(scenes, trained, given) -> None:
    inputs, truth = scenes.inputs("test", "maps"), scenes.truth("test")
    with pytest.raises(BadInput) as error:
        damage(trained["full"], {"an": trained["an"]}, inputs, truth, **given)
    (name, value), *_ = given.items()
    assert str(error.value) == (
        f"damage: {name} is {value}; a number above 0 and up to 0.5 is expected"
    )


def test_models_are_of_the_same_classes(scenes, trained) -> None:
    inputs, truth = scenes.inputs("test", "maps"), scenes.truth("test")
    other = dataclasses.replace(trained["an"], classes=("a",))
    with pytest.raises(BadInput) as error:
        damage(trained["full"], {"an": other}, inputs, truth)
    assert str(error.value) == (
        "damage: 'an' was trained on other classes than the truth has; give the truth of the data "
        "it was trained on"
    )
    with pytest.raises(BadInput) as error:
        damage(trained["full"], {}, inputs, truth)
    assert str(error.value) == (
        "damage: no partially trained model came; give some, as {'AN': trained}"
    )


@pytest.mark.parametrize("batch", [0, -3, 2.5, True, None])
def test_a_batch_is_a_whole_number_from_1(scenes, trained, batch) -> None:
    inputs, truth = scenes.inputs("test", "maps"), scenes.truth("test")
    with pytest.raises(BadInput) as error:
        damage(trained["full"], {"an": trained["an"]}, inputs, truth, batch=batch)
    assert str(error.value) == (
        f"damage: batch is {batch!r}; a whole number of at least 1 is expected"
    )
    with pytest.raises(BadInput, match=r"^batch is "):
        explanations(trained["an"], inputs, batch=batch)


def test_a_course_is_of_the_images_of_its_truth(scenes) -> None:
    inputs = scenes.inputs("test", "maps")
    with pytest.raises(BadInput, match=r"^Course: 80 inputs came with a truth of 600 images; give"):
        Course(make("an"), inputs, scenes.truth("train"))
    with pytest.raises(BadInput, match=r"^Course: share is 0; a number above 0 and up to 0.5 is"):
        Course(make("an"), inputs, scenes.truth("test"), share=0)
    assert Course(make("an"), inputs, scenes.truth("test")).table("an").column_names[0] == "model"
