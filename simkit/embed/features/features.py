"""Features of pictures under a frozen backbone, computed once and kept in a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import PIL
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.data.dataset import Dataset, Pictures
from simkit.embed.features.decoding import fit as fit
from simkit.embed.features.decoding import fitted
from simkit.embed.features.feature_folder import KINDS, Kind, finish, finished, kept_for, tidy
from simkit.embed.features.feature_values import Features as Features
from simkit.embed.features.feature_values import read_features as read_features
from simkit.embed.features.network_pass import NetworkPass
from simkit.embed.features.shards import ShardWriter
from simkit.embed.networks import Backbone
from simkit.errors import BadInput, whole_number
from simkit.history import History, content_id, versions

Unreadable = Literal["stop", "skip", "before"]
Progress = Callable[[int, int], None]
_BATCH = 32


def features(
    dataset: Dataset, split: str, backbone: Backbone, *, kind: Kind = "pooled", **how: Any
) -> Features:
    """Features of one kind of the pictures of one split; `how` as in `extract`."""
    return extract(dataset, split, backbone, kinds=(kind,), **how)[kind]


def extract(
    dataset: Dataset,
    split: str,
    backbone: Backbone,
    *,
    kinds: tuple[Kind, ...] = KINDS,
    cache: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    batch: int = _BATCH,
    unreadable: Unreadable = "stop",
    device: str = "auto",
    progress: Progress = lambda done, of: None,
) -> dict[Kind, Features]:
    """Features of the pictures of one split, found in their folder or computed and kept there.

    pooled is the mean of the maps over their places; several kinds come from one pass.  cache: a
    folder, by default `cache_folder()`; or out: a folder of this split, for folders pooled and
    maps. What is there is not computed again, and an interrupted pass loses one shard at most.
    batch: pictures at a time; it changes nothing but memory and the last bit.  unreadable: "stop"
    at a picture that cannot be read, or was not in an earlier pass; "skip" it: its row is zero and
    it is listed; or skip those alone that were skipped "before".  device: "cpu", "cuda", or "auto"
    for a GPU where there is one.  progress is called with (pictures done, pictures), first with
    those that were found done. Raises BadInput where the split has no pictures or none that can be
    read, where the folder cannot be written, and where features are all zero or beyond fp16.
    """
    pictures = _pictures_of(dataset, split)
    _check(kinds, batch, unreadable)
    parents = (pictures.id, backbone.id)
    place = (cache_folder() if cache is None else Path(cache)) / "features"
    work = {}
    for kind in dict.fromkeys(kinds):
        key = content_id("features", *parents, kind, str(backbone.size))
        folder = place / key if out is None else Path(out) / kind
        if out is not None:
            kept_for(folder, key)
        work[kind] = folder, key
    left = {kind: where for kind, where in work.items() if not finished(*where)}
    for where in left.values():
        tidy(*where)
    if unreadable == "stop":
        there = (read_features(folder) for kind, (folder, _) in work.items() if kind not in left)
        _stop_at(each.reason for one in there for each in one.skipped)
    if left:
        net = NetworkPass(backbone, device)
        writers = {
            kind: ShardWriter(folder, key, len(pictures), net.shape(kind))
            for kind, (folder, key) in left.items()
        }
        if unreadable == "stop":
            _stop_at(why for writer in writers.values() for why in writer.notes().values())
        _fill(writers, pictures, net, batch=batch, unreadable=unreadable, progress=progress)
        names = dataset.truth[split].images.tolist()
        told = {"data": dataset.name, "split": split, "unreadable": unreadable}
        for kind, (folder, key) in left.items():
            history = _history(told | {"kind": kind}, backbone, parents)
            finish(writers[kind], folder, key=key, kind=kind, images=names, history=history)
    return {kind: read_features(folder) for kind, (folder, _) in work.items()}


def _history(settings: dict[str, Any], backbone: Backbone, parents: tuple[str, str]) -> History:
    settings |= {"backbone": backbone.name, "weights": backbone.weights, "size": backbone.size}
    if getattr(backbone, "right_padding", False):
        settings["padding"] = "right"
    made_with = {"torch": torch.__version__, "pillow": PIL.__version__}
    made_with["torchvision"] = metadata.version("torchvision")
    return History("features", settings, parents=parents, versions=versions() | made_with)


def cache_folder() -> Path:
    """`$SIMKIT_CACHE`, else the folder for caches that the platform wants programs to use."""
    if os.environ.get("SIMKIT_CACHE"):
        return Path(os.environ["SIMKIT_CACHE"])
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
            / "simkit"
            / "Cache"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "simkit"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simkit"


def _pictures_of(dataset: Dataset, split: str) -> Pictures:
    if split not in dataset.pictures:
        raise BadInput(
            f"data set {dataset.name!r} has no pictures for {split!r}; open it with its image "
            "folder, or bring features (a grid: in a table [features]) that `simkit features` or "
            "another program made"
        )
    return dataset.pictures[split]


def _check(kinds: tuple[Kind, ...], batch: int, unreadable: Unreadable) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise BadInput(f"kind is {kind!r}; features are of kind 'pooled' or 'maps'")
    if whole_number(batch, "batch") < 1:
        raise BadInput(f"batch is {batch}; at least 1 picture at a time is expected")
    if unreadable not in get_args(Unreadable):
        raise BadInput(
            f"unreadable is {unreadable!r}; at pictures that cannot be read one can 'stop', 'skip' "
            "them, or skip those alone that were skipped 'before'"
        )


def _fill(
    writers: Mapping[Kind, ShardWriter],
    pictures: Pictures,
    net: NetworkPass,
    *,
    batch: int,
    unreadable: Unreadable,
    progress: Progress,
) -> None:
    """Compute the rows of all shards that are not there, in order, for all kinds in one pass."""
    N = len(pictures)
    todo = np.flatnonzero(np.any([writer.todo for writer in writers.values()], axis=0))
    progress(N - len(todo), N)
    stream = fitted(pictures, todo, net.backbone.size, ahead=2 * batch)
    with net.ready(), closing(stream):
        for start in range(0, len(todo), batch):
            rows = todo[start : start + batch]
            found = list(islice(stream, len(rows)))
            faults = {
                int(row): str(one)
                for row, one in zip(rows, found, strict=True)
                if isinstance(one, BadInput)
            }
            if unreadable != "skip":
                _stop_at(faults.values())
            values = _values(net, found, writers)
            for kind, writer in writers.items():
                writer.put(rows, values[kind], faults)
            progress(N - len(todo) + start + len(rows), N)


def _stop_at(faults: Iterable[str]) -> None:
    for fault in faults:
        raise BadInput(f"{fault}, or skip such pictures")


def _values(
    net: NetworkPass, found: list[Tensor | BadInput], writers: Mapping[Kind, ShardWriter]
) -> dict[Kind, NDArray[np.float16]]:
    """Features of a batch by kind; rows of pictures that cannot be read are zero."""
    images = [one for one in found if isinstance(one, Tensor)]
    known = net.of(images, tuple(writers)) if images else {}
    if len(images) == len(found):
        return known
    there = np.array([isinstance(one, Tensor) for one in found])
    filled = {}
    for kind, writer in writers.items():
        filled[kind] = np.zeros((len(found), *writer.row), np.float16)
        if images:
            filled[kind][there] = known[kind]
    return filled
