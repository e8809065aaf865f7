from itertools import pairwise

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.figures.comparing.heat_map import HeatMap
from tests.study import planted


def drawn(table, **options):
    drawing = HeatMap(**options)(table)
    axes = drawing.axes[0]
    texts = {tuple(round(x) for x in t.get_position()): [] for t in axes.texts}
    for text in axes.texts:
        x, y = text.get_position()
        texts[round(x), round(y)].append(text.get_text())
    frames = [p for p in axes.patches if isinstance(p, Rectangle)]
    framed = {(round(f.get_x() + 0.46), round(f.get_y() + 0.46)) for f in frames}
    return drawing, axes, texts, framed


def shades(axes):
    """What each cell is coloured by."""
    (cells,) = axes.collections
    return np.asarray(cells.get_array()).reshape(len(axes.get_yticks()), -1)


def test_cells_show_mean_interval_and_draws():
    table = runs.tidy(
        [
            planted.row(scheme="fpc", method="an", draw=d, map=m, dollars=9.0, budget=10.0)
            for d, m in enumerate([0.4, 0.5, 0.6])
        ],
        classes=(),
    )
    _, axes, texts, frames = drawn(table)
    # half = t(0.975, 2) * 0.1 / sqrt(3) = 0.248
    assert texts == {(0, 0): ["50.0", "±24.8, n=3"]} and frames == set()
    assert [t.get_text() for t in axes.get_xticklabels()] == ["AN"]


def test_winners_are_framed_and_noise_is_named():
    drawing, axes, _, frames = drawn(planted.table(), budget=150)
    order = ["an", "ignore", "ll-r", "an+boostlu", "ll-r+boostlu"]
    assert (order.index("ignore"), 1) in frames and (order.index("ll-r+boostlu"), 0) in frames
    assert not any(row == 4 for _, row in frames)
    verdicts = [t.get_text() for t in axes.child_axes[0].get_yticklabels()]
    assert verdicts[1].startswith("Ignore wins:\n+4.8 over")
    assert verdicts[4] == "not told apart\nwith 5 draws"
    assert drawing.get_suptitle().endswith("which scheme, for $150 of annotation each?")


def test_frame_and_verdict_are_about_what_is_beyond_noise():
    scores = {"an": [0.10, 0.90, 0.70], "ll-r": [0.50, 0.51, 0.52], "csl": [0.40, 0.411, 0.419]}
    rows = [
        planted.row(scheme="fpc", method=method, draw=draw, map=score)
        for method, values in scores.items()
        for draw, score in enumerate(values)
    ]
    _, axes, _, frames = drawn(runs.tidy(rows, classes=()))
    assert frames == {(1, 0)}  # not AN, whose mean is highest but which beats nobody
    verdict = axes.child_axes[0].get_yticklabels()[0].get_text()
    assert verdict == "LL-R leads:\n+10.0 over CSL;\n1 not told from it"


def test_colour_is_the_difference_to_an():
    _, axes, _, _ = drawn(planted.table(), budget=150)
    gaps = shades(axes)
    assert gaps[:, 0] == pytest.approx([0] * 5)
    assert gaps[1, 1] == pytest.approx(9, abs=0.5) and gaps[0, 1] == pytest.approx(-18, abs=0.5)


def test_colour_is_of_draws_that_both_have():
    rows = [
        planted.row(scheme="fpc", method=method, draw=draw, map=0.1 * draw + lead)
        for method, first, lead in (("an", 0, 0.4), ("ll-r", 1, 0.37), ("csl", 3, 0.2))
        for draw in range(first, 3 if method != "csl" else 5)
    ]
    _, axes, texts, _ = drawn(runs.tidy(rows, classes=()))
    assert texts[0, 0][0] == "50.0" and texts[1, 0][0] == "52.0"
    gaps = shades(axes)
    assert gaps[0] == pytest.approx([0, -3, np.nan], nan_ok=True)


def test_the_middle_budget_is_shown_unless_another_is_asked_for():
    assert "$150" in HeatMap()(planted.table()).get_suptitle()
    with pytest.raises(BadInput) as caught:
        HeatMap(budget=7)(planted.table())
    assert str(caught.value) == (
        "heat-map: no runs at the budget $7; budgets in the table are $50, $150, $450"
    )


def test_a_table_of_references_alone_is_refused():
    alone = runs.tidy([row for row in planted.rows() if row["reference"]], classes=())
    with pytest.raises(BadInput) as caught:
        HeatMap()(alone)
    assert str(caught.value) == "heat-map: the table holds no runs; run a comparison first"


