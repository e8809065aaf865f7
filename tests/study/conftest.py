import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit.study import jobs
from simkit.study.grid import Grid


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Features computed once for all tests of this folder, away from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """The grids here are so small that all draws would be one job; let each be one of its own, as
    in larger work."""
    monkeypatch.setattr(jobs, "draws_per_job", lambda each, draws: 1)


@pytest.fixture
def one_each(monkeypatch):
    """Every purchase has a job of its own, as where there is more work in it."""
    for limit in ("LEAST", "MOST"):
        monkeypatch.setattr(jobs, limit, 0.0)


@pytest.fixture
def small():
    """A grid that takes a second: a few small pictures, few epochs."""

    def made(**values):
        plain = {
            "data": "scenes:images=120,val=40,test=80",
            "schemes": ["single-positive", "fpc(per_class=10)"],
            "methods": ["an", "ll-r+boostlu"],
            "budgets": [10, 30],
            "prices": "coco-tagging",
            "draws": 2,
            "train": {"epochs": 2, "lr": 0.01},
        }
        return Grid.of(plain | values)

    return made


@pytest.fixture
def tiny(tmp_path):
    """A grid that takes a tenth of a second: labels and features of a few pictures as arrays."""
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    files, features = {}, {}
    for split in ("train", "val", "test"):
        files[split] = tmp_path / "data" / f"{split}.npz"
        features[split] = str(tmp_path / "data" / f"{split}-features.npz")
        present = rng.random((40, 4)) < 0.4
        present[:, 0] |= ~present.any(1)
        save_truth(files[split], present, split)
        np.savez(features[split], features=rng.random((40, 8), np.float32))

    def made(**values):
        plain = {
            "data": f"npz:{files['train']},val={files['val']},test={files['test']}",
            "features": features,
            "schemes": ["rpa(keep=0.5)"],
            "methods": ["an"],
            "prices": "coco-tagging",
            "draws": 3,
            "reference": False,
            "train": {"epochs": 2, "lr": 0.01},
        }
        return Grid.of(plain | values)

    return made


def save_truth(path, present, name):
    """An npz file of a truth (N, L)."""
    stored = csr_array(present)
    np.savez(
        path, indptr=stored.indptr, indices=stored.indices, shape=stored.shape,
        class_names=np.array(["cat", "dog", "cow", "owl"][: present.shape[1]]),
        image_ids=np.array([f"{name} {number}" for number in range(len(present))]),
    )  # fmt: skip
