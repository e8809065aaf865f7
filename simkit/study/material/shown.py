"""Pictures as they are shown to a backbone that learns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from simkit.data import Dataset
from simkit.errors import BadInput
from simkit.learn.feeding.inputs import ImageInputs
from simkit.learn.feeding.pictures import SizedPictures, sized
from simkit.learn.methods import Method

_CROP = (0.25, 1.0)  # for methods that compare views of a picture


@dataclass(frozen=True)
class Shown:
    """How pictures are shown to a backbone that learns.

    size: side in pixels, None for the backbone's own.  flip: mirror half of them; vertical: turn
    half of them upside down, too.  crop: smallest and largest share of the area that is shown; None
    is the whole picture, or (0.25, 1) for methods that compare crops.
    """

    size: int | None = None
    flip: bool = True
    vertical: bool = False
    crop: tuple[float, float] | None = None

    def to(self, method: Method) -> Shown:
        """As this method wants to see them."""
        return replace(self, crop=_CROP) if method.needs.views and self.crop is None else self

    def inputs(self, pictures: SizedPictures) -> ImageInputs:
        """Pictures as training reads them."""
        return ImageInputs(pictures, flip=self.flip, vertical=self.vertical, crop=self.crop)


def check_pictures(data: Dataset, split: str) -> None:
    """Raise BadInput where a split has no pictures."""
    if split not in data.pictures:
        raise BadInput(
            f"{data.name} has no pictures for {split!r}, which fine-tuning needs; open it with its "
            "image folder, or train on features"
        )


def decoded(data: Dataset, split: str, size: int, **how: Any) -> SizedPictures:
    """All pictures of a split, `size` by `size`; how: as `sized` takes it. Raises BadInput where
    there are none, and for one that cannot be read."""
    check_pictures(data, split)
    return sized(data.pictures[split], size, **how)
