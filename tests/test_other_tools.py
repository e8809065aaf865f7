"""The section "Other tools" of docs/data.md: its commands, with the tools themselves."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from simkit import PartialLabels
from simkit.labels.formats import make
from tests.data import layouts
from tests.labels.formats.examples import as_table

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## Other tools\n")[1].split("\n## ")[0]
FILES = ["sub/é.JPG", "b.v2.png", "c.png", "7.jpg", "f.tif"]
CODES = [[1, -1, 0], [0, 1, 0], [0, 0, 0], [0, -1, -1], [1, 1, -1]]
CLASSES = ['cat "Tom"', "é", "owl"]
LABELS = PartialLabels.of(CODES, FILES, CLASSES, [True, True, False, True, True])


def python_with(requirement: str) -> Path:
    """The Python of an environment with this version alone, which is kept for later runs."""
    name, _, version = requirement.partition("==")
    assert f"{name} {version}" in SECTION.lower()
    folder = ROOT / f".venv-{name}"
    mark, python = folder / "installed", folder / "bin" / "python"
    if not mark.is_file() or mark.read_text() != requirement:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True)
        mark.write_text(requirement)
    return python


def run(python: str | Path, code: str, folder: Path) -> str:
    """The output of a script, without this repository's packages; FiftyOne's home is the folder."""
    home = {"HOME": str(folder), "FIFTYONE_DO_NOT_TRACK": "true", "HF_HOME": str(folder / "hf")}
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | home
    done = subprocess.run([python, "-c", code], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def commands(title: str, folder: Path, python: Path) -> None:
    """Run the blocks under a title, those of Python with the tool unless they import simkit."""
    text = SECTION.split(f"\n### {title}\n")[1].split("\n### ")[0]
    words = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    env = {**os.environ, **words, "PYTHONPATH": str(ROOT)}
    for language, block in re.findall(r"```(sh|py)\n(.*?)```", text, re.DOTALL):
        if language == "py" and "import simkit" not in block:
            run(python, block, folder)
            continue
        shell = ["bash", "-e", "-c"] if language == "sh" else [sys.executable, "-c"]
        done = subprocess.run([*shell, block], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{block}\n{done.stderr[-2000:]}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with photos/ and their labels."""
    layouts.write(tmp_path / "photos", {name: layouts.jpeg(n) for n, name in enumerate(FILES)})
    LABELS.save(tmp_path / "fpc.parquet")
    return tmp_path


def test_hugging_face_commands_run_and_lose_nothing(folder: Path) -> None:
    complete = PartialLabels.of(np.where(LABELS.codes.toarray() > 0, 1, -1), FILES, CLASSES)
    complete.save(folder / "fpc.parquet")
    commands("Hugging Face", folder, Path(sys.executable))
    read = PartialLabels.load(folder / "labels.parquet")
    assert as_table(read) == as_table(complete) and read.classes == LABELS.classes
    loads = re.findall(r"# (datasets\..*)", SECTION)
    assert len(loads) == 3
    for line in loads:
        rows = f"r = {line}; r = r if hasattr(r, 'features') else r['train']; print(len(r))"
        assert run(sys.executable, f"import datasets; {rows}", folder).split()[-1] == "5"


def back(folder: Path, name: str = "back.parquet") -> dict[tuple[str, str], int]:
    """Labels that came back, by the stem of the file, which is all that some tools keep."""
    return stems(PartialLabels.load(folder / name))


def stems(labels: PartialLabels) -> dict[tuple[str, str], int]:
    return {
        (re.sub(r"(?i)\.(jpg|png|tif)$", "", i), c): code
        for (i, c), code in as_table(labels).items()
    }


@pytest.fixture
def fiftyone(folder: Path) -> Path:
    python = python_with("fiftyone==1.22.1")
    try:
        run(python, "import fiftyone; fiftyone.list_datasets()", folder)
    except AssertionError as error:
        if "mongo" not in str(error).lower():
            raise
        pytest.skip(
            "FiftyOne's MongoDB does not start: pip could not download it, or it does not run on "
            "this system; set FIFTYONE_DATABASE_URI to another one"
        )
    return python


def test_fiftyone_imports_labels_and_exports_them_again(folder: Path, fiftyone: Path) -> None:
    commands("FiftyOne", folder, fiftyone)
    assert back(folder) == stems(LABELS)
    labels = PartialLabels.load(folder / "back.parquet")
    assert labels.classes == LABELS.classes and len(labels.images) == len(FILES)


