"""Lines inside and outside of objects, a panel for each kind."""

import numpy as np
import pandas as pd

from simkit.study import figures

NAN = float("nan")
KINDS = ("annotated positive", "unannotated positive", "negative")
ROWS = [
    {"model": model, "epoch": epoch, "kind": kind, "maps": 5, "mean": 0.1 * epoch, "highest": 0.9,
     "inside": NAN if kind == "negative" else high * epoch, "outside": 0.05, "hits": 0.5}
    for model, high in (("en+scl", 0.3), ("an+scl", 0.2))
    for epoch in (2, 1)
    for kind in KINDS
]  # fmt: skip
TABLE = pd.DataFrame(ROWS)


def test_epochs_ascend_and_negatives_show_the_whole_map() -> None:
    drawing = figures.make("heat-located")(TABLE)
    assert [axes.get_title(loc="left") for axes in drawing.axes] == [
        "annotated positives", "unannotated positives", "negatives (whole map)"
    ]  # fmt: skip
    first, _, absent = drawing.axes
    lines = {line.get_gid(): line for line in first.lines}
    np.testing.assert_allclose(lines["en+scl annotated positive inside"].get_xdata(), [1, 2])
    np.testing.assert_allclose(lines["en+scl annotated positive inside"].get_ydata(), [0.3, 0.6])
    np.testing.assert_allclose(lines["an+scl annotated positive outside"].get_ydata(), [0.05] * 2)
    (line,) = (line for line in absent.lines if line.get_gid() == "an+scl negative mean")
    np.testing.assert_allclose(line.get_ydata(), [0.1, 0.2])
    assert len(absent.lines) == 2
    drawing.draw_without_rendering()
