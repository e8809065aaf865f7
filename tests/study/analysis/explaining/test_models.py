"""Models begin alike and learn from what their name says."""

import dataclasses

import numpy as np
import pytest

from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.learn.methods import Task, make
from simkit.learn.train import train
from simkit.study.analysis.explaining.models import models
from tests.study.analysis.explaining.conftest import SETTINGS, SPECS


def test_each_method_once_by_its_name(trained) -> None:
    assert tuple(trained) == SPECS


def test_partial_labels_are_those_of_the_scheme_and_draw(scenes, trained) -> None:
    how = {"hierarchy": scenes.hierarchy, "boxes": scenes.data.boxes["train"]}
    labels = simulate(scenes.truth("train"), "single-positive", **how)
    task = Task(labels, scenes.inputs("train", "maps"))
    assert train(task, make("an"), settings=SETTINGS).id == trained["an"].id
    other = models(scenes, ["an"], "single-positive", settings=SETTINGS, draw=1)
    assert other["an"].id != trained["an"].id


def test_full_knows_every_label(scenes, trained) -> None:
    truth = scenes.truth("train")
    codes = np.where(truth.rows(range(truth.shape[0])), 1, -1).astype(np.int8)
    task = Task(codes, scenes.inputs("train", "maps"))
    assert train(task, make("full"), settings=SETTINGS).id == trained["full"].id


def test_watchers_see_their_model_alone(scenes) -> None:
    seen = []

    class Watcher:
        def __call__(self, epoch, batch, out, state) -> None:
            seen.append(int((batch.labels == 1).sum()))

    short = dataclasses.replace(SETTINGS, epochs=1)
    models(scenes, ["full", "an"], "single-positive", settings=short, watch={"an": [Watcher()]})
    assert sum(seen) == 600  # one label of each picture


def test_what_is_missing_is_named(scenes) -> None:
    for given, message in (
        ((scenes, [], "rpa"), "models: no method was named; name some, such as full and an"),
        (
            (dataclasses.replace(scenes, features={}), ["an"], "rpa"),
            "class maps are made from maps of features, and the material has none of train; open "
            'it with kinds ("maps",)',
        ),
    ):
        with pytest.raises(BadInput) as error:
            models(*given)
        assert str(error.value) == message
    for methods in (["an"], "an"):  # a text is not read letter by letter
        with pytest.raises(BadInput) as error:
            models(scenes, methods, "rpa", watch={"a": []})
        assert str(error.value) == "models: 'a' is watched and not trained; methods are an"
