"""Shapes of losses, against formulas."""

import dataclasses

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.methods import Task, get, make, names
from simkit.study.analysis.learning.loss_shapes import Scene, at, loss_shapes

GRID = (-8.0, -1.0, 0.0, 1.0, 8.0)
SCENE = Scene.drawn()


def wrapped(name: str) -> str:
    return f"an+{name}" if "inner" in {f.name for f in dataclasses.fields(get(name))} else name


def test_a_scene_is_drawn_once_and_its_entries_are_what_they_say() -> None:
    again = Scene.drawn()
    assert again.task.labels.id == SCENE.task.labels.id
    np.testing.assert_array_equal(again.logits, SCENE.logits)
    codes = SCENE.task.labels.rows(range(SCENE.batch))
    assert {name: codes[place] for name, place in SCENE.entries().items()} == {
        "known positive": 1,
        "known negative": -1,
        "unknown": 0,
    }
    assert not SCENE.truth[SCENE.entries()["unknown"]]


def test_a_scene_without_a_kind_of_label_is_refused() -> None:
    labels = PartialLabels.of(np.ones(SCENE.truth.shape, int))
    scene = dataclasses.replace(SCENE, task=Task(labels, SCENE.task.inputs))
    with pytest.raises(BadInput) as error:
        scene.entries()
    assert str(error.value) == "no class of the scene's first batch has labels of all three kinds"


def test_an_is_the_cross_entropy_of_the_entry() -> None:
    table = loss_shapes(SCENE, ["an"], logits=GRID)
    assert table.num_rows == 3 * 2 * len(GRID)
    for x in GRID:
        p = 1 / (1 + np.exp(-x))
        for epoch in (1, 10):
            positive = at(table, "an", "known positive", epoch, x)
            unknown = at(table, "an", "unknown", epoch, x)
            assert positive["gradient"] == pytest.approx(p - 1, abs=1e-4)
            assert unknown["gradient"] == pytest.approx(p, abs=1e-4)
            least = np.log1p(np.exp(-8.0))
            assert positive["loss"] == pytest.approx(np.log1p(np.exp(-x)) - least, abs=1e-3)
            assert unknown["loss"] == pytest.approx(np.log1p(np.exp(x)) - least, abs=1e-3)
            assert not unknown["selected"]


def test_entries_of_ones_own_and_a_late_epoch() -> None:
    entries = {"mine": SCENE.entries()["unknown"]}
    table = loss_shapes(SCENE, ["ll-r"], logits=GRID, entries=entries, epochs=(1, 5))
    assert set(table["entry"].to_pylist()) == {"mine"}
    early, late = (at(table, "ll-r", "mine", epoch, 8) for epoch in (1, 5))
    assert early["gradient"] == pytest.approx(1, abs=1e-3) and not early["selected"]
    assert late["gradient"] == 0 and late["selected"]


@pytest.mark.parametrize("name", names())
def test_every_method_has_a_shape_of_the_size_of_one_entry(name: str) -> None:
    if name == "full":
        return  # wants complete labels
    spec = wrapped(name)
    learns = make(spec).needs.features  # slow to walk through epochs
    entries = {"known positive": SCENE.entries()["known positive"]}
    epochs = (1,) if learns else (1, 3)
    table = loss_shapes(SCENE, [spec], logits=(-3.0, 0.0), entries=entries, epochs=epochs)
    for epoch in epochs:
        assert -8 < at(table, spec, "known positive", epoch, -3)["gradient"] < -0.03, epoch
        assert np.isfinite(table["loss"].to_numpy()).all()


def test_parameters_of_a_state_learn_at_their_own_rate() -> None:
    entries = {"unknown": SCENE.entries()["unknown"]}
    slow, fast = (f"latent-noise(ratio={ratio})" for ratio in (0.1, 10.0))
    table = loss_shapes(SCENE, [slow, fast], logits=(4.0,), entries=entries, epochs=(1, 3))
    for spec, still in ((slow, True), (fast, False)):
        early, late = (at(table, spec, "unknown", epoch, 4)["gradient"] for epoch in (1, 3))
        assert (abs(late - early) < 0.1) is still, (spec, early, late)


def test_maps_average_to_the_logit_and_the_rarest_stand_out_most() -> None:
    shapes = SCENE.shapes
    assert shapes.mean((-2, -1)).abs().max() < 1e-6
    assert shapes[0].abs().max() == 0 and shapes[-1].max() == shapes.max() > 5


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"methods": ()}, "no method is named; name one, such as an"),
        ({"epochs": 0}, "an epoch is 0; a whole number of at least 1 is expected"),
        ({"epochs": (1, 2.5)}, "an epoch is 2.5; a whole number of at least 1 is expected"),
        ({"epochs": ()}, "one epoch, one entry and one logit are needed at least, and logits are "
         "numbers; give some"),
        ({"logits": (0.0, float("nan"))}, "one epoch, one entry and one logit are needed at least, "
         "and logits are numbers; give some"),
        ({"entries": {"mine": (16, 0)}}, "entry 'mine' is image 16, class 0; one of the first 16 "
         "images and of 20 classes is expected"),
    ],
)  # fmt: skip
def test_what_has_no_shape_is_refused(given, sentence) -> None:
    with pytest.raises(BadInput) as error:
        loss_shapes(SCENE, given.pop("methods", "an"), **given)
    assert str(error.value) == f"loss_shapes: {sentence}"
