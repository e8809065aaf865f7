"""`simkit features`: what it writes, what it says, and what training makes of it."""

import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from simkit.cache import in_cache
from simkit.files import NotWritten

SMALL = "scenes:images=60,val=20,test=30"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def photographs(torn: tuple[int, ...] = (), count: int = 20) -> str:
    """A data set of photographs, cats and dogs, some of which cannot be read."""
    rng = np.random.default_rng(0)
    Path("pictures").mkdir()
    images, annotations = [], []
    for i in range(count):
        pixels = rng.integers(0, 255, (50 + i, 60, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(f"pictures/{i}.png")
        images.append({"id": i, "file_name": f"{i}.png"})
        annotations.append({"id": i, "image_id": i, "category_id": 1 + i % 2, "bbox": [0, 0, 9, 9]})
    for i in torn:
        Path(f"pictures/{i}.png").write_text("torn")
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    whole = {"images": images, "annotations": annotations, "categories": categories}
    Path("mine.json").write_text(json.dumps(whole))
    return "coco:mine.json,test=mine.json,images=pictures"


def test_all_splits_go_to_the_cache_where_training_finds_them(shell, cache: Path) -> None:
    done = shell("features", "--data", SMALL)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["train", "val", "test"]
    assert lines[0].startswith("train: 60 images, 60 computed at ")
    assert "; pooled features (128, 0.0 MB) in " in lines[0]
    assert lines[3].startswith("peak memory ") and lines[3].endswith(" MB")
    again = shell("features", "--data", SMALL)
    assert again.out.startswith(
        "train: 60 images, already there; pooled features (128, 0.0 MB) in "
    )
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    shell("simulate", "--scheme", "full-subset", "--data", SMALL, "--out", "full.parquet")
    how = ("--labels", "full.parquet", "--data", SMALL, "--epochs", 1)
    assert shell("train", "--method", "an", *how).code == 0
    assert before == {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}


def test_a_folder_serves_training_and_comparison(shell) -> None:
    done = shell("features", "--data", SMALL, "--kind", "both", "--out", "f", "--json")
    assert done.code == 0, done.err
    made = {(one["split"], one["kind"]): one for one in done.json["features"]}
    assert made["test", "maps"]["shape"] == [30, 128, 8, 8]
    assert made["test", "maps"]["folder"] == "f/test/maps"
    assert done.json["peak_memory_mb"] is None or done.json["peak_memory_mb"] > 50
    shell("simulate", "--scheme", "full-subset", "--data", SMALL, "--out", "full.parquet")
    how = ("--labels", "full.parquet", "--data", SMALL, "--epochs", 2, "--json")
    brought = ("--features", "train=f/train", "--features", "test=f/test")
    for method in ("an", "an+boostlu"):
        own = shell("train", "--method", method, *how)
        other = shell("train", "--method", method, *how, *brought)
        assert other.code == 0, other.err
        assert other.json["map"] == own.json["map"]
        for above in (["f"], ["train=f", "test=f/test"]):
            words = [word for each in above for word in ("--features", each)]
            again = shell("train", "--method", method, *how, *words)
            assert again.code == 0, again.err
            assert again.json["map"] == own.json["map"]
    for given in ("f", "f/test", "f/test/pooled"):
        near = ("--data", SMALL, "--split", "test", "--query", 3, "--features", given)
        assert shell("neighbours", *near).code == 0
    done = shell("train", "--method", "an", *how, "--features", "f/test")
    assert done.code == 2 and done.err == (
        "simkit: --features is 'f/test'; write a split and a file, as in train=FILE.npz, or a "
        "folder of splits\n"
    )


def test_pictures_without_labels(shell) -> None:
    photographs()
    spec = ("--data", "folder:pictures,labels=none")
    done = shell("features", *spec, "--out", "f")
    assert done.code == 0 and done.out.startswith("train: 20 images, 20 computed at ")
    assert done.err.startswith("simkit: note: features of pictures come from scenes-net, ")
    assert "for photographs name backbone mobilenet_v2" in done.err
    near = shell("neighbours", *spec, "--features", "f", "--query", "3.png", "--k", 2, "--json")
    rows = near.json["neighbours"]
    assert [row["rank"] for row in rows] == [0, 1, 2]
    assert rows[0]["image"] == "3.png" and rows[0]["unknown"] == 1
    done = shell("simulate", "--scheme", "full-subset", *spec)
    assert done.code == 2 and "no labels to simulate from" in done.err
    assert "note" not in done.err


def test_a_part_says_that_others_are_left(shell) -> None:
    how = ("--data", SMALL, "--split", "train", "--batch", 16, "--out", "f")
    first = shell("features", *how, "--part", "1/2")
    assert first.code == 0 and first.out.startswith("train: part 1/2 is complete, 32 computed at ")
    assert "the part that finishes last joins the pooled features\n" in first.out
    again = shell("features", *how, "--part", "1/2", "--json")
    (unfinished,) = again.json["features"]
    assert unfinished["part"] == "1/2" and unfinished["computed"] == 0
    last = shell("features", *how, "--part", "2/2")
    assert last.out.startswith("train: 60 images, 28 computed at ")
    assert shell("features", *how, "--part", "1/2").out.startswith("train: 60 images, already the")
    for words, told in (
        (("--part", "3/2"), "part is '3/2'; I/N with I from 1 to N is expected"),
        (
            ("--part", "1/2", "--scheduler", "tcp://10.0.0.1:1"),
            "--scheduler and --part are both given",
        ),
    ):
        done = shell("features", *how, *words)
        assert done.code == 2 and told in done.err


def test_a_cluster_computes_the_parts(shell, cache: Path, monkeypatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr("simkit.study.scheduler._PARTS", 3)
    how = ("--data", SMALL, "--batch", 8)
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **quiet) as local:
        address = ("--scheduler", local.scheduler_address)
        done = shell("features", *how, *address)
        assert done.code == 0, done.err
        assert done.out.startswith("train: 60 images, already there; pooled features (128, 0.0 MB)")
        failed = shell("features", *how, *address, "--split", "train", "--device", "cuda:77")
        assert failed.code == 0  # nothing is left to compute
        failed = shell("features", *how, *address, "--size", 96, "--device", "cuda:77")
        assert failed.code == 2 and "; run the same command to resume" in failed.err
    found = {path.relative_to(cache): path.read_bytes() for path in cache.rglob("*.*")}
    monkeypatch.setenv("SIMKIT_CACHE", "alone")
    assert shell("features", *how).code == 0
    own = {path.relative_to("alone"): path.read_bytes() for path in Path("alone").rglob("*.*")}
    assert found == own


def test_one_split_and_another_size(shell) -> None:
    how = ("--data", SMALL, "--split", "val", "--size", 96, "--kind", "maps", "--weights", "random")
    done = shell("features", *how, "--json")
    assert done.code == 0, done.err
    assert [(one["split"], one["shape"]) for one in done.json["features"]] == [
        ("val", [20, 128, 12, 12])
    ]


def test_skipped_pictures_are_listed_and_take_no_part(shell) -> None:
    spec = photographs(torn=(3, 16))
    done = shell("features", "--data", spec, "--split", "train", "--out", "f")
    assert done.code == 2 and "3.png cannot be read as an image" in done.err
    assert done.err.endswith("simkit predict has the same option\n")
    done = shell("features", "--data", spec, "--out", "f", "--unreadable", "skip")
    assert done.code == 0, done.err
    text = done.out
    assert text.count("could not be read and are skipped; remove the folder to try them again") >= 2
    assert text.count("image 3: pictures/3.png cannot be read as an image") == 2
    listed = json.loads(Path("f/test/pooled/index.json").read_text())["skipped"]
    assert [each["row"] for each in listed] == [3, 16]
    shell("simulate", "--scheme", "full-subset", "--data", spec, "--out", "full.parquet")
    brought = ("--features", "train=f/train", "--features", "test=f/test")
    how = ("--labels", "full.parquet", "--data", spec, "--epochs", 1)
    done = shell("train", "--method", "an", *how, *brought, "--json")
    assert done.code == 0, done.err
    shown = shell("show", "f/test/pooled")
    assert shown.out.startswith("pooled features of 20 images, 128 for each\n")
    assert "  row 16 skipped: pictures/16.png cannot be read as an image" in shown.out
    assert shell("show", "f/test/pooled", "--json").json["shape"] == [20, 128]
    lost = len(json.loads(Path("f/train/pooled/index.json").read_text())["skipped"])
    assert f"{lost} images of train could not be read" in done.err
    assert "2 images of test could not be read" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--split tset", "has no split 'tset'; it has train, val, test"),
        ("--backbone resnet5", "no backbone is called 'resnet5'; did you mean 'resnet50'?"),
        ("--weights w.pth", "w.pth does not exist; give the path of a file with the weights"),
        ("--size 8", "backbone 'scenes-net': size is 8; 32 to 4,096 pixels are expected"),
        ("--device tpu", "device is 'tpu'; auto, cpu, cuda or a numbered GPU such as cuda:1"),
    ],
)
def test_bad_input(shell, words: str, message: str) -> None:
    done = shell(f"features --data {SMALL} {words}")
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1


