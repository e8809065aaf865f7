"""Fewer images, completely labelled, or many images with few labels: at equal images and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from simkit.errors import BadInput
from simkit.study.analysis.comparing.chosen import check_scores, enter, filled, one_test
from simkit.study.limit import Limit
from simkit.study.statistics import interval

_TEXT, _WHOLE, _NUMBER = pa.string(), pa.int64(), pa.float64()
IMAGES_OR_LABELS = pa.schema(
    [
        ("scheme", _TEXT),
        ("method", _TEXT),
        ("complete", pa.bool_()),
        ("images", _WHOLE),
        *((name, _NUMBER) for name in ("share", "labels")),
        ("draws", _WHOLE),
        *((name, _NUMBER) for name in ("mean", "low", "high", "equal_images", "fewer")),
    ]
)

_NEEDS = ("scheme", "method", "budget", "budget_hours", "draw", "images", "present", "absent")


def images_or_labels(
    runs: pa.Table | Sequence[pa.Table], *, full: str = "full-subset", metric: str = "map"
) -> pa.Table:
    """Scores over the number of images, weakly and completely labelled, and which equal which.

    runs: with the columns of `study.runs.COLUMNS`, also several tables, such as of grids that
    differ in `images` alone. Runs of equal numbers of images belong together, and where a table has
    budgets those of one budget, which may buy more images in one draw than in another. References
    count as what they are: complete labels of all images. full: the scheme with complete labels.
    metric: a column of scores from 0 to 1.

    Columns: scheme, method; complete, whether it is of that scheme; images asked about (a rounded
    mean over draws), and their share of the largest number; labels that are known, a mean over
    draws; draws; mean with its 95 % interval low to high; equal_images: how many completely
    labelled images have the same score, and fewer: how many times as many labels those have. The
    last two are found between the numbers of images of complete labels, on a log scale, and are
    null for complete labels and for scores beyond both of their ends. Rows ascend in images
    within each scheme and method.

    Raises BadInput without runs of complete labels, or of others, and for a metric that is no
    column of numbers.
    Source: Kim et al., CVPR 2022, Fig. 6.
    """
    tables: list[pa.Table] = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not tables:
        raise BadInput("images-or-labels: there is no table of runs; run a comparison first")
    for table in tables:
        check_scores(table, metric, _NEEDS, asker="images-or-labels")
    rows = [
        row | {"table": place}
        for place, table in enumerate(tables)
        for row in table.select(list(dict.fromkeys([*_NEEDS, metric]))).to_pylist()
    ]
    one_test(tables, asker="images-or-labels")
    known = [row for row in rows if row[metric] is not None and np.isfinite(row[metric])]
    filled(known, ("images", "present", "absent"), asker="images-or-labels")
    cells = _cells(known, metric, full)
    whole = [cell for cell in cells if cell["complete"] and cell["images"]]
    if not whole or all(cell["complete"] for cell in cells):
        have = ", ".join(dict.fromkeys(cell["scheme"] for cell in cells)) or "nothing"
        raise BadInput(
            f"images-or-labels: both {full} and another scheme are needed, and the runs hold "
            f"{have}; compare both at several numbers of images"
        )
    most = max(cell["images"] for cell in cells)
    ladder = _ladder(whole)
    for cell in cells:
        equal = None if cell["complete"] else _equal(cell["mean"], *ladder)
        labels = ladder[2].mean()  # of one image; complete labels are as many for each
        cell["share"] = cell["images"] / most
        cell["equal_images"] = equal
        some = equal is not None and cell["labels"] > 0
        cell["fewer"] = equal * labels / cell["labels"] if some else None
    return pa.Table.from_pylist(cells, schema=IMAGES_OR_LABELS)


def _cells(rows: list[dict[str, Any]], metric: str, full: str) -> list[dict[str, Any]]:
    """Of every scheme, method, and number of images or budget, over draws."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    lines: dict[tuple[str, str], None] = {}
    for row in rows:
        line, limit = (row["scheme"], row["method"]), Limit.of(row)
        lines.setdefault(line)
        place = (row["table"], limit) if limit else (row["images"],)
        groups.setdefault((*line, *place), []).append(row)
    order = list(lines)
    found = []
    for (scheme, method, *_), some in groups.items():
        images = round(float(np.mean([row["images"] for row in some])))
        by_draw: dict[int, float] = {}
        for row in some:
            enter(by_draw, row, row[metric], asker="images-or-labels")
        score = interval(list(by_draw.values()))
        found.append(
            {
                "scheme": scheme,
                "method": method,
                "complete": scheme.partition("(")[0] == full,
                "images": images,
                "labels": float(np.mean([row["present"] + row["absent"] for row in some])),
                "draws": score.draws,
                "mean": score.mean,
                "low": score.low,
                "high": score.high,
            }
        )
    return sorted(
        found, key=lambda row: (order.index((row["scheme"], row["method"])), row["images"])
    )


def _ladder(whole: list[dict[str, Any]]) -> tuple[np.ndarray, ...]:
    """Of complete labels: images ascending, the best score so far, and labels for each image."""
    best: dict[int, dict[str, Any]] = {}
    for cell in whole:  # where several methods had complete labels, the best of them
        known = best.get(cell["images"])
        best[cell["images"]] = cell if known is None or cell["mean"] > known["mean"] else known
    images = np.array(sorted(best), float)
    means = np.maximum.accumulate([best[int(n)]["mean"] for n in images])
    return images, means, np.array([best[int(n)]["labels"] / n for n in images])


def _equal(score: float, images: np.ndarray, means: np.ndarray, labels: np.ndarray) -> float | None:
    """The smallest number of images at which complete labels have this score."""
    if not means[0] <= score <= means[-1]:
        return None
    place = int(np.searchsorted(means, score))
    if place == 0:
        return float(images[0])
    part = (score - means[place - 1]) / (means[place] - means[place - 1])
    low, high = np.log(images[place - 1 : place + 1])
    return float(np.exp(low + part * (high - low)))
