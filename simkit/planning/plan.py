"""From comparisons and a budget to a plan."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from simkit import quantities
from simkit.annotate import schemes
from simkit.annotate.prices import Prices
from simkit.errors import BadInput
from simkit.history import versions
from simkit.planning import choose, plan_page
from simkit.planning.answers import SUPPOSED
from simkit.planning.certainty import BetterTests, TestOffer
from simkit.planning.choose import Candidate, Decision, backtest
from simkit.planning.costs import PriceCurve, Staff, count
from simkit.planning.curves import Curves
from simkit.planning.evidence import COMPLETE, Evidence, Folder, LabelOption, Received, joined
from simkit.results.report import Frame, Page, Readable, in_browser

BUDGETS = 30  # of the slider of a page, at most


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Decision, Readable):
    """A decision with its page; see `Decision` for its fields."""

    @cached_property
    def page(self) -> Page:
        """The plan as answers, tables and details."""
        return plan_page.page(self, self.at(self.half))

    def html(self, *, date: str = "") -> str:
        """One file of HTML that needs no network, with a slider of the budget.

        Without script, and in print, it is the plan for its own budget. date: the line below the
        title. Default: the day, and the data or project.
        """
        budgets = self._budgets()
        every = self._candidates(budgets)
        plans = [self.at(budget, every) or self for budget in budgets]
        if len(plans) == 1:
            halves = [self.at(self.half)]
        else:
            more = self._candidates(sorted({one.half for one in plans}))
            halves = [self.at(one.half, more) for one in plans]
        chart, others = plan_page.what_if(self, plans, halves, every)
        page = replace(self.page, chart=chart)
        return in_browser(page, what_if=others, date=date)

    def explore(self) -> Frame:
        """The page of `html`, with its slider, in a notebook."""
        return Frame(self.html())

    def _candidates(self, budgets: Sequence[float]) -> list[Candidate]:
        """All candidates at any price, with those that spend all money that these budgets leave for
        training labels."""
        left = [self.offer.left(budget) for budget in budgets]
        largest = replace(self.rest, dollars=choose.UNLIMITED)
        return choose.candidates(self.curves, largest, budgets=left)

    def _budgets(self) -> list[float]:
        """Up to BUDGETS budgets of two significant digits, from the last below which nothing is
        worth buying to complete labels of everything, with that of this plan; with a target only
        the latter."""
        own = self.project.dollars
        if self.project.target is not None:
            return [own]
        every = self._candidates(())
        complete = [one.dollars for one in every if one.option.complete]
        worth = [one.dollars for one in every if self.gain_of(one) > choose.LOSS - 1e-9]
        all_ = [one.dollars for one in every]
        paid = [dollars for dollars in worth or all_ if dollars > 0] or [own]
        most = self.offer.budget_for(max(*(complete or all_), *paid))
        ends = max(0.9 * min(paid), min(all_)), most
        steps = [_two_digits_up(budget) for budget in np.geomspace(*ends, BUDGETS).tolist()]
        steps[int(np.abs(np.log(np.array(steps) / own)).argmin())] = own
        return sorted({*steps})

    def at(self, budget: float, every: Sequence[Candidate] = ()) -> Plan | None:
        """The plan for another budget; None if this pays for nothing.

        every: all candidates, those of this budget among them; without, they are found here.
        """
        if budget == self.project.dollars:
            return self
        if budget <= 0:
            return None
        project = replace(self.project, dollars=budget)
        if every and not choose.within(every, budget):
            return None
        try:
            made = choose.decide(self.curves, project, self.offer, every)
        except BadInput:
            return None
        command_options = {**self.command_options, "budget": budget}
        command = plan_page.command(*self.evidence.folders, **command_options)
        return replace(
            self, project=project, supposed=(), command_options=command_options, command=command,
            **_fields(made),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """As plain values; mAP from 0 to 1 on new images."""
        measurement = self.measurement and {
            **_values(self.measurement[0]), "changes": self.measurement[1],
        }  # fmt: skip
        target = self.project.target and {
            "map": self.project.target, "confidence": self.project.confidence,
            "probability": self.chosen.reaches(self.project.target), "reached": self.choice.reached,
        }  # fmt: skip
        values = {
            "budget": self.project.dollars, "images": self.project.images, "target": target,
            "purchase_needed": self.purchase_needed, "today": self.so_far,
            "test_images": _tests(self.tests) if self.evidence.project else None,
            "promised": self.expected and {
                "map": self.expected[0], "band90": self.expected[1:],
                "before": float(np.median(self.curves.pilot)),
            },
            "zero_shot": self.evidence.zero_shot,
            "wrong": self.wrong, "errors": self.curves.errors, "searched": self.candidates_right,
            "supposed": [{"wrong": rate, **_values(one)} for rate, one in self.supposed],
            "chosen": _values(self.chosen),
            "order": [_values(one) for one in self.order] * self.purchase_needed,
            "rivals": [_values(one) for one in self.choice.rivals],
            "trust": {"grade": self.trust.grade, "reasons": list(self.trust.reasons)},
            "next_measurement": measurement, "bill": [vars(line) for line in self.bill],
            "weeks": self.weeks, "prices": self.prices.name, "wage": self.prices.wage,
            "backtest": self.backtest and vars(self.backtest), "unpriced": list(self.unpriced),
            "trained_as": self.evidence.trained_as.get(self.trained), "left": round(self.left, 2),
            "folders": list(self.evidence.folders), "ids": dict(self.evidence.ids),
            "command": self.command, "versions": versions(),
        }  # fmt: skip
        return dict(json.loads(json.dumps(values)))


def _tests(tests: BetterTests | None) -> dict[str, Any] | None:
    if tests is None:
        return None
    values = {name: getattr(tests, name) for name in ("images", "dollars", "half_width")}
    return values if tests.images else values | {"answers": tests.answers}


def _values(one: Candidate) -> dict[str, Any]:
    return {
        "way": str(one.option), "scheme": schemes.spell(one.option.with_amount(one.amount)),
        "method": one.method, "dollars": round(one.dollars, 2), "images": one.images,
        "asked": round(one.asked), "amount": one.amount,
        "hours": None if math.isnan(one.seconds) else one.seconds / 3600,
        "present": round(float(one.present.sum())), "absent": round(float(one.absent.sum())),
        "answers": one.answers.number, "again": one.answers.again,
        "times_the_pilot": one.times, "median": one.median, "band90": list(one.band),
    }  # fmt: skip


def plan(
    runs: Folder | Sequence[Folder] | Evidence,
    budget: float | str,
    *,
    images: int | str | None = None,
    target: float | str | tuple[float | str, float | str] | None = None,
    prices: Prices | str = "hourly",
    staff: Staff = Staff(),
    image_price: float | str = 0.0,
    errors: float | str | tuple[float | str, float | str] | None = None,
    scores: str | PathLike[str] | None = None,
    seed: int = 0,
) -> Plan:
    """Plan the purchase of labels for a budget from the runs of one or several comparisons.

    Parameters
    ----------
    runs : path, sequence of paths or Evidence
        Folders of comparisons (`simkit compare`), all of the same data, or what was read from them.
        The test labels of folders err at the rates of `errors`, those of an `Evidence` as it says.
        With labels of earlier rounds (`Evidence.received`), the plan uses the predictions that
        agree with their mAP, and further labels of the same option add to them.
    budget : number or str
        Dollars still to spend, such as 2000 or "$2,000".
    images : int or str, optional
        Number of images besides the pilot's. Default: unlimited.
    target : number or str, or a pair, optional
        Target mAP, 0.6 or 60: the cheapest purchase that reaches it is chosen.

        The second value of a pair is the required probability of reaching it. Default: 80 %.
    prices : Prices or str
        A price list of `simkit list prices`, or a TOML file.
    staff : Staff
        Number, working hours and wage of the annotators.
    image_price : number or str
        Dollars to obtain one image.
    errors : RATES, optional
        Shares of present classes that one annotator misses and of absent ones that they report,
        such as 3%,0.2%; one number is both.

        Orders measure them (`simkit receive`). With them, and with runs at levels of errors
        (`errors` of the grid), purchases carry 1, 2, 3 or 5 answers per question, and further
        answers to the questions so far are a purchase as well. Default: unknown.
    scores : path, optional
        Scores of the pilot's training images by a model that has not seen their labels, from
        `simkit score`, `simkit predict` or a table: fpc, federated and proposals look for images in
        their order. Default: the pilot's own scores, which a comparison writes.
    seed : int
        Seed of all samples.

    Returns
    -------
    Plan

    Raises
    ------
    BadInput
        For folders without finished runs or of different data, and for a budget below the cost of
        any purchase that the pilot can predict.
    """
    listed, _ = staff.prices(prices), staff.week  # both are checked before anything is read
    reach, confidence = target if isinstance(target, tuple) else (target, 0.8)
    money = quantities.dollars(budget, "budget")
    rates = None if errors is None else quantities.rates(errors, "errors")
    if not isinstance(runs, Evidence):
        folders = [runs] if isinstance(runs, str | PathLike) else runs
        runs = Evidence.of(*folders, errors=joined(rates, listed.workers, *folders))
    evidence, received = runs, runs.received
    if scores is not None:
        evidence = replace(evidence, pool=evidence.pool.searched_by(scores))
    once = listed.setup + listed.setup_class * evidence.pool.truth.shape[1]
    once *= received is None and evidence.project is None  # set-up is paid with the first round
    project = choose.Request(
        dollars=money,
        images=_images(images, again=bool(rates and evidence.levels)),
        target=None if reach is None else quantities.score(reach, "target"),
        confidence=quantities.share(confidence, "confidence"),
        image_price=quantities.dollars(image_price, "image_price"), set_up=once,
        spent={} if received is None else {received.option: received.dollars},
    )  # fmt: skip
    purchases, unpriced = _priced(evidence, listed)
    tested = backtest(evidence, purchases, seed=seed)
    curves = Curves(evidence, purchases, seed=seed, errors=rates, usual=listed.workers,
                    widening=tested.widening if tested else 1.0)  # fmt: skip
    expected = _agreeing(curves, received)
    offer = TestOffer.of(evidence, curves, project.images, project.image_price)
    made = choose.decide(curves, project, offer)
    paid = curves.complete  # at the wage of now; the pilot was paid at that of the list
    if staff.wage is not None:
        paid = count(paid.option, evidence.pool, replace(staff, wage=None).prices(prices))
    command_options = {
        "budget": money, "images": project.images, "target": project.target,
        "confidence": confidence if reach else None,
        "prices": prices if isinstance(prices, str) else listed.name, "wage": staff.wage,
        "image_price": image_price or None, "errors": rates and quantities.spelled_rates(rates),
        "annotators": staff.annotators, "hours_a_week": staff.hours_a_week, "scores": scores,
        "seed": seed or None,
    }  # fmt: skip
    return Plan(
        project=project, evidence=evidence, curves=curves, offer=offer, **_fields(made),
        paid=paid, backtest=tested, prices=listed, unpriced=unpriced,
        staff=staff, expected=expected, supposed=tuple(_supposed(curves, made.rest)),
        command_options=command_options,
        command=plan_page.command(*evidence.folders, **command_options),
    )  # fmt: skip


def _agreeing(
    curves: Curves, received: Received | None
) -> tuple[float, float, float] | None:  # fmt: skip
    """What was expected of earlier rounds, with which the samples are made to agree."""
    if received is None:
        return None
    median, low, high = np.quantile(curves.expected(received), [0.5, 0.05, 0.95]).tolist()
    curves.agree_with(received)
    return median, low, high


def _fields(made: choose.Purchases) -> dict[str, Any]:
    return {**made._asdict(), "measurement": choose.next_measurement(made.choice)}


def _supposed(curves: Curves, project: choose.Request) -> Iterator[tuple[float, Candidate]]:
    """The choice for several shares of wrong answers, where the share is unknown."""
    for rate in SUPPOSED if curves.errors is None and curves.evidence.levels else ():
        erring = curves.with_errors((rate, rate))
        every = choose.candidates(erring, project)
        yield rate, choose.choose(every, project, at_hand=curves.at_hand).chosen


def _two_digits_up(value: float) -> float:
    """Round up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.2g}")


def _images(images: int | str | None, *, again: bool) -> int | None:
    """The number of images to label; 0 where questions so far can be asked again."""
    number = None if images is None else quantities.count(images, "images", least=0)
    if number == 0 and not again:
        raise BadInput(
            "images is 0, so only further answers to the questions so far could be bought; these "
            'need `errors`, such as "3%,0.2%", and runs at levels of errors (`errors` in the grid)'
        )
    return number


def _priced(
    evidence: Evidence, prices: Prices
) -> tuple[dict[LabelOption, PriceCurve], tuple[str, ...]]:
    """The price curve of every option, and a sentence for each option without a price."""
    habits = dict.fromkeys(option.habits for option, _ in evidence.cells)
    habits |= dict.fromkeys(key[0] for key in evidence.complete)
    options = dict.fromkeys([
        *(LabelOption(COMPLETE, one) for one in habits), *(option for option, _ in evidence.cells),
    ])  # fmt: skip
    purchases, unpriced = {}, []
    for option in options:
        try:
            purchases[option] = count(option, evidence.pool, prices)
        except BadInput as error:
            unpriced.append(f"{option}: {error}")
    if not any(option.complete for option in purchases):
        raise BadInput(unpriced[0])
    return purchases, tuple(unpriced)
