"""Batches of pictures cropped and mirrored at once, on the device they lie on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from simkit.chance import Chance


@dataclass(frozen=True, eq=False)
class Views:
    """How n pictures are shown; each is None where nothing is done.

    boxes (n, 4) float64 shares y0, x0, y1, x1 of the picture;  flips (n,) bool, mirrored left to
    right;  vertical (n,) bool, mirrored top to bottom. A picture is cropped before it is mirrored.
    """

    boxes: Tensor | None = None
    flips: Tensor | None = None
    vertical: Tensor | None = None

    def at(self, index: Tensor) -> Views:
        """Those of some pictures, by their places."""
        return Views(*(None if x is None else x[index] for x in self._all))

    def to(self, device: torch.device) -> Views:
        """The same on a device."""
        return Views(*(None if x is None else x.to(device) for x in self._all))

    @property
    def _all(self) -> tuple[Tensor | None, ...]:
        return self.boxes, self.flips, self.vertical


def drawn_boxes(
    index: NDArray[np.int64],
    chance: Chance,
    *,
    area: tuple[float, float],
    aspect: tuple[float, float],
) -> NDArray[np.float64]:
    """(b, 4) shares y0, x0, y1, x1 of random parts, by the places of their pictures.

    A part's share of the area is uniform; the logarithm of its aspect (width by height, of a square
    picture) is uniform between those limits at which it still lies inside. So every area has its
    due; RandomResizedCrop of torchvision draws again what does not fit, which favours small parts.
    """
    share, form, y, x = (_shares(chance.of(name)(index)) for name in ("area", "aspect", "y", "x"))
    whole = area[0] + share * (area[1] - area[0])
    least, most = (np.clip(limit, whole, 1 / whole) for limit in aspect)
    ratio = least * (most / least) ** form
    sides = np.minimum(np.sqrt(np.stack([whole / ratio, whole * ratio], 1)), 1)
    start = np.stack([y, x], 1) * (1 - sides)
    return np.concatenate([start, np.minimum(start + sides, 1)], 1)


def shown(pictures: Tensor, views: Views) -> Tensor:
    """(b, 3, H, W) uint8: what views of b pictures show, brought to the pictures' own size.

    Crops are resampled once, bilinear with pixels' values in their middles; a box need not end at
    pixels, and beyond the outermost middles inside it a part goes on even: nothing of the picture
    around it is seen, as where parts are cut out first. A part is never larger than the
    picture and so never made smaller, which is why nothing is smoothed (antialias of torchvision
    changes nothing either). Nothing waits for the device.
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
    found = F.grid_sample(
        pictures.float(), grid, mode="bilinear", padding_mode="border", align_corners=False
    )
    return found.round().to(torch.uint8)


def _places(first: Tensor, last: Tensor, size: int, flip: Tensor | None) -> Tensor:
    """(b, size) float32: where pixels come from, -1 and 1 being the edges of the picture."""
    middles = (torch.arange(size, device=first.device, dtype=first.dtype) + 0.5) / size
    if flip is not None:
        first, last = torch.where(flip, last, first), torch.where(flip, first, last)
    places = first[:, None] + middles * (last - first)[:, None]
    low, high = torch.minimum(first, last), torch.maximum(first, last)
    inner = ((low * size - 0.5).ceil(), (high * size - 0.5).floor())
    low, high = (((edge + 0.5) / size)[:, None] for edge in inner)
    return (2 * torch.minimum(torch.maximum(places, low), high) - 1).float()


def _shares(numbers: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Uniform numbers as floats from 0 to below 1."""
    return (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53
