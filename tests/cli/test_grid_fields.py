"""`simkit list grid`: every field of a grid, with its default and what it means."""

import dataclasses

from simkit.cli.grid_fields import fields, inside
from simkit.study.grid import Grid


def test_every_field_has_its_default_and_meaning() -> None:
    rows = {row["name"]: row for row in fields()}
    assert list(rows) == [field.name for field in dataclasses.fields(Grid)]
    assert all(row["meaning"] for row in rows.values())
    assert rows["schemes"]["default"] == "(needed)"
    assert rows["prices"] == {
        "name": "prices", "default": '"coco-tagging"', "meaning": "a preset or a TOML file",
    }  # fmt: skip
    assert rows["hours"]["meaning"].startswith("of people's time for it")
    assert rows["validation"]["meaning"].endswith("; one of none, complete, partial")
    assert rows["features"]["default"] == "[features]" and rows["curves"]["default"] == "false"


def test_tables_have_settings_of_their_own() -> None:
    for name in ("train", "tuning", "pictures", "habits"):
        assert len(inside(name)["settings"]) > 1
    meanings = {one["name"]: one["meaning"] for one in inside("pictures")["settings"]}
    assert meanings["vertical"] == "turn half of them upside down, too"
    assert inside("draws") == inside("features") == {}
