"""An interrupted training ends with the same numbers, whatever it is made of."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from simkit.embed import devices
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.checkpoint import describe
from simkit.learn.inputs import ImageInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.train import train
from simkit.learn.validation import Validation
from tests.learn.test_linear_init import Normalising, features_of, task
from tests.learn.test_saved import Stop, until

__all__ = ["task"]

EVERYTHING = {
    "averages": Settings(epochs=4, batch_size=8, ema=0.9, schedule="one-cycle", optimiser="adamw",
                         weight_decay=0.01, decay_vectors=False, cycle_momentum=True),
    "better": Settings(epochs=4, batch_size=8, lr=0.05, ema=0.9, keep="better", select="best"),
    "steps": Settings(epochs=4, batch_size=4, accumulate=3, schedule="step", milestones=(1, 3),
                      optimiser="sgd", lr=0.05),
    "bf16": Settings(epochs=4, batch_size=8, precision="bf16", schedule="cosine"),
    "head first": Settings(epochs=2, batch_size=8, head_epochs=2, head_lr=0.02, ema=0.5,
                           select="best", schedule="cosine"),
    "head goes on": Settings(epochs=2, batch_size=8, head_epochs=2, head_then="go-on",
                             head_augment=True),
}  # fmt: skip


def same(a, b) -> None:
    assert a.id == b.id and a.losses == b.losses and a.validation == b.validation
    assert a.head_losses == b.head_losses and a.head_validation == b.head_validation
    assert a.validation_plain == b.validation_plain and a.epoch == b.epoch
    assert {k: v.tolist() for k, v in a.state.state_dict().items()} == {
        k: v.tolist() for k, v in b.state.state_dict().items()
    }


@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.parametrize("spec", ["ll-r(delta=5)+cl", "role(expected=2)"])
def test_an_interrupted_training_ends_with_the_same_numbers(
    task, tmp_path, name, spec, monkeypatch
):
    rng = np.random.default_rng(3)
    held = Validation(ImageInputs(task.inputs.pictures[:20]), Truth.of(rng.random((20, 4)) < 0.5))
    monkeypatch.setattr(devices, "_multiplies_bf16", lambda: True)
    given = {"settings": EVERYTHING[name], "backbone": Normalising(), "validation": held}
    whole = train(task, make(spec), **given)
    path = tmp_path / "training.safetensors"
    for epoch in (1, 2, 3):  # with a head first, 2 is the turn between both
        with pytest.raises(Stop):
            train(task, make(spec), **given, checkpoint=path, progress=until(epoch))
    same(whole, train(task, make(spec), **given, checkpoint=path))
    same(whole, train(task, make(spec), **given, checkpoint=path))  # there is nothing left to do


def test_a_full_disk_is_one_sentence_and_keeps_the_earlier_checkpoint(task, tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "training.safetensors"
    given = {"settings": Settings(epochs=4), "backbone": Normalising(), "checkpoint": path}
    with pytest.raises(Stop):
        train(task, make("an"), **given, progress=until(1))
    earlier, before = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(earlier) // 2, before[1]))
    try:
        with pytest.raises(BadInput, match=r"training\.safetensors cannot be written"):
            train(task, make("an"), **given)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == earlier and list(tmp_path.iterdir()) == [path]


LEARNED = ["role(expected=2)", "imcl(memory=16)", "latent-noise", "cnn-rnn(embedding=3, hidden=5)"]


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
@pytest.mark.parametrize("spec", LEARNED)
def test_what_a_method_learns_goes_on_to_the_same_numbers(task, tmp_path, spec, optimiser):
    codes = task.labels.rows(np.arange(40)) * (np.random.default_rng(4).random((40, 4)) < 0.6)
    pooled = Task(PartialLabels.of(codes, asked=task.labels.asked), features_of(task).inputs)
    given = {"settings": Settings(epochs=3, batch_size=16, lr=0.05, optimiser=optimiser)}
    whole = train(pooled, make(spec), **given)
    path = tmp_path / "training.safetensors"
    with pytest.raises(Stop):
        train(pooled, make(spec), **given, checkpoint=path, progress=until(1))
    same(whole, train(pooled, make(spec), **given, checkpoint=path))


def test_a_file_of_the_head_alone_belongs_to_its_training(task, tmp_path):
    path = tmp_path / "training.safetensors"
    settings = Settings(epochs=2, head_epochs=2)
    given = {"backbone": Normalising(), "checkpoint": path}
    with pytest.raises(Stop):
        train(task, make("an"), settings=settings, **given, progress=until(1))
    with pytest.raises(
        BadInput, match=r"belongs to a training with.*choose another file or delete"
    ):
        train(task, make("ignore"), settings=settings, **given)
    assert describe(path)["phase"] == "head"
    train(task, make("an"), settings=settings, **given)
    assert describe(path)["epoch"] == describe(path)["epochs"] == 2
    assert describe(path)["unfinished training"] == "an" and describe(path)["phase"] == "all"
    with pytest.raises(BadInput, match="other tasks, settings or initial weights; choose"):
        train(task, make("an"), settings=replace(settings, epochs=3, head_epochs=0), **given)


@pytest.mark.parametrize("head_epochs", [0, 2])
def test_a_training_that_began_with_other_weights_is_another(task, tmp_path, head_epochs):
    path = tmp_path / "training.safetensors"
    given = {"settings": Settings(epochs=2, head_epochs=head_epochs), "checkpoint": path}
    with pytest.raises(Stop):
        train(task, make("an"), **given, backbone=Normalising(), progress=until(1))
    other = Normalising()
    with torch.no_grad():
        next(other.parameters()).mul_(2)
    with pytest.raises(BadInput, match="initial weights"):
        train(task, make("an"), **given, backbone=other)
    train(task, make("an"), **given, backbone=Normalising())
