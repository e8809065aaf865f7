"""What does soft exposure see: how near labels are to what is known, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from simkit.embed import temperatures as soft
from simkit.errors import BadInput
from simkit.labels.partial import UNKNOWN
from simkit.labels.truth import Truth
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Task, make
from simkit.learn.methods.pieces.exposure import Exposure
from simkit.study.analysis import asked
from simkit.study.analysis.labelling.revealed import check_same


def curves(methods: Sequence[str], *, points: int = 101) -> pa.Table:
    """Temperature over scaled distance, for soft positives and soft negatives.

    methods: SE, SE-L or SE-I, spelled with their settings. Columns: method, side ("present" where
    something present is nearest, else "absent"), distance in [0, 1], temperature, and slope, the
    size of the loss's gradient at a logit of 0. Raises BadInput for another method, and for none.
    """
    asked.count(points, "curves: points")
    away = torch.linspace(0, 1, points, dtype=torch.float64)
    beyond = torch.full_like(away, torch.inf)
    parts = []
    for spec, method in _exposures(methods):
        for side, pair in (("present", (away, beyond)), ("absent", (beyond, away))):
            found = soft.temperatures(
                torch.stack(pair), beta=method.beta, gamma=method.gamma, form=method.temperature
            ).numpy()
            about = {"method": [spec] * points, "side": [side] * points}
            values = {"temperature": found, "slope": 0.5 / np.abs(found)}
            parts.append(pa.table({**about, "distance": away.numpy(), **values}))
    return pa.concat_tables(parts)


def temperatures(
    task: Task, methods: Sequence[str], image: int, *, truth: Truth | None = None
) -> pa.Table:
    """What is known of one image and how soft the rest is, one row for each method and class.

    image: its row in the task, which has features or the aids. Columns: method, class, state (int8
    +1, -1, 0), temperature (0 where known or ignored), present (bool, in truth; null without it).
    Raises BadInput for another method, for none, for an image that was not asked about, and for a
    truth about others.
    """
    labels = task.labels
    (image,) = asked.rows([image], len(labels.asked), "temperatures")
    if truth is not None:
        check_same(truth, labels, "task")
    if not labels.asked[image]:
        raise BadInput(
            f"image {image} was not asked about, so it has no temperatures; choose one of the "
            f"{int(labels.asked.sum()):,} that were"
        )
    L = len(labels.classes)
    states = pa.array(labels.rows([image])[0], pa.int8())
    present = None if truth is None else truth.rows([image])[0]
    parts = []
    for spec, method in _exposures(methods):
        found = method.temperatures(prepare(task, method), np.array([image]))[0]
        about = {"method": [spec] * L, "class": list(labels.classes), "state": states}
        true = pa.array([None] * L, pa.bool_()) if present is None else pa.array(present)
        parts.append(pa.table({**about, "temperature": found, "present": true}))
    return pa.concat_tables(parts)


def reached(task: Task, methods: Sequence[str], *, truth: Truth | None = None) -> pa.Table:
    """How many unknown labels of an image get a temperature, one row for each method.

    Columns, means over the asked images: method, unknown, reached (not ignored), positive and
    negative (soft ones); shares, nan without truth: right (of soft positives that are there),
    right_absent (of soft negatives that are not), there (of all unknown labels, what guessing
    "present" would have right) and found (of unknown labels that are there which are soft
    positives). Source of the question: Soft Exposure's rebuttal. Raises BadInput for another
    method, for none, for a truth about other images, and where no image was asked about.
    """
    rows = task.rows
    if not len(rows):
        raise BadInput(
            "reached: no image was asked about, so none has temperatures; ask about some"
        )
    if truth is not None:
        check_same(truth, task.labels, "task")
    unknown = task.labels.rows(rows) == UNKNOWN
    there = None if truth is None else truth.rows(rows) & unknown
    found = []
    for spec, method in _exposures(methods):
        T = method.temperatures(prepare(task, method), rows)
        counts = {"unknown": unknown, "reached": T != 0, "positive": T > 0, "negative": T < 0}
        means = {key: float(marked.sum(1).mean()) for key, marked in counts.items()}
        shares = dict.fromkeys(("right", "right_absent", "there", "found"), float("nan"))
        if there is not None:
            hits = ((T > 0) & there).sum()
            shares = {
                "right": _share(hits, (T > 0).sum()),
                "right_absent": _share(((T < 0) & ~there).sum(), (T < 0).sum()),
                "there": _share(there.sum(), unknown.sum()),
                "found": _share(hits, there.sum()),
            }
        found.append({"method": spec, **means, **shares})
    return pa.Table.from_pylist(found)


def label_distances(
    psi: NDArray[np.float64], classes: Sequence[str], *, distance: soft.Distance = "euclidean"
) -> pa.Table:
    """Distances between classes that have a place psi (L, D), like beside like.

    The order is that of average linkage with the nearest leaves side by side. Columns: class,
    other, distance; every pair stands twice. Raises BadInput where fewer than two have a place, or
    where there is not a name for each.
    """
    psi = np.asarray(psi)
    if psi.ndim != 2:
        raise BadInput(f"label_distances: psi has shape {psi.shape}; (L, D) is expected")
    if len(psi) != len(classes):
        raise BadInput(
            f"label_distances: {len(classes)} class names came for {len(psi)} places; give one "
            "name for each row of psi"
        )
    own = np.flatnonzero(~np.isnan(psi).any(1))
    if len(own) < 2:
        raise BadInput(
            f"{len(own)} of {len(classes)} classes are known to be present somewhere; distances "
            "need two, so ask about more images"
        )
    between = soft.label_distances(psi[own], distance)
    near = (between + between.T) / 2
    np.fill_diagonal(near, 0.0)
    order = leaves_list(linkage(squareform(near), "average", optimal_ordering=True))
    names = np.array(classes, object)[own[order]]
    return pa.table(
        {
            "class": np.repeat(names, len(order)),
            "other": np.tile(names, len(order)),
            "distance": between[np.ix_(order, order)].ravel(),
        }
    )


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")


def _exposures(specs: Sequence[str]) -> list[tuple[str, Exposure]]:
    """Each method with how it was spelled."""
    found = []
    for spec in asked.listed(specs):
        method = make(spec)
        if not isinstance(method, Exposure):
            raise BadInput(f"{spec!r} has no temperatures; name se, se-l or se-i, with settings")
        found.append((spec, method))
    if not found:
        raise BadInput("no method was named; name se, se-l or se-i, with settings")
    return found
