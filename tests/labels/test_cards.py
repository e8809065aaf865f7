"""Where cards are, and whose."""

from pathlib import Path

from simkit.labels.cards import about, paths


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
