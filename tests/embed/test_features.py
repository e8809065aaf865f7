"""Features: computed once, the same however they are computed."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from simkit import data
from simkit.cache import cache_folder
from simkit.embed.backbones import backbone
from simkit.embed.feature_files import FeatureWriter, Index, MappedRows, Skipped, below
from simkit.embed.features import Features, NetworkPass, extract, read_features
from simkit.embed.networks import Backbone
from simkit.errors import BadInput
from simkit.history import History
from tests.embed.test_feature_files import written_folder


def features(*args: Any, kind: Any = "pooled", **how: Any) -> Features:
    """Features of one kind."""
    return extract(*args, kinds=(kind,), **how)[kind]  # type: ignore[no-any-return]


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


def test_the_features_of_an_image_do_not_depend_on_the_batch(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    made = [
        features(dataset, "train", net, cache=tmp_path / str(batch), batch=batch)
        for batch in (1, 32, 70)
    ]
    for other in made[1:]:
        assert other.id == made[0].id
        assert np.array_equal(made[0].values[:], other.values[:])


def test_the_number_of_threads_changes_nothing() -> None:
    net, found = backbone("mobilenet_v2", "random", size=96), []
    images = [torch.nn.functional.interpolate(each[None], 96)[0] for each in IMAGES]
    before = torch.get_num_threads()
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        wide = NetworkPass(net, "cpu")
        with wide.ready():
            found.append(wide.of(images * 4, ("maps",))["maps"])
    torch.set_num_threads(before)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


def test_the_second_time_comes_from_the_cache(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    calls: list[tuple[int, int]] = []

    def count(done: int, of: int) -> None:
        calls.append((done, of))

    first = features(dataset, "train", net, cache=tmp_path, batch=50, progress=count)
    assert calls == [(0, 70), (32, 70), (64, 70), (70, 70)]
    again = features(dataset, "train", net, cache=tmp_path, batch=50, progress=count)
    assert len(calls) == 4
    assert again.id == first.id and np.array_equal(again.values, first.values)
    (folder,) = (tmp_path / "features").glob("*/*")
    files = {p.name for p in folder.iterdir()}
    assert folder.name == first.id and files == {"index.json", "features.npy", "images.npy"}


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
        features(dataset, "val", backbone("scenes-net", size=96), cache=tmp_path).id,
    }
    assert len(ids) == 6


def test_a_damaged_file_in_the_cache_is_made_again(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    features(dataset, "val", net, cache=tmp_path)
    (path,) = tmp_path.glob("features/*/*/features.npy")
    whole = path.read_bytes()
    for content in (b"", b"not an array", whole[: len(whole) // 2]):
        path.unlink()
        path.write_bytes(content)
        with pytest.warns(UserWarning, match="computed again"):
            features(dataset, "val", net, cache=tmp_path)
        assert path.read_bytes() == whole


def test_a_split_without_pictures_is_refused(dataset: data.Dataset, net: Backbone) -> None:
    bare = replace(dataset, pictures={})
    with pytest.raises(BadInput, match=r"data set 'scenes' has no.*open it with its image"):
        features(bare, "train", net)


def test_the_cache_folder_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMKIT_CACHE", "/own")
    assert cache_folder() == Path("/own")
    monkeypatch.delenv("SIMKIT_CACHE")
    assert cache_folder().name in ("simkit", "Cache")


def test_several_kinds_come_from_one_pass(
    dataset: data.Dataset, net: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(
        type(net), "prepare", lambda self, x: seen.append(len(x)) or Backbone.prepare(self, x)
    )
    both = extract(dataset, "val", net, kinds=("maps", "pooled"), cache=tmp_path)
    assert seen == [4, 4, 4]  # an empty picture for the shape of maps, then all; four at a time
    assert list(both) == ["maps", "pooled"]
    for kind, one in both.items():
        assert one.id == features(dataset, "val", net, kind=kind, cache=tmp_path).id
    assert seen == [4, 4, 4]


def test_a_folder_of_ones_own_is_read_without_the_pictures(
    dataset: data.Dataset, net: Backbone, tmp_path: Path
) -> None:
    made = extract(dataset, "val", net, out=tmp_path / "val")
    assert sorted(p.name for p in (tmp_path / "val").iterdir()) == ["maps", "pooled"]
    for kind, one in made.items():
        again = read_features(tmp_path / "val", kind)
        assert again.id == one.id and np.array_equal(again.values, one.values)
        assert again.history == one.history
    with pytest.raises(BadInput, match="holds features of other images"):
        extract(dataset, "test", net, out=tmp_path / "val")


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
        "fit": "whole",
        "unreadable": "stop",
    }
    assert history.parents == (dataset.pictures["val"].id, net.id)
    assert {"simkit", "numpy", "python", "torch", "torchvision", "pillow"} == set(history.versions)
    right = backbone("mobilenet_v2", "random", padding="right", size=32)
    assert features(dataset, "val", right, cache=tmp_path).history.settings["padding"] == "right"


def test_a_folder_that_cannot_be_written_is_told_before_any_work(
    dataset: data.Dataset, net: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(net), "prepare", lambda self, x: pytest.fail("a picture was seen"))
    (tmp_path / "labels.parquet").write_text("labels")
    with pytest.raises(BadInput, match=r"/labels\.parquet/x/pooled.*choose another place"):
        extract(dataset, "val", net, kinds=("pooled",), out=tmp_path / "labels.parquet" / "x")


MAPS = np.random.default_rng(0).normal(size=(6, 3, 2, 2)).astype(np.float16)


def test_features_can_be_brought_along(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    np.savez(tmp_path / "own.npz", features=values)
    own = read_features(tmp_path / "own.npz")
    assert own.kind == "pooled" and own.id == Features.of(values).id
    assert np.array_equal(own.values, values.astype(np.float16))
    assert Features.of(np.ones((2, 3, 4, 4))).kind == "maps"


@pytest.mark.parametrize(
    ("values", "mend"),
    [(np.zeros(5), "are expected"), ([[1.0, np.nan]], "clean"), ([[1.0, -1e6]], "scale")],
)
def test_features_that_cannot_be_used_are_refused(values: Any, mend: str) -> None:
    with pytest.raises(BadInput, match=mend):
        Features.of(values)


def test_features_that_unfold_in_memory_are_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "own.npz", features=np.zeros((20_000, 1000), np.float32))
    with pytest.raises(BadInput, match=r"own\.npz: features would need 0\.1 GB"):
        read_features(tmp_path / "own.npz")
    np.savez(tmp_path / "own.npz", other=np.zeros(3))
    with pytest.raises(BadInput, match=r"own\.npz: the array 'features' is missing"):
        read_features(tmp_path / "own.npz")


def test_a_folder_is_read_or_the_kind_of_it_that_is_wanted(tmp_path: Path) -> None:
    written_folder(tmp_path / "maps", key="m")
    assert read_features(tmp_path).id == "m"  # there is nothing else
    written_folder(tmp_path / "pooled", key="p")
    assert [read_features(tmp_path, kind).id for kind in ("pooled", "maps")] == ["p", "m"]  # type: ignore[arg-type]
    assert read_features(tmp_path / "maps").id == "m"


def test_an_unfinished_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"holds no finished features.*let simkit features make"):
        read_features(tmp_path)
    writer = FeatureWriter(tmp_path, Index("x", "pooled", (40, 3), History("x")))
    writer.put(writer.blocks[0], np.ones((32, 3), np.float16))
    with pytest.raises(BadInput, match=r"holds no finished features.*or finish them by the same"):
        read_features(tmp_path)
    with pytest.raises(BadInput, match=r"holds unfinished features; run simkit features again"):
        below(tmp_path)


def test_rows_are_selected_with_what_was_skipped(tmp_path: Path) -> None:
    written_folder(tmp_path, {1: "torn", 3: "lost"})
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


def test_maps_are_pooled(tmp_path: Path) -> None:
    pooled = Features.of(MAPS).pooled()
    np.save(tmp_path / "maps.npy", MAPS)
    stored = Features(MappedRows((tmp_path / "maps.npy",)), "x", "maps", History("x"))
    assert np.array_equal(stored.pooled().values, pooled.values)
    assert pooled.kind == "pooled" and pooled.pooled() is pooled
    assert np.allclose(pooled.values, MAPS.astype(float).mean((2, 3)), atol=2**-10)


NET = backbone("scenes-net")
IMAGES = list(torch.randint(0, 256, (3, 3, 64, 64), generator=torch.Generator().manual_seed(0),
                            dtype=torch.uint8))  # fmt: skip


def test_precision_is_full_inside_autocast_and_switches_come_back() -> None:
    net = NetworkPass(NET, "cpu")
    with net.ready():
        plain = net.of(IMAGES, ("maps",))["maps"]
    matmul, conv = torch.backends.cuda.matmul, torch.backends.cudnn.conv
    before = matmul.fp32_precision, conv.fp32_precision, torch.backends.cudnn.allow_tf32
    with torch.autocast("cpu", torch.bfloat16), net.ready():
        assert matmul.fp32_precision == conv.fp32_precision == "ieee"
        assert (net.of(IMAGES, ("maps",))["maps"] == plain).all()
    assert (matmul.fp32_precision, conv.fp32_precision, torch.backends.cudnn.allow_tf32) == before


@pytest.mark.parametrize("switch", ["backends.fp32_precision", "backends.cuda.matmul.allow_tf32"])
def test_a_process_may_use_either_switch_of_tf32(switch: str) -> None:
    """Each mixes with the other to a RuntimeError; a process of its own has one of them."""
    value = "True" if "allow" in switch else "'tf32'"
    program = f"""
