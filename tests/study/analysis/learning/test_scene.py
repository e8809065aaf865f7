"""Scenes are of numbers that fit together."""

import dataclasses

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.study.analysis.learning.scene import Scene

SCENE = Scene.drawn()


def test_a_scene_has_all_classes_and_three_kinds_of_labels() -> None:
    assert SCENE.truth.shape == SCENE.logits.shape == (64, 20) and SCENE.truth.any(0).all()
    codes = SCENE.task.labels.rows(np.arange(SCENE.batch))
    wanted = {"known positive": 1, "known negative": -1, "unknown": 0}
    entries = SCENE.entries()
    assert {name: codes[place] for name, place in entries.items()} == wanted
    assert len({c for _, c in entries.values()}) == 1 and not SCENE.truth[entries["unknown"]]


def test_scenes_are_of_numbers() -> None:
    for given, sentence in (
        ({"images": 0}, "Scene.drawn: images is 0; a whole number of at least 1 is expected"),
        ({"classes": 65}, "Scene.drawn: classes is 65; a whole number from 1 to 64 is expected"),
        ({"known": 0}, "Scene.drawn: known is 0; a number above 0 and up to 1 is expected"),
    ):
        with pytest.raises(BadInput) as error:
            Scene.drawn(**given)
        assert str(error.value) == sentence
    with pytest.raises(BadInput, match=r"^Scene: batch is 0; a whole number from 1 to 64 is"):
        dataclasses.replace(SCENE, batch=0)
    assert Scene.drawn(images=8, classes=5).batch == 8
