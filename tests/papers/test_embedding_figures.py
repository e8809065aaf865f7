"""Neighbours with their labels, distances of classes, and temperatures."""

import numpy as np
import pandas as pd
import pytest

from simkit import figures
from simkit.errors import BadInput
from simkit.papers.analysis.embedding import temperature_curves
from tests.results.figures.made import legend, named_lines
from tests.results.figures.test_every_table import check_picture

NEAR = pd.DataFrame(
    [
        (0, "COCO_train2014_000000000042.jpg", 0.0, 2, ["cat"], ["cow"], ["dog"]),
        (1, "a", 0.25, 2, ["cat", "dog"], [], []),
        (2, "b", 0.5, 0, [], list("vwxyz"), []),
        (3, "c", 0.5, 1, [], list("vwxyz"), []),
    ],
    columns=["rank", "image", "distance", "unknown", "present", "absent", "hidden"],
)
BLACK = tuple(np.full((4, 6 + n, 3), 10 * n, np.uint8) for n in range(24))


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def names(axes) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def test_neighbours_say_what_is_known_of_them() -> None:
    query, near, complete, partly = figures.make("neighbours")(NEAR).axes
    assert query.get_title("left").startswith("image") and near.get_title("left") == "1.  0.250"
    assert texts(query) == ["+ cat", "− cow", "? 2 unknown", "in truth dog"]
    assert texts(near) == ["+ cat", "+ dog", "? 2 unknown"]
    assert [text.get_fontweight() for text in near.texts] == ["bold", "normal", "normal"]
    assert texts(complete) == ["no class is present"]  # all is known: the rest is absent
    assert texts(partly) == ["− v, w, x, 2\xa0more", "? 1 unknown"]


@pytest.mark.parametrize("k", [0, 1, 5, 6, 23])
def test_neighbours_stand_right_of_the_query(k: int) -> None:
    table = pd.concat([NEAR[:1], *[NEAR[1:2]] * k], ignore_index=True).assign(rank=range(k + 1))
    drawing = figures.make("neighbours", pictures=BLACK[: k + 1])(table)
    shown = [axes for axes in drawing.axes if axes.images]
    first = [int(axes.images[0].get_array()[0, 0, 0]) for axes in shown]
    assert first == [10 * n for n in range(k + 1)]
    assert {axes.images[0].get_array().shape for axes in shown} == {(4, 4, 3)}  # the middle
    check_picture(drawing)
    query, *others = (axes.get_window_extent() for axes in shown)
    assert all(query.x1 < other.x0 for other in others)


def between(distances: np.ndarray) -> pd.DataFrame:
    classes = [f"class {n}" for n in range(len(distances))]
    pairs = pd.MultiIndex.from_product([classes, classes], names=["class", "other"])
    return pd.DataFrame({"distance": np.ravel(distances)}, index=pairs).reset_index()


def shades(drawing) -> np.ndarray:
    (image,) = drawing.axes[0].images
    return image.to_rgba(image.get_array())[..., :3].sum(-1)


def test_near_classes_are_dark_and_the_class_itself_is_grey() -> None:
    distances = np.array([[0, 0.1, 1.0], [0.1, 0, 0.9], [1.0, 0.9, 0]])
    drawing = figures.make("label-distances")(between(distances).sample(frac=1, random_state=3))
    order = [int(name[-1]) for name in names(drawing.axes[0])]
    assert [text.get_text() for text in drawing.axes[0].get_xticklabels()] == [
        f"class {n}" for n in order
    ]
    off = ~np.eye(3, dtype=bool)
    ranked = distances[np.ix_(order, order)][off].argsort(kind="stable")
    np.testing.assert_array_equal(shades(drawing)[off].argsort(kind="stable"), ranked)
    assert len(set(shades(drawing)[~off])) == 1


