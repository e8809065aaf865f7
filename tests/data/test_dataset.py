"""Opening data sets by their text or by a TOML file."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit import data
from simkit.data.dataset import Boxes, Dataset, sources
from simkit.data.images import FilePictures
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth
from tests.mutations import COUNT, survives


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    """A source whose data set says in its name how it was opened."""
    names = sources.names()

    @data.register
    class Toy:
        name: ClassVar[str] = "toy"
        title: ClassVar[str] = "Toy"
        example: ClassVar[str] = "toy:file"
        paths: ClassVar[tuple[str, ...]] = ("file", "folder")
        file: str = ""
        folder: str = ""
        size: int = 2
        flag: bool = False

        def open(self) -> Dataset:
            spelled = f"{self.file}|{self.folder}|{self.size}|{self.flag}"
            return Dataset(spelled, {"train": Truth.of(np.eye(self.size))}, spec="toy")

    yield
    sources._found.pop("toy")
    assert sources.names() == names


def test_a_notebook_shows_a_row_for_each_split() -> None:
    shown = data.open("toy:<b>,size=3")._repr_html_()
    assert "&lt;b&gt;" in shown and "<b>" not in shown
    assert "<td>train</td><td>3</td><td>1.00</td>" in re.sub(r"\s+<", "<", shown)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("toy", "||2|False"),
        ("toy:", "||2|False"),
        (" toy :a/b.c", "a/b.c||2|False"),
        ("TOY:a", "a||2|False"),
        ("toy:file=x,size=3,flag=yes", "x||3|True"),
        ("toy:a=b,folder=C:/x=y", "a=b|C:/x=y|2|False"),
    ],
)
def test_text_sets_the_fields_of_the_source(spec: str, name: str) -> None:
    assert data.open(spec).name == name


KEYS = "key=value; keys are file, folder, size, flag"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tov", "no data set is called 'tov'"),
        ("toy:a,b", f"'b' in 'toy:a,b' is not {KEYS}"),
        ("toy:a,siz=3", "no setting of toy is called 'siz'"),
        ("toy:a,file=b", "file is given twice in 'toy:a,file=b'"),
        ("toy:a,size=two", "toy: size is 'two'"),
        ("scenes:image=300", "no setting of scenes is called 'image'; did you mean 'images'"),
        ("mine.csv", "'mine.csv' does not say what kind of data it is; write folder:.,"),
        ("npz:~nobody here/x.npz", "~nobody here/x.npz does not exist; give the path of a file"),
    ],
)  # fmt: skip
def test_other_text_is_refused(spec: str, message: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(message)}"):
        data.open(spec)


def test_a_toml_file_names_source_and_settings(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('source = "toy"\nfile = "a,b.json"\nfolder = "here"\nsize = 3\nflag = true\n')
    (tmp_path / "here").mkdir()
    opened = data.open(str(path))
    assert opened.name == f"a,b.json|{tmp_path / 'here'}|3|True"
    assert opened.spec == str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'file = "x"', '{0} names no data set'),
        (b"source = 3", '{0} names no data set'),
        (b'source = "tov"', "{0}: no data set is called 'tov'"),
        (b'source = "toy"\nsiez = 3',
         "{0}: no setting of data set 'toy' is called 'siez'"),
        (b'source = "toy"\nsize = "x"', "{0}: toy: size is 'x'"),
        (b'source = "toy"\nfile = 3', '{0}: toy: file is 3'),
    ],
)  # fmt: skip
def test_a_toml_file_that_is_none_is_refused(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(text)
    with pytest.raises(BadInput, match=f"^{re.escape(message.format(path))}"):
        data.open(str(path))


def test_broken_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"a = 1\na = 2")
    with pytest.raises(BadInput, match=f"^{re.escape(str(path))} cannot be read as a data set"):
        data.open(str(path))
    path.unlink()
    with pytest.raises(BadInput, match=r"mine\.toml does not exist; give the path of a file"):
        data.open(str(path))


def test_errors_of_what_a_toml_file_names_name_it_too(tmp_path: Path) -> None:
    (tmp_path / "sets").mkdir()
    path = tmp_path / "sets" / "mine.toml"
    path.write_text('source = "npz"\ntrain = "train.npz"\nhierarchy = ""\n')
    looked = re.escape(f"(looked for in {tmp_path}/sets and here)")
    with pytest.raises(BadInput, match=rf"mine\.toml: train\.npz does not exist; .*{looked}$"):
        data.open(str(path))
    (tmp_path / "sets" / "train.npz").write_bytes(b"")
    with pytest.raises(BadInput) as caught:
        data.open(str(path))
    assert str(caught.value).startswith(f"{path}: {tmp_path}/sets/train.npz")
    assert "looked for" not in str(caught.value)


LONG = "x" * 5000


def test_names_of_thousands_of_letters_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"images": [], "annotations": [], "categories": []}')
    (tmp_path / "mine.toml").write_text(f'source = "coco"\ntrain = "{LONG}"\n')
    for spec in (
        LONG,
        f"{LONG}.toml",
        f"coco:{LONG}",
        f"coco:{tmp_path}/a.json,images={LONG}",
        f"folder:{LONG}",
        f"folder:{tmp_path},labels={LONG}",
        f"npz:{LONG}",
        f"openimages:{LONG}",
        f"voc:{LONG}",
        str(tmp_path / "mine.toml"),
    ):
        with pytest.raises(BadInput) as caught:
            data.open(spec)
        assert len(str(caught.value)) < 900


def test_damaged_toml_files(tmp_path: Path) -> None:
    rows = [{"image_id": i, "category_id": 1 + i % 2} for i in range(6)]
    values = {
        "images": [{"id": i} for i in range(6)],
        "annotations": rows,
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    }
    tree = Hierarchy.of(["pet", "cat", "dog"], [("cat", "pet"), ("dog", "pet")])
    tree.save(tmp_path / "tree.json")
    table = 'source = "coco"\ntrain = "a.json"\nhierarchy = "../tree.json"\ndrop_empty = true\n'
    (tmp_path / "files").mkdir()
    survives(
        lambda folder: data.open(str(folder / "mine.toml")),
        {"mine.toml": table.encode(), "a.json": json.dumps(values).encode()},
        tmp_path=tmp_path / "files",
        count=COUNT // 2,
    )


def test_every_source_says_what_it_is() -> None:
    assert {"scenes", "npz", "coco"} <= set(sources.names())
    for source in sources:
        assert source.title and source.example.partition(":")[0] == source.name


def test_a_hierarchy_may_be_given_later() -> None:
    tree = Hierarchy.of(["pet", "cat", "dog"], [("cat", "pet"), ("dog", "pet")])
    opened = Dataset(
        "x",
        {"train": Truth.of([[1, 0], [0, 0]], None, ["dog", "cat"])},
        boxes={"train": Boxes(np.array([0]), np.array([0]), np.zeros((1, 4), np.float32))},
        difficult={"train": csr_array(np.array([[0, 1], [0, 1]], bool))},
    )
    closed = opened.closed_under(tree)
    assert closed.truth["train"].rows([0, 1]).astype(int).tolist() == [[1, 0, 1], [0, 0, 0]]
    # In image 0 the pet is there anyway; in image 1 it is as difficult as the cat.
    assert closed.difficult["train"].toarray().astype(int).tolist() == [[0, 1, 0], [1, 1, 0]]
    assert closed.boxes["train"].classes.tolist() == [2]
    assert closed.leaves.tolist() == [1, 2] and opened.leaves.tolist() == [0, 1]


def test_boxes_are_known_by_their_content():
    one = np.array([0]), np.array([1]), np.zeros((1, 4), np.float32)
    sized = Boxes(*one, np.array([[64, 48]]))
    assert Boxes(*one).id == Boxes(*one).id != sized.id
    assert sized.id != Boxes(*one, np.array([[64, 49]])).id


@pytest.mark.parametrize(
    ("mark", "kind"),
    [
        ("VOC2012/x", "voc"),
        ("ImageSets/x", "voc"),
        ("train.bin", "cifar-100"),
        ("Groundtruth/x", "nus-wide"),
        ("images.txt", "cub"),
        ("train_list_500.txt", "vg"),
        ("a.jpg", "folder"),
    ],
)
def test_a_bare_folder_is_told_how_to_be_opened(tmp_path: Path, mark: str, kind: str) -> None:
    (tmp_path / mark).parent.mkdir(exist_ok=True)
    (tmp_path / mark).write_text("")
    message = f"'{tmp_path}' does not say what kind of data it is; write {kind}:{tmp_path}"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        data.open(str(tmp_path))


def test_a_data_set_is_shown_in_one_line(tmp_path: Path) -> None:
    opened = data.open("scenes:images=60,val=20,test=30")
    L = len(opened.classes)
    assert repr(opened) == (
        f"<Dataset scenes: train 60, val 20, test 30 images; {L} classes; with pictures and boxes>"
    )
    assert repr(opened.boxes["val"]) == f"<Boxes: {len(opened.boxes['val'].images)} objects>"
    assert len(repr(opened.pictures["val"])) < 200
    (tmp_path / "a.png").write_bytes(b"")
    files = FilePictures.of(tmp_path, ["a.png"])
    assert repr(files) == f"<FilePictures: 1 in {tmp_path}>"
