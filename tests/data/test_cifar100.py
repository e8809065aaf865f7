"""The data source cifar-100."""

import pickle
from pathlib import Path

import numpy as np

from simkit import data
from simkit.data.dataset import WHOLE
from simkit.labels.hierarchy import shipped
from tests.data import layouts
from tests.mutations import COUNT, survives


def _records(content: bytes) -> np.ndarray:
    return np.frombuffer(content, np.uint8).reshape(-1, 3074)


def test_labels_and_pictures(tmp_path: Path) -> None:
    files = layouts.cifar()
    opened = data.open(f"cifar-100:{layouts.write(tmp_path, files)}")
    sizes = {split: truth.shape for split, truth in opened.truth.items()}
    assert sizes == {"train": (24, 100), "val": (6, 100), "test": (10, 100), WHOLE: (30, 100)}
    assert opened.classes[:2] == ("fine_00", "fine_01")
    for split, file in (("val", "train.bin"), ("test", "test.bin")):
        truth, pictures = opened.truth[split], opened.pictures[split]
        records = _records(files[file])
        assert truth.present.indices.tolist() == [7 * i % 100 for i in truth.images]
        assert len(pictures) == len(truth.images)
        (one, two) = pictures.read([1, 0])
        assert one.shape == (32, 32, 3) and one.dtype == np.uint8
        own = records[truth.images[1], 2:]
        # Red plane first, each plane row by row.
        assert one[2, 5].tolist() == [own[2 * 32 + 5 + 1024 * plane] for plane in range(3)]
        assert two[31, 31, 2] == records[truth.images[0], -1]


def test_pictures_are_small_values_with_an_id_of_their_content(tmp_path: Path) -> None:
    opened = data.open(f"cifar-100:{layouts.write(tmp_path, layouts.cifar())}")
    pictures = opened.pictures["train"]
    copy = pickle.loads(pickle.dumps(pictures))
    assert len(pickle.dumps(pictures)) < 2000 and copy.id == pictures.id
    assert (copy.read([3])[0] == pictures.read([3])[0]).all()
    assert pictures.id == data.open(opened.spec).pictures["train"].id != opened.pictures["val"].id
    changed = bytearray((tmp_path / "train.bin").read_bytes())
    changed[int(pictures.places[0]) * 3074 + 100] ^= 1
    (tmp_path / "train.bin").write_bytes(changed)
    assert data.open(opened.spec).pictures["train"].id != pictures.id


def test_the_shipped_hierarchy_knows_the_names(tmp_path: Path) -> None:
    tree = shipped("cifar-100")
    fine = sorted(tree.classes[c] for c in tree.leaves)
    assert len(fine) == 100 and fine[:2] == ["apple", "aquarium_fish"]
    files = layouts.cifar() | {"fine_label_names.txt": "\n".join(fine).encode()}
    opened = data.open(f"cifar-100:{layouts.write(tmp_path, files)},hierarchy=cifar-100")
    assert len(opened.classes) == 120 and (np.diff(opened.truth["test"].present.indptr) == 2).all()


def test_pickles_are_not_read(tmp_path: Path) -> None:
    for name in ("meta", "train", "test"):
        (tmp_path / name).write_bytes(b"\x80\x02}q\x00.")
    layouts.refused(f"cifar-100:{tmp_path}", f"{tmp_path} holds the Python version")


def test_broken_files_are_named(tmp_path: Path) -> None:
    files = layouts.cifar()
    layouts.refused("cifar-100", "needs root", "cifar-100:cifar-100-binary")
    layouts.refused(f"cifar-100:{tmp_path}", f"{tmp_path}/fine_label_names.txt does not exist")
    layouts.write(tmp_path, files)
    (tmp_path / "test.bin").write_bytes(files["test.bin"][:-1])
    layouts.refused(f"cifar-100:{tmp_path}", f"{tmp_path}/test.bin has 30,739 bytes")
    changed = bytearray(files["test.bin"])
    changed[3074 * 4 + 1] = 100
    (tmp_path / "test.bin").write_bytes(changed)
    layouts.refused(
        f"cifar-100:{tmp_path}", f"{tmp_path}/test.bin cannot be read as images of CIFAR-100"
    )
    (tmp_path / "fine_label_names.txt").write_text("a\n" * 100)
    layouts.refused(f"cifar-100:{tmp_path}", f"{tmp_path}/fine_label_names.txt: 'a' occurs twice")


def test_damaged_files(tmp_path: Path) -> None:
    files = layouts.cifar(4, 2)
    survives(
        lambda folder: data.open(f"cifar-100:{folder}"), files, tmp_path=tmp_path, count=COUNT // 4
    )
