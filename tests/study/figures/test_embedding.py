"""Neighbours with their labels, distances of classes, and temperatures."""

import numpy as np
import pandas as pd
import pytest

from simkit.errors import BadInput
from simkit.study import figures
from simkit.study.analysis.embedding import temperature_curves
from simkit.study.figures.style import ABSENT, PRESENT
from tests.study.figures.made import legend, named_lines
from tests.study.figures.test_every_table import check_picture

NEAR = pd.DataFrame(
    [
        ("q", 0.0, 2, ["cat"], ["cow"], ["dog"]),
        ("a", 0.25, 2, ["cat", "dog"], [], []),
        ("b", 0.5, 0, [], list("vwxyz"), []),
        ("c", 0.5, 1, [], list("vwxyz"), []),
    ],
    columns=["image", "distance", "unknown", "present", "absent", "hidden"],
).rename_axis("rank").reset_index()  # fmt: skip


def titles(drawing) -> list[str]:
    return [axes.get_title("left") for axes in drawing.axes]


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def names(axes) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def black(count: int) -> tuple[np.ndarray, ...]:
    return tuple(np.full((4, 6 + n, 3), 10 * n, np.uint8) for n in range(count))


def test_neighbours_say_what_is_known_of_them() -> None:
    drawing = figures.make("neighbours")(NEAR)
    query, near, complete, partly = drawing.axes
    assert titles(drawing) == ["image q", "1.  0.250", "2.  0.500", "3.  0.500"]
    assert texts(query) == ["+ cat", "− cow", "? 2 unknown", "in truth dog"]
    assert texts(near) == ["+ cat", "+ dog", "? 2 unknown"]
    assert [text.get_fontweight() for text in near.texts] == ["bold", "normal", "normal"]
    assert texts(complete) == ["no class is present"]  # all is known: the rest is absent
    assert texts(partly) == ["− v, w, x, 2\xa0more", "? 1 unknown"]


@pytest.mark.parametrize("k", [0, 1, 5, 6, 23])
def test_neighbours_stand_apart_beside_the_query(k: int) -> None:
    table = pd.concat([NEAR[:1], *[NEAR[1:2]] * k], ignore_index=True)
    table["rank"] = range(k + 1)
    drawing = figures.make("neighbours", pictures=black(k + 1))(table)
    shown = [axes for axes in drawing.axes if axes.images]
    assert [int(axes.images[0].get_array()[0, 0, 0]) for axes in shown] == [
        10 * n for n in range(k + 1)
    ]
    assert {axes.images[0].get_array().shape for axes in shown} == {(4, 4, 3)}  # the middle
    check_picture(drawing)
    query, *others = (axes.get_window_extent() for axes in shown)
    assert all(query.x1 < other.x0 for other in others)


def test_the_end_of_a_long_id_is_shown() -> None:
    table = NEAR.assign(image="COCO_train2014_000000000042.jpg")
    drawing = figures.make("neighbours", pictures=black(4))(table)
    assert titles(drawing)[0].startswith("image …") and titles(drawing)[0].endswith("00042.jpg")
    check_picture(drawing)


def between(distances: np.ndarray) -> pd.DataFrame:
    L = len(distances)
    names = [f"class {n}" for n in range(L)]
    columns = {"class": np.repeat(names, L), "other": np.tile(names, L)}
    return pd.DataFrame({**columns, "distance": np.ravel(distances)})


def shades(drawing) -> np.ndarray:
    (image,) = drawing.axes[0].images
    return image.to_rgba(image.get_array())[..., :3]


