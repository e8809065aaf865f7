"""Dots stand where the table says, sorted; what is ignored is crossed; what is hidden is said."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study import figures

CLASSES = ["cat", "cow", "dog", "hen", "pig"]
T = {"se": [0.0, -2.0, 30.0, -90.0, 1.0], "se-l": [0.0, -1.0, 0.0, 20.0, 1.0]}
TABLE = pa.table(
    {
        "method": [method for method in T for _ in CLASSES],
        "class": CLASSES * 2,
        "state": pa.array([1, 0, 0, 0, 0] * 2, pa.int8()),
        "temperature": T["se"] + T["se-l"],
        "present": [True, False, True, False, False] * 2,
    }
)


def dots(axes) -> dict[str, float]:
    return {line.get_gid(): line.get_xdata()[0] for line in axes.lines if line.get_gid() in CLASSES}


def test_sorted_by_the_first_method() -> None:
    picture = np.zeros((4, 4, 3), np.uint8)
    drawing = figures.make("temperatures", picture=picture)(TABLE)
    left, first, second = drawing.axes
    assert left.images[0].get_array().shape == (4, 4, 3)
    assert [text.get_text() for text in left.texts] == [
        "+ cat",
        "− nothing is known to be so",
        "? 4 unknown",
        "bold: there in truth",
    ]
    names = first.get_yticklabels()
    assert [text.get_text() for text in names] == ["dog", "pig", "cow", "hen"]
    assert [text.get_fontweight() for text in names] == ["bold", "normal", "normal", "normal"]
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["SE", "SE-L"]
    assert dots(first) == {"dog": 30, "pig": 1, "cow": -2, "hen": -90}
    assert dots(second) == {"pig": 1, "cow": -1, "hen": 20}
    crosses = [line for line in second.lines if line.get_marker() == "x"]
    assert [line.get_ydata()[0] for line in crosses] == [0]  # dog, on top
    colors = {line.get_gid(): line.get_color() for line in first.lines if line.get_gid()}
    assert colors["dog"] == colors["pig"] == "#0072B2" and colors["hen"] == "#E69F00"


def test_the_middle_is_left_out_and_counted() -> None:
    drawing = figures.make("temperatures", most=2)(TABLE)
    assert [text.get_text() for text in drawing.axes[1].get_yticklabels()] == ["dog", "hen"]
    assert drawing.get_supxlabel() == (
        "T (log): far from 0 the loss is flat; ±1 is a hard label; 2 labels in the middle are not "
        "shown"
    )


def wide(methods: list[str], names: list[str]) -> pa.Table:
    T = np.where(np.arange(len(names)) % 2, 30.0, -30.0)
    return pa.table(
        {
            "method": np.repeat(methods, len(names)),
            "class": names * len(methods),
            "state": pa.array(([1] * 30 + [0] * (len(names) - 30)) * len(methods), pa.int8()),
            "temperature": np.tile(np.where(np.arange(len(names)) < 30, 0, T), len(methods)),
            "present": [False] * len(names) * len(methods),
        }
    )


FIVE = ["se", "se-l(nearest=median5)", "se-i", "se(beta=1)", "se(gamma=0.5)"]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_long_names_keep_to_their_place(count: int) -> None:
    names = [f"an extremely long class name with many words {n}" for n in range(50)]
    drawing = figures.make("temperatures", picture=np.zeros((4, 4, 3), np.uint8))(
        wide(FIVE[:count], names)
    )
    drawing.draw_without_rendering()
    left, *panels = drawing.axes
    written = panels[0].get_yticklabels()
    assert {text.get_text() for text in written} == {"an extremely long class n…"}
    boxes = [text.get_window_extent() for text in (*written, *left.texts)]
    edge = min(box.x0 for box in boxes[: len(written)])
    assert all(box.x1 < edge for box in boxes[len(written) :])
    assert min(box.y0 for box in boxes) > 0  # nothing below the sheet
    titles = [axes._left_title.get_window_extent() for axes in panels]
    assert all(a.x1 < b.x0 for a, b in pairwise(titles))
    assert "14 more" in "".join(text.get_text() for text in left.texts)


def test_more_methods_than_have_room_are_refused() -> None:
    with pytest.raises(BadInput) as error:
        figures.make("temperatures")(wide([*FIVE, "se(k=3)"], [f"a{k}" for k in range(40)]))
    assert str(error.value) == (
        "temperatures: 6 methods came, and 5 fit side by side; draw fewer at a time"
    )


def test_a_temperature_beyond_the_largest_number_stands_at_the_edge() -> None:
    endless = TABLE.set_column(3, "temperature", pa.array([0.0, -np.inf, 30, -90, 1] * 2))
    drawing = figures.make("temperatures")(endless)
    drawing.draw_without_rendering()
    axes = drawing.axes[1]
    assert dots(axes)["cow"] == axes.get_xlim()[0] and np.isfinite(axes.get_xlim()).all()
