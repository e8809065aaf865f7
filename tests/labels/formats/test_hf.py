"""Files of Hugging Face: metadata.jsonl and .csv, parquet, and saved data sets."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from simkit import data
from simkit.errors import BadInput
from simkit.labels.formats import for_path, make
from simkit.labels.formats.hf import HuggingFace
from simkit.labels.partial import PartialLabels
from tests.data import layouts
from tests.labels.formats.examples import as_table, labels, refuses
from tests.labels.formats.test_round_trips import any_labels, patient
from tests.mutations import COUNT, survives

ODD = ['cat, "Tom"', "chien é\n", "[]"]
CODES = [[1, -1, 0], [0, 0, 0], [0, 0, 0], [-1, 0, 1]]
LABELS = PartialLabels.of(CODES, ['a "1",\n.jpg', "é.jpg", "c.jpg", "d.jpg"], ODD,
                          [True, True, False, True])  # fmt: skip
TARGETS = ["x.jsonl", "x.csv", "x.parquet", "x"]


def round_trip(given: PartialLabels, path: Path) -> PartialLabels:
    HuggingFace().write(given, path)
    return HuggingFace().read(path)


@pytest.mark.parametrize("target", TARGETS)
def test_labels_come_back(tmp_path: Path, target: str) -> None:
    back = round_trip(LABELS, tmp_path / target)
    assert as_table(back) == as_table(LABELS)
    assert back.images.tolist() == LABELS.images.tolist()
    assert back.asked.tolist() == LABELS.asked.tolist()
    assert sorted(back.classes) == sorted(ODD)
    if target != "x":
        assert for_path(tmp_path / target) == HuggingFace()


def test_jsonl_by_hand(tmp_path: Path) -> None:
    given = PartialLabels.of([[1, -1], [0, 0]], [3, 12], ["b", "a"])
    make("hf(file='{:03d}.jpg')").write(given, tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").read_text().splitlines() == [
        '{"file_name": "003.jpg", "present": ["b"], "absent": ["a"]}',
        '{"file_name": "012.jpg", "present": null, "absent": null}',
    ]
    make("hf").write(given, tmp_path / "x.csv")
    rows = 'file_name,present,absent\n3,"[""b""]","[""a""]"\n12,,\n'
    assert (tmp_path / "x.csv").read_text() == rows


@patient
@given(labels=any_labels())
def test_every_label_comes_back_and_the_rest_is_said(
    labels: PartialLabels, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hf")
    said = " ".join(HuggingFace().loses(labels))
    for target in TARGETS:
        if not labels.codes.nnz and target in ("x.jsonl", "x.csv"):
            with pytest.raises(BadInput, match="no label is known"):
                HuggingFace().write(labels, folder / target)
            continue
        back = round_trip(labels, folder / target)
        assert as_table(back) == as_table(labels)
        assert back.asked.tolist() == labels.asked.tolist()
        same_kind = back.images.dtype.kind == labels.images.dtype.kind
        assert same_kind or "are read back as numbers" in said
        used = [name for name in labels.classes if name in back.classes]
        assert (len(used) == len(labels.classes)) or "no list names them" in said
        assert list(back.classes) == used or "the order of" in said


def test_datasets_reads_what_is_written(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    HuggingFace().write(LABELS, tmp_path / "saved")
    HuggingFace().write(LABELS, tmp_path / "x.parquet")
    saved = datasets.load_from_disk(str(tmp_path / "saved"))
    assert saved["image"][:] == LABELS.images.tolist()
    assert saved.features["present"].feature.names == ODD
    assert saved["present"][:] == [[0], [], None, [2]]
    assert saved["absent"][:] == [[1], [], None, [0]]
    features = datasets.Features.from_arrow_schema(pq.read_schema(tmp_path / "x.parquet"))
    assert features == saved.features


def test_what_datasets_writes_is_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    kind = datasets.ClassLabel(names=ODD)
    lists = datasets.Sequence(kind)
    features = datasets.Features(image=datasets.Value("string"), present=lists, absent=lists)
    columns = {"image": ["a", "b", "c"], "present": [[0], [], None], "absent": [[2, 1], [], None]}
    made = datasets.Dataset.from_dict(columns, features=features)
    made.save_to_disk(str(tmp_path / "saved"), num_shards=2)
    made.to_parquet(str(tmp_path / "x.parquet"))
    plain = datasets.Dataset.from_dict(
        {"image": [5, 6], "present": [["b"], []], "absent": [[], ["a"]]}
    )
    plain.save_to_disk(str(tmp_path / "plain"))
    for name in ("saved", "x.parquet"):
        read = HuggingFace().read(tmp_path / name)
        assert read.rows(range(3)).tolist() == [[1, -1, -1], [0, 0, 0], [0, 0, 0]]
        assert read.classes == tuple(ODD) and read.asked.tolist() == [True, True, False]
    read = HuggingFace().read(tmp_path / "plain")
    assert read.images.tolist() == [5, 6] and read.classes == ("a", "b")
    assert read.rows(range(2)).tolist() == [[0, 1], [-1, 0]]


def test_what_datasets_loads_and_saves_again_comes_back(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    HuggingFace().write(LABELS, tmp_path / "x.parquet")
    file, cache = str(tmp_path / "x.parquet"), str(tmp_path / "cache")
    loaded = datasets.load_dataset("parquet", data_files=file, cache_dir=cache, split="train")
    assert loaded["image"][:] == LABELS.images.tolist() and loaded["absent"][2] is None
    loaded.shuffle(1).save_to_disk(str(tmp_path / "saved"))  # it flattens its list of indices
    loaded.filter(lambda row: row["image"] != "c.jpg").to_parquet(str(tmp_path / "part.parquet"))
    for name in ("saved", "part.parquet"):
        back = HuggingFace().read(tmp_path / name)
        assert as_table(back) == as_table(LABELS) and back.classes == LABELS.classes
        assert back.asked.sum() == 3 and len(back.images) == (4 if name == "saved" else 3)


def test_imagefolder_reads_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    files = ["a.jpg", "é.jpg"]
    layouts.write(tmp_path / "photos", {name: layouts.jpeg(9) for name in files})
    given = PartialLabels.of([[1, -1], [0, 0]], files, ODD[:2])
    HuggingFace().write(given, tmp_path / "photos" / "metadata.jsonl")
    loaded = datasets.load_dataset(
        "imagefolder", data_dir=str(tmp_path / "photos"), cache_dir=str(tmp_path / "cache"),
        split="train",
    )  # fmt: skip
    assert loaded["present"][:] == [[ODD[0]], None] and loaded["absent"][:] == [[ODD[1]], None]


@pytest.mark.parametrize("target", ["metadata.jsonl", "metadata.csv", "x.parquet", "saved"])
def test_a_folder_of_images_takes_such_labels(tmp_path: Path, target: str) -> None:
    files = [f"{i}.jpg" for i in range(10)]
    layouts.write(tmp_path, {f"photos/{name}": layouts.jpeg(9) for name in files})
    codes = np.array([[1, -1], [1, 1], [-1, -1], [-1, 1], [0, 1]] * 2)
    place = tmp_path / "photos" / target
    HuggingFace().write(PartialLabels.of(codes, files, ["a", "b"]), place)
    named = "" if target.startswith("meta") else f",labels={place}"
    opened = data.open(f"folder:{tmp_path}/photos{named},test=0.2")
    assert opened.truth["test"].shape == (2, 2) and opened.classes == ("a", "b")
    truth = data.open(f"folder:{tmp_path}/photos{named}").truth["train+val"]
    assert truth.images.tolist() == files
    assert (truth.rows(range(10)) == (codes == 1)).all()
    assert (truth.known_rows(range(10)) == (codes != 0)).all()


def test_complete_lists_are_a_complete_truth(tmp_path: Path) -> None:
    layouts.write(tmp_path, {"a.jpg": layouts.jpeg(9), "b.jpg": layouts.jpeg(8)})
    given = PartialLabels.of([[1, -1], [-1, -1]], ["a.jpg", "b.jpg"], ["a", "b"])
    HuggingFace().write(given, tmp_path / "metadata.csv")
    assert data.open(f"folder:{tmp_path}").truth["train"].known is None


def test_only_present_labels_are_known_without_the_others(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"file_name": "a", "present": ["x"], "text": 1}\n{"file_name": "b"}\n')
    read = HuggingFace().read(path)
    assert read.rows([0, 1]).tolist() == [[1], [0]] and read.asked.tolist() == [True, False]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"image": ["a", "b"], "present": [["y", "x"], []]}), path)
    read = for_path(path).read(path)
    assert read.rows([0, 1]).tolist() == [[1, 1], [0, 0]] and read.asked.all()


@pytest.mark.parametrize(
    "text",
    [
        "File Name;Present;absent\na.jpg;['cat'];['dog']\nb.jpg;[];\n",
        '\ufefffile_name\tpresent\tabsent\r\na.jpg\t["cat"]\t["dog"]\r\nb.jpg\t[]\t\r\n',
    ],
)
def test_metadata_of_any_spreadsheet_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "metadata.csv").write_text(text)
    read = HuggingFace().read(tmp_path / "metadata.csv")
    assert read.images.tolist() == ["a.jpg", "b.jpg"] and read.classes == ("cat", "dog")
    assert read.rows([0, 1]).tolist() == [[1, -1], [0, 0]] and read.asked.all()


@pytest.mark.parametrize(
    "images",
    [
        pa.array(["007", "8"]),
        pa.array(["007", "8"]).dictionary_encode(),
        pa.array(["007", "8"], pa.string_view()),
        pa.array([7.0, 8.0]),
    ],
)
def test_ids_of_typed_columns_keep_their_type(tmp_path: Path, images: pa.Array) -> None:
    for kind in (pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        lists = pa.array([["cat"], ["dog"]], pa.list_(kind))
        pq.write_table(pa.table({"image": images, "present": lists}), tmp_path / "x.parquet")
        read = HuggingFace().read(tmp_path / "x.parquet")
        assert read.images.tolist() == ([7, 8] if images.type == "double" else ["007", "8"])
        assert read.rows([0, 1]).tolist() == [[1, 0], [0, 1]]


def test_folders_of_several_data_sets_and_parts_are_named(tmp_path: Path) -> None:
    for name in ("test", "train"):
        HuggingFace().write(LABELS, tmp_path / "dict" / name)
    with pytest.raises(
        BadInput, match=f"holds test and train; .*as in ({tmp_path}/dict/train)$"
    ) as e:
        HuggingFace().read(tmp_path / "dict")
    assert HuggingFace().read(str(e.value).split(" as in ")[1]).shape == LABELS.shape
    (tmp_path / "files").mkdir()
    part = tmp_path / "files" / "train-00000-of-00002.parquet"
    HuggingFace().write(LABELS, part)
    with pytest.raises(BadInput, match=f"has no state.json, but parquet files: 1; give {part}"):
        HuggingFace().read(tmp_path / "files")
    with pytest.warns(UserWarning, match="it is one of 2 parts"):
        HuggingFace().read(part)
    state = tmp_path / "dict" / "train" / "state.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"_indices_data_files": [{}]}))
    with pytest.raises(BadInput, match="selects some of its rows; call flatten_indices"):
        HuggingFace().read(state.parent)


def test_classes_that_look_alike_are_one(tmp_path: Path) -> None:
    rows = [["k\u00e4fer"], ["ka\u0308fer "], ["K\u00c4FER"]]
    table = pa.table({"image": ["a", "b", "c"], "present": pa.array(rows)})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.warns(UserWarning) as notes:
        read = HuggingFace().read(tmp_path / "x.parquet")
    one, two = (str(each.message) for each in notes)
    assert "look alike and count as one: 1 " in one and "count as different" in two
    assert read.rows(range(3)).tolist() == [[0, 1], [0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"file_name": "a", "present": "x"}', "present"),
        ('{"file_name": "a", "present": [1]}', "present"),
        ('{"file_name": "a", "present": [null]}', "empty entry"),
        (
            '{"file_name": "a", "present": ["x"]}\n{"present": ["x"]}',
            "'file_name' holds '' in row 2",
        ),
        (
            '{"file_name": "a", "present": ["x"]}\n{"file_name": "b", "present": "x"}',
            "'x' in row 2",
        ),
        ('{"file_name": "a", "present": ["x", "x"]}', "'x'"),
        ('{"file_name": "a", "present": ["x"], "absent": ["x"]}', "'x'"),
        ('{"present": ["x"]}', "file_name"),
        ('{"file_name": "a", "present": []}', "no class"),
        ('{"file_name": "a", "present": ["x"]}\n' * 2, "a"),
        ("[]", "x.jsonl"),
    ],
)
def test_rows_that_are_none_are_refused(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    refuses(HuggingFace().read, tmp_path / "x.jsonl", word)


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"image": ["a"], "label": [["x"]]}, "image, label"),
        ({"image": [{"bytes": b"", "path": ""}], "present": [["x"]]}, "'image'"),
        ({"image": [None], "present": [["x"]]}, "'image' is empty in a row"),
        ({"image": ["./a", "a"], "present": [["x"], ["x"]]}, "name the same file"),
        ({"image": ["a"], "present": ["x"]}, "lists of class names"),
        ({"image": ["a"], "present": [[3]]}, "ClassLabel"),
    ],
)
def test_tables_that_are_none_are_refused(tmp_path: Path, columns: dict, word: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    refuses(HuggingFace().read, tmp_path / "x.parquet", word)


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    HuggingFace().write(LABELS, tmp_path / "x")
    with pytest.raises(BadInput, match="exists and is not overwritten"):
        HuggingFace().write(LABELS, tmp_path / "x")
    with pytest.raises(BadInput, match="cannot be written as UTF-8"):
        HuggingFace().write(PartialLabels.of([[1]], ["\ud800"]), tmp_path / "y")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_data_files_of_other_folders_are_not_read(tmp_path: Path) -> None:
    HuggingFace().write(LABELS, tmp_path / "x")
    state = tmp_path / "x" / "state.json"
    state.write_text(json.dumps({"_data_files": [{"filename": "../x/data.arrow"}]}))
    with pytest.raises(BadInput, match=r"state\.json"):
        HuggingFace().read(tmp_path / "x")


@pytest.mark.parametrize("target", ["x.jsonl", "x.csv", "x"])
def test_damaged_files(tmp_path: Path, target: str) -> None:
    HuggingFace().write(labels(20, 3), tmp_path / "good" / target)
    files = {
        path.relative_to(tmp_path / "good").as_posix(): path.read_bytes()
        for path in (tmp_path / "good").rglob("*") if path.is_file()
    }  # fmt: skip
    survives(
        lambda folder: HuggingFace().read(folder / target), files, tmp_path=tmp_path / "bad",
        count=COUNT // 2,
    )  # fmt: skip
