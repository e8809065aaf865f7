"""The next plan, from the labels that an order bought and their mAP."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from simkit import quantities
from simkit.annotate.prices import Prices, cost
from simkit.errors import BadInput
from simkit.files import reading
from simkit.labels.partial import ABSENT, PRESENT
from simkit.orders.order import Order, effort_of
from simkit.orders.project import with_spent
from simkit.orders.project_state import PLAN
from simkit.orders.receiving import OrderState, write_data
from simkit.planning.answers import OFFERED, Lacking
from simkit.planning.costs import Staff
from simkit.planning.evidence import Array, Evidence, Folder, Pair, Received, joined
from simkit.planning.plan import Plan, plan
from simkit.planning.plan_page import command

if TYPE_CHECKING:
    from simkit.progress import Progress

DRAWS = 3  # trainings on the labels of an order
SCORED = "scored.toml"  # a data set: images of the order, test images of the pilot


def plan_next(
    order: Order | str | PathLike[str],
    folders: Folder | Sequence[Folder],
    budget: float | str,
    *,
    measured: float | str | None = None,
    images: int | str | None = None,
    target: float | str | tuple[float | str, float | str] | None = None,
    prices: Prices | str | None = None,
    staff: Staff = Staff(),
    image_price: float | str = 0.0,
    errors: float | str | tuple[float | str, float | str] | None = None,
    scores: str | PathLike[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Plan the next purchase from the labels received for an order.

    The pilot's best method for the scheme of the order is trained on the received labels and scored
    on the pilot's test images. The plan uses the predictions that agree with this mAP, and the
    prices measured by the order. If the pilot was compared with several error rates of annotators,
    the plan uses the runs whose rates are nearest to those of the answers.

    Parameters
    ----------
    order : Order or path
        The order, or its folder.
    folders : path or sequence of paths
        Comparisons of the pilot, as for `plan`.
    budget : number or str
        Dollars for further labels.
    measured : number or str, optional
        mAP of your own model on the pilot's test images, 0.6 or 60. By default models are trained
        here on the labels.
    images : int or str, optional
        Number of images besides the pilot's. Default: unlimited.
    target : number or str, or a pair, optional
        Target mAP, and the required probability of reaching it, as for `plan`.
    prices : Prices or str, optional
        A price list, its name or its TOML file. Default: the prices measured by the order.
    staff : Staff
        Number, working hours and wage of the annotators.
    image_price : number or str
        Dollars to obtain one image.
    errors : number, str or pair, optional
        Error rates of one answer, as for `plan`. Default: those of the order's answers.
    scores : path, optional
        Scores of the pilot's training images, as for `plan`.
    seed : int
        Seed of all samples.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    Plan

    Raises
    ------
    BadInput
        If the order has no answers, or if the pilot did not measure its scheme or has other
        classes.
    """
    order = order if isinstance(order, Order) else Order.read(order)
    state = OrderState.of(order)
    if not state.labels.codes.nnz:
        raise BadInput(f"{order.folder} has no answers yet that give labels; run simkit receive "
                       "first")  # fmt: skip
    places = [folders] if isinstance(folders, str | PathLike) else list(folders)
    stated = {  # rates in a command are rounded; without them they are measured
        "prices": prices if prices is None or isinstance(prices, str) else prices.name,
        "errors": None if errors is None
        else quantities.spelled_rates(quantities.rates(errors, "errors")),
        "measured": measured,
    }  # fmt: skip
    source = "errors"
    if errors is None:
        errors, source = state.errors, f"errors, measured by {order.folder},"
    one = None if errors is None else quantities.rates(errors, source)
    evidence = Evidence.of(*places, errors=joined(one, state.usual, *places))
    # The runs whose simulated people have the error rates nearest to those of the answers.
    habits = [option.habits for option, _ in evidence.cells]
    rates = [(np.mean(one.miss), np.mean(one.false_alarm)) for one in habits]
    nearest = habits[np.abs(np.subtract(rates, state.errors or (0.0, 0.0))).sum(1).argmin()]
    cells = {pair: sizes for pair, sizes in evidence.cells.items() if pair[0].habits == nearest}
    complete = {key: scores for key, scores in evidence.complete.items() if key[0] == nearest}
    evidence = replace(evidence, cells=cells, complete=complete or evidence.complete)
    file = order.folder / "measured.toml"
    prices = prices or (str(file) if file.is_file() else order.settings.prices)
    pair = _pair(order, evidence)
    if measured is None:
        reached = _trained(state, evidence, pair, progress)
    else:
        reached = np.array([quantities.score(measured, "measured")])
    received = _received(
        state, evidence, pair, staff.prices(prices), evidence.test.on_new_images(reached)
    )
    made = plan(
        replace(evidence, received=received), budget, images=images, target=target, prices=prices,
        staff=staff, image_price=image_price, scores=scores, seed=seed, errors=one,
    )  # fmt: skip
    command_options = {**made.command_options, **stated, "continue": str(order.folder)}
    again = command(*evidence.folders, **command_options)
    return with_spent(replace(made, command_options=command_options, command=again))