@pytest.mark.parametrize("distance", [0.0, 0.4])
def test_equal_distances_are_seen(distance: float) -> None:
    drawn = shades(figures.make("label-distances")(between(distance * (1 - np.eye(3)))))
    assert drawn[0, 1] != drawn[0, 0] and drawn[0, 1] < 2.9
    assert (drawn[0, 1] < 0.5) == (distance == 0)  # at one place: darkest


def test_a_colour_for_each_setting_and_a_dash_for_each_side() -> None:
    table = temperature_curves(["se", "se(beta=1)"], points=5)
    drawing = figures.make("temperature-curve")(table)
    for axes, what in zip(drawing.axes, ("temperature", "slope"), strict=True):
        present, absent, other = axes.lines[:3]
        np.testing.assert_array_equal(absent.get_ydata(), table[what][5:10])
        assert absent.is_dashed() and not present.is_dashed()
        assert present.get_color() == absent.get_color() != other.get_color()
    assert legend(drawing) == ["SE", "SE(beta=1)"]
    assert "dashed: it is absent" in drawing.get_supxlabel()


@pytest.mark.parametrize(
    "beta, above", [(5, ["1", "10", "100"]), (20, ["100", "100,000", "10⁸"]),
                    (100, ["10¹⁰", "10²¹", "10³²", "10⁴³"]),
                    (800, ["10⁶²", "10¹²⁸", "10¹⁹⁴", "10²⁶⁰"])],  # beyond it is infinite
)  # fmt: skip
def test_ticks_reach_as_far_as_the_temperatures(beta: int, above: list[str]) -> None:
    left = figures.make("temperature-curve")(
        temperature_curves([f"se(beta={beta})"], points=5)
    ).axes[0]
    assert np.isfinite(left.get_ylim()).all()
    assert names(left) == [*(f"−{tick}" for tick in reversed(above)), "0", *above]


def soft(values: dict[str, list[float]]) -> pd.DataFrame:
    columns = {"class": ["cat", "cow", "dog", "hen", "pig"], "state": [1, 0, 0, 0, 0]}
    columns |= {"present": [True, False, True, False, False]}
    parts = [pd.DataFrame({"method": m, **columns, "temperature": T}) for m, T in values.items()]
    return pd.concat(parts)


SOFT = soft({"se": [0, -2, 30, -np.inf, 1], "se-l": [0, -1, 0, 20, 1]})


def ends(axes, word: str) -> dict[float, float]:
    """Rows and where their sticks end."""
    line = named_lines(axes)[word]
    return dict(zip(line.get_ydata().tolist(), line.get_xdata().tolist(), strict=True))


def test_unknown_labels_are_sorted_by_the_first_method() -> None:
    left, first, second = figures.make("temperatures", picture=BLACK[0])(SOFT).axes
    assert len(left.images) == 1 and texts(left) == [
        "+ cat", "− none known", "? 4 unknown", "bold: present in truth"
    ]  # fmt: skip
    assert names(first) == ["dog", "pig", "cow", "hen"] and not names(second)
    weights = [text.get_fontweight() for text in first.get_yticklabels()]
    assert weights == ["bold", "normal", "normal", "normal"]
    assert ends(first, "soft positive") == {0: 30, 1: 1}
    # What is beyond the largest number stands at the edge.
    assert ends(first, "soft negative") == {2: -2, 3: first.get_xlim()[0]}
    assert (ends(second, "soft positive"), ends(second, "ignored")) == ({1: 1, 3: 20}, {0: 0})


def test_what_has_no_room_is_left_out_or_refused() -> None:
    drawing = figures.make("temperatures", most=2)(SOFT)
    assert names(drawing.axes[1]) == ["dog", "hen"]
    assert "2 labels in the middle are not shown" in drawing.get_supxlabel()
    six = soft({f"se(k={k})": [0, 1, 2, 3, 4] for k in range(6)})
    check_picture(figures.make("temperatures", picture=BLACK[0])(six[:25]))
    with pytest.raises(BadInput, match=r"temperatures: .*6 methods; at most 5"):
        figures.make("temperatures")(six)