def test_an_unreadable_picture_is_named_as_in_these_data(shell, cache: Path) -> None:
    spec = photographs(torn=(3,))
    shutil.copytree("pictures", "copies")
    how = ("features", "--split", "train", "--data")
    assert shell(*how, spec, "--unreadable", "skip").code == 0
    done = shell(*how, spec.replace("=pictures", "=copies"))
    assert done.code == 2 and "copies/3.png cannot be read" in done.err
    assert "pictures" not in done.err


def test_a_folder_of_others_is_kept(shell) -> None:
    assert shell("features", "--data", SMALL, "--split", "val", "--out", "f").code == 0
    done = shell("features", "--data", SMALL + ",seed=1", "--split", "val", "--out", "f")
    assert done.code == 2
    assert done.err == (
        "simkit: f/val/pooled holds features of other images, or of another backbone, weights or "
        "size; choose another folder or remove it\n"
    )


def test_what_was_not_used_is_pruned(shell, cache: Path) -> None:
    how = ("features", "--data", SMALL, "--split")
    for split in ("val", "test"):
        assert shell(*how, split).code == 0
    own = cache / "features" / "mine" / "train.npy"
    own.parent.mkdir()
    own.write_text("of the user")
    for file in cache.glob("features/*/*/index.json"):
        (file.parent / "gone").symlink_to("nowhere")  # as what another process removes meanwhile
    for file in cache.rglob("*"):
        os.utime(file, (0, 0), follow_symlinks=False)
    assert shell(*how, "val").code == 0  # used again
    done = shell("features", "--prune", 30)
    text = f"removed 1 folder, 0.0 MB, of features and decoded images from {cache}; left: 1 folder"
    assert done.code == 0 and done.out.startswith(text)
    assert ", already there" in shell(*how, "val").out and "computed at" in shell(*how, "test").out
    done = shell("features", "--prune", 0, "--json")
    assert (done.json["removed"], done.json["left"]) == (2, 0)
    assert [*cache.rglob("*.npy")] == [own]
    assert "Give the number of days" in shell("features", "--prune").err
    done = shell("features", "--prune", -1)
    assert done.code == 2 and "prune is -1; give a number of days from 0 on" in done.err


