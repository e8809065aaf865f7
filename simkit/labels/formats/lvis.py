"""LVIS files: for every image the classes verified to be present and those verified absent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from simkit.errors import note, noting
from simkit.files import AnyPath, reading
from simkit.labels.formats.base import Format, losses, register
from simkit.labels.formats.coco_json import Instances, Row, read_content, write_labels
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.registry import setting

_WHAT = "LVIS annotations (JSON with images, annotations, categories)"
_RARE, _COMMON = 10, 100  # most images of a rare and of a common category


@register
class Lvis(Format):
    """An LVIS file: +1 where a class is annotated, -1 where it is in the image's negative list.

    `neg_category_ids` of an image are categories verified to be absent. All others without an
    annotation are unknown. `not_exhaustive_category_ids` lists categories of which not every object
    is annotated; these are present all the same.

    A written file has categories numbered from 1, with counts and frequency groups (r, c, f: up to
    10, up to 100, more images) of these labels, and one annotation per present label, without a
    box.

    like: an LVIS file of the same images. Its categories with their frequencies, and its boxes and
    masks of present labels, are kept, so that the lvis package can evaluate with it.
    Source: Gupta et al., LVIS, CVPR 2019; keys as in the lvis package's `LVIS` and `LVISEval`.

    Holds all labels, images and classes; asked images without a label, effort and history are lost.
    """

    name: ClassVar[str] = "lvis"
    title: ClassVar[str] = "LVIS, with classes verified to be absent"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    mark: ClassVar[bytes] = rb'"neg_category_ids"|"not_exhaustive_category_ids"|"instance_count"'

    like: str = setting("", "an LVIS file of the same images, for categories, boxes, masks")

    def read(self, path: AnyPath) -> PartialLabels:
        """Labels of the images in the order of the file. Raises BadInput."""
        truth = read_lvis(path).truth
        assert truth.known is not None
        with reading(path, _WHAT):
            codes = 2 * truth.present.astype(np.int8) - truth.known.astype(np.int8)
            return PartialLabels.of(csr_array(codes), truth.images, truth.classes)

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Asked images without a label; effort and history."""
        asked = int(labels.asked.sum()) - int(np.count_nonzero(np.diff(labels.codes.indptr)))
        phrase = (
            "that N images without a label were asked about, because LVIS's format has no field "
            "for it"
        )
        return losses(labels, {phrase: asked})

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write the file, completely or not at all. Raises BadInput."""

        counts = labels.per_class(PRESENT)

        def category(row: Row) -> Row:
            if self.like:
                return row
            count = int(counts[row["id"] - 1])
            group = "r" if count <= _RARE else "c" if count <= _COMMON else "f"
            texts = {"synset": "", "synonyms": [row["name"]], "def": ""}
            numbers = {"image_count": count, "instance_count": count, "frequency": group}
            return row | texts | numbers

        def image(row: Row, i: int, ids: dict[int, Any]) -> Row:
            part = slice(labels.codes.indptr[i], labels.codes.indptr[i + 1])
            columns, codes = labels.codes.indices[part], labels.codes.data[part]
            absent = [ids[c] for c in columns[codes == ABSENT].tolist()]
            present = {ids[c] for c in columns[codes == PRESENT].tolist()}
            partly = [c for c in row.get("not_exhaustive_category_ids", []) if c in present]
            return row | {"neg_category_ids": absent, "not_exhaustive_category_ids": partly}

        write_labels(labels, path, self.like, what="an LVIS file", image=image, category=category)


def read_lvis(path: AnyPath) -> Instances:
    """Read an LVIS file, whose truth is partially known. Raises BadInput, naming file and field.

    A class that is both annotated and in the negative list counts as present; a warning gives the
    number of such classes. The file of an image is its `file_name`, or as in LVIS v1 the last two
    parts of its `coco_url`: train2017/000000391895.jpg.
    """
    with reading(path, _WHAT) as file:
        content = read_content(file, "an LVIS file")
        for image in content.images:
            url = image.get("coco_url", "")
            last_two = "/".join(url.split("/")[-2:]) if isinstance(url, str) else ""
            image.setdefault("file_name", last_two)
        annotated, listed = content.truth(), content.listed("neg_category_ids")
        if listed is None:
            note(
                file,
                content.ids,
                "it has no neg_category_ids, so no class is known to be absent in its images: {}; "
                "open the file as coco if classes without an annotation are absent",
            )
            return content.instances(replace(annotated, known=annotated.present))
        known = csr_array(annotated.present + listed)
        truth = Truth.of(annotated.present, annotated.images, annotated.classes, known)
        contradicted = annotated.present.nnz + listed.nnz - known.nnz
        if contradicted:
            noting(file)(
                "classes that are annotated in an image that lists them as absent, and count as "
                f"present: {contradicted:,}"
            )
        return content.instances(truth)
