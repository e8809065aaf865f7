"""Parts of a test split against what is counted by hand."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.metrics import map_by_labels
from simkit.study.analysis.explaining.object_size import _shares, object_size, positives


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
    assert str(error.value).endswith("one group at least is expected, and one label for each")


@pytest.mark.parametrize(("image", "c", "what"), [(9, 0, "image 9"), (0, 7, "class 7")])
def test_boxes_are_of_the_images_of_the_truth(image, c, what) -> None:
    corners = np.array([[0, 0, 1, 1]], np.float32)
    boxes = Boxes(np.array([image]), np.array([c]), corners, np.full((10, 2), 4))
    with pytest.raises(BadInput) as error:
        _shares(boxes, Truth.of(np.eye(3)))
    wanted = f"a box is of {what}, and the truth has 3; bring the boxes of its images"
    assert str(error.value) == wanted
