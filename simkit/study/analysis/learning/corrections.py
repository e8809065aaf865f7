"""Which labels of a picture a method corrects, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.labels.truth import Truth
from simkit.learn.methods import Task
from simkit.study.analysis import asked
from simkit.study.analysis.learning.modification import selections
from simkit.study.analysis.learning.watched import kinds

CORRECTIONS = pa.schema(
    [
        ("method", pa.string()),
        ("row", pa.int64()),
        ("image", pa.string()),
        ("why", pa.string()),
        ("class", pa.string()),
        ("given", pa.bool_()),
        ("present", pa.bool_()),
        ("epoch", pa.int64()),
        ("corrected", pa.bool_()),
    ]
)


def corrections(
    task: Task,
    truth: Truth,
    method: str = "ll-ct",
    *,
    images: Sequence[int] | None = None,
    best: int = 3,
    worst: int = 1,
    **training: Any,
) -> pa.Table:
    """Train, and tell of a few pictures which unknown labels are corrected (or rejected) when.

    images: rows of the task; by default the `best` pictures with the most false negatives found,
    summed over the epochs, and the `worst` with the most labels wrongly corrected. training: as for
    `memorisation`.

    Columns: method; row of the task; image, its id; why: most right, most wrong, or asked for;
    class: those that are present in truth or were ever corrected, what was given first, then in the
    order in which they were corrected; given: known to be present; present: in truth; epoch from
    1; corrected: in this epoch, or, where corrections last, in this or an earlier one.

    Raises BadInput for images that are not in the task, for a truth about others, for several
    methods, and as training does. Source: Kim et al., CVPR 2022, Fig. 3.
    """
    N = task.labels.shape[0]
    method = asked.one_method(method, "corrections: method")
    images = None if images is None else asked.rows(images, N, "corrections")
    asked.count(best, "corrections: best", least=0)
    asked.count(worst, "corrections: worst", least=0)
    which = kinds(task.labels, truth)
    (seen,) = selections(task, [method], **training).values()
    open = (task.labels.rows(np.arange(N)) == UNKNOWN) & (which >= 0)
    chosen = np.stack(seen.of_epochs()) & open
    if images is None:
        shown = _telling(chosen, truth.rows(np.arange(N)), best, worst)
    else:
        shown = [(row, "asked for") for row in images]
    rows = [
        {"method": method, "row": row, "image": str(task.labels.images[row]), "why": why, **cells}
        for row, why in shown
        for cells in _cells(task, truth, row, chosen[:, row])
    ]
    return pa.Table.from_pylist(rows, schema=CORRECTIONS)


def _telling(
    chosen: NDArray[np.bool_], present: NDArray[np.bool_], best: int, worst: int
) -> list[tuple[int, str]]:
    """Rows with the most right corrections over all epochs, then others with the most wrong."""
    times = chosen.sum(0)
    right, wrong = ((times * flags).sum(1) for flags in (present, ~present))
    first = [int(row) for row in np.argsort(wrong - right, kind="stable")[:best]]
    rest = [int(row) for row in np.argsort(right - wrong, kind="stable") if row not in first]
    return [(row, "most right") for row in first] + [(row, "most wrong") for row in rest[:worst]]


def _cells(task: Task, truth: Truth, row: int, chosen: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Of one picture: a dictionary for each class that is there or corrected, and each epoch."""
    given = task.labels.rows([row])[0] == PRESENT
    present = truth.rows([row])[0]
    ever = np.any(chosen, axis=0)
    begin = np.where(ever, chosen.argmax(0), len(chosen))
    order = np.lexsort((np.arange(len(given)), -chosen.sum(0), begin, ~given))
    return [
        {
            "class": truth.classes[c],
            "given": bool(given[c]),
            "present": bool(present[c]),
            "epoch": epoch,
            "corrected": bool(chosen[epoch - 1][c]),
        }
        for c in order
        if given[c] or present[c] or ever[c]
        for epoch in range(1, len(chosen) + 1)
    ]