def test_pruning_leaves_a_pass_that_is_under_way(shell, cache: Path) -> None:
    how = ("features", "--data", SMALL, "--split", "val")
    assert shell(*how).code == 0
    (index,) = cache.glob("features/*/*/index.json")
    index.unlink()  # as before the last block
    done = shell("features", "--prune", 0)
    assert done.code == 0 and "left: 1 folder" in done.out
    assert done.out.endswith("of these 1 folder of passes that may be under way\n")
    for file in (index.parent, *index.parent.iterdir()):
        os.utime(file, (0, 0))
    assert "removed 1 folder" in shell("features", "--prune", 0).out


def test_a_cache_that_cannot_be_written_names_its_variable(shell, tmp_path, monkeypatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "file" / "cache"))
    how = ("features", "--data", SMALL, "--split", "val")
    done = shell(*how)
    assert done.code == 2 and "cannot be written (Not a directory); set SIMKIT_CACHE to" in done.err
    with pytest.raises(NotWritten) as caught, in_cache(tmp_path / "file" / "cache"):
        raise NotWritten(tmp_path / "file" / "cache", "Not a directory")
    again = pickle.loads(pickle.dumps(caught.value))  # as it comes from another process
    assert str(again) == str(caught.value) and "set SIMKIT_CACHE to" in str(again)
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "cache"))
    assert shell(*how).code == 0
    done = shell(*how, "--out", tmp_path / "file" / "out")
    assert done.code == 2 and "SIMKIT_CACHE" not in done.err


def test_training_computes_the_features_of_images_with_questions_alone(shell, cache: Path) -> None:
    spec = photographs()
    few = ("--images", 8, "--data", spec, "--out", "few.parquet")
    assert shell("simulate", "--scheme", "full-subset", *few).code == 0
    how = ("--labels", "few.parquet", "--data", spec, "--epochs", 1)
    done = shell("train", "--method", "an", *how)
    assert done.code == 0, done.err
    held = [len(np.load(file)) for file in cache.rglob("images.npy")]
    assert sorted(held) == [
        6,
        14,
    ]  # of the 8 images 2 are held out; the 20 test images contain the others
