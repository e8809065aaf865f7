"""Distances between images and between classes, and the resulting temperatures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from simkit.embed.neighbours import nearest
from simkit.embed.unit_features import UnitFeatures
from simkit.errors import BadInput, unknown
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.methods import soft_exposure as soft
from simkit.learn.side_info import prepare
from simkit.results import selection

_MOST_IDS = 20_000  # the nearest spelling among these is found within a second


def neighbours(
    truth: Truth,
    features: FeatureInputs,
    query: str,
    *,
    k: int = 10,
    labels: PartialLabels | None = None,
    without: NDArray[np.int64] | None = None,
) -> pd.DataFrame:
    """An image and its k nearest neighbours, by pooled features of unit length.

    Parameters
    ----------
    truth
        Ground truth of N images and L classes.
    features
        Pooled features or maps of the same N images.
    query
        An image id; if ids are names also the index of a row.
    k
        Number of neighbours.
    labels
        The labels to show, matched by image ids and class names; by default the truth.
    without
        Rows of excluded images, such as unreadable ones.

    Returns
    -------
    DataFrame
        The query and its neighbours: rank (0 is the query), row, image (id), distance (Euclidean)
        and cosine (cosine distance) to the query, present and absent (lists of class names),
        unknown (number of classes) and hidden (names of unknown classes that are present in
        truth).

    Raises
    ------
    BadInput
        For an unknown or excluded image, and for features of other images.
    """
    selection.same_images(features, truth)
    ids = pd.Index(truth.images.astype(str))
    row = _row(ids, str(query), by_number=truth.images.dtype.kind == "U")
    rows = np.arange(len(ids)) if without is None else np.setdiff1d(np.arange(len(ids)), without)
    if row not in rows:
        raise BadInput(f"query: image {query!r} could not be read; choose another image")
    near = nearest(
        UnitFeatures(features, rows, "neighbours"), k, queries=np.searchsorted(rows, [row])
    )
    shown = np.append(row, rows[near.place[0]])
    states = _states(truth, ids, shown, labels)
    unknown = states == UNKNOWN
    return pd.DataFrame(
        {
            "rank": np.arange(len(shown)),
            "row": shown,
            "image": ids[shown],
            "distance": np.append(0.0, near.distance[0]),
            "cosine": np.append(0.0, near.cosine[0]),
            "present": _names(truth.classes, states == PRESENT),
            "absent": _names(truth.classes, states == ABSENT),
            "unknown": unknown.sum(1),
            "hidden": _names(truth.classes, unknown & truth.rows(shown)),
        }
    )


def temperature_curves(methods: selection.Methods, *, points: int = 101) -> pd.DataFrame:
    """Temperature over scaled distance, of soft positives and of soft negatives.

    Parameters
    ----------
    methods
        SE, SE-L or SE-I, with or without settings.
    points
        Number of distances from 0 to 1.

    Returns
    -------
    DataFrame
        method, side ("present" if the nearest known label is present, else "absent"), distance,
        temperature, and slope: the absolute gradient of the loss at a logit of 0.

    References
    ----------
    "Soft Exposure", Fig. 2.
    """
    distance = torch.linspace(0, 1, points, dtype=torch.float64)
    far = torch.full_like(distance, torch.inf)
    parts = []
    for spec, method in _exposures(methods):
        how = {"beta": method.beta, "gamma": method.gamma, "form": method.temperature}
        for side, pair in (("present", (distance, far)), ("absent", (far, distance))):
            T = soft.temperatures(torch.stack(pair), **how).numpy()  # type: ignore[arg-type]
            where = {"method": spec, "side": side, "distance": distance.numpy()}
            parts.append(pd.DataFrame(where | {"temperature": T, "slope": 0.5 / abs(T)}))
    return pd.concat(parts, ignore_index=True)


def temperatures(
    task: Task, methods: selection.Methods, image: int, *, truth: Truth | None = None
) -> pd.DataFrame:
    """The labels of one image, and the temperatures of unknown ones.

    Parameters
    ----------
    task
        A task with features, or with the side information that the methods need.
    methods
        SE, SE-L or SE-I, with or without settings.
    image
        A row of the task.
    truth
        Ground truth of the same images and classes.

    Returns
    -------
    DataFrame
        A row for each method and class: method, class, state (+1, -1 or 0), temperature (0 if
        known or ignored) and present (in truth; missing without a truth).

    Raises
    ------
    BadInput
        For an image without any question, and for other methods.
    """
    labels = task.labels
    rows = np.array([image])
    if truth is not None:
        labels.check_about(truth, "temperatures: the task's labels")
    if not labels.asked[rows].all():
        raise BadInput(f"image {image} was not asked about; choose one of task.rows")
    about = {"class": labels.classes, "state": labels.rows(rows)[0]}
    about["present"] = None if truth is None else truth.rows(rows)[0]
    parts = [
        pd.DataFrame({"method": spec, **about, "temperature": T[0]})
        for spec, T in _of_task(task, methods, rows)
    ]
    return pd.concat(parts, ignore_index=True)


def reached(task: Task, methods: selection.Methods, *, truth: Truth | None = None) -> pd.DataFrame:
    """The number of unknown labels per image that get a temperature, and their accuracy.

    Parameters
    ----------
    task, methods, truth
        As for `temperatures`.

    Returns
    -------
    DataFrame
        A row for each method. Means over the asked images: unknown, reached (not ignored),
        positive and negative (soft labels). Shares, NaN without truth: right (soft positives that
        are present), right_absent (soft negatives that are absent), chance (unknown labels that
        are present, the precision of assuming "present") and found (recall: unknown present
        labels that are soft positives).

    References
    ----------
    Soft Exposure, rebuttal.
    """
    rows = task.rows
    if truth is not None:
        task.labels.check_about(truth, "reached: the task's labels")
    unknown = task.labels.rows(rows) == UNKNOWN
    present = None if truth is None else truth.rows(rows)
    table = []
    for spec, T in _of_task(task, methods, rows):
        counts = {"unknown": unknown, "reached": T != 0, "positive": T > 0, "negative": T < 0}
        row = {"method": spec} | {name: each.sum(1).mean() for name, each in counts.items()}
        row |= dict.fromkeys(("right", "right_absent", "chance", "found"), np.nan)
        if present is not None:
            row["right"] = _share(present, T > 0)
            row["right_absent"] = _share(~present, T < 0)
            row["chance"] = _share(present, unknown)
            row["found"] = _share(T > 0, unknown & present)
        table.append(row)
    return pd.DataFrame(table)


def label_distances(psi: NDArray[np.float64], classes: Sequence[str]) -> pd.DataFrame:
    """Euclidean distances between classes, with similar classes adjacent.

    Parameters
    ----------
    psi
        (L, D) label embeddings; NaN for classes without one, which are left out.
    classes
        Their L names.

    Returns
    -------
    DataFrame
        class, other, distance: all pairs in both directions, in the optimal leaf order of average
        linkage.

    Raises
    ------
    BadInput
        For fewer than two classes with an embedding.
    """
    present = np.flatnonzero(~np.isnan(psi).any(1))
    if len(present) < 2:
        raise BadInput(f"psi: {len(present)} classes have an embedding; two are needed")
    between = soft.label_distances(psi[present], "euclidean")
    symmetric = (between + between.T) / 2
    np.fill_diagonal(symmetric, 0.0)
    order = leaves_list(linkage(squareform(symmetric), "average", optimal_ordering=True))
    names = np.array(classes, object)[present[order]]
    matrix = pd.DataFrame(between[np.ix_(order, order)], names, names)
    return matrix.rename_axis(index="class", columns="other").stack().reset_index(name="distance")


def _row(ids: pd.Index, query: str, *, by_number: bool) -> int:
    """The row of an image id; row numbers count only if ids are not numbers."""
    if query in ids:
        return int(ids.get_loc(query))
    if by_number and query.isdecimal():
        if int(query) < len(ids):
            return int(query)
        some = ", ".join(ids[:5])
        raise BadInput(f"query is {query}; a row from 0 to {len(ids) - 1} or the id of an image is "
                       f"expected, such as {some}")  # fmt: skip
    raise unknown("image", query, ids[:_MOST_IDS])


def _states(
    truth: Truth, ids: pd.Index, shown: NDArray[np.int64], labels: PartialLabels | None
) -> NDArray[np.integer]:
    """(b, L) +1, -1 or 0: the labels, by image ids and class names, or by default the truth."""
    if labels is None:
        return np.where(truth.known_rows(shown), 2 * truth.rows(shown) - 1, UNKNOWN)
    rows = pd.Index(labels.images.astype(str)).get_indexer(ids)
    columns = pd.Index(labels.classes).get_indexer(truth.classes)
    if (rows < 0).all() or (columns < 0).all():
        what = "images" if (rows < 0).all() else "classes"
        raise BadInput(f"the labels have none of these {what}; use labels of the searched split")
    states = labels.rows(rows[shown])[:, columns]
    return np.where((rows[shown, None] >= 0) & (columns >= 0), states, UNKNOWN)


def _names(classes: Sequence[str], marked: NDArray[np.bool_]) -> list[list[str]]:
    return [np.array(classes, object)[row].tolist() for row in marked]


def _share(right: NDArray[np.bool_], among: NDArray[np.bool_]) -> float:
    return float(right[among].mean()) if among.any() else np.nan


def _of_task(
    task: Task, specs: selection.Methods, rows: NDArray[np.int64]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """The spelling of each method, and its temperatures (b, L) for these rows."""
    for spec, method in _exposures(specs):
        yield spec, method.temperatures(prepare(task, method), rows)


def _exposures(specs: selection.Methods) -> Iterator[tuple[str, soft.Exposure]]:
    """The spelling of each method, and the method."""
    for spec in selection.some(specs):
        method = make(spec)
        if not isinstance(method, soft.Exposure):
            raise BadInput(f"methods: {spec!r} has no temperatures; use se, se-l or se-i")
        yield spec, method
