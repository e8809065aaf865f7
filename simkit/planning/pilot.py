"""The pilot: the images to label completely before there are any runs, and their precision.

Complete labels answer any question that a scheme asks about an image, so one purchase serves every
scheme: a comparison simulates each of them on the same images and bills it for its own questions.
"""

from __future__ import annotations

import json
import math
import tomllib
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simkit import data as datasets
from simkit import quantities
from simkit.annotate import schemes
from simkit.annotate.budget import Affordable, Ladder, amount_for, names_for
from simkit.annotate.evaluation_set import complete_cost, half_width, shares_of
from simkit.annotate.prices import Prices
from simkit.annotate.prices import prices as price_list
from simkit.annotate.schemes.full_subset import FullSubset
from simkit.annotate.simulate import simulate
from simkit.chance import Chance, below
from simkit.errors import BadInput
from simkit.history import versions
from simkit.labels.truth import Truth
from simkit.planning.costs import Staff
from simkit.planning.plan_page import command
from simkit.quantities import exact_money, percent, two_digits
from simkit.results.report import Page, Readable, Section, Table, render

# The defaults of the grids (schemes, methods and draws), and the texts of a plan.
_FILE = tomllib.loads(Path(__file__).with_name("pilot.toml").read_text("utf-8"))
SCHEMES, METHODS, DRAWS = _FILE["schemes"], _FILE["methods"], _FILE["draws"]
TEXTS = _FILE["texts"]
DATA_LINES = TEXTS["data"]
YOURS = "--data DATA --classes FILE"  # the user's, in a command of a message
STEPS = (0.04, 0.08, 0.16, 0.32, 0.64)  # of the price of complete labels; the reference is all
LEAST_STEPS = 3  # the fewest for a curve
APART = 1.2  # smallest ratio of dollars between distinct steps
ROOM = 1.25  # times the price of the smallest amount, as other images may cost more
DEAR = 4.0  # times the price of a label of complete ones: no random label is worth so much more

SHARE, MOST_SHARE = 0.15, 0.2  # of the budget: usual, and where that buys too few images
TEST = 0.25  # of the pilot's images are test images
LEAST = 160  # training images: the smallest step then has 6
MOST = 8_000  # images: 2,000 measure mAP well enough, and 6,000 start a curve
THIRD = 3  # at most one in so many of the existing images: the plan needs the rest
SMALLEST = math.ceil(LEAST / (1 - TEST))  # pilot, in images
MOST_SHOWN = 0.9  # largest frequency of a class in synthetic images

MOST_CLASSES = 100_000  # simulated in 1 GB
SIMULATED = 1500  # images on which schemes are priced; prices per image hardly depend on it
PLACES = 2_000_000  # (image, class) entries at most, for a run time of seconds
RARE = 10  # positive training images of a class, below which its AP says little
PAIRED = 0.5  # half-width of a paired difference over that of one mAP, measured (evaluation_set)
NEAR, FAR = 2.0, 11.0  # times the pilot: curves usually hold up to NEAR, and not beyond FAR


