"""COCO instances files: the objects in every image, with their boxes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

from scipy.sparse import csr_array

from simkit.files import reading
from simkit.labels.formats.base import complete, lost_provenance, register
from simkit.labels.formats.coco_json import (
    Instances,
    like,
    plain_annotations,
    plain_images,
    read_content,
    write_json,
)
from simkit.labels.partial import PartialLabels
from simkit.registry import setting

_WHAT = "COCO instances (JSON with images, annotations, categories)"
_LVIS = ("neg_category_ids", "not_exhaustive_category_ids")
_COUNTS = ("image_count", "instance_count")


@register
@dataclass(frozen=True)
class Coco:
    """An instances file as complete labels: annotated classes are present, others absent.

    A written file has images, categories numbered from 1, and one annotation per present label.
    The annotation has no box, because labels have none, and area 0: pycocotools and the multi-label
    loaders built on it read it, and detector training ignores it.

    like: an instances file of the same images, such as the one that was simulated from. Its
    category ids and file names, and its boxes and masks of present labels, are kept; the additional
    fields of LVIS, negative labels and counts, are left out.
    Source: the data format page of COCO (Lin et al., Microsoft COCO, ECCV 2014).
    """

    name: ClassVar[str] = "coco"
    title: ClassVar[str] = "COCO instances"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    mark: ClassVar[bytes] = b""
    holds: ClassVar[str] = (
        "present labels, all images and all classes; a class without an annotation counts as "
        "absent, so unknown labels are lost, and so are effort and history"
    )

    like: str = setting("", "an instances file of the same images, for ids, boxes and masks")

    def read(self, path: str | PathLike[str]) -> PartialLabels:
        """A label for every entry except difficult ones. Raises BadInput."""
        content = read_instances(path)
        with reading(path, _WHAT):
            return complete(content.truth, content.difficult)

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Unknown labels, which are read back as absent; effort and history."""
        unknown = labels.counts()["unknown"]
        lost = []
        if unknown:
            lost.append(
                f"{unknown:,} unknown labels, which will count as absent, because COCO's format "
                "has no unknown labels"
            )
        return (*lost, *lost_provenance(labels))

    def write(self, labels: PartialLabels, path: str | PathLike[str]) -> None:
        """Write the file, completely or not at all. Raises BadInput."""
        if self.like:
            members = like(labels, self.like, "an instances file", image=_plain)
            write_json(path, ((key, _uncounted(key, value)) for key, value in members))
            return
        lists = {
            "images": plain_images(labels),
            "annotations": plain_annotations(labels),
            "categories": ({"id": c + 1, "name": name} for c, name in enumerate(labels.classes)),
        }
        write_json(path, lists.items())


def _plain(image: dict[str, Any], place: int, ids: dict[int, Any]) -> dict[str, Any]:
    """An image without LVIS's negative labels, which are not part of these labels."""
    return {key: value for key, value in image.items() if key not in _LVIS}


def _uncounted(key: str, value: Any) -> Any:
    """Categories without LVIS's counts, which would mark the file as LVIS."""
    if key != "categories" or not isinstance(value, Iterator):
        return value
    return ({k: v for k, v in row.items() if k not in _COUNTS} for row in value)


def read_instances(path: str | PathLike[str], *, drop_empty: bool = False) -> Instances:
    """Read an instances file.

    Parameters
    ----------
    path : path
        The file.
    drop_empty : bool, default False
        Leave out images without annotations, as the papers do.

    Returns
    -------
    Instances

    Raises
    ------
    BadInput
        For an invalid file, naming file and field.
    """
    with reading(path, _WHAT) as file:
        content = read_content(file, "an instances file")
        truth = content.truth()
        listed = content.listed("difficult_category_ids")
        difficult = None if listed is None else csr_array(listed > truth.present)
        instances = content.instances(truth, difficult)
        return instances.without_empty() if drop_empty else instances
