"""The data source folder: your own pictures and a table."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from simkit import data
from simkit.data.dataset import WHOLE
from simkit.data.images import FilePictures
from simkit.data.splits import Part, with_pictures
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from tests.data import layouts
from tests.mutations import COUNT, survives

NAMES = [f"{'abcdefgh'[i]}.jpg" for i in range(8)]
LONG = """file,class
b.jpg,cat
a.jpg,dog
b.jpg,bird
c.jpg,
d.jpg,cat
"""


def _folder(tmp_path: Path, table: str, name: str = "labels.csv") -> Path:
    layouts.write(tmp_path, {name: layouts.jpeg(10 * i) for i, name in enumerate(NAMES)})
    (tmp_path / name).write_text(table, encoding="utf-8")
    return tmp_path


def test_a_long_table_is_complete(tmp_path: Path) -> None:
    opened = data.open(f"folder:{_folder(tmp_path, LONG)}")
    whole = opened.truth[WHOLE]
    assert opened.classes == ("cat", "dog", "bird")  # in the order of their first row
    assert whole.images.tolist() == ["b.jpg", "a.jpg", "c.jpg", "d.jpg"]
    assert whole.present.toarray().astype(int).tolist() == [
        [1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0],
    ]  # fmt: skip
    assert whole.known is None and list(opened.truth) == ["train", "val", WHOLE]
    assert opened.name == tmp_path.name
    shades = [picture[0, 0, 0] for picture in opened.pictures[WHOLE].read(range(4))]
    assert np.abs(np.array(shades, int) - [10, 0, 20, 30]).max() < 4
    assert data.open(opened.spec).truth["train"].id == opened.truth["train"].id


WIDE = """Image;cat;dog;Split
sub/x.jpg;1;0;train
a.jpg;;1;Train
b.jpg;-1;0;test
c.jpg;0.0;yes;valid
"""


def test_a_wide_table_may_know_a_part(tmp_path: Path) -> None:
    _folder(tmp_path, WIDE, "table.csv")
    layouts.write(tmp_path, {"sub/x.jpg": layouts.jpeg(0)})
    opened = data.open(f"folder:{tmp_path},labels={tmp_path}/table.csv")
    assert opened.classes == ("cat", "dog")
    assert {split: truth.images.tolist() for split, truth in opened.truth.items()} == {
        "train": ["sub/x.jpg", "a.jpg"],
        "val": ["c.jpg"],
        "test": ["b.jpg"],
    }
    assert opened.truth["train"].rows([0, 1]).astype(int).tolist() == [[1, 0], [0, 1]]
    assert opened.truth["train"].known.toarray().astype(int).tolist() == [[1, 1], [0, 1]]
    assert opened.truth["test"].known.toarray().astype(int).tolist() == [[0, 1]]
    closed = data.open(f"folder:{tmp_path},labels=table.csv,unknown=absent")
    assert closed.truth["train"].known is None
    assert (closed.truth["train"].rows([1]) == [[False, True]]).all()
    assert closed.truth["test"].known is None
    closed = data.open(f"folder:{tmp_path},labels=table.csv,unknown=absent-in-train")
    assert closed.truth["train"].known is None and closed.truth["test"].known.nnz == 1


def test_a_split_is_taken_from_a_long_table_too(tmp_path: Path) -> None:
    table = "\ufeffpath\tlabel\tsubset\na.jpg\tcat\ttrain\na.jpg\tdog\ttrain\nb.jpg\tdog\tdev\n"
    opened = data.open(f"folder:{_folder(tmp_path, table)}")
    assert {s: t.shape for s, t in opened.truth.items()} == {"train": (1, 2), "val": (1, 2)}


def test_several_classes_in_a_cell(tmp_path: Path) -> None:
    table = 'image_id,tags\na,"cat | dog"\nb,\nc,dog|dog\nd,bird\n'
    opened = data.open(f"folder:{_folder(tmp_path, table)},suffix=.jpg,between=|")
    assert opened.classes == ("cat", "dog", "bird")
    whole = opened.truth[WHOLE].present.toarray()
    assert whole.astype(int).tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_classes_may_have_any_name(tmp_path: Path) -> None:
    table = 'file,class\na.jpg,"red, ""big"""\na.jpg,Vögel\nb.jpg,Vögel\nc.jpg,0\n'
    assert data.open(f"folder:{_folder(tmp_path, table)}").classes == ('red, "big"', "Vögel", "0")
    # Wide although one of the classes is called label: no words stand in that column.
    table = "file,label,x\na.jpg,1,0\nb.jpg,0,1\n"
    opened = data.open(f"folder:{_folder(tmp_path, table)}")
    assert opened.classes == ("label", "x")


