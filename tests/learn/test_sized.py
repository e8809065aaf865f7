import os
import signal

import numpy as np
import pytest
from PIL import Image

from simkit.data.images import FilePictures
from simkit.errors import BadInput
from simkit.learn import inputs as module
from simkit.learn.inputs import ImageInputs, sized


class Album:
    """Pictures of several sizes, which counts how often they are read."""

    def __init__(self, count=11, broken=None):
        rng = np.random.default_rng(0)
        sizes = rng.integers(5, 40, (count, 2))
        self.pictures = [rng.integers(0, 256, (h, w, 3)).astype(np.uint8) for h, w in sizes]
        self.read_rows, self.broken, self.id = [], broken, f"album {count}"

    def __len__(self):
        return len(self.pictures)

    def read(self, index):
        for i in index:
            self.read_rows.append(int(i))
            if i == self.broken:
                raise BadInput("x.jpg cannot be read as a picture; replace it")
        return [self.pictures[i] for i in index]


def papers(picture, size):
    """As the papers' transform: Resize((size, size)) of a Pillow image."""
    from torchvision.transforms import Resize

    return np.asarray(Resize((size, size))(Image.fromarray(picture))).transpose(2, 0, 1)


@pytest.mark.parametrize("threads", [1, 3])
def test_pictures_become_squares_as_in_the_papers(threads):
    album = Album()
    found = sized(album, 16, threads=threads)
    assert found.shape == (11, 3, 16, 16) and len(found) == 11
    np.testing.assert_array_equal(
        found[np.arange(11)], np.stack([papers(p, 16) for p in album.pictures])
    )


def test_a_second_call_opens_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 4)
    album, told = Album(), []
    first = sized(album, 8, cache=tmp_path, progress=lambda *done: told.append(done))
    assert told == [(4, 11), (8, 11), (11, 11)]
    assert sorted(album.read_rows) == list(range(11))
    again = sized(album, 8, cache=tmp_path)
    assert len(album.read_rows) == 11 and again.id == first.id
    index = np.array([9, 0, 5, 5])
    np.testing.assert_array_equal(first[index], again[index])
    np.testing.assert_array_equal(first[index], sized(Album(), 8)[index])
    assert sized(album, 9, cache=tmp_path).id != first.id


def test_an_interrupted_call_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 4)
    with pytest.raises(BadInput, match=r"x\.jpg cannot be read as a.*replace it"):
        sized(Album(broken=6), 8, cache=tmp_path, threads=2)
    files = sorted(tmp_path.rglob("*.npy"))
    assert [file.name for file in files] == ["00000.npy"]
    assert not [file for file in tmp_path.rglob("*.part")]
    album = Album()
    found = sized(album, 8, cache=tmp_path)
    assert sorted(album.read_rows) == list(range(4, 11))
    np.testing.assert_array_equal(found[np.arange(11)], sized(Album(), 8)[np.arange(11)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_killed_process_loses_at_most_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 4)
    if (child := os.fork()) == 0:
        try:
            album = Album()
            album.pictures = [p if i != 6 else Killing() for i, p in enumerate(album.pictures)]
            sized(album, 8, cache=tmp_path, threads=1)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    album = Album()
    sized(album, 8, cache=tmp_path)
    assert sorted(album.read_rows) == list(range(4, 11))


class Killing:
    """A picture that ends the process as soon as it is looked at."""

    @property
    def shape(self):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_damaged_file_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 4)
    sized(Album(), 8, cache=tmp_path)
    damaged = sorted(tmp_path.rglob("*.npy"))[1]
    damaged.write_bytes(damaged.read_bytes()[:300])
    album = Album()
    found = sized(album, 8, cache=tmp_path)
    assert sorted(album.read_rows) == [4, 5, 6, 7]
    np.testing.assert_array_equal(found[np.arange(11)], sized(Album(), 8)[np.arange(11)])


def test_many_pictures_lie_in_few_files(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 1)
    monkeypatch.setattr(module, "_FILES", 3)
    found = sized(Album(), 8, cache=tmp_path)
    assert len(list(tmp_path.rglob("*.npy"))) == 3
    np.testing.assert_array_equal(found[[10, 4]], sized(Album(), 8)[[10, 4]])


def test_much_goes_to_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path))
    sized(Album(), 8)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(module, "_MEMORY", 11 * 3 * 64 - 1)
    sized(Album(), 8)
    assert len(list((tmp_path / "pictures").rglob("*.npy"))) == 1


def test_inputs_are_made_of_sized_pictures(tmp_path):
    for k in range(3):
        picture = np.full((20 + k, 30, 3), 40 * k, np.uint8)
        Image.fromarray(picture).save(tmp_path / f"{k}.png")
    found = sized(FilePictures.of(tmp_path, ["0.png", "1.png", "2.png"]), 8)
    inputs = ImageInputs(found)
    assert inputs.id == found.id and len(inputs) == 3
    batch = inputs.batch(np.array([2, 0]))
    assert batch.shape == (2, 3, 8, 8) and batch[0].unique().tolist() == [80]
    batch[0] = 7
    assert inputs.batch([2]).unique().tolist() == [80]


def test_a_folder_that_cannot_be_written(tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("x")
    with pytest.raises(BadInput, match=r"taken.* cannot be written .*; choose another place"):
        sized(Album(), 8, cache=taken)
