"""Scores of a trained model as a table."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import simkit
from simkit.embed.features import extract
from simkit.errors import BadInput
from simkit.learn import methods
from simkit.learn.methods import Task
from simkit.learn.trained import Trained
from simkit.study.sources import ImageTransform, StudySource
from simkit.study.trial import trial

AN = methods.make("an")
ONE = simkit.Settings(epochs=1)


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trained, Path]:
    """A head on features of scenes-net, and the folder it is saved in."""
    scenes = simkit.data.open("scenes:images=60,val=20,test=20")
    labels = simkit.simulate(scenes.truth["train"], "rpa(keep=0.5)")
    source = StudySource("scenes:images=60,val=20,test=20", (), (), "scenes-net")
    trained = trial(labels, AN, source, settings=ONE).trained
    folder = tmp_path_factory.mktemp("model")
    trained.save(folder)
    return trained, folder


def photos(folder: Path) -> dict[str, np.ndarray]:
    """Three images, written to a folder, by name."""
    scenes = simkit.data.open("scenes:images=60,val=20,test=20")
    images = scenes.pictures["test"].read([0, 1, 2])
    for number, image in enumerate(images):
        Image.fromarray(image).save(folder / f"{number}.png")
    return {f"{number}.png": image for number, image in enumerate(images)}


def test_a_saved_model_scores_a_folder_of_images(head: tuple[Trained, Path], tmp_path: Path):
    _, model = head
    names = photos(tmp_path)
    table = simkit.predict(model, f"folder:{tmp_path},labels=none")
    assert list(table.index) == list(names)
    of_scenes = simkit.predict(model, "scenes:images=60,val=20,test=20", split="test")
    np.testing.assert_allclose(table, of_scenes.iloc[:3], atol=1e-5)
    assert tuple(table.columns) == head[0].classes


def test_unreadable_images_are_nan_if_skipped(head: tuple[Trained, Path], tmp_path: Path):
    photos(tmp_path)
    (tmp_path / "1.png").write_bytes((tmp_path / "1.png").read_bytes()[:60])  # torn
    data = f"folder:{tmp_path},labels=none"
    with pytest.raises(BadInput, match=r"1\.png"):
        simkit.predict(head[1], data)
    with pytest.warns(
        UserWarning, match=r"without scores because their file cannot be read: 1 of \d+"
    ):
        table = simkit.predict(head[1], data, unreadable="skip")
    assert table.isna().all(axis=1).tolist() == [False, True, False]


def test_arrays_and_inputs_are_scored(task: Task, maps: np.ndarray):
    trained = simkit.train(task, AN, settings=ONE)
    table = simkit.predict(trained, maps)
    assert isinstance(table, pd.DataFrame)
    np.testing.assert_array_equal(table, trained.scores(task.inputs))
    pd.testing.assert_frame_equal(table, simkit.predict(trained, task.inputs))
    pd.testing.assert_frame_equal(table, simkit.predict(trained, torch.from_numpy(maps)))


def test_a_fine_tuned_model_brings_its_network(tmp_path: Path):
    spec = "scenes:images=20,val=10,test=10"
    labels = simkit.simulate(simkit.data.open(spec).truth["train"], "rpa(keep=0.5)")
    source = StudySource(spec, (), (), "scenes-net")
    trained = trial(labels, AN, source, transform=ImageTransform(), settings=ONE).trained
    trained.save(tmp_path)
    table = simkit.predict(tmp_path, spec, split="test")
    again = simkit.predict(trained, np.stack(simkit.data.open(spec).pictures["test"].read(
        range(10))).transpose(0, 3, 1, 2))  # fmt: skip
    np.testing.assert_allclose(table, again, atol=1e-5)


def test_another_network_of_the_same_width_is_refused(head: tuple[Trained, Path]):
    spec = "scenes:images=60,val=20,test=20"
    other = simkit.backbone("scenes-net", "random")
    with pytest.raises(BadInput, match="name the network and the weights of the training"):
        simkit.predict(head[1], spec, split="test", backbone=other)
    same = simkit.backbone("scenes-net")
    simkit.predict(head[1], spec, split="test", backbone=same)


def test_a_model_of_central_squares_is_refused_for_whole_images(head: tuple[Trained, Path]):
    trained, _ = head
    earlier = {name: value for name, value in trained.history.settings.items() if name != "fit"}
    old = replace(trained, history=replace(trained.history, settings=earlier))
    with pytest.raises(BadInput, match=r"central squares .* train again"):
        simkit.predict(old, "scenes:images=60,val=20,test=20", split="test")


def test_a_model_trained_on_a_folder_of_features_knows_its_network(tmp_path: Path):
    spec = "scenes:images=60,val=20,test=20"
    data = simkit.data.open(spec)
    for split in ("train", "test"):
        extract(data, split, simkit.backbone("scenes-net"), out=tmp_path / split)
    labels = simkit.simulate(data.truth["train"], "rpa(keep=0.5)")
    folders = tuple((split, str(tmp_path / split / "pooled")) for split in ("train", "test"))
    trained = trial(labels, AN, StudySource(spec, (), (), features=folders), settings=ONE).trained
    assert len(simkit.predict(trained, spec, split="test")) == 20


def test_a_backbone_that_cannot_be_named_has_to_be_given(task: Task, pooled: Task):
    trained = simkit.train(pooled, AN, settings=ONE)
    with pytest.raises(BadInput, match="backbone="):
        simkit.predict(trained, "scenes:images=60,val=20,test=20")
    with pytest.raises(BadInput, match="no images for 'dev'"):
        simkit.predict(trained, "scenes", split="dev", backbone=simkit.backbone("scenes-net"))
