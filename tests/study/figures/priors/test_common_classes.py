"""Bars are the largest shares of each side; full ones are on both."""

import pyarrow as pa
import pytest
from matplotlib.colors import to_hex

from simkit.errors import BadInput
from simkit.study import figures

TABLE = pa.table(
    {
        "estimate": ["ignore"] * 4 + ["labels"] * 4,
        "class": ["ape", "bee", "cow", "dog"] * 2,
        "rank": [0, 1, 2, 3] * 2,
        "true": [0.9, 0.5, 0.4, 0.1] * 2,
        "prior": [0.8, 0.2, 0.7, 0.3, 0.1, 0.2, 0.3, 0.4],
    }
)


def test_the_largest_of_each_side_and_full_where_they_agree() -> None:
    drawing = figures.make("common-classes", top=2)(TABLE)
    left, right = drawing.axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["ape", "bee"]
    assert [text.get_text() for text in right.get_yticklabels()] == ["ape", "cow"]
    assert [bar.get_width() for bar in right.patches] == [0.8, 0.7]
    assert [to_hex(bar.get_facecolor()) for bar in left.patches] == ["#0072b2", "#ffffff"]
    assert right.get_title(loc="left") == "by Ignore"
    other = figures.make("common-classes", top=2, estimate="labels")(TABLE)
    assert [bar.get_width() for bar in other.axes[1].patches] == [0.4, 0.3]
    assert other.axes[1].get_title(loc="left") == "by counted labels"


@pytest.mark.parametrize(
    "table, options, sentence",
    [
        (
            TABLE,
            {"estimate": "ignored"},
            "no estimate of the table (common-classes) is called 'ignored'; did you mean 'ignore'?",
        ),
        (TABLE, {"top": 0}, "common-classes: top is 0; a number from 1 on is expected"),
    ],
)
def test_what_cannot_be_drawn_is_refused(table, options, sentence) -> None:
    with pytest.raises(BadInput) as error:
        figures.make("common-classes", **options)(table)
    assert str(error.value) == sentence
