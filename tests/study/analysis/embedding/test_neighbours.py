"""The table says which images are nearest and what is known of each."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.study.analysis.embedding.neighbours import neighbours

CLASSES = ("cat", "dog", "cow")
PRESENT = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]], bool)
ANGLES = np.deg2rad([0, 60, 90, 10])  # from the first: 3, 1, 2
FEATURES = np.stack([np.cos(ANGLES), np.sin(ANGLES)], 1) * [[1], [2], [3], [4]]


def truth(known=None):
    ids = np.array([10, 11, 12, 13])
    return Truth(csr_array(PRESENT), ids, CLASSES, None if known is None else csr_array(known))


def table(query="10", **how):
    return neighbours(how.pop("truth", truth()), FeatureInputs(FEATURES), query, **how).to_pylist()


def test_query_first_then_nearest_with_distances() -> None:
    rows = table(k=3)
    assert [(row["rank"], row["row"], row["image"]) for row in rows] == [
        (0, 0, "10"), (1, 3, "13"), (2, 1, "11"), (3, 2, "12")
    ]  # fmt: skip
    chord = 2 * np.sin(np.deg2rad([0, 10, 60, 90]) / 2)
    np.testing.assert_allclose([row["distance"] for row in rows], chord, rtol=1e-6)
    np.testing.assert_allclose([row["cosine"] for row in rows], chord**2 / 2, atol=1e-7)
    assert len(table(k=2)) == 3


def test_without_labels_the_truth_is_known() -> None:
    rows = table(k=3)
    assert [row["present"] for row in rows] == [["cat"], ["cow"], ["cat", "dog"], []]
    assert rows[0]["absent"] == ["dog", "cow"] and rows[0]["unknown"] == 0
    partly = truth(np.array([[1, 0, 1]] * 4, bool))
    row = table("11", k=1, truth=partly)[0]
    assert (row["present"], row["absent"], row["unknown"]) == (["cat"], ["cow"], 1)
    assert row["hidden"] == ["dog"]


def test_labels_are_found_by_id_and_name() -> None:
    codes = np.array([[-1, 1], [0, -1]], np.int8)
    labels = PartialLabels.of(codes, np.array(["13", "10"]), ("dog", "cow"))
    rows = table(k=2, labels=labels)
    known = [(row["present"], row["absent"], row["unknown"], row["hidden"]) for row in rows]
    assert known == [
        ([], ["cow"], 2, ["cat"]),
        (["cow"], ["dog"], 1, []),
        ([], [], 3, ["cat", "dog"]),
    ]


def test_images_without_features_take_no_part() -> None:
    assert [row["image"] for row in table(k=5, without=np.array([3]))] == ["10", "11", "12"]
    with pytest.raises(BadInput) as error:
        table(without=np.array([0]))
    assert str(error.value) == (
        "image '10' could not be read when its features were made, so it has no neighbours; ask "
        "for another"
    )


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(BadInput) as error:
        table("9")
    assert str(error.value) == "no image is called '9'; ids here look like 10, 11, 12"
    with pytest.raises(BadInput) as error:
        table(k=0)
    assert str(error.value) == "neighbours: k is 0; a whole number of at least 1 is expected"
    others = PartialLabels.of(np.ones((1, 1), np.int8), np.array([5]), ("cat",))
    with pytest.raises(BadInput) as error:
        table(labels=others)
    assert str(error.value) == (
        "the labels are about none of these images; give labels of the split that is searched"
    )
    with pytest.raises(BadInput) as error:
        table(k=2.5)
    assert str(error.value) == "neighbours: k is 2.5; a whole number of at least 1 is expected"
    other = PartialLabels.of(np.ones((1, 1), np.int8), np.array([10]), ("horse",))
    with pytest.raises(BadInput) as error:
        table(labels=other)
    assert str(error.value) == (
        "the labels are about none of these classes; give labels whose class names are those of "
        "the data, such as cat, dog, cow"
    )
    with pytest.raises(BadInput) as error:
        neighbours(truth(), FeatureInputs(FEATURES[:3]), "10")
    assert str(error.value) == (
        "neighbours: features of 3 images came with a truth of 4; give a row for each image of "
        "the truth"
    )


def test_names_may_be_asked_for_by_row_and_are_told_with_their_ending() -> None:
    named = Truth.of(PRESENT, ["2007_1.jpg", "2007_2.jpg", "2", "2007_4.JPG"], CLASSES)
    assert table("3", truth=named)[0]["image"] == "2007_4.JPG"
    assert table("2", truth=named)[0]["row"] == 2  # its id
    for query, hint in (("2007_2", "did you mean '2007_2.jpg'?"), ("2007_4.jpg", "did you mean ")):
        with pytest.raises(BadInput) as error:
            table(query, truth=named)
        assert str(error.value).startswith(f"no image is called {query!r}; {hint}")