import torch
torch.{switch} = {value}
from simkit.embed.backbones import backbone
from simkit.embed.features import NetworkPass
with NetworkPass(backbone("scenes-net"), "cpu").ready():
    pass
assert torch.{switch} == {value}
assert torch.backends.cuda.matmul.fp32_precision == "tf32"
if "backends.fp32" in "{switch}":
    torch.backends.fp32_precision = "ieee"
    assert torch.backends.cuda.matmul.fp32_precision == "ieee"  # follows as before
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_network_is_left_as_it_was() -> None:
    net = backbone("mobilenet_v2", "random", size=64).train()
    before = net.id
    with NetworkPass(net, "cpu").ready():
        pass
    assert net.id == before and net.training and all(p.requires_grad for p in net.parameters())
    assert all(p.is_contiguous() for p in net.parameters())


@pytest.mark.parametrize("factor", [1e6, float("nan")])
def test_values_that_fp16_does_not_hold_are_refused(factor: float) -> None:
    net = backbone("scenes-net")
    with torch.no_grad():
        net.stem[0].weight.mul_(factor)
    wild = NetworkPass(net, "cpu")
    with (
        wild.ready(),
        pytest.raises(BadInput, match=r"backbone 'scenes-net' gives.*give it other weights"),
    ):
        wild.of(IMAGES, ("maps",))


