"""Shares of images above each probability, rank by rank."""

import pandas as pd

from simkit.study import figures

VALUES = {
    ("full", 1): [0.9, 1.0],
    ("full", 2): [0.5, 0.2],
    ("an", 1): [0.1, 0.3],
    ("an", 2): [0, 0.1],
}
ROWS = [
    {"model": model, "rank": rank, "image": n, "probability": value}
    for (model, rank), some in VALUES.items()
    for n, value in enumerate(some)
]
TABLE = pd.DataFrame(ROWS)


def test_shares_fall_from_all_images() -> None:
    drawing = figures.make("top-scores")(TABLE)
    first, second = drawing.axes
    assert [a.get_title(loc="left") for a in (first, second)] == ["highest", "second"]
    lines = {line.get_gid(): line.get_ydata() for line in (*first.lines, *second.lines)}
    assert [lines["full 1"][n] for n in (0, 89, 95, 100)] == [100, 100, 50, 50]
    assert [lines["an 1"][n] for n in (0, 20, 50)] == [100, 50, 0]
    assert [lines["full 2"][n] for n in (0, 40, 60)] == [100, 50, 0]
    names = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert names == ["Full labels", "AN"]
    drawing.draw_without_rendering()
