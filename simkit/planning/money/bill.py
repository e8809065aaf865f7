"""Where the money goes, line by line: labels, what is paid once, test set, images, training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simkit.annotate.evaluation import evaluation_set
from simkit.annotate.prices import ASSURANCE, IMAGES, Prices, Rate, cost
from simkit.errors import BadInput
from simkit.labels.effort import Effort
from simkit.planning.evidence.amounts import Amount, Ladder
from simkit.planning.evidence.evidence import Evidence, Way
from simkit.planning.money.project import Project
from simkit.planning.told.wording import several
from simkit.study.grids.limit import money

__all__ = ["Bill", "BillLine", "Project", "besides", "bill", "fixed", "left"]

WORK = {  # by kind of line: what is paid for, and what is counted
    "search": ("searching for positives", "looks"),
    "verify": ("verifying labels", "questions"),
    "name": ("naming classes", "images"),
    "sweep": ("labelling images completely", "labels"),
    "descend": ("asking down the hierarchy", "questions"),
    IMAGES: ("loading images", "images"),
    "labels": ("labels", "labels"),  # of older tables, which do not say how they were asked for
}


@dataclass(frozen=True)
class BillLine:
    """One thing that is paid for: what, dollars, and how they come about."""

    what: str
    dollars: float
    how: str


@dataclass(frozen=True)
class Bill:
    """Lines and their sum in dollars."""

    lines: tuple[BillLine, ...]

    @property
    def total(self) -> float:
        return math.fsum(line.dollars for line in self.lines)


def fixed(project: Project, evidence: Evidence) -> Bill:
    """What comes off the top, whatever labels are bought to train on.

    The set-up for the project and its classes; validation and test images, labelled completely,
    and obtaining them; hours of a GPU. Raises BadInput where the test set cannot be sized: the runs
    tell no shares of images that show each class, or no number of images is enough.
    """
    return Bill(tuple(_fixed(project, evidence)))


def left(project: Project, evidence: Evidence) -> float:
    """Dollars for labels to train on and for obtaining their images; the set-up is off already.

    Above 0. Raises BadInput, with the sum that is needed, where nothing would be left.
    """
    top = fixed(project, evidence)
    if project.budget <= top.total:
        parts = ", ".join(f"{line.what} {_cents(line.dollars)}" for line in top.lines)
        raise BadInput(
            f"a budget of {_cents(project.budget)} leaves nothing for labels to train on, as "
            f"{_cents(top.total)} come off the top ({parts}); raise the budget above that, or do "
            "without some of it"
        )
    return project.budget - top.total


def besides(project: Project, evidence: Evidence) -> list[str]:
    """Names of the lines that a bill has besides its labels."""
    images = ["images for training"] if project.image_price else []
    return [*images, *(line.what for line in _fixed(project, evidence))]


def bill(project: Project, evidence: Evidence, way: Way, method: str, dollars: float) -> Bill:
    """Everything that is paid where so many dollars of labels are bought in one way.

    dollars: of training labels, the set-up excluded; their lines add up to it. What each question
    costs is told for one person, and redundancy, the other people who answer it, is a line of its
    own. Raises BadInput where the price list has no price for what is asked.
    """
    if method not in evidence.methods and not any(
        run.reference and run.method == method for run in evidence.runs
    ):
        raise BadInput(f"no curve of {method!r}; measured are {', '.join(evidence.methods)}")
    ladder = evidence.ladder(way, project.prices)
    amount = evidence.amount(way, dollars, project.prices, project.images)
    lines = [*_labels(ladder, dollars, project, amount)]
    if project.image_price:
        lines.append(_obtained(amount.images, "training", project.image_price))
    return Bill((*lines, *_fixed(project, evidence)))


def _labels(ladder: Ladder, dollars: float, project: Project, amount: Amount) -> Iterator[BillLine]:
    """Questions by kind for one person, then the other people, then what is added to both."""
    people, parts, prices = ladder.workers, ladder.shares(dollars, project.images), project.prices
    more = 0.0
    for kind, (share, count) in parts.items():
        if kind in WORK:
            first = share * dollars / (1 if kind == "labels" else people)
            more += share * dollars - first
            if abs(count - amount.labels) <= ladder.classes:
                count = amount.labels  # one for each label, of whole images
            yield BillLine(WORK[kind][0], first, _how(kind, count, ladder, prices))
    if people > 1 and more:
        told = f"{people - 1} more {'people answer' if people > 2 else 'person answers'} everything"
        yield BillLine("redundancy", more, f"{told}; {people} in all")
    if ASSURANCE in parts:
        told = f"{100 * prices.qa:g} % of what the questions cost"
        yield BillLine(ASSURANCE, parts[ASSURANCE][0] * dollars, told)


def _how(kind: str, count: float, ladder: Ladder, prices: Prices) -> str:
    """ "2,000 looks, each 0.3011 s at $15 an hour"."""
    counted = several(round(count), WORK[kind][1].removesuffix("s"))
    rate = prices.image if kind == IMAGES else prices.rates.get(kind)
    if rate is None:
        return counted
    room = f", {100 * ladder.pages[kind]:.0f} % full" if kind in ladder.pages else ""
    return f"{counted}, {_rate(rate, prices)}{room}"


def _rate(rate: Rate, prices: Prices) -> str:
    units = {"page": f"a page of {rate.page}", "image": "an image"}
    unit = units.get(rate.per, "a question")
    if rate.dollars is not None:
        return f"${rate.dollars:g} {unit}"
    assert rate.seconds is not None and prices.wage is not None
    return f"{rate.seconds:g} s {unit} at ${prices.wage:g} an hour"


def _fixed(project: Project, evidence: Evidence) -> Iterator[BillLine]:
    prices, classes = project.prices, len(evidence.classes)
    if prices.setup or prices.setup_class:
        each = f" and ${prices.setup_class:g} for each of {classes} classes"
        told = f"${prices.setup:g} for the project{each if prices.setup_class else ''}, once"
        yield BillLine("set-up", prices.setup + prices.setup_class * classes, told)
    sets = []
    if project.validation_images:
        sets.append(("validation set", project.validation_images, ""))
    if project.precision is not None:
        images = _needed(project.precision, _shares(project, evidence))
        told = f", for mAP to ±{project.precision:g} points (95 %)"
        sets.append(("test set", images, told))
    for name, images, told in sets:
        dollars = cost(_swept(images, classes), prices.once_set_up()).dollars
        yield BillLine(name, dollars, f"{several(images, 'image')} labelled completely{told}")
    if sets and project.image_price:
        yield _obtained(sum(n for _, n, _ in sets), "validation and test", project.image_price)
    if project.gpu_price:
        yield _computed(project, evidence)


def _obtained(images: int, what: str, price: float) -> BillLine:
    told = f"{several(images, 'image')} to be obtained at ${price:g} each"
    return BillLine(f"images for {what}", images * price, told)


def _computed(project: Project, evidence: Evidence) -> BillLine:
    hours, told = project.gpu_hours, ""
    if hours is None:
        each = max(evidence.train_hours(method) for method in evidence.methods)
        if not each > 0:
            raise BadInput(
                "the runs do not tell how long a training took, by which hours of a GPU are "
                "counted; give gpu_hours (--gpu-hours)"
            )
        hours = each * project.rounds
        many = f" after each of {project.rounds} rounds" if project.rounds > 1 else ""
        told = (
            f", a training{many} as long as the pilot's longest where it ran, however much is "
            "bought; more images take longer, so give gpu_hours (--gpu-hours) for them"
        )
    rate = f"{hours:,.3g} hours at ${project.gpu_price:g}{told}"
    return BillLine("training", hours * project.gpu_price, rate)


def _shares(project: Project, evidence: Evidence) -> tuple[float, ...]:
    """(L,) of images that show each class."""
    classes = len(evidence.classes)
    if project.shares is not None:
        if len(project.shares) != classes:
            raise BadInput(
                f"shares has {len(project.shares)} numbers for {classes} classes; give one for each"
            )
        return project.shares
    if evidence.shares is None:
        raise BadInput(
            f"the runs do not tell how many images show each class, by which a test set for "
            f"{project.precision:g} points is sized; compare again with reference = true, or leave "
            "out precision where there is a test set"
        )
    return tuple(evidence.shares.tolist())


@lru_cache(maxsize=64)
def _needed(precision: float, shares: tuple[float, ...]) -> int:
    """Images of a test set that tells mAP to so many points; any price list tells as much."""
    return evaluation_set(precision, shares, "careful").images


def _swept(images: int, classes: int) -> Effort:
    counted = np.zeros(classes + 1, np.int64)
    counted[classes] = images
    return Effort({"sweep": counted}, np.zeros(classes, np.int64))


def _cents(dollars: float) -> str:
    return money(dollars) if dollars >= 1000 else f"${dollars:,.2f}"
