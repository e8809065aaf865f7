"""What partial labels reveal: of one image, of each class, of each level of the hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.annotate.people.fitting import Fitted, measured, simulate_votes
from simkit.annotate.people.votes import WORDS, Votes, agreement
from simkit.annotate.prices import Prices, cost
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.labels.truth import Truth
from simkit.study.analysis.checks import by_name, rows

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
    (image,) = rows([image], len(truth.images), "revealed")
    tables = {}
    for name, labels in _labels(truth, labelled, "revealed"):
        columns = {"class": truth.classes, "present": truth.rows([image])[0]}
        columns["state"] = labels.rows([image])[0]
        dollars = cost(labels, prices).dollars / max(1, int(labels.asked.sum()))
        tables[name] = pd.DataFrame(columns | {"dollars": dollars})
    return _by_scheme(tables)


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
    tables = {}
    for name, labels in _labels(truth, labelled, "distributions"):
        present, absent = labels.per_class(PRESENT), labels.per_class(ABSENT)
        columns = {"class": truth.classes, "true": truth.counts}
        table = pd.DataFrame(columns | {"present": present, "absent": absent}).iloc[order]
        table.insert(1, "rank", range(len(order)))
        table["found"] = table["present"] / table["true"].where(table["true"] > 0)
        tables[name] = table
    return _by_scheme(tables)


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
    tables = {}
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
        tables[name] = table.sort_values("depth", kind="stable")
    return _by_scheme(tables)


def _labels(
    truth: Truth, labelled: Mapping[str, PartialLabels], asker: str
) -> Iterator[tuple[str, PartialLabels]]:
    """The labels by name, each checked to be about the images and classes of the truth."""
    by_name(labelled, "labels", "{'rpa': labels}", asker)
    for name, labels in labelled.items():
        labels.check_about(truth, f"{asker}: labels {name!r}")
        yield name, labels


def _by_scheme(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, names=["scheme"]).reset_index(level=0).reset_index(drop=True)


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
        What `simkit.annotate.people.fitting.fit` finds in the votes.
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
    found: list[dict[str, Any]] = _matrix("matrix", fitted.confusion)
    if (votes.gold >= 0).any():
        found += _matrix("gold", measured(votes))
    workers = zip(votes.workers, fitted.votes, fitted.miss, fitted.false_alarm, strict=True)
    for name, cast, miss, false_alarm in workers:
        errors = {"miss": miss, "false_alarm": false_alarm}
        found.append({"part": "worker", "name": name, "votes": cast, **errors})
    real = agreement(votes, maybe=fitted.maybe)
    simulated = agreement(simulate_votes(fitted, votes, seed=seed))
    counts = zip(real.yes_counts, simulated.yes_counts, strict=True)
    measures = [("yes", str(people), *shares) for people, shares in enumerate(counts)]
    for (name, number), (_, again) in zip(real.rows(), simulated.rows(), strict=True):
        measures.append(("agreement", name, number, again))
    keys = ("part", "name", "share", "simulated")
    found += [dict(zip(keys, values, strict=True)) for values in measures]
    names = ["part", "name", "answer", "votes", "share", "simulated", "miss", "false_alarm"]
    return pd.DataFrame(found, columns=names)


def _matrix(part: str, votes: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Rows of a matrix (absent and present, answers), the present ones first."""
    return [
        {"part": part, "name": name, "answer": answer, "votes": number, "share": share}
        for name, numbers in (("present", votes[1]), ("absent", votes[0]))
        for answer, number, share in zip(
            WORDS, numbers, numbers / (numbers.sum() or np.nan), strict=True
        )
    ]
