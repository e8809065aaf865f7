"""A line for each estimate, with gaps where it tells nothing apart."""

import numpy as np
import pyarrow as pa

from simkit.study import figures

TABLE = pa.table(
    {
        "estimate": ["ignore"] * 3 + ["an"] * 3 + ["labels"] * 3,
        "top": [2, 3, 4] * 3,
        "spearman": [1.0, 0.9, 0.8, -1.0, 0.5, 0.1, None, None, None],
    }
)


def test_a_line_for_each_estimate() -> None:
    drawing = figures.make("rank-agreement")(TABLE)
    lines = {line.get_gid(): line for line in drawing.axes[0].lines if line.get_gid()}
    np.testing.assert_array_equal(lines["ignore"].get_ydata(), [1.0, 0.9, 0.8])
    np.testing.assert_array_equal(lines["an"].get_xdata(), [2, 3, 4])
    assert np.isnan(lines["labels"].get_ydata()).all()
    assert lines["ignore"].get_marker() != lines["an"].get_marker()
    named = [text.get_text() for text in drawing.axes[0].child_axes[0].get_yticklabels()]
    assert named == ["AN", "Ignore"]
    told = "1: the same order, 0: none.\n1 not shown: the same prior for every class."
    assert drawing.get_supxlabel() == told
