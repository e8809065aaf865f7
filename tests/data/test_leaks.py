"""Notes on data before money or time is spent: leaks between splits, classes without labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from simkit.data.leaks import open_checked
from tests.data import layouts

WIDE = """file,cat,dog,bird,fish,split
a.jpg,1,0,0,0,train
b.jpg,1,1,0,0,train
c.jpg,0,0,0,0,val
d.jpg,1,0,1,0,test
e.jpg,0,0,1,0,test
"""


def _notes(recwarn: pytest.WarningsRecorder) -> list[str]:
    return [str(each.message).partition(": ")[2] for each in recwarn]


def test_copies_in_other_splits_and_classes_without_labels_are_counted(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    shades = {"a": 0, "b": 50, "c": 0, "d": 50, "e": 90}
    layouts.write(tmp_path, {f"{n}.jpg": layouts.jpeg(shade) for n, shade in shades.items()})
    (tmp_path / "labels.csv").write_text(WIDE)
    open_checked(f"folder:{tmp_path}")
    copies = "images that are copies of train images and make scores too high"
    mend = "remove them from one of the two splits"
    assert _notes(recwarn) == [
        f"val {copies}: 1 of 1 (c.jpg = a.jpg); {mend}",
        f"test {copies}: 1 of 2 (d.jpg = b.jpg); {mend}",
        "classes present in no image: 1 of 4 (fish)",
        "classes present in no training image: 1 of 4 (bird)",
        "classes present in training images only, and so not scored: 1 of 4 (dog)",
    ]


def test_clean_and_unlabelled_data_give_no_note(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    layouts.write(tmp_path, {f"{n}.bmp": layouts.jpeg(n * 9) for n in range(5)})  # of equal size
    open_checked(f"folder:{tmp_path},labels=none")
    rows = [f"{n}.bmp,1,{split}" for n, split in enumerate(("train", "train", "val", "test"))]
    rows.append("4.bmp,1,test")
    (tmp_path / "labels.csv").write_text("\n".join(["file,cat,split", *rows]))
    open_checked(f"folder:{tmp_path}")
    assert not _notes(recwarn)


def test_empty_files_in_a_table_are_counted(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    layouts.write(tmp_path, {"a.jpg": b"", "b.jpg": b"", "c.jpg": layouts.jpeg(1)})
    (tmp_path / "labels.csv").write_text(
        "file,cat,split\na.jpg,1,train\nb.jpg,1,val\nc.jpg,1,train"
    )
    open_checked(f"folder:{tmp_path}")
    assert _notes(recwarn) == [
        "files that cannot be read as images (empty): 2 (a.jpg, b.jpg); replace such files or "
        "remove them from the list"
    ]


@pytest.mark.parametrize(("kind", "copied", "copies"), [
    ("png", "bmp", True), ("png", "png", True), ("bmp", "tif", True), ("webp", "png", True),
    ("jpg", "png", True), ("jpg", "jpg", True), ("png", "jpg", False),
])  # fmt: skip
def test_copies_in_another_format_or_saved_again_are_counted(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, kind: str, copied: str, copies: bool
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 30, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / f"a.{kind}")
    Image.fromarray(pixels.transpose(1, 0, 2) ^ 1).save(tmp_path / "b.png")  # equally large
    if kind == copied == "jpg":  # remarks of a program before the same pixels
        content = (tmp_path / "a.jpg").read_bytes()
        (tmp_path / "c.jpg").write_bytes(content[:2] + b"\xff\xfe\0\4hi" + content[2:])
    else:
        Image.open(tmp_path / f"a.{kind}").save(tmp_path / f"c.{copied}", compress_level=1)
    rows = f"a.{kind},1,train\nb.png,1,train\nc.{copied},0,test\n"
    (tmp_path / "labels.csv").write_text(f"file,cat,split\n{rows}")
    open_checked(f"folder:{tmp_path}")
    assert f"1 of 1 (c.{copied} = a.{kind})" in "".join(_notes(recwarn)) or not copies
    assert any("copies" in text for text in _notes(recwarn)) is copies


def test_copies_within_the_images_to_label_are_counted(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    layouts.write(tmp_path, {f"{n}.jpg": layouts.jpeg(n // 2 * 60) for n in range(5)})
    open_checked(f"folder:{tmp_path},labels=none", asked="train")
    assert _notes(recwarn) == [
        "copies of other images, which people would answer again: 2 of 5 (1.jpg = 0.jpg, "
        "3.jpg = 2.jpg); remove them"
    ]
