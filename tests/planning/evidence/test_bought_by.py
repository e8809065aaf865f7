"""What a grid says of prices and people."""

import pytest

from simkit.annotate.prices import prices
from simkit.errors import BadInput
from simkit.planning.evidence.bought_by import grid, habits, list_id, listed


def test_a_grid_is_read_as_it_is_written(tmp_path):
    (tmp_path / "grid.toml").write_text('prices = "google"\n[habits]\nworkers = 3\nmiss = 0.1\n')
    found = grid(tmp_path)
    assert found == {"prices": "google", "habits": {"workers": 3, "miss": 0.1}}
    assert (habits(found, tmp_path).workers, habits(found, tmp_path).miss) == (3, 0.1)
    assert listed(found) == prices("google")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('prices = "goo', "cannot be read"),
        ("draws = 3", "prices is missing; compare again into this folder"),
        ("", "holds no grid.toml; give the folder that `simkit compare` made"),
    ],
)
def test_what_is_no_grid_is_refused(tmp_path, text, told):
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises(BadInput) as error:
        grid(tmp_path)
    assert told in str(error.value) and str(tmp_path) in str(error.value)


def test_habits_that_are_none_name_the_grid(tmp_path):
    with pytest.raises(BadInput, match=r"grid\.toml: "):
        habits({"habits": {"miss": 2.0}}, tmp_path)


def test_a_list_that_is_gone_is_none(tmp_path):
    assert listed({"prices": str(tmp_path / "gone.toml")}) is None


def test_lists_of_one_name_are_told_apart_by_what_they_say(tmp_path):
    ids = set()
    for wage in (15, 60):
        path = tmp_path / str(wage) / "own.toml"
        path.parent.mkdir()
        path.write_text(
            f'like = "coco-tagging"\nwage = {wage}\nwage_source = "assumption: planted"\n'
        )
        ids |= {list_id(prices(str(path))), list_id(prices(str(path)))}
    assert len(ids) == 2
