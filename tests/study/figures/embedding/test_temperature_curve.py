"""Lines are the curves: solid where the nearest is present, dashed where it is absent."""

import numpy as np
import pytest

from simkit.study import figures
from simkit.study.analysis.embedding import curves


def test_a_colour_for_each_setting_and_a_dash_for_each_side() -> None:
    table = curves(["se", "se(beta=1)"], points=5)
    drawing = figures.make("temperature-curve")(table)
    left, right = drawing.axes
    for axes, what in ((left, "temperature"), (right, "slope")):
        lines = {line.get_gid(): line for line in axes.lines if " " in str(line.get_gid())}
        assert list(lines) == [
            "se present",
            "se absent",
            "se(beta=1) present",
            "se(beta=1) absent",
        ]
        assert lines["se absent"].is_dashed() and not lines["se present"].is_dashed()
        assert lines["se absent"].get_color() == lines["se present"].get_color()
        assert lines["se present"].get_color() != lines["se(beta=1) present"].get_color()
        wanted = table[what].to_numpy()[5:10]
        np.testing.assert_array_equal(lines["se absent"].get_ydata(), wanted)
    assert (left.get_yscale(), right.get_yscale()) == ("symlog", "log")
    shown = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert shown == ["SE", "SE(beta=1)", "nearest is present", "nearest is absent"]


@pytest.mark.parametrize(
    "beta, wanted",
    [
        (5, ["−100", "−10", "−1", "0", "1", "10", "100"]),
        (20, ["−10⁸", "−10⁵", "−100", "0", "100", "10⁵", "10⁸"]),
        (100, ["−10⁴³", "−10³²", "−10²¹", "−10¹⁰", "0", "10¹⁰", "10²¹", "10³²", "10⁴³"]),
    ],
)
def test_ticks_reach_as_far_as_the_temperatures(beta: int, wanted: list[str]) -> None:
    drawing = figures.make("temperature-curve")(curves([f"se(beta={beta})"], points=5))
    left, right = drawing.axes
    assert [text.get_text() for text in left.get_yticklabels()] == wanted
    drawing.draw_without_rendering()
    assert "$" not in "".join(text.get_text() for text in right.get_yticklabels())


def test_what_is_beyond_the_largest_number_is_left_out() -> None:
    table = curves(["se(beta=800)"], points=5)
    assert np.isinf(table["temperature"].to_numpy()).any()
    left = figures.make("temperature-curve")(table).axes[0]
    assert np.isfinite(left.get_ylim()).all() and left.get_ylim()[1] > 1e260
