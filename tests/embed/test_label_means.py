"""Means by hand and against the obvious loop; files come back, others are refused."""

import numpy as np
import pytest

from simkit.embed import label_means
from simkit.embed.label_means import LabelMeans
from simkit.embed.medians import LabelMedians
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.aids.aids import Aid
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task


def test_means_over_the_asked_images_where_a_class_is_present(monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.choice([-1, 0, 1], (20, 4)).astype(np.int8)
    Z[:, 2] = -np.abs(Z[:, 2])  # present nowhere
    asked = np.arange(20) != 7
    Z[7] = 0
    F = rng.standard_normal((20, 3)).astype(np.float32)
    unit = F / np.linalg.norm(F.astype(float), axis=1, keepdims=True)
    monkeypatch.setattr(label_means, "_ROWS", 6)
    found = LabelMeans.build(Task(PartialLabels.of(Z, asked=asked), FeatureInputs(F)))
    for c in range(4):
        rows = [unit[n] for n in range(20) if Z[n, c] == 1]
        wanted = np.mean(rows, 0) if rows else np.full(3, np.nan)
        np.testing.assert_allclose(found.psi[c], wanted, atol=1e-6)
    assert isinstance(found, Aid) and not found.psi.flags.writeable


def test_files_come_back_and_others_are_refused(tmp_path):
    psi = np.array([[0.1, 0.2], [np.nan, np.nan]])
    means = LabelMeans(psi)
    means.save(tmp_path / "means.npz")
    again = LabelMeans.load(tmp_path / "means.npz")
    assert np.array_equal(again.psi, psi, equal_nan=True) and again.id == means.id
    assert means.id != LabelMedians(psi).id
    LabelMedians(psi).save(tmp_path / "medians.npz")
    with pytest.raises(BadInput) as error:
        LabelMeans.load(tmp_path / "medians.npz")
    assert str(error.value) == (
        f"{tmp_path / 'medians.npz'} cannot be read as label means; a file that LabelMeans.save "
        "wrote is expected"
    )


def test_a_task_without_features_is_refused():
    with pytest.raises(BadInput) as error:
        LabelMeans.build(Task(np.eye(3, dtype=np.int8)))
    assert str(error.value) == (
        "label means come from features, and this task has no inputs; give it features "
        "(FeatureInputs), or the aid itself with task.with_aids(...)"
    )
