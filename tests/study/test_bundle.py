import dataclasses
import pickle

import pytest

from simkit.annotate.habits import Habits
from simkit.annotate.prices import prices
from simkit.learn.optim import Settings
from simkit.study.bundle import Bundle, ceilings, kind_of
from simkit.study.material import Source

BUNDLE = Bundle(
    source=Source("scenes", ("train", "test"), ("pooled",), "scenes-net"),
    scheme="fpc",
    methods=("an", "ll-r"),
    budget=10.0,
    draw=1,
    seed=0,
    images=1.0,
    validation="none",
    reference=False,
    habits=Habits(),
    prices=prices("careful"),
    train=Settings(),
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
        {"draw": 2},
        {"seed": 1},
        {"images": 0.5},
        {"images": 1},
        {"validation": "complete"},
        {"reference": True},
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
    assert ceilings(["an", "ll-r"]) == ("full",)
    assert ceilings(["an+boostlu", "ll-r(delta=0.1)+boostlu"]) == ("full", "full+boostlu")
    assert ceilings(["an+boostlu(alpha=1e+1)"]) == ("full", "full+boostlu(alpha=1e+1)")


def test_a_bundle_names_itself():
    assert str(BUNDLE) == "fpc, budget 10, draw 1"
    assert str(dataclasses.replace(BUNDLE, budget=None)) == "fpc, draw 1"
