"""The index of a folder of features: read back as written, and refused when damaged."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simkit.embed.features.feature_folder import Index, Skipped, below, finish, finished, kept_for
from simkit.embed.features.shards import ShardWriter
from simkit.errors import BadInput
from simkit.history import History

VALUES = np.arange(15).reshape(5, 3).astype(np.float16)
HISTORY = History("features", {"kind": "pooled"}, parents=("p", "b"))


def written(folder: Path, notes: dict[int, str] | None = None, key: str = "key") -> Index:
    writer = ShardWriter(folder, key, 5, (3,))
    writer.put(np.arange(5), VALUES, notes or {})
    finish(writer, folder, key=key, kind="pooled", images=list("abcde"), history=HISTORY)
    return Index.read(folder)


def test_an_index_is_read_back(tmp_path: Path) -> None:
    index = written(tmp_path, {3: "torn"})
    assert index.skipped == (Skipped(3, "d", "torn"),)
    assert (index.kind, index.shape, index.history) == ("pooled", (5, 3), HISTORY)
    assert (index.values(tmp_path)[:] == VALUES).all()
    facts = json.loads((tmp_path / "index.json").read_text())
    assert facts["pictures"] == "p" and facts["backbone"] == "b" and facts["dtype"] == "float16"
    assert facts["shards"] == [{"file": "key-00000.npy", "rows": 5}]


def test_the_id_depends_on_what_was_skipped(tmp_path: Path) -> None:
    ids = [
        written(tmp_path / str(i), notes).id
        for i, notes in enumerate([{}, {3: "torn"}, {3: "lost"}, {4: "torn"}])
    ]
    assert ids[0] == "key" and ids[1] == ids[2] and len(set(ids)) == 3


def test_features_without_a_single_picture_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        written(tmp_path, {row: f"{row}.jpg is torn" for row in range(5)})
    assert str(error.value) == "none of 5 pictures can be read; 0.jpg is torn"
    assert not (tmp_path / "index.json").exists()


def test_other_features_are_not_hidden(tmp_path: Path) -> None:
    written(tmp_path)
    kept_for(tmp_path, "key")
    kept_for(tmp_path / "nowhere", "other")
    with pytest.raises(BadInput) as error:
        kept_for(tmp_path, "other")
    assert str(error.value) == (
        f"{tmp_path} holds features of other pictures, or of another backbone, weights or size; "
        "choose another folder or remove it"
    )
    (tmp_path / "index.json").write_text("{")
    kept_for(tmp_path, "other")


def test_folders_are_found_at_every_level(tmp_path: Path) -> None:
    for place in ("train/pooled", "train/maps", "val/maps"):
        written(tmp_path / place)
    assert [str(p.relative_to(tmp_path)) for p in below(tmp_path)] == [
        "train/pooled", "train/maps", "val/maps",
    ]  # fmt: skip
    assert below(tmp_path / "val") == below(tmp_path / "val/maps") == [tmp_path / "val/maps"]
    assert below(tmp_path / "nowhere") == []


def test_a_lost_shard_is_named(tmp_path: Path) -> None:
    index = written(tmp_path)
    assert finished(tmp_path, "key") and not finished(tmp_path, "other")
    (tmp_path / "key-00000.npy").unlink()
    assert not finished(tmp_path, "key")
    with pytest.raises(BadInput) as error:
        index.values(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}/key-00000.npy is missing or damaged, a part of the features that "
        f"{tmp_path}/index.json lists; run the command that made them again"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"form": "simkit features 9"},
        {"dtype": "float32"},
        {"kind": "maps"},
        {"kind": "best"},
        {"kind": []},
        {"shape": [6, 3]},
        {"shape": [5, -3]},
        {"shape": []},
        {"shape": [5.0, 3]},
        {"shape": None},
        {"shards": [{"file": "../key-00000.npy", "rows": 5}]},
        {"shards": [{"file": "key-00000.npy", "rows": True}]},
        {"shards": [{"rows": 5}]},
        {"shards": [{"file": "a\x00", "rows": 10}, {"file": "b", "rows": -5}]},
        {"skipped": [{"row": 5, "image": "f", "reason": ""}]},
        {"skipped": 3},
        {"history": {}},
    ],
    ids=str,
)
def test_a_damaged_index_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    written(tmp_path)
    facts = json.loads((tmp_path / "index.json").read_text())
    (tmp_path / "index.json").write_text(json.dumps(facts | change))
    with pytest.raises(BadInput) as error:
        Index.read(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}/index.json cannot be read as an index of features; extract them again with "
        "simkit features"
    )
