import pytest

from simkit.errors import BadInput
from simkit.study import figures
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
