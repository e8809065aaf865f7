"""What a batch is made of: cached features, or the pictures themselves."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.chance import Chance, below
from simkit.data.dataset import Pictures
from simkit.errors import BadInput
from simkit.history import content_id

Kind = Literal["pooled", "maps", "images"]


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
        """D."""
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
        return torch.from_numpy(np.asarray(self.values[np.asarray(index)], np.float32))


class ImageInputs:
    """Pictures of one size: a uint8 array (N, 3, H, W), or the `Pictures` of a data set.

    flip: mirror each picture with probability one half in every epoch of training.
    """

    kind: Kind = "images"

    def __init__(self, pictures: NDArray[np.uint8] | Pictures, *, flip: bool = True) -> None:
        if isinstance(pictures, np.ndarray) and (
            pictures.ndim != 4 or pictures.shape[1] != 3 or pictures.dtype != np.uint8
        ):
            raise BadInput(
                f"pictures have shape {pictures.shape} of {pictures.dtype}; uint8 of shape "
                "(N, 3, H, W) is expected"
            )
        self.pictures = pictures
        self.flip = flip

    @cached_property
    def id(self) -> str:
        """Content id."""
        if isinstance(self.pictures, np.ndarray):
            return content_id("pictures", self.pictures)
        return self.pictures.id

    def __len__(self) -> int:
        return len(self.pictures)

    def flips(self, index: NDArray[np.int64], chance: Chance) -> NDArray[np.bool_] | None:
        """(b,) which pictures to mirror, by place; None when `flip` is off."""
        return below(chance(index), 0.5) if self.flip else None

    def batch(self, index: Any, *, flips: NDArray[np.bool_] | None = None) -> Tensor:
        """(b, 3, H, W) uint8."""
        index = np.asarray(index)
        if isinstance(self.pictures, np.ndarray):
            found = np.array(self.pictures[index])
        else:
            read = self.pictures.read(index)
            shapes = {picture.shape for picture in read}
            if len(shapes) > 1:
                raise BadInput(
                    f"pictures come in several sizes ({', '.join(map(str, sorted(shapes)))}); "
                    "bring them to one size first"
                )
            found = np.ascontiguousarray(np.stack(read).transpose(0, 3, 1, 2))
        if flips is not None:
            found[flips] = found[flips][..., ::-1]
        return torch.from_numpy(found)
