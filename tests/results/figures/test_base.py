"""What figures are made of: names, looks, texts, panels with their legend, and marks."""

import struct
from io import BytesIO
from itertools import chain

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import rgb_to_hsv, to_rgb

from simkit import figures
from simkit.learn import methods
from simkit.results.figures import marks
from simkit.results.figures.base import Panels
from simkit.results.figures.style import (
    INK,
    Look,
    house_style,
    looks,
    text_width,
)
from tests.results.figures.made import legend
from tests.results.figures.test_every_table import check_picture, texts_of

KNOWN = ["an", "ignore", "ll-r", "csl", "se", "role", "en", "full"]
RESTS = ["", "(delta=1)", "+boostlu", "+cl", "+scl", "+boostlu(alpha=3)"]


@pytest.fixture(autouse=True)
def styled():
    with house_style():
        yield


def test_jupyter_shows_a_whole_picture_with_its_backend_and_without() -> None:
    panels = Panels(["a"])
    next(iter(panels)).plot([1, 2], label="a line")
    drawing = panels.finish("What it is about", "How to read it.")
    with BytesIO() as file:
        drawing.savefig(file, format="png", bbox_inches="tight")  # as the backend does
        shown = file.getvalue(), drawing._repr_png_()
    sizes = [struct.unpack(">II", png[16:24]) for png in shown]
    assert sizes[0] == pytest.approx(sizes[1], abs=40)


def test_the_users_own_style_comes_back() -> None:
    with mpl.rc_context({"font.size": 21}):
        with house_style():
            assert mpl.rcParams["font.size"] == 10
        assert mpl.rcParams["font.size"] == 21


# --- looks ----------------------------------------------------------------------------------------


def grey(look: Look) -> tuple:
    """What is left of a look without colour."""
    return look.marker, str(look.dashes), look.fill


def test_no_two_methods_share_colour_and_marker() -> None:
    drawn = looks(name for name in methods.names() if name not in ("boostlu", "cl", "scl"))
    assert len({(look.color, look.marker) for look in drawn.values()}) == len(drawn)
    assert len({look.marker for look in looks(KNOWN).values()}) == len(KNOWN)


def test_families_share_a_hue_and_their_members_differ_also_without_colour() -> None:
    wrappers = {"boostlu", "cl", "scl"}
    assert sorted(chain(*figures.FAMILIES.values())) == sorted(set(methods.names()) - wrappers)
    for members in figures.FAMILIES.values():
        drawn = looks(members).values()
        assert len({look.marker for look in drawn}) == len(members)
        vivid = [rgb_to_hsv(to_rgb(look.color)) for look in drawn if look.color != INK]
        turned = [np.exp(2j * np.pi * hue) for hue, saturation, _ in vivid if saturation > 0.1]
        assert all(abs(np.angle(one / turned[0], deg=True)) < 36 for one in turned), members
    assert (
        figures.family("ll-r(delta=1)+boostlu") == "large loss"
        and figures.family("from-elsewhere") == "others"
    )


def test_a_method_looks_the_same_whatever_else_is_in_a_table() -> None:
    for name in (*KNOWN, "brand-new", "ll-r+boostlu"):
        assert looks([name])[name] == looks([*KNOWN, "ll-r+boostlu", "brand-new", name])[name]


@pytest.mark.parametrize("inner", ["ll-r", "en", "brand-new"])
def test_wrappers_and_settings_tell_apart_without_colour(inner: str) -> None:
    names = [inner + rest for rest in RESTS]
    drawn = looks(names)
    assert len(set(map(grey, drawn.values()))) == len(names)
    assert {look.marker for look in drawn.values()} == {drawn[inner].marker}
    assert looks(reversed(names)) == drawn  # whatever the order of the table
    wrapped = drawn[inner + "+boostlu"]
    assert (wrapped.color, wrapped.dashes) == (drawn[inner].color, "--")
    assert wrapped.line()["markerfacecolor"] == "white"


# --- texts ----------------------------------------------------------------------------------------


def test_measured_texts_are_as_wide_as_drawn_ones() -> None:
    from matplotlib.figure import Figure

    for text, size in (("CSL(gamma_pos=1,gamma_neg=3)", 10), ("a part of a caption", 9)):
        drawn = Figure().text(0, 0, text, fontsize=size).get_window_extent().width / 100
        assert drawn <= text_width(text, size) <= 1.12 * drawn