def test_a_long_table_of_digits_says_how_it_was_read(tmp_path: Path) -> None:
    _folder(tmp_path, "file,class\na.jpg,1\nb.jpg,0\na.jpg,0\nc.jpg,\n")
    note = (
        f"{tmp_path}/labels.csv: column 'class' holds '1' and '0', which count as names of "
        "classes; call it as its class if it says where that is present"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(note)}$"):
        opened = data.open(f"folder:{tmp_path}")
    assert opened.classes == ("1", "0")
    present = opened.truth[WHOLE].present.toarray().astype(int).tolist()
    assert present == [[1, 1], [0, 1], [0, 0]]
    # The same numbers under the name of a class say where that class is.
    opened = data.open(f"folder:{_folder(tmp_path, 'file,cat,split' + CATS)}")
    assert opened.classes == ("cat",)


CATS = "\na.jpg,1,train\nb.jpg,0,train\n"


def test_one_file_has_one_name(tmp_path: Path) -> None:
    layouts.write(tmp_path, {"sub/x.jpg": layouts.jpeg(0)})
    table = "file,class\na.jpg,cat\n./a.jpg,dog\nsub//x.jpg,cat\nsub/./x.jpg,dog\nsub\\x.jpg,cat\n"
    whole = data.open(f"folder:{_folder(tmp_path, table)}").truth["train"]
    assert whole.images.tolist() == ["a.jpg", "sub/x.jpg"]
    assert whole.present.toarray().all()


def test_the_suffix_is_for_names_without_ending(tmp_path: Path) -> None:
    layouts.write(tmp_path, {"d.1.jpg": layouts.jpeg(0), "e.PNG": layouts.jpeg(0)})
    table = "file,class\na,cat\na.jpg,dog\nb.jpg,cat\nd.1,cat\ne.PNG,dog\n"
    opened = data.open(f"folder:{_folder(tmp_path, table)},suffix=.jpg")
    whole = opened.truth[WHOLE]
    assert whole.images.tolist() == ["a.jpg", "b.jpg", "d.1.jpg", "e.PNG"]
    assert whole.present.toarray()[0].all()


