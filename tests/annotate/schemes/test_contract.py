"""What every scheme promises, new ones included: this file asks the registry for all of them."""

import dataclasses
import itertools
import warnings

import numpy as np
import pytest

from simkit.annotate import answers, crowd, ledger, schemes, searching
from simkit.annotate.habits import Habits
from simkit.annotate.prices import cost, presets
from simkit.annotate.simulate import replay, simulate
from simkit.history import History
from simkit.labels.effort import QUESTIONS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# Further spellings of schemes whose settings change what they do.
VARIANTS = [
    "rpa(keep=0.7)",
    "fpc(per_class=7)",
    "fpc(per_class=7, search='random')",
    "fpc(per_class=7, keep_looks=True, precision=0.2)",
    "fpc(per_class=7, search='random', keep_looks=True)",
]
SPECS = [*schemes.names(), *VARIANTS]
HABITS = [Habits(), Habits(miss=0.2, false_alarm=0.05, workers=3, vote="union")]


def ask(spec: str, closed, diamond, **settings):
    return simulate(closed, spec, hierarchy=diamond, **settings)


@pytest.mark.parametrize("spec", SPECS)
def test_replays_to_the_same_id(spec, closed, diamond):
    labels = ask(spec, closed, diamond, habits=HABITS[1], images=0.7, seed=5, draw=3)
    again = replay(History.from_json(labels.history.to_json()), closed, diamond)
    assert again.id == labels.id and again.effort.to_json() == labels.effort.to_json()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("seed", range(3))
def test_a_perfect_crowd_is_never_contradicted(spec, seed, closed, diamond):
    labels = ask(spec, closed, diamond, seed=seed)
    codes, present = labels.codes.toarray(), closed.present.toarray()
    assert ((codes > 0) <= present).all() and ((codes < 0) <= ~present).all()
    assert ((codes != 0).any(1) <= labels.asked).all()
    assert codes.any()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("habits", HABITS, ids=["perfect", "erring"])
def test_sizes_of_pieces_change_nothing(spec, habits, closed, diamond, monkeypatch):
    whole = ask(spec, closed, diamond, habits=habits, images=0.8)
    from simkit.annotate.schemes import rpa

    sizes = [
        (answers, "SCRATCH"), (answers, "CHUNK"), (ledger, "SLICE"), (searching, "GROUP"),
        (crowd, "DENSE"), (rpa, "CHUNK"),
    ]  # fmt: skip
    for module, name in sizes:
        monkeypatch.setattr(module, name, 50)
    pieces = ask(spec, closed, diamond, habits=habits, images=0.8)
    assert pieces.id == whole.id
    assert pieces.effort.to_json() == whole.effort.to_json()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("habits", HABITS, ids=["perfect", "erring"])
def test_a_larger_amount_contains_a_smaller_one(spec, habits, closed, diamond):
    part = schemes.make(spec)
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


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", presets())
def test_every_preset_prices_it(spec, name, closed, diamond):
    bill = cost(ask(spec, closed, diamond), name)
    assert bill.dollars > 0
    assert bill.lines and all(line.kind in QUESTIONS and line.source for line in bill.lines)


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
    assert all(f.metadata.get("help") for f in dataclasses.fields(part))
    assert part.__dataclass_params__.frozen


@pytest.mark.parametrize("spec", SPECS)
def test_only_asked_images_are_labelled_and_the_rest_is_left(spec, closed, diamond):
    labels = ask(spec, closed, diamond, images=31)
    assert labels.asked.sum() <= 31
    assert labels.codes[np.flatnonzero(~labels.asked)].nnz == 0


@pytest.mark.parametrize("spec", SPECS)
def test_warnings_are_one_sentence(spec, closed, diamond):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        ask(spec, closed, diamond)
    assert all("\n" not in str(w.message) for w in heard)
