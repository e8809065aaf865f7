"""Damaged files: every reader gives labels or one sentence that names the file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit.labels.formats import make
from simkit.labels.formats.coco import read_instances
from simkit.labels.formats.npz import read_truth, write_truth
from simkit.labels.truth import Truth
from tests.labels.formats.examples import WRITABLE, gaps, labels, target
from tests.labels.formats.test_coco import GOOD as INSTANCES
from tests.labels.formats.test_coco_panoptic import GOOD as PANOPTIC
from tests.labels.formats.test_lvis import GOOD as LVIS
from tests.labels.formats.test_openimages import NAMES, ROWS
from tests.mutations import COUNT, survives

IDS = {"range": None, "gaps": gaps(20), "text": gaps(20).astype(str)}


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("name", WRITABLE)
def test_damaged_labels(tmp_path: Path, name: str, ids: str) -> None:
    form = make(name)
    path = target(form, tmp_path / "good")
    form.write(labels(20, 3, ids=IDS[ids]), path)
    files = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    survives(
        lambda folder: form.read(folder / path.name),
        files,
        tmp_path=tmp_path,
        count=COUNT // len(IDS),
        seed=list(IDS).index(ids),
    )


def test_damaged_truth(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    write_truth(Truth.of(np.eye(5)), path, csr_array(np.eye(5)[::-1].astype(bool)))
    np.savez(path, **dict(np.load(path)))
    files = {"x.npz": path.read_bytes()}
    survives(lambda folder: read_truth(folder / "x.npz"), files, tmp_path=tmp_path)


@pytest.mark.parametrize(
    ("read", "good"),
    [
        (read_instances, INSTANCES),
        (make("coco").read, INSTANCES),
        (make("coco-panoptic").read, PANOPTIC),
        (make("lvis").read, LVIS),
    ],
)
def test_damaged_annotations(tmp_path: Path, read: Any, good: Any) -> None:
    files = {"x.json": json.dumps(good).encode()}
    survives(lambda folder: read(folder / "x.json"), files, tmp_path=tmp_path)


def test_damaged_openimages_and_names(tmp_path: Path) -> None:
    files = {"x.csv": ROWS.encode(), "names.csv": NAMES.encode()}
    survives(
        lambda folder: make("openimages", names=str(folder / "names.csv")).read(folder / "x.csv"),
        files,
        tmp_path=tmp_path,
    )