@dataclass(frozen=True)
class Steps:
    """The purchases of a scheme on the pilot's training images.

    Attributes
    ----------
    budgets
        Dollars of labels, ascending (a grid adds the set-up).
    images
        Number of asked images.
    labels
        Mean number of labels per asked image.
    """

    scheme: str
    budgets: tuple[float, ...]
    images: tuple[int, ...]
    labels: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class PilotPlan(Readable):
    """The images to label before there are any runs.

    Attributes
    ----------
    images, test_images
        Number of training and of test images to label completely.
    dollars_per_image, dollars, share
        Cost of one image and of all, and the latter as a share of the budget.
    hours, weeks
        Working time; None if the price list has no times, or without a number of annotators.
    set_up
        Additional dollars, once for the project.
    half_width
        Points of mAP: half-width of its 95 % confidence interval on the test images.
    rare
        Number of classes expected in fewer than 10 training images.
    steps, left_out
        Purchases of the schemes to compare, and a sentence for each other scheme.
    exist
        Number of existing images; None: unlimited.
    about
        The data of the simulation.
    command
        The command that repeats this plan.
    """

    budget: float
    prices: str
    wage: float | None
    classes: int
    images: int
    test_images: int
    dollars_per_image: float
    dollars: float
    share: float
    hours: float | None
    weeks: float | None
    set_up: float
    half_width: float
    rare: int
    steps: tuple[Steps, ...]
    left_out: tuple[str, ...]
    exist: int | None
    about: str
    command: str

    @property
    def remaining(self) -> int | None:
        """Number of images that remain for the plan; None: unlimited."""
        return None if self.exist is None else self.exist - self.images - self.test_images

    @property
    def rest(self) -> float:
        """Dollars, in whole cents, for the plan that follows, set-up included: at most the price of
        complete labels of all remaining images."""
        left = self.budget - self.dollars
        if self.remaining is not None:
            left = min(left, self.remaining * self.dollars_per_image + self.set_up)
        return math.floor(100 * left + 1e-6) / 100

    @property
    def times(self) -> float:
        """Completely labelled images that the rest pays for, as times the training images."""
        return (self.rest - self.set_up) / (self.images * self.dollars_per_image)

    @property
    def recommendation(self) -> str:
        """The pilot and its cost in a sentence."""
        return _text(TEXTS["recommendation"], plan=self)

    @property
    def everything(self) -> str:
        """How to label all images at once; "" if the budget does not pay for it."""
        return _text(TEXTS["everything"], plan=self)

    @property
    def grids(self) -> tuple[str, ...]:
        """Grids for `simkit compare` as TOML, one for all schemes with the same budgets."""
        alike: dict[tuple[float, ...], list[str]] = {}
        for one in self.steps:
            # Budgets are rounded up, to cents or finer for tiny ones, so that they suffice.
            rounded = (
                math.ceil(n * (dollars + self.set_up) - 1e-6) / n
                for dollars in one.budgets for n in [100 if dollars >= 1 else 10_000]
            )  # fmt: skip
            alike.setdefault(tuple(rounded), []).append(one.scheme)
        return tuple(
            _text(TEXTS["grid"], plan=self, place=place, names=names, budgets=budgets)
            for place, (budgets, names) in enumerate(alike.items(), 1)
        )

    @property
    def then(self) -> tuple[str, ...]:
        """Commands for the comparisons and for the plan with the rest of the budget."""
        places = range(1, len(self.grids) + 1)
        folders = [f"runs/{place}" for place in places] if len(places) > 1 else ["runs/"]
        compared = [
            f"simkit compare grid-{place}.toml --out {folder}"
            for place, folder in zip(places, folders, strict=True)
        ]
        rest, images = f"{self.rest:.2f}", self.remaining
        plan = command(*folders, budget=rest, images=images, prices=self.prices, wage=self.wage)
        return (*compared, plan)

    @property
    def page(self) -> Page:
        """The plan as answers and details."""
        answers = [(name, _text(text, plan=self)) for name, text in TEXTS["answers"].items()]
        title, day = _text(TEXTS["title"], plan=self), quantities.today().isoformat()
        return Page(title, tuple(answers), (), _details(self), command=self.command, about=day)

    def to_json(self) -> dict[str, Any]:
        """As plain values: fields and properties by their names."""
        derived = ("recommendation", "rest", "remaining", "times", "grids", "then")
        return dict(json.loads(json.dumps({n: getattr(self, n) for n in derived} | asdict(self))))


