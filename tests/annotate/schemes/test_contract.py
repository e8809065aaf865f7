"""What every scheme promises, new ones included: this file asks the registry for all of them."""

import dataclasses
import itertools
from functools import partial

import numpy as np
import pytest

from simkit.annotate import schemes
from simkit.annotate.annotators import Habits
from simkit.annotate.budget import Ladder, amount_for
from simkit.annotate.prices import cost, presets
from simkit.annotate.schemes import largest as largest_amount
from simkit.annotate.simulate import replay, simulate
from simkit.history import History
from tests.annotate.schemes.variants import SPECS, options_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

HABITS = [Habits(), Habits(miss=0.2, false_alarm=0.05, workers=3, vote="union")]


def ask(spec: str, closed, diamond, **settings):
    return simulate(closed, spec, hierarchy=diamond, **options_of(closed), **settings)


@pytest.mark.parametrize("spec", SPECS)
def test_replays_to_the_same_id(spec, closed, diamond):
    labels = ask(spec, closed, diamond, habits=HABITS[1], images=0.7, seed=5, draw=3)
    history = History.from_json(labels.history.to_json())
    again = replay(history, closed, diamond, **options_of(closed))
    assert again.id == labels.id and again.effort.to_json() == labels.effort.to_json()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("habits", HABITS, ids=["perfect", "erring"])
def test_a_larger_amount_contains_a_smaller_one(spec, habits, closed, diamond):
    part = schemes.make(spec)
    if getattr(part, "search", "") == "scores":
        pytest.skip("absent images among more candidates take the place of others")
    if part.amount is None:
        grown = [(part, images) for images in (20, 60, 200)]
    else:
        amounts = {int: (1, 4, 20, 150), float: (0.05, 0.3, 0.31, 1.0)}
        steps = amounts[type(getattr(part, part.amount))]
        grown = [(dataclasses.replace(part, **{part.amount: step}), 200) for step in steps]
    made = [ask(p, closed, diamond, habits=habits, images=n) for p, n in grown]
    for small, large in itertools.pairwise(made):
        inside = small.codes.toarray()
        assert np.array_equal(large.codes.toarray()[inside != 0], inside[inside != 0])
        assert (small.asked <= large.asked).all()
        for name in presets():
            assert cost(small, name).dollars <= cost(large, name).dollars


def most(part, images, classes):
    """The largest useful amount, in the type of the field."""
    return type(getattr(part, part.amount))(largest_amount(part, images, classes))


@pytest.mark.parametrize("spec", schemes.names())
@pytest.mark.parametrize("name", presets())
def test_a_budget_finds_its_amount_in_a_few_simulations(spec, name, closed, diamond, monkeypatch):
    made = []

    def counting(*values, **settings):
        made.append(simulate(*values, **settings))
        return made[-1]

    monkeypatch.setattr("simkit.annotate.budget.simulate", counting)
    part = schemes.make(spec)
    shared = {"hierarchy": diamond, **options_of(closed)}
    largest = {part.amount: most(part, *closed.shape)} if part.amount else {}
    everything = simulate(closed, dataclasses.replace(part, **largest), **shared)
    ladder = Ladder.of(partial(simulate, closed, **shared), closed.shape, part, name)
    smallest = ladder.least().cost.dollars  # a page may hold all that is asked
    budget = max(0.4 * cost(everything, name).dollars, smallest)
    made.clear()
    bought = amount_for(budget, closed, part, name, **shared)
    assert bought.cost.dollars <= budget
    amount = getattr(bought.scheme, part.amount) if part.amount else None
    if isinstance(amount, int) and amount < largest[part.amount]:  # one more is too much
        more = amount + 1
        larger = dataclasses.replace(bought.scheme, **{part.amount: more})
        assert cost(simulate(closed, larger, **shared), name).dollars > budget
    else:
        assert bought.cost.dollars > 0.8 * budget
    assert len(made) <= 20
    again = simulate(closed, bought.scheme, images=bought.images, **shared)
    assert again.id == bought.labels.id


@pytest.mark.parametrize("spec", SPECS)
def test_it_is_spelled_completely(spec):
    part = schemes.make(spec)
    text = schemes.spell(part)
    assert schemes.make(text) == part
    assert all(f"{f.name}=" in text for f in dataclasses.fields(part))


@pytest.mark.parametrize("name", schemes.names())
def test_it_describes_itself(name):
    part = schemes.schemes[name]
    assert part.title and part.source and part.__doc__
    assert part.amount is None or part.amount in {f.name for f in dataclasses.fields(part)}
    assert part.__dataclass_params__.frozen
