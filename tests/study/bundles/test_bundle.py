import dataclasses
import pickle

import pytest
from simkit.study.bundles.bundle import Bundle, Purchase, kind_of, on_complete_labels
from simkit.study.material.material import Source

from simkit.annotate.habits import Habits
from simkit.annotate.prices import prices
from simkit.learn.steps.optim import Settings

FPC = Purchase("fpc", ("an", "ll-r"), budget=10.0)
BUNDLE = Bundle(
    source=Source("scenes", ("train", "test"), ("pooled",), "scenes-net"),
    purchases=(FPC, Purchase("rpa", ("an",), hours=2.0)),
    draws=(1,),
    seed=0,
    validation="none",
    habits=Habits(),
    prices=prices("careful"),
    train=Settings(),
    curves=False,
    memory=2.0,
    ids={"truth train": "a", "features train pooled": "b"},
)


@pytest.mark.parametrize(
    "change",
    [
        {"scheme": "fpc(precision=0.4)"},
        {"methods": ("an", "ll-r(delta=0.2)")},
        {"methods": ("an",)},
        {"budget": 11.0},
        {"budget": None},
        {"budget": None, "hours": 10.0},
        {"images": 0.5},
        {"images": 1},
        {"reference": True},
    ],
)
def test_whatever_is_bought_changes_the_key(change):
    purchases = (dataclasses.replace(FPC, **change), *BUNDLE.purchases[1:])
    assert dataclasses.replace(BUNDLE, purchases=purchases).key != BUNDLE.key


@pytest.mark.parametrize(
    "change",
    [
        {"purchases": (FPC,)},
        {"purchases": BUNDLE.purchases[::-1]},
        {"curves": True},
        {"memory": 1.0},
        {"draws": (2,)},
        {"draws": (1, 2)},
        {"seed": 1},
        {"validation": "complete"},
        {"habits": Habits(miss=0.1)},
        {"prices": prices("google")},
        {"train": Settings(epochs=3)},
        {"ids": {"truth train": "z", "features train pooled": "b"}},
    ],
)
def test_whatever_decides_the_result_changes_the_key(change):
    assert dataclasses.replace(BUNDLE, **change).key != BUNDLE.key


def test_where_files_lie_does_not_change_the_key():
    elsewhere = dataclasses.replace(
        BUNDLE.source, data="scenes:images=3000", weights="moved.safetensors"
    )
    assert dataclasses.replace(BUNDLE, source=elsewhere).key == BUNDLE.key
    assert pickle.loads(pickle.dumps(BUNDLE)).key == BUNDLE.key


def test_prices_of_other_content_change_the_key():
    dearer = dataclasses.replace(BUNDLE.prices, wage=16.0)
    assert dataclasses.replace(BUNDLE, prices=dearer).key != BUNDLE.key


def test_methods_that_look_at_maps_are_told_apart():
    assert [kind_of(m) for m in ("an", "ll-r", "an+boostlu")] == ["pooled", "pooled", "maps"]


def test_complete_labels_are_trained_with_the_same_models():
    assert on_complete_labels(["an", "ll-r"]) == ("full", "an", "ll-r")
    specs = ["an+boostlu", "ll-r(delta=0.1)+boostlu"]
    assert on_complete_labels(specs) == ("full", "full+boostlu", *specs)
    assert on_complete_labels(["an+boostlu(alpha=1e+1)"])[1] == "full+boostlu(alpha=1e+1)"


def test_bundles_and_purchases_name_themselves():
    assert str(BUNDLE) == "fpc, budget 10 and 1 more, draw 1"
    assert str(dataclasses.replace(BUNDLE, purchases=(FPC,))) == "fpc, budget 10, draw 1"
    several = dataclasses.replace(BUNDLE, draws=(0, 1, 2))
    assert str(several) == "fpc, budget 10 and 1 more, draws 0 to 2"
    assert [one.draw for one in several.each()] == [0, 1, 2] and several.runs == 3 * BUNDLE.runs
    assert [str(one) for one in BUNDLE.purchases] == ["fpc, budget 10", "rpa, 2 hours"]
    assert str(dataclasses.replace(FPC, budget=None)) == "fpc"
    assert BUNDLE.runs == 3
