"""Multi-label annotation files of mmpretrain: the present classes of every image."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import AnyPath, reading
from simkit.labels.formats import base
from simkit.labels.formats.json_stream import members
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth, from_indices
from simkit.registry import setting

_WHAT = "annotations of mmpretrain (JSON with metainfo and data_list)"
_UNLISTED = "unlisted_classes"  # our key in metainfo; mmpretrain keeps it and does not use it


@base.register
class Mmpretrain(base.Format):
    """{"metainfo": {"classes": [...]}, "data_list": [{"img_path": ..., "gt_label": [0, 3]}, ...]}.

    The file of mmpretrain's MultiLabelDataset (OpenMMLab 2.0 annotations), which takes unlisted
    classes for absent. If some are unknown, metainfo also has `"unlisted_classes": "unknown"`, and
    the file is read back with present labels only.

    file: name of an image file, with {} in place of the image id.

    Holds complete labels, or the present labels of asked images (mmpretrain takes all other classes
    for absent); images not asked about, effort and history are lost, and ids that look like numbers
    are read back as numbers.
    """

    name: ClassVar[str] = "mmpretrain"
    title: ClassVar[str] = "mmpretrain's multi-label JSON"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    mark: ClassVar[bytes] = rb'"data_list"|"metainfo"'

    file: str = setting("{}", "image file, with {} in place of the id")

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write one entry per asked image. Raises BadInput."""
        asked = base.asked_rows(labels)
        base.write_lines(path, _lines(asked, base.file_names(asked.images, self.file)))

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """The difference of absent and unknown, images not asked about, effort and history."""
        unknown = int(labels.asked.sum()) * labels.shape[1] - labels.codes.nnz
        because = "because mmpretrain takes every unlisted class for absent"
        counted = {
            f"that N labels of asked images are unknown, {because}": unknown,
            "N absent labels, because they cannot be told from the unknown ones": (
                labels.counts()["absent"] if unknown else 0
            ),
        }
        return base.lost_with_asked_rows(labels, self.file, counted)

    def read(self, path: AnyPath) -> PartialLabels:
        """Listed classes are present; others are absent, or unknown if metainfo says so.

        Raises BadInput, also for complete labels of more than 2**27 entries.
        """
        with reading(path, _WHAT) as file:
            metainfo, images = _content(file)
            classes = base.distinct(metainfo["classes"], file)
            ids = base.ids_of([name for name, _ in images])
            present = from_indices([listed for _, listed in images], len(classes))
            base.note_classes_of(file, classes, present)
            if metainfo.get(_UNLISTED) != "unknown":
                return base.complete(Truth.of(present, ids, classes))
            asked = np.ones(len(ids), bool)
            return PartialLabels.of(present.astype(np.int8), ids, classes, asked)


def _lines(labels: PartialLabels, names: list[str]) -> Iterator[str]:
    present = csr_array(labels.codes > 0)
    starts = present.indptr.tolist()
    metainfo: dict[str, Any] = {"classes": list(labels.classes)}
    if labels.counts()["unknown"]:
        metainfo[_UNLISTED] = "unknown"
    yield f'{{"metainfo": {json.dumps(metainfo)}, "data_list": ['
    for i, name in enumerate(names):
        listed = present.indices[starts[i] : starts[i + 1]].tolist()
        comma = "," if i + 1 < len(names) else ""
        yield json.dumps({"img_path": name, "gt_label": listed}) + comma
    yield "]}"


def _content(path: Path) -> tuple[dict[str, Any], list[tuple[str, list[int]]]]:
    """The metainfo with checked class names, and the name and classes of each image."""
    metainfo: Any = None
    images: list[tuple[str, Any]] | None = None
    for key, value in members(path):
        if key == "metainfo":
            metainfo = value
        elif key == "data_list" and isinstance(value, Iterator):
            images = []
            for place, entry in enumerate(value):
                image: dict[str, Any] = entry if isinstance(entry, dict) else {}
                name, listed = image.get("img_path"), image.get("gt_label")
                indices = [*map(base.as_integer, listed)] if isinstance(listed, list) else [None]
                if not isinstance(name, str) or any(type(c) is not int or c < 0 for c in indices):
                    what = f"entry {place} of 'data_list' is {str(entry)[:60]}"
                    needs = "'img_path' (text) and 'gt_label' (a list of classes from 0)"
                    raise BadInput(f"{what}; it needs {needs}")
                images.append((name, indices))
    classes = metainfo.get("classes") if isinstance(metainfo, dict) else None
    named = isinstance(classes, list) and all(isinstance(name, str) for name in classes)
    if not named or images is None:
        raise BadInput("'metainfo' needs a list 'classes' of texts, and 'data_list' images")
    base.check_indices([listed for _, listed in images], len(metainfo["classes"]))
    most = max((c for _, listed in images for c in listed), default=-1)
    if most >= (L := len(metainfo["classes"])):
        raise BadInput(f"a 'gt_label' names class {most} of {L}, counted from 0")
    return metainfo, images
