import tomllib

import pytest
from simkit.study.grids.grid import Grid
from simkit.study.grids.tuning import Tuning

from simkit.errors import BadInput

SPACE = {"all": {"lr": [0.001, 0.01, 0.1]}, "ll-r+boostlu": {"delta": [0.1, 0.2], "alpha": [2, 5]}}


def grid(space=SPACE, **values):
    return Grid.of(
        {
            "schemes": ["fpc"],
            "methods": ["an", "ll-r+boostlu"],
            "validation": "partial",
            "tuning": {"runs": 3, "space": space},
        }
        | values
    )


def test_settings_are_points_of_the_product_each_once():
    tuning = Tuning(runs=12, space=SPACE)
    found = tuning.settings("ll-r+boostlu", seed=0)
    assert {one.values for one in found} == {
        (("lr", lr), ("delta", delta), ("alpha", alpha))
        for lr in (0.001, 0.01, 0.1)
        for delta in (0.1, 0.2)
        for alpha in (2, 5)
    }
    one = found[0]
    assert one.text == '{"lr": 0.001, "delta": 0.1, "alpha": 2}' and one.lr == 0.001
    assert one.method.startswith("ll-r(delta=0.1, ") and "+boostlu(alpha=2.0, " in one.method
    assert one.score is None and one.runs == 0


def test_what_is_drawn_depends_on_the_seed_and_on_the_method_alone():
    tuning = Tuning(runs=3, space=SPACE)
    more = Tuning(runs=3, space=SPACE | {"an": {"pos_weight": [1, 2]}})
    drawn = [tuple(tuning.settings("ll-r+boostlu", seed=seed)) for seed in range(20)]
    assert drawn == [tuple(more.settings("ll-r+boostlu", seed=seed)) for seed in range(20)]
    assert len(set(drawn)) > 10
    assert all(len(set(found)) == 3 for found in drawn)


def test_a_tuned_grid_reads_back_as_it_was():
    tuned = grid()
    assert Grid.of(tomllib.loads(tuned.to_toml())) == tuned
    assert '[tuning.space."ll-r+boostlu"]\ndelta = [0.1, 0.2]\n' in tuned.to_toml()


@pytest.mark.parametrize(
    ("tuning", "told"),
    [
        (
            {"runs": 4, "space": {"all": {"lr": [0.1, 0.01]}}},
            "tuning.runs is 4, and 'an' has 2 to try; add values or settings to "
            '[tuning.space.all] or [tuning.space."an"], or set runs to 2 at most',
        ),
        (
            {"space": {"ll-r+boostlu": {"lr": [0.1, 0.2, 0.3, 0.4]}}},
            "tuning.runs is 4, and 'an' has 1 to try; add values or settings to "
            '[tuning.space.all] or [tuning.space."an"]',
        ),
        ({"runs": 1}, "tuning.runs is 1; a whole number from 2 to 10,000 is expected"),
        (
            {"runs": 2, "space": {"ll-r": {"lr": [1, 2]}}},
            "tuning.space: no method of this grid is called 'll-r'; known are all, an, full, "
            "full+boostlu, ll-r+boostlu",
        ),
        (
            {"runs": 2, "space": {"all": {"epochs": [1, 2]}}},
            "tuning.space: 'epochs' is a setting of [train], of which lr alone can be tried",
        ),
        (
            {"runs": 2, "space": {"an": {"pos_weigth": [1, 2]}, "all": {"lr": [1, 2]}}},
            "tuning.space: no setting of method 'an' is called 'pos_weigth'; did you mean "
            "'pos_weight'?",
        ),
        (
            {"runs": 2, "space": {"all": {"lr": [1, 2]}, "ll-r+boostlu": {"delta": ["x"]}}},
            "tuning.space: ll-r: delta is 'x'; a number is expected",
        ),
        (
            {"runs": 2, "space": {"all": {"lr": 0.1}}},
            "tuning.space.all.lr is 0.1; a list of values to try is expected",
        ),
        (
            {"runs": 2, "space": {"all": {"lr": [1, 1.0]}}},
            "tuning.space.all.lr is [1.0, 1.0], which names one twice; leave one out",
        ),
        (
            {"runs": 2, "space": {"all": {"lr": [0, 1]}}},
            "tuning.space.all.lr is 0.0; a number above 0 is expected",
        ),
        (
            {"runs": 2, "space": {"all": {"delta": [{"a": 1}, {"b": 2}]}}},
            "tuning.space.all.delta is {'a': 1}; a list of numbers, texts or truth values is "
            "expected",
        ),
        (
            {"runs": 2, "space": {"all": {"lrr": [0.1]}}},
            "tuning.space: no setting of method 'an' is called 'lrr'; did you mean 'lr'?",
        ),
        (
            {"runs": 10**8, "space": SPACE},
            "tuning.runs is 100000000; a whole number from 2 to 10,000 is expected",
        ),
        ({"space": 3}, "tuning.space is 3; a table such as [tuning.space] is expected"),
        ({"run": 4}, "no setting of tuning is called 'run'; did you mean 'runs'?"),
        (3, "tuning is 3; a table such as [tuning] is expected"),
    ],
)
def test_bad_fields_are_named(tuning, told):
    with pytest.raises(BadInput) as caught:
        grid(tuning=tuning)
    assert str(caught.value) == told


def test_without_validation_labels_there_is_nothing_to_choose_by():
    told = r"^tuning needs labels to choose by; set validation to complete or partial$"
    with pytest.raises(BadInput, match=told):
        grid(validation="none")
