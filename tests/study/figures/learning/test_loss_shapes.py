"""Lines are the curves; late ones are dashed and only where they differ."""

import numpy as np
import pyarrow as pa

from simkit.study import figures
from simkit.study.figures.looks import look

GRID = [-1.0, 0.0, 1.0]


def rows(method: str, entry: str, epoch: int, gradient: list[float]) -> list[dict[str, object]]:
    return [
        {"method": method, "entry": entry, "epoch": epoch, "logit": x, "loss": x * x, "gradient": g}
        for x, g in zip(GRID, gradient, strict=True)
    ]


def test_panels_and_lines() -> None:
    table = pa.Table.from_pylist(
        rows("an", "known", 1, [0.1, 0.5, 0.9])
        + rows("an", "known", 10, [0.1, 0.5, 0.9])
        + rows("an", "unknown", 1, [0.1, 0.5, 0.9])
        + rows("an", "unknown", 10, [0.1, 0.5, 0.9])
        + rows("ll-r", "known", 1, [0.1, 0.5, 0.9])
        + rows("ll-r", "known", 10, [0.1, 0.5, 0.9])
        + rows("ll-r", "unknown", 1, [0.1, 0.5, 0.9])
        + rows("ll-r", "unknown", 10, [0.1, 0.5, 0.0])[::-1]
    )
    drawing = figures.make("loss-shapes")(table)
    titles = [axes.get_title(loc="left") for axes in drawing.axes]
    assert titles == ["known", "unknown", "", ""]
    loss, gradient = drawing.axes[0], drawing.axes[3]
    assert loss.get_ylabel() == "loss above\nits smallest" and gradient.get_xlabel() == "logit"
    drawn = {line.get_gid(): line for line in gradient.lines if line.get_gid()}
    assert list(drawn) == ["an 0", "ll-r 0", "ll-r 1"]  # AN is the same late
    assert drawn["ll-r 1"].is_dashed() and not drawn["ll-r 0"].is_dashed()
    assert drawn["ll-r 1"].get_color() == look("ll-r").color
    np.testing.assert_array_equal(drawn["ll-r 1"].get_xdata(), GRID)
    np.testing.assert_array_equal(drawn["ll-r 1"].get_ydata(), [0.1, 0.5, 0.0])
    shown = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert shown == ["AN", "LL-R", "epoch 1", "epoch 10, where it differs"]


def test_one_epoch_alone_has_no_dashes() -> None:
    drawing = figures.make("loss-shapes")(pa.Table.from_pylist(rows("an", "known", 1, [0, 0, 1])))
    assert len(drawing.axes) == 2
    assert [t.get_text() for t in drawing.legends[0].get_texts()] == ["AN", "epoch 1"]


def test_where_nothing_differs_the_legend_has_no_later_epoch() -> None:
    table = rows("an", "known", 1, [0, 0, 1]) + rows("an", "known", 10, [0, 0, 1])
    drawing = figures.make("loss-shapes")(pa.Table.from_pylist(table))
    assert [t.get_text() for t in drawing.legends[0].get_texts()] == ["AN", "epoch 1"]


def test_the_first_of_equal_lines_shows_under_the_second() -> None:
    table = rows("ll-r", "known", 1, [0, 0, 1]) + rows("ll-ct", "known", 1, [0, 0, 1])
    gradient = figures.make("loss-shapes")(pa.Table.from_pylist(table)).axes[1]
    under, above = (line for line in gradient.lines if line.get_gid())
    assert under.get_linewidth() > above.get_linewidth()
