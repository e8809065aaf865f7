"""A marker for each method at its means, with intervals where there are draws."""

import pyarrow as pa
import pytest

from simkit.study import figures
from simkit.study.statistics import interval

ROWS = [
    {"method": method, "draw": draw, "map": mean + 0.02 * draw, "pointing": 0.9 + 0.01 * draw}
    for method, mean in (("full", 0.8), ("an", 0.5))
    for draw in (0, 1, 2)
]


def test_markers_stand_at_means() -> None:
    drawing = figures.make("pointing", centre=0.3)(pa.Table.from_pylist(ROWS))
    (axes,) = drawing.axes
    marks = {line.get_gid(): line for line in axes.lines if line.get_gid()}
    assert list(marks) == ["full", "an"]
    assert marks["an"].get_xdata()[0] == pytest.approx(52)
    assert marks["an"].get_ydata()[0] == pytest.approx(91)
    reach = interval([50, 52, 54])
    ends = [c.get_segments()[0] for c in axes.collections if len(c.get_segments())]
    assert any(abs(end[0][0] - reach.low) < 1e-9 and abs(end[1][0] - reach.high) < 1e-9
               for end in ends)  # fmt: skip
    middle = [line for line in axes.lines if line.get_ydata()[0] == line.get_ydata()[-1] == 30]
    assert len(middle) == 1
    shown = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert shown == ["Full labels", "AN", "pointing at the middle"]


def test_one_draw_has_no_interval_and_says_so() -> None:
    one = pa.Table.from_pylist([row for row in ROWS if row["draw"] == 0])
    drawing = figures.make("pointing")(one)
    assert "One draw: no intervals." in drawing.get_supxlabel()
    shown = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert shown == ["Full labels", "AN"]
