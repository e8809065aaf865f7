"""Dots are classes; those that lack most labels are named."""

import numpy as np
import pyarrow as pa

from simkit.study import figures

TABLE = pa.table(
    {
        "scheme": ["rpa"] * 3 + ["fpc"] * 3,
        "class": ["sky", "dog", "cat"] * 2,
        "rank": [0, 1, 2] * 2,
        "true": [1000, 100, 20] * 2,
        "present": [100, 10, 2, 20, 20, 0],
        "absent": [0] * 6,
        "found": [0.1, 0.1, 0.1, 0.02, 0.2, 0.0],
    }
)


def test_dots_and_names() -> None:
    drawing = figures.make("named-share", named=2)(TABLE)
    rpa, fpc = drawing.axes
    (dots,) = (line for line in fpc.lines if line.get_gid() == "classes")
    np.testing.assert_array_equal(dots.get_xdata(), [1000, 100, 20])
    np.testing.assert_array_equal(dots.get_ydata(), [20, 20, 0.5])
    assert {text.get_text() for text in fpc.texts} == {"sky", "dog"}
    assert (rpa.get_xscale(), rpa.get_yscale()) == ("log", "log")
    assert drawing.get_supxlabel().splitlines() == [
        "Line: every present label is known.",
        "At 0.5: classes without a label.",
    ]
