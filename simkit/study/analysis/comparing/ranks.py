"""Which methods are better over all schemes: mean ranks, and which cannot be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.stats import rankdata, studentized_range

from simkit.errors import BadInput, unknown
from simkit.study.analysis.comparing.chosen import check_scores, enter, no_runs, one_budget
from simkit.study.cells import SMALLEST, scored
from simkit.study.statistics import rank

Test = Literal["paired", "nemenyi"]
Block = tuple[str, int]  # scheme and draw
_NEEDS = ("scheme", "method", "reference", "budget", "budget_hours", "draw", "labels_id")
_ALSO = ("dollars", "seconds", "images")  # what `scored` looks at besides


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of methods over blocks: a block is a scheme in one draw, 1 is the highest mAP.

    methods     by mean rank, the best first;  mean: theirs.
    by_scheme   their mean ranks under each scheme, over its draws; also where another scheme
                bought the same labels.
    alike       the largest groups in which no two can be told apart; None: nothing was tested.
    blocks      how many were ranked;  left_out: those in which a method has no score.
    draws       how many draws there are in those that were ranked.
    copies      how many blocks have the labels of another in the same draw; they count once.
    distance    with "nemenyi" the mean ranks that must lie between two.
    """

    methods: tuple[str, ...]
    mean: Mapping[str, float]
    by_scheme: Mapping[str, Mapping[str, float]]
    alike: tuple[tuple[str, ...], ...] | None
    blocks: int
    left_out: int
    draws: int
    distance: float | None = None
    copies: int = 0


def ranks(
    runs: pa.Table, *, test: Test = "paired", metric: str = "map", asker: str = "ranks"
) -> Ranks:
    """Rank the methods in each scheme and draw, equal scores sharing the mean of their ranks.

    runs: of one budget, so that schemes count alike. References are left out, and blocks in which a
    method has no score. Schemes that bought the same labels (all of them, say, where the budget is
    more than that) have the same runs: they are one block. What can be told apart:

    paired    mAP averaged over schemes, compared draw by draw as in `study.statistics.rank`: t
              (bootstrapped from 20 draws on), Holm's correction over all pairs. Nothing from one
              draw.
    nemenyi   mean ranks that differ by more than q sqrt(k (k + 1) / 6 N), k methods, N blocks, at
              5 %. Draws of several schemes share images, which it takes for independent.

    Raises BadInput for several budgets, for fewer than two methods, where no block is complete, and
    for a metric that is no column of numbers.
    Source: Demsar, JMLR 7 (2006), section 3.2.2, for mean ranks and the critical difference.
    """
    if test not in get_args(Test):
        raise unknown(f"test ({asker})", test, get_args(Test))
    check_scores(runs, metric, (*_NEEDS, *_ALSO), asker=asker)
    one_budget(runs, asker=asker, mend="give the runs of one of them")
    bought = runs.filter(pc.invert(runs["reference"]))
    if not len(bought):
        raise no_runs(asker)
    methods: list[str] = bought["method"].unique().to_pylist()
    if len(methods) < 2:
        raise BadInput(f"{asker}: the table holds one method, {methods[0]!r}; two are needed")
    found, labels = _blocks(bought, metric, asker)
    whole = {place: block for place, block in found.items() if len(block) == len(methods)}
    if not whole:
        raise BadInput(
            f"{asker}: no scheme has a score of all {len(methods)} methods in any draw, most often "
            f"{_rarest(found, methods)!r} is missing; leave methods out of the grid, or finish it"
        )
    scores = np.array([[block[name] for name in methods] for block in whole.values()])
    placed = rankdata(-scores, axis=1)
    firsts = {(labels[place] or place[0], place[1]): place for place in reversed(whole)}
    blocks = {place: block for place, block in whole.items() if place in firsts.values()}
    counted = placed[[place in blocks for place in whole]]
    mean = dict(zip(methods, map(float, counted.mean(0)), strict=True))
    ordered = tuple(sorted(methods, key=lambda name: mean[name]))
    distance = _critical(len(methods), len(blocks)) if test == "nemenyi" else None
    told = _told_by_rank(mean, distance) if distance else _told_by_draw(blocks, methods)
    return Ranks(
        ordered,
        mean,
        _by_scheme([scheme for scheme, _ in whole], placed, methods),
        None if told is None else _groups(ordered, told),
        len(blocks),
        len(found) - len(whole),
        len({draw for _, draw in blocks}),
        distance,
        len(whole) - len(blocks),
    )


def _blocks(
    runs: pa.Table, metric: str, asker: str
) -> tuple[dict[Block, dict[str, float]], dict[Block, str | None]]:
    """The scores of methods in each scheme and draw, and the id of the labels there."""
    scores: dict[tuple[str, str], dict[int, float]] = {}
    labels: dict[Block, str | None] = {}
    for row in scored(runs, metric):
        if np.isfinite(row[metric]):
            own = scores.setdefault((row["scheme"], row["method"]), {})
            enter(own, row, row[metric], asker=asker)
            labels[row["scheme"], row["draw"]] = row["labels_id"]
    found: dict[Block, dict[str, float]] = {}
    for (scheme, method), by_draw in scores.items():
        for draw, score in by_draw.items():
            found.setdefault((scheme, draw), {})[method] = score
    return found, labels


def _rarest(found: Mapping[Any, Mapping[str, float]], methods: list[str]) -> str:
    return min(methods, key=lambda name: sum(name in block for block in found.values()))


def _by_scheme(
    schemes: list[str], placed: NDArray[np.float64], methods: list[str]
) -> dict[str, dict[str, float]]:
    out = {}
    for scheme in dict.fromkeys(schemes):
        means = placed[[each == scheme for each in schemes]].mean(0)
        out[scheme] = dict(zip(methods, map(float, means), strict=True))
    return out


def _critical(methods: int, blocks: int) -> float:
    q = float(studentized_range.ppf(0.95, methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * blocks)))


def _told_by_rank(mean: Mapping[str, float], distance: float) -> set[frozenset[str]]:
    return {frozenset((a, b)) for a in mean for b in mean if abs(mean[a] - mean[b]) > distance}


def _told_by_draw(
    blocks: Mapping[tuple[str, int], Mapping[str, float]], methods: list[str]
) -> set[frozenset[str]] | None:
    """Pairs that are told apart; None from one draw. All methods have the same blocks, so that a
    draw's mean over its schemes is fair to each pair whatever schemes it lacks."""
    draws = {draw for _, draw in blocks}
    if len(draws) < 2:
        return None
    scores = {
        name: {
            draw: float(np.mean([block[name] for (_, d), block in blocks.items() if d == draw]))
            for draw in draws
        }
        for name in methods
    }
    return {frozenset((win.first, win.second)) for win in rank(scores, smallest=SMALLEST).wins}


def _groups(ordered: tuple[str, ...], told: set[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """The largest sets of two or more in which no pair is told apart, the best first."""
    import networkx as nx

    alike = nx.Graph()
    alike.add_nodes_from(ordered)
    alike.add_edges_from(
        (a, b)
        for place, a in enumerate(ordered)
        for b in ordered[place + 1 :]
        if frozenset((a, b)) not in told
    )
    found = [tuple(sorted(c, key=ordered.index)) for c in nx.find_cliques(alike) if len(c) > 1]
    return tuple(sorted(found, key=lambda group: [ordered.index(name) for name in group]))
