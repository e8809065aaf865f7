import pytest
from simkit.study.material.material import Source, open_material
from simkit.study.material.near import wants_near, with_near
from simkit.study.material.shown import Shown, decoded

from simkit.annotate.simulate import simulate
from simkit.data import open
from simkit.embed.nearby.neighbours import Neighbours
from simkit.learn import methods
from simkit.learn.methods import Task

DATA = "scenes:images=60,val=10,test=10"


@pytest.fixture(scope="module")
def task():
    scenes = open(DATA)
    labels = simulate(scenes.truth["train"], "rpa")
    return Task(labels=labels, inputs=Shown().inputs(decoded(scenes, "train", 32)))


def test_what_is_near_is_told_by_features(task):
    cached = open_material(Source(DATA, ("train",), ("pooled",), "scenes-net"))
    found = with_near(task, methods.make("se-i"), lambda: cached)
    assert found.inputs is task.inputs
    assert isinstance(found.aids[0], Neighbours)


def test_nothing_is_opened_for_a_method_that_asks_for_nothing_near(task):
    def never():
        raise AssertionError

    assert with_near(task, methods.make("csl"), never) is task
    assert wants_near(methods.make("se")) and not wants_near(methods.make("an+scl"))
