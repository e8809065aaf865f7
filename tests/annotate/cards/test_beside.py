"""Cards are written beside the labels, whole or not at all."""

import os
from pathlib import Path

import pytest

from simkit.annotate.cards import beside
from simkit.annotate.cards.croissant import croissant
from simkit.annotate.cards.markdown import card
from simkit.errors import BadInput
from simkit.labels.cards import about, paths
from tests.annotate.cards.examples import subject


def test_both_are_written(tmp_path: Path) -> None:
    one = subject(tmp_path)
    assert about(one.files[0], one.labels.id) == ()
    written = beside.write(one)
    assert written == paths(one.files[0]) == about(one.files[0], one.labels.id)
    assert [path.name for path in written] == ["zoo.card.md", "zoo.croissant.json"]
    assert written[0].read_text(encoding="utf-8") == card(one)
    assert written[1].read_text(encoding="utf-8") == croissant(one, "zoo.card.md")
    assert "`zoo.croissant.json`" in card(one)


@pytest.mark.parametrize("odd", ["zoo.card.md", "zoo.croissant.json"])
def test_none_is_written_where_one_cannot_be(tmp_path: Path, odd: str) -> None:
    one = subject(tmp_path)
    (tmp_path / odd).mkdir()
    with pytest.raises(BadInput, match=f"{odd} is a folder"):
        beside.write(one)
    assert sorted(path.name for path in tmp_path.iterdir()) == [odd, "zoo.parquet"]


@pytest.mark.skipif(os.name == "nt", reason="such names are of other systems")
def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path / "zoo") + b"\xff.npz")
    one = subject(tmp_path, Path(path).name)
    for written in beside.write(one):
        assert written.is_file() and b"zoo" in written.read_bytes()
