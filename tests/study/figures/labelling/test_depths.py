import pyarrow as pa
import pytest

from simkit.study import figures
from simkit.study.analysis.labelling import STATES

SHARES = {0: (0.4, 0.5, 0.04, 0.06), 1: (0.1, 0.2, 0.3, 0.4)}


def table(schemes=("verify", "path-only")):
    return pa.Table.from_pylist(
        [
            {"scheme": scheme, "depth": depth, "classes": 5, "leaves": 2, "state": state}
            | {"count": int(100 * share), "share": share}
            for scheme in schemes
            for depth, shares in SHARES.items()
            for state, share in zip(STATES, shares, strict=True)
        ]
    )


def test_bars_are_stacked_from_what_is_present_to_what_is_absent():
    drawing = figures.make("label-depths")(table())
    assert [axes.get_title("left") for axes in drawing.axes] == ["verify", "path-only"]
    bars = [(bar.get_x(), bar.get_width()) for bar in drawing.axes[0].patches]
    assert len(bars) == 8
    # depth 1: known present, present but unknown, absent but unknown, known absent
    wanted = [(0, 0.1), (0.1, 0.3), (0.4, 0.4), (0.8, 0.2)]
    assert bars[1::2] == [pytest.approx(one) for one in wanted]
    hatched = [bool(bar.get_hatch()) for bar in drawing.axes[0].patches[1::2]]
    assert hatched == [False, True, True, False]


def test_the_top_is_on_top_and_named():
    drawing = figures.make("label-depths")(table())
    axes = drawing.axes[0]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert axes.get_yticklabels()[0].get_text() == "depth 0\n5 classes"
    (legend,) = drawing.legends
    assert len(legend.get_texts()) == 4
    drawing.draw_without_rendering()
    assert legend.get_window_extent().y1 < axes.get_tightbbox().y0
