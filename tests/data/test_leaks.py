"""Notes on data before money or time is spent: leaks between splits, classes without labels."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    assert _notes(recwarn) == ["empty image files: 2 (a.jpg, b.jpg); replace them"]