def test_windows_names_and_spare_columns_of_spreadsheets(tmp_path: Path) -> None:
    layouts.write(tmp_path, {"s/x.jpg": layouts.jpeg(0), "s/y.jpg": layouts.jpeg(0)})
    table = "file;class;;\r\ns\\x.jpg; cat ;;\r\ns\\y.jpg;dog;;\r\ns/x.jpg;dog;;\r\n"
    opened = data.open(f"folder:{_folder(tmp_path, table)}")
    assert opened.truth["train"].images.tolist() == ["s/x.jpg", "s/y.jpg"]
    assert opened.classes == ("cat", "dog") and opened.truth["train"].present.nnz == 3


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_all_systems(tmp_path: Path, end: str) -> None:
    _folder(tmp_path, "")
    (tmp_path / "labels.csv").write_bytes(LONG.replace("\n", end).encode())
    assert data.open(f"folder:{tmp_path}").truth[WHOLE].present.nnz == 4


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("", "it has no header"),
        ("a.jpg cat\n", "it has no rows"),
        ("file,class\n", "it has no rows"),
        ("a.jpg,cat\nb.jpg,dog\n", "its first row is no header"),
        ("name,class\nb.jpg,dog\n", "no column is called file"),
        ("file,class\na.jpg,x\n,y\n", "row 3 names no file"),
        ("path,image,class\na.jpg,b.jpg,x\n", "columns 'image' and 'path'"),
        ("file,class,seen\na.jpg,cat,0\n", "column 'seen' may say"),
        ("file,cat,dog\na.jpg,1,0\nb.jpg,1,2\n", "column 'dog' holds '2' in row 3"),
        ("file,cat,cat\na.jpg,1,0\n", "two columns are called 'cat'"),
        ("file,cat,dog\na.jpg,1,0\na.jpg,1,1\n", "file 'a.jpg' has two rows"),
        ("file,cat,dog\na.jpg,1,0\nb.jpg,1\n", "row 3 has 2 cells"),
        ("file,class,split\na.jpg,cat,train\na.jpg,dog,test\n", "'a.jpg' is in two splits"),
        (
            "file,class,split\na.jpg,cat,train\nb.jpg,dog,holdout\n",
            "column 'split' holds 'holdout' in row 3",
        ),
        ("file,split\na.jpg,train\n", "it has no column of classes"),
        ("file,cat,\na.jpg,1,0\n", "column 3 has no name in the first row"),
        ("file,cat\na.jpg,1\nb.jpg,-1\n", "add minus=absent or minus=unknown"),
        ("file,class\na.jpg,\nb.jpg,\n", "column 'class' names no class"),
    ],
    ids=range(18),
)
def test_what_is_wrong_with_a_table_is_said(tmp_path: Path, table: str, problem: str) -> None:
    _folder(tmp_path, table)
    layouts.refused(f"folder:{tmp_path}", f"{tmp_path}/labels.csv", problem)


@pytest.mark.parametrize(
    ("table", "present", "known"),
    [
        ("file;cat;dog\na.jpg;1;-1\nb.jpg;0;1,0\n", [[1, 0], [0, 1]], [[1, 0], [1, 1]]),
        (",File Name,cat,dog\n0,a.jpg,TRUE,WAHR\n1,b.jpg,FALSCH,\n", [[1, 1], [0, 0]],
         [[1, 1], [1, 0]]),
        ("file,set,photo\na.jpg,1,0\nb.jpg,0,1\n", [[1, 0], [0, 1]], [[1, 1], [1, 1]]),
        ("file,class\na.jpg,\"['cat', 'dog']\"\nb.jpg,[]\n", [[1, 1], [0, 0]], [[1, 1], [1, 1]]),
    ],
)  # fmt: skip
def test_tables_as_people_have_them(
    tmp_path: Path, table: str, present: list[list[int]], known: list[list[int]]
) -> None:
    _folder(tmp_path, table)
    truth = data.open(f"folder:{tmp_path},part=yes").truth["train"]
    assert truth.present.toarray().astype(int).tolist() == present
    assert truth.known_rows([0, 1]).astype(int).tolist() == known


@pytest.mark.parametrize(("minus", "known"), [("absent", 2), ("unknown", 1)])
def test_the_meaning_of_minus_one_is_stated(tmp_path: Path, minus: str, known: int) -> None:
    _folder(tmp_path, "file,cat\na.jpg,1\nb.jpg,-1\n")
    truth = data.open(f"folder:{tmp_path},minus={minus},part=yes").truth["train"]
    assert truth.known_rows([0, 1]).sum() == known and truth.present.nnz == 1


