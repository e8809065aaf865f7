"""What figures of runs say of budgets."""

import pytest

from simkit import figures
from simkit.errors import BadInput
from tests.results import planted_classes


@pytest.mark.parametrize("name", ["heat-map", "rank-diagram", "convergence", "per-class"])
def test_a_budget_that_is_not_there_is_refused_in_the_figures_name(name):
    with pytest.raises(BadInput, match=rf"{name}: no runs at the budget \$7.*are \$10"):
        figures.make(name, budget=7)(planted_classes.table())
