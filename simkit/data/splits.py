"""From files to a data set: the published split, the hierarchy, and equal classes in all splits."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.data.dataset import SPLITS, WHOLE, Boxes, Dataset, Pictures, write_spec
from simkit.data.images import EncodedPictures, FilePictures, with_depths
from simkit.data.listing import as_on_disk, instead, made_by_programs, outside
from simkit.errors import BadInput, note
from simkit.files import expanded
from simkit.labels.hierarchy import by_name_or_file
from simkit.labels.names import matches, plain
from simkit.labels.truth import Truth
from simkit.registry import setting

FIFTH = 0.2  # of the training images, the published share for validation


class SomePictures(Pictures, Protocol):
    """Images of which a subset can be selected."""

    def select(self, index: NDArray[np.int64]) -> SomePictures:
        """A subset of the images, in the order of `index`."""
        ...


@dataclass(frozen=True, eq=False)
class Part:
    """The content of one split, before a hierarchy adds classes."""

    truth: Truth
    difficult: csr_array | None = None
    boxes: Boxes | None = None
    pictures: SomePictures | None = None
    files: Sequence[str] | None = None

    def select(self, index: NDArray[np.int64]) -> Part:
        """The content for a subset of images, in the order of `index`."""
        place = np.full(self.truth.shape[0], -1, np.int64)
        place[index] = np.arange(len(index))
        boxes = None
        if self.boxes is not None:
            kept = place[self.boxes.images] >= 0
            rows = place[self.boxes.images[kept]]
            sizes = None if self.boxes.sizes is None else self.boxes.sizes[index]
            areas = None if self.boxes.areas is None else self.boxes.areas[kept]
            boxes = Boxes(rows, self.boxes.classes[kept], self.boxes.corners[kept], sizes, areas)
        difficult = None if self.difficult is None else csr_array(self.difficult[index])
        pictures = None if self.pictures is None else self.pictures.select(index)
        files = None if self.files is None else [self.files[i] for i in index]
        return Part(self.truth.select(index), difficult, boxes, pictures, files)

    def with_classes(self, names: Sequence[str], columns: NDArray[np.int64]) -> Part:
        """The content with the classes at `columns`, renamed."""
        present, known, difficult = (
            None if matrix is None else csr_array(matrix[:, columns])
            for matrix in (self.truth.present, self.truth.known, self.difficult)
        )
        place = np.full(self.truth.shape[1], -1, np.int64)
        place[columns] = np.arange(len(columns))
        boxes = self.boxes and replace(self.boxes, classes=place[self.boxes.classes])
        truth = Truth.of(present, self.truth.images, names, known)
        return replace(self, truth=truth, boxes=boxes, difficult=difficult)


def with_pictures(
    part: Part, folder: str | Path, names: Sequence[str], *, drop_missing: bool | None
) -> Part:
    """The part with its files in `folder`, one name per image; folder "" for no image files.

    Names that differ from those on disk only in Unicode form, in the kind of slashes or in the case
    of the ending are matched, and paths of other machines by their last parts. Warnings name the
    images that are matched, left out or doubtful.

    drop_missing: leave out images whose file is missing. If all are missing, BadInput is raised all
    the same, since the folder is probably wrong. None: the data set has no such setting.
    """
    if not folder:
        return part
    place, ids = expanded(folder), part.truth.images
    names = as_on_disk(place, names)
    exist = [row for row, name in enumerate(names) if os.path.isfile(os.path.join(place, name))]
    lost = [names[row] for row in sorted({*range(len(names))} - {*exist})]
    if drop_missing and 0 < len(exist) < len(names):
        what = "images left out because their file is missing: {}"
        note(place, lost, what, total=len(names))
        before = part.truth.counts
        part, names, ids = part.select(np.array(exist)), [names[row] for row in exist], ids[exist]
        lost = []
        if len(gone := np.flatnonzero((before > 0) & (part.truth.counts == 0))):
            what = "classes present only in such images: {}; remove their rows if they are none"
            note(place, [part.truth.classes[c] for c in gone], what)
    for name in [name for name in names if outside(name)][:1]:
        raise BadInput(
            f"{name[-200:]!r} is a path outside {place}, and no file in that folder matches it; "
            "give the folder that holds the image files"
        )
    several = [name for name, count in Counter(names).items() if count > 1]
    if several:
        both = [str(image) for image, name in zip(ids, names, strict=True) if name == several[0]]
        shown = f"the first has ids {', '.join(both[:3])}"
        what = f"files with several ids, counted as several images: {{}}, and {shown}"
        note(place, several, f"{what}; give each file one id")
    odd = [name for name in names if made_by_programs(name)]
    note(place, odd, "images in hidden folders or folders of programs: {}; remove them from the "
         "list unless they are meant")  # fmt: skip
    if lost and (others := instead(place, first := lost[0])):
        other = others[0]
        deeper = place / other.removesuffix(f"/{first}")
        if (
            len(others) == 1
            and deeper != place / other
            and all((deeper / name).is_file() for name in lost)
        ):
            raise BadInput(
                f"{place / first} does not exist, but {place / other} does; give the folder "
                f"{deeper} in place of {place}"
            )
        ending = other.removeprefix(first) if other.startswith(first) else ""
        appended = f" (folder: appends an ending with suffix={ending})" if ending else ""
        raise BadInput(
            f"{place / first} does not exist, but {' or '.join(others[:2])} does; correct the "
            f"names{appended}"
        )
    can_drop = drop_missing is not None
    return replace(part, pictures=FilePictures.of(place, names, can_drop=can_drop))


@dataclass(frozen=True)
class SplitFiles:
    """A data set with one file per split.

    train, val, test: files. Without `val` the published split takes a fifth of `train` for
    validation; without `test` validation scores are reported.
    """

    train: str = setting(..., "file of the training set")
    val: str = setting("", "file for validation; without one the published split takes a fifth")
    test: str = setting("", "file for testing; without one validation is reported")

    @property
    def files(self) -> dict[str, str]:
        """The file of each split that has one."""
        return {split: getattr(self, split) for split in SPLITS if getattr(self, split)}

    def folder(self, split: str) -> str:
        """The folder of the images of a split, "" for none."""
        return str(getattr(self, f"{split}_images", "") or getattr(self, "images", ""))


def assemble(name: str, parts: Mapping[str, Part], source: Any, *, val: float = FIFTH) -> Dataset:
    """A data set of the splits in `parts`; without "val" the published split of "train" gives one.

    val: the share of that part; two images or fewer are not split. The undivided training set is
    then kept as the split "train+val": published partial labels were drawn on it, before a part
    was held out.

    source: the settings; with a `hierarchy` the data set is closed under it. There is a test split
    only if `parts` has one. Raises BadInput if splits differ in their classes.
    """
    splits = dict(parts)
    whole = splits["train"]
    if val and "val" not in splits and whole.truth.shape[0] > 2:
        train, held_out = published_split(whole.truth.shape[0], share=val)
        splits |= {"train": whole.select(train), "val": whole.select(held_out), WHOLE: whole}
    splits = {split: splits[split] for split in (*SPLITS, WHOLE) if split in splits}
    classes = splits["train"].truth.classes
    for split, part in splits.items():
        if part.truth.classes != classes:
            order = matches(part.truth.classes, classes, plain)
            others = matches(classes, part.truth.classes, plain)
            odd = [name for name, c in zip(classes, order, strict=True) if c < 0]
            odd += [name for name, c in zip(part.truth.classes, others, strict=True) if c < 0]
            if odd:
                raise BadInput(
                    f"the classes of {split} and train differ: only one of them has {odd[0]!r}; "
                    "give files of one data set"
                )
            splits[split] = part.with_classes(classes, order)

    values: dict[str, dict[str, Any]] = {}
    for what in ("truth", "pictures", "boxes", "difficult", "files"):
        found = {split: getattr(part, what) for split, part in splits.items()}
        values[what] = {split: value for split, value in found.items() if value is not None}
    shown = values["pictures"]
    if all(isinstance(part, EncodedPictures) for part in shown.values()):
        values["pictures"] = with_depths(shown)
    data = Dataset(name=name, spec=spell(source), hierarchy=None, **values)
    hierarchy = getattr(source, "hierarchy", "")
    return data.closed_under(by_name_or_file(hierarchy)) if hierarchy else data


Unknown = Literal["keep", "absent", "absent-in-train"]


def settled(truth: Truth, unknown: Unknown, split: str) -> Truth:
    """A partially known truth, its unknown entries kept or assumed absent.

    A simulated crowd needs a complete truth. "absent" completes every split; "absent-in-train" only
    the training set, so that metrics still use known entries only. The assumption is wrong where a
    class is present and was not labelled.
    """
    closed = unknown == "absent" or (unknown == "absent-in-train" and split == "train")
    return replace(truth, known=None) if closed else truth


def divided(whole: Part, splits: NDArray[np.str_], unknown: Unknown) -> dict[str, Part]:
    """The images of each split, unknown entries `settled`; splits (N,) names the split of each."""
    parts = {}
    for split in SPLITS:
        rows = np.flatnonzero(splits == split)
        if len(rows):
            part = whole.select(rows)
            parts[split] = replace(part, truth=settled(part.truth, unknown, split))
    return parts


def spell(source: Any) -> str:
    """The text that opens `source` again: name:key=value,..., empty settings left out."""
    settings = {f.name: getattr(source, f.name) for f in fields(source)}
    return write_spec(source.name, {key: v for key, v in settings.items() if v != ""})


def published_order(images: NDArray[Any]) -> NDArray[np.int64]:
    """(N,) indices that put images in the order of the published label matrices: ids as text.

    Image 100 comes before image 9. The published split and the published partial labels are drawn
    by index, so they refer to the same images only in this order, and only after images without
    annotations are left out. File names of VOC are in this order already; CUB keeps the order of
    images.txt.
    Source: the code of Cole et al., CVPR 2021, preproc/format_coco.py.
    """
    return np.argsort(np.asarray(images).astype(str), kind="stable")


def published_split(
    images: int, *, share: float = FIFTH, seed: int = 1200
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the training and of the validation images, both ascending.

    round(share * images) images are for validation: the last of a permutation by RandomState(seed).
    Raises BadInput if one of the two parts would be empty.
    Source: the code of Cole et al., Multi-Label Learning from Single Positive Labels, CVPR 2021,
    with its share and seed as defaults.
    """
    held_out = round(share * images)
    if not 0 < held_out < images:
        raise BadInput(f"{images} images cannot be split ({share:.0%}); name a file for validation")
    order = np.random.RandomState(seed).permutation(images)
    return np.sort(order[:-held_out]), np.sort(order[-held_out:])
