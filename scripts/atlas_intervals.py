"""Intervals over test images for gains over AN in the atlas.

    SIMKIT_DATA=... python scripts/atlas_intervals.py    # after: make atlas

Differences between draws do not show how much a gain depends on the test images, which are the same
in every draw. This script trains cells of the atlas again, with their labels, settings and draws,
checks that AP is that of the atlas, and resamples the test images: `half` is the half width of a
95 % interval of the mean gain over ten draws, 1.96 times its standard deviation over resamples.
It writes atlas/test_images.csv, with gains in points of mAP.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

import atlas
import simkit
from simkit.files import whole
from simkit.learn import methods
from simkit.study.jobs import source_of
from simkit.study.worker import Training

SCHEMES = ("single-positive", "rpa", "fpc")
COMPARED = (
    "ll-r", "ll-r+boostlu", "csl", "en", "epr", "em", "gr-loss", "role", "lsan", "se", "ignore",
)  # fmt: skip
RESAMPLES = 200
# Rounding depends on the processor and on what is trained together; a larger difference is printed.
# Differences are large where training is unstable: ROLE with a ratio of 100 under RPA on VOC.
CLOSE = 1e-4


def cells(name: str) -> pd.DataFrame:
    """The runs of the compared methods and AN for 11.5 % of the price of complete labels."""
    table = simkit.open_runs(atlas.ATLAS / name).table
    budget = sorted(table["budget"].unique())[atlas.CURVE.index(atlas.TWO[-1])]
    chosen = table["scheme"].isin(SCHEMES) & table["method"].isin(["an", *COMPARED])
    return table[chosen & (table["budget"] == budget)]


def scores_of(rows: pd.DataFrame, data: Any, train: simkit.Settings) -> Iterator[Any]:
    """Scores of the test images by models trained as those of the rows, which share their labels.

    data: the opened source of the atlas.
    """
    first = rows.iloc[0]
    draw, seed = int(first["draw"]), int(first["seed"])
    labels = simkit.amount_for(
        float(first["budget"]), data.truth("train"), first["scheme"], atlas.PRICES,
        draw=draw, seed=seed,
    ).labels  # fmt: skip
    assert labels.id == first["labels_id"], "not the labels of the atlas"
    for row in rows.itertuples():
        method = methods.make(row.method_spec)
        settings = dataclasses.replace(train, lr=float(row.lr))
        training = Training(data, method, settings, seed=seed, draw=draw)
        task = simkit.prepare(training.task(labels), method, **training.options)
        scored = training.scored(simkit.train(task, method, **training.options), "test")
        scored = scored.of(data.data.leaves)
        if (away := abs(np.nanmean(scored.ap()) - row.map)) > CLOSE:
            print(f"{row.scheme}, {row.method}, draw {draw}: mAP is {away:.4f} from the atlas's")
        yield scored


def resampled(scored: list[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """(methods, resamples) mAP in points on test images drawn with replacement.

    rows: (resamples, N) indices of images.
    """
    scores = np.concatenate([one.scores for one in scored], axis=1)
    present = dense(scored[0].present)
    present = np.tile(present, len(scored))
    points = []
    for each in rows:
        ap = simkit.metrics.average_precision(scores[each], present[each])
        points.append(100 * np.nanmean(ap.reshape(len(scored), -1), axis=1))
    return np.array(points).T


def dense(values: Any) -> NDArray[Any]:
    return np.asarray(values.toarray() if issparse(values) else values)


def intervals(name: str) -> pd.DataFrame:
    """Gains over AN of a data set, and the half widths of their intervals over test images."""
    table = cells(name)
    grid = simkit.Grid.load(atlas.ATLAS / name / "curves.toml")
    specs = tuple(table["method_spec"].unique())
    grid = dataclasses.replace(grid, schemes=SCHEMES, methods=specs, fair=False, settings={})
    data = simkit.open_source(source_of(grid))
    N, lines = data.truth("test").shape[0], []
    rows = np.random.default_rng(0).integers(N, size=(RESAMPLES, N))
    for scheme, of_scheme in table.groupby("scheme", sort=False):
        gains, spread = [], []
        names = [one for one in ("an", *COMPARED) if one in set(of_scheme["method"])]
        for _, of_draw in of_scheme.groupby("draw"):
            of_draw = of_draw.set_index("method").loc[names].reset_index()
            points = resampled([*scores_of(of_draw, data, grid.train)], rows)
            spread.append(points[1:] - points[0])
            maps = 100 * of_draw["map"].to_numpy()
            gains.append(maps[1:] - maps[0])
        mean, half = np.mean(gains, axis=0), 1.96 * np.mean(spread, axis=0).std(axis=1, ddof=1)
        found = [*zip(names[1:], mean.round(2).tolist(), half.round(2).tolist(), strict=True)]
        print(
            name, scheme, *(f"{m} {gain:+.1f} ±{half:.1f}" for m, gain, half in found), flush=True
        )
        lines += [(name, scheme, *line, len(gains), N) for line in found]
    return pd.DataFrame(
        lines, columns=["data", "scheme", "method", "gain", "half", "draws", "images"]
    )


def main() -> None:
    warnings.simplefilter("ignore", UserWarning)
    made = pd.concat([intervals(name) for name in ("voc12-animals", "coco-mini", "scenes")])
    with whole(atlas.ATLAS / "test_images.csv") as part:
        made.to_csv(part, index=False)


if __name__ == "__main__":
    main()
