"""Models, their class maps, and the damage to them: against reference code and planted maps."""

import dataclasses
import warnings

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

import simkit
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Task, make
from simkit.learn.model import Head, Model
from simkit.learn.optim import Settings
from simkit.learn.train import train
from simkit.learn.trained import Trained
from simkit.papers.analysis.explaining import (
    MapCourse,
    damage,
    damage_summary,
    explanations,
    from_pixels,
    models,
    top_score_medians,
    top_scores,
)
from simkit.study.sources import ImageTransform
from tests.papers.conftest import SETTINGS, SPECS


def test_each_method_learns_once_from_the_labels_its_name_says(scenes, trained) -> None:
    assert tuple(trained) == SPECS
    truth, inputs = scenes.truth("train"), scenes.inputs("train", "maps")
    how = {"hierarchy": scenes.hierarchy, "boxes": scenes.data.boxes["train"]}
    task = Task(simulate(truth, "single-positive", **how), inputs)
    assert train(task, make("an"), settings=SETTINGS).id == trained["an"].id
    codes = np.where(truth.rows(range(truth.shape[0])), 1, -1).astype(np.int8)
    full = train(Task(codes, inputs), make("full"), settings=SETTINGS)
    assert full.id == trained["full"].id
    other = models(scenes, "an", "single-positive", settings=SETTINGS, draw=1)
    assert other["an"].id != trained["an"].id


class Watcher:
    def __init__(self) -> None:
        self.boxes, self.present = [], 0

    def __call__(self, epoch, batch, out, state) -> None:
        self.boxes.append(batch.boxes)
        self.present += int((batch.labels == 1).sum())


def test_networks_see_the_same_crops_and_their_own_labels() -> None:
    data = simkit.data.open("scenes:images=24,val=1,test=4")
    settings = Settings(epochs=1, batch_size=8, lr=1e-3)
    how = {"settings": settings, "shown": ImageTransform(crop=(0.25, 1.0))}
    watch = {name: [Watcher()] for name in ("full", "an", "an+scl")}
    found = from_pixels(data, [*watch, "an"], "single-positive", watch=watch, **how)
    assert list(found) == ["full", "an", "an+scl"]
    full, an, scl = (watch[name][0] for name in watch)
    np.testing.assert_array_equal(torch.cat(an.boxes), torch.cat(scl.boxes))
    assert full.present == data.truth["train"].counts.sum() and an.present == scl.present == 24
    pictures = ImageInputs(data.pictures["test"])
    scores = {name: one.scores(pictures) for name, one in found.items()}
    # In the warm-up scl adds nothing.
    np.testing.assert_allclose(scores["an"], scores["an+scl"], rtol=1e-3, atol=1e-3)
    assert np.abs(scores["full"] - scores["an"]).max() > 0.1
    for other in ({"weights": "random"}, {"draw": 1}):
        assert from_pixels(data, "an", "single-positive", **how, **other)["an"].id != found["an"].id


def maps_of(trained, inputs):
    rows = np.arange(len(inputs))
    parts = explanations(trained.model, trained.method, trained.state, inputs, rows)
    return np.concatenate([maps for _, maps, _ in parts])


@pytest.mark.parametrize("spec", SPECS)
def test_means_of_maps_are_the_scores(scenes, trained, spec) -> None:
    inputs = scenes.inputs("test", "maps")
    maps = maps_of(trained[spec], inputs)
    assert maps.shape == (80, 52, 8, 8)
    np.testing.assert_allclose(
        maps.mean((2, 3)), trained[spec].scores(inputs), rtol=1e-4, atol=1e-4
    )
    plain = np.concatenate(list(trained[spec].maps(inputs)))
    boosted = np.where(plain > 0, 5 * plain, plain) if "boostlu" in spec else plain
    np.testing.assert_allclose(maps, boosted, rtol=1e-5)
    assert torch.is_grad_enabled()


N, L = 6, 3
RNG = np.random.default_rng(3)
FULL, OTHER = RNG.integers(-4, 9, (2, N, L, 4, 5)).astype(np.float32)  # with ties
FULL[0, 0], OTHER[1, 1] = 2, 0  # flat ones
PRESENT, KNOWN = RNG.random((N, L)) < 0.5, RNG.random((N, L)) < 0.9
TRUTH = Truth.of(PRESENT & KNOWN, known=KNOWN)


def planted(channels: slice) -> Trained:
    """A model whose class maps are these channels of its inputs."""
    head = Head(torch.eye(2 * L)[channels], torch.zeros(L))
    parts = (TRUTH.classes, 1, (0.0,), (), History("planted"))
    return Trained(Model(head), make("an"), torch.nn.Module(), *parts)


INPUTS = FeatureInputs(np.concatenate([FULL, OTHER], axis=1))
PAIR = planted(slice(0, L)), {"m": planted(slice(L, 2 * L)), "again": planted(slice(0, L))}