def _pair(order: Order, evidence: Evidence) -> Pair:
    """The pilot's label option for the order's scheme, with the planned or else its best method."""
    name = order.settings.parsed_scheme.name
    pairs = [pair for pair in evidence.cells if pair[0].part.name == name]
    if not pairs:
        known = ", ".join(sorted({pair[0].part.name for pair in evidence.cells}))
        raise BadInput(
            f"the pilot did not measure {name}, the scheme of {order.folder}, but {known}; compare "
            f"{name} on the pilot's images as well, which needs no further labels"
        )
    planned = _planned_method(order)
    return max(pairs, key=lambda p: (p[1] == planned, evidence.cells[p][-1].score))


def _received(
    state: OrderState, evidence: Evidence, pair: Pair, prices: Prices, scores: Array
) -> Received:
    """The labels of an order; in a project without its pilot, which plans add themselves."""
    order = state.order
    scored, images = _scored_classes(evidence, order), np.arange(len(order.images))
    errors, lacking = state.errors, _lacking(state, prices)
    answers = Counter() if evidence.project is None else Counter(evidence.answers.get("train"))
    if evidence.project is not None and len(order.rounds) > 1:
        asked = np.append(order.rounds[0].table["image"], order.test_images)
        images = np.setdiff1d(images, asked)
        state = state.about(images)
        if not state.order.rounds:
            raise BadInput(f"{order.folder} has no labels besides those of the pilot and of test "
                           "images; plan without --continue")  # fmt: skip
    labels = state.labels
    codes = labels.codes[images][:, scored].toarray()
    said = state.answers[(state.answers["gold"] == 0) & (state.answers["kind"] != "name")]
    said = said[said["image"].isin(images)]
    answers.update(said.groupby(["image", "class"])["worker"].nunique().tolist())
    return Received(
        option=pair[0], method=pair[1], dollars=cost(labels, prices).dollars,
        images=len(images), asked=int(labels.asked[images].sum()),
        present=(codes == PRESENT).sum(axis=0).astype(float),
        absent=(codes == ABSENT).sum(axis=0).astype(float),
        scores=scores, errors=errors, folder=str(order.folder), lacking=lacking,
        answers=dict(answers),
    )  # fmt: skip


def _lacking(state: OrderState, prices: Prices) -> dict[int, Lacking]:
    """What the questions that `simkit order --next --answers` asks again lack, with its price."""
    found = {}
    for number in OFFERED:
        table = state.below(number)
        if len(table):
            effort = effort_of(table, state.order.shape, table["answers"])
            bill = cost(effort, prices.once_set_up())
            seconds = math.nan if bill.seconds is None else bill.seconds
            answers = int(table["answers"].sum())
            found[number] = Lacking(len(table), answers, bill.dollars, seconds)
    return found


def _planned_method(order: Order) -> str | None:
    """The method of the plan that the last round follows, in a project."""
    file = order.folder.absolute().parent / PLAN
    if not file.is_file():
        return None
    with reading(file, "a plan", "make it again"):
        chosen = json.loads(file.read_text("utf-8")).get("chosen") or {}
    return str(chosen.get("method")) if chosen else None


def _scored_classes(evidence: Evidence, order: Order) -> list[int]:
    """Indices, in the order, of the classes that the pilot scores."""
    names = [evidence.pool.truth.classes[c] for c in evidence.pool.scored]
    missing = [name for name in names if name not in order.classes]
    if missing:
        raise BadInput(
            f"{order.folder} does not ask about class {missing[0]!r} of the pilot; plan from a "
            "pilot of the same classes"
        )
    return [order.classes.index(name) for name in names]


def _trained(
    state: OrderState, evidence: Evidence, pair: Pair, progress: Progress | None
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(D,) mAP on the pilot's test images of models trained on the received labels."""
    from simkit.learn import methods
    from simkit.learn.optim import Settings
    from simkit.progress import silent
    from simkit.registry import build
    from simkit.study.sources import StudySource
    from simkit.study.trial import trial

    grid, order = evidence.grid, state.order
    if grid.get("features") or grid.get("pictures"):
        raise BadInput(
            "the pilot was trained from pixels or on features from files, which is not possible "
            f"here for the images of {order.folder}; train and score a model yourself, and give "
            "its mAP as --measured"
        )
    if evidence.squares:
        raise BadInput(f"{evidence.earlier_features} (or give the mAP of a model of your own, "
                       "trained on the same part of images, as --measured)")  # fmt: skip
    file = order.folder / SCORED
    write_data(order, file, str(grid["data"]))
    trained = evidence.trained_as[pair]
    settings = {**grid.get("train", {}), "lr": trained["lr"], "epochs": int(trained["epochs"])}
    source = StudySource(
        str(file), (), (), str(grid.get("backbone", "scenes-net")), str(grid.get("weights", ""))
    )
    return np.array([
        trial(
            state.labels, methods.make(str(trained["method"])), source, where=str(order.folder),
            settings=build(Settings, settings, "training"), draw=draw, progress=progress or silent,
        ).map
        for draw in range(DRAWS)
    ])  # fmt: skip
