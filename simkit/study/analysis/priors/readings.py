"""What a method takes the unknown labels of each class for, and how often it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN
from simkit.labels.truth import Truth
from simkit.learn.methods import Task
from simkit.study.analysis.learning import kinds, selections

_TEXT, _WHOLE = pa.string(), pa.int64()
_COUNTS = ("present", "absent", "ignored", "ignored_present", "assumed", "wrong")
READINGS = pa.schema(
    [
        ("method", _TEXT),
        ("class", _TEXT),
        ("rank", _WHOLE),
        ("true", pa.float64()),
        ("images", _WHOLE),
        *((name, _WHOLE) for name in _COUNTS),
    ]
)


def readings(task: Task, truth: Truth, methods: Sequence[str], **training: Any) -> pa.Table:
    """Train, and count for each class what the last epoch made of its labels.

    methods: those that take an unknown label for absent or leave it out, such as an, ignore, ll-r
    and csl; what a method's `selected` names counts as left out. training: settings, seed, draw and
    so on, as `study.analysis.learning.watched` takes them.

    Columns: method; class, by falling true frequency, its rank from 0 and true, its share of the
    asked images; images: asked ones whose truth is known; and of these present and absent: labels
    that are known, ignored: unknown ones left out, ignored_present: those of them that are present
    in truth, assumed: unknown ones taken for absent, wrong: those of them that are present.

    Raises BadInput for a truth about other images or classes, and as training does.
    Source: Ben-Baruch et al., CVPR 2022, figure 2, which draws this as an illustration.
    """
    fine = kinds(task.labels, truth) >= 0
    every = np.arange(len(fine))
    codes, there = task.labels.rows(every), truth.rows(every)
    open = (codes == UNKNOWN) & fine
    images = fine.sum(0)
    true = (there & fine).sum(0) / np.maximum(images, 1)
    rows: list[dict[str, Any]] = []
    for name, selected in selections(task, methods, **training).items():
        ignored = selected[-1] & open
        assumed = open & ~ignored
        cells = [(codes == PRESENT) & fine, (codes == ABSENT) & fine]
        cells += [ignored, ignored & there, assumed, assumed & there]
        counts = {key: c.sum(0) for key, c in zip(_COUNTS, cells, strict=True)}
        for rank, c in enumerate(np.argsort(-true, kind="stable")):
            where = {"method": name, "class": truth.classes[c], "rank": rank}
            where |= {"true": float(true[c]), "images": int(images[c])}
            rows.append(where | {key: int(count[c]) for key, count in counts.items()})
    return pa.Table.from_pylist(rows, schema=READINGS)
