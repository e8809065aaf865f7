"""The drawn cells say what the table says."""

import numpy as np
import pyarrow as pa

from simkit.study import figures

TABLE = pa.table(
    {
        "scheme": ["a"] * 3 + ["b"] * 3,
        "class": ["cat", "dog", "cow"] * 2,
        "present": [True, False, False] * 2,
        "state": [1, -1, 0, 0, 0, 0],
        "dollars": [0.02] * 3 + [0.5] * 3,
    }
)


def texts(drawing) -> list[str]:
    return [t.get_text() for axes in drawing.axes for t in axes.texts]


def test_signs_heads_and_rows() -> None:
    drawing = figures.make("revealed", absent=1)(TABLE)
    axes = drawing.axes[1]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["truth", "a\n2.0 ¢", "b\n50.0 ¢"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["cat", "dog"]
    drawn = texts(drawing)
    # Truth: one present, one absent; scheme a knows both; b knows nothing and says so.
    assert drawn.count("+") == 2 and drawn.count("−") == 2
    assert "nothing is known of this picture" in drawn
    assert "1 more absent" in drawn and drawn.count("0 known") == 2


def test_picture_is_shown_with_its_classes() -> None:
    picture = np.zeros((4, 4, 3), np.uint8)
    drawing = figures.make("revealed", picture=picture)(TABLE)
    assert drawing.axes[0].images[0].get_array().shape == (4, 4, 3)
    assert "in it: cat" in texts(drawing)
