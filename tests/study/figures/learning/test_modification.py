"""Lines are precision and counts; epochs without any modification have no point."""

import numpy as np
import pandas as pd
import pytest

from simkit.errors import BadInput
from simkit.study import figures


def rows(method: str, counts: list[tuple[int, int]], lasting: bool = False):
    return [
        {
            "method": method,
            "lasting": lasting,
            "epoch": epoch,
            "modified": modified,
            "right": right,
            "precision": right / modified if modified else None,
            "found": right / 200,
            "chance": 0.1,
            "again": None,
        }
        for epoch, (modified, right) in enumerate(counts, start=1)
    ]


TABLE = pd.DataFrame(
    rows("ll-r", [(0, 0), (10, 9), (20, 16)])
    + rows("ll-r+boostlu", [(0, 0), (10, 8), (20, 18)])
    + rows("ll-cp", [(0, 0), (5, 5), (10, 9)], lasting=True)
    + rows("an", [(0, 0)] * 3),
)


def line(axes, gid):
    return next(one for one in axes.lines if one.get_gid() == gid)


def test_lines_chance_and_legend() -> None:
    drawing = figures.make("modification")(TABLE)
    precision, right = drawing.axes
    np.testing.assert_array_equal(line(precision, "ll-r").get_xdata(), [2, 3])
    np.testing.assert_allclose(line(precision, "ll-r").get_ydata(), [90, 80])
    np.testing.assert_allclose(line(right, "ll-r+boostlu").get_ydata(), [8, 18])
    assert line(right, "ll-r+boostlu").is_dashed()
    assert precision.lines[-1].get_ydata() == [10, 10]
    shown = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert shown == ["LL-R", "LL-R + BoostLU", "LL-Cp", "at random"]
    assert "LL-Cp counts all that it has corrected so far." in drawing.get_supxlabel()


def test_what_stands_on_the_right() -> None:
    found = figures.make("modification", beside="found")(TABLE).axes[1]
    np.testing.assert_allclose(line(found, "ll-r").get_ydata(), [4.5, 8])
    modified = figures.make("modification", beside="modified")(TABLE).axes[1]
    np.testing.assert_allclose(line(modified, "ll-cp").get_ydata(), [5, 10])


def test_nothing_modified_is_refused() -> None:
    nothing = TABLE[TABLE["method"] == "an"]
    with pytest.raises(BadInput, match="no label was modified"):
        figures.make("modification")(nothing)
