"""Bars are the labelled, the line is the truth."""

import numpy as np
import pyarrow as pa

from simkit.study import figures


def test_one_panel_for_each_scheme() -> None:
    table = pa.table(
        {
            "scheme": ["a", "a", "b", "b"],
            "class": ["dog", "cat"] * 2,
            "rank": [0, 1] * 2,
            "true": [100, 20, 100, 20],
            "present": [30, 6, 10, 10],
            "absent": [0, 0, 0, 0],
            "found": [0.3, 0.3, 0.1, 0.5],
        }
    )
    drawing = figures.make("distributions", columns=2)(table)
    first, second = drawing.axes
    assert first.get_title(loc="left") == "a: 30% of positives"
    assert [bar.get_height() for bar in second.patches] == [10, 10]
    np.testing.assert_array_equal(first.lines[0].get_ydata(), [100, 20])
    assert not any("$" in text.get_text() for text in first.get_yticklabels())
