"""COCO annotation files: the objects in every image, with their boxes; things and stuff."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, ClassVar

from simkit.errors import BadInput, counted, note, noting
from simkit.files import AnyPath, reading
from simkit.labels.formats.base import Format, complete, file_names, ids_of, losses, register
from simkit.labels.formats.coco_json import (
    Instances,
    Row,
    read_content,
    with_classes,
    write_labels,
)
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.registry import setting

_WHAT = "COCO instances (JSON with images, annotations, categories)"
_PANOPTIC = "COCO panoptic annotations (JSON with images, annotations, categories)"
_LVIS = (
    "neg_category_ids", "not_exhaustive_category_ids", "image_count", "instance_count",
)  # fmt: skip


@register
class Coco(Format):
    """An instances file as complete labels: annotated classes are present, others absent.

    A written file has images, categories numbered from 1, and one annotation per present label.
    The annotation has no box, because labels have none, and area 0: pycocotools and the multi-label
    loaders built on it read it, and detector training ignores it. Images whose ids are text are
    numbered from 1, as these programs need; simkit reads the text, in `simkit_id`.

    like: an instances file of the same images, such as the one that was simulated from. Its
    category ids and file names, and its boxes and masks of present labels, are kept; the additional
    fields of LVIS, negative labels and counts, are left out.
    file: without `like`, the name of an image file, with {} in place of the image id.
    by_file: read file names as image ids, for files of programs that renumber the images.
    Source: the data format page of COCO (Lin et al., Microsoft COCO, ECCV 2014).

    Holds present labels, all images and all classes; a class without an annotation counts as
    absent, so unknown labels are lost, and so are effort and history.
    """

    name: ClassVar[str] = "coco"
    title: ClassVar[str] = "COCO instances"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    like: str = setting("", "an instances file of the same images, for ids, boxes and masks")
    file: str = setting("{}", "image file, with {} in place of the id")
    by_file: bool = setting(False, "read file names as image ids")

    def read(self, path: AnyPath) -> PartialLabels:
        """A label for every entry except difficult ones. Raises BadInput."""
        content = with_classes({str(path): read_instances(path)})[str(path)]
        with reading(path, _WHAT):
            truth = content.truth
            if self.by_file:
                if "" in content.file_names:
                    image = truth.images[content.file_names.index("")].item()
                    raise BadInput(
                        f"image {image!r} has no file_name; add it, or leave by_file out"
                    )
                files = ids_of(content.file_names, numbers=False)
                truth = Truth.of(truth.present, files, truth.classes, truth.known)
            return complete(truth, content.difficult)

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Unknown labels, which are read back as absent; effort and history."""
        unknown = (
            "N unknown labels, which will count as absent, because COCO's format has no unknown "
            "labels"
        )
        return losses(labels, {unknown: labels.counts()["unknown"]})

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write the file, completely or not at all. Raises BadInput."""

        # LVIS's negative labels are not part of these labels, and its counts would mark the file.
        def plain(row: Row, *_: Any) -> Row:
            return {key: row[key] for key in row if key not in _LVIS}

        if self.like and self.file != "{}":
            raise BadInput(f"{path}: the names of image files come from like; leave file out")
        write_labels(labels, path, self.like, what="an instances file", image=plain, category=plain,
                     file=self.file)  # fmt: skip
        names = file_names(labels.images, self.file)
        nameless = [name for name in names if not PurePosixPath(name).suffix]
        if nameless and not self.like:
            pattern = "{}.jpg" if labels.images.dtype.kind == "U" else "{:012d}.jpg"
            noting(path)(
                "images without a file name, which programs that open images need: "
                f"{counted(nameless, len(names))}; give it as in --to \"coco(file='{pattern}')\""
            )


def read_instances(path: AnyPath) -> Instances:
    """Read an instances file. Raises BadInput, naming file and field."""
    with reading(path, _WHAT) as file:
        content = read_content(file, "an instances file")
        note(
            file,
            [image["id"] for image in content.images if any(map(image.get, _LVIS))],
            "images with neg_category_ids or not_exhaustive_category_ids, as in LVIS: {}; in COCO, "
            "all classes without an annotation count as absent: open the file as lvis to keep them "
            "unknown",
        )
        return content.instances(content.truth())


@register
class CocoPanoptic(Format):
    """A panoptic file as complete labels: classes with a segment are present, others absent.

    The annotation of an image lists its segments in `segments_info`, each with a `category_id`, a
    box and perhaps `iscrowd` (crowds count as present). Things and stuff are classes alike, 133 in
    COCO. The masks are in PNG files, which are not needed.
    Source: the data format page of COCO; Kirillov et al., Panoptic Segmentation, CVPR 2019.

    Holds complete labels and boxes; its segments are masks, which labels do not have, so it is read
    only.
    """

    name: ClassVar[str] = "coco-panoptic"
    title: ClassVar[str] = "COCO panoptic (read only)"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    mark: ClassVar[bytes] = rb'"segments_info"'

    def read(self, path: AnyPath) -> PartialLabels:
        """A label for every entry. Raises BadInput."""
        content = with_classes({str(path): read_panoptic(path)})[str(path)]
        with reading(path, _PANOPTIC):
            return complete(content.truth, content.difficult)

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Always raises BadInput: the segments of such a file are masks."""
        raise BadInput(f"{path}: panoptic files consist of masks, not labels; write coco or lvis")


def read_panoptic(path: AnyPath) -> Instances:
    """Read a panoptic file. Raises BadInput."""
    with reading(path, _PANOPTIC) as file:
        content = read_content(file, "a panoptic file", objects=_segments)
        return content.instances(content.truth())


def _segments(row: Row) -> Iterable[Row]:
    """The objects of an image. Raises BadInput."""
    segments = row.get("segments_info")
    if not isinstance(segments, list) or not all(isinstance(each, dict) for each in segments):
        image = str(row.get("image_id"))[:40]
        raise BadInput(f"segments_info of image {image} is no list; give a panoptic file")
    return ({**segment, "image_id": row.get("image_id")} for segment in segments)
