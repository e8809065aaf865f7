"""From files to splits: the published division and order, and what belongs to each split."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit.data.dataset import Boxes
from simkit.data.npz import Npz
from simkit.data.splits import (
    Part,
    Unknown,
    assemble,
    published_order,
    published_split,
    settled,
    spell,
)
from simkit.errors import BadInput
from simkit.labels.truth import Truth


def test_both_parts_are_ascending_and_cover_everything() -> None:
    train, val = published_split(101)
    assert len(val) == 20 and len(train) == 81
    assert (np.diff(train) > 0).all() and (np.diff(val) > 0).all()
    assert sorted([*train, *val]) == list(range(101))
    assert published_split(101)[1].tolist() == val.tolist()


def test_global_random_numbers_are_left_alone() -> None:
    before = np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    published_split(10)
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index, union-attr]


@pytest.mark.parametrize(
    ("n", "share", "seed"), [(300, 0.2, 1200), (300, 0.2, 7), (103, 0.25, 1200)]
)
def test_it_is_that_of_the_published_code(n: int, share: float, seed: int, golden: Path) -> None:
    vectors = np.load(golden / "schemes.npz")
    train, val = published_split(n, share=share, seed=seed)
    assert np.array_equal(train, vectors[f"split_n{n}_frac{share}_seed{seed}_train"])
    assert np.array_equal(val, vectors[f"split_n{n}_frac{share}_seed{seed}_val"])


@pytest.mark.parametrize("name", ["voc12", "coco14", "cub"])
def test_it_has_the_published_sizes(name: str, golden: Path) -> None:
    vectors = np.load(golden / "schemes.npz")
    images, *sizes = vectors[f"split_{name}_sizes"].tolist()
    train, val = published_split(images)
    assert [len(train), len(val)] == sizes
    assert np.array_equal(val[:20], vectors[f"split_{name}_val_first20"])
    assert val.sum() == vectors[f"split_{name}_val_sum"]


@pytest.mark.parametrize("images", [0, 1, 2])
def test_too_few_images_are_not_split(images: int) -> None:
    with pytest.raises(BadInput, match=f"^{images} images cannot be split"):
        published_split(images)


def test_the_published_order_is_that_of_ids_as_text() -> None:
    ids = np.array([9, 25, 100, 1000, 30])
    assert ids[published_order(ids)].tolist() == [100, 1000, 25, 30, 9]
    names = np.array(["2008_000008.jpg", "2008_000002.jpg", "2007_000032.jpg"])
    assert published_order(names).tolist() == [2, 1, 0]


# Three images; boxes in the first and the last.
PART = Part(
    Truth.of(np.eye(3), [7, 8, 9]),
    csr_array(np.eye(3)[::-1].astype(bool)),
    Boxes(
        np.array([0, 2, 2]),
        np.array([0, 1, 2]),
        np.arange(12, dtype=np.float32).reshape(3, 4),
        np.array([[40, 30], [30, 40], [64, 48]]),
    ),
)


def test_selecting_images_moves_everything_along() -> None:
    chosen = PART.select(np.array([2, 1]))
    assert chosen.truth.images.tolist() == [9, 8]
    assert chosen.difficult is not None and chosen.boxes is not None
    assert chosen.difficult.toarray().astype(int).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert chosen.boxes.images.tolist() == [0, 0] and chosen.boxes.classes.tolist() == [1, 2]
    assert chosen.boxes.corners[:, 0].tolist() == [4, 8]
    assert chosen.boxes.sizes is not None and chosen.boxes.sizes.tolist() == [[64, 48], [30, 40]]


def test_what_is_not_known_stays_out() -> None:
    opened = assemble("x", {"train": PART, "val": Part(PART.truth)}, Npz("y"))
    assert set(opened.boxes) == set(opened.difficult) == {"train"} and not opened.pictures
    assert opened.spec == "npz:train=y" and opened.hierarchy is None


def test_a_hierarchy_is_a_file_or_a_shipped_one(tmp_path: Path) -> None:
    parts = {"train": PART, "val": PART}
    for text, message in (
        ("coco80", "no shipped hierarchy is called 'coco80'; did you mean 'coco-80'"),
        (f"{tmp_path}/x.json", f"{tmp_path}/x.json does not exist; give the path of a file"),
        ("coco-80", "no class of the hierarchy is called 'class-0'"),
    ):
        with pytest.raises(BadInput, match=f"^{re.escape(message)}"):
            assemble("x", parts, Npz("y", hierarchy=text))


def test_a_source_is_spelled_without_empty_settings() -> None:
    @dataclass(frozen=True)
    class Source:
        name: ClassVar[str] = "toy"
        file: str = "a"
        other: str = ""
        flag: bool = False

    assert spell(Source()) == "toy:file=a,flag=False"


@pytest.mark.parametrize(
    ("unknown", "split", "kept"),
    [
        ("keep", "train", True),
        ("absent", "train", False),
        ("absent", "test", False),
        ("absent-in-train", "train", False),
        ("absent-in-train", "val", True),
        ("absent-in-train", "test", True),
    ],
)
def test_a_closed_world_is_made_on_demand_only(unknown: Unknown, split: str, kept: bool) -> None:
    truth = Truth.of([[1, 0]], known=[[1, 0]])
    closed = settled(truth, unknown, split)
    assert (closed.known is not None) == kept
    assert closed.rows([0]).tolist() == [[True, False]]
