"""Scores of a pilot's images by models that have not seen them: what a search for more would meet.

Plans price schemes that look through a machine's candidates by these scores.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from simkit.annotate import schemes
from simkit.annotate.schemes.full_subset import FullSubset
from simkit.annotate.similarities import PILOT_SCORES, PilotScores
from simkit.annotate.simulate import simulate
from simkit.chance import Chance
from simkit.history import History
from simkit.labels.partial import PartialLabels
from simkit.learn import methods
from simkit.learn.side_info import prepare
from simkit.learn.train import train
from simkit.progress import silent
from simkit.study.grid import Grid
from simkit.study.sources import StudyData
from simkit.study.worker import Training

FOLDS = 5
MOST = 10_000_000  # (image, class) places that are scored


def write_scores(folder: Path, references: pd.DataFrame, grid: Grid, data: StudyData) -> None:
    """Write the scores of the images to label, if a scheme of the grid assumes a machine.

    The best method on complete labels is trained on four fifths of them at a time and scores the
    rest. Nothing is written without runs on complete labels, for trained backbones, for few images
    or more than `MOST` places, and if the scores are there.
    """
    truth, file = data.truth("train"), folder / PILOT_SCORES
    few = not 2 * FOLDS <= truth.shape[0] <= MOST // truth.shape[1]
    none = few or grid.pictures is not None or not any(map(assumes, grid.schemes))
    if none or not len(references):
        file.unlink(missing_ok=True)  # of another grid
        return
    best = references.groupby("method_spec", sort=False)["map"].mean().idxmax()
    row = references[references["method_spec"] == best].iloc[0]
    fitted = {"method": str(best), "folds": FOLDS, "lr": float(row["lr"]),
              "epochs": int(row["epochs"]), "features": str(row["features_id"])}  # fmt: skip
    history = History("compare", fitted, grid.seed, (truth.id,))
    if file.is_file() and PilotScores.read(file).history.to_json() == history.to_json():
        return
    scores = cross_fitted(str(best), fitted, grid, data)
    PilotScores(scores, truth, history).write(file)


def assumes(spec: str) -> bool:
    """Whether a scheme looks through the candidates of a machine that is only assumed."""
    scheme = schemes.make(spec)
    return scheme.unassuming(scores=True) != scheme


def cross_fitted(
    spec: str, fitted: dict[str, Any], grid: Grid, data: StudyData
) -> NDArray[np.float32]:
    """(N, L) scores of the training images, each by a model of the other folds."""
    method, truth = methods.make(spec), data.truth("train")
    how = {"select": "last", "lr": fitted["lr"], "epochs": fitted["epochs"]}
    settings = replace(grid.training(spec), **how)
    codes = simulate(truth, FullSubset(), habits=grid.habits, seed=grid.seed).codes.toarray()
    order = Chance.seeded(grid.seed).of("folds").permutation(truth.shape[0])
    fold = order.rank(np.arange(truth.shape[0])) % FOLDS
    scores = np.zeros(truth.shape, np.float32)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same bytes for any number of cores
    try:
        for k in range(FOLDS):
            run = Training(data, method, settings, seed=grid.seed)
            others = (fold != k).astype(np.int8)
            part = PartialLabels.of(codes * others[:, None], truth.images, truth.classes)
            task = prepare(run.task(part), method, **run.options)
            trained = train(task, method, progress=silent, **run.options)
            scored = trained.scores(run.inputs("train"), precision=settings.precision)
            scores[fold == k] = np.asarray(scored, np.float32)[fold == k]
    finally:
        torch.set_num_threads(threads)
    return scores
