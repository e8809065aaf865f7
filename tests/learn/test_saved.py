import json

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Task, make, spell
from simkit.learn.optim import Settings
from simkit.learn.train import train, train_stack
from simkit.learn.trained import Trained, describe
from simkit.learn.validation import Validation
from tests.learn.test_train import Small


class Stop(Exception):
    pass


def until(epoch: int):
    def progress(done: int, of: int) -> None:
        if done == epoch:
            raise Stop

    return progress


@pytest.mark.parametrize("select", ["last", "best"])
@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_an_interrupted_training_ends_with_the_same_numbers(
    task, complete, present, maps, tmp_path, select, optimiser
):
    runs = [
        (task, make("ll-r(delta=5)+boostlu")),
        (complete, make("ll-r(delta=5)")),
        (task, make("an")),
    ]
    settings = Settings(epochs=5, lr=0.05, optimiser=optimiser, schedule="cosine", select=select)
    check = Validation(FeatureInputs(maps[:40]), Truth.of(present[:40]))
    given = {"settings": settings, "validation": check, "seed": 2}
    whole = train_stack(runs, **given)
    path = tmp_path / "training.safetensors"
    for epoch in (2, 3):
        with pytest.raises(Stop):
            train_stack(runs, **given, checkpoint=path, progress=until(epoch))
    for a, b in zip(whole, train_stack(runs, **given, checkpoint=path), strict=True):
        assert a.id == b.id and a.losses == b.losses and a.validation == b.validation
        assert a.epoch == b.epoch
        assert {k: v.tolist() for k, v in a.state.state_dict().items()} == {
            k: v.tolist() for k, v in b.state.state_dict().items()
        }


def test_a_file_of_another_training_is_refused(pooled, tmp_path):
    path = tmp_path / "training.safetensors"
    train(pooled, make("an"), settings=Settings(epochs=1), checkpoint=path)
    with pytest.raises(
        BadInput, match=r"belongs to a training with.*choose another file or delete"
    ):
        train(pooled, make("an"), settings=Settings(epochs=2), checkpoint=path)
    path.write_bytes(b"something else")
    with pytest.raises(BadInput, match="cannot be read as an unfinished training"):
        train(pooled, make("an"), settings=Settings(epochs=1), checkpoint=path)


def test_a_place_that_cannot_be_written_is_told_before_the_work(pooled, tmp_path):
    (tmp_path / "file").write_text("x")
    path, seen = tmp_path / "file" / "training.safetensors", []
    with pytest.raises(BadInput) as error:
        train(pooled, make("an"), checkpoint=path, watch=[lambda *step: seen.append(step)])
    assert str(error.value).startswith(f"{path} cannot be written")
    assert not seen


def test_a_model_is_read_back(task, tmp_path):
    found = train(task, make("ll-r+boostlu"), settings=Settings(epochs=2, standardise=True))
    found.save(tmp_path / "model")
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "model").iterdir()}
    (tmp_path / "usual").write_text("")
    assert modes == {(tmp_path / "usual").stat().st_mode & 0o777}  # others may read it, too
    again = Trained.load(tmp_path / "model")
    np.testing.assert_array_equal(found.scores(task.inputs), again.scores(task.inputs))
    assert again.id == found.id and again.method == found.method
    assert again.history == found.history and again.losses == found.losses
    assert {k: v.tolist() for k, v in again.state.state_dict().items()} == {
        k: v.tolist() for k, v in found.state.state_dict().items()
    }
    facts = describe(tmp_path / "model")
    assert facts["method"] == spell(found.method) and facts["id"] == found.id


def test_a_fine_tuned_model_wants_its_backbone(tmp_path):
    values = np.random.default_rng(0).integers(0, 256, (9, 3, 6, 6)).astype(np.uint8)
    task = Task(np.ones((9, 2), int), ImageInputs(values))
    found = train(task, make("an"), settings=Settings(epochs=1), backbone=Small())
    found.save(tmp_path)
    with pytest.raises(BadInput, match="backbone="):
        Trained.load(tmp_path)
    again = Trained.load(tmp_path, backbone=Small())
    np.testing.assert_array_equal(found.scores(task.inputs), again.scores(task.inputs))


def test_damaged_models_are_refused(pooled, tmp_path):
    for name, seed in (("a", 0), ("b", 1)):
        train(pooled, make("an"), settings=Settings(epochs=1), seed=seed).save(tmp_path / name)
    (tmp_path / "b" / "model.safetensors").replace(tmp_path / "a" / "model.safetensors")
    with pytest.raises(BadInput, match=r"holds weights of another.*save it again"):
        Trained.load(tmp_path / "a")
    path = tmp_path / "a" / "model.json"
    for text in ("{", "[]", json.dumps({"form": "another"})):
        path.write_text(text)
        with pytest.raises(BadInput, match=r"model\.json cannot be read .*train and save it again"):
            describe(tmp_path / "a")
    with pytest.raises(BadInput, match=r"b has no model\.safetensors; copy both files"):
        Trained.load(tmp_path / "b")
    with pytest.raises(BadInput, match="holds no model; give a folder that simkit train"):
        Trained.load(tmp_path)
    with pytest.raises(BadInput, match=r"model\.json.*cannot be written"):
        train(pooled, make("an"), settings=Settings(epochs=1)).save(path)
