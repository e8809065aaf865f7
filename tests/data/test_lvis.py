"""The data source lvis."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from simkit import data
from simkit.data.coco import Lvis
from tests.labels.formats.test_lvis import GOOD


def _save(path: Path, **changed: Any) -> Path:
    path.write_text(json.dumps(GOOD | changed))
    return path


def test_the_truth_is_known_in_part(tmp_path: Path) -> None:
    path = _save(tmp_path / "x.json")
    truth = data.open(f"lvis:{path},val={path}").truth["train"]
    assert truth.rows([0, 1]).astype(int).tolist() == [[0, 1, 0], [0, 0, 0]]
    assert truth.known is not None and truth.known.toarray().tolist() == [[True] * 3, [False] * 3]


@pytest.mark.parametrize(
    ("unknown", "kept"),
    [("keep", {"train", "test"}), ("absent", set()), ("absent-in-train", {"test"})],
)
def test_what_is_not_known_may_count_as_absent(
    tmp_path: Path, unknown: str, kept: set[str]
) -> None:
    path = _save(tmp_path / "x.json")
    opened = data.open(f"lvis:{path},test={path},unknown={unknown}")
    assert {split for split, truth in opened.truth.items() if truth.known is not None} == kept
    assert opened.truth["train"].images.tolist() == [9, 4]
    assert data.open(opened.spec).truth["train"].id == opened.truth["train"].id


@pytest.mark.skipif("SIMKIT_DATA" not in os.environ, reason="SIMKIT_DATA names no data")
def test_the_1203_classes_go_with_the_shipped_hierarchy(tmp_path: Path) -> None:
    meta = Path(os.environ["SIMKIT_DATA"]) / "meta/lvis_v1_categories.json"
    path = _save(tmp_path / "x.json", categories=json.loads(meta.read_text())["categories"])
    opened = Lvis(str(path), val=str(path), hierarchy="lvis-1203").open()
    assert opened.hierarchy is not None and len(opened.classes) >= 1203
    assert opened.truth["train"].known is not None
