"""The data source cub."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from simkit import data
from simkit.data.dataset import WHOLE
from tests.data import layouts
from tests.mutations import COUNT, survives

RNG = np.random.default_rng(0)
SEEN = (RNG.random((12, 5)) < 0.3).astype(int)
SURE = RNG.integers(1, 5, (12, 5))
TRAINING = [0, 2, 3, 5, 7, 8, 9]
TESTED = [1, 4, 6, 10, 11]
FILES = layouts.cub(SEEN, SURE, TRAINING)


def test_attributes_are_classes_and_the_order_is_that_of_the_list(tmp_path: Path) -> None:
    layouts.write(tmp_path, FILES)  # every seventh line of the answers has two columns too many
    layouts.write(tmp_path, {f"images/001.Bird/Bird_{i}.jpg": layouts.jpeg(i) for i in range(12)})
    opened = data.open(f"cub:{tmp_path}")
    assert opened.classes[3] == "has_bill_shape::curved_(up_or_down)_3"
    whole, test = opened.truth[WHOLE], opened.truth["test"]
    assert whole.images.tolist() == [f"001.Bird/Bird_{i}.jpg" for i in TRAINING]
    assert (whole.present.toarray() == SEEN[TRAINING]).all() and whole.known is None
    assert (test.present.toarray() == SEEN[TESTED]).all()
    assert opened.truth["val"].shape == (1, 5)
    assert abs(int(opened.pictures["test"].read([4])[0][0, 0, 0]) - 11) < 3
    assert data.open(opened.spec).truth["train"].id == opened.truth["train"].id


def test_answers_of_too_little_certainty_are_not_known(tmp_path: Path) -> None:
    opened = data.open(f"cub:{layouts.write(tmp_path, FILES)},certain=3")
    truth = opened.truth["test"]
    known = SURE[TESTED] >= 3
    assert (truth.known.toarray() == known).all()
    assert (truth.present.toarray() == (known & (SEEN[TESTED] == 1))).all()
    closed = data.open(f"{opened.spec},unknown=absent-in-train".replace("unknown=keep,", ""))
    assert closed.truth["train"].known is None and closed.truth["test"].id == truth.id


def test_names_of_attributes_lie_in_one_of_three_places(tmp_path: Path) -> None:
    place = layouts.write(tmp_path / "CUB_200_2011", FILES)
    names = place / "attributes" / "attributes.txt"
    for other in (place / "attributes.txt", tmp_path / "attributes.txt"):
        shutil.move(names, other)
        names = other
        assert len(data.open(f"cub:{place}").classes) == 5
        assert len(data.open(f"cub:{tmp_path}").classes) == 5


def test_pairs_without_an_answer_are_not_known(tmp_path: Path) -> None:
    layouts.write(tmp_path, FILES)
    path = tmp_path / "attributes" / "image_attribute_labels.txt"
    path.write_text("\n".join(path.read_text().split("\n")[1:]))
    known = data.open(f"cub:{tmp_path}").truth[WHOLE].known
    assert known.nnz == 7 * 5 - 1 and not known[0, 0]


ANSWERS = "attributes/image_attribute_labels.txt"


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        (ANSWERS, ("1 1 ", "77 1 "), "image is 77 in line 1, which is not"),
        (ANSWERS, ("2 3 ", "2 9 "), "attribute is 9 in line 8, which is not"),
        (ANSWERS, ("2 3 ", "2 2 "), "an image and an attribute have two lines; keep one"),
        ("train_test_split.txt", ("2 0\n", "2 3\n"), "images are marked 0, 1, 3; 1 (training)"),
        ("train_test_split.txt", ("2 0\n", ""), "images are marked 0, 1, nothing; "),
        ("images.txt", ("2 001", "1 001"), "'1' occurs twice"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(
    tmp_path: Path, name: str, change: tuple[str, str], problem: str
) -> None:
    layouts.write(tmp_path, FILES)
    (tmp_path / name).write_text((tmp_path / name).read_text().replace(*change, 1))
    layouts.refused(f"cub:{tmp_path}", f"{tmp_path / name}: {problem}")


def test_a_wrong_folder_or_certainty_is_said(tmp_path: Path) -> None:
    layouts.refused("cub", "needs root", "cub:CUB_200_2011")
    layouts.refused(f"cub:{tmp_path / 'x'}", f"{tmp_path / 'x'} does not exist")
    layouts.refused(f"cub:{tmp_path}", f"{tmp_path}/images.txt does not exist")
    layouts.refused(f"cub:{tmp_path},certain=5", "cub: certain is 5")


def test_damaged_files(tmp_path: Path) -> None:
    survives(lambda folder: data.open(f"cub:{folder}"), FILES, tmp_path=tmp_path, count=COUNT // 5)
