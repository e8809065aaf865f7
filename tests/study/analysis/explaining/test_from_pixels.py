"""Networks begin alike, see the same crops, and learn from what their name says."""

import numpy as np
import pytest
from simkit.study.material.shown import Shown

import simkit
from simkit.errors import BadInput
from simkit.learn.feeding.inputs import ImageInputs
from simkit.learn.steps.optim import Settings
from simkit.study.analysis.explaining.from_pixels import from_pixels

DATA = simkit.data.open("scenes:images=24,val=1,test=4")
PICTURES = ImageInputs(DATA.pictures["test"])
HOW = {"settings": Settings(epochs=1, batch_size=8, lr=1e-3), "shown": Shown(crop=(0.25, 1.0))}


class Watcher:
    def __init__(self) -> None:
        self.boxes, self.present = [], 0

    def __call__(self, epoch, batch, out, state) -> None:
        self.boxes.append(batch.boxes.numpy())
        self.present += int((batch.labels == 1).sum())


def test_networks_see_the_same_crops_and_their_own_labels() -> None:
    watch = {name: [Watcher()] for name in ("full", "an", "an+scl")}
    found = from_pixels(DATA, [*watch, "an"], "single-positive", watch=watch, **HOW)
    assert list(found) == ["full", "an", "an+scl"]
    full, an, scl = (watch[name][0] for name in watch)
    np.testing.assert_array_equal(np.concatenate(an.boxes), np.concatenate(scl.boxes))
    assert full.present == DATA.truth["train"].counts.sum() and an.present == scl.present == 24
    scores = {name: one.scores(PICTURES) for name, one in found.items()}
    # In the warm-up scl adds nothing.
    np.testing.assert_allclose(scores["an"], scores["an+scl"], rtol=1e-3, atol=1e-3)
    assert np.abs(scores["full"] - scores["an"]).max() > 0.1


def test_weights_and_draws_are_told_apart() -> None:
    first = from_pixels(DATA, ["an"], "single-positive", **HOW)["an"].id
    for other in ({"weights": "random"}, {"draw": 1}):
        assert from_pixels(DATA, ["an"], "single-positive", **HOW, **other)["an"].id != first


def test_what_is_missing_is_named() -> None:
    for methods, watch, message in (
        ([], {}, "from_pixels: no method was named; name some, such as an and en+scl"),
        (["an"], {"wan": []}, "from_pixels: 'wan' is watched and not trained; methods are an"),
    ):
        with pytest.raises(BadInput) as error:
            from_pixels(DATA, methods, "single-positive", watch=watch)
        assert str(error.value) == message
