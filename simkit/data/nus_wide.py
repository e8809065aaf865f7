"""NUS-WIDE as its owners publish it: 81 concepts in 269,648 photographs."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from simkit.data.dataset import Dataset, Terms, register
from simkit.data.lists import different, folder, lines
from simkit.data.splits import Part, assemble, with_pictures
from simkit.errors import BadInput
from simkit.files import reading
from simkit.labels.formats.base import text_ids
from simkit.labels.truth import Truth, from_indices, image_ids, places
from simkit.registry import setting

_CONCEPTS = "names of the concepts of NUS-WIDE"
_LABELS = "labels of one concept of NUS-WIDE (a 0 or 1 for each image)"
_LIST = "image files of NUS-WIDE, one in each line"
_SPLITS = {"train": "Train", "test": "Test"}


@register
class NusWide:
    """NUS-WIDE: the published Groundtruth, ConceptsList and ImageList, and image files if any.

    root: the folder that holds Groundtruth. Labels are read from Groundtruth/TrainTestLabels or, if
    it is missing, from Groundtruth/AllLabels and the three lists in ImageList. Without ImageList
    images are numbered and have no files. The published split takes a fifth of the training images
    for validation.
    images: the folder of the image files; by default Flickr or images below root, if it exists.
    drop_missing: leave out images whose file is missing; many links of 2009 are dead.
    unlabelled: about a fifth of the images have none of the 81 concepts. "keep" takes all 81 for
    absent, as the files state; "drop" leaves these images out of every split.
    Source: Chua et al., NUS-WIDE: A Real-World Web Image Database from National University of
    Singapore, CIVR 2009; the layout is that of its archives Groundtruth, ConceptsList, ImageList.
    """

    name: ClassVar[str] = "nus-wide"
    title: ClassVar[str] = "NUS-WIDE, 81 concepts"
    example: ClassVar[str] = "nus-wide:NUS-WIDE,unlabelled=drop"
    terms: ClassVar[Terms] = Terms(
        "NUS-WIDE",
        note="images on request for research; they belong to their authors on Flickr",
        page="https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html",
        cite="T.-S. Chua and others: NUS-WIDE, CIVR 2009",
    )
    paths: ClassVar[tuple[str, ...]] = ("root", "images", "hierarchy")

    root: str = setting(..., "the folder that holds Groundtruth")
    images: str = setting("", "folder of images; by default Flickr or images below root")
    drop_missing: bool = setting(False, "leave out images whose file is missing")
    unlabelled: Literal["keep", "drop"] = setting("keep", "images without any of the 81 concepts")
    hierarchy: str = setting("", "a JSON file or the name of a shipped one")

    def open(self) -> Dataset:
        """Read labels and lists; image files are decoded on use. Raises BadInput."""
        place = folder(self.root, "the folder that holds Groundtruth and ConceptsList")
        usual, other = place / "ConceptsList" / "Concepts81.txt", place / "Concepts81.txt"
        path = other if other.exists() and not usual.exists() else usual
        with reading(path, _CONCEPTS):
            classes = different(lines(path, _CONCEPTS))
            for name in classes:  # each becomes part of a path
                if not name.isprintable() or "/" in name or len(name) > 100:
                    raise BadInput(f"{name[:40]!r} is not the name of a concept; download it again")
        parts = {split: self._part(place, split, classes) for split in _SPLITS}
        return assemble(self.name, parts, self)

    def _part(self, place: Path, split: str, classes: list[str]) -> Part:
        files = _files(place, f"{_SPLITS[split]}Imagelist.txt")
        present = _present(place, split, classes, files)
        usual = [place / name for name in ("Flickr", "images") if (place / name).is_dir()]
        pictures = next(iter(usual), None)
        if self.images:
            pictures = folder(self.images, "the folder of the images")
        rows = np.arange(present.shape[0])
        if self.unlabelled == "drop":
            rows = rows[np.diff(present.indptr) > 0]
        if not len(rows):
            raise BadInput(f"{place} has no labelled {split} image; set unlabelled=keep")
        if self.drop_missing and (files is None or pictures is None):
            raise BadInput(f"{place} has no image folder or no ImageList; leave drop_missing out")
        if files is None:
            return Part(Truth.of(present[rows], rows, classes))
        chosen = [files[row] for row in rows]
        part = Part(Truth.of(present[rows], text_ids(chosen), classes))
        return with_pictures(part, pictures or "", chosen, drop_missing=self.drop_missing)


def _files(place: Path, name: str) -> list[str] | None:
    """The image files of one list, relative to the folder of images; None without lists.

    Paths in the lists have backslashes.
    """
    path = place / "ImageList" / name
    if not path.parent.is_dir():
        return None
    with reading(path, _LIST):
        return different([line.replace("\\", "/") for line in lines(path, _LIST)])


def _present(place: Path, split: str, classes: list[str], files: list[str] | None) -> csr_array:
    """(N, 81) bool, one row for each image of the split."""
    divided = place / "Groundtruth" / "TrainTestLabels"
    if divided.is_dir():
        paths = [divided / f"Labels_{name}_{_SPLITS[split]}.txt" for name in classes]
        return _columns(paths, len(files) if files is not None else None)
    if files is None:
        missing = "neither Groundtruth/TrainTestLabels nor ImageList"
        raise BadInput(f"{place} holds {missing} for the training images; unpack one of them there")
    everything = _files(place, "Imagelist.txt") or []
    unlisted = set(files) - set(everything)
    if unlisted:
        path, odd = place / "ImageList" / "Imagelist.txt", min(unlisted)[:100]
        named = f"{_SPLITS[split]}Imagelist.txt"
        raise BadInput(f"{path} lacks {odd!r}, an image of {named}; download the lists again")
    paths = [place / "Groundtruth" / "AllLabels" / f"Labels_{name}.txt" for name in classes]
    rows = places(image_ids(np.array(everything)), image_ids(np.array(files)))
    return csr_array(_columns(paths, len(everything))[rows])


def _columns(paths: list[Path], wanted: int | None) -> csr_array:
    """(N, L) bool from one file per class; all must have `wanted` lines, or equally many."""
    hits = []
    for path in paths:
        with reading(path, _LABELS) as file, file.open(encoding="utf-8") as stream:
            column = np.loadtxt(stream, np.int8, comments=None, ndmin=1)
            if column.ndim > 1 or not np.isin(column, (0, 1)).all():
                raise BadInput("it holds more than one 0 or 1 in each line; download it again")
            wanted = len(column) if wanted is None else wanted
            if len(column) != wanted or not wanted:
                count = f"{len(column):,} images, but {wanted or 'some'} are expected"
                raise BadInput(
                    f"it holds labels of {count} as in the other lists; download it again"
                )
        hits.append(np.flatnonzero(column))
    return csr_array(from_indices(hits, wanted or 0).T)