@pytest.mark.parametrize("room", [2, 0])
def test_batches_are_halved_until_they_fit(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, whose memory is too small for more than `room` images."""
    net = NetworkPass(NET, "cpu", batch=8)
    with net.ready():
        wanted = net.of(IMAGES, ("maps", "pooled"))
    whole, tried = NET.maps_and_pooled, []

    def limited(images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        tried.append(len(images))
        if len(images) > room:
            raise torch.OutOfMemoryError
        return whole(images)

    monkeypatch.setattr(NET, "maps_and_pooled", limited)
    net = NetworkPass(NET, "cpu")
    net._batches.size, net._pool = 3, None
    if not room:
        with pytest.raises(BadInput, match=r"too small for one of the images; .* the device cpu"):
            net.of(IMAGES, ("pooled",))
        return
    with pytest.warns(UserWarning, match="too small for 3 images at once; it goes on with 1"):
        found = net.of(IMAGES, ("maps", "pooled"))
    assert tried == [3, 1, 1, 1]
    for kind in wanted:
        np.testing.assert_allclose(found[kind], wanted[kind], rtol=2**-9, atol=1e-3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that PyTorch can use")
def test_a_gpu_gives_the_same_features() -> None:
    found = []
    for device in ("cpu", "cuda"):
        net = NetworkPass(NET, device)
        with net.ready():
            found.append(net.of(IMAGES, ("maps",))["maps"])
        assert next(NET.parameters()).device.type == "cpu"
    assert np.allclose(found[0], found[1], rtol=2**-9, atol=1e-3)
