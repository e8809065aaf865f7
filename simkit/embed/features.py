"""Features of images under a frozen backbone, computed once and kept in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np
import PIL
import platformdirs
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.data.dataset import Dataset, Pictures
from simkit.embed.decoding import fitted
from simkit.embed.feature_files import (
    INDEX,
    KINDS,
    FeatureWriter,
    Half,
    Index,
    Kind,
    MappedRows,
    Skipped,
    stored,
)
from simkit.embed.networks import Backbone, device_of
from simkit.errors import BadInput, located
from simkit.files import readable
from simkit.history import History, content_id, versions
from simkit.progress import Progress, silent
from simkit.registry import Count, settle

Unreadable = Literal["stop", "skip", "before"]
_AT_ONCE = 8  # images in a batch on a CPU
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
        chosen = np.arange(len(self.values))[rows]
        lost = {each.row: each for each in self.skipped}
        skipped = tuple(
            replace(lost[row], row=new) for new, row in enumerate(chosen.tolist()) if row in lost
        )
        if not isinstance(self.values, MappedRows):
            return replace(Features.of(self.values[chosen]), skipped=skipped)
        name = content_id(self.id, "select", chosen)
        return Features(self.values.select(chosen), name, self.kind, self.history, skipped)

    def pooled(self) -> Features:
        """The spatial means of maps; pooled features unchanged."""
        if self.kind == "pooled":
            return self
        means = [
            self.values[start : start + _MEANS].astype(np.float32).mean((2, 3))
            for start in range(0, len(self.values), _MEANS)
        ]
        return replace(
            Features.of(np.concatenate(means)), history=self.history, skipped=self.skipped
        )


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
        return _read(folder, Index.read(folder))
    file = readable(path, "features (npz)")
    try:
        with np.load(file, allow_pickle=False) as arrays:
            values = arrays["features"]
    except (OSError, ValueError, EOFError, KeyError, TypeError, IndexError, BadZipFile):
        raise BadInput(
            f"{file} cannot be read; an npz file with an array `features` is expected"
        ) from None
    with located(str(file)):
        return Features.of(values)


def _read(folder: Path, index: Index) -> Features:
    return Features(index.values(folder), index.id, index.kind, index.history, index.skipped)


def features(
    dataset: Dataset, split: str, backbone: Backbone, *, kind: Kind = "pooled", **how: Any
) -> Features:
    """Features of one kind of the images of one split; `how` as in `extract`."""
    return extract(dataset, split, backbone, kinds=(kind,), **how)[kind]


@dataclass(frozen=True)
class Extraction:
    """How features are computed; only `unreadable` changes the result."""

    batch: Count = 32
    unreadable: Unreadable = "stop"
    device: str = "auto"
    progress: Progress = silent

    def __post_init__(self) -> None:
        settle(self, "features")


def extract(
    dataset: Dataset,
    split: str,
    backbone: Backbone,
    *,
    kinds: tuple[Kind, ...] = KINDS,
    cache: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    **options: Any,
) -> dict[Kind, Features]:
    """Features of the images of one split, read from their folder or computed and kept there.

    Complete rows are not computed again; an interrupted pass loses a few hundred at most.

    Parameters
    ----------
    dataset, split, backbone
        Images and the network in evaluation mode.
    kinds
        "maps", and "pooled": their spatial mean, or what a network of timm pools; both come from
        one pass.
    cache, out
        A folder for all features, by default `cache_folder()`; or one of this split alone, with
        folders pooled and maps in it.
    **options
        Fields of `Extraction`. batch: images at a time, which affects memory and the last bit only.
        unreadable: "stop" at an unreadable image, or one that an earlier pass skipped; "skip" it:
        its row is zero and it is listed; or skip only the images that were skipped "before".
        device: "cpu", "cuda", or "auto" for a GPU if there is one.  progress: called with (images
        done, images), first with the number of images computed earlier.

    Returns
    -------
    dict of Features
        By kind; (N, D) or (N, D, h, w) fp16.

    Raises
    ------
    BadInput
        If the split has no images or none that can be read, if the folder cannot be written, and if
        features are beyond the range of fp16.
    """
    how = Extraction(**options)
    pictures = _pictures_of(dataset, split)
    parents = (pictures.id, backbone.id)
    place = (cache_folder() if cache is None else Path(cache)) / "features"
    folders: dict[Kind, Path] = {}
    indexes: dict[Kind, Index | None] = {}
    keys = {}
    for kind in dict.fromkeys(kinds):
        keys[kind] = content_id("features", *parents, kind, str(backbone.size))
        folders[kind] = place / keys[kind] if out is None else Path(out) / kind
        indexes[kind] = stored(folders[kind], keys[kind])
    if how.unreadable == "stop":
        _stop_at(image.reason for index in indexes.values() if index for image in index.skipped)
    missing = [kind for kind, index in indexes.items() if index is None or not index.complete]
    if missing:
        net = NetworkPass(backbone, how.device)
        settings = {"data": dataset.name, "split": split, "unreadable": how.unreadable}
        writers = {}
        for kind in missing:
            history = _history(settings | {"kind": kind}, backbone, parents)
            shape = (len(pictures), *net.shape(kind))
            index = indexes[kind] or Index(keys[kind], kind, shape, history)
            writers[kind] = FeatureWriter(folders[kind], replace(index, history=history))
        _fill(writers, pictures, dataset.truth[split].images, net, how)
        indexes |= {kind: writer.index for kind, writer in writers.items()}
    return {kind: _read(folders[kind], index) for kind, index in indexes.items() if index}


def _history(settings: dict[str, Any], backbone: Backbone, parents: tuple[str, str]) -> History:
    settings |= {"backbone": backbone.name, "weights": backbone.weights, "size": backbone.size}
    if getattr(backbone, "right_padding", False):
        settings["padding"] = "right"
    made_with = {"torch": torch.__version__, "pillow": PIL.__version__}
    if backbone.license:
        settings["license"] = backbone.license
    made_with["torchvision"] = metadata.version("torchvision")
    if backbone.name.startswith("timm:"):
        made_with["timm"] = metadata.version("timm")
    return History("features", settings, parents=parents, versions=versions() | made_with)


def cache_folder() -> Path:
    """`$SIMKIT_CACHE`, else the platform's standard cache folder of the user."""
    if os.environ.get("SIMKIT_CACHE"):
        return Path(os.environ["SIMKIT_CACHE"])
    return Path(platformdirs.user_cache_dir("simkit", appauthor=False))


