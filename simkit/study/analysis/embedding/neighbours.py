"""Which images are nearest to one image, and what is known of them?"""

from __future__ import annotations

from difflib import get_close_matches

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simkit.data.pieces.folder_table import ENDINGS
from simkit.embed.nearby.nearest import nearest
from simkit.embed.unit import UnitRows
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.study.analysis import asked

_FEW = 20_000  # ids, among which the nearest spelling is found in a second


def neighbours(
    truth: Truth,
    features: FeatureInputs,
    query: str,
    *,
    k: int = 10,
    labels: PartialLabels | None = None,
    without: NDArray[np.int64] | None = None,
) -> pa.Table:
    """The image `query` in row 0 and below it its k nearest others, by pooled unit features.

    features: one row for each image of the truth, pooled or maps;  query: an image id as text, or
    where ids are names also the number of a row, from 0.
    labels: what is shown as known, by image ids and class names; the truth where there are none.
    without: images that take no part, by index, such as those that could not be read. Columns:
    rank, row (index of the image), image (id), distance (Euclidean) and cosine (one minus it) to
    the query, present and absent (lists of class names known so), unknown (how many classes) and
    hidden (names of those that are present in truth). Raises BadInput for another image or k, for
    features of other images, and for labels of none of these images or classes.
    """
    if len(features) != len(truth.images):
        raise BadInput(
            f"neighbours: features of {len(features):,} images came with a truth of "
            f"{len(truth.images):,}; give a row for each image of the truth"
        )
    asked.count(k, "neighbours: k")
    (query,) = asked.names(query, "neighbours: query")
    away = [] if without is None else asked.rows(without, len(truth.images), "neighbours: without")
    there = np.ones(len(truth.images), bool)
    there[away] = False
    own = _row(truth, query, there)
    rows = np.flatnonzero(there)
    near = nearest(UnitRows(features, rows, "neighbours"), k, own=np.searchsorted(rows, [own]))
    shown = np.concatenate([[own], rows[near.place[0]]])
    states = _states(truth, shown, labels)
    names, present = np.array(truth.classes, object), truth.rows(shown)
    return pa.table(
        {
            "rank": np.arange(len(shown)),
            "row": shown,
            "image": [str(image) for image in np.asarray(truth.images)[shown].tolist()],
            "distance": np.concatenate([[0.0], near.distance[0]]),
            "cosine": np.concatenate([[0.0], near.cosine[0]]),
            "present": _lists(names, states == PRESENT),
            "absent": _lists(names, states == ABSENT),
            "unknown": (states == 0).sum(1),
            "hidden": _lists(names, (states == 0) & present),
        }
    )


def _lists(names: NDArray[np.object_], marked: NDArray[np.bool_]) -> pa.Array:
    return pa.array([names[row].tolist() for row in marked], pa.list_(pa.string()))


def _row(truth: Truth, query: str, there: NDArray[np.bool_]) -> int:
    ids = [str(image) for image in np.asarray(truth.images).tolist()]
    named = truth.images.dtype.kind == "U"  # a wrong number must not become another picture
    if query in ids:
        own = ids.index(query)
    elif named and query.isdecimal() and int(query) < len(ids):
        own = int(query)
    else:
        near = get_close_matches(query, ids, n=1) if named and len(ids) <= _FEW else []
        near = [f"{query}{ending}" for ending in ENDINGS if f"{query}{ending}" in ids] or near
        hint = f"did you mean {near[0]!r}" if near else f"ids here look like {', '.join(ids[:3])}"
        raise BadInput(f"no image is called {query!r}; {hint}{'?' if near else ''}")
    if not there[own]:
        raise BadInput(
            f"image {query!r} could not be read when its features were made, so it has no "
            "neighbours; ask for another"
        )
    return own


def _states(
    truth: Truth, shown: NDArray[np.int64], labels: PartialLabels | None
) -> NDArray[np.int8]:
    """(b, L) int8 of the shown images: +1, -1 or 0, by image ids and class names."""
    if labels is None:
        states = np.where(truth.rows(shown), PRESENT, ABSENT).astype(np.int8)
        if truth.known is not None:
            states[~truth.known[shown].toarray().astype(bool)] = 0
        return states
    column = {name: c for c, name in enumerate(truth.classes)}
    place = {str(image): n for n, image in enumerate(np.asarray(labels.images).tolist())}
    if not place.keys() & {str(image) for image in np.asarray(truth.images).tolist()}:
        raise BadInput(
            "the labels are about none of these images; give labels of the split that is searched"
        )
    own = [c for c, name in enumerate(labels.classes) if name in column]
    if not own:
        raise BadInput(
            "the labels are about none of these classes; give labels whose class names are those "
            f"of the data, such as {', '.join(truth.classes[:3])}"
        )
    found = np.zeros((len(shown), len(truth.classes)), np.int8)
    there = [column[labels.classes[c]] for c in own]
    for row, image in zip(found, np.asarray(truth.images)[shown].tolist(), strict=True):
        if str(image) in place:
            row[there] = labels.rows([place[str(image)]])[0][own]
    return found
