"""Does the highest place of a class map lie on an object of the class, method by method?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.learn.metrics import average_precision, mean_ap, pointing_game, pointing_hits
from simkit.learn.pointed import middle, pointed
from simkit.learn.trained import Trained
from simkit.study.analysis.asked import count
from simkit.study.analysis.explaining.activation import check_models
from simkit.study.analysis.explaining.boxes import check_boxes
from simkit.study.runs import SCHEMA
from simkit.study.sources import StudyData

_SHARED = ("scheme", "method", "reference", "budget", "budget_hours", "draw", "dollars", "seconds")
POINTING = pa.schema(
    [SCHEMA.field(name) for name in (*_SHARED, "images", "labels_id", "map")]
    + [("pointing", pa.float64())]
)


def pointing(
    material: StudyData,
    models: Iterable[Mapping[str, Trained]],
    *,
    scheme: str = "",
    split: str = "test",
    size: int | None = None,
) -> pa.Table:
    """The pointing game of every model in every draw: a table of runs with a column `pointing`.

    material: with maps and boxes of the split; models: of each draw its models by method, as
    `explaining.models.models` trains them; scheme: how their labels were made; size: of the
    backbone's pictures, where features show the middle of larger ones alone (None: the whole).
    A row for each of them, with the columns of runs that a paired comparison needs
    (`ablation(table, "an", metric="pointing")`; what was paid is null), map (mAP over leaves) and
    pointing: hits over turns of each class, and the mean over classes with boxes, from 0 to 1.
    `full` is one of the methods here. Raises BadInput where the split has no boxes, and without
    models.
    Source: Large Loss (Kim et al., CVPR 2022), Table 4.
    """
    boxes = material.data.boxes.get(split)
    if boxes is None:
        raise BadInput(
            f"pointing: the {split} split has no boxes to point at; take data with boxes, such as "
            "scenes or coco"
        )
    if size is not None:
        count(size, "pointing: size")
    truth, inputs = material.truth(split), material.inputs(split, "maps")
    regions = None if size is None or boxes.sizes is None else middle(boxes.sizes, size)
    found: list[dict[str, Any]] = []
    for draw, some in enumerate(models):
        check_models(some, inputs, truth, "pointing")
        for method, trained in some.items():
            ap = average_precision(trained.scores(inputs), truth.present, material.known(split))
            row: dict[str, Any] = dict.fromkeys(POINTING.names)
            row |= {"scheme": scheme, "method": method, "draw": draw, "reference": False}
            row |= {"map": float(mean_ap(ap[material.data.leaves]))}
            found.append({**row, "pointing": pointed(trained, inputs, boxes, regions=regions)})
    if not found:
        raise BadInput("pointing: no model came; give the models of a draw, as [{'an': trained}]")
    return pa.Table.from_pylist(found, schema=POINTING)


def blind(boxes: Boxes) -> dict[str, float]:
    """What the pointing game gives without looking: "centre", always the middle of the image, and
    "anywhere", any pixel at random, which is the share of the image that a class's boxes cover.

    Both are means over classes with boxes, from 0 to 1. Raises BadInput without image sizes, and
    without boxes.
    """
    of_images = check_boxes(boxes)
    if not len(boxes.images):
        raise BadInput("blind: there is no box to point at; bring some")
    pairs, which = np.unique(
        np.stack([boxes.images, boxes.classes], 1), axis=0, return_inverse=True
    )
    corners = [boxes.corners[which.ravel() == n] for n in range(len(pairs))]
    sizes = of_images[pairs[:, 0]][:, ::-1]
    peaks = np.zeros((len(pairs), 3, 3))
    peaks[:, 1, 1] = 1
    covered = [_covered(own, *size) for own, size in zip(corners, sizes.tolist(), strict=True)]
    hits = {"centre": pointing_hits(peaks, corners, sizes), "anywhere": np.array(covered)}
    return {name: pointing_game(values, pairs[:, 1]) for name, values in hits.items()}


def _covered(corners: Any, height: int, width: int) -> float:
    """Share of the image's pixels whose middle, as the game takes it, lies in one of the boxes."""
    y, x = np.mgrid[:height, :width]
    inside = np.zeros((height, width), bool)
    for x0, y0, x1, y1 in corners:
        inside |= (x0 <= x) & (x < x1) & (y0 <= y) & (y < y1)
    return float(inside.mean())
