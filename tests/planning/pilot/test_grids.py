"""Grids by which every scheme is measured at its own sizes."""

import dataclasses
import tomllib

import pytest

from simkit import data as datasets
from simkit.annotate.budget import amount_for
from simkit.annotate.prices import presets, prices
from simkit.planning.pilot.design import pilot
from simkit.planning.pilot.grids import grids
from simkit.planning.pilot.standin import like
from simkit.study.bundles.affordable import check_limits
from simkit.study.grids.grid import Grid
from simkit.study.material.material import Material

SET_UP = dataclasses.replace(prices("google"), name="with set-up", setup=500.0, setup_class=2.0)


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
    truth = like(20, 2.0, images=675, seed=4)
    for scheme in ("rpa", "fpc"):
        budget = next(part for part in made.parts if part.scheme == scheme).budgets[-1]
        known = amount_for(budget, truth, scheme, "careful").labels.counts()
        assert known["unknown"] >= 0.7 * 675 * 20


@pytest.fixture(scope="module")
def scenes():
    """As many as a pilot has, and others to price it on."""
    return [datasets.open(f"scenes:images={n},val=5,test=5").truth["train"] for n in (1000, 170)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("listed", [*map(prices, presets()), SET_UP], ids=lambda one: one.name)
def test_every_grid_is_one_that_simkit_takes(listed, scenes, monkeypatch) -> None:
    seen, there = scenes[0].select(range(170, 1000)), scenes[1]
    each = pilot(seen, listed, 1e7, schemes=["full-subset"]).per_image
    set_up = listed.setup + listed.setup_class * 52
    made = pilot(seen, listed, 1500 * each + set_up)
    assert made.images == pytest.approx(170, abs=5) or set_up
    monkeypatch.setattr("simkit.study.bundles.affordable.prices", lambda name: listed)
    data = datasets.open("scenes:images=170,val=5,test=5")
    for text in grids(made, "google"):
        grid = Grid.of(tomllib.loads(text) | {"data": "scenes"})
        assert len(grid.budgets) >= 3
        check_limits(grid, Material(data, {}))
        if made.images > 180:
            continue
        for scheme in grid.schemes:  # and every draw buys as many sizes as a curve needs
            for draw in range(grid.draws):
                bought = [amount_for(b, there, scheme, listed, draw=draw) for b in grid.budgets]
                assert len({one.cost.dollars for one in bought}) >= 3
