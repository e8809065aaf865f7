"""A trial scores the test split, by hand on planted features."""

import json
from pathlib import Path

import numpy as np
import pytest

from simkit.annotate.simulate import simulate
from simkit.data import open
from simkit.errors import BadInput
from simkit.learn import methods
from simkit.learn.metrics import average_precision, mean_ap
from simkit.learn.steps.optim import Settings
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
        from simkit.learn.feeding.inputs import FeatureInputs

        scores = done.trained.scores(FeatureInputs(file["features"].astype(np.float16)))
    ap = average_precision(scores, scenes.truth["test"].present)
    assert done.map == pytest.approx(mean_ap(ap[scenes.leaves]), abs=1e-6)
    assert done.map_all == pytest.approx(mean_ap(ap), abs=1e-6)


def test_labels_of_another_data_set(planted) -> None:
    labels = simulate(open("scenes:images=201").truth["train"], "rpa")
    with pytest.raises(BadInput, match="labels of another data set than the one given"):
        trial(labels, methods.make("an"), data=DATA, features=planted)


def test_the_epoch_is_chosen_on_what_is_not_scored() -> None:
    labels = simulate(open(DATA).truth["train"], "full-subset")
    how = {"data": DATA, "settings": Settings(epochs=6, lr=0.5, select="best")}
    done = trial(labels, methods.make("full"), **how)
    assert done.chosen_by == 10 and done.split == "test"
    assert done.trained.epoch == 1 + int(np.argmax(done.trained.validation))
    assert done.trained.history.settings["validation"] == "complete"
    assert done.trained.history.settings["weights"] == "its own"
    last = trial(labels, methods.make("full"), data=DATA, settings=Settings(epochs=1))
    assert last.chosen_by == 0 and last.trained.validation == ()


def test_what_is_scored_chooses_nothing(tmp_path) -> None:
    file = tmp_path / "mine.json"
    boxes = [
        {"id": i, "image_id": i, "category_id": 1 + i % 2, "bbox": [0, 0, 9, 9]} for i in range(12)
    ]
    images = [{"id": i, "file_name": f"{i}.png", "height": 9, "width": 9} for i in range(12)]
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    whole = {"images": images, "annotations": boxes, "categories": categories}
    file.write_text(json.dumps(whole))
    mine = open(f"coco:{file}")
    labels = simulate(mine.truth[mine.to_label], "full-subset")
    with pytest.raises(BadInput) as error:
        settings = Settings(epochs=2, select="best")
        trial(labels, methods.make("full"), data=f"coco:{file}", settings=settings)
    assert str(error.value) == (
        f"select is 'best', and 'coco:{file}' has nothing to choose an epoch by but the val split, "
        "which is scored; name both a val and a test part, or set select to 'last'"
    )


@pytest.mark.parametrize("spec", ["se", "se-l(psi=mean)"])
def test_what_is_near_is_told_by_features_where_pixels_are_learned_from(spec) -> None:
    labels = simulate(open(DATA).truth["train"], "full-subset", images=0.5)
    how = {"data": DATA, "settings": Settings(epochs=1, lr=1e-4)}
    tuned, plain = (
        trial(labels, methods.make(spec), fine_tune=fine, **how) for fine in (True, False)
    )
    assert tuned.trained.model.backbone is not None and plain.trained.model.backbone is None
    # After labels and inputs, and the backbone where it learns.
    aids = [tuned.trained.history.parents[3:], plain.trained.history.parents[2:]]
    assert aids[0] == aids[1] and len(aids[0]) == len(methods.make(spec).needs.aids)
    assert 0 < tuned.map < 1
