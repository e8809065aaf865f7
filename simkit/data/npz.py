"""Label matrices from .npz files, without images."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from simkit.data.dataset import Dataset, register
from simkit.data.splits import Part, SplitFiles, assemble
from simkit.files import expanded
from simkit.labels.formats.npz import read_truth
from simkit.registry import setting


@register
class Npz(SplitFiles):
    """Complete labels in CSR arrays (see labels/formats/npz.py), one file per split.

    train, val, test: files. Without `val` the published split takes a fifth of `train` for
    validation; without `test` validation scores are reported.
    hierarchy: a JSON file or the name of a shipped one, such as coco-80.
    """

    name: ClassVar[str] = "npz"
    title: ClassVar[str] = "Label matrices in numpy files"
    example: ClassVar[str] = "npz:train.npz,test=test.npz"
    paths: ClassVar[tuple[str, ...]] = ("train", "val", "test", "hierarchy")
    packed: ClassVar[bool] = True

    hierarchy: str = setting("", "a JSON file or a shipped name, such as coco-80")

    def open(self) -> Dataset:
        """Read all splits. Raises BadInput."""
        parts = {split: Part(*read_truth(expanded(file))) for split, file in self.files.items()}
        return assemble(Path(self.train).stem, parts, self)
