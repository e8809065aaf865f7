import pytest

from simkit.errors import BadInput
from simkit.study import figures, runs
from simkit.study.figures.options import at_cost, paid
from simkit.study.limit import Limit
from tests.study import planted_classes as planted


@pytest.mark.parametrize("name", ["heat-map", "rank-diagram", "convergence", "per-class"])
def test_a_budget_that_is_not_there_is_refused_in_the_figures_name(name):
    with pytest.raises(BadInput) as caught:
        figures.make(name, budget=7)(planted.table())
    assert str(caught.value) == f"{name}: no runs at the budget $7; budgets in the table are $10"


@pytest.mark.parametrize("name", ["class-groups", "per-class", "class-difference"])
def test_figures_of_classes_are_about_leaves_unless_asked(name):
    table = planted.table(leaves=(1, 2, 3))
    assert "Leaves only: 3 of 4 classes." in note(figures.make(name)(table))
    assert "Leaves" not in note(figures.make(name, classes="all")(table))


def note(drawing):
    return drawing.get_supxlabel().replace("\n", " ")


def test_a_scheme_that_is_not_there_is_refused():
    with pytest.raises(BadInput, match=r"no scheme of the table .per-class. is called 'rpb'"):
        figures.make("per-class", scheme="rpb")(planted.table())


def spent(*each):
    rows = [planted.planted.row(draw=d, dollars=v, seconds=360 * v) for d, v in enumerate(each)]
    return runs.tidy(rows, classes=())


def test_titles_claim_no_more_than_was_spent():
    assert paid(Limit(), spent(10)) == at_cost(Limit(), spent(10)) == ""
    assert paid(Limit(10.0), spent(9.8, 9.9)) == "for $10 of annotation each"
    assert at_cost(Limit(10.0), spent(9.8, 9.9)) == " at $10"
    assert paid(Limit(10.0), spent(4, 9)) == "for up to $10 of annotation each, $4 to $9 spent"
    assert at_cost(Limit(10.0), spent(4, 6)) == " at $5 of $10"
    assert paid(Limit(hours=2.0), spent(5, 5)) == (
        "in up to 2 hours of annotation each, 0.5 hours spent"
    )
    assert at_cost(Limit(hours=2.0), spent(5, 5)) == " in 0.5 of 2 hours"


@pytest.mark.parametrize("name", ["class-groups", "per-class", "class-difference"])
def test_figures_of_one_scheme_say_what_it_cost(name):
    assert (
        figures.make(name)(planted.table(dollars=6.0)).get_suptitle().endswith("fpc at $6 of $10")
    )
