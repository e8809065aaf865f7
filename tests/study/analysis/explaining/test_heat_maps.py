"""Heat maps begin with what is known, follow what is said, and are measured on planted maps."""

import numpy as np
import pytest

import simkit
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.methods import make
from simkit.learn.steps.optim import Settings
from simkit.study.analysis.explaining.heat_maps import HeatMaps, heat_maps, located
from simkit.study.analysis.explaining.models import models

SPEC = "an+scl(weight=0)+boostlu(alpha=2)"
SHORT = Settings(epochs=3, batch_size=64, lr=0.03)


@pytest.fixture(scope="module")
def kept(scenes):
    one = HeatMaps(make(SPEC), [5, 2])
    models(scenes, [SPEC], "single-positive", settings=SHORT, watch={SPEC: [one]})
    return one


def test_maps_begin_with_what_is_known_and_move(scenes, kept) -> None:
    labels = simkit.simulate(
        scenes.truth("train"),
        "single-positive",
        hierarchy=scenes.hierarchy,
        boxes=scenes.data.boxes["train"],
    )
    assert list(kept.maps) == [0, 1, 2, 3]
    known = labels.rows(np.array([5, 2])) == 1
    np.testing.assert_array_equal(
        kept.maps[0], np.where(known, 255, 0)[..., None, None] * np.ones((16, 16))
    )
    assert kept.maps[0].shape == (2, 52, 16, 16) and kept.maps[0].dtype == np.uint8
    change = np.abs(kept.maps[1].astype(int) - kept.maps[0])
    assert 0 < change.max() <= 52  # a fifth of the way at most
    truth, boxes = scenes.truth("train"), scenes.data.boxes["train"]
    hidden = int(np.flatnonzero(truth.rows([2])[0] & ~known[1])[0])
    picks = [(2, truth.classes[int(np.flatnonzero(known[1])[0])]), (2, truth.classes[hidden])]
    table = heat_maps({"a": kept}, picks, labels=labels, truth=truth, boxes=boxes, epochs=[3, 0])
    rows = table.to_pylist()
    assert [row["epoch"] for row in rows] == [3, 3, 0, 0]
    assert [row["kind"] for row in rows[:2]] == ["annotated positive", "unannotated positive"]
    assert np.array(rows[2]["map"]).min() == 1
    np.testing.assert_allclose(rows[1]["map"], kept.maps[3][1, hidden] / 255)


CODES = np.array([[1, 0, 0], [0, 1, 0]], np.int8)
LABELS = PartialLabels.of(CODES, [0, 1], ("a", "b", "c"))
TRUTH = Truth.of([[1, 1, 0], [0, 1, 0]], classes=("a", "b", "c"))
BOXES = Boxes(
    np.array([0, 0, 1, 1]),
    np.array([0, 1, 1, 2]),
    np.array([[0, 0, 5, 5], [5, 5, 10, 10], [0, 0, 10, 5], [0, 0, 1, 1]], np.float32),
    np.array([[10, 10], [10, 10]]),
)


def planted() -> HeatMaps:
    one = HeatMaps(make("an+scl"), [0, 1])
    maps = np.zeros((2, 3, 4, 4), np.uint8)
    maps[0, 0, :2, :2] = 255  # on its object
    maps[0, 1, 0, 0], maps[0, 1, 2:, 2:] = 102, 51  # its highest place is beside its object
    maps[1, 1] = 51
    one.maps[2] = maps
    return one


def test_planted_maps_are_measured() -> None:
    rows = located({"m": planted()}, labels=LABELS, truth=TRUTH, boxes=BOXES).to_pylist()
    annotated, other, absent = rows
    assert [row["kind"] for row in rows] == [
        "annotated positive",
        "unannotated positive",
        "negative",
    ]
    assert [row["maps"] for row in rows] == [2, 1, 3]
    assert (annotated["inside"], annotated["outside"]) == pytest.approx((0.6, 0.1))
    assert annotated["hits"] == 1 and other["hits"] == 0
    assert (other["inside"], other["outside"]) == pytest.approx((0.2, 0.4 / 12))
    assert (other["mean"], other["highest"]) == pytest.approx((1.2 / 16, 0.4))
    assert absent["mean"] == 0 and np.isnan([absent["inside"], absent["hits"]]).all()


def test_what_the_truth_does_not_know_is_left_out() -> None:
    known = [[1, 1, 0], [0, 1, 1]]
    partly = Truth.of(TRUTH.present, classes=TRUTH.classes, known=known)
    rows = located({"m": planted()}, labels=LABELS, truth=partly, boxes=BOXES).to_pylist()
    assert [row["maps"] for row in rows] == [2, 1, 1]  # of three absent ones one is known
    assert len(heat_maps({"m": planted()}, [(1, "c")], labels=LABELS, truth=partly)) == 1
    with pytest.raises(BadInput) as error:
        heat_maps({"m": planted()}, [(0, "c")], labels=LABELS, truth=partly)
    assert str(error.value) == (
        "heat_maps: the truth does not know whether image 0 shows 'c'; pick another"
    )


def test_what_does_not_fit_is_named() -> None:
    other = Truth.of(TRUTH.present, ["x", "y"], TRUTH.classes)
    far = planted()
    far.images = np.array([0, 9])
    kept, about = {"m": planted()}, {"labels": LABELS, "truth": TRUTH}
    for call, message in (
        (lambda: HeatMaps(make("en+cl"), [0]), "method 'cl' keeps no heat maps; put scl around it, "
         "as in en+scl, or scl(weight=0) to watch it without its loss"),
        (lambda: heat_maps(kept, [], **about), "heat_maps: no image and class was picked; give "
         "some, as [(0, 'a')]"),
        (lambda: heat_maps(kept, [(7, "a")], **about), "heat_maps: there is no image 7; rows from "
         "0 to 1 are expected"),
        (lambda: HeatMaps(make("an+scl"), [2.5]), "HeatMaps: there is no image 2.5; rows from 0 on "
         "are expected"),
        (lambda: heat_maps(kept, [(0, "a")], epochs=[1], **about), "heat_maps: epoch 1 was asked "
         "for; 'm' was watched from 0 to 2"),
        (lambda: heat_maps({}, [(0, "a")], **about), "no watched model came; give some, as "
         "{'en+scl': HeatMaps(...)}"),
        (lambda: located(kept, labels=LABELS, truth=other, boxes=BOXES), "the labels called "
         "'labels' are about other images or classes than the truth; simulate them from this "
         "truth"),
        (lambda: located({"m": far}, boxes=BOXES, **about), "'m' watched image 9, and the truth "
         "has 2; give the truth of the images that it learned from"),
    ):  # fmt: skip
        with pytest.raises(BadInput) as error:
            call()
        assert str(error.value) == message


def test_what_was_not_watched_is_named() -> None:
    one = planted()
    one.images, one.maps = np.array([1]), {2: one.maps[2][1:]}
    with pytest.raises(BadInput) as error:
        heat_maps({"m": one}, [(0, "a")], labels=LABELS, truth=TRUTH)
    assert str(error.value) == "heat_maps: image 0 was picked, and 'm' did not watch it"


def test_images_beyond_those_that_learn_are_named(scenes) -> None:
    beyond = {SPEC: [HeatMaps(make(SPEC), [600])]}
    with pytest.raises(BadInput) as error:
        models(scenes, [SPEC], "single-positive", settings=SHORT, watch=beyond)
    assert str(error.value) == "HeatMaps: there is no image 600; rows from 0 to 599 are expected"
