import pytest

from simkit.errors import BadInput
from simkit.study.grid import Grid, demo

SMALL = {"schemes": ["fpc", "rpa(keep=0.2)"], "methods": ["an", "ll-r+boostlu"]}


def written(tmp_path, text):
    path = tmp_path / "grid.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(**values):
    with pytest.raises(BadInput) as caught:
        Grid.of(SMALL | values)
    return str(caught.value)


def test_the_shipped_grid_covers_schemes_methods_and_three_budgets():
    grid = demo(seed=7)
    assert grid.data == "scenes" and grid.seed == 7 and grid.draws == 5
    assert grid.schemes == ("single-positive", "rpa", "fpc", "knowledge-graph", "full-subset")
    assert grid.methods == ("an", "ignore", "ll-r", "an+boostlu", "ll-r+boostlu")
    ratios = [b / a for a, b in zip(grid.budgets, grid.budgets[1:], strict=False)]
    assert len(grid.budgets) == 3 and ratios[0] == pytest.approx(ratios[1])


def test_the_resolved_grid_reads_back_as_it_was(tmp_path):
    grid = Grid.of(
        SMALL
        | {
            "budgets": [30, 10.5],
            "features": {"train": 'a "quoted" name.npz', "test": "dir\\b.npz"},
            "habits": {"miss": 0.1, "workers": 3},
            "train": {"epochs": 4, "lr": 0.01, "select": "best"},
            "validation": "partial",
            "images": 200,
        }
    )
    assert grid.budgets == (10.5, 30.0)
    assert Grid.load(written(tmp_path, grid.to_toml())) == grid
    assert Grid.load(written(tmp_path, grid.to_toml()), seed=3).seed == 3


def test_a_share_stays_a_share_and_a_number_a_number(tmp_path):
    for images in (1.0, 1, 0.25, 300):
        grid = Grid.load(written(tmp_path, Grid.of(SMALL | {"images": images}).to_toml()))
        assert grid.images == images and type(grid.images) is type(images)


def test_an_error_names_file_field_and_mend(tmp_path):
    path = written(tmp_path, 'schemes = ["fpc"]\nmethods = ["an"]\ndraws = 0\n')
    with pytest.raises(BadInput) as caught:
        Grid.load(path)
    assert str(caught.value) == f"{path}: draws is 0; a whole number from 1 on is expected"


def test_a_file_that_is_not_toml(tmp_path):
    with pytest.raises(
        BadInput, match=r"grid\.toml is not a TOML file .*; see the shipped study/demo"
    ):
        Grid.load(written(tmp_path, "schemes = ["))
    with pytest.raises(BadInput, match="is a folder, but a file with a grid"):
        Grid.load(tmp_path)


def test_unknown_names_come_with_the_nearest():
    assert (
        refused(metods=["an"]) == "no field of a grid is called 'metods'; did you mean 'methods'?"
    )
    assert refused(schemes=["fpd"]) == "schemes: no scheme is called 'fpd'; did you mean 'fpc'?"
    assert (
        refused(methods=["ll-rr"]) == "methods: no method is called 'll-rr'; did you mean 'll-r'?"
    )
    assert refused(train={"epoch": 3}) == (
        "no setting of train is called 'epoch'; did you mean 'epochs'?"
    )


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"schemes": []}, 'schemes is []; a list such as ["single-positive", "fpc"] is expected'),
        ({"methods": "an"}, 'methods is \'an\'; a list such as ["an", "ll-r"] is expected'),
        ({"schemes": [3]}, "schemes is 3; a list of texts is expected"),
        (
            {"schemes": ["rpa", "rpa(keep=0.1)"]},
            "schemes lists 'rpa(keep=0.1)' and 'rpa', which are the same; leave one out",
        ),
        ({"budgets": "much"}, "budgets is 'much'; a list of dollars is expected"),
        ({"budgets": [10, -1]}, "budgets is -1; dollars above 0 is expected"),
        ({"budgets": ["x"]}, "budgets is 'x'; a number is expected"),
        ({"budgets": [10, 10]}, "budgets is [10, 10], which names one twice; leave one out"),
        ({"draws": 1.5}, "draws is 1.5; a whole number from 1 on is expected"),
        ({"seed": True}, "seed is True; a whole number from -2**63 to 2**63 - 1 is expected"),
        (
            {"seed": 99999999999999999999},
            "seed is 99999999999999999999; a whole number from -2**63 to 2**63 - 1 is expected",
        ),
        ({"reference": "no"}, "reference is 'no'; true or false is expected"),
        ({"validation": "all"}, "validation is 'all'; one of none, complete, partial is expected"),
        (
            {"images": 1.5},
            "images is 1.5; a share above 0 and up to 1.0 or a whole number is expected",
        ),
        (
            {"images": 0},
            "images is 0; a share up to 1.0 or a whole number from 1 on is expected",
        ),
        ({"data": 3}, "data is 3; text is expected"),
        ({"train": 3}, "train is 3; a table such as [train] is expected"),
        ({"train": {"epochs": "many"}}, "train.epochs is 'many'; a whole number is expected"),
        (
            {"train": {"select": "best"}},
            "train.select is 'best', which needs labels to choose by; "
            "set validation to complete or partial",
        ),
        ({"features": {"test": "t.npz"}}, "features names files for test; one for train is needed"),
    ],
)
def test_bad_fields_are_named(values, told):
    assert refused(**values) == told


def test_schemes_and_methods_are_required():
    with pytest.raises(
        BadInput, match=r'^methods is missing; list at least one, such as methods = \["an"'
    ):
        Grid.of({"schemes": ["fpc"]})
