import matplotlib as mpl
import pytest

from simkit.errors import BadInput
from simkit.learn import methods
from simkit.study import figures
from simkit.study.figures.previous import (
    caption,
    columns,
    count,
    cut,
    fold,
    heading,
    house_style,
    label,
    leaves_only,
    legend_below,
    not_shown,
    plain_log,
    power,
)


def test_figures_are_found_by_name():
    assert {"heat-map", "cost-curve"} <= set(figures.names())
    assert figures.make("heat-map", budget=100).budget == 100.0
    spelled = figures.spell(figures.make("cost-curve(panels=method)"))
    assert spelled.startswith("cost-curve(panels='method'")
    with pytest.raises(BadInput, match="no figure is called 'heatmap'; did you mean 'heat-map'"):
        figures.make("heatmap")


def test_every_figure_has_a_title():
    assert all(figures.get(name).title for name in figures.names())


def test_labels_are_the_fields_names():
    assert label("ll-r+boostlu") == "LL-R + BoostLU"
    assert label("ll-r(delta=0.2)") == "LL-R(delta=0.2)"
    assert label("from-elsewhere") == "from-elsewhere"
    assert all(label(name) == methods.get(name).title for name in methods.names())


def test_the_users_own_style_comes_back():
    before = mpl.rcParams["font.size"]
    with house_style():
        assert mpl.rcParams["font.size"] == 10
    assert mpl.rcParams["font.size"] == before


def test_names_are_no_formulas():
    from matplotlib.figure import Figure

    with house_style():
        axes = Figure().add_subplot()
        axes.set_title("$\\frac$ and $5 to $10")
        axes.set_yscale("log")
        axes.set_ylim(1e-7, 1e9)
        plain_log(axes.yaxis)
        axes.figure.draw_without_rendering()
    assert axes.title.get_parse_math() is False
    ticks = [text.get_text() for text in axes.get_yticklabels()]
    assert {"10⁻⁵", "10⁸"} & set(ticks) and "$" not in "".join(ticks)


@pytest.mark.parametrize(
    "value, text",
    [(0, "0"), (0.01, "0.01"), (1, "1"), (10000, "10,000"), (1e-5, "10⁻⁵"), (1e43, "10⁴³")],
)
def test_powers_are_written_short(value, text):
    assert power(value) == text


def test_what_stands_around_a_figure_keeps_inside_it():
    from matplotlib.figure import Figure

    with house_style():
        drawing = Figure(figsize=(9, 3), layout="constrained")
        drawing.add_subplot()
        heading(drawing, "What it is about")
        caption(drawing, "A short part.", "and a long one of many words " * 12, "")
        drawing.draw_without_rendering()
    lines = drawing.get_supxlabel().split("\n")
    assert lines[0] == "A short part." and len(lines) == 4
    assert drawing.get_tightbbox().width <= 9


def test_what_is_left_out_is_counted():
    assert not_shown(0) == ""
    assert not_shown(1) == "1 other method is not shown; the option methods chooses."
    assert not_shown(2) == "2 other methods are not shown; the option methods chooses."


def test_long_names_are_cut():
    assert (cut("x" * 28), cut("x" * 29)) == ("x" * 28, "x" * 27 + "…")


@pytest.mark.parametrize(
    "name, letters, lines, folded",
    [
        ("AN", 10, 2, "AN"),
        ("LL-R(delta=1) + BoostLU", 14, 2, "LL-R(delta=1)\n+ BoostLU"),
        ("csl(gamma_pos=1,k=5)", 12, 3, "csl(\ngamma_pos=1,\nk=5)"),
        ("csl(gamma_pos=1,k=5)", 12, 2, "csl(\ngamma_pos=1…"),
        ("x" * 25, 10, 2, "x" * 10 + "\n" + "x" * 9 + "…"),
        ("at $12,345 each", 10, 2, "at $12,345\neach"),
        ("", 10, 2, ""),
    ],
)
def test_names_are_folded_where_a_reader_expects_it(name, letters, lines, folded):
    assert fold(name, letters, lines) == folded


def test_long_headings_take_several_lines():
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(9, 3))
    heading(drawing, "Which classes gain by " + "csl(gamma_pos=1,gamma_neg=3) " * 4)
    lines = drawing.get_suptitle().split("\n")
    assert len(lines) == 2 and max(map(len, lines)) <= 73
    assert drawing.get_tightbbox().width <= 9


def test_legends_have_fewer_columns_the_longer_their_names():
    assert columns(["AN"]) == 4
    assert columns(["AN", "x" * 40]) == 2
    assert columns(["x" * 400]) == 1


@pytest.mark.parametrize(
    "mean, text", [(0, "0"), (1 / 3, "0.33"), (17 / 3, "5.7"), (52.4, "52"), (1234.0, "1,234")]
)
def test_counts_are_zero_only_where_nothing_was_counted(mean, text):
    assert count(mean) == text


def test_inner_classes_that_are_left_out_are_told():
    from simkit.study.analysis.comparing.by_class import by_class
    from tests.study import planted_classes as planted

    flat = by_class(planted.table(schemes=("fpc",)), methods=("an",), asker="x")
    assert leaves_only(flat) == ""
    found = by_class(planted.table(schemes=("fpc",), leaves=(1, 2, 3)), methods=("an",), asker="x")
    assert leaves_only(found) == "Leaves only: 3 of 4 classes."


@pytest.mark.parametrize("names", [2, 13])
def test_a_legend_stands_between_picture_and_caption(names):
    from matplotlib.figure import Figure

    with house_style():
        drawing = Figure(figsize=(9, 5), layout="constrained")
        axes = drawing.add_subplot()
        caption(drawing, "How to read it.", "And another line.")
        (line,) = axes.plot([0, 1])
        legend_below(drawing, {f"a rather long name of a method {k}": line for k in range(names)})
        drawing.draw_without_rendering()
    legend = drawing.legends[0].get_window_extent()
    text = drawing._supxlabel
    text.set_text(text.get_text().strip())
    assert text.get_window_extent().y1 <= legend.y0
    assert legend.y1 <= axes.get_tightbbox().y0
