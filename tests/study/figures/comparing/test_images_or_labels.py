"""Both panels hold the same scores, over images and over labels."""

import numpy as np
import pandas as pd

from simkit.study import figures


def rows(scheme: str, method: str, complete: bool, labels: int, low=None):
    return [
        {
            "scheme": scheme,
            "method": method,
            "complete": complete,
            "images": images,
            "share": images / 400,
            "labels": float(labels * images),
            "draws": 1 if low is None else 3,
            "mean": 0.2 + images / 1000,
            "low": low,
            "high": None if low is None else 0.9,
            "equal_images": None,
            "fewer": None,
        }
        for images in (100, 400)
    ]


def table(*parts) -> pd.DataFrame:
    return pd.DataFrame([r for part in parts for r in part])


FULL = rows("full-subset", "full", True, 10, low=0.1)
WEAK = rows("single-positive", "an", False, 1)


def test_lines_bands_and_names() -> None:
    drawing = figures.make("images-or-labels")(table(FULL, WEAK))
    images, labels = drawing.axes
    lines = {line.get_gid(): line for line in labels.lines}
    np.testing.assert_allclose(lines["full"].get_xdata(), [1000, 4000])
    np.testing.assert_allclose(lines["an"].get_xdata(), [100, 400])
    np.testing.assert_allclose(lines["an"].get_ydata(), [30, 60])
    np.testing.assert_allclose(images.lines[0].get_xdata(), [25, 100])
    assert len(images.collections) == 1 and labels.get_xscale() == "log"
    shown = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert shown == ["Full labels", "AN"]
    assert "3 draws" in drawing.get_supxlabel()


def test_several_schemes_are_named() -> None:
    drawing = figures.make("images-or-labels")(table(FULL, WEAK, rows("rpa", "an", False, 5)))
    shown = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert shown == ["Full labels", "AN, single-positive", "AN, rpa"]


def test_one_draw() -> None:
    drawing = figures.make("images-or-labels")(table(WEAK, rows("full-subset", "an", True, 10)))
    shown = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert shown == ["AN", "AN, full-subset"]
    assert "One draw" in drawing.get_supxlabel() and not drawing.axes[0].collections
