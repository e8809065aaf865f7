"""The numbers of analyses, found again on small drawn data by plain code of another kind."""

import itertools

import numpy as np
import pytest
from scipy import stats

from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task
from simkit.learn.optim import Settings
from simkit.papers.analysis.labelling import STATES, depths
from simkit.papers.analysis.learning import TrainingOptions, likelihood, watched
from simkit.results import runs
from simkit.results.comparisons import ablation, ranks
from tests.results import planted

SEEDS = pytest.mark.parametrize("seed", range(3))


def about(values, level=0.95):
    """Student's interval of a mean, by scipy."""
    spread = stats.sem(values)
    return stats.t.interval(level, len(values) - 1, np.mean(values), spread)


def adjusted(ps):
    """Holm's p, each by its definition: the largest of (m - i) p_(i) up to its own place."""
    found = []
    for p in ps:
        place = sorted(ps).index(p)
        found.append(max(min(1, (len(ps) - i) * sorted(ps)[i]) for i in range(place + 1)))
    return found


def drawn(seed, schemes=("fpc", "rpa"), methods="abcde", draws=6, lost=0.1):
    """{(scheme, method, draw): score}, some missing; methods differ a little."""
    rng = np.random.default_rng(seed)
    return {
        (scheme, method, draw): 0.5 + 0.01 * place + rng.normal(0, 0.01)
        for scheme in schemes
        for place, method in enumerate(methods)
        for draw in range(draws)
        if rng.random() >= lost
    }


def table(scores, **fields):
    made = [
        planted.row(scheme=scheme, method=method, draw=draw, map=score, **fields)
        for (scheme, method, draw), score in scores.items()
    ]
    return runs.to_table(made)


@SEEDS
def test_ablation(seed) -> None:
    scores = drawn(seed)
    found = ablation(table(scores), "a").to_dict("records")
    for scheme in ("fpc", "rpa"):
        gaps = {}
        for method in "bcde":
            shared = [d for d in range(6) if {(scheme, m, d) for m in ("a", method)} <= set(scores)]
            gaps[method] = [scores[scheme, method, d] - scores[scheme, "a", d] for d in shared]
        ps = [stats.ttest_1samp(values, 0).pvalue for values in gaps.values()]
        places = {name: sorted(ps).index(p) for name, p in zip(gaps, ps, strict=True)}
        # The first in order that Holm does not reject, whose level those after it have too.
        failed = [i for i, p in enumerate(sorted(ps)) if p >= 0.05 / (4 - i)]
        stop = min(failed, default=4)
        own = [row for row in found if row["scheme"] == scheme and not row["base"]]
        for row, p in zip(own, adjusted(ps), strict=True):
            values = gaps[row["method"]]
            assert row["gap"] == pytest.approx(np.mean(values))
            assert row["p"] == pytest.approx(p) and row["significant"] == (p < 0.05)
            level = 1 - 0.05 / (4 - min(places[row["method"]], stop))
            ends = about(values, level)
            assert (row["gap_low"], row["gap_high"]) == pytest.approx(ends)
            mine = [
                s for (where, m, _), s in scores.items() if (where, m) == (scheme, row["method"])
            ]
            assert (row["low"], row["high"]) == pytest.approx(about(mine))


@SEEDS
def test_ranks(seed) -> None:
    scores = {key: round(score, 2) for key, score in drawn(seed, lost=0.02).items()}  # ties
    found = ranks(table(scores))
    blocks = [(s, d) for s in ("fpc", "rpa") for d in range(6)]
    whole = [(s, d) for s, d in blocks if all((s, m, d) in scores for m in "abcde")]
    places = {m: [] for m in "abcde"}
    for s, d in whole:
        values = [scores[s, m, d] for m in "abcde"]
        for m, own in zip("abcde", values, strict=True):
            above = sum(value > own for value in values)
            places[m].append(1 + above + (values.count(own) - 1) / 2)
    assert found.mean == pytest.approx({m: np.mean(some) for m, some in places.items()})
    assert (found.blocks, found.left_out) == (len(whole), len(blocks) - len(whole))
    of_draw = {}
    for m in "abcde":
        for d in {d for _, d in whole}:
            of_draw.setdefault(m, []).append(np.mean([scores[s, m, d] for s, e in whole if e == d]))
    pairs = list(itertools.combinations("abcde", 2))
    gaps = [np.subtract(of_draw[a], of_draw[b]) for a, b in pairs]
    ps = adjusted([stats.ttest_1samp(gap, 0).pvalue for gap in gaps])
    told = [set(pair) for pair, p, gap in zip(pairs, ps, gaps, strict=True)
            if p < 0.05 and abs(gap.mean()) >= 0.0005]  # fmt: skip
    sets = [set(c) for n in range(2, 6) for c in itertools.combinations("abcde", n)]
    alike = [some for some in sets if not any(pair <= some for pair in told)]
    largest = [some for some in alike if not any(some < other for other in alike)]
    assert sorted(map(sorted, found.alike)) == sorted(map(sorted, largest))


