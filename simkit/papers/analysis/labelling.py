"""Information in partial labels: about one image, each class, and each level of a hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.annotate.dawid_skene import Fitted, simulate_votes
from simkit.annotate.prices import Prices, cost
from simkit.annotate.votes import WORDS, Votes, agreement, measured
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.labels.truth import Truth

Labelled = Mapping[str, PartialLabels]  # by name of the scheme
STATES = ("present", "absent", "missing present", "missing absent")


def revealed(truth: Truth, labelled: Labelled, image: int, *, prices: Prices) -> pd.DataFrame:
    """The labels of one image under each scheme.

    Parameters
    ----------
    truth
        Ground truth of N images and L classes.
    labelled
        Labels of the same images by name of the scheme.
    image
        Row of the image.
    prices
        The price list.

    Returns
    -------
    DataFrame
        A row for each scheme and class: scheme, class, present (in truth), state (+1, -1, 0:
        unknown), dollars (mean cost of an asked image under the scheme).

    Raises
    ------
    BadInput
        For labels of other images or classes.
    """
    parts = []
    for name, labels in _labels(truth, labelled):
        columns = {"scheme": name, "class": truth.classes, "present": truth.rows([image])[0]}
        columns["state"] = labels.rows([image])[0]
        columns["dollars"] = cost(labels, prices).dollars / max(1, int(labels.asked.sum()))
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def distributions(truth: Truth, labelled: Labelled) -> pd.DataFrame:
    """Number of images of each class in the ground truth and in the labels.

    Parameters
    ----------
    truth
        Ground truth of N images and L classes.
    labelled
        Labels of the same images by name of the scheme.

    Returns
    -------
    DataFrame
        scheme; class, by falling true frequency; rank (0: most frequent); true, the number of
        images with the class; present and absent, numbers of labels; found, the share of these
        images that are labelled present (NaN without any).

    Raises
    ------
    BadInput
        For labels of other images or classes.
    """
    order = np.argsort(-truth.counts, kind="stable")
    parts = []
    for name, labels in _labels(truth, labelled):
        table = pd.DataFrame({"scheme": name, "class": truth.classes, "true": truth.counts})
        table["present"], table["absent"] = labels.per_class(PRESENT), labels.per_class(ABSENT)
        table["found"] = table["present"] / table["true"].where(table["true"] > 0)
        parts.append(table.iloc[order])
        parts[-1].insert(2, "rank", range(len(order)))
    return pd.concat(parts, ignore_index=True)


def depths(truth: Truth, labelled: Labelled, hierarchy: Hierarchy) -> pd.DataFrame:
    """Numbers of known and missing labels of the asked images at each depth of a hierarchy.

    A class is one level below the deepest of its parents; roots have depth 0.

    Parameters
    ----------
    truth
        Complete ground truth, over the classes of the hierarchy.
    labelled
        Labels of the same images by name of the scheme.
    hierarchy
        The class hierarchy.

    Returns
    -------
    DataFrame
        A row for each scheme, depth and state: scheme; depth; classes, their number at this depth;
        leaves, the number of those without children; state: labelled "present" or "absent", or
        unknown and "missing present" or "missing absent" in truth; count, of labels; share of
        the labels at this depth, in [0, 1].

    Raises
    ------
    BadInput
        For labels or a hierarchy of other images or classes, and for an incomplete truth.
    """
    if tuple(hierarchy.classes) != tuple(truth.classes):
        raise BadInput("depths: the hierarchy has other classes than the truth; pass its own")
    if truth.known is not None and truth.known.sum() < truth.shape[0] * truth.shape[1]:
        raise BadInput("depths: the truth is incomplete; pass a complete one")
    levels = pd.DataFrame({"depth": 0, "classes": 1, "leaves": 0}, range(truth.shape[1]))
    for depth, classes in enumerate(nx.topological_generations(hierarchy.graph)):
        levels.loc[classes, "depth"] = depth
    levels.loc[hierarchy.leaves, "leaves"] = 1
    parts = []
    for name, labels in _labels(truth, labelled):
        asked = np.flatnonzero(labels.asked)
        codes, present = labels.rows(asked), truth.rows(asked)
        unknown = codes == UNKNOWN
        masks = (codes == PRESENT, codes == ABSENT, unknown & present, unknown & ~present)
        columns = {state: mask.sum(0) for state, mask in zip(STATES, masks, strict=True)}
        sums = levels.assign(**columns).groupby("depth", as_index=False).sum()
        table = sums.melt(["depth", "classes", "leaves"], var_name="state", value_name="count")
        table["share"] = table["count"] / (len(asked) * table["classes"])
        table.insert(0, "scheme", name)
        parts.append(table.sort_values("depth", kind="stable"))
    return pd.concat(parts, ignore_index=True)


def _labels(truth: Truth, labelled: Labelled) -> Iterator[tuple[str, PartialLabels]]:
    """The labels by name, each checked to be about the images and classes of the truth."""
    for name, labels in labelled.items():
        labels.check_about(truth, f"labels {name!r}")
        yield name, labels


def confusion(votes: Votes, fitted: Fitted, *, seed: int = 0) -> pd.DataFrame:
    """Answers of annotators, differences between workers, and the fit of the error model.

    Parameters
    ----------
    votes
        The real votes.
    fitted
        What `simkit.fit_annotators` finds in the votes.
    seed
        Seed of the votes simulated from the fit.

    Returns
    -------
    DataFrame
        The table of the figure `confusion`; `part` is the kind of a row, and columns that do not
        apply are missing::

          matrix, gold  name (present, absent), answer (no, maybe, yes), votes, share of the votes
                        on such classes: by the estimated truth, and by that of experts if available
          worker        name, votes, miss and false_alarm (NaN without such questions)
          yes           name (number of people who answer yes, of the typical number), share of
                        questions, and simulated share
          agreement     name, share (the measured number), simulated
    """
    workers = {"part": "worker", "name": votes.workers, "votes": fitted.votes}
    workers |= {"miss": fitted.miss, "false_alarm": fitted.false_alarm}
    real = agreement(votes, maybe=fitted.maybe)
    simulated = agreement(simulate_votes(fitted, votes, seed=seed))
    people: dict[str, Any] = {"part": "yes", "name": [*map(str, range(len(real.yes_counts)))]}
    people |= {"share": real.yes_counts, "simulated": simulated.yes_counts}
    names, shares = zip(*real.rows(), strict=True)
    measures = {"part": "agreement", "name": names, "share": shares}
    measures["simulated"] = [number for _, number in simulated.rows()]
    gold = [_matrix("gold", measured(votes))] if (votes.gold >= 0).any() else []
    parts = [_matrix("matrix", fitted.confusion), *gold, workers, people, measures]
    columns = ["part", "name", "answer", "votes", "share", "simulated", "miss", "false_alarm"]
    return pd.concat(map(pd.DataFrame, parts), ignore_index=True).reindex(columns=columns)


def _matrix(part: str, votes: NDArray[np.float64]) -> dict[str, Any]:
    """Columns about a matrix (absent and present, answers), present first."""
    votes = votes[::-1]
    shares = votes / np.where(votes.any(1, keepdims=True), votes.sum(1, keepdims=True), np.nan)
    names, answers = np.repeat(["present", "absent"], len(WORDS)), [*WORDS, *WORDS]
    columns = {"part": part, "name": names, "answer": answers}
    return columns | {"votes": votes.ravel(), "share": shares.ravel()}
