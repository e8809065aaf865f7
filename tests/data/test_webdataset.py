"""The data source webdataset: tar shards of images with labels, local and remote."""

import io
import json
import pickle
import tarfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from simkit import data
from simkit.data.folder import UNLABELLED
from simkit.data.images import FilePictures
from simkit.errors import BadInput
from tests.data import layouts


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def shard(files: Mapping[str, bytes | str], kind: bytes = tarfile.REGTYPE) -> bytes:
    """A tar with these files, in order."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            content = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size, info.type = len(content), kind
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def samples(labels: Mapping[str, object], ending: str) -> bytes:
    """A shard with a grey image for each key, and its labels."""
    files: dict[str, bytes | str] = {}
    for key, value in labels.items():
        files[f"./{key}.jpg"] = layouts.jpeg(int(key.rpartition("/")[2]))
        files[f"./{key}.{ending}"] = json.dumps(value) if ending == "json" else str(value)
    return shard(files)


def present(opened: data.Dataset, split: str = "train+val") -> list[list[int]]:
    return opened.truth[split].present.toarray().astype(int).tolist()


@pytest.mark.parametrize(
    ("ending", "labels"),
    [
        ("json", [["cat", "dog"], [], ["bird"]]),
        ("json", [{"labels": ["cat", "dog"], "id": 7}, {"labels": []}, {"labels": ["bird"]}]),
        ("json", [{"cat": 1, "dog": 1, "bird": 0}, dict.fromkeys(("cat", "dog", "bird"), 0),
                  {"bird": 1, "cat": 0, "dog": 0}]),
        ("txt", ["cat\ndog\n", "", " bird"]),
        ("cls", ["2 0", "", "1"]),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*columns that do not say present")
@pytest.mark.filterwarnings("ignore:.*lists of classes")
def test_labels_of_every_form(tmp_path: Path, ending: str, labels: list[object]) -> None:
    keys = ("a/10", "a/20", "b/30")
    (tmp_path / "x-0.tar").write_bytes(samples(dict(zip(keys, labels, strict=True)), ending))
    (tmp_path / "names.txt").write_text("dog\nbird\ncat\nowl\n")
    opened = data.open(f"webdataset:{tmp_path}/x-*.tar,classes={tmp_path}/names.txt,val=")
    assert opened.name == "x" and opened.classes == ("dog", "bird", "cat", "owl")
    assert opened.truth["train+val"].images.tolist() == [f"{key}.jpg" for key in keys]
    assert present(opened) == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    again = data.open(opened.spec)
    assert {s: t.id for s, t in again.truth.items()} == {s: t.id for s, t in opened.truth.items()}


def test_splits_are_files_or_a_key_and_null_is_unknown(tmp_path: Path) -> None:
    rows = {"1": {"cat": 1, "dog": None}, "2": {"cat": 0, "dog": 1}, "3": {"cat": 0, "dog": 0}}
    (tmp_path / "train.tar").write_bytes(samples(rows, "json"))
    (tmp_path / "test.tar").write_bytes(samples({"4": {"dog": 1, "cat": 1}}, "json"))
    spec = f"webdataset:{tmp_path}/train.tar,test={tmp_path}/test.tar,val={tmp_path}/test.tar"
    with pytest.raises(BadInput, match=r"test\.tar/4\.jpg.* have the same name"):
        data.open(spec)
    (tmp_path / "val.tar").write_bytes(samples({"5": {"cat": 0, "dog": 0}}, "json"))
    opened = data.open(spec.replace("val=" + str(tmp_path) + "/test", f"val={tmp_path}/val"))
    assert [len(part.images) for part in opened.truth.values()] == [3, 1, 1]
    known = opened.truth["train"].known
    assert known is not None and known.toarray().tolist() == [[1, 0], [1, 1], [1, 1]]
    assert opened.truth["test"].images.tolist() == ["4.jpg"] and present(opened, "test") == [[1, 1]]
    rows = {key: row | {"split": "test" if key == "3" else "train"} for key, row in rows.items()}
    (tmp_path / "train.tar").write_bytes(samples(rows, "json"))
    assert data.open(f"webdataset:{tmp_path}/train.tar").truth["test"].images.tolist() == ["3.jpg"]
    with pytest.raises(BadInput, match="names its split; leave val and test out"):
        data.open(f"webdataset:{tmp_path}/train.tar,val={tmp_path}/val.tar")


def test_images_are_those_of_a_folder_of_the_same_files(tmp_path: Path) -> None:
    """Their pixels, their id, and the brightness of twelve bits."""
    rng = np.random.default_rng(0)
    deep = io.BytesIO()
    Image.fromarray(rng.integers(0, 4096, (9, 8)).astype(np.uint16)).save(deep, "PNG")
    large = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (90, 80, 3), dtype=np.uint8)).save(large, "PNG")
    files = {"a.png": deep.getvalue(), "b.PNG": large.getvalue(), "c.jpg": layouts.jpeg(9)}
    layouts.write(tmp_path / "photos", files)
    (tmp_path / "s.tar").write_bytes(shard(files))
    with pytest.warns(UserWarning, match="read as 12 bits"):
        packed = data.open(f"webdataset:{tmp_path}/s.tar,labels=none").pictures["train"]
    with pytest.warns(UserWarning, match="read as 12 bits"):
        plain = data.open(f"folder:{tmp_path}/photos,labels=none").pictures["train"]
    assert isinstance(plain, FilePictures) and packed.id == plain.id
    order = [2, 0, 1]
    for one, other in zip(packed.read(order), plain.read(order), strict=True):
        assert np.array_equal(one, other)
    again = pickle.loads(pickle.dumps(packed)).select(np.array(order))
    assert len(again) == 3 and again.id == plain.select(np.array(order)).id


def test_remote_shards_are_those_on_disk(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for number in range(3):
        keys = {f"{10 * number + i}": ["cat"] if i % 2 else ["dog"] for i in range(4)}
        content = samples(keys, "json")
        memory.pipe(f"/bucket/of-tests/train-{number:02}.tar", content)
        (tmp_path / f"train-{number:02}.tar").write_bytes(content)
    near = data.open(f"webdataset:{tmp_path}/train-{{00..02}}.tar")
    for pattern in ("train-{00..02}.tar", "train-*.tar"):
        far = data.open(f"webdataset:memory://bucket/of-tests/{pattern}")
        for split, part in near.truth.items():
            assert far.truth[split].id == part.id
            assert far.pictures[split].id == near.pictures[split].id
        rows = np.arange(len(near.truth["train"].images))[::-1]
        for one, other in zip(
            far.pictures["train"].read(rows), near.pictures["train"].read(rows), strict=True
        ):
            assert np.array_equal(one, other)
    assert data.open(f"webdataset:{tmp_path}/train-00.tar,labels=none").classes == UNLABELLED


def test_a_remote_shard_is_listed_once_until_it_changes(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory, spec = fsspec.filesystem("memory"), "webdataset:memory://bucket/of-lists/x.tar"
    memory.pipe("/bucket/of-lists/x.tar", samples({"1": ["cat"], "2": ["dog"]}, "json"))
    first = data.open(spec)
    with monkeypatch.context() as patch:
        patch.setattr(type(memory), "open", None)
        again = data.open(spec)
    assert again.truth["train"].id == first.truth["train"].id
    assert again.pictures["train"].id == first.pictures["train"].id
    (kept,) = (cache / "shards").iterdir()
    kept.write_text("{")
    assert data.open(spec).truth["train"].id == first.truth["train"].id
    memory.pipe("/bucket/of-lists/x.tar", samples({"1": ["owl"], "2": ["dog"]}, "json"))
    assert data.open(spec).classes == ("owl", "dog")


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    files = {
        "a.jpg": layouts.jpeg(1),
        "a.txt": "cat",
        "a.npy": b"x",
        "b.txt": "dog",
        "._a.jpg": b"",
    }
    (tmp_path / "x.tar").write_bytes(shard(files))
    with pytest.warns(
        UserWarning, match=r"left out because .*: 3 of 4 \(a\.npy, \._a\.jpg, b\.txt"
    ):
        data.open(f"webdataset:{tmp_path}/x.tar")


@pytest.mark.parametrize(
    ("files", "settings", "parts"),
    [
        ({"a.jpg": "", "a.png": ""}, "", ["x.tar", "a.png is a second image of a.jpg"]),
        ({"a.jpg": "", "a.txt": "cat", "a.cls": "1"}, "", ["labels in cls, txt", "labels=cls or"]),
        ({"a.jpg": ""}, "", ["no sample has labels; add labels=none"]),
        ({"a.jpg": "", "a.txt": "x", "b.jpg": ""}, "", ["x.tar/b.jpg", "no labels in a file .txt"]),
        ({"a.jpg": "", "a.cls": "cat"}, "", ["x.tar/a.jpg", "'cat'; numbers of classes"]),
        ({"a.jpg": "", "a.json": "{"}, "", ["x.tar/a.jpg", "no JSON", "correct them"]),
        ({"a.jpg": "", "a.json": "[[1]]"}, "", ["x.tar/a.jpg", "[[1]]; a list of classes"]),
        ({"a.jpg": "", "a.cls": "3"}, ",classes=FOLDER/names.txt", ["class 3", "numbered from 0"]),
        ({"a.jpg": "", "a.txt": "cta"}, ",classes=FOLDER/names.txt", ["did you mean 'cat'"]),
        ({"a.txt": "cat"}, "", ["holds no images; give tars"]),
        ({"a.jpg": "", "b/a.jpg": ""}, ",labels=none,test=FOLDER/none.tar", ["none.tar", "exist"]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_what_is_refused(
    tmp_path: Path, files: dict[str, str], settings: str, parts: list[str]
) -> None:
    (tmp_path / "x.tar").write_bytes(shard(files))
    (tmp_path / "names.txt").write_text("dog\ncat\n")
    settings = settings.replace("FOLDER", str(tmp_path))
    layouts.refused(f"webdataset:{tmp_path}/x.tar{settings}", *parts)


def test_addresses_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    layouts.refused(
        "webdataset:memory://no/such.tar,labels=none", "memory://no/such.tar", "address"
    )
    layouts.refused("webdataset:memory://no/such-*.tar", "such-*.tar matches no file; give tar")
    layouts.refused("webdataset:nothing://x.tar", "nothing://x.tar is no address", "correct it")
    (tmp_path / "x.tar").write_bytes(b"no tar")
    layouts.refused(f"webdataset:{tmp_path}/x.tar", "x.tar cannot be read as an uncompressed tar")
    (tmp_path / "y.tar").write_bytes(shard({"a.jpg": "no image", "a.txt": "cat"}))
    pictures = data.open(f"webdataset:{tmp_path}/y.tar").pictures["train"]
    with pytest.raises(BadInput, match=r"y\.tar/a\.jpg cannot be read as an image"):
        pictures.read([0])
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    mend = "pip install 'simkit-annotation[remote]'"
    layouts.refused("webdataset:s3://bucket/x.tar", "s3://bucket/x.tar", mend)


@pytest.mark.slow
def test_shards_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By s3fs, from a simulated S3, with the address and the keys in the environment."""
    server = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    simulated = server.ThreadedMotoServer(port=0)
    simulated.start()
    try:
        host, port = simulated.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(key, "testing")
        system = s3fs.S3FileSystem()
        system.mkdir("bucket")
        for number in range(2):
            keys = {f"{10 * number + i}": ["cat"] if i % 2 else ["dog"] for i in range(4)}
            content = samples(keys, "json")
            system.pipe(f"bucket/train-{number}.tar", content)
            (tmp_path / f"train-{number}.tar").write_bytes(content)
        far = data.open("webdataset:s3://bucket/train-*.tar").pictures["train+val"]
        near = data.open(f"webdataset:{tmp_path}/train-{{0..1}}.tar").pictures["train+val"]
        assert far.id == near.id
        for one, other in zip(far.read(range(8)), near.read(range(8)), strict=True):
            assert np.array_equal(one, other)
        layouts.refused("webdataset:s3://bucket/none.tar", "s3://bucket/none.tar", "address")
    finally:
        simulated.stop()


