import numpy as np
import pytest
from simkit.study.grids.grid import Grid, demo

from simkit.errors import BadInput
from simkit.learn.steps.optim import Settings

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
    assert str(caught.value) == f"{path}: draws is 0; a whole number from 1 to 10,000 is expected"


def test_a_file_that_is_not_toml(tmp_path):
    with pytest.raises(BadInput, match=r"grid\.toml is not a TOML file .*; see the ") as caught:
        Grid.load(written(tmp_path, "schemes = ["))
    assert Grid.load(str(caught.value).split("see the shipped ")[1]) == demo()
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
        ({"draws": 1.5}, "draws is 1.5; a whole number from 1 to 10,000 is expected"),
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
        (
            {"features": {"train": 3}},
            "features.train is 3; the path of a file or folder is expected",
        ),
        (
            {"features": {"train": "a.npz", "tset": "b.npz"}},
            "features: no split is called 'tset'; did you mean 'test'?",
        ),
        ({"features": {1: 2}}, "features: no split is called '1'; known are test, train, val"),
        (
            {"features": "a.npz"},
            "features is 'a.npz'; a table such as [features] with one file for each split is "
            "expected",
        ),
        ({"draws": 10**8}, "draws is 100000000; a whole number from 1 to 10,000 is expected"),
        ({"train": {"lr": [1]}}, "train.lr is [1]; a number is expected"),
        ({"train": {"epochs": [1, 2]}}, "train.epochs is [1, 2]; a whole number is expected"),
        ({"train": {"milestones": 3}}, "train.milestones is 3; a list is expected"),
        (
            {"validation": "partial", "train": {"select": "last"}},
            "validation is 'partial', which is paid for, and nothing goes by its labels where "
            "train.select is 'last' and there is no tuning; set train.select to best, or "
            "validation to none",
        ),
    ],
)
def test_bad_fields_are_named(values, told):
    assert refused(**values) == told


@pytest.mark.parametrize("validation", ["complete", "partial"])
def test_validation_labels_that_are_paid_for_choose_the_epoch(validation):
    assert Grid.of(SMALL).train.select == "last"
    for made in (
        Grid.of(SMALL | {"validation": validation}),
        Grid.of(SMALL | {"validation": validation, "train": {"epochs": 3, "patience": 1}}),
        Grid(("fpc",), ("an",), validation=validation),
        Grid(("fpc",), ("an",), validation=validation, train=Settings(select="best")),
    ):
        assert made.train.select == "best"


def test_labels_of_a_sweep_may_leave_the_last_epoch(tmp_path):
    tuned = {"validation": "complete", "tuning": {"runs": 2, "space": {"all": {"lr": [0.1, 1]}}}}
    last = Grid.of(SMALL | tuned | {"train": {"select": "last"}})
    assert last.train.select == "last"
    assert Grid.load(written(tmp_path, last.to_toml())) == last
    assert Grid.of(SMALL | tuned).train.select == "best"


def test_protocols_say_themselves_what_labels_choose(tmp_path):
    papers = {"validation": "complete", "pictures": {"protocol": "large-loss"}}
    grid = Grid.of(SMALL | papers)
    assert grid.pictures.settings("an", grid.train).select == "best"
    assert Grid.load(written(tmp_path, grid.to_toml())) == grid
    with pytest.raises(
        BadInput, match=r"where select in \[pictures\.changed\] is 'last' and there"
    ):
        papers["pictures"]["changed"] = {"select": "last"}
        Grid.of(SMALL | papers)


@pytest.mark.parametrize("name", ["pictures", "tuning", "train", "habits"])
def test_a_table_is_no_value_in_python(name):
    kind = {"pictures": "Pictures", "tuning": "Tuning", "train": "Settings", "habits": "Habits"}
    with pytest.raises(BadInput) as caught:
        Grid(("fpc",), ("an",), validation="complete", **{name: {}})
    assert str(caught.value) == f"{name} is {{}}; {kind[name]}(...) is expected"


def test_numbers_of_numpy_and_paths_are_written_as_any_others(tmp_path):
    grid = Grid(
        ("fpc",),
        ("an",),
        images=np.int64(5),
        draws=np.int64(2),
        budgets=(np.float32(0.5),),
        features={"train": tmp_path / "train.npz"},
        train=Settings(lr=np.float64(0.25), epochs=np.int64(3)),
    )
    assert type(grid.images) is int
    assert Grid.load(written(tmp_path, grid.to_toml())) == grid


def test_schemes_and_methods_are_required():
    with pytest.raises(
        BadInput, match=r'^methods is missing; list at least one, such as methods = \["an"'
    ):
        Grid.of({"schemes": ["fpc"]})
