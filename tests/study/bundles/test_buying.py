import numpy as np
import pytest
from simkit.study.bundles.agenda import plan, source_of
from simkit.study.bundles.buying import buy
from simkit.study.material.material import opened

from simkit.annotate.prices import cost
from simkit.errors import BadInput


def bought(grid, place=0):
    material = opened(source_of(grid))
    bundle = plan(grid, material)[0]
    purchase = bundle.purchases[place]
    return buy(purchase, bundle, material), purchase, bundle.prices


def test_a_budget_is_spent_and_not_exceeded(small):
    for place in range(4):
        found, purchase, prices = bought(small(), place)
        assert 0.85 * purchase.budget < found.dollars <= purchase.budget
        assert found.dollars == pytest.approx(cost(found.train, prices).dollars)
        assert found.validation is None and found.validation_dollars == 0


def test_without_budgets_the_amounts_are_as_written(small):
    found, _, prices = bought(small(budgets=[], schemes=["fpc(per_class=7)"]))
    assert found.train.history.settings["scheme"].startswith("fpc(per_class=7,")
    assert found.dollars == cost(found.train, prices).dollars


def test_compared_schemes_ask_about_the_same_images(small):
    grid = small(budgets=[], schemes=["single-positive", "full-subset"], images=0.25)
    a, b = bought(grid, 0)[0].train, bought(grid, 1)[0].train
    assert (a.asked == b.asked).all() and a.asked.sum() == 30


def test_complete_validation_labels_are_charged(small):
    found, _, prices = bought(small(validation="complete", budgets=[40]))
    val = 40 * 52 * 8 * 0.3011 * 15 / 3600  # images, classes, people, seconds, wage
    assert found.validation_dollars == pytest.approx(val)
    assert 0.85 * 40 < found.dollars <= 40
    assert cost(found.train, prices).dollars == pytest.approx(found.dollars - val)
    assert found.validation.shape == (40, 52)
    truth = opened(source_of(small(validation="complete"))).truth("val")
    given = found.validation.codes.toarray()
    assert (np.abs(given) == 1).all() and ((given == 1) == truth.present.toarray()).all()


def test_validation_labels_come_from_the_people_who_err(small):
    grid = small(validation="complete", budgets=[40], habits={"miss": 0.3, "false_alarm": 0.1})
    found, *_ = bought(grid)
    truth = opened(source_of(grid)).truth("val").present.toarray()
    given = found.validation.codes.toarray()
    assert (np.abs(given) == 1).all()
    assert (given[truth] == -1).mean() == pytest.approx(0.3, abs=0.08)
    assert (given[~truth] == 1).mean() == pytest.approx(0.1, abs=0.04)


def test_partial_validation_asks_about_the_same_share_of_images(small):
    grid = small(validation="partial", budgets=[], schemes=["full-subset"], images=30)
    found, *_ = bought(grid)
    assert found.train.asked.sum() == 30 and found.validation.asked.sum() == 10


def test_validation_that_uses_up_the_budget_is_refused(small):
    with pytest.raises(BadInput) as caught:
        bought(small(validation="complete", budgets=[10]))
    assert str(caught.value) == (
        "labelling the validation split costs 20.88 dollars of a budget of 10; "
        "raise the budget or set validation to none"
    )


def test_partial_validation_labels_come_from_the_scheme_in_proportion(small):
    found, *_ = bought(small(validation="partial", budgets=[40], schemes=["full-subset"]))
    assert found.validation_dollars == pytest.approx(40 * 40 / 160, rel=0.1)
    assert found.dollars <= 40
    assert found.seconds == pytest.approx(found.dollars / 15 * 3600)
    assert found.validation.history.settings["scheme"] == "full-subset"


@pytest.mark.parametrize("validation", ["complete", "partial"])
def test_a_project_is_set_up_once(small, tmp_path, validation):
    file = tmp_path / "agency.toml"
    file.write_text('like = "coco-tagging"\nsetup = 7\n')
    settings = {"validation": validation, "budgets": [], "schemes": ["full-subset"]}
    plain, agency = (
        bought(small(prices=prices, **settings))[0] for prices in ("coco-tagging", str(file))
    )
    assert agency.validation_dollars == plain.validation_dollars > 0
    assert agency.dollars == pytest.approx(plain.dollars + 7)
    settings |= {"budgets": [50]}
    assert 0.8 * 50 < bought(small(prices=str(file), **settings))[0].dollars <= 50


def test_time_is_unknown_where_the_price_list_does_not_know_it(small):
    assert bought(small(prices="openimages"))[0].seconds is None


@pytest.mark.parametrize("validation", ["none", "partial", "complete"])
def test_hours_are_spent_and_not_exceeded(small, validation):
    found, *_ = bought(small(budgets=[], hours=[3], validation=validation))
    assert 0.85 * 3 * 3600 < found.seconds <= 3 * 3600


def test_what_is_left_is_told_with_what_validation_took(small):
    how = {"schemes": ["single-positive"], "validation": "complete"}
    with pytest.warns(UserWarning) as heard:
        bought(small(budgets=[], hours=[20], **how))
    assert str(heard[-1].message) == (
        "single-positive can spend 2.97 of 18.61 hours; everything was bought; validation labels "
        "took 1.39 of 20 hours before"
    )
    with pytest.warns(
        UserWarning, match=r"; validation labels took 20\.88 of 100\.00 dollars before$"
    ):
        bought(small(budgets=[100], **how))


def test_validation_that_uses_up_the_hours_is_refused(small):
    with pytest.raises(BadInput) as caught:
        bought(small(validation="complete", budgets=[], hours=[1]))
    assert str(caught.value) == (
        "labelling the validation split takes 1.39 hours of 1; "
        "raise the budget or set validation to none"
    )
    with pytest.raises(BadInput, match=r"^budgets are in hours and the price list does not know"):
        bought(small(validation="complete", budgets=[], hours=[1], prices="openimages"))