def plan_pilot(
    budget: float | str,
    *,
    prices: Prices | str = "hourly",
    data: str | None = None,
    classes: int | str | None = None,
    per_image: float | None = None,
    images: int | str | None = None,
    staff: Staff = Staff(),
    seed: int = 0,
) -> PilotPlan:
    """Plan the first images to label for a budget, before there are any runs.

    Parameters
    ----------
    budget : number or str
        Dollars for everything, such as 5000 or "$5,000".
    prices : Prices or str
        A price list, its name or its TOML file.
    data : str, optional
        Labelled data like yours, such as coco:train.json, in place of `classes` and `per_image`.
    classes : int or str, optional
        Number of classes.
    per_image : float, optional
        Mean number of present classes per image.
    images : int or str, optional
        Number of existing images, such as 10000 or "10k". Default: unlimited.
    staff : Staff
        Number, working hours and wage of the annotators.
    seed : int
        Seed of the simulation.

    Returns
    -------
    PilotPlan

    Raises
    ------
    BadInput
        Unless either data or classes and per_image are set; if the images are too few for a pilot;
        and for a budget that is too small (the message names a sufficient one and first steps).
    """
    money = quantities.dollars(budget, "budget")
    exist = None if images is None else quantities.count(images, "images")
    usual = price_list(prices)
    listed = staff.prices(usual)
    asked = listed.name if isinstance(prices, Prices) else prices
    truth, about = _described(data, classes, per_image, seed)
    L = truth.shape[1]
    set_up = listed.setup + listed.setup_class * L
    each = complete_cost(MOST, L, listed).dollars / MOST  # a bill of one image is rounded coarsely
    train, test = _divided(money, each, set_up=set_up, exist=exist)
    if not train:
        raise BadInput(_too_small(money, truth, listed, exist, asked))
    bill = complete_cost(train + test, L, listed)
    hours = None if bill.seconds is None else bill.seconds / 3600
    weeks = None if hours is None else hours / staff.week
    shares = shares_of(truth) if truth.counts.any() else np.zeros(L)
    # Without the user's wage, as a comparison uses the list itself.
    seen = truth.select(np.arange(min(truth.shape[0], train, SIMULATED, max(LEAST, PLACES // L))))
    with warnings.catch_warnings(action="ignore"):  # images without any class, unspent budgets
        made = [_steps(scheme, seen, usual.once_set_up(), train, seed) for scheme in SCHEMES]
    return PilotPlan(
        budget=money, prices=asked, wage=staff.dollars_an_hour, classes=L, images=train,
        test_images=test, dollars_per_image=each, dollars=bill.dollars,
        share=bill.dollars / money, hours=hours, weeks=weeks, set_up=set_up,
        # Shares come from similar data, so the numbers of positives are only expected values.
        half_width=half_width(test * shares, drawn=True),
        rare=int((truth.counts * train < RARE * truth.shape[0]).sum()),
        steps=tuple(one for one in made if isinstance(one, Steps)),
        left_out=tuple(f"{one}." for one in made if isinstance(one, str)), exist=exist, about=about,
        command=command(
            "--pilot", budget=money, data=data, classes=classes, per_image=per_image, images=exist,
            prices=asked, wage=staff.dollars_an_hour, annotators=staff.annotators,
            hours_a_week=staff.hours_a_week, seed=seed or None,
        ),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------
# Data like the user's


def _described(data: Any, classes: Any, per_image: Any, seed: int) -> tuple[Truth, str]:
    """Ground truth like the user's, and its description."""
    named = [value is not None for value in (data, classes, per_image)]
    if named not in ([True, False, False], [False, True, True]):
        raise BadInput(
            "a pilot is planned for data like yours; give either data (a labelled data set), or "
            "classes and per_image (how many of them an image shows on average), such as "
            "--classes 80 --per-image 2.9"
        )
    if data is not None:
        opened = datasets.open(data)
        return opened.truth[opened.to_label], f"the {opened.to_label} split of {opened.name}"
    count = quantities.count(classes, "classes")
    return like(count, per_image, seed=seed), (
        f"{count:,} synthetic classes, {per_image:g} per image on average, with frequencies in "
        "proportion to 1 / rank; yours may be rarer or more frequent"
    )


def like(classes: int, per_image: float, *, seed: int = 0) -> Truth:
    """Synthetic ground truth with `per_image` present classes per image on average.

    The frequency of the class of rank r is proportional to 1 / r (Zipf's law, an assumption), at
    most 0.9, and classes are independent: the cost of schemes depends on the frequency of classes,
    and little on their co-occurrence.

    Parameters
    ----------
    classes, seed : int
        Number of classes, and the seed.
    per_image : float
        Mean number of present classes per image.

    Returns
    -------
    Truth
        1,500 images.

    Raises
    ------
    BadInput
        For fewer than two classes, and for a `per_image` out of range.
    """
    number = isinstance(per_image, int | float)
    few = classes < 2 or not number or not 0 < per_image <= MOST_SHOWN * classes
    if few or classes > MOST_CLASSES:
        raise BadInput(
            f"classes is {classes:,} and per_image {per_image!r}; 2 to {MOST_CLASSES:,} classes "
            "can be simulated, of which an image shows on average more than 0 and up to "
            f"{MOST_SHOWN:.0%}"
        )
    tail, most = 1 / np.arange(1.0, classes + 1), MOST_SHOWN * classes

    from scipy.optimize import brentq  # slow to load

    def over(scale: float) -> float:
        return float(np.minimum(MOST_SHOWN, scale * tail).sum()) - per_image

    scale = most if over(most) <= 0 else brentq(over, 0.0, most)
    chance, rows = Chance.seeded(seed).of("stand-in"), np.arange(SIMULATED)
    frequencies = np.minimum(MOST_SHOWN, scale * tail)
    shown = [below(chance(rows, c), share) for c, share in enumerate(frequencies)]
    return Truth.of(np.stack(shown, axis=1))


# ---------------------------------------------------------------------------------------------
# How many images


def _divided(budget: float, each: float, *, set_up: float, exist: int | None) -> tuple[int, int]:
    """Numbers of training and test images of a pilot, for complete labels at `each` dollars per
    image; none if the budget is too small. Its shares are of the budget without the set-up."""
    if not each:
        raise BadInput("complete labels cost nothing by this price list; label everything")
    usual, most = (int(share * (budget - set_up) / each + 1e-6) for share in (SHARE, MOST_SHARE))
    everything = math.inf if exist is None else exist * each + set_up
    if most < SMALLEST and THIRD * SMALLEST * each + set_up <= everything <= budget:
        least = math.ceil(_least(each, set_up))
        raise BadInput(
            f"budget is {exact_money(budget)}; a pilot takes complete labels of {SMALLEST:,} of "
            f"the {exist:,} images and at most {percent(MOST_SHARE)} of it after any set-up; raise "
            f"it to ${least:,}, or label all completely, for {exact_money(everything)}"
        )
    if everything < THIRD * SMALLEST * each + set_up:
        raise BadInput(
            f"images is {exist:,}, too few for a pilot, which takes at least {SMALLEST:,} of them "
            f"and at most a third of all and {percent(MOST_SHARE)} of the budget; label all "
            f"completely, for {exact_money(everything)}, or as many as the budget pays for"
        )
    many = min(max(usual, SMALLEST), MOST, exist // THIRD if exist else MOST)
    test = round(TEST * many)
    return (many - test, test) if most >= SMALLEST else (0, 0)


def least_budget(classes: int, prices: Prices) -> float:
    """The smallest budget, in dollars, that pays for a pilot with so many classes."""
    set_up = prices.setup + prices.setup_class * classes
    return _least(complete_cost(MOST, classes, prices).dollars / MOST, set_up)


def _least(each: float, set_up: float) -> float:
    """The smallest budget of a pilot, for complete labels at `each` dollars per image."""
    return each * SMALLEST / MOST_SHARE * (1 + 1e-9) + set_up


def _too_small(budget: float, truth: Truth, prices: Prices, exist: int | None, asked: str) -> str:
    """That a budget does not pay for a pilot, and the first steps that it pays for."""
    L, shares = truth.shape[1], truth.counts / truth.shape[0]

    few = bisect_right(range(1, L), budget, key=lambda count: least_budget(count, prices))
    enough, every = math.ceil(least_budget(L, prices)), None
    if exist is not None:
        every = complete_cost(exist, L, prices).dollars + prices.setup + prices.setup_class * L
        every = math.ceil(100 * every - 1e-6) / 100
    width = half_width(round(TEST * SMALLEST) * shares, drawn=True) * math.sqrt(L / max(few, 1))
    names, dollars = names_for(budget, L, prices, exist)
    return _text(
        TEXTS["too_small"], budget=budget, enough=enough, few=few, names=names,
        per_image=few * shares.mean(), half_width=width, prices=asked, answers=prices.workers,
        every=every if every is not None and every < enough else None, exist=exist,
        each_class=names * (np.diff(truth.present.indptr) > 0).mean() / L, dollars=dollars,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------
# The steps of every scheme


def _steps(scheme: str, truth: Truth, prices: Prices, images: int, seed: int) -> Steps | str:
    """The purchases of a scheme, or the reason to leave it out.

    They are billed as if there were `images` of these images; `prices` exclude the set-up.
    """
    (count, L), each = truth.shape, complete_cost(1, truth.shape[1], prices).dollars

    def buy(shares: Sequence[float]) -> tuple[list[float], list[Affordable]]:
        """The shares of the price of complete labels that pay for the smallest amount."""
        paid = [share for share in shares if share >= ROOM * first]
        # A step buys labels for at least its price.
        dollars = [share * count * each * (1 + 1e-9) for share in paid]
        return paid, [amount_for(one, truth, scheme, prices, seed=seed) for one in dollars]

    try:
        simulated = partial(simulate, truth, seed=seed)
        bill = Ladder.of(simulated, truth.shape, scheme, prices).least().cost
    except BadInput as error:
        return f"{scheme} is left out: {error}"
    first = bill.dollars / (count * each)
    shares, bought = buy(STEPS)
    end = bought[-1].cost.dollars / (count * each) if bought else 1.0
    if end < APART * STEPS[1]:  # the questions run out before the third step
        shares, bought = buy([end * share / STEPS[-1] for share in STEPS])
    if len({one.cost.dollars for one in bought}) < LEAST_STEPS:
        return (
            f"{scheme} is left out: its smallest amount costs {percent(first)} of complete "
            f"labels of these images, so that fewer than {LEAST_STEPS} steps can be bought"
        )
    asked = [int(one.labels.asked.sum()) for one in bought]
    known = [one.labels.codes.nnz for one in bought]
    middle = len(bought) // 2
    dollars, useless = bought[middle].cost.dollars, f"{scheme} is left out: by these prices "
    if scheme != FullSubset.name and dollars >= asked[middle] * each * (1 - 1e-9):
        return useless + "complete labels of the images that it asks about cost no more"
    times = dollars * L / (max(known[middle], 1) * each)
    if schemes.make(scheme).amount == "keep" and times >= DEAR:
        return useless + f"one of its labels costs {times:.0f} times one of complete labels"
    return Steps(
        scheme,
        tuple(share * each * images for share in shares),
        tuple(round(many * images / count) for many in asked),
        tuple(labels / many for labels, many in zip(known, asked, strict=True)),
    )


def _details(plan: PilotPlan) -> tuple[Section, ...]:
    reasons = [_text(text, plan=plan) for text in TEXTS["reasons"]]
    rows = tuple(
        (one.scheme, ", ".join(f"{count:,}" for count in one.images),
         ", ".join(two_digits(count) for count in one.labels))
        for one in plan.steps
    )  # fmt: skip
    table = Table("", ("scheme", "images asked about", "labels per image"), rows)
    steps = "What each scheme buys on the training images"
    package = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        Section("Why this pilot", items=(*filter(None, reasons), *plan.left_out)),
        Section(steps, (_text(TEXTS["steps"]),), table=table),
        Section("Grids and commands", code="\n\n".join([*plan.grids, "\n".join(plan.then)])),
        Section("How this was made", (f"Simulated on {plan.about}.", f"{package}.")),
    )


def _text(text: str, **values: Any) -> str:
    """A text of the file, with these values and the constants of this module."""
    constants = {name: value for name, value in globals().items() if name.isupper()}
    return render(text, constants | values)
