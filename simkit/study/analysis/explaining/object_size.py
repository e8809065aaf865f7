"""Which objects does a method find better: small or large ones? In pictures of few, or of many?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.metrics import average_precision, map_by_labels, mean_ap
from simkit.learn.trained import Trained
from simkit.study.analysis import asked
from simkit.study.analysis.explaining.activation import check_models
from simkit.study.analysis.explaining.boxes import check_boxes

PARTS = pa.schema(
    [
        ("method", pa.string()),
        ("draw", pa.int64()),
        ("by", pa.string()),
        ("part", pa.string()),
        ("count", pa.int64()),
        ("map", pa.float64()),
    ]
)
_WORDS = {2: ("small", "large"), 3: ("small", "medium", "large")}


def object_size(
    draws: Iterable[Mapping[str, Trained]],
    inputs: Any,
    truth: Truth,
    boxes: Boxes,
    *,
    groups: int = 3,
    classes: NDArray[np.integer] | None = None,
) -> pa.Table:
    """mAP by the size of objects: a table with the columns of PARTS.

    draws: of each draw its models by method. boxes: with sizes of the images of `truth`. Present
    labels are cut into `groups` of equal number by the share of the picture that the largest
    object of the class covers; those at an edge, equal ones together, are in the larger group. A
    group's AP of a class ranks these images against all in which the
    class is absent; images that show it in another size are left out. classes: indices of those
    that count; classes without boxes never do.
    Columns: method, draw, by ("object size"), part (its name and shares of the area), count
    (present labels in it), map (from 0 to 1). Raises BadInput without models or image sizes, for
    boxes of other images, for classes that are not there, and where a group stays empty: for fewer
    labels with a box than groups, or too many of one size.
    Source: "Spatial Consistency Loss" (WACV 2023), section 4.2 on its appendix D.
    """
    asked.count(groups, "object_size: groups")
    share = _shares(boxes, truth)
    others = np.setdiff1d(
        np.arange(truth.shape[1]), asked.places(classes, truth.shape[1], "object_size")
    )
    share[:, others] = 0
    edges, which = _groups(share, groups)
    words = _WORDS.get(groups, tuple(f"group {n + 1}" for n in range(groups)))
    names = [f"{word}, {edges[n]:.0%} to {edges[n + 1]:.0%}" for n, word in enumerate(words)]
    present = truth.rows(np.arange(truth.shape[0]))
    known = ~present if truth.known is None else ~present & truth.known.toarray()
    used = (share > 0).any(0)
    found = []
    for about, scores in _scored(draws, inputs, truth, "object_size"):
        for n, name in enumerate(names):
            mine = which == n
            ap = average_precision(scores[:, used], mine[:, used], (known | mine)[:, used])
            part = {"by": "object size", "part": name, "count": int(mine.sum())}
            found.append({**about, **part, "map": float(mean_ap(ap))})
    return pa.Table.from_pylist(found, schema=PARTS)


def positives(
    draws: Iterable[Mapping[str, Trained]],
    inputs: Any,
    truth: Truth,
    *,
    counts: Sequence[int] = (1, 2, 3),
    at_least: int | None = 4,
    classes: NDArray[np.integer] | None = None,
) -> pa.Table:
    """mAP of the images with so many present labels: a table with the columns of PARTS.

    counts, at_least: as `simkit.metrics.map_by_labels` takes them. classes: indices of those that
    count (None: all), in the numbers as in the mAP. by is "present labels", part the number, count
    how many images have it; a part without images is left out. Raises BadInput without models.
    Source: "Spatial Consistency Loss" (WACV 2023), Fig. 5d and Table 3.
    """
    chosen = asked.places(classes, truth.shape[1], "positives")
    known = None if truth.known is None else truth.known[:, chosen]
    how: dict[str, Any] = {"counts": asked.counts(counts, "positives: one of counts")}
    how["at_least"] = None if at_least is None else asked.count(at_least, "positives: at_least")
    found = []
    for about, scores in _scored(draws, inputs, truth, "positives"):
        for one in map_by_labels(scores[:, chosen], truth.present[:, chosen], known, **how):
            if one.images:
                part = {"by": "present labels", "part": one.name, "count": one.images}
                found.append({**about, **part, "map": one.map})
    return pa.Table.from_pylist(found, schema=PARTS)


def _groups(
    share: NDArray[np.float64], groups: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Edges (groups + 1,) of sizes, and which group (N, L) each label is in; -1 without a box."""
    sizes = share[share > 0]
    if len(sizes) < groups:
        raise BadInput(
            f"object_size: {len(sizes)} present labels have a box, for {groups} groups; one label "
            "at least is expected for each"
        )
    edges = np.quantile(sizes, np.linspace(0, 1, groups + 1))
    own = np.clip(np.searchsorted(edges, share, "right") - 1, 0, groups - 1)
    which = np.where(share > 0, own, -1)
    if len(np.unique(own[share > 0])) < groups:
        size, times = np.unique(sizes, return_counts=True)
        raise BadInput(
            f"object_size: {times.max()} of {len(sizes)} labels have objects of the same size, "
            f"{size[times.argmax()]:.2g} of the picture, so that {groups} groups cannot be filled; "
            "give fewer"
        )
    return edges, which


def _scored(
    draws: Iterable[Mapping[str, Trained]], inputs: Any, truth: Truth, asker: str
) -> Iterator[tuple[dict[str, Any], NDArray[np.float32]]]:
    """Method and draw, and the scores (N, L)."""
    none = True
    for draw, models in enumerate(draws):
        check_models(models, inputs, truth, asker)
        for method, trained in models.items():
            none = False
            yield {"method": method, "draw": draw}, trained.scores(inputs)
    if none:
        raise BadInput(f"{asker}: no model came; give the models of a draw, as [{{'an': trained}}]")


def _shares(boxes: Boxes, truth: Truth) -> NDArray[np.float64]:
    """(N, L) which share of the image the largest object of a class covers; 0 without a box."""
    sizes = check_boxes(boxes, truth.shape)
    sides = (boxes.corners[:, 2:] - boxes.corners[:, :2]).astype(np.float64)
    area = np.maximum(sides, 0).prod(1) / sizes[boxes.images].prod(1)
    found = np.zeros(truth.shape)
    np.maximum.at(found, (boxes.images, boxes.classes), area)
    return np.where(truth.rows(np.arange(truth.shape[0])), found, 0.0)
