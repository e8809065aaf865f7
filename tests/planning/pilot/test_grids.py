"""Grids by which every scheme is measured at its own sizes."""

import tomllib

import pytest

from simkit.planning.pilot.design import pilot
from simkit.planning.pilot.grids import grids
from simkit.planning.pilot.standin import like
from simkit.study.grid import Grid


@pytest.fixture(scope="module")
def made():
    return pilot(like(20, 2.0, images=1000), "careful", 500.0)


def test_a_grid_has_the_sizes_that_the_pilot_tells(made) -> None:
    found = [Grid.of(tomllib.loads(text) | {"data": "scenes"}) for text in grids(made, "careful")]
    sizes = {scheme: grid.budgets for grid in found for scheme in grid.schemes}
    assert set(sizes) == {part.scheme for part in made.parts}
    for part in made.parts:
        assert sizes[part.scheme] == pytest.approx(part.budgets, rel=0.02)
        assert list(sizes[part.scheme]) == sorted(sizes[part.scheme])
    assert all(grid.draws == 3 and grid.prices == "careful" for grid in found)
    assert [grid.reference for grid in found] == [True] + [False] * (len(found) - 1)


def test_schemes_of_equal_sizes_share_a_grid(made) -> None:
    told = grids(made, "careful")
    assert len(told) == 4
    assert 'schemes = ["rpa", "fpc"]' in told[2] and told[2].startswith("# grid-3.toml\n")


def test_prices_of_ones_own_are_named_as_they_were_given(made) -> None:
    assert all('prices = "my list.toml"' in text for text in grids(made, "my list.toml"))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_bought_by_these_budgets_is_less_than_everything(made) -> None:
    from simkit.annotate.budget import amount_for

    truth = like(20, 2.0, images=675, seed=4)
    for scheme in ("rpa", "fpc"):
        budget = next(part for part in made.parts if part.scheme == scheme).budgets[-1]
        known = amount_for(budget, truth, scheme, "careful").labels.counts()
        assert known["unknown"] >= 0.7 * 675 * 20
