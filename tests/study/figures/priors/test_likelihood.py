"""Lines are epochs, full bars are present labels."""

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.colors import to_hex

from simkit.errors import BadInput
from simkit.study import figures
from simkit.study.analysis.priors.likelihood import LIKELIHOOD, LIKELY

COUNTED = pa.Table.from_pylist(
    [
        {"method": method, "epoch": epoch, "rank": rank, "present": epoch / 10 / rank}
        | {"images": 9, "chance": 0.2}
        for method in ("an", "csl")
        for epoch in (1, 2, 3, 4, 5)
        for rank in (1, 2)
    ],
    schema=LIKELIHOOD,
)
LISTED = pa.Table.from_pylist(
    [
        {"method": "csl", "row": row, "image": str(row), "class": name, "rank": rank}
        | {"probability": 1 / (rank + 1), "present": name == "cat"}
        for row in (4, 7)
        for rank, name in ((1, "cat"), (2, "dog"), (3, "eel"))
    ],
    schema=LIKELY,
)


def test_the_first_the_middle_and_the_last_epoch() -> None:
    drawing = figures.make("likelihood")(COUNTED)
    left, right = drawing.axes
    assert [axes.get_title(loc="left") for axes in (left, right)] == ["AN", "CSL"]
    lines = {line.get_gid(): line for line in right.lines if "epoch" in str(line.get_gid())}
    assert list(lines) == ["epoch 1", "epoch 3", "epoch 5"]
    np.testing.assert_allclose(lines["epoch 5"].get_ydata(), [0.5, 0.25])
    assert len({line.get_marker() for line in lines.values()}) == 3
    assert list(right.lines[0].get_ydata()) == [0.2, 0.2]


def test_bars_of_a_picture() -> None:
    picture = np.zeros((4, 4, 3), np.uint8)
    drawing = figures.make("likely-labels", pictures=(picture, picture), ignored=1)(LISTED)
    assert len(drawing.axes) == 4
    bars = drawing.axes[2]
    assert [text.get_text() for text in bars.get_yticklabels()] == ["cat", "dog", "eel"]
    assert [bar.get_width() for bar in bars.patches] == pytest.approx([1 / 2, 1 / 3, 1 / 4])
    assert [to_hex(bar.get_facecolor()) for bar in bars.patches[:2]] == ["#0072b2", "#ffffff"]
    assert list(bars.lines[-1].get_ydata()) == [1.5, 1.5]
    alone = figures.make("likely-labels")(LISTED)
    assert len(alone.axes) == 2 and not alone.axes[0].lines


def test_pictures_for_other_images_are_refused() -> None:
    with pytest.raises(BadInput) as error:
        figures.make("likely-labels", pictures=(np.zeros((4, 4, 3), np.uint8),))(LISTED)
    assert str(error.value) == (
        "likely-labels: 1 pictures came for 2 images of the table; give one for each"
    )
