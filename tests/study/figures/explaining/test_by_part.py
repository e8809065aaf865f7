"""Means over draws for each part, and paired differences to a base."""

import numpy as np
import pandas as pd
import pytest

from simkit.errors import BadInput
from simkit.study import figures

HEIGHTS = {"en": 0.3, "en+scl": 0.4}
ROWS = [
    {"method": method, "draw": draw, "by": "object size", "part": part, "count": 9,
     "map": high + 0.02 * draw + (0.1 if part == "large" else 0)}
    for method, high in HEIGHTS.items()
    for draw in (0, 1)
    for part in ("small", "large")
]  # fmt: skip
TABLE = pd.DataFrame(ROWS)


def test_means_and_differences() -> None:
    drawing = figures.make("by-part", base="en")(TABLE)
    scores, gaps = drawing.axes
    lines = {line.get_gid(): line for axes in (scores, gaps) for line in axes.lines}
    np.testing.assert_allclose(lines["en"].get_ydata(), [31, 41])
    np.testing.assert_allclose(lines["en+scl"].get_ydata(), [41, 51])
    np.testing.assert_allclose(lines["en+scl - en"].get_ydata(), [10, 10])
    assert "en - en" not in lines
    assert [text.get_text() for text in scores.get_xticklabels()] == ["small", "large"]
    assert scores.get_xlabel() == "object size" and gaps.get_title(loc="left") == "minus EN"
    assert drawing.get_supxlabel().strip() == "Bars: 95 % over 2 draws."
    drawing.draw_without_rendering()


def test_without_a_base_one_panel_and_nan_is_left_out() -> None:
    rows = [{**row, "map": float("nan") if row["part"] == "small" else row["map"]} for row in ROWS]
    drawing = figures.make("by-part")(pd.DataFrame(rows))
    (axes,) = drawing.axes
    (line,) = (line for line in axes.lines if line.get_gid() == "en")
    np.testing.assert_allclose(line.get_ydata(), [41])


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(BadInput) as error:
        figures.make("by-part", base="em")(TABLE)
    assert "by-part" in str(error.value) and "'em'" in str(error.value)
