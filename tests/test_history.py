"""Histories and content ids."""

import hashlib
import json

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.history import History, content_id


def test_a_history_survives_its_text() -> None:
    history = History("simulate", {"scheme": "fpc(k=3)", "images": 0.5}, 7, ("a", "b"))
    again = History.from_json(history.to_json())
    assert again == history and again.parents == ("a", "b")
    assert again.to_json() == history.to_json()


def test_equal_histories_are_equal_texts() -> None:
    one = History("x", {"a": 1, "b": 2}, versions={"p": "1", "q": "2"})
    two = History("x", {"b": 2, "a": 1}, versions={"q": "2", "p": "1"})
    assert one.to_json() == two.to_json()


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "3", "null", "{}", '{"command": "x"}', "[" * 100_000,
        '{"command": "x", "parents": [], "settings": {"a": ' + "[" * 600 + "]" * 600 + "}}",
        '{"command": "x", "parents": [], "other": 1}', '{"command": "x", "parents": 3}',
    ],
)  # fmt: skip
def test_other_texts_are_no_history(text: str) -> None:
    with pytest.raises(
        BadInput, match=r"^the history in this file cannot be read \(.+\); write the file again$"
    ):
        History.from_json(text)


@pytest.mark.parametrize(
    ("key", "value"),
    [("command", 3), ("settings", []), ("seed", "1"), ("seed", True), ("parents", "ab"),
     ("parents", [1]), ("versions", None)],
)  # fmt: skip
def test_a_field_of_another_type_is_refused(key: str, value: object) -> None:
    fields = json.loads(History("x").to_json()) | {key: value}
    with pytest.raises(BadInput) as caught:
        History.from_json(json.dumps(fields))
    assert str(caught.value) == (
        "the history in this file cannot be read (a field has another type); write the file again"
    )


def test_the_id_depends_on_content_alone() -> None:
    values = np.arange(12).reshape(3, 4)
    assert content_id(values) == content_id(values.astype(np.int32))
    assert content_id(values) == content_id(np.asfortranarray(values))
    assert content_id(values.astype(np.uint16)) == content_id(values.astype(">i8"))
    assert len(content_id(values)) == 16


def test_the_id_changes_with_anything() -> None:
    values = np.arange(12).reshape(3, 4)
    other = values.copy()
    other[2, 3] += 1
    ids = [
        content_id(values),
        content_id(other),
        content_id(values.reshape(4, 3)),
        content_id(values.ravel()),
        content_id(values.astype(float)),
        content_id(values.astype(np.float32)),
        content_id(values > 3),
        content_id(values.astype(str)),
        content_id("0"),
        content_id(b"0"),
        content_id(None),
        content_id(),
        content_id(None, None),
        content_id("a", "b"),
        content_id("ab"),
        content_id(values, "a"),
    ]
    assert len(set(ids)) == len(ids)


def test_the_id_of_text_ignores_the_width() -> None:
    assert content_id(np.array(["a", "b"])) == content_id(np.array(["a", "b"], dtype="U9"))
    assert content_id(np.array(["a", "b"])) != content_id(np.array(["ab"]))


def test_an_id_once_given_stays() -> None:
    # Files carry ids, so that the bytes that are hashed may not change with a new version.
    hashed = b"text:7;partial" + b"int(2,):16;" + bytes([3] + [0] * 7 + [4] + [0] * 7) + b"none;"
    expected = hashlib.sha256(hashed).hexdigest()[:16]
    assert content_id("partial", np.array([3, 4]), None) == expected == "e1000d825a32e81d"