@pytest.mark.parametrize(
    ("table", "note"),
    [
        ("file,class\na.jpg,cat mat\nb.jpg,mat\nc.jpg,cat\n", "between=space"),
        ('file,class\na.jpg,"cat,mat"\nb.jpg,mat\nc.jpg,cat\n', "between=comma"),
        ("file,class\na.jpg,cat\nb.jpg,No Finding\n", "may mean that none is present"),
        ("file,cat,Unlabeled\na.jpg,1,0\nb.jpg,0,1\n", "may mean that none is present"),
        ("file,class\na.jpg,cat\nb.jpg,Cat\n", r"look alike .*: 1 \('cat' and 'Cat'\)"),
        ("file,class\na.jpg,cat|dog\nb.jpg,dog\n", "add between=bar"),
        ("file,class\na.jpg,cat;dog\nb.jpg,dog;bird\n", "add between=semicolon"),
        ("file,class\na.jpg,cat\n", "no row in labels.csv: 7 of 8 "),
    ],
)
def test_what_may_be_meant_otherwise_is_noted(tmp_path: Path, table: str, note: str) -> None:
    part = "no row" not in note
    with pytest.warns(UserWarning, match=note):
        data.open(f"folder:{_folder(tmp_path, table)},part={part}")


def test_what_is_wrong_with_the_pictures_is_said(tmp_path: Path) -> None:
    _folder(tmp_path, "file,class\na.jpg,cat\nz.jpg,dog\n")
    layouts.refused(f"folder:{tmp_path}", f"{tmp_path}/z.jpg does not exist")
    with pytest.warns(UserWarning, match=r"present only in such images: 1 \(dog\)"):
        left = data.open(f"folder:{tmp_path},drop_missing=yes")
    assert left.truth["train"].images.tolist() == ["a.jpg"] and len(left.pictures["train"]) == 1
    _folder(tmp_path, "file,class\n../y.jpg,cat\n")
    layouts.refused(f"folder:{tmp_path}", f"'../y.jpg' is a path outside {tmp_path}")
    _folder(tmp_path, f"file,class\n{'x' * 999},cat\n")
    layouts.refused(f"folder:{tmp_path}", f"{tmp_path}/{'x' * 200} does not exist")
    (tmp_path / "a.jpg").write_bytes(b"GIF")
    _folder(tmp_path / "b", LONG)
    (tmp_path / "b" / "a.jpg").write_bytes(b"GIF")
    pictures = data.open(f"folder:{tmp_path}/b").pictures[WHOLE]
    with pytest.raises(BadInput, match=r"b/a\.jpg cannot be read as an image \(.*\); replace it"):
        pictures.read([0, 1])


NFC, NFD = "käfer.jpg", "ka\u0308fer.jpg"


@pytest.mark.parametrize(
    ("on_disk", "name", "file"),
    [
        (["x.JPG"], "x.jpg", "x.JPG"),
        ([NFD], NFC, NFD),
        ([NFC], NFD, NFC),
        (["in/x.png"], "in\\x.png", "in/x.png"),
        (["x.png"], "photos/x.png", "x.png"),
        (["x.png"], "..\\photos\\x.PNG", "x.png"),
        (["x.jpg"], "x.png", "x.jpg"),
        (["in/x.JPG", "x.jpg"], "in/x", "in/x.JPG"),
        (["0007.jpg"], "7", "0007.jpg"),  # as a spreadsheet shortens it
        (["0007.jpg"], "7.0", "0007.jpg"),  # and as pandas writes it beside an empty cell
        (["000007.png", "000007.txt"], "7.jpg", "000007.png"),
    ],
)
def test_names_that_are_spelled_otherwise_find_their_file(
    tmp_path: Path, on_disk: list[str], name: str, file: str
) -> None:
    folder = layouts.write(tmp_path / "photos", dict.fromkeys(on_disk, layouts.jpeg(0)))
    part = Part(Truth.of(csr_array((1, 1), dtype=bool), np.array(["1"]), ["cat"]))
    with pytest.warns(UserWarning, match="names .* were matched: 1 of 1"):
        pictures = with_pictures(part, folder, [name], drop_missing=False).pictures
    assert isinstance(pictures, FilePictures) and pictures.files == (file,)


