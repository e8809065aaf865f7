"""Maps are those that a method scores by, with the places of its objects."""

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import make
from simkit.study.analysis.explaining.activation import Snapshots, activation, explanations
from simkit.study.analysis.explaining.models import models
from tests.study.analysis.explaining.conftest import SETTINGS


def all_maps(trained, inputs) -> np.ndarray:
    return np.concatenate(list(explanations(trained, inputs, batch=30)))


@pytest.mark.parametrize("spec", ["full", "an", "an+boostlu(train=false)", "an+boostlu"])
def test_means_are_the_scores(scenes, trained, spec) -> None:
    inputs = scenes.inputs("test", "maps")
    found = all_maps(trained[spec], inputs)
    assert found.shape == (80, 52, 8, 8)
    np.testing.assert_allclose(
        found.mean((2, 3)), trained[spec].scores(inputs), rtol=1e-4, atol=1e-4
    )


def test_a_boost_at_inference_multiplies_what_is_positive(scenes, trained) -> None:
    inputs = scenes.inputs("test", "maps")
    plain = np.concatenate(list(trained["an+boostlu(train=false)"].maps(inputs)))
    boosted = all_maps(trained["an+boostlu(train=false)"], inputs)
    np.testing.assert_allclose(boosted, np.where(plain > 0, 5 * plain, plain), rtol=1e-5)


def test_a_row_for_each_model_and_pick(scenes, trained) -> None:
    truth, boxes = scenes.truth("test"), scenes.data.boxes["test"]
    inputs = scenes.inputs("test", "maps")
    n, c = int(boxes.images[5]), int(boxes.classes[5])
    name = truth.classes[c]
    other = truth.classes[int(np.flatnonzero(~truth.rows([n])[0])[0])]
    some = {key: trained[key] for key in ("full", "an")}
    rows = activation(some, inputs, [(n, name), (n, other)], truth=truth, boxes=boxes).to_pylist()
    assert [(row["model"], row["class"]) for row in rows] == [
        ("full", name), ("full", other), ("an", name), ("an", other)
    ]  # fmt: skip
    assert [row["present"] for row in rows] == [True, False] * 2
    own = (boxes.images == n) & (boxes.classes == c)
    np.testing.assert_allclose(rows[0]["boxes"], boxes.corners[own] / 64, rtol=1e-6)
    assert rows[1]["boxes"] == []
    np.testing.assert_allclose(rows[2]["map"], all_maps(trained["an"], inputs)[n, c], rtol=1e-5)
    score = trained["an"].scores(inputs)[n, c]
    np.testing.assert_allclose(rows[2]["probability"], 1 / (1 + np.exp(-score)), rtol=1e-4)
    assert activation(some, inputs, [(n, name)], truth=truth)["boxes"].to_pylist() == [[], []]


def test_snapshots_keep_every_epoch(scenes) -> None:
    few = FeatureInputs(scenes.inputs("test", "maps").values[:3])
    spec = "an+boostlu(train=false)"
    kept = Snapshots(make(spec), few)
    done = models(scenes, [spec], "single-positive", settings=SETTINGS, watch={spec: [kept]})[spec]
    assert list(kept.maps) == list(range(1, 11))
    np.testing.assert_allclose(kept.maps[10], all_maps(done, few), rtol=1e-5)
    assert np.abs(kept.maps[1] - kept.maps[10]).max() > 1


def test_what_does_not_fit_is_named(scenes, trained) -> None:
    truth, inputs = scenes.truth("test"), scenes.inputs("test", "maps")
    one = {"an": trained["an"]}
    train = scenes.truth("train")
    for arguments, message in (
        (({}, inputs, [(0, "star")], truth), "activation: no model came; give some, as "
         "{'AN': trained}"),
        ((one, inputs, [], truth), "activation: no image and class was picked; give some, as "
         "[(0, 'zero')]"),
        ((one, inputs, [(0, "stars")], truth), "no class (activation) is called 'stars'; did you "
         "mean 'star'?"),
        ((one, inputs, [(80, "star")], truth), "activation: there is no image 80; rows from 0 to "
         "79 are expected"),
        ((one, inputs, [(0.5, "star")], truth), "activation: there is no image 0.5; rows from 0 to "
         "79 are expected"),
        ((one, inputs, (0, "star"), truth), "activation: picks are (0, 'star'); pairs are "
         "expected, as [(0, 'zero')]"),
        ((trained["an"], inputs, [(0, "star")], truth), "activation: no model came by name, but a "
         "Trained; give some, as {'AN': trained}"),
        ((one, inputs, [(0, "star")], train), "activation: 80 inputs came with a truth of 600 "
         "images; give those of one split"),
    ):  # fmt: skip
        with pytest.raises(BadInput) as error:
            activation(*arguments[:3], truth=arguments[3])
        assert str(error.value) == message
    pooled = FeatureInputs(np.asarray(inputs.values[:4]).mean((2, 3)))
    with pytest.raises(BadInput) as error:
        next(explanations(trained["an"], pooled))
    assert str(error.value) == (
        "class maps are made from maps of features, and these are pooled; bring maps, as simkit "
        "features --kind maps writes them"
    )
