"""Correlations as steps, extremes as boxes, full labels first."""

import numpy as np
import pyarrow as pa

from simkit.study import figures
from simkit.study.figures.looks import look


def table(*models: str) -> pa.Table:
    rng = np.random.default_rng(0)
    rows = []
    for place, model in enumerate(models):
        for n in range(40):
            present = n % 2 == 0
            rows.append(
                {
                    "model": model,
                    "image": n,
                    "class": "cat",
                    "present": present,
                    "agreement": 0.52 if n else float("nan"),
                    "control": rng.uniform(-0.9, 0.9),
                    "distance": 1.0,
                    "top": 10.0 * (place + 1) + present,
                    "bottom": -5.0,
                    "full_top": 50.0 + present,
                    "full_bottom": -6.0,
                }
            )
    return pa.Table.from_pylist(rows)


def test_steps_count_present_classes_alone() -> None:
    drawing = figures.make("map-damage")(table("an", "ll-r"))
    order = drawing.axes[0]
    steps = {patch.get_gid(): patch for patch in order.patches if patch.get_gid()}
    assert list(steps) == ["control", "an", "ll-r"]
    values, edges, _ = steps["an"].get_data()
    assert values.max() == 100 and values.sum() == 100  # all of 19, the flat map left out
    left = edges[values.argmax()]
    assert left <= 0.52 < left + 0.05
    np.testing.assert_allclose(steps["control"].get_data()[0].sum(), 100)


def test_boxes_stand_side_by_side_full_first() -> None:
    drawing = figures.make("map-damage")(table("an", "ll-r"))
    top, bottom = drawing.axes[1:]
    assert top.get_title(loc="left") == "highest 5 % of a map"
    medians = [line for line in top.lines if len(set(line.get_ydata())) == 1 and line.get_xdata()[0]
               != line.get_xdata()[1] and line.get_linewidth() == 2]  # fmt: skip
    found = sorted((float(np.mean(line.get_xdata())), line.get_ydata()[0]) for line in medians)
    assert [value for _, value in found] == [51, 11, 21, 50, 10, 20]
    assert [text.get_text() for text in top.get_xticklabels()] == ["present", "absent"]
    assert bottom.get_title(loc="left") == "lowest 5 % of a map"
    names = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert names == ["full labels", "AN", "LL-R", "control"]
    assert drawing.legends[0].legend_handles[1].get_color() == look("an").color


def test_one_kind_of_class_alone_has_boxes_for_itself() -> None:
    some = table("an")
    drawing = figures.make("map-damage")(some.filter(some["present"]))
    assert len(drawing.axes[1].patches) == 2