@pytest.mark.parametrize(
    ("on_disk", "name", "mend"),
    [
        (["x.JPG", "x.png"], "x", "but x.JPG or x.png does.*suffix=.JPG"),
        (["x.jpg", "x.bmp"], "x.jpeg", "but x.bmp or x.jpg does"),
        (["x.JPG", "x.Jpg"], "x.jpg", "x.jpg does not exist"),
        (["x.jpg"], "cats\\x.jpg", "but x.jpg does"),
        (
            ["a/x.jpg"],
            "x.jpg",
            "give the folder .*photos/a in place of .*photos$",
        ),
        (["1/x.jpg", "2/x.jpg"], "x.jpg", "but 1/x.jpg or 2/x.jpg does"),
    ],
)
def test_names_that_may_mean_another_file_are_refused(
    tmp_path: Path, on_disk: list[str], name: str, mend: str
) -> None:
    folder = layouts.write(tmp_path / "photos", dict.fromkeys(on_disk, layouts.jpeg(0)))
    part = Part(Truth.of(csr_array((1, 1), dtype=bool), np.array(["1"]), ["cat"]))
    with pytest.raises(BadInput, match=mend):
        with_pictures(part, folder, [name], drop_missing=False)


def test_images_that_are_left_out_or_have_two_ids_are_counted(tmp_path: Path, recwarn: Any) -> None:
    names = ["a.jpg", "a.jpg", "x.jpg", "y.jpg", "._a.jpg"]
    layouts.write(tmp_path, {"a.jpg": layouts.jpeg(0), "._a.jpg": b"x"})
    part = Part(Truth.of(csr_array((5, 1), dtype=bool), np.array([*"12345"]), ["cat"]))
    left = with_pictures(part, tmp_path, names, drop_missing=True)
    assert left.truth.images.tolist() == ["1", "2", "5"]
    texts = [str(note.message) for note in recwarn]
    assert "left out because their file is missing: 2 of 5 (x.jpg, y.jpg)" in texts[0]
    assert "files with several ids, counted as several images: 1 (a.jpg)" in texts[1]
    assert "has ids 1, 2;" in texts[1] and "hidden folders or folders of programs: 1 " in texts[2]


