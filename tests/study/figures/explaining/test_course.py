"""Lines over epochs, present and absent classes apart."""

import numpy as np
import pyarrow as pa
import pytest

from simkit.study import figures

ROWS = [
    {"model": model, "epoch": epoch, "labels": labels, "top": 10.0 * epoch * height,
     "bottom": -epoch * height, "logit": 0.5 * height}
    for model, height in (("full", 3.0), ("an", 1.0))
    for epoch in (2, 1)
    for labels in ("present", "absent")
]  # fmt: skip


@pytest.mark.parametrize(
    ("of", "wanted", "word"),
    [
        ("top", [30, 60], "highest 5 % of a map's scores"),
        ("bottom", [-3, -6], "lowest 5 % of a map's scores"),
        ("logit", [1.5, 1.5], "mean of a map's scores"),
    ],
)
def test_epochs_ascend(of, wanted, word) -> None:
    drawing = figures.make("map-course", of=of)(pa.Table.from_pylist(ROWS))
    left, right = drawing.axes[:2]
    assert [a.get_title(loc="left") for a in (left, right)] == ["present classes", "absent classes"]
    assert left.get_ylabel() == word
    (line,) = (line for line in left.lines if line.get_gid() == "full present")
    np.testing.assert_array_equal(line.get_xdata(), [1, 2])
    np.testing.assert_array_equal(line.get_ydata(), wanted)
    assert {line.get_gid() for line in right.lines} >= {"full absent", "an absent"}
