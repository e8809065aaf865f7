from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

from simkit.study.figures.direct import name_ends, spread


def test_places_that_are_too_near_share_their_middle():
    assert spread([0, 5, 10], 1).tolist() == [0, 5, 10]
    assert spread([4, 4], 1).tolist() == [3.5, 4.5]
    # 4 and 4 would reach 5: all three stand about their mean 4.4
    assert spread([4, 4, 5.2], 1) == pytest.approx([3.4, 4.4, 5.4])


def test_places_stay_inside_where_there_is_room():
    assert spread([9, 9.5], 2, 0, 10).tolist() == [8, 10]
    assert spread([0, 0], 2, 0, 10).tolist() == [0, 2]
    assert spread([1, 1, 1], 2, 0, 2).tolist() == [-1, 1, 3]  # over both ends alike


def test_names_do_not_overlap_and_have_the_colour_of_their_line():
    drawing = Figure(layout="constrained", figsize=(4, 3))
    axes = drawing.add_subplot()
    axes.plot([0, 1], [0, 50])
    ends = [("b", 1.0, 50.0, "#0000ff"), ("a", 1.0, 49.9, "#ff0000"), ("c", 1.0, 3.0, "#000000")]
    name_ends(drawing, [(axes, ends)], size=9)
    drawing.draw_without_rendering()
    texts = axes.child_axes[0].get_yticklabels()
    assert [(t.get_text(), t.get_color()) for t in texts] == [
        ("c", "#000000"),
        ("a", "#ff0000"),
        ("b", "#0000ff"),
    ]
    boxes = [t.get_window_extent() for t in texts]
    assert all(low.y1 <= high.y0 for low, high in pairwise(boxes))
    assert np.allclose(axes.lines[-1].get_xdata()[0], 1.0)


def test_long_names_take_several_lines():
    drawing = Figure(layout="constrained", figsize=(4, 3))
    axes = drawing.add_subplot()
    axes.plot([0, 1], [0, 50])
    ends = [(f"CSL(gamma_pos=1,gamma_neg={n})", 1.0, 25.0, "#0000ff") for n in range(3)]
    name_ends(drawing, [(axes, ends)], letters=16)
    drawing.draw_without_rendering()
    texts = axes.child_axes[0].get_yticklabels()
    assert texts[0].get_text() == "CSL(gamma_pos=1,\ngamma_neg=0)"
    boxes = [t.get_window_extent() for t in texts]
    assert all(low.y1 <= high.y0 for low, high in pairwise(boxes))


def test_no_name_lies_on_the_axis_below():
    drawing = Figure(layout="constrained", figsize=(4, 3))
    axes = drawing.add_subplot()
    axes.plot([0, 1], [0, 50])
    name_ends(drawing, [(axes, [(name, 1.0, 0.0, "#0000ff") for name in "abc"])])
    drawing.draw_without_rendering()
    lowest = axes.child_axes[0].get_yticklabels()[0].get_window_extent()
    assert lowest.y0 >= axes.get_window_extent().y0
