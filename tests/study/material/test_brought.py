"""Features that were made before are found at any level of their folder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simkit.study.material.brought import brought
from simkit.study.material.material import Source, open_material

from simkit.data import open as open_data
from simkit.data.dataset import Pictures
from simkit.embed.backbones import backbone
from simkit.embed.features.features import extract
from simkit.errors import BadInput

DATA = "scenes:images=12,val=4,test=6"


def test_a_folder_of_splits_serves_every_split(tmp_path: Path) -> None:
    data = open_data(DATA)
    for split in ("train", "test"):
        extract(data, split, backbone("scenes-net"), kinds=("pooled",), out=tmp_path / split)
    exact = brought([("test", str(tmp_path / "test" / "pooled"))], ["pooled"], data, "test")
    for place in (tmp_path, tmp_path / "test"):
        found = brought([("test", str(place))], ["pooled"], data, "test")["pooled"]
        assert found.id == exact["pooled"].id
        assert np.array_equal(found.values[:], exact["pooled"].values[:])
    with pytest.raises(BadInput, match="features names no file for the test split"):
        brought([("train", str(tmp_path))], ["pooled"], data, "test")
    with pytest.raises(BadInput, match="holds no finished features"):
        brought([("val", str(tmp_path))], ["pooled"], data, "val")


def test_features_of_other_pictures_are_refused(tmp_path: Path) -> None:
    data, other = open_data(DATA), open_data(DATA + ",seed=1")
    net = backbone("scenes-net")
    extract(other, "test", net, kinds=("pooled",), out=tmp_path / "other")
    order = np.arange(6)[::-1]
    turned = {**data.pictures, "test": Turned(data.pictures["test"], order)}
    extract(replace(data, pictures=turned), "test", net, kinds=("pooled",), out=tmp_path / "turned")
    for name in ("other", "turned"):
        with pytest.raises(BadInput) as error:
            brought([("test", str(tmp_path / name))], ["pooled"], data, "test")
        assert str(error.value) == (
            f"{tmp_path / name} has features of other pictures than those of test, or of the same "
            "in another order; extract them again from this data set"
        )
    # Of values that were computed elsewhere nobody knows the pictures.
    np.savez(tmp_path / "own.npz", features=np.ones((6, 3)))
    brought([("test", str(tmp_path / "own.npz"))], ["pooled"], data, "test")
    bare = replace(data, pictures={})
    brought([("test", str(tmp_path / "other"))], ["pooled"], bare, "test")


class Turned:
    """Pictures in another order."""

    def __init__(self, pictures: Pictures, order: np.ndarray) -> None:
        self._pictures, self._order = pictures, order
        self.id = "turned"

    def __len__(self) -> int:
        return len(self._order)

    def read(self, index: Any) -> list[np.ndarray]:
        return self._pictures.read(self._order[np.asarray(index)])


def test_splits_come_from_one_network(tmp_path: Path) -> None:
    data = open_data(DATA)
    nets = {"train": backbone("scenes-net"), "test": backbone("scenes-net", size=96)}
    for split, net in nets.items():
        extract(data, split, net, kinds=("pooled",), out=tmp_path / split)
    np.savez(tmp_path / "own.npz", features=np.ones((4, 128)))
    source = Source(
        DATA,
        ("train", "val", "test"),
        ("pooled",),
        features=(("train", str(tmp_path)), ("val", str(tmp_path / "own.npz")),
                  ("test", str(tmp_path))),
    )  # fmt: skip
    with pytest.raises(BadInput) as error:
        open_material(source)
    weights = backbone("scenes-net").id
    assert str(error.value) == (
        f"features of train come from scenes-net at 64 pixels (weights {weights}), and those of "
        f"test from scenes-net at 96 pixels (weights {weights}); extract both with the same "
        "backbone, weights and size"
    )