def test_near_classes_are_dark_and_the_class_itself_is_grey() -> None:
    distances = np.array([[0, 0.1, 1.0], [0.1, 0, 0.9], [1.0, 0.9, 0]])
    drawing = figures.make("label-distances")(between(distances).sample(frac=1, random_state=3))
    axes = drawing.axes[0]
    order = [int(name[-1]) for name in names(axes)]
    assert sorted(order) == [0, 1, 2]
    assert [t.get_text() for t in axes.get_xticklabels()] == names(axes)
    drawn = np.ma.filled(axes.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(
        drawn, np.where(np.eye(3), np.nan, distances)[np.ix_(order, order)]
    )
    dark = shades(drawing).sum(-1)
    off = ~np.eye(3, dtype=bool)
    assert (np.argsort(dark[off]) == np.argsort(distances[np.ix_(order, order)][off])).all()
    assert len({tuple(shade) for shade in shades(drawing)[~off]}) == 1


@pytest.mark.parametrize("distance", [0.0, 0.4])
def test_equal_distances_are_seen(distance: float) -> None:
    drawn = shades(figures.make("label-distances")(between(distance * (1 - np.eye(3)))))
    assert not np.array_equal(drawn[0, 1], drawn[0, 0]) and drawn[0, 1].max() < 0.99
    assert (drawn[0, 1].sum() < 0.5) == (distance == 0)  # at one place: darkest


def test_names_of_many_classes_have_room() -> None:
    drawing = figures.make("label-distances")(between(1 + np.arange(100**2).reshape(100, 100)))
    check_picture(drawing)
    assert sum(map(bool, names(drawing.axes[0]))) == 50


def test_a_colour_for_each_setting_and_a_dash_for_each_side() -> None:
    table = temperature_curves(["se", "se(beta=1)"], points=5)
    drawing = figures.make("temperature-curve")(table)
    left, right = drawing.axes
    for axes, what in ((left, "temperature"), (right, "slope")):
        present, absent, other = axes.lines[:3]
        np.testing.assert_array_equal(absent.get_ydata(), table[what][5:10])
        assert absent.is_dashed() and not present.is_dashed()
        assert present.get_color() == absent.get_color() != other.get_color()
    assert (left.get_yscale(), right.get_yscale()) == ("symlog", "log")
    assert legend(drawing) == ["SE", "SE(beta=1)", "nearest is present", "nearest is absent"]


@pytest.mark.parametrize(
    "beta, wanted",
    [
        (5, ["−100", "−10", "−1", "0", "1", "10", "100"]),
        (20, ["−10⁸", "−10⁵", "−100", "0", "100", "10⁵", "10⁸"]),
        (100, ["−10⁴³", "−10³²", "−10²¹", "−10¹⁰", "0", "10¹⁰", "10²¹", "10³²", "10⁴³"]),
    ],
)
def test_ticks_reach_as_far_as_the_temperatures(beta: int, wanted: list[str]) -> None:
    left = figures.make("temperature-curve")(
        temperature_curves([f"se(beta={beta})"], points=5)
    ).axes[0]
    assert names(left) == wanted


def test_curves_end_at_the_largest_number() -> None:
    table = temperature_curves(["se(beta=800)"], points=5)
    assert np.isinf(table["temperature"]).any()
    left = figures.make("temperature-curve")(table).axes[0]
    assert np.isfinite(left.get_ylim()).all() and left.get_ylim()[1] > 1e260


T = {"se": [0.0, -2.0, 30.0, -90.0, 1.0], "se-l": [0.0, -1.0, 0.0, 20.0, 1.0]}
SOFT = pd.DataFrame(
    {
        "method": np.repeat(list(T), 5),
        "class": ["cat", "cow", "dog", "hen", "pig"] * 2,
        "state": [1, 0, 0, 0, 0] * 2,
        "temperature": np.ravel(list(T.values())),
        "present": [True, False, True, False, False] * 2,
    }
)


def ends(axes, word: str) -> dict[float, float]:
    """Rows and where their sticks end."""
    line = named_lines(axes)[word]
    return dict(zip(line.get_ydata().tolist(), line.get_xdata().tolist(), strict=True))


def test_unknown_labels_are_sorted_by_the_first_method() -> None:
    drawing = figures.make("temperatures", picture=black(1)[0])(SOFT)
    left, first, second = drawing.axes
    assert left.images[0].get_array().shape == (4, 6, 3)
    assert texts(left) == [
        "+ cat", "− nothing is known to be so", "? 4 unknown", "bold: present in truth"
    ]  # fmt: skip
    assert names(first) == ["dog", "pig", "cow", "hen"] and not names(second)
    weights = [text.get_fontweight() for text in first.get_yticklabels()]
    assert weights == ["bold", "normal", "normal", "normal"]
    assert titles(drawing) == ["", "SE", "SE-L"]
    assert (ends(first, "soft positive"), ends(first, "soft negative")) == (
        {0: 30, 1: 1}, {2: -2, 3: -90}
    )  # fmt: skip
    assert (ends(second, "soft positive"), ends(second, "ignored")) == ({1: 1, 3: 20}, {0: 0})
    assert named_lines(first)["soft negative"].get_color() == ABSENT != PRESENT
    check_picture(drawing)


def test_labels_in_the_middle_are_left_out_and_counted() -> None:
    drawing = figures.make("temperatures", most=2)(SOFT)
    assert names(drawing.axes[1]) == ["dog", "hen"]
    assert "2 labels in the middle are not shown" in drawing.get_supxlabel()


METHODS = ["se", "se-l(nearest=median5)", "se-i", "se(beta=1)", "se(gamma=0.5)", "se(k=3)"]


def wide(methods: list[str]) -> pd.DataFrame:
    names = [f"an extremely long class name with many words {n}" for n in range(50)]
    one = pd.DataFrame({"class": names, "state": np.arange(50) < 30, "present": False})
    one["state"] = one["state"].astype(int)
    one["temperature"] = np.where(one["state"], 0, 30.0)
    return pd.concat([one.assign(method=method) for method in methods])


@pytest.mark.parametrize("count", [1, 3, 5])
def test_long_names_keep_to_their_place(count: int) -> None:
    drawing = figures.make("temperatures", picture=black(1)[0])(wide(METHODS[:count]))
    check_picture(drawing)
    assert "14\xa0more" in "".join(texts(drawing.axes[0]))


def test_more_methods_than_have_room_are_refused() -> None:
    with pytest.raises(BadInput, match="temperatures: 6 methods came, and 5 fit side by side"):
        figures.make("temperatures")(wide(METHODS))


def test_a_temperature_beyond_the_largest_number_stands_at_the_edge() -> None:
    axes = figures.make("temperatures")(SOFT.replace({"temperature": {-2.0: -np.inf}})).axes[1]
    assert np.isfinite(axes.get_xlim()).all()
    assert axes.get_xlim()[0] in ends(axes, "soft negative").values()
