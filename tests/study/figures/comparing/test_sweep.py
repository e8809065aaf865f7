import numpy as np
import pandas as pd
import pytest

from simkit.study import figures, runs
from simkit.study.analysis.amounts import sweep
from simkit.study.figures.looks import look
from tests.study import planted


def swept(values, setting, method="se", schemes=("rpa",), draws=3, failed=(), **fields):
    """Scores rise by a point with each value; None is the default."""
    rng = np.random.default_rng(0)
    rows = [
        planted.row(
            scheme=scheme,
            method=method if value is None else f"{method}({setting}={value})",
            draw=d,
            map=0.5 + 0.01 * place + rng.normal(0, 0.01),
        )
        | fields
        for scheme in schemes
        for d in range(draws)
        for place, value in enumerate(values)
    ]
    return sweep(runs.with_failures(runs.tidy(rows, classes=()), failed), setting)


def drawn(table, **options):
    return figures.make("sweep", **options)(table)


def ticks(axes):
    axes.figure.draw_without_rendering()
    return [text.get_text() for text in axes.get_xticklabels()]


def rings(axes):
    """Where defaults are marked."""
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in axes.lines
        if line.get_markersize() > 10
    ]


def test_a_panel_for_each_scheme_a_band_and_the_default_marked():
    table = swept([5, None, 20], "k", schemes=("rpa", "fpc"))
    drawing = drawn(table)
    assert [axes.get_title("left") for axes in drawing.axes] == ["rpa", "fpc"]
    axes = drawing.axes[0]
    means = [100 * row["mean"] for row in table.to_dict("records") if row["scheme"] == "rpa"]
    assert list(axes.lines[0].get_ydata()) == pytest.approx(means)
    assert list(axes.lines[0].get_xdata()) == [5, 10, 20] and ticks(axes) == ["5", "10", "20"]
    assert len(axes.collections) == 1 and axes.get_xscale() == "linear"
    assert rings(axes) == [(10.0, pytest.approx(means[1]))]
    assert drawing.get_supxlabel().strip() == "Bands: 95 % over 3 draws. Ring: the default."


def test_wide_numbers_have_a_logarithmic_axis():
    wide = drawn(swept([1, None, 100], "beta")).axes[0]
    assert wide.get_xscale() == "log" and wide.get_xlabel() == "beta, log axis"
    assert ticks(wide) == ["1", "5", "100"]
    near = drawn(swept([1, None, 20], "beta")).axes[0]
    assert near.get_xscale() == "linear"


def test_wide_numbers_with_a_zero_stand_side_by_side():
    axes = drawn(swept([None, 0.01, 0.1, 1], "gamma")).axes[0]
    assert axes.get_xscale() == "linear" and ticks(axes) == ["0", "0.01", "0.1", "1"]
    assert list(axes.lines[0].get_xdata()) == [0, 1, 2, 3]


def test_words_stand_side_by_side_without_a_line():
    axes = drawn(swept([None, "inverse"], "temperature")).axes[0]
    assert ticks(axes) == ["printed", "inverse"]
    assert axes.lines[0].get_linestyle() == "None" and len(axes.collections) == 1
    assert "Bars: 95 %" in axes.figure.get_supxlabel()


def test_panels_may_be_methods():
    table = swept([5, None, 20], "k", schemes=("rpa", "fpc"))
    drawing = drawn(table, panels="method")
    (axes,) = drawing.axes
    assert axes.get_title("left") == "SE"
    (legend,) = drawing.legends
    assert [text.get_text() for text in legend.get_texts()] == ["rpa", "fpc"]


def test_a_method_has_its_look():
    axes = drawn(swept([5, None], "k")).axes[0]
    assert axes.lines[0].get_color() == look("se").color


def test_one_draw_says_so():
    drawing = drawn(swept([5, None], "k", draws=1))
    assert not drawing.axes[0].collections
    assert drawing.get_supxlabel().strip().startswith("One draw: no bands.")


def test_failures_are_told():
    note = drawn(swept([5, None], "k", failed=["one", "two"])).get_supxlabel()
    assert note.endswith("Failed: 2 failures of the comparison.")
    table = swept([5, None], "k")
    rows = table.to_dict("records")
    rows[0]["missing"] = 1
    note = drawn(pd.DataFrame(rows)).get_supxlabel()
    assert note.endswith("Failed: 1 run without a score left out.")
