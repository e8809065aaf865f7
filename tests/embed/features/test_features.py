"""Features: computed once, the same however they are computed."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from simkit import data
from simkit.embed.backbones import backbone
from simkit.embed.features.features import cache_folder, extract, features, read_features
from simkit.embed.networks import Backbone
from simkit.errors import BadInput


@pytest.fixture(scope="module")
def dataset() -> data.Dataset:
    return data.open("scenes:images=70,val=5,test=5")


@pytest.fixture(scope="module")
def net() -> Backbone:
    return backbone("scenes-net")


def test_pooled_features_are_the_mean_of_the_maps(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    pooled = features(dataset, "val", net, cache=tmp_path)
    maps = features(dataset, "val", net, kind="maps", cache=tmp_path)
    assert pooled.values.shape == (5, net.width) and maps.values.shape == (5, net.width, 8, 8)
    assert pooled.values.dtype == maps.values.dtype == np.float16
    mean = np.asarray(maps.values, np.float64).mean((2, 3))
    # fp16 keeps 11 bits: each place is off by at most 2**-11 of itself, the mean no more.
    assert np.allclose(pooled.values[:], mean, rtol=2**-9, atol=1e-4)
    assert pooled.id != maps.id and (pooled.kind, maps.kind) == ("pooled", "maps")


def test_the_size_of_batches_changes_nothing(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    made = [
        features(dataset, "train", net, cache=tmp_path / str(batch), batch=batch)
        for batch in (1, 32, 70)
    ]
    for other in made[1:]:
        assert other.id == made[0].id
        assert np.allclose(made[0].values[:], other.values[:], rtol=2**-9, atol=1e-4)


def test_training_mode_and_gradients_are_left_as_they_were(
    dataset: data.Dataset, tmp_path: Path
) -> None:
    net = backbone("scenes-net").train()
    features(dataset, "val", net, cache=tmp_path)
    assert net.training and all(p.requires_grad for p in net.parameters())


def test_the_second_time_comes_from_the_cache(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    calls: list[tuple[int, int]] = []

    def count(done: int, of: int) -> None:
        calls.append((done, of))

    first = features(dataset, "train", net, cache=tmp_path, batch=50, progress=count)
    assert calls == [(0, 70), (50, 70), (70, 70)]
    again = features(dataset, "train", net, cache=tmp_path, batch=50, progress=count)
    assert len(calls) == 3
    assert again.id == first.id and np.array_equal(again.values, first.values)
    assert [p.name for p in (tmp_path / "features").iterdir()] == [first.id]
    files = {p.name for p in (tmp_path / "features" / first.id).iterdir()}
    assert files == {"index.json", f"{first.id}-00000.npy"}


def test_other_pictures_weights_and_kinds_have_other_places(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    other_net = backbone("scenes-net")
    with torch.no_grad():
        next(other_net.parameters()).mul_(1.5)
    ids = {
        features(dataset, "val", net, cache=tmp_path).id,
        features(dataset, "test", net, cache=tmp_path).id,
        features(dataset, "val", net, kind="maps", cache=tmp_path).id,
        features(dataset, "val", other_net, cache=tmp_path).id,
        features(data.open("scenes:images=5,val=5,seed=1"), "val", net, cache=tmp_path).id,
    }
    assert len(ids) == 5


@dataclass(frozen=True)
class Interrupted:
    """Pictures of which the last cannot be read."""

    pictures: data.Pictures

    @property
    def id(self) -> str:
        return "interrupted"

    def __len__(self) -> int:
        return len(self.pictures)

    def read(self, index: list[int]) -> list[np.ndarray]:
        if len(self) - 1 in index:
            raise KeyboardInterrupt
        return self.pictures.read(index)


def test_files_appear_whole_or_not_at_all(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    broken = replace(dataset, pictures={"train": Interrupted(dataset.pictures["train"])})
    with pytest.raises(KeyboardInterrupt):
        features(broken, "train", net, cache=tmp_path, batch=30)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("content", [b"", b"not an array"])
def test_a_damaged_file_in_the_cache_is_made_again(
    dataset: data.Dataset, net: Backbone, tmp_path: Path, content: bytes
) -> None:
    made = features(dataset, "val", net, cache=tmp_path)
    expected = np.array(made.values)
    path = tmp_path / "features" / made.id / f"{made.id}-00000.npy"
    path.unlink()
    path.write_bytes(content)
    assert np.array_equal(features(dataset, "val", net, cache=tmp_path).values, expected)
    path.unlink()
    np.save(path, np.zeros((3, 2), np.float16))
    assert np.array_equal(features(dataset, "val", net, cache=tmp_path).values, expected)


def test_a_split_without_pictures_is_refused(dataset: data.Dataset, net: Backbone) -> None:
    bare = replace(dataset, pictures={})
    with pytest.raises(BadInput) as error:
        features(bare, "train", net)
    assert str(error.value) == (
        "data set 'scenes' has no pictures for 'train'; open it with its image folder, or bring "
        "features (a grid: in a table [features]) that `simkit features` or another program made"
    )


def test_kinds_are_two(dataset: data.Dataset, net: Backbone) -> None:
    with pytest.raises(BadInput) as error:
        features(dataset, "train", net, kind="max")  # type: ignore[arg-type]
    assert str(error.value) == "kind is 'max'; features are of kind 'pooled' or 'maps'"


def test_the_cache_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path.home()
    for name in ("SIMKIT_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for platform, folder in {
        "linux": home / ".cache" / "simkit",
        "darwin": home / "Library" / "Caches" / "simkit",
        "win32": home / "AppData" / "Local" / "simkit" / "Cache",
    }.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_folder() == folder
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_folder() == Path("/caches/simkit")
    monkeypatch.setenv("SIMKIT_CACHE", "/own")
    assert cache_folder() == Path("/own")


def test_several_kinds_come_from_one_pass(
    dataset: data.Dataset, net: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(
        type(net), "prepare", lambda self, x: seen.append(len(x)) or Backbone.prepare(self, x)
    )
    both = extract(dataset, "val", net, kinds=("maps", "pooled"), cache=tmp_path)
    assert seen == [1, 5]  # an empty picture for the shape of maps, then all
    assert list(both) == ["maps", "pooled"]
    for kind, one in both.items():
        assert one.id == features(dataset, "val", net, kind=kind, cache=tmp_path).id
    assert seen == [1, 5]


def test_a_folder_of_ones_own_is_read_without_the_pictures(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    made = extract(dataset, "val", net, out=tmp_path / "val")
    assert sorted(p.name for p in (tmp_path / "val").iterdir()) == ["maps", "pooled"]
    for kind, one in made.items():
        again = read_features(tmp_path / "val", kind)
        assert again.id == one.id and np.array_equal(again.values, one.values)
        assert again.history == one.history
    with pytest.raises(BadInput, match="holds features of other pictures"):
        extract(dataset, "test", net, out=tmp_path / "val")


def test_another_size_has_another_place(dataset: data.Dataset, tmp_path: Path) -> None:
    found = [
        features(dataset, "val", backbone("scenes-net", size=size), kind="maps", cache=tmp_path)
        for size in (64, 96)
    ]
    assert [one.values.shape for one in found] == [(5, 128, 8, 8), (5, 128, 12, 12)]
    assert found[0].id != found[1].id


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"batch": 0}, "batch is 0; at least 1 picture at a time is expected"),
        (
            {"unreadable": "ask"},
            "unreadable is 'ask'; at pictures that cannot be read one can 'stop', 'skip' them, or "
            "skip those alone that were skipped 'before'",
        ),
        ({"device": "tpu"}, "device is 'tpu'; auto, cpu or cuda is expected"),
    ],
)
def test_settings_are_checked(
    dataset: data.Dataset, net: Backbone, tmp_path: Path, how: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput) as error:
        extract(dataset, "val", net, cache=tmp_path, **how)
    assert str(error.value) == message


def test_the_history_says_what_the_features_were_made_with(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    history = features(dataset, "val", net, cache=tmp_path).history
    assert history.settings == {
        "data": "scenes",
        "split": "val",
        "backbone": "scenes-net",
        "weights": "its own",
        "kind": "pooled",
        "size": 64,
        "unreadable": "stop",
    }
    assert history.parents == (dataset.pictures["val"].id, net.id)
    assert {"simkit", "numpy", "python", "torch", "torchvision", "pillow"} == set(history.versions)
    right = backbone("mobilenet_v2", "random", padding="right", size=32)
    assert features(dataset, "val", right, cache=tmp_path).history.settings["padding"] == "right"


def test_features_that_are_all_zero_are_refused_every_time(
    dataset: data.Dataset, tmp_path: Path
) -> None:
    net = backbone("scenes-net")
    with torch.no_grad():
        for values in net.parameters():
            values.zero_()
    for _ in range(2):  # the second time all shards are there
        with pytest.raises(BadInput) as error:
            features(dataset, "val", net, cache=tmp_path)
        assert str(error.value) == (
            "features of all 5 pictures are zero; give the backbone other weights"
        )


def test_a_folder_that_cannot_be_written_is_told_before_any_work(
    dataset: data.Dataset, net: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(net), "prepare", lambda self, x: pytest.fail("a picture was seen"))
    (tmp_path / "labels.parquet").write_text("labels")
    with pytest.raises(BadInput) as error:
        extract(dataset, "val", net, kinds=("pooled",), out=tmp_path / "labels.parquet" / "x")
    assert str(error.value) == (
        f"{tmp_path}/labels.parquet/x/pooled cannot be written (Not a directory); choose another "
        "place"
    )
