"""What models go by: maps beside their pictures, courses of maps, and scores on parts."""

import numpy as np
import pandas as pd
import pytest

from simkit import figures
from simkit.errors import BadInput
from simkit.results.statistics import interval
from tests.results.figures.made import legend, named_lines

PEAKED = np.array([[0.0, 1.0, 0.0], [0.0, 8.0, 2.0]])
BOX = [[0.25, 0.5, 0.75, 1.0]]


def titles(drawing) -> list[str]:
    return [axes.get_title("left") for axes in drawing.axes]


def test_activation_maps_have_their_brightness_objects_and_highest_places() -> None:
    columns = ["model", "image", "class", "probability", "map", "boxes"]
    table = pd.DataFrame(
        [
            (model, image, "star", times / 4, (times * PEAKED).tolist(), BOX if image == 3 else [])
            for model, image, times in (("full", 3, 2), ("full", 5, 4), ("an", 3, 1), ("an", 5, 0))
        ],
        columns=columns,
    )
    drawing = figures.make("activation-maps")(table)
    first, second, *_ = drawing.axes
    assert titles(drawing) == ["Full labels", "AN", "", ""]
    assert (first.get_xlabel(), second.get_xlabel()) == ("p = 0.50", "p = 0.25")
    np.testing.assert_array_equal(second.images[0].get_array(), PEAKED)
    assert first.lines[0].get_xydata().tolist() == [[0.5, 0.75]]
    frames = [[frame.get_bbox().extents.tolist() for frame in a.patches] for a in drawing.axes]
    assert frames == [BOX * 2, BOX * 2, [], []]
    for scale, highest in (("row", [16, 16, 32, 32]), ("own", [16, 8, 32, 1e-9])):
        drawn = figures.make("activation-maps", scale=scale)(table)
        assert [axes.images[0].get_clim() for axes in drawn.axes] == [(0, top) for top in highest]