def test_unspent_budgets_are_told():
    rows = [row | {"dollars": 100.0} if row["scheme"] == "rpa" else row for row in planted.rows()]
    title = HeatMap(budget=150)(runs.tidy(rows, classes=())).get_suptitle()
    assert title.replace("\n", " ").endswith(
        "scheme, for up to $150 of annotation each, $100 to $148 spent?"
    )


def test_a_missing_run_leaves_a_gap():
    rows = [r for r in planted.rows() if not (r["scheme"] == "fpc" and r["method"] == "ll-r")]
    _, _, texts, _ = drawn(runs.tidy(rows, classes=()), budget=150)
    assert texts[2, 2] == ["no run"]


def test_one_draw_frames_nothing():
    _, axes, texts, frames = drawn(planted.table(draws=1), budget=150)
    assert frames == set() and texts[0, 0][1] == "n=1"
    assert axes.child_axes[0].get_yticklabels()[0].get_text() == "one draw:\ncannot tell"


def test_many_methods_fit():
    many = [f"m{i}" for i in range(12)]
    rows = [
        planted.row(scheme="fpc", method=m, draw=d, map=0.5 + 0.01 * d, dollars=9.0)
        for m in many
        for d in range(3)
    ]
    drawing, axes, *_ = drawn(runs.tidy(rows, classes=()))
    assert axes.get_xticklabels()[0].get_rotation() == 35
    drawing.canvas.draw()
    assert drawing.get_suptitle().endswith("Amounts as written, costs differ")


def test_each_of_33_methods_has_its_place():
    rows = [
        planted.row(scheme="fpc", method=f"m{k}", draw=d, map=0.5 + 0.01 * d)
        for k in range(33)
        for d in range(2)
    ]
    drawing, axes, *_ = drawn(runs.tidy(rows, classes=()))
    drawing.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text() == "50.5"]
    assert len(boxes) == 33
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_budgets_in_hours_are_named_so():
    rows = [
        planted.row(scheme="fpc", method="an", draw=d, map=0.5, budget_hours=h, seconds=3500 * h)
        for d in range(2)
        for h in (2.0, 8.0)
    ]
    whole = {"scheme": "full-subset", "method": "full", "reference": True, "map": 0.5}
    rows.append(planted.row(**whole, draw=0, seconds=36000.0))
    table = runs.tidy(rows, classes=())
    note = HeatMap()(table).get_supxlabel()
    assert note.endswith("Everything labelled, for 10 hours: Full labels 50.0 mAP.")
    assert HeatMap()(table).get_suptitle().endswith("in 8 hours of annotation each?")
    assert HeatMap(hours=2)(table).get_suptitle().endswith("in 2 hours of annotation each?")


def test_colours_compare_with_what_is_asked_for():
    _, axes, _, _ = drawn(planted.table(), budget=150, against="ignore")
    assert shades(axes)[:, 1] == pytest.approx([0] * 5)
    with pytest.raises(BadInput) as caught:
        drawn(planted.table(), against="ignor")
    assert str(caught.value) == (
        "no method of the table (heat-map) is called 'ignor'; did you mean 'ignore'?"
    )
    rows = [r | {"method": "m" + r["method"]} for r in planted.rows(reference=False)]
    assert "than man, full" in HeatMap()(runs.tidy(rows, classes=())).get_supxlabel()


@pytest.mark.parametrize("spec", ["csl(gamma_unknown=4,k=%d)", "ll-cp(delta=%d)+boostlu(alpha=5)"])
def test_names_with_settings_have_room(spec):
    rows = [
        planted.row(scheme=scheme, method=spec % m, draw=d, map=0.5 + 0.1 * m + 0.01 * d)
        for scheme in ("fpc(per_class=1000,search=random,precision=0.2)", "rpa")
        for m in range(4)
        for d in range(3)
    ]
    drawing, axes, *_ = drawn(runs.tidy(rows, classes=()))
    drawing.draw_without_rendering()
    assert axes.get_xticklabels()[0].get_rotation() == 35
    left, right = (part.get_tightbbox() for part in (axes, axes.child_axes[0]))
    assert left.x0 >= 0 and right.x1 <= drawing.bbox.width
    cells = axes.get_window_extent()
    assert cells.height > 2 * 0.5 * drawing.dpi and cells.width > 4 * 0.8 * drawing.dpi
    assert all(drawing.bbox.contains(*p) for p in drawing.get_tightbbox().get_points() * 99)


def test_colour_stays_inside_of_its_cell_and_of_its_frame():
    _, axes, _, frames = drawn(planted.table(), budget=150)
    assert not axes.images and (1, 1) in frames
    boxes = [path.get_extents().bounds for path in axes.collections[0].get_paths()]
    framed = [patch.get_bbox().bounds for patch in axes.patches]
    assert all(any(np.allclose(frame, box) for box in boxes) for frame in framed)
