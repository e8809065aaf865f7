"""Shapes of losses, against formulas."""

import dataclasses

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.methods import Task, get, make, names
from simkit.papers.analysis.losses import Scene, loss_at, loss_gradient, loss_shapes

GRID = (-8.0, -1.0, 0.0, 1.0, 8.0)
SCENE = Scene.drawn()
TABLE = loss_shapes(SCENE, ["an"], logits=GRID)


def test_a_scene_is_drawn_once_and_its_entries_are_what_they_say() -> None:
    again = Scene.drawn()
    assert again.task.labels.id == SCENE.task.labels.id
    np.testing.assert_array_equal(again.logits, SCENE.logits)
    assert SCENE.truth.shape == SCENE.logits.shape == (64, 20) and SCENE.truth.any(0).all()
    assert Scene.drawn(images=8, classes=5).batch == 8
    codes, entries = SCENE.task.labels.rows(range(SCENE.batch)), SCENE.entries()
    wanted = {"known positive": 1, "known negative": -1, "unknown": 0}
    assert {name: codes[place] for name, place in entries.items()} == wanted
    assert len({c for _, c in entries.values()}) == 1 and not SCENE.truth[entries["unknown"]]
    labels = PartialLabels.of(np.ones(SCENE.truth.shape, int))
    with pytest.raises(BadInput, match="no class of the scene's first batch has labels"):
        dataclasses.replace(SCENE, task=Task(labels, SCENE.task.inputs)).entries()


def test_an_is_the_cross_entropy_of_the_entry() -> None:
    assert len(TABLE) == 3 * 2 * len(GRID)
    least = np.log1p(np.exp(-8.0))
    for x in GRID:
        p = 1 / (1 + np.exp(-x))
        for epoch in (1, 10):
            positive = loss_at(TABLE, "an", "known positive", epoch, x)
            unknown = loss_at(TABLE, "an", "unknown", epoch, x + 0.01)  # the nearest logit
            assert positive["gradient"] == pytest.approx(p - 1, abs=1e-4)
            assert unknown["gradient"] == pytest.approx(p, abs=1e-4)
            assert loss_gradient(TABLE, "an", "unknown", epoch, x) == unknown["gradient"]
            assert positive["loss"] == pytest.approx(np.log1p(np.exp(-x)) - least, abs=1e-3)
            assert unknown["loss"] == pytest.approx(np.log1p(np.exp(x)) - least, abs=1e-3)
            assert not unknown["selected"]


def test_entries_of_ones_own_and_a_late_epoch() -> None:
    entries = {"mine": SCENE.entries()["unknown"]}
    table = loss_shapes(SCENE, "ll-r", logits=np.array(GRID), entries=entries, epochs=(1, 5))
    assert set(table["entry"]) == {"mine"}
    early, late = (loss_at(table, "ll-r", "mine", epoch, 8) for epoch in (1, 5))
    assert early["gradient"] == pytest.approx(1, abs=1e-3) and not early["selected"]
    assert late["gradient"] == 0 and late["selected"]


@pytest.mark.parametrize("name", [name for name in names() if name != "full"])
def test_every_method_has_a_shape_of_the_size_of_one_entry(name: str) -> None:
    fields = {field.name for field in dataclasses.fields(get(name))}
    spec = f"an+{name}" if "inner" in fields else name
    spec += "(expected=3)" if "expected" in fields else ""  # which labels of no history do not tell
    entries = {"known positive": SCENE.entries()["known positive"]}
    epochs = (1,) if make(spec).needs.features else (1, 3)  # these learn slowly
    table = loss_shapes(SCENE, [spec], logits=(-3.0, 0.0), entries=entries, epochs=epochs)
    for epoch in epochs:
        assert -8 < loss_gradient(table, spec, "known positive", epoch, -3) < -0.03, epoch
    assert np.isfinite(table["loss"]).all()


def test_parameters_of_a_state_learn_at_their_own_rate() -> None:
    entries = {"unknown": SCENE.entries()["unknown"]}
    slow, fast = (f"latent-noise(ratio={ratio})" for ratio in (0.1, 10.0))
    table = loss_shapes(SCENE, [slow, fast], logits=(4.0,), entries=entries, epochs=(1, 3))
    for spec, still in ((slow, True), (fast, False)):
        early, late = (loss_gradient(table, spec, "unknown", epoch, 4) for epoch in (1, 3))
        assert (abs(late - early) < 0.1) is still, (spec, early, late)
