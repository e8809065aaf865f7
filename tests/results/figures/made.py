"""For every figure a small table that its analysis made: what it is asked to draw."""

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa

from simkit import analysis, simulate
from simkit.annotate.dawid_skene import fit_annotators
from simkit.annotate.prices import prices
from simkit.annotate.votes import YES, Votes
from simkit.data.dataset import Boxes
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.train import train
from simkit.results import runs
from simkit.results.result_tables import opened
from tests.results import planted, planted_classes

N, L = 24, 5
CLASSES = tuple("abcde")
SHORT = {"settings": Settings(epochs=2, batch_size=12, lr=0.05)}
OF_RUNS = (
    "class-difference", "class-groups", "convergence", "cost-curve", "heat-map", "matrix",
    "per-class", "rank-diagram",
)  # fmt: skip


@cache
def tables() -> dict[str, pd.DataFrame]:
    """By the name of the figure."""
    found = {**_of_labels(), **_trained()} | over_draws(2)
    return {name: opened(table) for name, table in found.items()}


@cache
def over_draws(draws: int) -> dict[str, pd.DataFrame]:
    """Those of scores over draws; of one draw there are no intervals."""
    found = _compared(draws) | dict.fromkeys(OF_RUNS, _of_runs(draws))
    return {name: opened(table) for name, table in found.items()}


def named_lines(axes) -> dict:
    """The lines of a panel that its legend names."""
    return {line.get_label(): line for line in axes.lines if line.get_label()[:1] not in ("", "_")}


def legend(drawing) -> list[str]:
    """The names of a figure's legend, below its panels."""
    return [text.get_text() for one in drawing.legends for text in one.get_texts()]


def caption(drawing) -> str:
    """How to read a figure, without breaks of lines."""
    return drawing.get_supxlabel().replace("\n", " ")


def _of_runs(draws: int, **fields) -> pa.Table:
    """Runs with a course and AP of each class; the last class has children."""
    about = {"map_all": 0.5, "map_o": 0.4, "labels_id": "x"} | fields
    return planted_classes.table(leaves=(0, 1, 2), draws=draws, **about)


def in_hours() -> pd.DataFrame:
    return opened(_of_runs(2, budget=None, budget_hours=2.0, seconds=7200.0))


def _runs(schemes, methods, draws: int) -> pa.Table:
    counts = {"present": 10, "absent": 10, "unknown": 80, "images": 100}
    rows = [
        planted.row(
            scheme=scheme, scheme_spec=scheme, method=method, draw=draw,
            map=0.3 + 0.1 * place + 0.01 * at + 0.01 * draw * (1 + place), map_o=0.4, **counts,
        )
        for at, scheme in enumerate(schemes)
        for place, method in enumerate(methods)
        for draw in range(draws)
    ]  # fmt: skip
    whole = {"present": 30, "absent": 70, "unknown": 0, "images": 100}
    rows += [
        planted.row(scheme="full-subset", method="full", reference=True, draw=d, map=0.9, **whole)
        for d in range(draws)
    ]
    return runs.to_table(rows)


def _compared(draws: int) -> dict[str, pa.Table]:
    plain = _runs(("fpc(per_class=5)", "fpc(per_class=9)"), ("an", "ignore", "ll-r"), draws)
    several = _runs(("fpc",), ("ll-r", "ll-r(delta=5)"), draws)
    counted = [
        planted.row(scheme=s, method=m, draw=d, images=n, present=n, absent=n, map=0.3 + n / 1e4)
        for s, m, n in (
            ("full-subset", "full", 10),
            ("full-subset", "full", 1000),
            ("fpc", "an", 500),
        )
        for d in range(draws)
    ]
    scored = {"method": ["full", "an"] * draws, "draw": sorted([*range(draws)] * 2)}
    scored |= {"map": [0.8, 0.5] * draws, "pointing": [0.7 + 0.01 * d for d in range(2 * draws)]}
    both = analysis.modes(plain, ["map", "map_o"])
    return {
        "ablation": analysis.ablation(plain, "an"),
        "images-or-labels": analysis.images_or_labels(runs.to_table(counted)),
        "label-shares": analysis.shares(plain, base="an"),
        "mode-gap": analysis.mode_gaps(plain),
        "modes": both,
        "score-pair": both,
        "pointing": pa.table(scored),
        "sweep": analysis.sweep(several, "delta"),
    }


def drawn_votes(questions: int) -> Votes:
    """Three of four workers on each question, a third present; experts saw every fifth."""
    rng, every = np.random.default_rng(6), np.arange(questions)
    question, present = every.repeat(3), every % 3 == 0
    yes = rng.random(3 * questions) < np.where(present[question], 0.8, 0.1)
    answer = np.where(yes, YES, rng.random(3 * questions) < 0.1).astype(np.int8)
    gold = np.where(every % 5 == 0, present, -1).astype(np.int8)
    worker = (question + np.tile([0, 1, 2], questions)) % 4
    return Votes(
        every, ("cat",), tuple("abcd"), every, 0 * every, question, worker, answer, gold
    )  # fmt: skip


