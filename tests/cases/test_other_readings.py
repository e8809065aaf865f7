"""Readings that are noted, and mends that work when they are followed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import simkit
from simkit import PartialLabels
from simkit.errors import BadInput
from simkit.labels import formats


def _pictures(place: Path, *names: str) -> Path:
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (len(name), 9, 9)).save(place / name)
    return place


def test_splits_of_a_metadata_file_are_kept(tmp_path: Path) -> None:
    rows = [
        {"file_name": f"{n}.png", "present": ["cat"], "absent": [], "split": split}
        for n, split in enumerate(["train", "Test", "validation", "train"])
    ]
    _pictures(tmp_path, *(str(row["file_name"]) for row in rows))
    (tmp_path / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    truth = simkit.data.open(f"folder:{tmp_path}").truth
    images = {split: truth[split].images.tolist() for split in ("train", "val", "test")}
    assert images == {"train": ["0.png", "3.png"], "val": ["2.png"], "test": ["1.png"]}


def test_smaller_copies_of_a_photo_library_are_left_out(tmp_path: Path) -> None:
    library = "Photos Library.photoslibrary"
    _pictures(tmp_path, f"{library}/originals/1/a.jpeg", f"{library}/resources/derivatives/a.jpeg")
    with pytest.warns(UserWarning, match="1 hidden or made by programs"):
        data = simkit.data.open(f"folder:{tmp_path},labels=none")
    assert data.truth["train"].images.tolist() == [f"{library}/originals/1/a.jpeg"]


def test_dropped_zeros_are_matched(tmp_path: Path) -> None:
    _pictures(tmp_path, "000007.png", "000008.png")
    for name in ("7.png", "7"):
        (tmp_path / "labels.csv").write_text(f"file,class\n{name},cat\n000008.png,dog\n")
        with pytest.warns(UserWarning, match=rf"1 of 2 \('{name}' is '000007.png'\)"):
            parts = simkit.data.open(f"folder:{tmp_path}").pictures.values()
        files = {name for part in parts for name in part.files}
        assert files == {"000007.png", "000008.png"}


def test_annotations_without_image_sets(tmp_path: Path) -> None:
    (tmp_path / "Annotations").mkdir()
    (tmp_path / "Annotations" / "a.xml").write_text("<annotation/>")
    _pictures(tmp_path / "JPEGImages", "a.png", "b.png")
    with pytest.raises(BadInput, match=r"open it with folder:.*JPEGImages,labels=TABLE.csv"):
        simkit.data.open(f"voc:{tmp_path}")
    table = tmp_path / "TABLE.csv"
    table.write_text("file,class\na.png,cat\nb.png,dog\n")
    data = simkit.data.open(f"folder:{tmp_path / 'JPEGImages'},labels={table}")
    assert data.classes == ("cat", "dog")


def test_columns_separated_by_spaces(tmp_path: Path) -> None:
    _pictures(tmp_path, "a.png", "b.png")
    table = tmp_path / "list.txt"
    table.write_text("2\ncat dog \na.png -1  1\nb.png  1 -1\n")
    with pytest.raises(BadInput, match=r"separate the columns by commas.* and call one file"):
        simkit.data.open(f"folder:{tmp_path},labels=list.txt")
    table.write_text("2\nfile,cat,dog\na.png,-1,1\nb.png,1,-1\n")
    with pytest.warns(UserWarning, match="row 2 is read as the header"):
        truth = simkit.data.open(f"folder:{tmp_path},labels=list.txt,minus=absent").truth
    assert truth["train"].present.toarray().tolist() == [[False, True], [True, False]]


def test_a_row_for_each_image_is_no_label_file(tmp_path: Path) -> None:
    path = tmp_path / "metadata.csv"
    path.write_text('file_name,labels\na.png,"[""cat""]"\n')
    with pytest.raises(BadInput, match=f"folder:IMAGES,labels={path} "):
        formats.base.for_path(path).read(path)


def test_names_that_look_alike_in_a_frame() -> None:
    frame = pd.DataFrame({"cat": [1, 0], "cat ": [0, 1]}, index=["a.jpg", "a.jpg\u200b"])
    long = frame.rename_axis("image").melt(ignore_index=False, var_name="class", value_name="state")
    for read in (
        lambda: PartialLabels.from_pandas(frame),
        lambda: PartialLabels.from_pandas(long.reset_index()),
        lambda: simkit.Truth.of(frame),
    ):
        with pytest.warns(UserWarning) as notes:
            read()
        said = " ".join(str(note.message) for note in notes)
        assert r"'a.jpg' and 'a.jpg\u200b'" in said
        assert "'cat' and 'cat '" in said


def test_counts_in_a_frame() -> None:
    counts = pd.DataFrame({"cat": [2, 0, 2], "dog": [0, 1, 1]}, index=["a", "b", "c"])
    with pytest.raises(BadInput, match=r"of counts pass frame.clip\(upper=1\)"):
        PartialLabels.from_pandas(counts)
    labels = PartialLabels.from_pandas(counts.clip(upper=1))
    assert labels.codes.toarray().tolist() == [[1, -1], [-1, 1], [1, 1]]
    with pytest.raises(BadInput) as refused:
        PartialLabels.from_pandas(counts * 0.3)
    assert "set_index" not in str(refused.value)


def test_ids_of_another_type_are_told_apart() -> None:
    frame = pd.DataFrame({"image": ["7"], "class": ["cat"], "state": [1]})
    with pytest.raises(BadInput, match=r"image '7' .* 7 and '7' differ"):
        PartialLabels.from_pandas(frame, images=[7])


@pytest.mark.parametrize("labels", [np.ones((2, 2)), pd.DataFrame({"cat": [1]})])
def test_arrays_have_no_price(labels: object) -> None:
    with pytest.raises(BadInput, match="holds no questions; give simulated labels"):
        simkit.cost(labels)  # type: ignore[arg-type]
