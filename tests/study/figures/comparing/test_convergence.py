import pytest

from simkit.study.figures.comparing.convergence import Convergence
from simkit.study.figures.looks import look
from tests.study import planted_classes as planted


def panels(drawing):
    return {axes.get_title("left"): axes for axes in drawing.axes if axes.get_title("left")}


def marked(axes, method):
    """Epochs that have a marker, and its size."""
    style = look(method)
    return {
        float(line.get_xdata()[0]): line.get_markersize()
        for line in axes.lines
        if line.get_marker() == style.marker
        and line.get_color() == style.color
        and line.get_markersize() > 4
    }


def test_a_panel_for_each_scheme_a_line_and_a_band_for_each_method():
    drawing = Convergence()(planted.table())
    drawn = panels(drawing)
    assert list(drawn) == ["fpc", "rpa"]
    line = drawn["rpa"].lines[0]
    assert list(line.get_xdata()) == [1, 2, 3]
    assert list(line.get_ydata()) == pytest.approx([20, 40, 50])
    assert len(drawn["rpa"].collections) == 3
    assert drawing.get_supylabel() == "mAP on the test split, points"
    assert drawing.get_suptitle() == "How fast methods learn, for $10 of annotation each"
    names = [t.get_text() for t in drawn["rpa"].child_axes[0].get_yticklabels()]
    assert sorted(names) == ["AN", "CSL", "LL-R"]


def test_markers_stand_at_the_chosen_epochs_larger_where_more_draws_chose_them():
    rows = planted.rows(schemes=["fpc"], methods=["an"], curve_of="val")
    rows[0] |= {"epochs": 2}
    drawing = Convergence()(planted.table(rows))
    found = marked(drawing.axes[0], "an")
    assert list(found) == [2, 3] and found[2] < found[3]
    assert drawing.get_supylabel() == "mAP on the validation split, points"
    assert "larger where more draws chose it" in drawing.get_supxlabel()


def test_bands_end_where_a_draw_stopped():
    rows = planted.rows(schemes=["fpc"], methods=["an"])
    rows[0] |= {"curve": [0.2, 0.3], "epochs": 2}
    drawing = Convergence()(planted.table(rows))
    (band,) = drawing.axes[0].collections
    assert band.get_paths()[0].vertices[:, 0].max() == 2
    whole, rest = drawing.axes[0].lines[:2]
    assert (list(whole.get_xdata()), list(rest.get_xdata())) == ([1, 2], [2, 3])
    note = drawing.get_supxlabel().replace("\n", " ")
    assert "Thin lines: only those draws that were trained for so long." in note


def test_losses_have_a_scale_of_their_own_in_each_panel():
    drawing = Convergence(of="losses", scheme="rpa")(planted.table())
    assert list(drawing.axes[0].lines[0].get_ydata()) == [1.0, 0.5, 0.25]
    assert drawing.get_supylabel() == "mean training loss"
    assert drawing.get_supxlabel().endswith("Losses of different methods have different scales.")


def test_one_draw_has_no_band():
    drawing = Convergence()(planted.table(draws=1))
    assert not drawing.axes[0].collections
    assert drawing.get_supxlabel().startswith("One draw: no bands.")


def test_one_epoch_is_a_point():
    drawing = Convergence()(planted.table(curve=[0.4], epochs=1))
    drawing.draw_without_rendering()
    assert list(marked(drawing.axes[0], "an")) == [1]


def test_of_many_methods_the_best_are_drawn():
    rows = [r | {"method": f"m{k}"} for r in planted.rows(methods=["an"]) for k in range(33)]
    drawing = Convergence()(planted.table(rows))
    assert len(drawing.axes[0].child_axes[0].get_yticks()) == 8
    note = drawing.get_supxlabel().replace("\n", " ")
    assert note.endswith("25 other methods are not shown; the option methods chooses.")


def test_long_names_leave_room_for_the_curves():
    long = "csl(gamma_pos=1,gamma_neg=3,gamma_unknown=%s)"
    rows = [
        r | {"method": long % r["method"], "scheme": r["scheme"] + "(per_class=100,search=random)"}
        for r in planted.rows()
    ]
    drawing = Convergence()(planted.table(rows))
    drawing.draw_without_rendering()
    for axes in drawing.axes:
        assert axes.get_window_extent().width > 3.5 * drawing.dpi
    (legend,) = drawing.legends
    assert len(legend.get_texts()) == 3
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= drawing.bbox.width
    assert box.y1 <= min(axes.get_tightbbox().y0 for axes in drawing.axes)


def test_small_markers_tell_lines_apart_that_lie_upon_each_other():
    rows = [r | {"curve": [0.1 * e for e in range(8)], "epochs": 8} for r in planted.rows()]
    drawing = Convergence(scheme="rpa")(planted.table(rows))
    small = {
        line.get_marker(): list(line.get_xdata())
        for line in drawing.axes[0].lines
        if line.get_markersize() < 4
    }
    assert small == {
        look(method).marker: epochs
        for method, epochs in {"an": [1, 4, 7], "csl": [3, 6], "ll-r": [2, 5, 8]}.items()
    }
