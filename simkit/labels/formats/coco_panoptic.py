"""COCO panoptic files: the things and stuff in every image."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

from simkit.errors import BadInput
from simkit.files import reading
from simkit.labels.formats.base import complete, register
from simkit.labels.formats.coco_json import Instances, read_content
from simkit.labels.partial import PartialLabels

_WHAT = "COCO panoptic annotations (JSON with images, annotations, categories)"


@register
@dataclass(frozen=True)
class CocoPanoptic:
    """A panoptic file as complete labels: classes with a segment are present, others absent.

    The annotation of an image lists its segments in `segments_info`, each with a `category_id`, a
    box and perhaps `iscrowd` (crowds count as present). Things and stuff are classes alike, 133 in
    COCO. The masks are in PNG files, which are not needed.
    Source: the data format page of COCO; Kirillov et al., Panoptic Segmentation, CVPR 2019.
    """

    name: ClassVar[str] = "coco-panoptic"
    title: ClassVar[str] = "COCO panoptic (read only)"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    mark: ClassVar[bytes] = rb'"segments_info"'
    holds: ClassVar[str] = (
        "complete labels and boxes; its segments are masks, which labels do not have, so it is "
        "read only"
    )

    def read(self, path: str | PathLike[str]) -> PartialLabels:
        """A label for every entry. Raises BadInput."""
        content = read_panoptic(path)
        with reading(path, _WHAT):
            return complete(content.truth)

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Nothing: the format is read only."""
        return ()

    def write(self, labels: PartialLabels, path: str | PathLike[str]) -> None:
        """Always raises BadInput: the segments of such a file are masks."""
        raise BadInput(
            f"{path}: a COCO panoptic file consists of masks, which labels do not have; "
            "write coco or lvis"
        )


def read_panoptic(path: str | PathLike[str], *, drop_empty: bool = False) -> Instances:
    """Read a panoptic file; `drop_empty` leaves out images without segments. Raises BadInput."""
    with reading(path, _WHAT) as file:
        content = read_content(file, "a panoptic file", objects=_segments)
        instances = content.instances(content.truth())
        return instances.without_empty() if drop_empty else instances


def _segments(row: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """The objects of an image. Raises BadInput."""
    segments = row.get("segments_info")
    if not isinstance(segments, list) or not all(isinstance(each, dict) for each in segments):
        raise BadInput(
            f"segments_info of image {str(row.get('image_id'))[:40]} is missing or not a list of "
            "objects; give a panoptic file"
        )
    return ({**segment, "image_id": row.get("image_id")} for segment in segments)
