"""Which labels are missing where in the hierarchy: known, and not known, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.study.analysis.asked import by_name
from simkit.study.analysis.labelling.revealed import check_same

STATES = ("present", "absent", "missing present", "missing absent")


def depths(truth: Truth, labelled: Mapping[str, PartialLabels], hierarchy: Hierarchy) -> pa.Table:
    """What is known of the asked images at each depth of the hierarchy.

    truth: complete, of the classes of the hierarchy. labelled: labels of its images by the name of
    their scheme. A class lies one level below the deepest of its parents, roots at 0.

    Columns: scheme; depth; classes, how many lie there; leaves, how many of those have no children;
    state: known to be "present" or "absent", or "missing present" and "missing absent", which are
    so in truth and unknown; count, of labels; share of the level's labels in [0, 1]. A row for each
    of the four states. Raises BadInput for labels of other images or classes, for a hierarchy of
    others, for a truth that is not complete, for no labels, and where a scheme asked about no
    image.
    """
    by_name(labelled, "labels", "{'rpa': labels}", "depths")
    if tuple(hierarchy.classes) != tuple(truth.classes):
        raise BadInput(
            "depths: the hierarchy is over other classes than the truth; give the one the data set "
            "is closed under"
        )
    if truth.known is not None and truth.known.sum() < truth.shape[0] * truth.shape[1]:
        raise BadInput(
            "depths: the truth does not know all labels, so nobody can say what is missing; give a "
            "complete one"
        )
    levels = levels_of(hierarchy)
    leaves = np.isin(np.arange(len(levels)), hierarchy.leaves)
    rows: list[dict[str, Any]] = []
    for name, labels in labelled.items():
        check_same(truth, labels, name)
        asked = np.flatnonzero(labels.asked)
        if not len(asked):
            raise BadInput(f"depths: {name!r} asked about no image; ask about some")
        states, there = labels.rows(asked), truth.rows(asked)
        marked = (states == 1, states == -1, (states == 0) & there, (states == 0) & ~there)
        counts = np.stack([each.sum(0) for each in marked])
        for depth in range(int(levels.max()) + 1):
            here = levels == depth
            for state, count in zip(STATES, counts[:, here].sum(1), strict=True):
                rows.append(
                    {
                        "scheme": name,
                        "depth": depth,
                        "classes": int(here.sum()),
                        "leaves": int((here & leaves).sum()),
                        "state": state,
                        "count": int(count),
                        "share": float(count / (len(asked) * here.sum())),
                    }
                )
    return pa.Table.from_pylist(rows)


def levels_of(hierarchy: Hierarchy) -> NDArray[np.int64]:
    """(L,) the depth of each class: 0 for roots, else one more than that of its deepest parent."""
    levels = np.zeros(len(hierarchy.classes), np.int64)
    for _ in range(len(levels)):
        before = levels.copy()
        for place, above in enumerate(hierarchy.parents):
            if len(above):
                levels[place] = 1 + max(levels[parent] for parent in above)
        if (levels == before).all():
            break
    return levels
