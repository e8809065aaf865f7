"""Temperatures as the methods have them, counted and sorted for people to read."""

import math

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.aids.prepare import prepare
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.study.analysis.embedding.temperatures import (
    curves,
    label_distances,
    reached,
    temperatures,
)

# Images 0 and 1 are neighbours, and 2 and 3; the last was not asked about.
F = np.array([[1, 0], [0.96, 0.28], [-0.96, 0.28], [-1, 0], [0, 1]], np.float32)
Z = np.array([[1, -1, 0], [0, 0, 1], [0, 1, -1], [-1, 0, 0], [0, 0, 0]], np.int8)
TRUE = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1]], bool)


@pytest.fixture
def task():
    asked = np.array([True, True, True, True, False])
    labels = PartialLabels.of(Z, classes=("cat", "cow", "dog"), asked=asked)
    return Task(labels, FeatureInputs(F))


@pytest.fixture
def truth():
    return Truth.of(TRUE, classes=("cat", "cow", "dog"))


def test_curves_are_the_formula():
    table = curves(["se", "se-i(gamma=0.5, beta=1)"], points=3).to_pylist()
    assert [row["method"] for row in table] == ["se"] * 6 + ["se-i(gamma=0.5, beta=1)"] * 6
    found = {(r["method"][:4], r["side"], r["distance"]): r for r in table}
    assert found["se", "present", 0.0]["temperature"] == pytest.approx(math.exp(5))
    assert found["se", "present", 1.0]["temperature"] == 1
    assert found["se", "absent", 0.5]["temperature"] == pytest.approx(-math.exp(2.5))
    assert found["se-i", "present", 0.5]["temperature"] == pytest.approx(math.exp(0.5) + 0.5)
    assert found["se-i", "absent", 1.0]["temperature"] == -0.5
    assert found["se-i", "absent", 1.0]["slope"] == 1  # 0.5 / |T|
    assert found["se", "absent", 0.0]["slope"] == pytest.approx(math.exp(-5) / 2)


def test_one_image_has_the_temperatures_of_the_method(task, truth):
    table = temperatures(task, ["se-i(k=1)", "se"], 1, truth=truth).to_pylist()
    assert [(row["method"], row["class"]) for row in table] == [
        (method, name) for method in ("se-i(k=1)", "se") for name in ("cat", "cow", "dog")
    ]
    assert [row["state"] for row in table[:3]] == [0, 0, 1]
    assert [row["present"] for row in table[:3]] == [True, False, True]
    for rows, spec in ((table[:3], "se-i(k=1)"), (table[3:], "se")):
        method = make(spec)
        wanted = method.start(prepare(task, method)).temperature[1].tolist()
        assert [row["temperature"] for row in rows] == wanted
    assert table[0]["temperature"] > 0 > table[1]["temperature"] and table[2]["temperature"] == 0
    assert {row["present"] for row in temperatures(task, ["se"], 1).to_pylist()} == {None}


def test_who_is_reached_is_counted(task, truth):
    (row,) = reached(task, ["se-i(k=1)"], truth=truth).to_pylist()
    # Unknown: dog | cat, cow | cat | cow, dog. Image 0 and 1 say of each other: dog +, cat +,
    # cow -; 2 and 3 say cat -, cow +, dog -. All are reached; alone in its image a label is a tie.
    T = make("se-i(k=1)").temperatures(task_with(task), np.arange(4))
    assert row["unknown"] == 6 / 4 and row["reached"] == 6 / 4
    assert row["positive"] == (T > 0).sum() / 4 and row["negative"] == (T < 0).sum() / 4
    hits = ((T > 0) & TRUE[:4]).sum()
    assert row["right"] == hits / (T > 0).sum()
    assert row["found"] == hits / 2  # cat and dog are there, and unknown, once each
    assert row["right_absent"] == ((T < 0) & ~TRUE[:4]).sum() / (T < 0).sum()
    assert row["there"] == 2 / 6
    (blind,) = reached(task, ["se-i(k=1)"]).to_pylist()
    assert all(math.isnan(blind[key]) for key in ("right", "right_absent", "there", "found"))
    (labels,) = reached(task, ["se-l"]).to_pylist()
    # Only image 2 has both kinds and an unknown class with a median; image 0 has dog too.
    assert labels["reached"] == 2 / 4


def task_with(task):
    return prepare(task, make("se-i"))


def test_like_stands_beside_like():
    psi = np.array([[0.0, 0.0], [9.0, 0.0], [np.nan, np.nan], [0.0, 1.0], [9.0, 1.5]])
    table = label_distances(psi, ["a", "b", "nowhere", "c", "d"])
    names = list(dict.fromkeys(table["class"].to_pylist()))
    assert {frozenset(names[:2]), frozenset(names[2:])} == {frozenset("ac"), frozenset("bd")}
    found = {(r["class"], r["other"]): r["distance"] for r in table.to_pylist()}
    assert len(found) == 16 and found["a", "c"] == found["c", "a"] == 1 and found["b", "b"] == 0
    assert found["a", "b"] == 9


def test_what_has_no_temperatures_is_refused(task):
    for act, message in (
        (lambda: curves(["an"]), "'an' has no temperatures; name se, se-l or se-i, with settings"),
        (
            lambda: temperatures(task, ["se"], 4),
            "image 4 was not asked about, so it has no temperatures; choose one of the 4 that were",
        ),
        (
            lambda: temperatures(task, ["se"], 5),
            "temperatures: there is no image 5; rows from 0 to 4 are expected",
        ),
        (
            lambda: temperatures(task, ["se"], 0, truth=Truth.of(Z > 0, images=list("abcde"))),
            "the labels called 'task' are about other images or classes than the truth; simulate "
            "them from this truth",
        ),
        (
            lambda: curves(["se"], points=0),
            "curves: points is 0; a whole number of at least 1 is expected",
        ),
        (
            lambda: curves("an"),
            "'an' has no temperatures; name se, se-l or se-i, with settings",
        ),
        (
            lambda: label_distances(np.ones(3), list("abc")),
            "label_distances: psi has shape (3,); (L, D) is expected",
        ),
        (
            lambda: label_distances(np.full((2, 3), np.nan), ["a", "b"]),
            "0 of 2 classes are known to be present somewhere; distances need two, so ask about "
            "more images",
        ),
    ):
        with pytest.raises(BadInput) as error:
            act()
        assert str(error.value) == message


def test_nothing_asked_for_is_said(task):
    nobody = Task(PartialLabels.of(Z * 0, asked=np.zeros(5, bool)), FeatureInputs(F))
    named = "no method was named; name se, se-l or se-i, with settings"
    for act, message in (
        (lambda: curves([]), named),
        (lambda: temperatures(task, [], 0), named),
        (lambda: reached(task, []), named),
        (
            lambda: reached(nobody, ["se-i"]),
            "reached: no image was asked about, so none has temperatures; ask about some",
        ),
        (
            lambda: label_distances(np.ones((3, 2)), ["a", "b"]),
            "label_distances: 2 class names came for 3 places; give one name for each row of psi",
        ),
    ):
        with pytest.raises(BadInput) as error:
            act()
        assert str(error.value) == message
