"""FiftyOne's multi-label JSON."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given

from simkit.data.images import ENDINGS
from simkit.errors import BadInput
from simkit.labels.formats import for_path, make
from simkit.labels.formats.fiftyone import FiftyOne
from simkit.labels.partial import PartialLabels
from tests.labels.formats.examples import as_table, refuses
from tests.labels.formats.test_round_trips import any_labels, patient, round_trip

LABELS = PartialLabels.of([[1, -1, 0], [0, 0, 0], [0, 0, 0]], ["sub/é.JPG", 'b",', "c.png"],
                          ['cat, "Tom"', "é", "owl"], [True, True, False])  # fmt: skip


def test_both_files_by_hand(tmp_path: Path) -> None:
    FiftyOne().write(LABELS, tmp_path / "x.json")
    present, absent = (
        json.loads((tmp_path / name).read_text()) for name in ("x.json", "x.negative.json")
    )
    assert present["classes"] == absent["classes"] == list(LABELS.classes)
    assert present["labels"] == {"sub/é": [0], 'b",': [], "c": None}
    assert absent["labels"] == {"sub/é": [1], 'b",': [], "c": None}
    assert for_path(tmp_path / "x.json") == FiftyOne()
    back = FiftyOne().read(tmp_path / "x.json")
    assert back.images.tolist() == ["sub/é", 'b",', "c"] and back.classes == LABELS.classes
    assert back.rows(range(3)).tolist() == LABELS.rows(range(3)).tolist()
    assert back.asked.tolist() == LABELS.asked.tolist()
    assert FiftyOne().loses(LABELS) == (
        "the endings of 2 image files, because FiftyOne leaves them out",
    )


@patient
@given(labels=any_labels())
def test_every_label_comes_back_and_the_rest_is_said(labels: PartialLabels) -> None:
    back = round_trip("fiftyone", labels)
    assert as_table(back) == as_table(labels) and back.classes == labels.classes
    assert back.asked.tolist() == labels.asked.tolist()
    said = " ".join(FiftyOne().loses(labels))
    same_kind = back.images.dtype.kind == labels.images.dtype.kind
    assert same_kind != ("are read back as numbers" in said)


def test_what_fiftyone_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    targets = {"a": [{"label": "x", "confidence": 0.5, "attributes": {}}], "b": "y", "c": None}
    path.write_text(json.dumps({"classes": None, "labels": targets}))
    read = FiftyOne().read(path)
    assert read.rows(range(3)).tolist() == [[1, 0], [0, 1], [0, 0]] and read.classes == ("x", "y")
    assert read.asked.tolist() == [True, True, False]
    (tmp_path / "labels.negative.json").write_text('{"classes": null, "labels": {"d": ["x"]}}')
    assert FiftyOne().read(path).rows([3]).tolist() == [[-1, 0]]


def test_whole_floats_are_indices_and_names_are_compared_as_plain_text(tmp_path: Path) -> None:
    text = json.dumps(
        {"classes": ["cat", "k\u00e4fer"], "labels": {"a": [0.0], "b": ["ka\u0308fer "]}}
    )
    (tmp_path / "x.json").write_text(text, encoding="utf-8-sig")
    assert for_path(tmp_path / "x.json") == FiftyOne()
    assert FiftyOne().read(tmp_path / "x.json").rows([0, 1]).tolist() == [[1, 0], [0, 1]]
    (tmp_path / "x.json").write_text(text.replace("cat", "K\u00e4fer"))
    with pytest.warns(UserWarning, match="look alike and count as different: 1 "):
        FiftyOne().read(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("labels", "noted"),
    [
        ({"a": "cat|dog", "b": ["dog"]}, "count as one: 'cat|dog'; write the names"),
        ({"a": {"label": "cat", "confidence": 0.25}}, "present: 1 (0.25 of 'a')"),
    ],
)
def test_what_may_be_meant_otherwise_is_noted(
    tmp_path: Path, labels: dict[str, object], noted: str
) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"classes": None, "labels": labels}))
    with pytest.warns(UserWarning, match=re.escape(noted)):
        FiftyOne().read(tmp_path / "x.json")


def test_file_names_come_from_a_pattern(tmp_path: Path) -> None:
    part = make("fiftyone(file='COCO_{:04d}.jpg')")
    part.write(PartialLabels.of([[1]], [7]), tmp_path / "x.json")
    assert part.read(tmp_path / "x.json").images.tolist() == ["COCO_0007"]
    with pytest.raises(BadInput, match="differ only in their ending"):
        FiftyOne().write(PartialLabels.of([[1], [1]], ["a.jpg", "a.png"]), tmp_path / "y.json")
    assert not (tmp_path / "y.json").exists()


def test_no_image_keeps_its_ending(tmp_path: Path) -> None:
    names = [f"{n}.v2{ending}" for n, ending in enumerate(ENDINGS)]  # FiftyOne looks for "0.v2"
    FiftyOne().write(PartialLabels.of([[1]] * len(names), names), tmp_path / "x.json")
    written = json.loads((tmp_path / "x.json").read_text())["labels"]
    assert list(written) == [f"{n}.v2" for n in range(len(names))]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"classes": ["x"], "labels": {"a": [1]}}', "'a'"),
        ('{"classes": ["x"], "labels": {"a": ["y"]}}', "'y'"),
        ('{"classes": null, "labels": {"a": [0]}}', "'a'"),
        ('{"classes": ["x"], "labels": {"a": [true]}}', "True"),
        ('{"classes": [1], "labels": {}}', "'classes'"),
        ('{"classes": ["x"], "labels": {"a": [0, 0]}}', "'x'"),
        ('{"classes": ["x"]}', "labels"),
        ('{"classes": ["x"], "labels": {"a": ["0"]}}', "write an index without quotes"),
        ('{"classes": ["x"], "labels": {"a": [0], "a": []}}', "'a' occurs twice"),
        ('{"classes": ["x", "y"], "labels": {"a": [1, 0]}}', "write the indices of the present"),
        ('{"classes": ["x"], "labels": {"./a": [0], "a": []}}', "'./a' and 'a' name the same file"),
        ('{"classes": ["x"], "labels": {"\u00e4": [0], "a\u0308": []}}', "name the same file"),
        ('{"samples": []}', "no 'labels'; export a FiftyOneImage"),
    ],
)
def test_other_content_is_refused(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "x.json").write_text(text)
    refuses(FiftyOne().read, tmp_path / "x.json", word)


def test_files_of_different_classes_are_refused(tmp_path: Path) -> None:
    FiftyOne().write(LABELS, tmp_path / "x.json")
    (tmp_path / "x.negative.json").write_text('{"classes": ["z"], "labels": {}}')
    refuses(FiftyOne().read, tmp_path / "x.json", "x.negative.json")
