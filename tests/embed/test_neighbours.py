import numpy as np
import pytest

from simkit.embed import neighbours as place
from simkit.embed.neighbours import Neighbours
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Task
from simkit.learn.side_info import Aid
from tests.reference import exposure as slow


def unit(values):
    values = np.asarray(values, np.float64)
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def task(features, asked=None):
    codes = np.zeros((len(features), 2), np.int8)
    everyone = np.ones(len(features), bool) if asked is None else asked
    return Task(PartialLabels.of(codes, asked=everyone), FeatureInputs(features))


def test_only_asked_images_have_and_are_neighbours():
    rng = np.random.default_rng(0)
    F, asked = rng.standard_normal((12, 4)), np.arange(12) % 3 > 0
    found = Neighbours.build(task(F, asked), k=3)
    assert isinstance(found, Aid) and found.index.dtype == np.int32
    wanted = slow.neighbours(unit(F).astype(float).tolist(), asked, 3)
    assert [row for row in found.index.tolist() if row[0] >= 0] == [row for row in wanted if row]
    assert (found.index[~asked] == -1).all()
    assert np.isnan(found.distance[~asked]).all() and np.isnan(found.cosine[~asked]).all()


def test_k_is_32_or_all_others():
    rng = np.random.default_rng(0)
    assert Neighbours.build(task(rng.standard_normal((40, 3)))).index.shape == (40, 32)
    assert Neighbours.build(task(rng.standard_normal((5, 3)))).index.shape == (5, 4)
    assert Neighbours.build(task(rng.standard_normal((1, 3)))).index.shape == (1, 0)
    nobody = np.zeros(3, bool)
    assert Neighbours.build(task(rng.standard_normal((3, 3)), nobody)).index.shape == (3, 0)


def test_maps_are_pooled_and_lengths_do_not_count():
    maps = np.random.default_rng(0).standard_normal((9, 4, 3, 3)).astype(np.float32)
    pooled = maps.astype(np.float64).mean((2, 3)) * np.arange(1, 10)[:, None]
    of_maps = Neighbours.build(task(maps), k=4)
    of_pooled = Neighbours.build(task(pooled), k=4)
    assert np.array_equal(of_maps.index, of_pooled.index)
    np.testing.assert_allclose(of_maps.distance, of_pooled.distance, rtol=1e-5)


def test_one_search_serves_the_same_inputs_and_asked_images(monkeypatch):
    rng = np.random.default_rng(1)
    F, seen = rng.standard_normal((10, 3)), []
    search = place.nearest
    monkeypatch.setattr(place, "nearest", lambda *a: seen.append(1) or search(*a))
    first = Neighbours.build(task(F))
    assert Neighbours.build(task(F.copy())) is first and len(seen) == 1
    other = Neighbours.build(task(F, np.arange(10) > 0))
    assert len(seen) == 2 and other.id != first.id
    Neighbours.build(task(F), k=2)
    Neighbours.build(task(F + 1))
    assert len(seen) == 4
    Neighbours.build(task(F + 2))
    assert Neighbours.build(task(F)) is not first  # only the last few are kept


def test_saved_and_loaded(tmp_path):
    found = Neighbours.build(task(np.random.default_rng(0).standard_normal((8, 3))), k=3)
    found.save(tmp_path / "near.npz")
    again = Neighbours.load(tmp_path / "near.npz")
    assert again.id == found.id and again.index.dtype == np.int32
    assert not again.index.flags.writeable and again.recall == 1
    assert again.inputs == found.inputs != ""


def test_very_many_images_are_searched_in_part_and_say_how_well(tmp_path):
    rng = np.random.default_rng(0)
    F, asked = unit(rng.standard_normal((900, 8))), np.arange(900) % 9 > 0
    exact = Neighbours.build(task(F, asked), k=3, in_lists_above=None)
    assert exact.recall == 1
    assert Neighbours.build(task(F, asked), k=3, in_lists_above=800) is exact  # 800 are asked
    with pytest.warns(UserWarning, match=r"in_lists_above=None\) finds all"):
        found = Neighbours.build(task(F, asked), k=3, in_lists_above=799)
    assert 0.99 <= found.recall <= 1
    same = (found.index[asked] == exact.index[asked]).mean()
    assert same > 0.97 and (found.index[~asked] == -1).all()
    found.save(tmp_path / "near.npz")
    assert Neighbours.load(tmp_path / "near.npz").recall == found.recall


def test_files_without_a_recall_are_of_an_exact_search(tmp_path):
    good = Neighbours.build(task(np.eye(3)), k=2)
    arrays = {"index": good.index, "distance": good.distance, "cosine": good.cosine}
    np.savez(tmp_path / "near.npz", **arrays)
    assert Neighbours.load(tmp_path / "near.npz").recall == 1


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "near.npz"
    good = Neighbours.build(task(np.eye(3)), k=2)
    spoiled = [
        {"index": good.index},
        {"index": good.index + 5, "distance": good.distance, "cosine": good.cosine},
        {"index": good.index, "distance": good.distance[:2], "cosine": good.cosine},
        {"index": good.index.astype(float), "distance": good.distance, "cosine": good.cosine},
    ]
    for arrays in spoiled:
        np.savez(path, **arrays)
        with pytest.raises(BadInput) as error:
            Neighbours.load(path)
        assert str(error.value) == (
            f"{path} cannot be read as neighbours; a file that Neighbours.save wrote is expected"
        )


def test_what_has_no_features_is_refused():
    pictures = ImageInputs(np.zeros((3, 3, 4, 4), np.uint8))
    codes = np.eye(3, dtype=np.int8)
    for inputs, has in ((pictures, "pictures as its inputs"), (None, "no inputs")):
        with pytest.raises(BadInput) as error:
            Neighbours.build(Task(codes, inputs))
        assert str(error.value) == (
            f"neighbours come from features, and this task has {has}; give it features "
            "(FeatureInputs), or the aid itself with task.with_aids(...)"
        )
    with pytest.raises(BadInput) as error:
        Neighbours.build(task(np.array([[1.0, np.nan], [1, 0]])))
    assert str(error.value) == (
        "neighbours come from features, and some are not finite; clean them first"
    )
    with pytest.raises(BadInput) as error:
        Neighbours.build(task(np.eye(3)), k=0)
    assert str(error.value) == "neighbours: k is 0; a whole number of at least 1 is expected"


@pytest.mark.parametrize("k", [0, 2.5])
def test_k_is_a_whole_number(k):
    with pytest.raises(BadInput) as error:
        Neighbours.build(task(np.eye(4)), k=k)
    assert str(error.value) == f"neighbours: k is {k}; a whole number of at least 1 is expected"
