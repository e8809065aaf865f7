"""A table of runs with the pointing game, and what comes of not looking."""

import dataclasses

import numpy as np
import pytest

from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.learn.metrics import average_precision, mean_ap
from simkit.learn.pointed import pointed
from simkit.study.analysis.comparing.ablation import ablation
from simkit.study.analysis.explaining.pointing import blind, pointing


def test_a_row_for_each_model_and_draw(scenes, trained) -> None:
    draws = [{key: trained[key] for key in ("full", "an")}, {"an": trained["an"]}]
    table = pointing(scenes, draws, scheme="single-positive", size=64)
    rows = table.to_pylist()
    assert [(row["method"], row["draw"]) for row in rows] == [("full", 0), ("an", 0), ("an", 1)]
    inputs, boxes = scenes.inputs("test", "maps"), scenes.data.boxes["test"]
    for row in rows:
        own = trained[row["method"]]
        assert row["pointing"] == pointed(own, inputs, boxes) and row["scheme"] == "single-positive"
        ap = average_precision(own.scores(inputs), scenes.truth("test").present)
        assert row["map"] == mean_ap(ap[scenes.data.leaves])
    assert rows[0]["pointing"] > rows[1]["pointing"] > blind(boxes)["centre"]


def test_it_can_be_compared_as_runs_are(scenes, trained) -> None:
    some = {key: trained[key] for key in ("full", "an")}
    table = pointing(scenes, [some, some], scheme="single-positive")
    base, other = ablation(table, "full", metric="pointing").to_pylist()
    assert base["base"] and other["gap"] == pytest.approx(other["mean"] - base["mean"])


def test_features_of_the_middle_see_boxes_there_alone(scenes, trained) -> None:
    boxes = scenes.data.boxes["test"]
    wide = dataclasses.replace(boxes, corners=2 * boxes.corners, sizes=2 * boxes.sizes)
    data = dataclasses.replace(scenes.data, boxes={"test": wide})
    table = pointing(dataclasses.replace(scenes, data=data), [{"an": trained["an"]}], size=64)
    whole = pointing(dataclasses.replace(scenes, data=data), [{"an": trained["an"]}])
    assert table["pointing"][0] != whole["pointing"][0]


def test_without_looking() -> None:
    sizes = np.array([[20, 10], [20, 10]])  # width and height
    corners = np.array([[0, 0, 20, 5], [0, 3, 20, 10], [8, 4, 12, 6]], np.float32)
    boxes = Boxes(np.array([0, 0, 1]), np.array([0, 0, 3]), corners, sizes)
    found = blind(boxes)
    assert found["centre"] == 1
    np.testing.assert_allclose(found["anywhere"], (1 + 8 / 200) / 2)
    away = dataclasses.replace(boxes, corners=np.array([[0, 0, 5, 5]] * 3, np.float32))
    assert blind(away)["centre"] == 0
    with pytest.raises(BadInput) as error:
        blind(dataclasses.replace(boxes, sizes=None))
    assert str(error.value) == (
        "the boxes do not know the sizes of their images; bring boxes with sizes"
    )


def test_what_is_missing_is_named(scenes, trained) -> None:
    with pytest.raises(BadInput) as error:
        pointing(scenes, [])
    assert str(error.value) == (
        "pointing: no model came; give the models of a draw, as [{'an': trained}]"
    )
    bare = dataclasses.replace(scenes, data=dataclasses.replace(scenes.data, boxes={}))
    with pytest.raises(BadInput) as error:
        pointing(bare, [{"an": trained["an"]}])
    assert str(error.value) == (
        "pointing: the test split has no boxes to point at; take data with boxes, such as scenes "
        "or coco"
    )
    with pytest.raises(BadInput, match=r"^pointing: size is 6\.5; a whole number of at least 1"):
        pointing(scenes, [{"an": trained["an"]}], size=6.5)
    boxes = scenes.data.boxes["test"]
    with pytest.raises(BadInput, match=r"^blind: there is no box to point at; bring some$"):
        blind(
            Boxes(*(part[:0] for part in (boxes.images, boxes.classes, boxes.corners)), boxes.sizes)
        )
