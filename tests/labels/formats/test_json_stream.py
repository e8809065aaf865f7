"""JSON files read piece by piece."""

import json
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simkit.labels.formats import json_stream
from simkit.labels.formats.json_stream import members

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


def _read(path: Path) -> dict[str, Any]:
    listed = ((k, list(v) if isinstance(v, Iterator) else v) for k, v in members(path))
    return dict(listed)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    values=st.dictionaries(st.text(max_size=5), _VALUES, max_size=5),
    step=st.integers(1, 40),
    indent=st.sampled_from([None, 0, 1]),
    plain=st.booleans(),
)
def test_any_object_is_read_as_by_json_whatever_the_pieces(
    tmp_path: Path, values: Any, step: int, indent: int | None, plain: bool
) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=plain)
    (tmp_path / "x.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "STEP", step)
        assert _read(tmp_path / "x.json") == values


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_every_cut_off_text_is_refused(
    tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "STEP", step)
    text = '{"a": [1, -2.5e3, {"b": "x\\u00e9"}], "c": true, "d": "e"}'
    for length in range(len(text)):
        (tmp_path / "x.json").write_text(text[:length])
        with pytest.raises(ValueError, match=r"at character \d+$"):
            _read(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": [1, 2 3]}', "Expecting ',' or ']' at character 12"),
        ('{"a": 1} x', "Extra data at character 9"),
        ("{1: 2}", "Expecting property name enclosed in double quotes at character 1"),
        ('{"a" 1}', "Expecting ':' at character 5"),
        ('{"a": [' + 40 * "1, " + 'nul, "' + 40 * "x" + '"]}',
         "Expecting value at character 127"),
        ("", "Expecting value at character 0"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("step", [5, 1000])
def test_what_is_wrong_is_said_with_its_place_in_the_file(
    tmp_path: Path, text: str, message: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "STEP", step)
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        _read(tmp_path / "x.json")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_unicode_comes_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.json").write_bytes('{"ä": ["😀"]}'.encode(encoding))
    assert _read(tmp_path / "x.json") == {"ä": ["😀"]}


def test_what_is_left_of_a_list_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": [1, [2], 3], "b": 4}')
    assert [key for key, _ in members(tmp_path / "x.json")] == ["a", "b"]


def test_only_a_piece_of_the_file_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "STEP", 1 << 16)
    (tmp_path / "x.json").write_text(json.dumps({"a": [{"x": "y" * 5000}] * 4000}))  # 20 MB
    tracemalloc.start()
    try:
        assert sum(1 for _, rows in members(tmp_path / "x.json") for _ in rows) == 4000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20
