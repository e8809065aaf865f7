"""Features of images under a frozen backbone, computed once and kept in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal
from zipfile import ZipFile

import numpy as np
import PIL
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.cache import INDEX
from simkit.data.dataset import Dataset, Pictures
from simkit.embed.decoding import FIT, fitted
from simkit.embed.devices import Batches, channels_last, device_of, keep_memory, products_in
from simkit.embed.feature_cache import Place, Stored
from simkit.embed.feature_files import (
    KINDS,
    MISSING,
    FeatureWriter,
    Half,
    Index,
    Kind,
    MappedRows,
    Skipped,
    id_without,
)
from simkit.embed.networks import Backbone, folded
from simkit.errors import BadInput
from simkit.files import reading
from simkit.history import History, content_id, versions
from simkit.labels.formats.npz import Arrays
from simkit.progress import Progress, silent

Unreadable = Literal["stop", "skip", "before"]
# Images in a batch on a CPU, at most, and their pixels: it is fastest when the largest layers fit
# into memory that is already allocated.
_AT_ONCE, _PIXELS = 4, 140_000
_MEANS = 256  # maps pooled at a time
_LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True, eq=False)
class Features:
    """Features of N images, read-only, fp16: (N, D) when pooled, (N, D, h, w) as maps.

    Attributes
    ----------
    values
        An array, or rows memory-mapped from disk.
    id
        Content id: of the images, the backbone's weights, the size and the kind, or of the values
        if they were precomputed elsewhere.
    skipped
        Unreadable images; their rows are zero.
    """

    values: NDArray[np.float16] | MappedRows
    id: str
    kind: Kind
    history: History
    skipped: tuple[Skipped, ...] = ()

    @property
    def uncomputed(self) -> int:
        """Number of images whose features were not computed."""
        rows = self.values.rows if isinstance(self.values, MappedRows) else None
        return 0 if rows is None else int((rows == MISSING).sum())

    @staticmethod
    def of(values: Any) -> Features:
        """Features computed elsewhere, (N, D) or (N, D, h, w), of any float type.

        Raises BadInput for other shapes and for values beyond the range of fp16.
        """
        array = np.asarray(values)
        if array.ndim not in (2, 4) or 0 in array.shape or array.dtype.kind not in "fiu":
            raise BadInput(
                f"features have shape {array.shape} of {array.dtype}; numbers of shape (N, D) or "
                "(N, D, h, w) are expected"
            )
        if not np.isfinite(array).all() or np.abs(array).max() > _LARGEST:
            raise BadInput(
                f"features hold values that are not finite or beyond {_LARGEST:.0f}; clean or "
                "scale them first"
            )
        half = np.array(array, np.float16)
        half.flags.writeable = False
        kind: Kind = "pooled" if half.ndim == 2 else "maps"
        return Features(half, content_id("features", half), kind, History("features-of"))

    def select(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Features:
        """Features of these images, in this order; rows: integers, also repeated, or a mask."""
        chosen, lost = np.arange(len(self.values))[rows], {each.row: each for each in self.skipped}
        at = [(new, row) for new, row in enumerate(chosen.tolist()) if row in lost]
        skipped = tuple(replace(lost[row], row=new) for new, row in at)
        if not isinstance(self.values, MappedRows):
            return replace(Features.of(self.values[chosen]), skipped=skipped)
        name = content_id(self.id, "select", chosen)
        return Features(self.values.select(chosen), name, self.kind, self.history, skipped)

    def pooled(self) -> Features:
        """The spatial means of maps; pooled features unchanged."""
        if self.kind == "pooled":
            return self
        starts = range(0, len(self.values), _MEANS)
        blocks = (self.values[start : start + _MEANS].astype(np.float32) for start in starts)
        pooled = Features.of(np.concatenate([block.mean((2, 3)) for block in blocks]))
        return replace(pooled, history=self.history, skipped=self.skipped)


def read_features(path: str | os.PathLike[str], kind: Kind = "pooled") -> Features:
    """Features from a folder written by `features`, or the array `features` of an npz file.

    kind: selects one of both in a folder with folders pooled and maps. Raises BadInput for a file
    without features, and for a folder with incomplete features.
    """
    place = Path(path)
    if place.is_dir():
        folders = (place, place / kind, *(place / other for other in KINDS))
        folder = next((each for each in folders if (each / INDEX).is_file()), None)
        if folder is None:
            raise BadInput(
                f"{place} holds no finished features (index.json); let simkit features make them, "
                "or finish them by the same command"
            )
        index = Index.read(folder)
        return Features(index.values(folder), index.id, index.kind, index.history, index.skipped)
    with reading(path, "features (an npz file with an array `features`)") as file:
        with ZipFile(file) as archive:
            values = Arrays(archive, file).get("features", "fiu", None)
        return Features.of(values)


def extract(
    dataset: Dataset,
    split: str,
    backbone: Backbone,
    *,
    kinds: tuple[Kind, ...] = KINDS,
    cache: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    batch: int = 32,
    unreadable: Unreadable = "stop",
    device: str = "auto",
    progress: Progress = silent,
    part: tuple[int, int] = (1, 1),
    wanted: NDArray[np.bool_] | None = None,
) -> dict[Kind, Features]:
    """Features of the images of one split, read from their folder or computed and kept there.

    The cache keeps one row for each image, network, size and kind, so that images of several data
    sets are computed once. An interrupted pass loses a few hundred images at most.

    Parameters
    ----------
    dataset, split, backbone
        Images and the network in evaluation mode.
    kinds
        "maps", and "pooled": their spatial mean, or what a network of timm pools; both come from
        one pass.
    cache
        Folder for features of all data sets and networks; by default the user's
        (`simkit.cache.cache_folder`).
    out
        Folder for this split alone instead, with folders pooled and maps in it.
    batch
        Images in one pass through the network, at most a block of rows: 32 to 256, by the number
        of images. Affects memory, and on a GPU the last bit.
    unreadable
        "stop" at an unreadable image, or one that an earlier pass skipped; "skip" it: its row is
        zero and it is listed; or skip only the images that were skipped "before".
    device
        "cpu", "cuda", or "auto" for a GPU if there is one.
    progress
        Called with (images done, images), first with the number of images computed earlier.
    part
        (i, n) for the i-th of n processes, also on several machines with the same files. Each
        computes an equal share of the images; together they write the bytes of a single process.
    wanted
        (N,) mask of the images whose features are needed, all by default; reading the features of
        another image may raise IndexError. In the cache only.

    Returns
    -------
    dict of Features
        By kind; (N, D) or (N, D, h, w) fp16. Kinds of which other parts are unfinished are left
        out.

    Raises
    ------
    BadInput
        If the split has no images or a part none that can be read, if the folder cannot be written,
        or holds features of other images, and if features are beyond the range of fp16.
    """
    pictures, names = dataset.pictures_of(split), dataset.truth[split].images
    settings = {"data": dataset.name, "split": split}
    chosen = np.ones(len(pictures), bool) if wanted is None else wanted
    places = {kind: Place.of(pictures, backbone, kind, cache, out) for kind in dict.fromkeys(kinds)}
    histories = {
        kind: _history(settings | {"unreadable": unreadable, "kind": kind}, backbone, pictures)
        for kind in places
    }
    held = {kind: place.stored() for kind, place in places.items()}
    skipped = [image for each in held.values() for image in _skipped(each, pictures, names)]
    lacking = {kind: chosen & (each.rows == MISSING) for kind, each in held.items()}
    lacking = {kind: rows for kind, rows in lacking.items() if rows.any()}
    # Parts must agree on the rows, and an interrupted pass goes on.
    begun = wanted is None and any(places[kind].begun for kind in lacking)
    every = part != (1, 1) or begun
    rows = np.flatnonzero(chosen if every else np.any([*lacking.values()], axis=0))
    writers: dict[Kind, FeatureWriter] = {}
    if lacking:
        net = NetworkPass(backbone, device, batch)
        for kind in lacking:
            writers[kind] = places[kind].writer(rows, net.shape(kind), histories[kind])
            skipped += chain(*writers[kind].skipped().values())
    if unreadable == "stop":
        _refuse(skipped)
    if writers:
        earlier = int(chosen.sum()) - len(rows)
        _fill(
            writers, net, pictures, names, rows=rows, part=part, stop=unreadable != "skip",
            progress=lambda done, of: progress(earlier + done, earlier + of),
        )  # fmt: skip
    unfinished = {kind for kind, writer in writers.items() if writer.finish() is None}
    features = {
        kind: _found(place, histories[kind], pictures, names, backbone)
        for kind, place in places.items()
        if kind not in unfinished
    }
    for lost in (each.skipped for each in features.values()):
        if unreadable == "stop":  # at an image that another process skipped
            _refuse(lost)
        if lost and len(lost) == chosen.sum():
            raise BadInput(f"none of {len(lost):,} images can be read; {lost[0].reason}")
    return features


def _skipped(stored: Stored, pictures: Pictures, names: NDArray[Any]) -> tuple[Skipped, ...]:
    """The unreadable images, with the reasons of their files in these data: an earlier pass may
    have read copies of them elsewhere."""
    images = list[Skipped]()
    for image in stored.skipped(names):
        try:
            pictures.read([image.row])
            images.append(image)
        except BadInput as error:
            images.append(replace(image, reason=str(error)))
    return tuple(images)


def _found(
    place: Place, history: History, pictures: Pictures, names: NDArray[Any], backbone: Backbone
) -> Features:
    """The stored features of all images. history: that of a pass over all of them now."""
    stored = place.stored()
    skipped = _skipped(stored, pictures, names)
    if stored.folders:
        first = stored.folders[0][1].history
        same = first.parents == history.parents
        history = first if same else replace(history, versions=first.versions)
    shape = () if stored.folders else NetworkPass(backbone, "cpu").shape(place.kind)
    id = id_without(place.key, skipped)
    return Features(stored.values(shape), id, place.kind, history, skipped)


def _history(settings: dict[str, Any], backbone: Backbone, pictures: Pictures) -> History:
    settings |= {"backbone": backbone.name, "weights": backbone.weights, "size": backbone.size}
    settings |= {"fit": FIT}
    settings |= {"padding": "right"} if getattr(backbone, "right_padding", False) else {}
    settings |= {"license": backbone.license} if backbone.license else {}
    libraries = ["torchvision", "timm"] if backbone.name.startswith("timm:") else ["torchvision"]
    made_with = {"torch": torch.__version__, "pillow": PIL.__version__}
    made_with |= {library: metadata.version(library) for library in libraries}
    parents = pictures.id, backbone.id
    return History("features", settings, parents=parents, versions=versions() | made_with)


def _fill(
    writers: Mapping[Kind, FeatureWriter],
    net: NetworkPass,
    pictures: Pictures,
    names: NDArray[Any],
    *,
    rows: NDArray[np.int64],
    part: tuple[int, int],
    stop: bool,
    progress: Progress,
) -> None:
    """Compute the missing blocks of a part, for all kinds in one pass.

    rows: the images in the blocks, of those of the split.
    """
    blocks, (number, of) = next(iter(writers.values())).blocks, part  # the same for all kinds
    mine = blocks[len(blocks) * (number - 1) // of : len(blocks) * number // of]
    complete = set.intersection(*(set(writer.skipped()) for writer in writers.values()))
    left = [block for block in mine if block.start not in complete]
    total, batch = sum(map(len, mine)), net.batch
    done = total - sum(map(len, left))
    progress(done, total)
    wanted = np.concatenate([rows[:0], *(rows[block.start : block.stop] for block in left)])
    stream = fitted(pictures, wanted, net.backbone.size, ahead=2 * batch)
    with net.ready(), closing(stream):
        for block in left:
            values = {
                kind: np.zeros((len(block), *writer.index.shape[1:]), np.float16)
                for kind, writer in writers.items()
            }
            skipped: list[Skipped] = []
            for start in range(0, len(block), batch):
                decoded = list(islice(stream, min(batch, len(block) - start)))
                images: dict[int, Tensor] = {}
                for row, image in enumerate(decoded, start):
                    if isinstance(image, Tensor):
                        images[row] = image
                    else:
                        name = str(names[rows[block[row]]])
                        skipped.append(Skipped(block[row], name, str(image)))
                if stop:
                    _refuse(skipped)
                if images:
                    for kind, computed in net.of([*images.values()], tuple(writers)).items():
                        values[kind][[*images]] = computed
                if start + batch >= len(block):
                    for kind, writer in writers.items():
                        writer.put(block, values[kind], skipped)
                done += len(decoded)
                progress(done, total)


def _refuse(skipped: Iterable[Skipped]) -> None:
    for image in skipped:
        raise BadInput(
            f"{image.reason}, or skip such images by `simkit features --unreadable skip`; train "
            "and compare then leave them out too; simkit predict has the same option"
        )


class NetworkPass:
    """Features of images under a frozen network.

    The features of an image depend neither on the other images nor on the number of threads: all
    batches are padded to one size, and a CPU computes several side by side with one thread each,
    because sizes and threads change the last bit. Everything is computed in full fp32, so that fp16
    features agree on all devices except for their last bit: autocast is off, and so is TF32, which
    has no more digits than fp16. Raises BadInput for missing devices, and for features beyond the
    range of fp16.
    """

    def __init__(self, backbone: Backbone, device: str, batch: int = 32) -> None:
        self.backbone, self._net = backbone, backbone
        home = next(backbone.parameters()).device
        stays = device == "auto" and home.type == "cuda"
        self.device = home if stays else device_of(device, mps=True)
        self.batch = batch
        cpu = self.device.type == "cpu"
        at_once = min(_AT_ONCE, max(1, _PIXELS // backbone.size**2)) if cpu else batch
        self._batches = Batches(at_once, self.device)
        self._threads = torch.get_num_threads() if cpu else 1
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def ready(self) -> Iterator[None]:
        """The network on the device; its switches are restored. The backbone is left as it is."""
        alone = {"initializer": torch.set_num_threads, "initargs": (1,)}
        with (
            products_in("fp32"),
            torch.autocast(self.device.type, enabled=False),
            torch.inference_mode(),
            ThreadPoolExecutor(self._threads, "network", **alone) as self._pool,  # type: ignore[arg-type]
        ):
            if self.device.type == "cpu":
                keep_memory()
            if self._net is self.backbone:
                self._net = folded(self.backbone)
                self._net.to(self.device, memory_format=torch.channels_last)
            yield

    def shape(self, kind: Kind) -> tuple[int, ...]:
        """Shape of one image's features: (D,) or (D, h, w)."""
        if kind == "pooled":
            return (self.backbone.pooled_width or self.backbone.width,)
        empty = torch.zeros(3, self.backbone.size, self.backbone.size, dtype=torch.uint8)
        with self.ready():
            return tuple(self.of([empty], (kind,))[kind].shape[1:])

    def of(self, images: Sequence[Tensor], kinds: Sequence[Kind]) -> dict[Kind, Half]:
        """images: (3, size, size) uint8 each. By kind (b, D) and (b, D, h, w). Call it in ready."""

        def of_some(part: slice) -> list[Tensor]:
            return self._of_some(images[part], kinds)

        if self._pool and self.device.type == "cpu":
            size = self._batches.size
            parts = (slice(start, start + size) for start in range(0, len(images), size))
            batches = [*self._pool.map(of_some, parts)]
        else:
            batches = [found for _, found in self._batches.over(len(images), of_some)]
        halves = dict(zip(kinds, map(torch.cat, zip(*batches, strict=True)), strict=True))
        if not all(half.isfinite().all() for half in halves.values()):
            raise BadInput(
                f"backbone {self.backbone.name!r} gives features that are not finite or beyond "
                f"{_LARGEST:.0f}, which fp16 does not hold; give it other weights"
            )
        return {kind: half.numpy() for kind, half in halves.items()}

    @torch.inference_mode()  # of each thread
    def _of_some(self, images: Sequence[Tensor], kinds: Sequence[Kind]) -> list[Tensor]:
        """Features of one batch by kind, fp16 on the CPU."""
        padded = [*images, *[torch.zeros_like(images[0])] * (self._batches.size - len(images))]
        pictures = torch.stack(padded).to(self.device)
        maps, pooled = self._net.maps_and_pooled(channels_last(self._net.prepare(pictures)))
        computed: dict[Kind, Tensor] = {"maps": maps, "pooled": pooled}
        return [computed[kind][: len(images)].float().half().contiguous().cpu() for kind in kinds]