def _drawn():
    """Truth, partial labels and maps of features of N images."""
    rng = np.random.default_rng(3)
    there = rng.random((N, L)) < 0.4
    there[:, 0] |= ~there.any(1)
    codes = np.zeros((N, L), int)
    codes[np.arange(N), (there * rng.random((N, L))).argmax(1)] = 1
    labels = PartialLabels.of(codes, classes=CLASSES, asked=np.ones(N, bool))
    looks = there @ rng.standard_normal((L, 16)) + 0.3 * rng.standard_normal((N, 16))
    maps = (looks[..., None, None] * rng.random((N, 1, 3, 4))).astype(np.float32)
    return Truth.of(there, labels.images, CLASSES), labels, FeatureInputs(maps)


def _of_labels() -> dict[str, pa.Table]:
    truth, labels, inputs = _drawn()
    votes = drawn_votes(90)
    some = {"fpc": labels, "rpa": labels}
    priced = dict.fromkeys(some, simulate(truth, "rpa"))
    tree = Hierarchy.of(CLASSES, [("b", "a"), ("c", "a"), ("d", "b")])
    task = Task(labels, FeatureInputs(inputs.batch(np.arange(N)).mean((2, 3)).numpy()))
    distributed = analysis.distributions(truth, some)
    psi, scene = np.random.default_rng(0).random((L, 4)), analysis.Scene.drawn(images=20)
    counted = analysis.estimates(task, ("labels",))
    return {
        "confusion": analysis.confusion(votes, fit_annotators(votes)),
        "distributions": distributed,
        "named-share": distributed,
        "label-depths": analysis.depths(truth, some, tree),
        "hierarchy": tree.table(),
        "revealed": analysis.revealed(truth, priced, 0, prices=prices("openimages")),
        "neighbours": analysis.neighbours(truth, inputs, "0", k=3, labels=labels),
        "label-distances": analysis.label_distances(psi, CLASSES),
        "temperature-curve": analysis.temperature_curves(["se", "se-l"], points=9),
        "temperatures": analysis.temperatures(task, ["se", "se-l"], 0, truth=truth),
        "loss-shapes": analysis.loss_shapes(scene, ["an", "ll-r"], logits=(-2.0, 0.0, 2.0)),
        "common-classes": analysis.priors(truth, counted),
        "rank-agreement": analysis.rank_agreement(truth, counted, tops=[2, 3, 5]),
    }


def _trained() -> dict[str, pa.Table]:
    truth, labels, inputs = _drawn()
    task = Task(labels, inputs)
    there = truth.rows(np.arange(N))
    known = PartialLabels.of(np.where(there, 1, -1), classes=CLASSES, asked=np.ones(N, bool))
    full = train(Task(known, inputs), make("full"), **SHORT)
    course = analysis.MapCourse(make("an"), inputs, truth)
    an = train(task, make("an"), watch=[course], **SHORT)
    images, classes = np.nonzero(there)
    corners = np.tile([0, 0, 10, 10], (len(images), 1)).astype(float)
    corners[:, 2] += np.arange(len(images))
    boxes = Boxes(images=images, classes=classes, corners=corners, sizes=np.array([[70, 50]] * N))
    kept = analysis.HeatMaps(make("an+scl"), [0, 1])
    for epoch in (1, 2):
        kept.maps[epoch] = np.arange(2 * L * 16, dtype=np.uint8).reshape(2, L, 4, 4) * epoch
    held = {"an+scl": kept}
    about = {"labels": labels, "truth": truth, "boxes": boxes}
    maps = np.random.default_rng(1).standard_normal((N, L, 3, 3))
    return {
        "activation-maps": analysis.activation(
            {"full": full, "an": an}, inputs, [(0, "a"), (1, "b")], truth=truth, boxes=boxes
        ),
        "by-part": analysis.object_size([{"an": an, "full": full}], inputs, truth, boxes),
        "cell-gradients": analysis.cell_gradients(maps, labels, truth),
        "heat-located": analysis.located(held, **about),
        "heat-maps": analysis.heat_maps(held, [(0, "a"), (1, "b")], **about),
        "map-course": course.table("an"),
        "map-damage": analysis.damage(full, {"an": an}, inputs, truth),
        "top-scores": analysis.top_scores({"an": an, "full": full}, inputs, ranks=2),
        "corrections": analysis.corrections(task, truth, "ll-ct", **SHORT),
        "likelihood": analysis.likelihood(task, truth, ["an"], ranks=2, **SHORT),
        "likely-labels": analysis.likely_labels(task, truth, "an", images=[0, 1], **SHORT),
        "memorisation": analysis.memorisation(task, truth, ["an"], **SHORT),
        "modification": analysis.modification(task, truth, ["ll-r"], **SHORT),
        "readings": analysis.readings(task, truth, ["an", "ignore"], **SHORT),
    }
