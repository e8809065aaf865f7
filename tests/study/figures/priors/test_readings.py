"""Bars add up to all images, part upon part."""

import numpy as np
import pyarrow as pa
import pytest

from simkit.study import figures
from simkit.study.analysis.priors.readings import READINGS

ROWS = [
    {"present": 10, "absent": 10, "ignored": 0, "ignored_present": 0, "assumed": 80, "wrong": 60},
    {"present": 5, "absent": 5, "ignored": 90, "ignored_present": 30, "assumed": 0, "wrong": 0},
]
TABLE = pa.Table.from_pylist(
    [
        {"method": method, "class": name, "rank": rank, "true": 0.5, "images": 100, **ROWS[rank]}
        for method in ("an", "csl")
        for rank, name in enumerate(("cat", "dog"))
    ],
    schema=READINGS,
)


def test_parts_stand_upon_each_other() -> None:
    drawing = figures.make("readings")(TABLE)
    assert [axes.get_title(loc="left") for axes in drawing.axes] == ["AN", "CSL"]
    parts = {bars.get_label(): bars for bars in drawing.axes[0].containers}
    heights = {name: [bar.get_height() for bar in bars] for name, bars in parts.items()}
    assert heights == {
        "known": pytest.approx([0.2, 0.1]),
        "taken for absent, rightly": pytest.approx([0.2, 0.0]),
        "taken for absent, wrongly": pytest.approx([0.6, 0.0]),
        "left out, absent": pytest.approx([0.0, 0.6]),
        "left out, present": pytest.approx([0.0, 0.3]),
    }
    np.testing.assert_allclose(sum(np.array(h) for h in heights.values()), 1)
    wrong = parts["taken for absent, wrongly"][0]
    assert wrong.get_y() == pytest.approx(0.4) and wrong.get_hatch()
    assert {text.get_text() for text in drawing.legends[0].get_texts()} == set(heights)
