"""Frames of scores and labels are matched by name."""

import warnings

import numpy as np
import pandas as pd
import pytest

from simkit import metrics
from simkit.errors import BadInput
from simkit.labels.truth import Truth

LABELS = pd.DataFrame({"a": [1, 0, 1, 0], "b": [0, 1, 1, 1]}, index=[*"wxyz"])
SCORES = pd.DataFrame({"a": [0.9, 0.2, 0.1, 0.3], "b": [0.1, 0.8, 0.4, 0.6]}, index=[*"wxyz"])
TURNED = LABELS.iloc[::-1, ::-1]
METRICS = {
    "average_precision": metrics.average_precision,
    "map_by_labels": metrics.map_by_labels,
    "f1_thresholds": metrics.f1_thresholds,
    "f1": lambda scores, labels: metrics.f1(scores, labels, 0.5),
    "precision_recall": lambda scores, labels: metrics.precision_recall(scores, labels, 0.5),
    "top1": metrics.top1,
    "at_k": lambda scores, labels: metrics.at_k(scores, labels, 1),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", ["frame", "truth", "objects"])
def test_any_order_gives_the_same(form, metric) -> None:
    measure = METRICS[metric]
    wanted = measure(SCORES.to_numpy(), LABELS.to_numpy())
    turned = {"truth": Truth.of(TURNED), "objects": TURNED.astype(object)}.get(form, TURNED)
    np.testing.assert_equal(str(measure(SCORES, turned)), str(wanted))  # nan is not equal to nan
    if metric in ("average_precision", "f1_thresholds"):
        known = pd.DataFrame(True, TURNED.index, TURNED.columns)
        np.testing.assert_array_equal(measure(SCORES, turned, known), wanted)


@pytest.mark.parametrize(
    ("scores", "labels", "words"),
    [
        (
            SCORES,
            TURNED.rename(columns={"b": "c"}),
            "present: the classes .* such as 'b'; .*to_numpy",
        ),
        (SCORES, TURNED.iloc[1:], "present: the images .* such as 'z'"),
        (SCORES, LABELS.set_axis([*"wwyz"]), "present: the images"),
        (SCORES.reset_index(names="file"), LABELS, r"'file' of the scores.*set_index\('file'\)"),
        (SCORES, LABELS.reset_index(names="file"), r"'file' holds 'w'.*set_index\('file'\)"),
        (SCORES, 2 * LABELS - 1, "present holds -1"),
    ],
)
def test_other_names_are_refused(scores, labels, words) -> None:
    with pytest.raises(BadInput, match=words):
        metrics.average_precision(scores, labels)


def test_blank_labels_are_unknown() -> None:
    blank = LABELS.astype(object)
    blank.loc["x", "a"] = None
    known = blank.notna().to_numpy()
    wanted = metrics.average_precision(SCORES.to_numpy(), LABELS.to_numpy(), known)
    for labels in (
        blank,
        blank.astype(float),
        blank.astype("Int64"),
        blank.astype(float).to_numpy(),
    ):
        np.testing.assert_array_equal(metrics.average_precision(SCORES, labels), wanted)
    only = pd.DataFrame(False, LABELS.index, LABELS.columns)
    with pytest.raises(BadInput, match="no class has both"):
        metrics.average_precision(SCORES, blank, only)


def test_blank_cells_and_other_numbers_are_named() -> None:
    odd = np.array([[1, np.nan], [2, 0], [0, 1], [1, 1]])
    with pytest.raises(BadInput, match=r"^present holds 2"):
        metrics.average_precision(SCORES, odd)
    known = LABELS.astype(object).where(LABELS == 1, None)
    with pytest.raises(BadInput, match=r"^known has blank cells; only 0 and 1"):
        metrics.average_precision(SCORES.to_numpy(), LABELS.to_numpy(), known)
    counted = metrics.average_precision(SCORES.to_numpy(), LABELS.to_numpy(), LABELS.eq(LABELS))
    assert counted.tolist() == metrics.average_precision(SCORES, LABELS).tolist()


def test_thresholds_and_classes_are_matched_too() -> None:
    limits = pd.Series({"b": 0.7, "a": 0.2})
    wanted = metrics.f1(SCORES.to_numpy(), LABELS.to_numpy(), [0.2, 0.7])
    np.testing.assert_array_equal(metrics.f1(SCORES, TURNED, limits), wanted)
    classes = pd.Series({"z": 1, "y": 0, "x": 1, "w": 0})
    assert metrics.top1(SCORES, classes) == metrics.top1(SCORES, [0, 1, 0, 1]) == 0.75
    with pytest.raises(BadInput, match=r"thresholds: the classes .*'a'"):
        metrics.f1(SCORES, LABELS, limits.rename({"a": "c"}))


@pytest.mark.parametrize(
    ("scores", "limit", "words"),
    [
        (100 * SCORES, 0.5, "between 10 and 90, all on one side of the threshold 0.5"),
        (SCORES, 50, "between 0.1 and 0.9, all on one side of the threshold 50"),
        (SCORES - 0.5, 0.3, "go down to -0.4, so they are not probabilities"),
        (SCORES, 0.5, ""),
        (SCORES, 0.9, ""),
        (SCORES, 0.1, "all on one side"),
        (SCORES - 0.5, 0, ""),
        (SCORES + 1, 1.5, ""),
    ],
)
def test_thresholds_on_another_scale_are_noted(scores, limit, words) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metrics.f1(scores, LABELS, limit)
    assert [words in str(each.message) for each in caught] == [True] * bool(words)


def test_columns_of_several_types_are_numbers():
    mixed = SCORES.astype({"a": "Float64"})
    wanted = metrics.f1_thresholds(SCORES, LABELS)
    np.testing.assert_array_equal(metrics.f1_thresholds(mixed, LABELS), wanted)


@pytest.mark.parametrize("shift", [0.0, -0.5])
def test_notes_about_thresholds_name_the_line_of_the_caller(shift):
    with pytest.warns(UserWarning) as caught:
        metrics.f1(SCORES + shift, LABELS, 0.95 + 1.1 * shift)
    assert [each.filename for each in caught] == [__file__]


def test_masked_labels_are_unknown():
    scores, present = (
        np.array([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]]),
        np.array([[0, 1], [1, 0], [0, 1]]),
    )
    known = np.array([[0, 1], [1, 1], [1, 1]], bool)
    masked = np.ma.MaskedArray(present, ~known)
    wanted = metrics.average_precision(scores, present, known)
    assert metrics.average_precision(scores, masked).tolist() == wanted.tolist() != [0.5, 5 / 6]
