"""The built-in data set: small drawn images of digits, shapes and colours on textured grounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from simkit.chance import Chance
from simkit.data.dataset import Boxes, Dataset, Terms, register
from simkit.data.scenes_draw import LEAVES, OBJECTS, SIDE, Layout, draw, layout, leaf_matrix
from simkit.data.splits import spell
from simkit.history import content_id
from simkit.labels.hierarchy import close, shipped
from simkit.labels.truth import Truth
from simkit.registry import Range, setting, settle

VERSION = 1  # of the pixels; a test compares them with a digest
_CHUNK = 20_000
# Images of a split; the labels of the largest one take about 12 s.
Size = Annotated[int, Range(1, 2_000_000)]


@dataclass(frozen=True)
class ScenePictures:
    """The images of one split, drawn on use (about 0.5 ms each)."""

    seed: int
    split: str
    images: int

    @property
    def id(self) -> str:
        """Content id: equal ids mean equal pixels."""
        return content_id(f"scenes {VERSION} {self.seed} {self.split} {self.images}")

    def __len__(self) -> int:
        return self.images

    @property
    def chance(self) -> Chance:
        """The random numbers of this split."""
        return Chance.seeded(self.seed).of("scenes", self.split)

    def layout(self, index: Sequence[int] | NDArray[np.integer]) -> Layout:
        """The objects of these images and their positions."""
        return layout(self.chance, index)

    def read(self, index: Sequence[int] | NDArray[np.integer]) -> list[NDArray[np.uint8]]:
        """One (64, 64, 3) uint8 RGB array for each of `index` (0..images-1)."""
        wanted = np.asarray(index, np.int64).reshape(-1)
        return list(draw(self.chance, self.split, self.layout(wanted), wanted))


@register
class Scenes:
    """Drawn images with complete labels, boxes and a WordNet hierarchy; no download.

    A larger split begins with the images of a smaller one.
    """

    name: ClassVar[str] = "scenes"
    title: ClassVar[str] = "Drawn scenes: digits, shapes and colours on textured grounds (built in)"
    example: ClassVar[str] = "scenes:images=3000"
    terms: ClassVar[Terms] = Terms(
        "scenes",
        "mit",
        link="https://spdx.org/licenses/MIT.html",
        note="the digits are those of UCI (CC BY 4.0), the hierarchy is from WordNet 3.0",
    )

    images: Size = setting(3000, "training images")
    seed: int = setting(0, "seed of the drawn images")
    val: Size = setting(500, "images for validation")
    test: Size = setting(2000, "images for testing")

    def __post_init__(self) -> None:
        settle(self)

    def open(self) -> Dataset:
        """The data set; its images are drawn on use."""
        sizes = {"train": self.images, "val": self.val, "test": self.test}
        pictures = {split: ScenePictures(self.seed, split, n) for split, n in sizes.items()}
        hierarchy = shipped("scenes")  # built by scripts/scenes_hierarchy.py
        truth, boxes = {}, {}
        columns = np.array([hierarchy.classes.index(name) for name in OBJECTS])
        for split, part in pictures.items():  # labels and boxes, without drawing
            rows, places = [], []
            for start in range(0, len(part), _CHUNK):
                content = part.layout(np.arange(start, min(start + _CHUNK, len(part))))
                rows.append(csr_array(leaf_matrix(content)))
                image, slot = np.nonzero(content.classes >= 0)
                x, y, size = (a[image, slot] for a in (content.x, content.y, content.size))
                corners = np.stack([x, y, x + size, y + size], 1).astype(np.float32)
                places.append((image + start, content.classes[image, slot], corners))
            leaves = Truth.of(vstack(rows, format="csr"), classes=LEAVES)
            truth[split] = close(leaves, hierarchy)
            images, objects, corners = (np.concatenate(each) for each in zip(*places, strict=True))
            sides = np.full((len(part), 2), SIDE)
            boxes[split] = Boxes(images, columns[objects], corners, sides)
        return Dataset(self.name, truth, pictures, boxes, hierarchy=hierarchy, spec=spell(self))
