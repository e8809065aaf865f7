"""Features that were made before are found at any level of their folder."""

from pathlib import Path

import numpy as np
import pytest

from simkit.data import open as open_data
from simkit.embed.backbones import backbone
from simkit.embed.features import extract
from simkit.errors import BadInput
from simkit.study.brought import brought

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