def test_boxes_go_to_fiftyone_and_back(folder: Path, fiftyone: Path) -> None:
    sides = {"width": 20, "height": 10}
    content = {
        "images": [{"id": 50 + n, "file_name": name, **sides} for n, name in enumerate(FILES)],
        "annotations": [
            {"id": 9 - n, "image_id": 50 + n, "category_id": c, "bbox": [1, 2, 3, 4], "iscrowd": 0}
            for n, c in [(1, 2), (2, 1), (2, 3)]
        ],
        "categories": [{"id": c, "name": name} for c, name in enumerate(CLASSES, 1)],
    }
    (folder / "boxes.json").write_text(json.dumps(content))
    given = make("coco(by_file=true)").read(folder / "boxes.json")
    make(f"coco(like='{folder / 'boxes.json'}')").write(given, folder / "x.json")
    run(fiftyone, """
import fiftyone
kind = fiftyone.types.COCODetectionDataset
data = fiftyone.Dataset.from_dir(data_path="photos", labels_path="x.json", dataset_type=kind,
                                 label_types=["detections"], label_field="boxes")
assert data.count("boxes.detections") == 3
data.export(labels_path="y.json", dataset_type=kind, label_field="boxes",
            classes=data.default_classes)
""", folder)  # fmt: skip
    read = make("coco(by_file=true)").read(folder / "y.json")
    assert read.classes == given.classes and len(read.images) == len(FILES)
    by_name = {Path(name).name: name for name in FILES}  # FiftyOne leaves folders out
    named = {(by_name[name], c): code for (name, c), code in as_table(read).items()}
    assert named == as_table(given)


def test_datumaro_reads_tags_and_writes_them_again(folder: Path) -> None:
    commands("CVAT", folder, python_with("datumaro==1.13.12"))
    labels = PartialLabels.load(folder / "back.parquet")
    assert labels.classes == LABELS.classes and len(labels.images) == len(FILES)
    present = {pair: 1 for pair, code in stems(LABELS).items() if code > 0}
    assert {pair: code for pair, code in back(folder).items() if code > 0} == present
    assert back(folder, "tags.parquet") == present


def test_absent_tags_of_open_images_stay_absent(folder: Path) -> None:
    run(python_with("datumaro==1.13.12"), """
import datumaro as dm
tags = [dm.Label(0, attributes={"score": 1}), dm.Label(1, attributes={"score": 0})]
items = [dm.DatasetItem("a", subset="train", annotations=tags)]
dm.Dataset.from_iterable(items, categories=["cat", "dog", "owl"]).export("out", "open_images")
""", folder)  # fmt: skip
    place = folder / "out" / "annotations"
    form = make(f"openimages(names='{place / 'class-descriptions.csv'}')")
    read = form.read(place / "train-annotations-human-imagelabels.csv")
    assert as_table(read) == {("a", "cat"): 1, ("a", "dog"): -1}
    assert read.classes == ("cat", "dog", "owl")


def test_cleanlab_names_questions_to_ask_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((120, 3)) < 0.4
    (tmp_path / "photos").mkdir()
    for n, shown in enumerate(truth):  # a class is a stripe of its colour
        pixels = np.full((30, 30, 3), 90, np.uint8)
        for c in np.flatnonzero(shown):
            pixels[10 * c : 10 * c + 10] = 255 * np.eye(3, dtype=np.uint8)[c]
        Image.fromarray(pixels).save(tmp_path / "photos" / f"{n:03}.png")
    names, classes = [f"{n:03}.png" for n in range(120)], ["blue", "green", "red"]
    wrong = rng.choice(360, 18, replace=False)  # 5 % of the labels
    given = truth.copy()
    given.flat[wrong] ^= True
    codes = np.where(given, 1, -1)
    PartialLabels.of(codes, names, classes).save(tmp_path / "complete.parquet")
    rows = [(names[n], classes[c]) for n, c in np.argwhere(given)]
    rows += [(names[n], "") for n in np.flatnonzero(~given.any(axis=1))]
    pd.DataFrame(rows, columns=["file", "class"]).to_csv(
        tmp_path / "photos" / "labels.csv", index=False
    )
    commands("cleanlab", tmp_path, python_with("cleanlab==2.9.0"))
    asked = pd.read_csv(tmp_path / "order1" / "round-1" / "questions.csv")
    issues = pd.read_csv(tmp_path / "issues.csv")
    pairs = {*zip(asked["image"], asked["class"], strict=True)}
    assert pairs == {*zip(issues["image"], issues["class"], strict=True)}
    flipped = {(names[w // 3], classes[w % 3]) for w in wrong}
    assert len(flipped & pairs) >= 0.8 * len(flipped) and len(pairs) < 2 * len(flipped)