class Said:
    """A watcher that keeps what was said of every image in every epoch."""

    def __init__(self, *_):
        self.now, self.epochs = {}, []

    def __call__(self, epoch, batch, out, state):
        for image, logits in zip(batch.index.tolist(), out.logits.tolist(), strict=True):
            self.now[image] = logits

    def after_epoch(self, *_):
        self.epochs.append(dict(self.now))


def test_likelihood() -> None:
    rng = np.random.default_rng(1)
    present = rng.random((40, 5)) < 0.4
    codes = np.where(rng.random((40, 5)) < 0.4, np.where(present, 1, -1), 0).astype(np.int8)
    known = rng.random((40, 5)) < 0.9
    inputs = FeatureInputs((present + rng.standard_normal((40, 5))).astype(np.float32))
    task = Task(PartialLabels.of(codes, asked=np.ones(40, bool)), inputs)
    how = {"settings": Settings(epochs=3, batch_size=8, lr=0.1)}
    truth = Truth.of(present & known, known=known)
    found = likelihood(task, truth, "an", ranks=4, **how)
    said = watched(task, "an", Said, TrainingOptions(**how))["an"].epochs
    open = (codes == 0) & known
    wanted = []
    for epoch, logits in enumerate(said, start=1):
        hits = {}
        for image in range(40):
            own = [c for c in range(5) if open[image, c]]
            own.sort(key=lambda c, image=image, logits=logits: -logits[image][c])
            for k, c in enumerate(own[:4], start=1):
                hits.setdefault(k, []).append(present[image, c])
        chance = present[open].mean()
        wanted += [("an", epoch, k, len(hits[k]), np.mean(hits[k]), chance) for k in sorted(hits)]
    rows = found.itertuples(index=False, name=None)
    assert list(rows) == [pytest.approx(row) for row in wanted]


@SEEDS
def test_depths(seed) -> None:
    rng = np.random.default_rng(seed)
    names = tuple("abcdefgh")
    above = {c: [p for p in range(c) if rng.random() < 0.3] for c in range(8)}
    edges = [(names[c], names[p]) for c, some in above.items() for p in some]

    def depth(c):
        return 1 + max(map(depth, above[c])) if above[c] else 0

    truth = rng.random((30, 8)) < 0.4
    codes = np.where(rng.random((30, 8)) < 0.5, np.where(truth, 1, -1), 0).astype(np.int8)
    asked = rng.random(30) < 0.7
    codes[~asked] = 0
    labels = PartialLabels.of(codes, classes=names, asked=asked)
    found = depths(Truth.of(truth, classes=names), {"x": labels}, Hierarchy.of(names, edges))
    parents = {p for some in above.values() for p in some}
    rows = {(row["depth"], row["state"]): row for row in found.to_dict("records")}
    assert len(rows) == 4 * (1 + max(map(depth, range(8))))
    for (level, state), row in rows.items():
        own = [c for c in range(8) if depth(c) == level]
        wanted = {"present": (1, None), "absent": (-1, None), "missing present": (0, True)}
        code, there = wanted.get(state, (0, False))
        cells = [
            codes[n, c] == code and there in (None, truth[n, c])
            for n in np.flatnonzero(asked)
            for c in own
        ]
        assert (row["count"], row["share"]) == (sum(cells), pytest.approx(np.mean(cells)))
        assert (row["classes"], row["leaves"]) == (len(own), len(set(own) - parents))
    assert {state for _, state in rows} == set(STATES)
