import warnings

import pytest
from simkit.study.bundles.affordable import check_limits
from simkit.study.bundles.agenda import source_of
from simkit.study.material.material import opened

from simkit.errors import BadInput


def told(grid):
    """What is wrong with the limits of a grid, or nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_limits(grid, opened(source_of(grid)))
    except BadInput as error:
        return str(error)
    return ""


# With coco-tagging one complete image of scenes costs $0.52, and 0.035 hours; 40 of them $20.88.
@pytest.mark.parametrize(
    ("values", "what"),
    [
        (
            {"budgets": [0.3, 10]},
            "budgets lists 0.3, which buys nothing: the smallest amount of 'single-positive' takes "
            "0.3717 dollars; raise it",
        ),
        (
            {"budgets": [0.01], "schemes": ["rpa"]},
            "budgets lists 0.01, which buys nothing: the smallest amount of 'rpa' takes 0.01004 "
            "dollars; raise it",
        ),
        (
            {"budgets": [], "hours": [0.001]},
            "hours lists 0.001, which buys nothing: the smallest amount of 'single-positive' takes "
            "0.02478 hours; raise it",
        ),
        (
            {"budgets": [10], "validation": "complete"},
            "budgets lists 10, which buys nothing: validation labels take 20.88 dollars, and the "
            "smallest amount of 'single-positive' takes 0.3717 dollars; raise it, or set "
            "validation to none",
        ),
        (
            {"budgets": [], "hours": [1], "validation": "complete"},
            "hours lists 1, which buys nothing: validation labels take 1.392 hours, and the "
            "smallest amount of 'single-positive' takes 0.02478 hours; raise it, or set "
            "validation to none",
        ),
        (
            {"budgets": [], "hours": [1], "prices": "google"},
            "hours is [1.0], and price list 'google' does not know how long the questions of "
            "'single-positive' take; give budgets in dollars, or set prices to a list with times",
        ),
    ],
)
def test_what_no_purchase_can_satisfy_is_told(small, values, what):
    assert told(small(**values)) == what


def test_partial_validation_labels_have_their_share(small):
    # A quarter of the images is for validation, and so is a quarter of the budget.
    partial = {"validation": "partial", "schemes": ["full-subset"]}
    assert told(small(**partial, budgets=[2])) == (
        "budgets lists 2, which buys nothing: validation labels take 0.5219 dollars, for which "
        "there is 25% of it, and the smallest amount of 'full-subset' takes 0.5219 dollars; raise "
        "it, or set validation to none"
    )
    assert told(small(**partial, budgets=[2.2])) == ""


def test_a_limit_that_some_scheme_keeps_to_is_left_to_the_runs(small):
    assert told(small(schemes=["single-positive", "full-subset"], budgets=[0.45])) == ""
    assert told(small(schemes=["full-subset"], budgets=[0.45])) != ""
    assert told(small(budgets=[21.5], validation="complete")) == ""
    assert told(small(budgets=[], validation="complete")) == ""


def test_a_question_without_a_price_is_told(small, tmp_path):
    file = tmp_path / "own.toml"
    question = '[verify]\nper = "question"\ndollars = 1.0\nsource = "mine"\n'
    file.write_text(f'title = "own"\nworkers = 1\nworkers_source = "mine"\n{question}')
    assert "has no price for" in told(small(budgets=[], prices=str(file)))
