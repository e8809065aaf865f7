"""A trial scores the test split, by hand on planted features."""

from pathlib import Path

import numpy as np
import pytest

from simkit.annotate.simulate import simulate
from simkit.data import open
from simkit.errors import BadInput
from simkit.learn import methods
from simkit.learn.metrics import average_precision, mean_ap
from simkit.learn.optim import Settings
from simkit.study.trial import trial

DATA = "scenes:images=200,val=10,test=100"


@pytest.fixture
def planted(tmp_path: Path) -> tuple[tuple[str, str], ...]:
    """Features that are the truth itself, a little noisy."""
    scenes, files = open(DATA), []
    for split in ("train", "test"):
        present = scenes.truth[split].rows(range(len(scenes.truth[split].images)))
        noise = np.random.default_rng(0).normal(0, 0.05, present.shape)
        np.savez(tmp_path / f"{split}.npz", features=(present + noise).astype(np.float32))
        files.append((split, str(tmp_path / f"{split}.npz")))
    return tuple(files)


def test_planted_features_are_learnt(planted) -> None:
    scenes = open(DATA)
    labels = simulate(scenes.truth["train"], "full-subset")
    done = trial(
        labels,
        methods.make("full"),
        data=DATA,
        features=planted,
        settings=Settings(epochs=100, lr=0.05),
    )
    assert (done.split, done.images) == ("test", 100)
    assert done.map > 0.8  # chance is 0.1; a few classes have no training image
    with np.load(dict(planted)["test"]) as file:
        from simkit.learn.inputs import FeatureInputs

        scores = done.trained.scores(FeatureInputs(file["features"].astype(np.float16)))
    ap = average_precision(scores, scenes.truth["test"].present)
    assert done.map == pytest.approx(mean_ap(ap[scenes.leaves]), abs=1e-6)
    assert done.map_all == pytest.approx(mean_ap(ap), abs=1e-6)


def test_labels_of_another_data_set(planted) -> None:
    labels = simulate(open("scenes:images=201").truth["train"], "rpa")
    with pytest.raises(BadInput, match="labels of another data set than the one given"):
        trial(labels, methods.make("an"), data=DATA, features=planted)
