"""Where cards are, and whose."""

import json
import os
from pathlib import Path

import pytest

from simkit.errors import BadInput
from simkit.labels.cards import about, check_free, own, paths


def test_names_follow_the_file() -> None:
    assert paths("runs/a.b.parquet") == (Path("runs/a.b.card.md"), Path("runs/a.b.croissant.json"))
    assert all(path != Path("a.json") for path in paths("a.json"))


def test_cards_of_other_labels_are_not_taken(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    card, machine = paths(file)
    assert about(file, "abcd") == ()
    card.write_text("Content id: `abcd`")
    assert about(file, "abcd") == (card,) and about(file, "dcba") == ()
    machine.mkdir()
    assert about(file, "abcd") == (card,)


def test_own_cards_name_their_file_and_others_are_refused(tmp_path) -> None:
    file = tmp_path / "a.parquet"
    first, second = paths(file)
    first.write_text('read("a.parquet")')
    assert own(file) == {first: 'read("a.parquet")'}
    check_free(file, "id 1")
    second.write_text('{"of": "id 1"}')
    assert list(own(file)) == [first]
    check_free(file, "id 1")  # the same labels, in another form
    with pytest.raises(BadInput, match=r"a\.croissant\.json is there and is no card of a\.parquet"):
        check_free(file, "id 2")


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a'b", "ä", "a\nb", os.fsdecode(b"a\xff")])
def test_odd_names_are_found_as_cards_write_them(tmp_path, name: str) -> None:
    file = tmp_path / f"{name}.parquet"
    try:
        paths(file)[0].touch()
    except OSError:
        pytest.skip("this system has no such names")
    text = f"read({json.dumps(file.name, ensure_ascii=False)})"
    paths(file)[0].write_bytes(text.encode("utf-8", "backslashreplace"))
    assert list(own(file)) == [paths(file)[0]]
    check_free(file, "id 1")
    paths(file)[0].write_text(f'read("c{name}.parquet")', "utf-8", "replace")
    assert not own(file)
