"""What partial labels reveal: of one image, of each class, of each level of the hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.annotate.dawid_skene import Fitted
from simkit.annotate.prices import Prices, cost
from simkit.annotate.votes import WORDS, Votes, agreement, measured, simulate_votes
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.labels.truth import Truth
from simkit.study.analysis.checks import by_name, indices

STATES = ("present", "absent", "missing present", "missing absent")


def revealed(
    truth: Truth, labelled: Mapping[str, PartialLabels], image: int, *, prices: Prices
) -> pd.DataFrame:
    """What each scheme reveals of one image.

    Parameters
    ----------
    labelled
        Labels of the images of `truth` by the name of their scheme.
    image
        Its row.

    Returns
    -------
    DataFrame
        A row for each scheme and class: scheme, class, present (in truth), state (+1, -1, 0:
        unknown), dollars (mean cost of an asked image under the scheme at these prices).

    Raises
    ------
    BadInput
        For labels of other images or classes, for none, and for an image that is not there.
    """
    (row,) = indices([image], len(truth.images), "revealed: image")
    parts = []
    for name, labels in _labels(truth, labelled, "revealed"):
        columns = {"scheme": name, "class": truth.classes, "present": truth.rows([row])[0]}
        columns["state"] = labels.rows([row])[0]
        columns["dollars"] = cost(labels, prices).dollars / max(1, int(labels.asked.sum()))
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def distributions(truth: Truth, labelled: Mapping[str, PartialLabels]) -> pd.DataFrame:
    """How each class is represented before and after annotation.

    Parameters
    ----------
    labelled
        Labels of the images of `truth` by the name of their scheme.

    Returns
    -------
    DataFrame
        scheme; class, by falling true frequency; rank (0: most frequent); true, the number of
        images with the class; present and absent, numbers of labels; found, the share of the true
        ones that are labelled present (NaN where there are none).

    Raises
    ------
    BadInput
        For labels of other images or classes, and for none.
    """
    order = np.argsort(-truth.counts, kind="stable")
    parts = []
    for name, labels in _labels(truth, labelled, "distributions"):
        table = pd.DataFrame({"scheme": name, "class": truth.classes, "true": truth.counts})
        table["present"], table["absent"] = labels.per_class(PRESENT), labels.per_class(ABSENT)
        table["found"] = table["present"] / table["true"].where(table["true"] > 0)
        parts.append(table.iloc[order])
        parts[-1].insert(2, "rank", range(len(order)))
    return pd.concat(parts, ignore_index=True)


def depths(
    truth: Truth, labelled: Mapping[str, PartialLabels], hierarchy: Hierarchy
) -> pd.DataFrame:
    """What is known of the asked images at each depth of the hierarchy.

    A class lies one level below the deepest of its parents; roots lie at depth 0.

    Parameters
    ----------
    truth
        Complete, of the classes of the hierarchy.
    labelled
        Labels of its images by the name of their scheme.

    Returns
    -------
    DataFrame
        A row for each scheme, depth and state: scheme; depth; classes, how many lie there; leaves,
        how many of those have no children; state: labelled "present" or "absent", or unknown and
        "missing present" or "missing absent" in truth; count, of labels; share of the level's
        labels from 0 to 1.

    Raises
    ------
    BadInput
        For labels of other images or classes, a hierarchy of others, a truth that is not complete,
        no labels, and a scheme that asked about no image.
    """
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
    levels = pd.DataFrame({"depth": _levels(hierarchy), "classes": 1, "leaves": 0})
    levels.loc[hierarchy.leaves, "leaves"] = 1
    parts = []
    for name, labels in _labels(truth, labelled, "depths"):
        asked = np.flatnonzero(labels.asked)
        if not len(asked):
            raise BadInput(f"depths: {name!r} asked about no image; ask about some")
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


def _labels(
    truth: Truth, labelled: Mapping[str, PartialLabels], asker: str
) -> Iterator[tuple[str, PartialLabels]]:
    """The labels by name, each checked to be about the images and classes of the truth."""
    by_name(labelled, "labels", "{'rpa': labels}", asker)
    for name, labels in labelled.items():
        labels.check_about(truth, f"{asker}: labels {name!r}")
        yield name, labels


def _levels(hierarchy: Hierarchy) -> NDArray[np.int64]:
    """(L,) the depth of each class."""
    levels = np.zeros(len(hierarchy.classes), np.int64)
    for _ in levels:  # the longest path has fewer steps than there are classes
        for place, parents in enumerate(hierarchy.parents):
            levels[place] = 1 + levels[list(parents)].max() if len(parents) else 0
    return levels


def confusion(votes: Votes, fitted: Fitted, *, seed: int = 0) -> pd.DataFrame:
    """Which answers people give, how workers differ, and whether the fitted errors explain it.

    Parameters
    ----------
    fitted
        What `simkit.annotate.dawid_skene.fit` finds in the votes.
    seed
        Of the votes that are simulated from it.

    Returns
    -------
    DataFrame
        What the figure `confusion` draws; `part` says what a row is about, and columns that do not
        apply are missing.

        matrix, gold  name (present, absent), answer (no, maybe, yes), votes, share of the votes on
                      such classes: by the estimated truth, and by the experts' where there is one
        worker        name, votes, miss and false_alarm (NaN where the worker met no such question)
        yes           name: how many of the typical number of people say yes; share of questions,
                      and that share simulated
        agreement     name, share (the measured number), simulated
    """
    workers = {"part": "worker", "name": votes.workers, "votes": fitted.votes}
    workers |= {"miss": fitted.miss, "false_alarm": fitted.false_alarm}
    real = agreement(votes, maybe=fitted.maybe)
    simulated = agreement(simulate_votes(fitted, votes, seed=seed))
    people: dict[str, Any] = {
        "part": "yes",
        "name": [str(number) for number in range(len(real.yes_counts))],
    }
    people |= {"share": real.yes_counts, "simulated": simulated.yes_counts}
    names, shares = zip(*real.rows(), strict=True)
    measures = {"part": "agreement", "name": names, "share": shares}
    measures["simulated"] = [number for _, number in simulated.rows()]
    gold = [_matrix("gold", measured(votes))] if (votes.gold >= 0).any() else []
    parts = [_matrix("matrix", fitted.confusion), *gold, workers, people, measures]
    columns = ["part", "name", "answer", "votes", "share", "simulated", "miss", "false_alarm"]
    return pd.concat(map(pd.DataFrame, parts), ignore_index=True).reindex(columns=columns)


def _matrix(part: str, votes: NDArray[np.float64]) -> dict[str, Any]:
    """Columns about a matrix (absent and present, answers), the present ones first."""
    votes = votes[::-1]
    shares = votes / np.where(votes.any(1, keepdims=True), votes.sum(1, keepdims=True), np.nan)
    names, answers = np.repeat(["present", "absent"], len(WORDS)), [*WORDS, *WORDS]
    columns = {"part": part, "name": names, "answer": answers}
    return columns | {"votes": votes.ravel(), "share": shares.ravel()}
