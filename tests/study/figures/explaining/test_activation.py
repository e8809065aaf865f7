"""A row for each pick, a column for each model, brightness shared by the row unless asked."""

import numpy as np
import pandas as pd
import pytest

from simkit.errors import BadInput
from simkit.study import figures

PEAKED = [[0.0, 1.0, 0.0], [0.0, 8.0, 2.0]]


def row(model: str, image: int, times: float, boxes=()) -> dict[str, object]:
    return {
        "model": model,
        "image": image,
        "class": "star",
        "present": True,
        "probability": times / 4,
        "map": (times * np.array(PEAKED)).tolist(),
        "boxes": list(boxes),
    }


ROWS = [row("full", 3, 2, [[0.25, 0.5, 0.75, 1.0]]), row("full", 5, 4),
        row("an", 3, 1, [[0.25, 0.5, 0.75, 1.0]]), row("an", 5, 1)]  # fmt: skip
TABLE = pd.DataFrame(ROWS)
PICTURES = tuple(np.full((4, 4, 3), n, np.uint8) for n in (10, 20))


def test_maps_of_a_row_share_their_brightness() -> None:
    axes = figures.make("activation-maps")(TABLE).axes
    assert len(axes) == 4
    assert [a.images[0].get_clim() for a in axes] == [(0, 16), (0, 16), (0, 32), (0, 32)]
    assert [a.get_title(loc="left") for a in axes] == ["0.50", "0.25", "1.00", "0.25"]
    np.testing.assert_array_equal(axes[1].images[0].get_array(), PEAKED)
    own = figures.make("activation-maps", scale="own")(TABLE).axes
    assert [a.images[0].get_clim() for a in own] == [(0, 16), (0, 8), (0, 32), (0, 8)]


def test_the_cross_stands_on_the_highest_place_and_frames_on_objects() -> None:
    axes = figures.make("activation-maps")(TABLE).axes
    (cross,) = axes[0].lines
    assert (cross.get_xdata()[0], cross.get_ydata()[0]) == (0.5, 0.75)
    frame = axes[0].patches[0]
    assert (*frame.get_xy(), frame.get_width(), frame.get_height()) == (0.25, 0.5, 0.5, 0.5)
    assert not axes[2].patches


def test_pictures_stand_before_their_maps() -> None:
    drawing = figures.make("activation-maps", pictures=PICTURES)(TABLE)
    axes = drawing.axes
    assert len(axes) == 6
    assert [int(axes[n].images[0].get_array()[0, 0, 0]) for n in (0, 3)] == [10, 20]
    assert len(axes[0].patches) == 2
    boxes = [a.get_position() for a in axes]
    assert all(0 < b.x0 < b.x1 < 1 and 0 < b.y0 < b.y1 < 1 for b in boxes)
    assert boxes[0].x1 < boxes[1].x0 < boxes[2].x0 and boxes[3].y1 < boxes[0].y0
    said = [text.get_text() for text in drawing.texts]
    assert [said.count(name) for name in ("star", "Full labels", "AN")] == [2, 1, 1]
    drawing.draw_without_rendering()


def test_a_flat_map_can_be_drawn() -> None:
    flat = pd.DataFrame([row("an", 3, 0)])
    figures.make("activation-maps")(flat).draw_without_rendering()


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(BadInput) as error:
        figures.make("activation-maps", pictures=PICTURES[:1])(TABLE)
    assert str(error.value) == (
        "activation-maps: 1 pictures came for 2 picked images and classes; give one for each, in "
        "the order of the table"
    )


@pytest.mark.parametrize("odd", [[], [[]], [[1.0], [1.0, 2.0]], [[1.0, float("inf")]]])
def test_maps_that_cannot_be_drawn_are_refused(odd: list[list[float]]) -> None:
    some = pd.DataFrame([ROWS[0] | {"map": odd}, *ROWS[1:]])
    with pytest.raises(BadInput, match="activation-maps: the map of 'star' in image 3 cannot be"):
        figures.make("activation-maps")(some)


def test_boxes_of_other_than_four_numbers_are_refused() -> None:
    some = pd.DataFrame([ROWS[0] | {"boxes": [[0.1, 0.2]]}, *ROWS[1:]])
    with pytest.raises(BadInput, match="a box of 'star' in image 3 has not four numbers; give x0"):
        figures.make("activation-maps")(some)
