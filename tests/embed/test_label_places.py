import numpy as np
import pytest

from simkit.embed.label_means import LabelMeans
from simkit.embed.medians import LabelMedians
from simkit.errors import BadInput
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task

PSI = np.array([[0.5, np.nan], [1.0, 2.0]])


def test_a_file_of_one_kind_is_not_one_of_the_other(tmp_path):
    path = tmp_path / "places.npz"
    LabelMedians(PSI).save(path)
    again = LabelMedians.load(path)
    assert type(again) is LabelMedians and again.id == LabelMedians(PSI).id
    assert again.id != LabelMeans(PSI).id
    with pytest.raises(BadInput) as error:
        LabelMeans.load(path)
    assert str(error.value) == (
        f"{path} cannot be read as label means; a file that LabelMeans.save wrote is expected"
    )


@pytest.mark.parametrize("kind", [LabelMedians, LabelMeans])
def test_a_file_says_of_which_labels_and_features_they_are(kind, tmp_path):
    task = Task(np.eye(3, dtype=np.int8), FeatureInputs(np.eye(3)))
    found = kind.build(task)
    assert (found.labels, found.inputs) == (task.labels.id, task.inputs.id)
    found.save(tmp_path / "places.npz")
    again = kind.load(tmp_path / "places.npz")
    assert (again.labels, again.inputs, again.id) == (found.labels, found.inputs, found.id)
    assert again.fits(task) and not again.fits(Task(-np.eye(3, dtype=np.int8)))
    np.savez(tmp_path / "old.npz", **{kind.key: found.psi})
    assert kind.load(tmp_path / "old.npz").labels == ""