GOOD = samples({str(n): ["cat"] for n in range(4)}, "json")
HALF = tarfile.open(fileobj=io.BytesIO(GOOD)).getmembers()[4].offset


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GOOD[:HALF], "its end is missing"),
        (GOOD[:HALF] + b"?" + GOOD[HALF + 1 :], f"read on from byte {HALF:,}: .* damaged"),
        (GOOD + GOOD, "or several tars were joined"),
        (GOOD[:HALF] + samples({"1": ["dog"]}, "json")[1536:], "1.json is in it twice"),
        (shard({"1.jpg": layouts.jpeg(1)}, tarfile.GNUTYPE_SPARSE), "1.jpg is .* sparse file"),
    ],
    ids=["cut between files", "damaged header", "joined", "labels twice", "sparse"],
)
def test_shards_of_which_a_part_would_be_lost_are_refused(
    tmp_path: Path, content: bytes, says: str
) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(BadInput, match=rf"x\.tar: .*{says}"):
        data.open(f"webdataset:{tmp_path}/x.tar")


def test_images_of_a_shard_that_is_written_again_meanwhile_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(GOOD)
    opened = data.open(f"webdataset:{tmp_path}/x.tar")
    (tmp_path / "x.tar").write_bytes(samples({str(n): ["cat"] for n in (3, 2, 1, 0)}, "json"))
    with pytest.raises(BadInput, match=r"x\.tar/0\.jpg changed after its shard was opened"):
        opened.pictures["train"].read([0])