def _pictures_of(dataset: Dataset, split: str) -> Pictures:
    if split not in dataset.pictures:
        raise BadInput(
            f"data set {dataset.name!r} has no images for {split!r}; open it with its image "
            "folder, or bring features (a grid: in a table [features]) that `simkit features` or "
            "another program made"
        )
    return dataset.pictures[split]


def _fill(
    writers: Mapping[Kind, FeatureWriter],
    pictures: Pictures,
    names: NDArray[Any],
    net: NetworkPass,
    how: Extraction,
) -> None:
    """Compute the missing rows in order, for all kinds in one pass."""
    N = len(pictures)
    done = min(writer.index.done for writer in writers.values())
    how.progress(done, N)
    stream = fitted(pictures, np.arange(done, N), net.backbone.size, ahead=2 * how.batch)
    with net.ready(), closing(stream):
        while decoded := list(islice(stream, how.batch)):
            readable_rows = np.array([isinstance(image, Tensor) for image in decoded])
            skipped = [
                Skipped(row, str(names[row]), str(image))
                for row, image in enumerate(decoded, done)
                if isinstance(image, BadInput)
            ]
            if how.unreadable != "skip":
                _stop_at(image.reason for image in skipped)
            images = [image for image in decoded if isinstance(image, Tensor)]
            computed = net.of(images, tuple(writers)) if images else {}
            for kind, writer in writers.items():
                values = np.zeros((len(decoded), *writer.index.shape[1:]), np.float16)
                if images:
                    values[readable_rows] = computed[kind]
                writer.put(done, values, skipped)
            done += len(decoded)
            how.progress(done, N)


def _stop_at(faults: Iterable[str]) -> None:
    for fault in faults:
        raise BadInput(
            f"{fault}, or skip such images by `simkit features --unreadable skip`; train and "
            "compare then leave them out too"
        )


class NetworkPass:
    """Features of images under a frozen network.

    Everything is computed in full fp32 (TF32 and autocast are off), so that fp16 features agree on
    all devices except for their last bit. Raises BadInput for missing devices, and for features
    beyond the range of fp16.
    """

    def __init__(self, backbone: Backbone, device: str) -> None:
        self.backbone = backbone
        home = next(backbone.parameters()).device
        self.device = home if device == "auto" and home.type == "cuda" else device_of(device)

    @contextmanager
    def ready(self) -> Iterator[None]:
        """The network in evaluation mode on the device; its previous state is restored
        afterwards."""
        was_training, home = self.backbone.training, next(self.backbone.parameters()).device
        self.backbone.to(self.device, memory_format=torch.channels_last).eval()
        try:
            with _full_precision(self.device), torch.inference_mode():
                yield
        except torch.OutOfMemoryError:
            raise BadInput(
                f"the memory of {self.device} is too small for a batch; give a smaller batch"
            ) from None
        finally:
            self.backbone.to(home, memory_format=torch.contiguous_format).train(was_training)

    def shape(self, kind: Kind) -> tuple[int, ...]:
        """Shape of one image's features: (D,) or (D, h, w)."""
        if kind == "pooled":
            return (self.backbone.pooled_width,)
        empty = torch.zeros(3, self.backbone.size, self.backbone.size, dtype=torch.uint8)
        with self.ready():
            return tuple(self._computed([empty])[kind].shape[1:])

    def of(self, images: Sequence[Tensor], kinds: Sequence[Kind]) -> dict[Kind, Half]:
        """images: (3, size, size) uint8 each. By kind (b, D) and (b, D, h, w). Call it in ready."""
        # A CPU is fastest when the maps of all layers reuse allocated memory.
        part = _AT_ONCE if self.device.type == "cpu" else len(images)
        starts = range(0, len(images), part)
        parts = [self._computed(images[start : start + part]) for start in starts]
        return {kind: self._half(torch.cat([each[kind] for each in parts])) for kind in kinds}

    def _half(self, values: Tensor) -> Half:
        half = values.half().contiguous().cpu()
        if not half.isfinite().all():
            raise BadInput(
                f"backbone {self.backbone.name!r} gives features that are not finite or beyond "
                f"{_LARGEST:.0f}, which fp16 does not hold; give it other weights"
            )
        return half.numpy()

    def _computed(self, images: Sequence[Tensor]) -> dict[Kind, Tensor]:
        pictures = torch.stack(list(images)).to(self.device)
        prepared = self.backbone.prepare(pictures).contiguous(memory_format=torch.channels_last)
        maps, pooled = self.backbone.maps_and_pooled(prepared)
        return {"pooled": pooled.float(), "maps": maps.float()}


@contextmanager
def _full_precision(device: torch.device) -> Iterator[None]:
    """TF32 has no more digits than fp16, so that its rounding would be visible in the features."""
    multiply, convolve = torch.backends.cuda.matmul, torch.backends.cudnn
    before = multiply.allow_tf32, convolve.allow_tf32
    multiply.allow_tf32 = convolve.allow_tf32 = False
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        multiply.allow_tf32, convolve.allow_tf32 = before
