"""Bars by method, a panel for each side of the threshold."""

import pyarrow as pa
import pytest

from simkit.study import figures

ROWS = [
    {"method": method, "labels": labels, "cells": cells, "number": 3, "push": push, "closed": push,
     "error": 0.0}
    for method, times in (("an", 1), ("an+boostlu", 5))
    for labels, sign in (("named present", -0.2), ("false negative", 0.3), ("true negative", 0.1))
    for cells, push in (("above", sign * times), ("below", sign))
]  # fmt: skip


def test_a_bar_for_each_row() -> None:
    drawing = figures.make("cell-gradients")(pa.Table.from_pylist(ROWS))
    above, below = drawing.axes
    bars = {patch.get_gid(): patch for patch in (*above.patches, *below.patches)}
    assert len(bars) == 12
    for row in ROWS:
        bar = bars[f"{row['method']} {row['labels']} {row['cells']}"]
        assert bar.get_x() + bar.get_width() == pytest.approx(row["push"]) or bar.get_width() == (
            pytest.approx(row["push"])
        )
    boosted = bars["an+boostlu false negative above"]
    assert boosted in above.patches and boosted.get_hatch() == "///"
    assert bars["an false negative above"].get_hatch() != "///"
    named = [text.get_text() for text in above.get_yticklabels()]
    assert named[1] == "false negative\n(belongs up)"
    assert [t.get_text() for t in drawing.legends[0].get_texts()] == ["AN", "AN + BoostLU"]