def heat(models: list[str], epochs: list[int]) -> pd.DataFrame:
    rows = [
        {"model": model, "epoch": epoch, "image": 3, "class": name, "kind": "negative",
         "map": [[0, 0.2], [0.1 * epoch, 0.5]], "boxes": BOX}
        for model in models
        for epoch in epochs
        for name in ("star", "five")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_pictures_stand_before_their_maps() -> None:
    pictures = tuple(np.full((4, 4, 3), n, np.uint8) for n in (10, 20))
    table = heat(["en+scl"], [0, 2, 9]).iloc[[0, 2, 4, 5, 3, 1]]  # five's epochs are turned round
    drawing = figures.make("heat-maps", pictures=pictures)(table)
    assert titles(drawing) == ["", "before", "epoch 2", "epoch 9", "", "", "", ""]
    shown = [axes.images[0].get_array() for axes in drawing.axes]
    assert [int(shown[n][0, 0, 0]) for n in (0, 4)] == [10, 20]
    np.testing.assert_allclose([shown[n][1, 0] for n in (1, 2, 3, 5, 6, 7)], [0, 0.2, 0.9] * 2)
    assert {drawing.axes[n].images[0].get_clim() for n in (1, 2, 3, 5, 6, 7)} == {(0, 1)}
    assert drawing.axes[4].get_yticklabels()[0].get_text() == "five\nnegative"
    with pytest.raises(BadInput, match="heat-maps: pictures has 1 items for 2 images"):
        figures.make("heat-maps", pictures=pictures[:1])(table)


def test_columns_of_heat_maps_say_in_what_they_differ() -> None:
    both = titles(figures.make("heat-maps")(heat(["en+scl", "en"], [0, 4])))
    assert both[:2] == ["EN + SCL\nbefore", "EN + SCL\nepoch 4"]


def test_heat_inside_and_outside_of_objects() -> None:
    nothing = {"inside": np.nan, "outside": np.nan}
    rows = [
        {"model": "en+scl", "epoch": epoch, "kind": kind, "mean": 0.1 * epoch, **where}
        for epoch in (2, 1)
        for kind, where in (("positive", {"inside": 0.3, "outside": 0.05}), ("negative", nothing))
    ]
    positive, negative = figures.make("heat-located")(pd.DataFrame(rows)).axes
    assert named_lines(positive)["EN + SCL"].get_xydata().tolist() == [[1, 0.3], [2, 0.3]]
    assert positive.lines[1].get_ydata().tolist() == [0.05, 0.05]
    assert named_lines(negative)["EN + SCL"].get_ydata().tolist() == [0.1, 0.2]  # whole maps


PARTS = pd.DataFrame(
    [
        {"method": method, "draw": draw, "by": "object size", "part": part,
         "map": high + 0.02 * draw + (0.1 if part == "large" else 0)}
        for method, high in {"en": 0.3, "en+scl": 0.4}.items()
        for draw in (0, 1)
        for part in ("small", "large")
    ]
)  # fmt: skip


def test_scores_of_parts_and_their_differences_by_draw() -> None:
    scores, gaps = figures.make("by-part", base="en")(PARTS).axes
    np.testing.assert_allclose(named_lines(scores)["EN"].get_ydata(), [31, 41])
    np.testing.assert_allclose(named_lines(gaps)["EN + SCL"].get_ydata(), [10, 10])
    small = interval([30, 32])
    (segment, _), (gap, _) = (axes.collections[0].get_segments() for axes in (scores, gaps))
    np.testing.assert_allclose(segment[:, 1], [small.low, small.high])
    np.testing.assert_allclose(gap[:, 1], [10, 10])  # the same in each draw
    with pytest.raises(BadInput, match=r"by-part.*'em'"):
        figures.make("by-part", base="em")(PARTS)


def test_parts_without_a_score_are_left_out() -> None:
    lacking = PARTS.assign(map=PARTS["map"].where(PARTS["part"] == "large"))
    (axes,) = figures.make("by-part")(lacking).axes
    np.testing.assert_allclose(named_lines(axes)["EN"].get_ydata(), [41])
    with pytest.raises(BadInput, match="by-part: the table has no mAP"):
        figures.make("by-part")(PARTS.assign(map=np.nan))


def test_pointing_stands_over_map_with_both_intervals() -> None:
    rows = [("an", d, 0.5 + 0.02 * d, 0.9 + 0.01 * d) for d in (0, 1, 2)]
    table = pd.DataFrame(rows, columns=["method", "draw", "map", "pointing"])
    (axes,) = figures.make("pointing", centre=0.3)(table).axes
    np.testing.assert_allclose(named_lines(axes)["AN"].get_xydata(), [[52, 91]])
    (across,), (up,) = (bars.get_segments() for bars in axes.collections)
    x, y = interval([50, 52, 54]), interval([90, 91, 92])
    np.testing.assert_allclose(across, [[x.low, 91], [x.high, 91]])
    np.testing.assert_allclose(up, [[52, y.low], [52, y.high]])


@pytest.mark.parametrize(
    "of, wanted", [("top", [30, 60]), ("bottom", [-3, -6]), ("logit", [1.5, 1.5])]
)
def test_course_of_maps_over_the_epochs(of: str, wanted: list[float]) -> None:
    rows = [
        ("full", label, e, 30 * e, -3 * e, 1.5) for e in (2, 1) for label in ("present", "absent")
    ]
    columns = ["model", "labels", "epoch", "top", "bottom", "logit"]
    drawing = figures.make("map-course", of=of)(pd.DataFrame(rows, columns=columns))
    assert titles(drawing) == ["present classes", "absent classes"]
    line = named_lines(drawing.axes[0])["Full labels"]
    assert line.get_xydata().tolist() == [[1, wanted[0]], [2, wanted[1]]]


def damage(model: str, top: float) -> pd.DataFrame:
    """40 maps, every second of a present class; the first is flat."""
    n = np.arange(40)
    columns = {"agreement": np.where(n, 0.52, np.nan), "control": np.linspace(-0.9, 0.9, 40)}
    columns |= {"present": n % 2 == 0, "top": top + (n % 2 == 0), "bottom": -5.0}
    return pd.DataFrame({"model": model, **columns, "full_top": 50.0, "full_bottom": -6.0})


def test_damage_counts_correlations_of_present_classes_and_boxes_all_scores() -> None:
    drawing = figures.make("map-damage")(pd.concat([damage("an", 10), damage("ll-r", 20)]))
    assert legend(drawing) == ["Full labels", "AN", "LL-R", "control"]
    order, top, bottom = drawing.axes
    steps = {patch.get_label(): patch.get_data() for patch in order.patches}
    values, edges, _ = steps["AN"]
    assert values.max() == values.sum() == 100  # all of 19, the flat map left out
    assert edges[values.argmax()] <= 0.52 < edges[values.argmax() + 1]
    medians = [line for line in top.lines if line.get_linewidth() == 2]
    found = sorted((float(np.mean(m.get_xdata())), m.get_ydata()[0]) for m in medians)
    assert [value for _, value in found] == [50, 11, 21, 50, 10, 20]  # present, then absent
    assert {m.get_ydata()[0] for m in bottom.lines if m.get_linewidth() == 2} == {-5, -6}


def test_a_bar_for_each_push() -> None:
    kinds = {"named present": -0.2, "false negative": 0.3, "true negative": 0.1}
    rows = [
        {"method": method, "labels": kind, "cells": cells, "push": push * times}
        for method, boost in (("an", 1), ("an+boostlu", 5))
        for kind, push in kinds.items()
        for cells, times in (("above", boost), ("below", 1))
    ]
    drawing = figures.make("cell-gradients")(pd.DataFrame(rows))
    above, below = drawing.axes
    _, boosted = above.containers
    np.testing.assert_allclose(boosted.datavalues, [-1, 1.5, 0.5])
    np.testing.assert_allclose(below.containers[1].datavalues, list(kinds.values()))
    assert above.get_yticklabels()[1].get_text() == "false negative\n(correct: up)"


def test_shares_of_images_fall_with_the_probability() -> None:
    rows = [("full", 2, 0.5), ("full", 2, 0.2), ("full", 1, 0.9), ("full", 1, 1.0), ("an", 1, 0.1)]
    table = pd.DataFrame(rows, columns=["model", "rank", "probability"])
    drawing = figures.make("top-scores")(table)
    assert titles(drawing) == ["highest", "second"]
    full = named_lines(drawing.axes[0])["Full labels"].get_ydata()
    assert [full[n] for n in (0, 89, 95, 100)] == [100, 100, 50, 50]
