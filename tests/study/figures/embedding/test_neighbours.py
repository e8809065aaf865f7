"""Each picture stands over its distance's rank and its known labels."""

import numpy as np
import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study import figures

ROWS = [
    {"rank": 0, "row": 4, "image": "q", "distance": 0.0, "cosine": 0.0,
     "present": ["cat"], "absent": ["cow"], "unknown": 2, "hidden": ["dog"]},
    {"rank": 1, "row": 7, "image": "a", "distance": 0.25, "cosine": 0.03,
     "present": ["cat", "dog"], "absent": [], "unknown": 2, "hidden": []},
    {"rank": 2, "row": 1, "image": "b", "distance": 0.5, "cosine": 0.125,
     "present": [], "absent": ["w", "x", "y", "z", "zz"], "unknown": 0, "hidden": []},
    {"rank": 3, "row": 2, "image": "c", "distance": 0.5, "cosine": 0.125,
     "present": [], "absent": ["w", "x", "y", "z", "zz"], "unknown": 1, "hidden": []},
]  # fmt: skip
TABLE = pa.Table.from_pylist(ROWS)


def texts(axes) -> list[str]:
    return [t.get_text() for t in axes.texts]


def test_labels_are_marked_by_what_is_known() -> None:
    axes = figures.make("neighbours")(TABLE).axes
    assert [a.get_title(loc="left") for a in axes] == ["image q", "1.  0.250", "2.  0.500",
                                                       "3.  0.500"]  # fmt: skip
    assert texts(axes[0]) == ["+ cat", "− cow", "? 2 unknown", "in truth dog"]
    assert texts(axes[1]) == ["+ cat", "+ dog", "? 2 unknown"]
    assert [t.get_fontweight() for t in axes[1].texts] == ["bold", "normal", "normal"]
    assert texts(axes[2]) == ["no class is present"]  # all is known: the rest is absent
    assert texts(axes[3]) == ["− w, x, y, 2\xa0more", "? 1 unknown"]


def test_pictures_are_shown_by_their_middle() -> None:
    pictures = tuple(np.full((4, 6 + n, 3), 10 * n, np.uint8) for n in range(4))
    drawing = figures.make("neighbours", pictures=pictures)(TABLE)
    shown = [axes.images[0].get_array() for axes in drawing.axes]
    assert [s.shape for s in shown] == [(4, 4, 3)] * 4
    assert [int(s[0, 0, 0]) for s in shown] == [0, 10, 20, 30]


@pytest.mark.parametrize("k", [0, 1, 5, 6, 23])
def test_nothing_lies_outside_or_over_another_picture(k: int) -> None:
    many = [ROWS[0], *({**ROWS[1], "rank": n + 1} for n in range(k))]
    pictures = tuple(np.zeros((2, 2, 3), np.uint8) for _ in many)
    drawing = figures.make("neighbours", pictures=pictures)(pa.Table.from_pylist(many))
    boxes = [axes.get_position() for axes in drawing.axes]
    assert len(boxes) == k + 1 and all(0 < b.x0 < b.x1 < 1 and 0 < b.y0 < b.y1 < 1 for b in boxes)
    assert not any(
        a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1
        for n, a in enumerate(boxes) for b in boxes[:n]
    )  # fmt: skip


@pytest.mark.parametrize("name", ["000a1249af2bc5f0", "COCO_train2014_000000000042.jpg"])
def test_a_long_id_ends_before_the_next_heading(name: str) -> None:
    many = [{**ROWS[0], "image": name}, *ROWS[1:]]
    pictures = tuple(np.zeros((2, 2, 3), np.uint8) for _ in many)
    drawing = figures.make("neighbours", pictures=pictures)(pa.Table.from_pylist(many))
    query, first = drawing.axes[:2]
    heading = query.get_title(loc="left")
    assert heading == f"image …{name[-14:]}"
    drawing.draw_without_rendering()
    assert query._left_title.get_window_extent().x1 < first.get_window_extent().x0


def test_a_picture_for_each_image() -> None:
    with pytest.raises(BadInput) as error:
        figures.make("neighbours", pictures=(np.zeros((2, 2, 3), np.uint8),) * 3)(TABLE)
    assert str(error.value) == (
        "neighbours: 3 pictures came for 4 images; give one for each row of the table"
    )