def test_a_table_may_list_a_part_on_purpose(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "file,class\na.jpg,cat\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(data.open(f"folder:{folder},part=yes").truth["train"].images) == 1


def test_images_within_a_table_are_refused_and_the_mend_works(tmp_path: Path) -> None:
    layouts.write(tmp_path, {"a.jpg": layouts.jpeg(0), "b.jpg": layouts.jpeg(1)})
    table = {"image": [{"bytes": b"GIF", "path": None}] * 2, "labels": [["cat"], ["cat", "dog"]]}
    pd.DataFrame(table).to_parquet(tmp_path / "train.parquet")
    spec = f"folder:{tmp_path},labels={tmp_path}/train.parquet"
    layouts.refused(spec, "column 'image' holds images", "paths of the files into this column")
    pd.DataFrame(table | {"image": ["a.jpg", "b.jpg"]}).to_parquet(tmp_path / "train.parquet")
    assert data.open(spec).truth["train"].rows([0, 1]).tolist() == [[True, False], [True, True]]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    layouts.refused("folder", "needs root", "folder:pictures,labels=labels.csv")
    layouts.refused(f"folder:{tmp_path}/x", f"{tmp_path}/x does not exist")
    layouts.refused(f"folder:{tmp_path}", f"{tmp_path} holds no labels.csv")
    layouts.refused(f"folder:{tmp_path},labels=other.csv", "other.csv does not exist")
    _folder(tmp_path, "file,class,split\na.jpg,cat,test\n")
    layouts.refused(f"folder:{tmp_path}", f"{tmp_path}/labels.csv marks no image as train")


def test_a_share_is_kept_for_testing(tmp_path: Path) -> None:
    table = "file,class\n" + "".join(f"{name},cat\n" for name in NAMES)
    spec = f"folder:{_folder(tmp_path, table)},test=0.25"
    opened = data.open(spec)
    assert {s: len(t.images) for s, t in opened.truth.items()} == {
        "train": 5, "val": 1, "test": 2, WHOLE: 6,
    }  # fmt: skip
    parts = [set(opened.truth[split].images) for split in ("train", "val", "test")]
    assert set.union(*parts) == set(NAMES) and sum(map(len, parts)) == len(NAMES)
    assert data.open(opened.spec).truth["test"].id == opened.truth["test"].id
    shades = [picture[0, 0, 0] for picture in opened.pictures["test"].read(range(2))]
    places = [NAMES.index(name) for name in opened.truth["test"].images]
    assert np.abs(np.array(shades, int) - 10 * np.array(places)).max() < 4


@pytest.mark.parametrize(("val", "images"), [("0", 0), ("0.25", 2)])
def test_a_share_is_kept_for_validation(tmp_path: Path, val: str, images: int) -> None:
    table = "file,class\n" + "".join(f"{name},cat\n" for name in NAMES)
    opened = data.open(f"folder:{_folder(tmp_path, table)},val={val}")
    assert len(opened.truth["train"].images) == len(NAMES) - images
    assert [len(opened.truth[s].images) for s in opened.truth if s == "val"] == [images][:images]
    (tmp_path / "labels.csv").write_text(table.replace("\n", ",train\n").replace(
        "class,train", "class,split").replace("cat,train", "cat,val", 1))  # fmt: skip
    if images:
        layouts.refused(f"folder:{tmp_path},val={val}", "marks images as val already")
    else:
        assert len(data.open(f"folder:{tmp_path},val=0").truth["val"].images) == 1


def test_a_share_for_testing_that_cannot_be(tmp_path: Path) -> None:
    _folder(tmp_path, "file,class,split\na.jpg,cat,train\nb.jpg,cat,train\nc.jpg,cat,test\n")
    table = tmp_path / "labels.csv"
    layouts.refused(f"folder:{tmp_path},test=0.5", f"{table} marks images as test already")
    table.write_text("file,class,split\na.jpg,cat,train\nb.jpg,cat,train\nc.jpg,cat,val\n")
    assert len(data.open(f"folder:{tmp_path},test=0.5").truth["test"].images) == 1
    for share in ("0.1", "1.5", "-1"):
        layouts.refused(f"folder:{tmp_path},test={share}", "2 images cannot be split")


@pytest.mark.parametrize("table", [LONG, WIDE.replace("sub/x", "d")], ids=["long", "wide"])
def test_damaged_tables(tmp_path: Path, table: str) -> None:
    _folder(tmp_path, "")
    files = {"labels.csv": table.encode()}
    survives(
        lambda folder: data.open(f"folder:{folder}"), files, tmp_path=tmp_path, count=COUNT // 4
    )


def test_pictures_without_a_table_are_one_split(tmp_path: Path) -> None:
    names = ["b.jpg", "a.PNG", "below/c.webp"]
    layouts.write(tmp_path, dict.fromkeys([*names, "notes.txt"], layouts.jpeg(0)))
    opened = data.open(f"folder:{tmp_path},labels=none")
    assert opened.truth["train"].images.tolist() == ["a.PNG", "b.jpg", "below/c.webp"]
    assert list(opened.truth) == ["train"] and len(opened.pictures["train"]) == 3
    assert opened.truth["train"].present.nnz == opened.truth["train"].known.nnz == 0
    (tmp_path / "empty").mkdir()
    layouts.refused(f"folder:{tmp_path}/empty,labels=none", "empty holds no images", "give their")


def test_files_that_no_person_put_there_are_left_out_and_counted(
    tmp_path: Path, recwarn: Any
) -> None:
    picture = layouts.jpeg(0)
    made = ["._a.jpg", "__MACOSX/a.jpg", ".ipynb_checkpoints/a.jpg", "@eaDir/a.jpg/S.jpg",
            ".thumbnails/b.jpg", "#recycle/c.jpg", ".Trash-1000/files/d.jpg",
            "_vti_cnf/a.jpg", "[Originals]/a.jpg"]  # fmt: skip
    broken = {"e.jpg": b"", "f.png": b"<html>404</html>", "g.jpg": b"version https://git-lfs"}
    layouts.write(tmp_path, {"a.jpg": picture, "in/b.jpg": picture, "Thumbs.db": b"x", **broken})
    layouts.write(tmp_path, dict.fromkeys(made, picture))
    layouts.write(tmp_path, {"heic.jpg": b"\0\0\0\x18ftypheic"})
    opened = data.open(f"folder:{tmp_path},labels=none")
    assert opened.truth["train"].images.tolist() == ["a.jpg", "in/b.jpg"]
    texts = [str(note.message) for note in recwarn]
    assert "1 in formats that are not read (1 HEIC or AVIF) (heic.jpg)" in texts[0]
    assert "9 hidden or made by programs (#recycle/c.jpg, " in texts[0]
    assert "3 empty or not images (e.jpg, f.png, g.jpg)" in texts[0] and len(texts) == 1
    (tmp_path / "labels.csv").write_text("file,class\na.jpg,cat\n")
    with pytest.warns(UserWarning, match="no row in .*: 1 of 2 ") as said:
        data.open(f"folder:{tmp_path}")
    assert len(said) == 1
    layouts.write(tmp_path / "lfs", {"g.jpg": broken["g.jpg"]})
    layouts.refused(f"folder:{tmp_path}/lfs,labels=none", "git lfs pull")


LARGE, SMALL = layouts.jpeg(0, (40, 30)), layouts.jpeg(0, (20, 15))


@pytest.mark.parametrize(
    ("name", "content", "left_out"),
    [
        ("thumbs/a.jpg", SMALL, "1 smaller copies"),
        ("in/_thumbs/b.png", SMALL, "1 smaller copies"),
        ("Thumbnails/in/thumb_b.png", SMALL, "1 smaller copies"),
        ("a-150x150.jpg", SMALL, "1 smaller copies"),
        ("in/b_small.jpg", SMALL, "1 smaller copies"),
        ("120px-a.png", SMALL, "1 smaller copies"),
        ("CaptureOne/Cache/Thumbnails/x.jpg", SMALL, "1 hidden or made by programs"),
        ("appdata_oc1/preview/7/64-64.jpg", SMALL, "1 hidden or made by programs"),
        ("_data/i/a-sq.jpg", SMALL, "1 hidden or made by programs"),
        ("a.NEF", b"II*", "1 in formats that are not read (1 .nef)"),
        ("cache/c.jpg", SMALL, "may be copies, as the name of their folder"),  # no original
        ("preview/a.jpg", LARGE, "may be copies"),  # a class of such a name
        ("web/a.jpg", SMALL, "may be copies"),  # a quarter of the pixels
        ("c_small.jpg", SMALL, ""),
        ("a_small.jpg", LARGE, ""),
        ("small_talk/z.jpg", SMALL, ""),
    ],
)
def test_smaller_copies_of_programs_are_left_out_or_named(
    tmp_path: Path, recwarn: Any, name: str, content: bytes, left_out: str
) -> None:
    layouts.write(tmp_path, {"a.jpg": LARGE, "in/b.JPG": LARGE, name: content})
    images = data.open(f"folder:{tmp_path},labels=none").truth["train"].images.tolist()
    texts = [str(note.message) for note in recwarn]
    assert len(texts) == bool(left_out) and left_out in "".join(texts)
    kept = "may be" in left_out or not left_out
    assert sorted(images) == sorted(["a.jpg", "in/b.JPG", *[name] * kept])


def test_names_in_two_unicode_forms_are_one_name(tmp_path: Path) -> None:
    layouts.write(tmp_path, {NFD: layouts.jpeg(0)})
    opened = data.open(f"folder:{tmp_path},labels=none")
    assert opened.truth["train"].images.tolist() == [NFC]
    layouts.write(tmp_path, {NFC: layouts.jpeg(0)})
    layouts.refused(f"folder:{tmp_path},labels=none", "two files", "rename one")