def test_damage_by_hand_and_by_scipy() -> None:
    table = damage(*PAIR, INPUTS, TRUTH, share=0.15, spread=0.3)
    assert len(table) == 2 * KNOWN.sum()
    y, x = np.mgrid[:4, :5] + 0.5
    gaussian = np.exp(-((y / 4 - 0.5) ** 2 + (x / 5 - 0.5) ** 2) / (2 * 0.3**2)).ravel()
    for row in table.to_dict("records"):
        c = TRUTH.classes.index(row["class"])
        assert KNOWN[row["image"], c] and row["present"] == PRESENT[row["image"], c]
        full, other = (
            maps[row["image"], c].astype(float).ravel()
            for maps in (FULL, OTHER if row["model"] == "m" else FULL)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = [spearmanr(full, each).statistic for each in (other, gaussian)]
        np.testing.assert_allclose([row["agreement"], row["control"]], wanted, rtol=1e-12)
        distance = np.sqrt(((full - other) ** 2).sum() / (full**2).sum())
        assert row["distance"] == pytest.approx(distance)
        for name, cells in (("", other), ("full_", full)):
            assert row[f"{name}top"] == pytest.approx(np.sort(cells)[-3:].mean())
            assert row[f"{name}bottom"] == pytest.approx(np.sort(cells)[:3].mean())
    whole = table[table["model"] == "again"]
    assert not whole["distance"].any() and whole["agreement"].isna().sum() == KNOWN[0, 0]
    one_cell = damage(*PAIR, INPUTS, TRUTH, share=0.01)  # one cell at least
    row = one_cell.iloc[-1]
    assert row["top"] == FULL[row["image"], TRUTH.classes.index(row["class"])].max()


def test_a_summary_is_of_medians() -> None:
    table = damage(*PAIR, INPUTS, TRUTH)
    result = damage_summary(table).set_index(["model", "labels"])
    assert list(result.index) == [(m, s) for m in PAIR[1] for s in ("present", "absent")]
    for (model, labels), row in result.iterrows():
        own = table[(table["model"] == model) & (table["present"] == (labels == "present"))]
        assert row["maps"] == len(own) and row["top"] == np.median(own["top"])
        values = own["agreement"][~np.isnan(own["agreement"])]
        assert row["agreement"] == np.median(values) and row["positive"] == (values > 0).mean()
        assert row["control"] == np.nanmedian(own["control"])
    flat = damage_summary(table[table["agreement"].isna() & (table["model"] == "m")])
    assert flat[["agreement", "positive"]].isna().all(axis=None) and flat["top"].notna().all()


def test_the_course_ends_at_the_trained_model(scenes) -> None:
    inputs, truth = scenes.inputs("test", "maps"), scenes.truth("test")
    known = np.arange(80 * 52).reshape(80, 52) % 3 > 0
    present = truth.rows(range(80))
    partly = Truth.of(present & known, truth.images, truth.classes, known)
    course = MapCourse(make("an"), inputs, partly)
    assert course.table("an").columns[0] == "model"
    done = models(scenes, ["an"], "rpa(keep=0.5)", settings=SETTINGS, watch={"an": [course]})["an"]
    table = course.table("an")
    assert table["epoch"].tolist() == [epoch for epoch in range(1, 11) for _ in range(2)]
    assert table["labels"].tolist() == ["present", "absent"] * 10
    scores = done.scores(inputs)
    wanted = [scores[mask & known].mean() for mask in (present, ~present)]
    np.testing.assert_allclose(table["logit"][-2:], wanted, rtol=1e-4)
    last = damage(done, {"an": done}, inputs, partly).groupby("present")[["top", "bottom"]].mean()
    last = last.sort_index(ascending=False)  # present first
    np.testing.assert_allclose(table[["top", "bottom"]][-2:], last, rtol=1e-4)


def test_top_scores_are_those_of_every_image(scenes, trained) -> None:
    inputs, leaves = scenes.inputs("test", "maps"), scenes.data.leaves
    some = {name: trained[name] for name in ("full", "an")}
    table = top_scores(some, inputs, ranks=3, classes=leaves)
    wanted = 1 / (1 + np.exp(-trained["an"].scores(inputs)[:, leaves].astype(float)))
    wanted = np.sort(wanted, 1)[:, ::-1][:, :3]
    own = table[table["model"] == "an"]
    values = own.pivot(index="image", columns="rank", values="probability")
    np.testing.assert_allclose(values[[1, 2, 3]], wanted)
    middle = top_score_medians(table)
    assert list(middle) == ["full", "an"]
    np.testing.assert_allclose(middle["an"], np.median(wanted, 0))
    assert middle["full"][0] > middle["an"][0]  # single positives lower the scores


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda s: models(s, [], "rpa"), "methods is empty"),
        (lambda s: models(s, "an", "rpa", watch={"a": []}), "watch. is called 'a'"),
        (
            lambda s: models(dataclasses.replace(s, features={}), "an", "rpa"),
            "no maps features",
        ),
        (
            lambda s: damage(*PAIR, INPUTS, TRUTH.select([0, 1])),
            "6 inputs came for 2",
        ),
        (lambda s: damage(*PAIR, INPUTS, Truth.of(PRESENT, classes=[*"abc"])), "on other classes"),
    ],
)
def test_what_cannot_be_explained_is_refused(scenes, act, said) -> None:
    with pytest.raises(BadInput, match=said):
        act(scenes)
