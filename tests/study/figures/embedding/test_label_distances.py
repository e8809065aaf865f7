"""Every pair has its shade, the diagonal none; other tables are refused."""

import numpy as np
import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study import figures

TABLE = pa.table(
    {
        "class": ["a", "a", "a", "b", "b", "b", "c", "c", "c"],
        "other": ["a", "b", "c"] * 3,
        "distance": [0.0, 0.1, 1.0, 0.1, 0.0, 0.9, 1.0, 0.9, 0.0],
    }
)


def test_cells_in_the_order_of_the_table() -> None:
    drawing = figures.make("label-distances")(TABLE)
    axes = drawing.axes[0]
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [text.get_text() for text in labels] == ["a", "b", "c"]
    drawn = np.ma.filled(axes.images[0].get_array(), np.nan)
    wanted = [[np.nan, 0.1, 1.0], [0.1, np.nan, 0.9], [1.0, 0.9, np.nan]]
    np.testing.assert_array_equal(drawn, wanted)


def test_classes_at_one_place_can_be_drawn() -> None:
    table = TABLE.set_column(2, "distance", pa.array([0.0] * 9))
    figures.make("label-distances")(table).draw_without_rendering()


def test_a_part_of_the_pairs_is_refused() -> None:
    with pytest.raises(BadInput) as error:
        figures.make("label-distances")(TABLE[:8])
    assert str(error.value) == (
        "label-distances: the table does not hold one row for each class and other; give what "
        "simkit.study.analysis.embedding.label_distances returns"
    )


def shades(drawing) -> np.ndarray:
    (image,) = drawing.axes[0].images
    return image.to_rgba(image.get_array())[..., :3]


def test_the_class_itself_is_grey_and_the_farthest_not_white() -> None:
    drawing = figures.make("label-distances")(TABLE)
    drawn = shades(drawing)
    grey = drawn[0, 0]
    assert grey[0] == grey[1] == grey[2] < 0.8
    assert (drawn[[1, 2], [1, 2]] == grey).all()
    assert drawn[0, 2, 0] < 0.9 and drawn[0, 2, 2] > drawn[0, 2, 0]  # pale blue
    assert drawing.axes[0].images[0].colorbar.extend == "neither"


@pytest.mark.parametrize("names, distances", [("ab", [0.7]), ("ab", [0.0]), ("abc", [0.4] * 3)])
def test_two_classes_and_equal_distances_are_seen(names: str, distances: list[float]) -> None:
    L, between = len(names), np.zeros((len(names), len(names)))
    between[np.triu_indices(L, 1)] = distances
    table = pa.table(
        {
            "class": np.repeat(list(names), L),
            "other": np.tile(list(names), L),
            "distance": (between + between.T).ravel(),
        }
    )
    drawn = shades(figures.make("label-distances")(table))
    assert not np.array_equal(drawn[0, 1], drawn[0, 0]) and drawn[0, 1].max() < 0.99
    assert (drawn[0, 1, 2] < 0.5) == (distances[0] == 0)  # at one place: darkest


def test_what_is_nearer_than_the_scale_is_darker_still() -> None:
    table = TABLE.set_column(2, "distance", pa.array([0, 1e-4, 1, 1e-4, 0, 0, 1, 0, 0.0]))
    drawing = figures.make("label-distances")(table)
    image = drawing.axes[0].images[0]
    assert image.colorbar.extend == "min" and image.norm.vmin == 0.01
    drawn = shades(drawing)
    assert np.array_equal(drawn[0, 1], drawn[1, 2]) and drawn[0, 1].sum() < 0.5
