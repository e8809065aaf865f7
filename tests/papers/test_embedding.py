"""Neighbours, distances between classes and temperatures, by hand and as the methods have them."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.side_info import prepare
from simkit.papers.analysis.embedding import (
    label_distances,
    neighbours,
    reached,
    temperature_curves,
    temperatures,
)

CLASSES = ("cat", "dog", "cow")
PRESENT = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]], bool)
TRUTH = Truth.of(PRESENT, [10, 11, 12, 13], CLASSES)
ANGLES = np.deg2rad([0, 60, 90, 10])  # from the first: 3, 1, 2
FEATURES = np.stack([np.cos(ANGLES), np.sin(ANGLES)], 1) * [[1], [2], [3], [4]]


def near(query="10", truth=TRUTH, **how):
    return neighbours(truth, FeatureInputs(FEATURES), query, **how)


def test_query_first_then_nearest_with_distances():
    table = near(k=3)
    assert table["rank"].tolist() == [0, 1, 2, 3]
    assert table["row"].tolist() == [0, 3, 1, 2]
    assert table["image"].tolist() == ["10", "13", "11", "12"]
    chord = 2 * np.sin(np.deg2rad([0, 10, 60, 90]) / 2)
    np.testing.assert_allclose(table["distance"], chord, rtol=1e-6)
    np.testing.assert_allclose(table["cosine"], chord**2 / 2, atol=1e-7)
    assert len(near(k=2)) == 3 and near(10, k=2).equals(near(k=2))


def test_without_labels_the_truth_is_known():
    table = near(k=3)
    assert table["present"].tolist() == [["cat"], ["cow"], ["cat", "dog"], []]
    assert table["absent"][0] == ["dog", "cow"] and not table["unknown"].any()
    known = csr_array(np.array([[1, 0, 1]] * 4, bool))
    row = near("11", k=1, truth=Truth(TRUTH.present, TRUTH.images, CLASSES, known)).loc[0]
    assert (row["present"], row["absent"], row["unknown"]) == (["cat"], ["cow"], 1)
    assert row["hidden"] == ["dog"]


def test_labels_are_matched_by_id_and_name():
    codes = np.array([[-1, 1, 0], [0, -1, 1]], np.int8)
    labels = PartialLabels.of(codes, np.array(["13", "10"]), ("dog", "cow", "horse"))
    table = near(k=2, labels=labels)
    assert table["present"].tolist() == [[], ["cow"], []]
    assert table["absent"].tolist() == [["cow"], ["dog"], []]
    assert table["unknown"].tolist() == [2, 1, 3]
    assert table["hidden"].tolist() == [["cat"], [], ["cat", "dog"]]


def test_names_may_be_asked_for_by_row_and_are_suggested_with_their_ending():
    named = Truth.of(PRESENT, ["2007_1.jpg", "2007_2.jpg", "2", "2007_4.JPG"], CLASSES)
    assert near("3", truth=named)["image"][0] == "2007_4.JPG"
    assert near("2", truth=named)["row"][0] == 2  # its id
    with pytest.raises(BadInput, match=r"'2007_2'; did you mean '2007_2\.jpg'"):
        near("2007_2", truth=named)
    with pytest.raises(BadInput, match="did you mean"):
        near("2007_4.jpg", truth=named)


def test_images_without_features_take_no_part():
    assert near(k=5, without=np.array([3]))["image"].tolist() == ["10", "11", "12"]
    with pytest.raises(BadInput, match="'10' could not be read"):
        near(without=np.array([0]))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"query": "9"}, "'9'; known are 10, 11, 12"),
        ({"labels": PartialLabels.of([[1]], [5], ["cat"])}, "none of these images"),
        ({"labels": PartialLabels.of([[1]], [10], ["horse"])}, "none of these classes"),
        ({"truth": TRUTH.select([0, 1, 2])}, "4 inputs came for 3"),
    ],
)
def test_neighbours_of_what_does_not_fit_are_refused(how, said):
    with pytest.raises(BadInput, match=said):
        near(**how)


# Images 0 and 1 are neighbours, and 2 and 3; the last was not asked about.
F = np.array([[1, 0], [0.96, 0.28], [-0.96, 0.28], [-1, 0], [0, 1]], np.float32)
Z = np.array([[1, -1, 0], [0, 0, 1], [0, 1, -1], [-1, 0, 0], [0, 0, 0]], np.int8)
TRUE = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1]], bool)
ASKED = np.array([True, True, True, True, False])
TASK = Task(PartialLabels.of(Z, classes=CLASSES, asked=ASKED), FeatureInputs(F))
REFERENCE = Truth.of(TRUE, classes=CLASSES)


def test_curves_are_the_formula():
    table = temperature_curves(["se", "se-i(gamma=0.5, beta=1)"], points=3)
    assert table["method"].tolist() == ["se"] * 6 + ["se-i(gamma=0.5, beta=1)"] * 6
    assert table["side"].tolist() == (["present"] * 3 + ["absent"] * 3) * 2
    assert table["distance"].tolist() == [0, 0.5, 1] * 4
    sizes = np.exp([[5, 2.5, 0], [-0.0, 0, 0]])[0]
    wanted = [*sizes, *-sizes, *(np.exp([1, 0.5, 0]) + 0.5), *(0.5 - np.exp([1, 0.5, 0]))]
    np.testing.assert_allclose(table["temperature"], wanted)
    np.testing.assert_allclose(table["slope"], 0.5 / np.abs(wanted))


def test_one_image_has_the_temperatures_of_the_method():
    specs = ("se-i(k=1)", "se")
    table = temperatures(TASK, specs, 1, truth=REFERENCE)
    assert table["method"].tolist() == [spec for spec in specs for _ in CLASSES]
    assert table["class"].tolist() == [*CLASSES, *CLASSES]
    assert table["state"].tolist() == [0, 0, 1] * 2
    assert table["present"].tolist() == [True, False, True] * 2
    for spec, rows in table.groupby("method"):
        method = make(spec)
        wanted = method.start(prepare(TASK, method)).temperature[1].tolist()
        assert rows["temperature"].tolist() == wanted
    first, second, third = table["temperature"][:3]
    assert first > 0 > second and third == 0
    assert temperatures(TASK, ["se"], 1)["present"].isna().all()


def test_who_is_reached_is_counted():
    row = reached(TASK, ["se-i(k=1)"], truth=REFERENCE).loc[0]
    # Unknown: cow | cat, dog | cat | dog, cow. Image 0 and 1 say of each other: cow +, cat +,
    # dog -; 2 and 3 say cat -, dog +, cow -. All are reached; alone in its image a label is a tie.
    T = make("se-i(k=1)").temperatures(prepare(TASK, make("se-i")), np.arange(4))
    assert row["unknown"] == 6 / 4 and row["reached"] == 6 / 4
    assert row["positive"] == (T > 0).sum() / 4 and row["negative"] == (T < 0).sum() / 4
    hits = ((T > 0) & TRUE[:4]).sum()
    assert row["right"] == hits / (T > 0).sum()
    assert row["found"] == hits / 2  # two unknown labels are present
    assert row["right_absent"] == ((T < 0) & ~TRUE[:4]).sum() / (T < 0).sum()
    assert row["chance"] == 2 / 6
    blind = reached(TASK, ["se-i(k=1)"])
    assert blind[["right", "right_absent", "chance", "found"]].isna().all(axis=None)
    # Only image 2 has both kinds and an unknown class with a median; image 0 has one too.
    assert reached(TASK, "se-l")["reached"].tolist() == [2 / 4]


def test_similar_classes_stand_side_by_side():
    psi = np.array([[0.0, 0.0], [9.0, 0.0], [np.nan, np.nan], [0.0, 1.0], [9.0, 1.5]])
    table = label_distances(psi, ["a", "b", "nowhere", "c", "d"])
    names = list(table["class"].unique())
    assert {frozenset(names[:2]), frozenset(names[2:])} == {frozenset("ac"), frozenset("bd")}
    found = table.set_index(["class", "other"])["distance"]
    assert len(found) == 16 and found["a", "c"] == found["c", "a"] == 1 and found["b", "b"] == 0
    assert found["a", "b"] == 9 and not math.isnan(found.sum())


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: temperature_curves("an"), "'an' has no temperatures; use se"),
        (lambda: temperature_curves([]), "methods is empty"),
        (lambda: temperatures(TASK, ["se"], 4), "image 4 was not asked about"),
        (lambda: temperatures(TASK, ["se"], 0, truth=Truth.of(TRUE)), "another data set"),
        (lambda: label_distances(np.full((2, 3), np.nan), ["a", "b"]), "0 classes"),
    ],
)
def test_what_has_no_temperatures_or_distances_is_refused(act, said):
    with pytest.raises(BadInput, match=said):
        act()
