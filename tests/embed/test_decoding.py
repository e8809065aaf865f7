"""Pictures come in order, at the network's size, whoever decodes them."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from PIL import Image

from simkit.data.images import FilePictures
from simkit.embed import decoding
from simkit.embed.decoding import fit, fitted
from simkit.errors import BadInput


@dataclass
class Squares:
    """Picture i is a square whose pixels are all i; the seventh cannot be read."""

    id: str = "squares"
    asked: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return 200

    def read(self, index: list[int]) -> list[np.ndarray]:
        self.asked += index
        if 7 in index:
            raise BadInput("seven is torn")
        return [np.full((40 + i % 3, 40, 3), i, np.uint8) for i in index]


@pytest.mark.parametrize("threads", [1, 3])
def test_pictures_come_in_order_and_faults_in_their_place(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "cores", lambda: threads)
    rows = np.array([5, 6, 7, 199, 8, *range(20, 120)])
    found = list(fitted(Squares(), rows, 32, ahead=4))
    assert len(found) == len(rows)
    for row, one in zip(rows, found, strict=True):
        if row == 7:
            assert isinstance(one, BadInput) and str(one) == "seven is torn"
        else:
            assert isinstance(one, torch.Tensor) and one.shape == (3, 32, 32)
            assert (one == int(row)).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_files_are_not_read_far_ahead(
    tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "cores", lambda: threads)
    names = [f"{i}.png" for i in range(40)]
    for i, name in enumerate(names):
        Image.new("RGB", (36, 36), (i, 0, 0)).save(tmp_path / name)
    pictures = Watched(tmp_path, tuple(names))
    Watched.asked = []
    stream = fitted(pictures, np.arange(40), 32, ahead=5)
    assert [int(next(stream)[0, 0, 0]) for _ in range(3)] == [0, 1, 2]
    stream.close()
    assert Watched.asked[:3] == [0, 1, 2] and len(Watched.asked) <= 8


class Watched(FilePictures):
    asked: ClassVar[list[int]] = []

    def read(self, index: list[int]) -> list[np.ndarray]:
        assert len(index) == 1  # a file may be large
        Watched.asked += index
        return super().read(index)


def test_threads_leave_the_filters_of_warnings_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "cores", lambda: 4)
    names = [f"{i}.jpg" for i in range(60)]
    for name in names:
        Image.effect_noise((80, 60), 50).save(tmp_path / name)
    with warnings.catch_warnings():
        before = list(warnings.filters)
        list(fitted(FilePictures(tmp_path, tuple(names)), np.arange(60), 32))
        assert warnings.filters == before


def test_a_network_sees_the_whole_picture() -> None:
    exact = np.arange(64 * 64 * 3).reshape(64, 64, 3).astype(np.uint8)
    assert np.array_equal(fit(exact, 64).permute(1, 2, 0).numpy(), exact)
    for shape in ((256, 512, 3), (500, 125, 3)):
        picture = np.zeros(shape, np.uint8)
        height, width = shape[0] // 8, shape[1] // 8
        picture[:height], picture[-height:] = 200, 200
        picture[:, :width], picture[:, -width:] = 200, 200  # a frame, an eighth on each side
        seen = fit(picture, 64)[0]
        assert seen.shape == (64, 64)
        for side in (seen, seen.flip(0), seen.T, seen.T.flip(0)):
            assert (side[:6] > 150).all() and (side[10:30, 20:40] < 50).all()


def test_a_line_of_pixels_is_not_enlarged_whole() -> None:
    line = np.zeros((1, 65_000, 3), np.uint8)
    line[:, 32_500:] = 255
    for picture in (line, line.transpose(1, 0, 2)):
        cut = fit(picture, 64)
        assert cut.shape == (3, 64, 64)
        middle = cut[0, 32].float() if picture is line else cut[0, :, 32].float()
        assert middle[0] < 100 and middle[-1] > 155  # both halves are in sight


@pytest.mark.parametrize("shape", [(40, 640, 3), (33, 47, 3), (500, 90, 3)])
def test_of_other_pictures_nothing_is_cut_off_first(shape: tuple[int, ...]) -> None:
    from torchvision.transforms.v2.functional import resize

    picture = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    resized = resize(torch.from_numpy(picture).permute(2, 0, 1), [64, 64], antialias=True)
    assert torch.equal(fit(picture, 64), resized)


@pytest.mark.parametrize(
    ("error", "reason"),
    [(MemoryError(), "MemoryError"), (RuntimeError("not enough memory"), "not enough memory")],
)
def test_one_picture_too_large_for_the_memory_is_a_fault_in_its_place(
    error: Exception, reason: str
) -> None:
    class Heavy(Squares):
        def read(self, index: list[int]) -> list[np.ndarray]:
            if 9 in index:
                raise error
            return super().read(index)

    found = list(fitted(Heavy(), np.arange(8, 11), 32))
    assert [isinstance(one, torch.Tensor) for one in found] == [True, False, True]
    assert str(found[1]) == (
        f"picture 9 cannot be brought to 32 x 32 pixels ({reason}); replace it or remove it from "
        "the list"
    )
