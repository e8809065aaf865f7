"""The highest probabilities that models give to a picture: are they shy of naming anything?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from simkit.learn.trained import Trained
from simkit.study.analysis.asked import by_name, check_result, count, places

TOP_SCORES = pa.schema(
    [
        ("model", pa.string()),
        ("rank", pa.int64()),
        ("image", pa.int64()),
        ("probability", pa.float64()),
    ]
)


def top_scores(
    models: Mapping[str, Trained],
    inputs: Any,
    *,
    ranks: int = 4,
    classes: NDArray[np.integer] | None = None,
) -> pa.Table:
    """The `ranks` highest probabilities of every image under each model, from the highest on.

    inputs: of images not trained on. classes: indices of those that count (None: all), such as the
    leaves of a data set whose ancestors are present nearly everywhere. Columns: model (its name in
    `models`), rank (from 1), image (row) and probability (the sigmoid of the score). Raises
    BadInput for more ranks than classes, and without models.
    Source: "Spatial Consistency Loss" (WACV 2023), Fig. 5a, whose supplement shows four ranks.
    """
    by_name(models, "model", "{'an': trained}", "top_scores")
    tables = []
    for model, trained in models.items():
        chosen = places(classes, len(trained.classes), "top_scores")
        count(ranks, "top_scores: ranks", most=len(chosen))
        scores = trained.scores(inputs)[:, chosen].astype(np.float64)
        highest = -np.sort(-scores, axis=1)[:, :ranks]
        N = len(scores)
        tables.append(
            pa.table(
                {
                    "model": [model] * (N * ranks),
                    "rank": np.repeat(np.arange(1, ranks + 1), N),
                    "image": np.tile(np.arange(N), ranks),
                    "probability": 1 / (1 + np.exp(-highest.T.ravel())),
                },
                schema=TOP_SCORES,
            )
        )
    return pa.concat_tables(tables)


def medians(table: pa.Table) -> dict[str, list[float]]:
    """Of each model the median probability of every rank, from the first on.

    Raises BadInput for another table than `top_scores` returns.
    """
    check_result(table, TOP_SCORES, asker="medians", made_by="top_scores")
    found: dict[str, list[float]] = {}
    for row in table.group_by(["model", "rank"], use_threads=False).aggregate([]).to_pylist():
        some = table.filter((pc.field("model") == row["model"]) & (pc.field("rank") == row["rank"]))
        found.setdefault(row["model"], []).append(float(np.median(some["probability"].to_numpy())))
    return found
