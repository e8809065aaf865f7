"""Highest losses are found where they were planted, and where a separate count puts them."""

import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.methods.base import Batch, Outputs
from simkit.learn.train import Settings, train
from simkit.study.analysis.learning.memorisation import (
    MEMORISATION,
    _Losses,
    early,
    memorisation,
)
from simkit.study.analysis.learning.watched import KINDS, kinds


def drawn(images: int = 60, classes: int = 6, width: int = 8):
    """A task with one named class for each image, its truth, and features that tell classes."""
    rng = np.random.default_rng(5)
    present = rng.random((images, classes)) < 0.4
    present[:, 0] |= ~present.any(1)
    codes = np.zeros(present.shape, int)
    codes[np.arange(images), (present * rng.random(present.shape)).argmax(1)] = 1
    labels = PartialLabels.of(codes, asked=np.ones(images, bool))
    values = present @ rng.random((classes, width)) + 0.1 * rng.random((images, width))
    truth = Truth.of(present, labels.images, labels.classes)
    return Task(labels, FeatureInputs(values.astype(np.float32))), truth


def test_planted_losses() -> None:
    codes = np.array([[1, 0, 0], [0, 0, -1]], np.int8)
    labels = PartialLabels.of(codes, asked=np.ones(2, bool))
    which = kinds(labels, Truth.of([[1, 0, 1], [0, 1, 0]], labels.images, labels.classes))
    watcher = _Losses(make("an"), which)
    index = torch.arange(2)
    for epoch, logits in enumerate(
        # The known positive is never as wrong as in the first epoch; the false negatives [0, 2]
        # and [1, 1] are most confidently present in the second and the third.
        ([[-1.0, 2, 1], [2, 1, 2]], [[0.0, 1, 3], [1, 2, 1]], [[1.0, 0, 2], [0, 3, 0]]),
        start=1,
    ):
        batch = Batch(index, torch.from_numpy(codes))
        watcher(epoch, batch, Outputs(torch.tensor(logits)), torch.nn.Module())
        watcher.after_epoch(epoch, torch.nn.Module(), torch.nn.Module())
    rows = {(row["kind"], row["epoch"]): row for row in watcher.rows("an")}
    highest = {kind: [rows[kind, e]["highest"] for e in (1, 2, 3)] for kind in KINDS}
    assert highest == {
        "true positive": [1, 0, 0],
        "true negative": [3, 0, 0],
        "false negative": [0, 1, 1],
    }
    second = rows["false negative", 2]
    losses = np.log1p(np.exp([3.0, 2.0]))
    assert second["labels"] == 2 and second["share"] == 0.5
    assert second["mean"] == pytest.approx(losses.mean(), rel=1e-6)
    assert second["median"] == pytest.approx(losses.mean(), rel=1e-6)
    assert second["low"] == pytest.approx(np.quantile(losses, 0.25), rel=1e-6)
    assert rows["true positive", 1]["mean"] == pytest.approx(np.log1p(np.e), rel=1e-6)


def test_as_counted_from_every_loss() -> None:
    task, truth = drawn()
    settings = Settings(epochs=4, batch_size=16, lr=0.05)
    table = memorisation(task, truth, ["an", "ll-ct"], settings=settings)
    assert table.schema == MEMORISATION and table.num_rows == 2 * 3 * 4
    every = np.zeros((4, *truth.shape))
    target = task.labels.rows(range(60)) == 1

    def look(epoch, batch, out, state) -> None:
        x = np.where(target, -1, 1)[batch.index] * out.logits.detach().numpy()
        every[epoch - 1, batch.index] = np.logaddexp(0, x)

    train(task, make("ll-ct"), watch=[look], settings=settings)
    which = kinds(task.labels, truth)
    for row in table.to_pylist():
        if row["method"] == "ll-ct":
            mine = every[:, which == KINDS.index(row["kind"])]
            assert row["mean"] == pytest.approx(mine[row["epoch"] - 1].mean(), rel=1e-4)
            assert row["highest"] == (mine.argmax(0) == row["epoch"] - 1).sum()
            assert row["labels"] == mine.shape[1]


def test_shares_of_a_kind_add_up_and_the_first_is_early() -> None:
    task, truth = drawn()
    table = memorisation(task, truth, settings=Settings(epochs=3, batch_size=16))
    for kind in KINDS:
        shares = [r["share"] for r in table.to_pylist() if r["kind"] == kind]
        assert sum(shares) == pytest.approx(1)
        assert early(table, "an", kind) == shares[0]


def test_a_kind_without_labels_has_no_rows() -> None:
    task, truth = drawn()
    full = Task(PartialLabels.of(np.where(truth.rows(range(60)), 1, -1)), task.inputs)
    table = memorisation(full, truth, settings=Settings(epochs=1))
    assert set(table["kind"].to_pylist()) == {"true positive", "true negative"}
    with pytest.raises(BadInput, match=r"^early: the table has no labels of the kind 'false neg"):
        early(table, "an", "false negative")


def test_equal_seeds_give_equal_tables() -> None:
    task, truth = drawn()
    how = {"settings": Settings(epochs=2, batch_size=16), "seed": 4}
    assert memorisation(task, truth, **how).equals(memorisation(task, truth, **how))
