"""Scores of training images by models that have not seen them.

A plan prices schemes that look through a machine's candidates by such scores of the pilot, and a
model without validation images has its thresholds from them.
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
from simkit.learn.train import Trained, train
from simkit.progress import Progress, silent
from simkit.study.grid import Grid
from simkit.study.sources import StudyData
from simkit.study.worker import Training

FOLDS = 5
NEARLY_ALL = 0.9  # share of the classes
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
    scores = of_pilot(str(best), fitted, grid, data)
    PilotScores(scores, truth, history).write(file)


def assumes(spec: str) -> bool:
    """Whether a scheme looks through the candidates of a machine that is only assumed."""
    scheme = schemes.make(spec)
    return scheme.unassuming(scores=True) != scheme


def of_pilot(spec: str, fitted: dict[str, Any], grid: Grid, data: StudyData) -> NDArray[np.float32]:
    """(N, L) scores of the training images by a method on their complete labels."""
    truth, how = data.truth("train"), {"lr": fitted["lr"], "epochs": fitted["epochs"]}
    settings = replace(grid.training(spec), select="last", **how)
    run = Training(data, methods.make(spec), settings, seed=grid.seed)
    labels = simulate(truth, FullSubset(), habits=grid.habits, seed=grid.seed)
    return cross_fitted(run, labels, np.arange(truth.shape[0]))


def complete_rows(labels: PartialLabels) -> NDArray[np.int64]:
    """Rows of the images with labels of nearly all classes: people may be unsure about a few.

    The labels of other images are those that a scheme asked for, such as classes that a search
    found, so their shares of present labels differ from those of new images.
    """
    return np.flatnonzero(np.diff(labels.codes.indptr) >= NEARLY_ALL * labels.shape[1])


def cross_fitted(
    run: Training,
    labels: PartialLabels,
    rows: NDArray[np.int64],
    progress: Progress = silent,
    *,
    scale: Trained | None = None,
) -> NDArray[np.float32]:
    """(n, L) scores of n training images, each by a model without the labels of its fold.

    Trainings end with scores of other means and ranges, so that a threshold for one model tags
    other shares of the images by the next: on photographs of clothes from 0.4 to 2.2 times as many,
    and 0.8 to 1.2 times with `scale`.

    Parameters
    ----------
    run : Training
    labels : PartialLabels
        Of the training images. Those that are not in `rows` are trained on in every fold.
    rows : (n,) int
        The images to score.
    progress : callable
        Called with (models done, models).
    scale : Trained
        A model trained on all labels: the scores of every fold get mean and standard deviation, by
        class, of its scores of the images on which the model of the fold was trained.
    """
    order = Chance.seeded(run.seed).of("folds").permutation(len(rows))
    fold = order.rank(np.arange(len(rows))) % FOLDS
    scores = np.zeros((len(rows), labels.shape[1]), np.float32)
    like = scores if scale is None else scale.scores(run.inputs("train"), rows=rows)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same bytes for any number of cores
    try:
        for k in range(FOLDS):
            others = np.ones(labels.shape[0], bool)
            others[rows[fold == k]] = False
            codes = labels.codes.multiply(others[:, None].astype(np.int8))
            asked = labels.asked & others
            part = PartialLabels.of(codes, labels.images, labels.classes, asked)
            task = prepare(run.task(part), run.method, **run.options)
            trained = train(task, run.method, progress=silent, **run.options)
            found = trained.scores(run.inputs("train"), rows=rows)
            if scale is not None:
                found = _rescaled(found, found[fold != k], like[fold != k])
            scores[fold == k] = found[fold == k]
            progress(k + 1, FOLDS)
    finally:
        torch.set_num_threads(threads)
    return scores


def _rescaled(
    scores: NDArray[np.float32], some: NDArray[np.float32], like: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Scores, moved and stretched as turns `some` of them into those with the moments of `like`."""
    stretch = like.std(0) / np.maximum(some.std(0), 1e-6)
    return (scores - some.mean(0)) * stretch + like.mean(0)