# --- panels ---------------------------------------------------------------------------------------


def test_panels_fill_rows_and_are_named_at_the_edges() -> None:
    panels = Panels(["a", "b", "c"], across=2, height=2)
    panels.labels("epoch", "loss")
    _, second, _ = panels
    drawing = panels.finish("What it is about", "How to read it.")
    assert [axes.get_title("left") for axes in panels] == ["a", "b", "c"]
    assert [axes.get_xlabel() for axes in panels] == ["", "epoch", "epoch"]
    assert second.xaxis.get_tick_params()["labelbottom"]  # there is no panel below it
    assert drawing.get_supylabel() == "loss" and drawing.get_suptitle() == "What it is about"
    assert 4 < drawing.get_figheight() < 5 and not drawing.axes[3].axison
    check_picture(drawing)


@pytest.mark.parametrize("names, panels", [(2, 1), (13, 1), (3, 3), (13, 3)])
def test_every_mark_is_named_once_in_a_legend_that_covers_nothing(names: int, panels: int) -> None:
    made = Panels(["p"] * panels, across=2, height=2.2)
    for axes in made:
        for k in range(names):
            axes.plot([0, 1], [k, k], label=f"a name of a method {k}")
        axes.plot([0, 1], [1, 2])  # without a name
    drawing = made.finish("What it is about", "How to read it.")
    assert legend(drawing) == [f"a name of a method {k}" for k in range(names)]
    check_picture(drawing)
    for one in drawing.legends:
        box = one.get_window_extent()
        assert not any(box.overlaps(axes.get_tightbbox()) for axes in made)


def test_names_are_no_formulas() -> None:
    panels = Panels(["$\\frac$ and $5 to $10"], height=2)
    (axes,) = panels
    marks.log_axis(axes, "y")
    axes.set_ylim(1e-7, 1e9)
    shown = [text.get_text() for text, _ in texts_of(panels.finish("x"))]
    assert "$\\frac$ and $5 to $10" in shown and "10⁶" in shown


# --- marks and axes -------------------------------------------------------------------------------

SCORES = pd.DataFrame(
    {
        "method": ["an", "an", "an", "csl"],
        "x": [3, 1, 2, 1],
        "mean": [0.3, 0.1, np.nan, 0.5],
        "low": [0.2, 0.0, np.nan, 0.4],
        "high": [0.4, 0.2, np.nan, 0.6],
    }
)


def test_lines_are_sorted_with_gaps_and_bands() -> None:
    (axes,) = Panels()
    drawn = looks(["csl", "an"])
    marks.lines(axes, SCORES, "x", "mean", drawn, band=("low", "high"))
    csl, an = axes.lines
    assert [csl.get_label(), an.get_label()] == ["CSL", "AN"]
    np.testing.assert_array_equal(an.get_xydata(), [[1, 0.1], [2, np.nan], [3, 0.3]])
    single, band = axes.collections
    assert single.get_segments()[0].tolist() == [[1, 0.4], [1, 0.6]]
    corners = {tuple(point) for path in band.get_paths() for point in path.vertices}
    assert {(1, 0.0), (1, 0.2), (3, 0.2), (3, 0.4)} <= corners


@pytest.mark.parametrize("low, high", [(0.2, 0.9), (1, 50), (3, 4e4), (1e-30, 1e30), (1e-300, 1)])
def test_a_log_axis_has_a_few_plain_ticks(low: float, high: float) -> None:
    panels = Panels(height=2)
    (axes,) = panels
    marks.log_axis(axes, "x")
    axes.set_xlim(low, high)
    check_picture(panels.finish("x"))
    ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
    assert 2 <= len(ticks) <= 7


def test_ticks_stand_at_the_values_that_have_room() -> None:
    panels = Panels(["p"] * 4, height=2)
    for axes in panels:
        axes.plot([1, 1000], [0, 1])
        marks.ticks_at(axes, [1, 1000, 30, *range(100, 900, 50)])
    assert axes.get_xscale() == "log"
    check_picture(panels.finish("x"))
    ticks = axes.get_xticks()
    assert {1, 30, 1000} <= set(ticks) and len(ticks) < 8
