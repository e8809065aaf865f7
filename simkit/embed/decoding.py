"""Images decoded and resized for a network, in parallel with the network."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.data.dataset import Pictures
from simkit.data.images import REPLACE, FilePictures
from simkit.errors import BadInput
from simkit.progress import usable_cores

A = TypeVar("A")
B = TypeVar("B")
FIT = "whole"  # the part of an image that a network sees, as recorded with features and models
_PART = 32
_LONGEST = 16  # times the shorter side
_MOST = 32  # threads; more do not help, as memory is the bottleneck


def fit(picture: NDArray[np.uint8], size: int) -> Tensor:
    """Resize an image (H, W, 3) to (3, size, size), without keeping its aspect ratio.

    Nothing is cut off, as labels are of whole images; the code of Cole et al. (CVPR 2021, single
    positive labels) resizes in the same way. The centre crop that is usual for ImageNet lowers mAP
    on photographs that are not square (benchmarks/results/whole_images.md). Images with an aspect
    ratio above 16 are cropped to it first, since resizing could exceed the memory.
    """
    longest = _LONGEST * min(picture.shape[:2])
    top, left = (max(0, side - longest) // 2 for side in picture.shape[:2])
    middle = np.ascontiguousarray(picture[top : top + longest, left : left + longest])
    whole_picture = torch.from_numpy(middle).permute(2, 0, 1)
    if whole_picture.shape[1:] == (size, size):
        return whole_picture
    from torchvision.transforms.v2.functional import resize

    return resize(whole_picture, [size, size], antialias=True)


def fitted(
    pictures: Pictures, rows: NDArray[np.int64], size: int, *, ahead: int = 64
) -> Generator[Tensor | BadInput, None, None]:
    """Yield for each of `rows`, in order, its image (3, size, size) uint8, or the reason of
    failure.

    ahead: number of images read in advance, by one thread for each available core, and none for a
    single core.
    """

    def some(part: list[int]) -> list[Tensor | BadInput]:
        try:
            # Copies: an image of this size is a view of what was read.
            return [fit(picture, size).clone() for picture in pictures.read(part)]
        except (BadInput, RuntimeError, MemoryError) as error:
            if len(part) > 1:
                return [each for row in part for each in some([row])]
            if isinstance(error, BadInput):
                return [error]
            name: object = f"picture {part[0]}"
            if isinstance(pictures, FilePictures):
                name = pictures.folder / pictures.files[part[0]]
            reason = " ".join(str(error).split())[:120] or type(error).__name__
            why = f"cannot be brought to {size} x {size} pixels ({reason})"
            return [BadInput(f"{name} {why}; {REPLACE}")]

    # Files are read one by one, since each may be large; generated or sliced images in parts.
    at_once = 1 if isinstance(pictures, FilePictures) else _PART
    wanted = rows.tolist()
    parts = [wanted[start : start + at_once] for start in range(0, len(wanted), at_once)]
    n = cores()
    done = map(some, parts) if n < 2 else side_by_side(some, parts, ahead // at_once, n)
    yield from chain.from_iterable(done)


def cores() -> int:
    """Threads that decode images: one for each core that this process may use, at most 32."""
    return min(usable_cores(), _MOST)


def side_by_side(
    work: Callable[[A], B], items: Sequence[A], ahead: int, threads: int
) -> Iterator[B]:
    """`work` on each item by several threads, in order."""
    waiting: deque[Future[B]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="decode")
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= max(ahead, threads):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
