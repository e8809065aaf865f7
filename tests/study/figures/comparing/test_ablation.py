import numpy as np
import pandas as pd
import pytest

from simkit.study import figures, runs
from simkit.study.analysis.comparisons import ablation
from tests.study import planted

LEAD = {"an": 0.0, "an+boostlu": 0.1, "an+cl": 0.0}


def table(schemes=("rpa",), draws=4, failed=()):
    rng = np.random.default_rng(0)
    rows = [
        planted.row(scheme=s, method=m, draw=d, map=0.5 + lead + rng.normal(0, 0.004))
        for s in schemes
        for d in range(draws)
        for m, lead in LEAD.items()
    ]
    return ablation(runs.with_failures(runs.tidy(rows, classes=()), failed), "an")


def drawn(found):
    return figures.make("ablation")(found)


def beside(axes):
    return [text.get_text() for text in axes.child_axes[0].get_yticklabels()]


def dots(axes):
    return [line for line in axes.lines if line.get_marker() == "o"]


def test_rows_dots_and_differences():
    found = table()
    drawing = drawn(found)
    (axes,) = drawing.axes
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["AN", "AN + BoostLU", "AN + CL"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top
    rows = found.to_dict("records")
    means = [dot.get_xdata()[0] for dot in dots(axes)]
    assert means == pytest.approx([100 * row["mean"] for row in rows])
    assert beside(axes)[0] == "base"
    assert beside(axes)[1] == (
        f"{100 * rows[1]['gap']:+.1f}  ({100 * rows[1]['gap_low']:+.1f} to "
        f"{100 * rows[1]['gap_high']:+.1f})"
    )
    assert drawing.get_suptitle() == "What each variation is worth, against AN"


def test_what_is_beyond_noise_is_full_and_bold():
    (axes,) = drawn(table()).axes
    full = [dot.get_markerfacecolor() == dot.get_color() for dot in dots(axes)]
    assert full == [True, True, False]
    weights = [t.get_fontweight() for t in axes.child_axes[0].get_yticklabels()]
    assert weights == ["normal", "bold", "normal"]


def test_each_scheme_has_a_panel():
    drawing = drawn(table(schemes=("rpa", "fpc")))
    assert [axes.get_title("left") for axes in drawing.axes] == ["rpa", "fpc"]


def test_one_draw_has_no_intervals():
    drawing = drawn(table(draws=1))
    assert len(drawing.axes[0].lines) == 4  # dots, and the base
    assert "(" not in "".join(beside(drawing.axes[0]))
    assert drawing.get_supxlabel().startswith("One draw: no intervals")


def test_failures_are_told():
    note = drawn(table(failed=["why"])).get_supxlabel()
    assert note.endswith("Failed: 1 failure of the comparison.")


def test_a_scheme_without_the_base_says_so():
    rows = [r for r in table(schemes=("rpa", "fpc")).to_dict("records")]
    rows = [r | {"gap": None, "noise": None} if r["scheme"] == "fpc" else r for r in rows]
    rows = [r for r in rows if r["scheme"] == "rpa" or not r["base"]]
    drawing = drawn(pd.DataFrame(rows))
    assert beside(drawing.axes[1]) == ["no base here"] * 2
