"""Parts of a test split against what is counted by hand."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.learn.metrics import map_by_labels
from simkit.study.analysis.explaining.object_size import _groups, object_size, positives


def test_sizes_are_ranked_against_absent_images(scenes, trained) -> None:
    inputs, truth, boxes = (
        scenes.inputs("test", "maps"),
        scenes.truth("test"),
        scenes.data.boxes["test"],
    )
    table = object_size([{"an": trained["an"]}], inputs, truth, boxes, groups=2)
    rows = table.to_pylist()
    assert [row["part"].split(",")[0] for row in rows] == ["small", "large"]
    largest = np.zeros(truth.shape)
    for image, c, (x0, y0, x1, y1) in zip(boxes.images, boxes.classes, boxes.corners, strict=True):
        largest[image, c] = max(largest[image, c], (x1 - x0) * (y1 - y0) / 64**2)
    assert sum(row["count"] for row in rows) == (largest > 0).sum()
    middle, scores = np.median(largest[largest > 0]), trained["an"].scores(inputs)
    present, found = truth.rows(range(80)), []
    for c in range(52):
        mine = (largest[:, c] > 0) & (largest[:, c] < middle)
        if mine.any():
            kept = mine | ~present[:, c]
            found.append(average_precision_score(mine[kept], scores[kept, c]))
    assert rows[0]["map"] == pytest.approx(np.mean(found))


def test_numbers_of_present_labels(scenes, trained) -> None:
    inputs, truth, leaves = scenes.inputs("test", "maps"), scenes.truth("test"), scenes.data.leaves
    several = [{"an": trained["an"]}, {"an": trained["full"]}]
    rows = positives(several, inputs, truth, counts=(2, 3), at_least=4, classes=leaves).to_pylist()
    assert [(row["draw"], row["part"]) for row in rows] == [
        (draw, part) for draw in (0, 1) for part in ("2", "3", ">=4")
    ]
    scores, present = trained["full"].scores(inputs)[:, leaves], truth.rows(range(80))[:, leaves]
    wanted = map_by_labels(scores, present, counts=(2, 3), at_least=4)
    assert [row["map"] for row in rows[3:]] == [part.map for part in wanted]
    assert rows[0]["count"] == (present.sum(1) == 2).sum()


def test_what_does_not_fit_is_named(scenes, trained) -> None:
    inputs, truth, boxes = (
        scenes.inputs("test", "maps"),
        scenes.truth("test"),
        scenes.data.boxes["test"],
    )
    with pytest.raises(BadInput) as error:
        positives([], inputs, truth)
    assert str(error.value) == (
        "positives: no model came; give the models of a draw, as [{'an': trained}]"
    )
    with pytest.raises(BadInput) as error:
        object_size([trained], inputs, truth, boxes, groups=0)
    assert str(error.value) == (
        "object_size: groups is 0; a whole number of at least 1 is expected"
    )
    with pytest.raises(BadInput, match=r"^object_size: groups is 2\.5; a whole number"):
        object_size([trained], inputs, truth, boxes, groups=2.5)
    for act in (positives, lambda *given, **how: object_size(*given, boxes, **how)):
        with pytest.raises(BadInput, match=r" from 0 to 51 "):
            act([trained], inputs, truth, classes=[0, 52])
        with pytest.raises(BadInput, match=r": no model came by name, but a str; give some"):
            act(trained, inputs, truth)
    far = Boxes(np.array([80]), np.array([0]), np.ones((1, 4), np.float32), np.full((80, 2), 64))
    with pytest.raises(BadInput, match=r"^a box is of image 80, and the truth has 80; bring"):
        object_size([trained], inputs, truth, far)


def test_equal_sizes_stay_together() -> None:
    sizes = np.array([[0.1, 0.2, 0.2], [0.2, 0.3, 0.0], [0.4, 0.5, 0.6]])
    edges, which = _groups(sizes, 2)
    assert edges.tolist() == [0.1, 0.25, 0.6]
    assert which.tolist() == [[0, 0, 0], [0, 1, -1], [1, 1, 1]]
    _, which = _groups(sizes, 3)  # the edge is on the three of 0.2
    assert which.tolist() == [[0, 1, 1], [1, 1, -1], [2, 2, 2]]


def test_a_group_that_stays_empty_is_refused() -> None:
    with pytest.raises(BadInput) as error:
        _groups(np.array([[0.2, 0.2, 0.2, 0.2, 0.5]]), 3)
    assert str(error.value) == (
        "object_size: 4 of 5 labels have objects of the same size, 0.2 of the picture, so that 3 "
        "groups cannot be filled; give fewer"
    )
    with pytest.raises(BadInput, match=r"^object_size: 1 present labels have a box, for 2 groups"):
        _groups(np.array([[0.2, 0.0]]), 2)
