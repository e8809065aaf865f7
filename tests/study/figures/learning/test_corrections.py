"""Cells have the signs of the table; names of what is not there are grey."""

import numpy as np
import pandas as pd
import pytest

from simkit.errors import BadInput
from simkit.study import figures
from simkit.study.figures.previous import INK, PALE


def rows(row: int, **classes: tuple[bool, bool, list[bool]]):
    return [
        {
            "method": "ll-ct",
            "row": row,
            "image": str(row),
            "why": "most right",
            "class": name,
            "given": given,
            "present": present,
            "epoch": epoch,
            "corrected": corrected,
        }
        for name, (given, present, every) in classes.items()
        for epoch, corrected in enumerate(every, start=1)
    ]


FIRST = rows(
    7,
    cat=(True, True, [False] * 3),
    dog=(False, True, [False, True, True]),
    cow=(False, False, [False, False, True]),
)
SECOND = rows(9, cat=(False, True, [False] * 3))


def table(*some) -> pd.DataFrame:
    return pd.DataFrame([row for part in some for row in part])


def test_signs_and_names() -> None:
    drawing = figures.make("corrections")(table(FIRST, SECOND))
    first, second = drawing.axes[1], drawing.axes[3]
    signs = [(text.get_text(), *text.get_position()) for text in first.texts]
    assert signs == [("+", 2, 1), ("+", 3, 1), ("×", 3, 2)]
    names = {text.get_text(): text.get_color() for text in first.get_yticklabels()}
    assert names == {"cat": INK, "dog": INK, "cow": PALE}
    assert not second.texts and len(second.patches) == 3
    assert len(first.patches) == 9
    assert "LL-Ct" in drawing.get_suptitle()


def test_pictures_stand_beside_their_cells() -> None:
    pictures = tuple(np.full((4, 4, 3), value, np.uint8) for value in (10, 20))
    drawing = figures.make("corrections", pictures=pictures)(table(FIRST, SECOND))
    assert [drawing.axes[n].images[0].get_array()[0, 0, 0] for n in (0, 2)] == [10, 20]


def test_an_odd_number_leaves_a_place_empty() -> None:
    drawing = figures.make("corrections")(table(FIRST, SECOND, rows(3, cat=(True, True, [False]))))
    assert len(drawing.axes) == 8 and not drawing.axes[-1].axison


def test_what_has_no_room_is_counted() -> None:
    axes = figures.make("corrections", classes=2)(table(FIRST)).axes[1]
    assert len(axes.get_yticklabels()) == 2 and "1 more" in axes.get_xlabel()


def test_pictures_for_other_images_are_refused() -> None:
    with pytest.raises(BadInput, match="1 pictures came for 2 images"):
        figures.make("corrections", pictures=(np.zeros((4, 4, 3), np.uint8),))(table(FIRST, SECOND))
