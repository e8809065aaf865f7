"""Damaged files: every reader gives labels or one sentence that names the file."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.labels.formats import make
from simkit.labels.formats.coco import read_instances
from simkit.labels.formats.npz import read_difficult, read_truth, write_truth
from simkit.labels.truth import Truth
from tests.labels.formats.examples import gaps, labels
from tests.labels.formats.test_coco import GOOD as INSTANCES
from tests.reference.damage import damaged_bytes, damaged_json

COUNT = 350


def _check(path: Path, texts: Any, *readers: Callable[[Path], Any]) -> None:
    outcomes = {"read": 0, "refused": 0}
    for text in texts:
        path.write_bytes(text)
        for read in readers:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    read(path)
                outcomes["read"] += 1
            except BadInput as error:
                outcomes["refused"] += 1
                message = str(error)
                assert message.startswith(str(path)) and "\n" not in message, message
    assert outcomes["refused"] > outcomes["read"]


@pytest.mark.parametrize(
    "ids", [None, gaps(60), gaps(60).astype(str)], ids=["range", "gaps", "text"]
)
@pytest.mark.parametrize("name", ["parquet", "npz", "csv"])
def test_damaged_labels(tmp_path: Path, name: str, ids: Any) -> None:
    path = tmp_path / "x"
    make(name).write(labels(ids=ids), path)
    _check(path, damaged_bytes(path.read_bytes(), COUNT), make(name).read)


@pytest.mark.parametrize("pack", [np.savez, np.savez_compressed])
def test_damaged_truth(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "x.npz"
    write_truth(Truth.of(np.eye(40)), path, csr_array(np.eye(40)[::-1].astype(bool)))
    pack(path, **dict(np.load(path)))
    _check(path, damaged_bytes(path.read_bytes(), COUNT), read_truth)
    _check(path, damaged_bytes(path.read_bytes(), COUNT, seed=1), read_difficult)


def test_damaged_instances(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    good = json.dumps(INSTANCES).encode()
    readers = (read_instances, make("coco").read)
    _check(path, damaged_bytes(good, COUNT), *readers)
    _check(path, damaged_json(INSTANCES, COUNT), *readers)
