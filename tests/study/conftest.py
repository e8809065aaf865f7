import numpy as np
import pytest
from scipy.sparse import csr_array
from simkit.study.bundles import agenda
from simkit.study.grids.grid import Grid


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Features computed once for all tests of this folder, away from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """The grids here are so small that all draws would be one bundle; let each be one of its own,
    as in larger work."""
    monkeypatch.setattr(agenda, "_in_groups", lambda draws, each: [(draw,) for draw in draws])


@pytest.fixture
def small():
    """A grid that takes a second: a few small pictures, few epochs."""

    def made(**values):
        return Grid.of(
            {
                "data": "scenes:images=120,val=40,test=80",
                "schemes": ["single-positive", "fpc(per_class=10)"],
                "methods": ["an", "ll-r+boostlu"],
                "budgets": [10, 30],
                "draws": 2,
                "train": {"epochs": 2, "lr": 0.01},
            }
            | values
        )

    return made


@pytest.fixture
def tiny(tmp_path):
    """A grid that takes a tenth of a second: labels and features of a few pictures as arrays."""
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    files, features = {}, {}
    for split in ("train", "test"):
        present = csr_array(rng.random((40, 4)) < 0.4)
        files[split] = tmp_path / "data" / f"{split}.npz"
        features[split] = str(tmp_path / "data" / f"{split}-features.npz")
        np.savez(
            files[split],
            indptr=present.indptr,
            indices=present.indices,
            shape=present.shape,
            class_names=np.array(["cat", "dog", "cow", "owl"]),
            image_ids=np.array([f"{split} {number}" for number in range(40)]),
        )
        np.savez(features[split], features=rng.random((40, 8), np.float32))

    def made(**values):
        return Grid.of(
            {
                "data": f"npz:{files['train']},test={files['test']}",
                "features": features,
                "schemes": ["rpa(keep=0.5)"],
                "methods": ["an"],
                "draws": 3,
                "reference": False,
                "train": {"epochs": 2, "lr": 0.01},
            }
            | values
        )

    return made
