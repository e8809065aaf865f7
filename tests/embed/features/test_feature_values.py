"""Features as values: brought along, selected, pooled."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simkit.embed.features.feature_folder import Skipped
from simkit.embed.features.feature_values import Features, read_features
from simkit.embed.features.shards import ShardWriter
from simkit.errors import BadInput
from tests.embed.features.test_feature_folder import written

MAPS = np.random.default_rng(0).normal(size=(6, 3, 2, 2)).astype(np.float16)


def test_features_can_be_brought_along(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    np.savez(tmp_path / "own.npz", features=values)
    own = read_features(tmp_path / "own.npz")
    assert own.kind == "pooled" and own.id == Features.of(values).id
    assert np.array_equal(own.values, values.astype(np.float16))
    assert Features.of(np.ones((2, 3, 4, 4))).kind == "maps"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            np.zeros(5),
            "features have shape (5,) of float64; numbers of shape (N, D) or (N, D, h, w) are "
            "expected",
        ),
        (
            np.array([[1.0, np.nan]]),
            "features hold values that are not finite or beyond 65504; clean or scale them first",
        ),
        (
            np.array([[1.0, -1e6]]),
            "features hold values that are not finite or beyond 65504; clean or scale them first",
        ),
    ],
)
def test_features_that_cannot_be_used_are_refused(values: np.ndarray, message: str) -> None:
    with pytest.raises(BadInput) as error:
        Features.of(values)
    assert str(error.value) == message


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"text"])
def test_files_without_features_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "own.npz"
    path.write_bytes(content)
    with pytest.raises(BadInput) as error:
        read_features(path)
    expected = f"{path} cannot be read; an npz file with an array `features` is expected"
    assert str(error.value) == expected
    np.savez(path, other=np.zeros(3))
    with pytest.raises(BadInput) as error:
        read_features(path)
    assert str(error.value) == expected


def test_a_folder_is_read_or_the_kind_of_it_that_is_wanted(tmp_path: Path) -> None:
    written(tmp_path / "maps", key="m")
    assert read_features(tmp_path).id == "m"  # there is nothing else
    written(tmp_path / "pooled", key="p")
    assert [read_features(tmp_path, kind).id for kind in ("pooled", "maps")] == ["p", "m"]  # type: ignore[arg-type]
    assert read_features(tmp_path / "maps").id == "m"


def test_an_unfinished_folder_is_refused(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "x", 2, (3,))
    writer.put(np.arange(2), MAPS[:2, :, 0, 0], {})
    with pytest.raises(BadInput) as error:
        read_features(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} holds no finished features (index.json); let simkit features make them, or "
        "finish them by the same command"
    )


def test_rows_are_selected_with_what_was_skipped(tmp_path: Path) -> None:
    written(tmp_path, {1: "torn", 3: "lost"})
    found = read_features(tmp_path)
    part = found.select(np.array([4, 3]))
    assert part.skipped == (Skipped(1, "d", "lost"),)
    assert np.array_equal(part.values, np.asarray(found.values)[[4, 3]])
    assert part.id != found.id and part.id != found.select(np.array([3, 4])).id
    for rows, lost in (([3, 3, -2], [0, 1, 2]), (np.arange(5) > 1, [1]), ([0], [])):
        again = found.select(np.array(rows))
        assert [each.row for each in again.skipped] == lost
        assert np.array_equal(again.values, np.asarray(found.values)[rows])
        held = replace(found, values=np.asarray(found.values)).select(np.array(rows))
        assert held.skipped == again.skipped and np.array_equal(held.values, again.values)
    brought = Features.of(MAPS).select(np.array([2, 0]))
    assert np.array_equal(brought.values, MAPS[[2, 0]])


def test_maps_are_pooled() -> None:
    pooled = Features.of(MAPS).pooled()
    assert pooled.kind == "pooled" and pooled.pooled() is pooled
    assert np.allclose(pooled.values, MAPS.astype(float).mean((2, 3)), atol=2**-10)


def test_maps_on_disk_are_pooled_alike(tmp_path: Path) -> None:
    from simkit.embed.features.shards import Shards
    from simkit.history import History

    writer = ShardWriter(tmp_path, "x", 6, (3, 2, 2))
    writer.put(np.arange(6), MAPS, {})
    stored = Features(Shards(writer.files, writer.counts, (3, 2, 2)), "x", "maps", History("x"))
    assert np.array_equal(stored.pooled().values, Features.of(MAPS).pooled().values)
