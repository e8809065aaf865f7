"""Files of pictures: which count, and what people and networks see of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import simkit
from simkit.cli.main import code
from simkit.data.images import decode
from simkit.errors import BadInput
from tests import downloads
from tests.cases.reading import of_folder, photos, written


def test_icons_whose_shape_is_in_the_transparency(tmp_path: Path) -> None:
    icons = np.zeros((2, 8, 8, 4), np.uint8)
    icons[0, :4, :, 3] = icons[1, :, :4, 3] = 255
    for name, icon in zip("ab", icons, strict=True):
        Image.fromarray(icon).save(tmp_path / f"{name}.png")
    first, second = (decode(tmp_path / f"{name}.png") for name in "ab")
    assert (first != second).any()


def test_grey_values_of_floats(tmp_path: Path) -> None:
    values = np.array([[0.0, 0.5], [1.0, 0.2]], np.float32)
    Image.fromarray(values).save(tmp_path / "a.tif")
    with pytest.raises(BadInput, match=r"a\.tif.*8 or 16 bits"):
        decode(tmp_path / "a.tif")
    Image.fromarray((values * 65_535).astype(np.uint16)).save(tmp_path / "a.tif")
    assert decode(tmp_path / "a.tif")[:, :, 0].tolist() == [[0, 127], [255, 51]]


def test_one_bit_a_pixel(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 255], [255, 0]], np.uint8)).convert("1").save(tmp_path / "1.png")
    assert decode(tmp_path / "1.png")[:, :, 0].tolist() == [[0, 255], [255, 0]]


def test_endings_in_capitals(tmp_path: Path) -> None:
    names = ["IMG_1.JPG", "IMG_2.JPEG", "IMG_3.Png"]
    place = photos(tmp_path / "photos", names)
    assert simkit.data.open(f"folder:{place},labels=none").truth["train"].images.tolist() == names


def test_two_files_that_differ_only_in_their_ending(tmp_path: Path) -> None:
    place = photos(tmp_path / "photos", ["image1.png", "image1.jpg"])
    labels = of_folder(place, "file,class\nimage1.png,cat\nimage1.jpg,dog\n")
    assert labels == (["cat", "dog"], {"image1.jpg": "01", "image1.png": "10"})


def test_of_a_file_and_its_copy_the_file_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = photos(tmp_path / "photos", ["a.jpg", "b.jpg"])
    (place / "a (1).jpg").write_bytes((place / "a.jpg").read_bytes())
    names, out = written(tmp_path / "names.txt", "cat\ndog\n"), tmp_path / "project"
    downloads.network()
    words = ["quickstart", place, "--classes", names, "--out", out, "--budget", 100, "--json"]
    assert code([*map(str, words)]) == 0
    left_out = json.loads(capsys.readouterr().out.splitlines()[-1])["left_out"]
    assert list(left_out) == ["a (1).jpg"]
