"""What a batch is made of: cached features, or the pictures themselves."""

from __future__ import annotations

import math
from functools import cached_property
from numbers import Real
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.chance import Chance, below
from simkit.data.dataset import Pictures
from simkit.errors import BadInput
from simkit.history import content_id
from simkit.learn.feeding.augment import Views, drawn_boxes, shown
from simkit.learn.feeding.pictures import SizedPictures

Kind = Literal["pooled", "maps", "images"]
ASPECT = (3 / 4, 4 / 3)  # of crops, as in RandomResizedCrop of torchvision


class Inputs(Protocol):
    """N inputs, read in batches by row.

    kind: "pooled" (b, D) float32, "maps" (b, D, h, w) float32, "images" (b, 3, H, W) uint8.
    """

    @property
    def kind(self) -> Kind: ...

    @property
    def id(self) -> str: ...

    def __len__(self) -> int: ...

    def batch(self, index: Any, *, flips: NDArray[np.bool_] | None = None) -> Tensor:
        """The inputs at these rows; flips (b,): which to mirror."""
        ...


class FeatureInputs:
    """Features of N images: (N, D) pooled or (N, D, h, w) maps, any float, memory-mapped or not.

    id names the content; by default it is computed from the values when it is first asked for.
    """

    def __init__(self, values: NDArray[np.floating], id: str = "") -> None:
        if values.ndim not in (2, 4) or values.dtype.kind != "f" or 0 in values.shape[1:]:
            raise BadInput(
                f"features have shape {values.shape} of {values.dtype}; floats of shape (N, D) or "
                "(N, D, h, w) are expected"
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

    def batch(self, index: Any, *, flips: NDArray[np.bool_] | None = None) -> Tensor:
        """(b, D) or (b, D, h, w) float32. Cached features are of unmirrored pictures."""
        if flips is not None and flips.any():
            raise BadInput(
                "cached features cannot be mirrored; train from pictures (ImageInputs), or flip off"
            )
        rows = self.values[np.asarray(index)]
        if rows.dtype == np.float16:  # torch widens them faster than numpy, to the same numbers
            return torch.from_numpy(np.ascontiguousarray(rows)).float()
        return torch.from_numpy(np.asarray(rows, np.float32))


class ImageInputs:
    """Pictures of one size: a uint8 array (N, 3, H, W), `sized(...)` ones, or those of a data set.

    What training shows of them is drawn anew in every epoch. flip: mirror left to right with
    probability one half.  vertical: also top to bottom.  crop: a part whose share of the area lies
    between these two, such as (0.25, 1), brought to the picture's size.  aspect: limits of the
    part's width by its height, where 1 keeps the picture's form.
    """

    kind: Kind = "images"

    def __init__(
        self,
        pictures: NDArray[np.uint8] | SizedPictures | Pictures,
        *,
        flip: bool = True,
        vertical: bool = False,
        crop: tuple[float, float] | None = None,
        aspect: tuple[float, float] = ASPECT,
    ) -> None:
        if isinstance(pictures, np.ndarray) and (
            pictures.ndim != 4 or pictures.shape[1] != 3 or pictures.dtype != np.uint8
        ):
            raise BadInput(
                f"pictures have shape {pictures.shape} of {pictures.dtype}; uint8 of shape "
                "(N, 3, H, W) is expected"
            )
        if crop is not None and not (_pair(crop) and 0 < crop[0] <= crop[1] <= 1):
            raise BadInput(
                f"crop is {crop}; the smallest and the largest share of the area are expected, "
                "such as (0.25, 1)"
            )
        if not (_pair(aspect) and 0 < aspect[0] <= aspect[1] < math.inf):
            raise BadInput(
                f"aspect is {aspect}; the smallest and the largest width by height are expected, "
                "such as (3 / 4, 4 / 3)"
            )
        self.pictures = pictures
        self.flip, self.vertical = flip, vertical
        self.crop = None if crop is None else (float(crop[0]), float(crop[1]))
        self.aspect = (float(aspect[0]), float(aspect[1]))

    @cached_property
    def id(self) -> str:
        """Content id."""
        if isinstance(self.pictures, np.ndarray):
            return content_id("pictures", self.pictures)
        return self.pictures.id

    @property
    def augmentation(self) -> dict[str, Any]:
        """What is done to pictures in training, where it is not the usual: mirrored, but whole."""
        found: dict[str, Any] = {} if self.flip else {"flip": False}
        if self.vertical:
            found["vertical"] = True
        if self.crop is not None:
            found |= {"crop": list(self.crop), "aspect": list(self.aspect)}
        return found

    def __len__(self) -> int:
        return len(self.pictures)

    def flips(self, index: NDArray[np.int64], chance: Chance) -> NDArray[np.bool_] | None:
        """(b,) which pictures to mirror, by place; None when `flip` is off."""
        return below(chance(index), 0.5) if self.flip else None

    def boxes(self, index: NDArray[np.int64], chance: Chance) -> NDArray[np.float64] | None:
        """(b, 4) shares y0, x0, y1, x1 of the picture to show, by place; None without `crop`."""
        if self.crop is None:
            return None
        return drawn_boxes(index, chance, area=self.crop, aspect=self.aspect)

    def views(self, index: NDArray[np.int64], chance: Chance, *, epoch: int) -> Views:
        """How the pictures at these rows are shown in an epoch: by place, whatever the batch."""
        vertical = None
        if self.vertical:
            vertical = below(chance.of("vertical", epoch)(index), 0.5)
        flips = self.flips(index, chance.of("flip", epoch))
        found = (self.boxes(index, chance.of("crop", epoch)), flips, vertical)
        return Views(*(None if x is None else torch.from_numpy(x) for x in found))

    def batch(
        self,
        index: Any,
        *,
        flips: NDArray[np.bool_] | None = None,
        boxes: NDArray[np.float64] | None = None,
    ) -> Tensor:
        """(b, 3, H, W) uint8; boxes (b, 4): which part to show, before it is mirrored."""
        index = np.asarray(index)
        if isinstance(self.pictures, np.ndarray):
            found = np.take(self.pictures, index, axis=0)  # other threads may go on meanwhile
        elif isinstance(self.pictures, SizedPictures):
            found = self.pictures[index]
        else:
            read = self.pictures.read(index)
            shapes = {picture.shape for picture in read}
            if len(shapes) > 1:
                raise BadInput(
                    f"pictures come in several sizes ({', '.join(map(str, sorted(shapes)))}); "
                    "bring them to one size first, with simkit.learn.feeding.pictures.sized"
                )
            found = np.ascontiguousarray(np.stack(read).transpose(0, 3, 1, 2))
        given = (None if x is None else torch.from_numpy(x) for x in (boxes, flips))
        return shown(torch.from_numpy(found), Views(*given))


def _pair(given: Any) -> bool:
    """Whether it is two numbers."""
    return (
        isinstance(given, tuple | list | np.ndarray)
        and len(given) == 2
        and all(isinstance(value, Real) for value in given)
    )
