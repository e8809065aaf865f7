"""What figures of runs say of budgets."""

import pandas as pd
import pytest

from simkit.errors import BadInput
from simkit.study import figures
from simkit.study.figures.options import at_cost, paid
from simkit.study.limit import Limit
from tests.study import planted_classes


@pytest.mark.parametrize("name", ["heat-map", "rank-diagram", "convergence", "per-class"])
def test_a_budget_that_is_not_there_is_refused_in_the_figures_name(name):
    with pytest.raises(BadInput, match=rf"{name}: no runs at the budget \$7.*are \$10"):
        figures.make(name, budget=7)(planted_classes.table())


def spent(*each):
    return pd.DataFrame({"dollars": each, "seconds": [360.0 * value for value in each]})


def test_titles_claim_no_more_than_was_spent():
    assert paid(Limit(), spent(10)) == at_cost(Limit(), spent(10)) == ""
    assert paid(Limit(10.0), spent(9.8, 9.9)) == "for $10 of annotation each"
    assert at_cost(Limit(10.0), spent(9.8, 9.9)) == " at $10"
    assert paid(Limit(10.0), spent(4, 9)) == "for up to $10 of annotation each, $4 to $9 spent"
    assert at_cost(Limit(10.0), spent(4, 6)) == " at $5 of $10"
    hours = "in up to 2 hours of annotation each, 0.5 hours spent"
    assert paid(Limit(hours=2.0), spent(5, 5)) == hours
    assert at_cost(Limit(hours=2.0), spent(5, 5)) == " in 0.5 of 2 hours"
