"""Inputs of training, read in batches: features, or images with random crops and flips.

Features are held in memory, images on the device; what is too large is read batch by batch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from scipy.sparse import issparse
from torch import Tensor

from simkit.cache import PICTURES, cache_folder, in_cache, mark_used
from simkit.chance import Chance, below
from simkit.data.dataset import Pictures
from simkit.embed.decoding import cores, side_by_side
from simkit.embed.devices import room_for, watch_memory
from simkit.embed.feature_files import mapped
from simkit.errors import BadInput
from simkit.files import whole
from simkit.history import content_id
from simkit.labels.coding import of_tensor
from simkit.learn.distributed import on_device
from simkit.learn.model import standardised
from simkit.progress import Progress, silent

Kind = Literal["pooled", "maps", "images"]
Places = NDArray[np.int64]
CPU = torch.device("cpu")
ASPECT = (3 / 4, 4 / 3)  # width / height of crops, as in RandomResizedCrop of torchvision
_MEMORY = 4 << 30  # bytes of decoded images in memory if no folder is named
_ROWS = 1024  # images in a file, at least
_FILES = 512  # at most, as each stays open
_RESIDENT_BYTES = 2 << 30  # larger maps stay on disk on a CPU and are read batch by batch
_POOLED_BYTES = 3 << 28  # and larger pooled features, as float32
_AHEAD = 3  # prefetched batches
_CHUNK = 256  # inputs read at a time


def array_of(values: Any, what: str) -> NDArray[Any]:
    """Values of inputs as an array; tensors are copied to the CPU. Raises BadInput.

    what: name of the values in the message.
    """
    array = of_tensor(values)
    if hasattr(array, "dtype") and hasattr(array, "ndim") and not issparse(array):
        return array  # also `MappedRows`
    dense = "values.to_dense()" if isinstance(values, Tensor) else "values.toarray()"
    mend = dense if issparse(array) else "numpy.asarray(values)"
    raise BadInput(
        f"{what} are a {type(values).__name__}; an array or a dense tensor is expected: pass {mend}"
    )


class FeatureInputs:
    """Features of images.

    Parameters
    ----------
    values
        (N, D) pooled features or (N, D, h, w) maps: an array of any float, memory-mapped or not,
        or a tensor on any device, which is copied to the CPU (bfloat16 as float32).
    id
        Identifies the content; by default it is computed from the values on demand.
    """

    def __init__(self, values: NDArray[np.floating] | Tensor, id: str = "") -> None:
        values = array_of(values, "features")
        if values.ndim not in (2, 4) or values.dtype.kind != "f" or 0 in values.shape[1:]:
            raise BadInput(
                f"features have shape {values.shape} of {values.dtype}; floats of shape (N, D) or "
                "(N, D, h, w) are expected, so convert or reshape them"
            )
        self.values = values
        self._id = id

    @property
    def kind(self) -> Kind:
        """ "pooled" or "maps"."""
        return "pooled" if self.values.ndim == 2 else "maps"

    @property
    def width(self) -> int:
        """D, the number of features."""
        return int(self.values.shape[1])

    @cached_property
    def id(self) -> str:
        """Content id."""
        return self._id or content_id("features", np.asarray(self.values))

    def __len__(self) -> int:
        return len(self.values)

    def batch(self, index: Any) -> Tensor:
        """(b, D) or (b, D, h, w) float32."""
        rows = self.values[np.asarray(index)]
        if rows.dtype == np.float16:  # torch converts faster than numpy, with the same result
            return torch.from_numpy(np.ascontiguousarray(rows)).float()
        return torch.from_numpy(np.asarray(rows, np.float32))


class ImageInputs:
    """Images of one size, with random crops and flips in training.

    Parameters
    ----------
    pictures
        A uint8 array or tensor (N, 3, H, W), `sized(...)` ones, or those of a data set.
    flip, vertical
        Mirror left to right, or also top to bottom, with probability one half.
    crop
        Smallest and largest share of the area of a random crop, such as (0.25, 1), resized to the
        image's size; None for the whole image.
    """

    kind: Kind = "images"

    def __init__(
        self,
        pictures: NDArray[np.uint8] | Tensor | SizedPictures | Pictures,
        *,
        flip: bool = True,
        vertical: bool = False,
        crop: tuple[float, float] | None = None,
    ) -> None:
        if isinstance(pictures, Tensor):
            pictures = array_of(pictures, "images")
        if isinstance(pictures, np.ndarray) and (
            pictures.ndim != 4 or pictures.shape[1] != 3 or pictures.dtype != np.uint8
        ):
            raise BadInput(
                f"images have shape {pictures.shape} of {pictures.dtype}; uint8 of shape "
                "(N, 3, H, W) is expected"
            )
        limits = np.asarray((1, 1) if crop is None else crop)
        numbers = limits.shape == (2,) and limits.dtype.kind in "iuf"
        if not numbers or not 0 < limits[0] <= limits[1] <= 1:
            raise BadInput(
                f"crop is {crop}; the smallest and the largest share of the area are expected, "
                "such as (0.25, 1)"
            )
        self.pictures = pictures
        self.flip, self.vertical = flip, vertical
        self.crop = None if crop is None else (float(limits[0]), float(limits[1]))

    @cached_property
    def id(self) -> str:
        """Content id."""
        if isinstance(self.pictures, np.ndarray):
            return content_id("pictures", self.pictures)
        return self.pictures.id

    @property
    def augmentation(self) -> dict[str, Any]:
        """Description of the transform of images in training, unless it is the usual flip."""
        settings: dict[str, Any] = {} if self.flip else {"flip": False}
        if self.vertical:
            settings["vertical"] = True
        if self.crop is not None:
            settings |= {"crop": list(self.crop), "aspect": list(ASPECT)}
        return settings

    def __len__(self) -> int:
        return len(self.pictures)

    def views(self, index: NDArray[np.int64], chance: Chance, *, epoch: int) -> Views:
        """Views of the images at these rows in an epoch: by index, independent of the batch."""
        boxes = flips = vertical = None
        if self.crop is not None:
            boxes = torch.from_numpy(drawn_boxes(index, chance.of("crop", epoch), self.crop))
        if self.flip:
            flips = torch.from_numpy(below(chance.of("flip", epoch)(index), 0.5))
        if self.vertical:
            vertical = torch.from_numpy(below(chance.of("vertical", epoch)(index), 0.5))
        return Views(boxes, flips, vertical)

    def batch(self, index: Any) -> Tensor:
        """(b, 3, H, W) uint8."""
        index = np.asarray(index)
        if isinstance(self.pictures, np.ndarray):
            images = np.take(self.pictures, index, axis=0)  # releases the GIL
        elif isinstance(self.pictures, SizedPictures):
            images = self.pictures[index]
        else:
            read = self.pictures.read(index)
            shapes = {image.shape for image in read}
            if len(shapes) > 1:
                raise BadInput(
                    f"images come in several sizes ({', '.join(map(str, sorted(shapes)))}); "
                    "bring them to one size first, with simkit.learn.inputs.sized"
                )
            images = np.ascontiguousarray(np.stack(read).transpose(0, 3, 1, 2))
        return torch.from_numpy(images)


class Views(NamedTuple):
    """The views of n images; each field is None if it leaves images unchanged.

    boxes (n, 4) float64 shares y0, x0, y1, x1 of the image;  flips (n,) bool, mirrored left to
    right;  vertical (n,) bool, mirrored top to bottom. An image is cropped before it is mirrored.
    """

    boxes: Tensor | None = None
    flips: Tensor | None = None
    vertical: Tensor | None = None

    def at(self, index: Tensor) -> Views:
        """The views of some images, by their indices."""
        return Views(*(None if x is None else x[index] for x in self))

    def to(self, device: torch.device) -> Views:
        """The same views on a device."""
        return Views(*(None if x is None else x.to(device) for x in self))


def drawn_boxes(
    index: NDArray[np.int64], chance: Chance, area: tuple[float, float]
) -> NDArray[np.float64]:
    """(b, 4) shares y0, x0, y1, x1 of random crops, by the indices of their images.

    A crop's share of the area is uniform; the logarithm of its aspect ratio (width / height, for a
    square image) is uniform within ASPECT, restricted to crops inside the image. RandomResizedCrop
    of torchvision instead resamples crops that do not fit, which favours small ones.
    """
    drawn = (chance.of(name)(index) for name in ("area", "aspect", "y", "x"))
    share, form, y, x = ((numbers >> np.uint64(11)) * 2.0**-53 for numbers in drawn)
    whole = area[0] + share * (area[1] - area[0])
    least, most = (np.clip(limit, whole, 1 / whole) for limit in ASPECT)
    ratio = least * (most / least) ** form
    sides = np.minimum(np.sqrt(np.stack([whole / ratio, whole * ratio], 1)), 1)
    start = np.stack([y, x], 1) * (1 - sides)
    return np.concatenate([start, np.minimum(start + sides, 1)], 1)


def shown(pictures: Tensor, views: Views) -> Tensor:
    """(b, 3, H, W) uint8: the views of b images, resized to the images' own size.

    Crops are resampled once, bilinearly with half-pixel centres; a box need not end at pixels, and
    values beyond its outermost pixel centres are constant, so that nothing outside of the crop is
    visible. A crop is never larger than the image and so never reduced, which is why no
    antialiasing is needed (that of torchvision changes nothing either). Nothing waits for the
    device.
    """
    flips, vertical = views.flips, views.vertical
    if views.boxes is None:
        for flip, dim in ((flips, -1), (vertical, -2)):
            if flip is not None:
                pictures = torch.where(flip[:, None, None, None], pictures.flip(dim), pictures)
        return pictures
    y0, x0, y1, x1 = views.boxes.unbind(1)
    y = _places(y0, y1, pictures.shape[2], vertical)
    x = _places(x0, x1, pictures.shape[3], flips)
    grid = torch.stack(torch.broadcast_tensors(x[:, None, :], y[:, :, None]), -1)
    parts = F.grid_sample(
        pictures.float(), grid, mode="bilinear", padding_mode="border", align_corners=False
    )
    return parts.round().to(torch.uint8)


def _places(first: Tensor, last: Tensor, size: int, flip: Tensor | None) -> Tensor:
    """(b, size) float32: sampling coordinates of pixels; -1 and 1 are the edges of the image."""
    middles = (torch.arange(size, device=first.device, dtype=first.dtype) + 0.5) / size
    if flip is not None:
        first, last = torch.where(flip, last, first), torch.where(flip, first, last)
    places = first[:, None] + middles * (last - first)[:, None]
    low, high = torch.minimum(first, last), torch.maximum(first, last)
    inner = ((low * size - 0.5).ceil(), (high * size - 0.5).floor())
    low, high = (((edge + 0.5) / size)[:, None] for edge in inner)
    return (2 * torch.minimum(torch.maximum(places, low), high) - 1).float()


class SizedPictures:
    """N images (N, 3, size, size) uint8, in one array or in several files of equal length.

    `pictures[[5, 1]]` gives an array of these rows. id depends on the images and their resizing.
    """

    def __init__(self, parts: Sequence[NDArray[np.uint8]], id: str) -> None:
        self._parts = parts
        self._each = max(1, len(parts[0]))
        self.shape = (sum(map(len, parts)), *parts[0].shape[1:])
        self.id = id

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> NDArray[np.uint8]:
        """The rows at an array of integers, 0..N-1, as a copy."""
        rows = np.asarray(index)
        copied = np.empty((len(rows), *self.shape[1:]), np.uint8)
        for place, row in enumerate(rows.tolist()):
            copied[place] = self._parts[row // self._each][row % self._each]
        return copied


def sized(
    pictures: Pictures,
    size: int,
    *,
    cache: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> SizedPictures:
    """Decode all images and resize them to squares, bilinearly with antialiasing (Pillow), as in
    the papers.

    Parameters
    ----------
    pictures
        N images of any size.
    size
        Side in pixels.
    cache
        The folder for files of 1,024 images or more, each of which appears whole; a second call
        opens them, and resumes an interrupted call. By default images of up to 4 GiB are kept in
        memory only and larger sets in the cache folder ($SIMKIT_CACHE).
    threads
        Number of threads, by default one for each core.
    progress
        Called with (images done, images).

    Returns
    -------
    SizedPictures
        (N, 3, size, size) uint8.

    Raises
    ------
    BadInput
        For an unreadable image, and if files cannot be written.
    """
    N, shape = len(pictures), (3, size, size)
    id = content_id(f"sized 1 square {size}", pictures.id)
    folder = Path(cache_folder() if cache is None else cache) / PICTURES / id
    in_memory = cache is None and N * 3 * size**2 <= _MEMORY
    each = max(_ROWS, -(-N // _FILES))
    parts: list[Any] = []

    def decode(row: int) -> None:
        picture = pictures.read([row])[0]
        if picture.shape[:2] != (size, size):
            resized = Image.fromarray(picture).resize((size, size), Image.Resampling.BILINEAR)
            picture = np.asarray(resized)
        part[row - start] = picture.transpose(2, 0, 1)

    for start in range(0, N, each):
        rows = range(start, min(start + each, N))
        file = folder / f"{start // each:05}.npy"
        part: Any = None if in_memory else mapped(file, (len(rows), *shape), np.uint8)
        if part is None:
            part, workers = np.empty((len(rows), *shape), np.uint8), threads or cores()
            for _ in side_by_side(decode, rows, ahead=2 * workers, threads=workers):
                pass
            if not in_memory:
                with in_cache(folder), whole(file) as beside, open(beside, "wb") as stream:
                    np.save(stream, part)
                part = np.asarray(np.load(file, mmap_mode="r"))
        parts.append(part)
        progress(rows.stop, N)
    if not in_memory:
        mark_used(folder)
    return SizedPictures(parts or [np.empty((0, *shape), np.uint8)], id)


class OnGpu:
    """Values of all asked images on a GPU from the second epoch on, if they fit beside training.

    The first epoch shows how much memory training and validation need; it streams.
    """

    def __init__(self, read: Callable[[Places], Tensor], n: int, device: torch.device) -> None:
        self._read, self._n, self._device = read, n, device
        self._epochs, self._values = 0, None
        watch_memory(device)

    def next_epoch(self) -> Tensor | None:
        """The values (n, ...) for the epoch that begins; None where they are streamed."""
        self._epochs += 1
        if self._epochs == 2:
            self._values = self._held()
        return self._values

    def _held(self) -> Tensor | None:
        first = self._read(np.arange(1))
        if not room_for(self._n * first.nbytes, self._device):
            return None
        shape = self._n, *first.shape[1:]
        values, chunks = first.new_empty(shape, device=self._device), _chunks(self._n)
        for chunk, read in zip(chunks, streamed(self._read, chunks, self._device), strict=True):
            values[chunk[0] : chunk[-1] + 1] = read
        return values


class FeatureLoader:
    """Standardised features of the asked images as float32: maps if `maps`, else pooled.

    Large ones are read batch by batch, or held by a GPU as they are stored, in fp16. In batches,
    `place` is an index among the asked images, not among all images.
    """

    def __init__(
        self,
        inputs: FeatureInputs,
        rows: Places,
        device: torch.device = CPU,
        *,
        maps: bool,
        standardise: bool,
    ) -> None:
        self._inputs, self._rows, self._device, self._maps = inputs, rows, device, maps
        self.width, n = inputs.width, len(rows)
        chunks = _chunks(n)
        pooled = None
        if 4 * n * self.width <= _POOLED_BYTES:
            pooled = torch.empty(n, self.width)
            for chunk in chunks:
                pooled[chunk[0] : chunk[-1] + 1] = self._pooled(chunk)
        found = moments(self._pooled if pooled is None else pooled.__getitem__, n)
        unchanged = torch.zeros(self.width), torch.ones(self.width)
        self.shift, self.scale = found if standardise else unchanged
        self._on_device = self.shift.to(device), self.scale.to(device)
        self._values: Tensor | None = None
        size = 4 * n * int(np.prod(inputs.values.shape[1:])) if maps else 4 * n * self.width
        on_cpu = device.type == "cpu" and size <= _RESIDENT_BYTES
        if maps and on_cpu:
            self._values = torch.cat([self._read(chunk) for chunk in chunks])
        elif pooled is not None and not maps and (on_cpu or room_for(size, device)):
            self._values = pooled.sub_(self.shift).div_(self.scale).to(device)
        self._stored = OnGpu(self._as_stored, n, device)

    def batches(self, places: Sequence[Places], epoch: int) -> Iterator[tuple[Tensor, Views]]:
        if self._values is not None:
            batches, ready = _selected(self._values, places), True
        elif (stored := self._stored.next_epoch()) is not None:
            batches, ready = _selected(stored, places), False
        else:
            batches, ready = streamed(self._read, places, self._device), True
        for values in batches:
            found = values if ready else self._standardised(values, *self._on_device)
            yield found if found.ndim == 2 else found.movedim(-1, 1), Views()

    def _pooled(self, place: Places) -> Tensor:
        values = self._inputs.batch(self._rows[place])
        return values if values.ndim == 2 else values.mean((-2, -1))

    def _as_stored(self, place: Places) -> Tensor:
        """(b, D) pooled or (b, D, h, w) maps, fp16 where they are stored so."""
        if not self._maps and self._inputs.kind == "maps":
            return self._pooled(place)
        values = self._inputs.batch(self._rows[place])
        return values.half() if self._inputs.values.dtype == np.float16 else values

    def _read(self, place: Places) -> Tensor:
        """(b, D) pooled or (b, h, w, D) maps: channels last, as for one matrix product."""
        values = self._inputs.batch(self._rows[place]) if self._maps else self._pooled(place)
        return self._standardised(values, self.shift, self.scale)

    @staticmethod
    def _standardised(values: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
        found = standardised(values.float(), shift, scale)
        return found if found.ndim == 2 else found.movedim(1, -1).contiguous()


class ImageLoader:
    """Images of the asked rows, cropped and mirrored on the device.

    A GPU holds all of them if they fit beside training; otherwise they are prefetched. Views are
    drawn for a whole epoch and sent to the device once.
    """

    def __init__(
        self,
        inputs: ImageInputs,
        rows: Places,
        width: int,
        chance: Chance,
        device: torch.device = CPU,
    ) -> None:
        self._inputs, self._rows, self._chance, self._device = inputs, rows, chance, device
        self.width, self.shift, self.scale = width, torch.zeros(width), torch.ones(width)
        self._stored = OnGpu(self._read, len(rows), device)

    def batches(self, places: Sequence[Places], epoch: int) -> Iterator[tuple[Tensor, Views]]:
        drawn = self._inputs.views(self._rows, self._chance, epoch=epoch).to(self._device)
        stored = self._stored.next_epoch()
        images = (
            streamed(self._read, places, self._device)
            if stored is None
            else _selected(stored, places)
        )
        for place, batch in zip(places, images, strict=True):
            views = drawn.at(on_device(place, self._device))
            yield shown(batch, views), views

    def _read(self, place: Places) -> Tensor:
        return self._inputs.batch(self._rows[place])


Loader = FeatureLoader | ImageLoader


def _selected(values: Tensor, places: Sequence[Places]) -> Iterator[Tensor]:
    """Batches of values that the device holds."""
    for place in places:
        yield values.index_select(0, on_device(place, values.device))


def streamed(
    read: Callable[[Places], Tensor], places: Sequence[Places], device: torch.device
) -> Iterator[Tensor]:
    """Batches on the device, read one by one.

    For a GPU a thread prefetches some of them, into pinned memory, and copies them asynchronously.
    """

    def pinned(place: Places) -> Tensor:
        images = read(place)
        if device.type != "cuda":
            return images
        with torch.cuda.device(device):  # the default of a new thread is the first GPU
            return images.pin_memory()

    # The batch in use counts too.
    ahead = 1 + _AHEAD if device.type == "cuda" else 1
    for images in side_by_side(pinned, places, ahead=ahead, threads=1):
        yield images.to(device, non_blocking=True)


def _chunks(n: int) -> list[Places]:
    """Indices from 0 to n, as views of one array."""
    return np.split(np.arange(n), range(_CHUNK, n, _CHUNK))


def moments(read: Callable[[Places], Tensor], n: int) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation (D) float32 of every feature over n images.

    read: pooled features (b, D) of images by their indices. A constant feature gets deviation 1.
    Raises BadInput for nan and infinity.
    """
    chunks = _chunks(n)
    mean = sum(read(chunk).double().sum(0) for chunk in chunks) / n
    squares = sum((read(chunk).double() - mean).square().sum(0) for chunk in chunks)
    deviation = (squares / n).sqrt()
    if not bool(torch.isfinite(deviation).all()):
        raise BadInput("the features hold nan or infinity; compute them again or clean them first")
    flat = deviation <= 1e-6 * mean.abs().clamp(min=1e-6)
    return mean.float(), torch.where(flat, 1.0, deviation).float()
