"""Lines are the losses; below, shares that add up over the epochs."""

import numpy as np
import pandas as pd

from simkit.study import figures


def rows(method: str, kind: str, means: list[float], shares: list[float]):
    return [
        {
            "method": method,
            "kind": kind,
            "epoch": epoch,
            "labels": 10,
            "highest": int(10 * share),
            "share": share,
            "mean": mean,
            "low": mean / 2,
            "median": mean / 1.25,
            "high": 2 * mean,
        }
        for epoch, (mean, share) in enumerate(zip(means, shares, strict=True), start=1)
    ]


def table() -> pd.DataFrame:
    made = rows("an", "true negative", [0.5, 0.2, 0.1], [0.9, 0.1, 0.0])
    made += rows("an", "false negative", [0.2, 0.6, 0.3], [0.2, 0.5, 0.3])
    made += rows("ll-r", "true negative", [0.5, 0.3, 0.2], [0.8, 0.1, 0.1])
    return pd.DataFrame(made)


def line(axes, gid):
    return next(one for one in axes.lines if one.get_gid() == gid)


def test_columns_lines_and_legend() -> None:
    drawing = figures.make("memorisation")(table())
    an, other, reached, _ = drawing.axes
    assert [axes.get_title(loc="left") for axes in (an, other)] == ["AN", "LL-R"]
    np.testing.assert_allclose(line(an, "false negative").get_ydata(), [0.2, 0.6, 0.3])
    np.testing.assert_allclose(line(reached, "false negative").get_ydata(), [20, 70, 100])
    np.testing.assert_allclose(line(reached, "true negative").get_ydata(), [90, 100, 100])
    shown = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert shown == ["true negatives", "false negatives"]
    assert len(other.lines) == 1 and not an.collections


def test_median_has_a_band_and_log_a_log_axis() -> None:
    drawing = figures.make("memorisation", middle="median", log=True)(table())
    axes = drawing.axes[0]
    assert axes.get_yscale() == "log" and len(axes.collections) == 2
    np.testing.assert_allclose(line(axes, "true negative").get_ydata(), [0.4, 0.16, 0.08])
    assert "Bands" in drawing.get_supxlabel()
