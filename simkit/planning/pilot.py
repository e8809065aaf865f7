"""The pilot: the images to label completely before there are any runs, and their precision.

Complete labels answer any question that a scheme asks about an image, so one purchase serves every
scheme: a comparison simulates each of them on the same images and bills it for its own questions.
"""

from __future__ import annotations

import json
import math
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

from simkit import data as datasets
from simkit import quantities
from simkit.annotate import schemes
from simkit.annotate.budget import Affordable, Ladder, amount_for
from simkit.annotate.evaluation_set import half_width, shares_of
from simkit.annotate.prices import Cost, Prices, cost
from simkit.annotate.prices import prices as price_list
from simkit.annotate.schemes.full_subset import FullSubset
from simkit.annotate.simulate import simulate
from simkit.chance import Chance, below
from simkit.errors import BadInput
from simkit.history import versions
from simkit.labels.effort import Effort
from simkit.labels.truth import Truth
from simkit.planning.costs import Staff
from simkit.planning.plan_figure import Page, Readable, Section, Table, command

# The defaults of the grids: schemes, methods and draws.
_GRID = tomllib.loads(Path(__file__).with_name("pilot.toml").read_text("utf-8"))
SCHEMES, METHODS, DRAWS = _GRID["schemes"], _GRID["methods"], _GRID["draws"]
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


DATA_LINES = """\
data = "YOURS"  # such as "coco:train=train.json,val=test.json,test=test.json,images=pictures"
# backbone = "resnet50"  # the network for your images; see `simkit list backbones`
# weights = "imagenet"  # or a file of weights for it"""  # val is there so that train stays whole


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
        PriceCurve of the schemes to compare, and a sentence for each other scheme.
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
        text = (
            f"abel {self.images:,} images completely for training and {self.test_images:,} for "
            f"testing, for ${self.dollars:,.2f} ({_percent(self.share)} of the budget)"
        )
        text += f" and ${self.set_up:,.2f} of set-up" if self.set_up else ""
        text += f" by the price list {self.prices}."
        everything = (self.exist or math.inf) * self.dollars_per_image + self.set_up
        if everything > self.budget:
            return f"L{text}"
        return (
            f"Label everything: complete labels of all {self.exist:,} images cost "
            f"${everything:,.2f}, and the budget pays for them. To see first whether fewer "
            f"labels are enough, l{text}"
        )

    @property
    def grids(self) -> tuple[str, ...]:
        """Grids for `simkit compare` as TOML, one for all schemes with the same budgets."""
        alike: dict[tuple[float, ...], list[str]] = {}
        for one in self.steps:
            alike.setdefault(tuple(_up(one.budgets, self.set_up)), []).append(one.scheme)
        notes = ["each with the set-up"] if self.set_up else []
        notes += [f"at the usual wage of {self.prices}"] if self.wage is not None else []
        return tuple(
            f"# grid-{place}.toml\n{DATA_LINES}\n"
            f"schemes = {json.dumps(names)}\nmethods = {json.dumps(METHODS)}\n"
            f"budgets = {json.dumps(budgets)}{'  # ' if notes else ''}{', '.join(notes)}\n"
            f"prices = {json.dumps(self.prices)}\ndraws = {DRAWS}"
            + ("" if place == 1 else "\nreference = false  # grid-1.toml has it")
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
        return _page(self)

    def to_json(self) -> dict[str, Any]:
        """As plain values: every field and property by its name."""
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
        A labelled data set similar to the user's, as for `simkit.data.open`; without one,
        `classes` and `per_image` describe the data.
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
        and for a budget that is too small (the message names a sufficient one).
    """
    money = quantities.dollars(budget, "budget")
    exist = None if images is None else quantities.count(images, "images")
    usual = prices if isinstance(prices, Prices) else price_list(prices)
    listed = staff.prices(usual)
    asked = listed.name if isinstance(prices, Prices) else prices
    truth, about = _described(data, classes, per_image, seed)
    L = truth.shape[1]
    set_up = listed.setup + listed.setup_class * L
    each = complete_cost(MOST, L, listed).dollars / MOST  # a bill of one image is rounded coarsely
    train, test = _divided(money, each, set_up=set_up, exist=exist)
    bill = complete_cost(train + test, L, listed)
    hours = None if bill.seconds is None else bill.seconds / 3600
    week = staff.week
    weeks = None if hours is None or week is None else hours / week
    # Without the user's wage, as a comparison uses the list itself.
    shares = shares_of(truth) if truth.counts.any() else np.zeros(L)
    steps, left_out = _all_steps(truth, usual, train, seed)
    return PilotPlan(
        budget=money, prices=asked, wage=staff.dollars_an_hour, classes=L, images=train,
        test_images=test, dollars_per_image=each, dollars=bill.dollars,
        share=bill.dollars / money, hours=hours, weeks=weeks, set_up=set_up,
        # Shares are those of similar data, so the numbers of positives are only expected ones.
        half_width=half_width(test * shares, drawn=True),
        rare=int((truth.counts * train < RARE * truth.shape[0]).sum()),
        steps=steps, left_out=left_out, exist=exist, about=about,
        command=command(
            "--pilot", budget=money, data=data, classes=classes, per_image=per_image, images=exist,
            prices=asked, wage=staff.dollars_an_hour, people=staff.people,
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
    if classes > MOST_CLASSES:
        raise BadInput(
            f"classes is {classes:,}; at most {MOST_CLASSES:,} are simulated; plan for fewer"
        )
    number = isinstance(per_image, int | float)
    if classes < 2 or not number or not 0 < per_image <= MOST_SHOWN * classes:
        raise BadInput(
            f"classes is {classes:,} and per_image {per_image!r}; 2 classes or more are expected, "
            f"and of those an image shows on average more than 0 and up to {MOST_SHOWN:.0%}"
        )
    tail, most = 1 / np.arange(1.0, classes + 1), MOST_SHOWN * classes

    def over(scale: float) -> float:
        return float(np.minimum(MOST_SHOWN, scale * tail).sum()) - per_image

    scale = most if over(most) <= 0 else brentq(over, 0.0, most)
    chance, rows = Chance.seeded(seed).of("stand-in"), np.arange(SIMULATED)
    frequencies = np.minimum(MOST_SHOWN, scale * tail)
    shown = [below(chance(rows, c), share) for c, share in enumerate(frequencies)]
    return Truth.of(np.stack(shown, axis=1))


# ---------------------------------------------------------------------------------------------
# How many images


def complete_cost(images: int, classes: int, prices: Prices) -> Cost:
    """The bill of complete labels, without the set-up."""
    histogram = np.zeros(classes + 1, np.int64)
    histogram[classes] = images
    effort = Effort({"sweep": histogram}, np.zeros(classes, np.int64), None)
    return cost(effort, prices.once_set_up())


def _divided(budget: float, each: float, *, set_up: float, exist: int | None) -> tuple[int, int]:
    """Numbers of training and test images of a pilot, for complete labels at `each` dollars per
    image. Its shares are of the budget without the set-up. Raises BadInput."""
    if not each:
        raise BadInput("complete labels cost nothing by this price list; label everything")
    usual, most = (int(share * (budget - set_up) / each + 1e-6) for share in (SHARE, MOST_SHARE))
    everything = math.inf if exist is None else exist * each + set_up
    if everything < THIRD * SMALLEST * each + set_up or (most < SMALLEST and everything <= budget):
        raise BadInput(
            f"images is {exist:,}, too few for a pilot, which takes at least {SMALLEST:,} of them "
            f"and at most a third of all and {_percent(MOST_SHARE)} of the budget; label all "
            f"completely, for ${everything:,.2f}, or as many as the budget pays for"
        )
    if most < SMALLEST:
        enough = math.ceil(SMALLEST * each / MOST_SHARE * (1 + 1e-9) + set_up)
        raise BadInput(
            f"budget is ${budget:,.15g}; a pilot takes complete labels of {SMALLEST:,} images, at "
            f"${each:,.2f} each, and at most {_percent(MOST_SHARE)} of it after any set-up; raise "
            f"it to ${enough:,}, or plan with runs on a public data set like yours"
        )
    many = min(max(usual, SMALLEST), MOST, exist // THIRD if exist else MOST)
    test = round(TEST * many)
    return many - test, test


# ---------------------------------------------------------------------------------------------
# The steps of every scheme


def _all_steps(
    truth: Truth, prices: Prices, images: int, seed: int
) -> tuple[tuple[Steps, ...], tuple[str, ...]]:
    """The steps of every scheme, and a sentence for each scheme that is left out."""
    N, L = truth.shape
    seen = truth.select(np.arange(min(N, images, SIMULATED, max(LEAST, PLACES // L))))
    pool = _Pool(seen, prices.once_set_up(), complete_cost(1, L, prices).dollars, images, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of images without any class, and of unspent budgets
        made = [pool.steps(scheme) for scheme in SCHEMES]
    steps = tuple(one for one in made if isinstance(one, Steps))
    return steps, tuple(f"{one}." for one in made if isinstance(one, str))


@dataclass(frozen=True, eq=False)
class _Pool:
    """The images of the simulation, billed as if there were `images` of them.

    prices: without the set-up; each: dollars for complete labels of one image.
    """

    truth: Truth
    prices: Prices
    each: float
    images: int
    seed: int

    def steps(self, scheme: str) -> Steps | str:
        """The purchases of a scheme, or the reason to leave it out."""
        count = self.truth.shape[0]
        try:
            simulated = partial(simulate, self.truth, seed=self.seed)
            bill = Ladder.of(simulated, self.truth.shape, scheme, self.prices).least()
        except BadInput as error:
            return f"{scheme} is left out: {error}"
        first = bill.dollars / (count * self.each)
        shares = [share for share in STEPS if share >= ROOM * first]
        bought = [self._bought(scheme, share) for share in shares]
        end = bought[-1].cost.dollars / (count * self.each) if bought else 1.0
        if end < APART * STEPS[1]:  # the questions run out before the third step
            scaled = [end * share / STEPS[-1] for share in STEPS]
            shares = [share for share in scaled if share >= ROOM * first]
            bought = [self._bought(scheme, share) for share in shares]
        if len({one.cost.dollars for one in bought}) < LEAST_STEPS:
            return (
                f"{scheme} is left out: its smallest amount costs {_percent(first)} of complete "
                f"labels of these images, so that fewer than {LEAST_STEPS} steps can be bought"
            )
        if why := self._pointless(scheme, bought[len(bought) // 2]):
            return f"{scheme} is left out: by these prices {why}"
        asked = [int(one.labels.asked.sum()) for one in bought]
        return Steps(
            scheme,
            tuple(share * self.each * self.images for share in shares),
            tuple(round(many * self.images / count) for many in asked),
            tuple(one.labels.codes.nnz / many for one, many in zip(bought, asked, strict=True)),
        )

    def _bought(self, scheme: str, share: float) -> Affordable:
        dollars = share * self.truth.shape[0] * self.each * (1 + 1e-9)  # no less than its own price
        return amount_for(dollars, self.truth, scheme, self.prices, seed=self.seed)

    def _pointless(self, scheme: str, bought: Affordable) -> str:
        """The reason why a scheme cannot be worth its price, or ""."""
        dollars, asked = bought.cost.dollars, int(bought.labels.asked.sum())
        if scheme != FullSubset.name and dollars >= asked * self.each * (1 - 1e-9):
            return "complete labels of the images that it asks about cost no more"
        times = dollars * self.truth.shape[1] / (max(bought.labels.codes.nnz, 1) * self.each)
        if schemes.make(scheme).amount == "keep" and times >= DEAR:
            return f"one of its labels costs {times:.0f} times one of complete labels"
        return ""


# ---------------------------------------------------------------------------------------------
# The page


def _page(plan: PilotPlan) -> Page:
    time = "" if plan.hours is None else f" This takes {_figures(plan.hours)} hours of work"
    time += "" if plan.weeks is None else f", {_figures(plan.weeks)} weeks"
    package = ", ".join(f"{name} {version}" for name, version in versions().items())
    return Page(
        f"The pilot to label first for ${plan.budget:,.15g}: {plan.classes:,} classes",
        (
            ("Spend", f"{plan.recommendation}{time}{'.' if time else ''}"),
            ("Expect", _expect(plan)),
            ("Left", _left(plan)),
            ("Range", _range(plan)),
            ("Trust", _trust(plan)),
            ("Next step", _next(plan)),
        ),
        (),
        (
            Section("Why this pilot", items=tuple(_reasons(plan))),
            _bought(plan),
            Section("Grids and commands", code="\n\n".join([*plan.grids, "\n".join(plan.then)])),
            Section("How this was made", (f"Simulated on {plan.about}.", f"{package}.")),
        ),
        command=plan.command,
    )


def _percent(share: float) -> str:
    return "less than 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def _figures(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _up(budgets: Sequence[float], set_up: float) -> Iterator[float]:
    """Dollars with the set-up, rounded up so that they suffice."""
    for dollars in budgets:
        digits = 100 if dollars >= 1 else 10_000
        yield math.ceil(digits * (dollars + set_up) - 1e-6) / digits


def _expect(plan: PilotPlan) -> str:
    names = [one.scheme for one in plan.steps]
    what = f"each of {len(names)} schemes ({', '.join(names)})" if names[1:] else "complete labels"
    missing = ", ".join(scheme for scheme in SCHEMES if scheme not in names)
    remark = f"; the details say why {missing} is left out" if missing else ""
    return (
        f"The start of a curve for {what} with each of {len(METHODS)} methods{remark}. On "
        f"{plan.test_images:,} test images mAP is known to about ±{plan.half_width:.1f} points; "
        f"a difference between two models is significant above {PAIRED * plan.half_width:.1f}."
    )


def _left(plan: PilotPlan) -> str:
    unused = plan.budget - plan.dollars - plan.rest
    if unused <= 1:
        return f"${plan.rest:,.2f} for the plan afterwards."
    return (
        f"Complete labels of the other {plan.remaining:,} images cost ${plan.rest:,.2f}, so "
        f"${unused:,.2f} of the budget is not needed."
    )


def _range(plan: PilotPlan) -> str:
    means = "so buy in rounds and plan again after each"
    if plan.times <= NEAR:
        means = "a distance at which curves usually hold"
    elif plan.times > FAR:
        means = "too far to predict: buy a first round, compare again, and plan the rest"
    times = f"{_figures(plan.times)} times the labels of the pilot's training images"
    return f"The plan covers up to {times}, {means}."


def _trust(plan: PilotPlan) -> str:
    text = (
        "The number of images follows from budget and prices alone. The precision of mAP and the "
        f"purchases of each scheme are simulated on {plan.about}."
    )
    if plan.rare:
        text += (
            f" {plan.rare:,} of {plan.classes:,} classes are expected in fewer than {RARE} "
            "training images: the pilot says little about these."
        )
    return text


def _next(plan: PilotPlan) -> str:
    pool = "all that you have" if plan.exist is None else f"your {plan.exist:,}"
    return (
        f"Pick {plan.images + plan.test_images:,} images at random from {pool} and label every "
        f"class of each. Make {plan.test_images:,} of them, at random, the test split and the "
        f"others the training split. Enter your data in the grid{'s' if plan.grids[1:] else ''} "
        f"(in the details), and run: {'; '.join(plan.then)}"
    )


def _reasons(plan: PilotPlan) -> Iterator[str]:
    yield (
        f"A pilot takes {_percent(SHARE)} of the budget (up to {_percent(MOST_SHARE)} where that "
        f"buys fewer than {SMALLEST:,} images), but at most a third of the images that exist, and "
        f"{MOST:,}: enough to start a curve and to measure mAP well. A quarter are test images."
    )
    yield (
        "Complete labels answer any question that a scheme asks: every scheme is simulated on the "
        f"same {plan.images:,} images and priced as if its labels had been bought. The {DRAWS} "
        "draws of each step take different parts of the same labels, at no extra cost."
    )
    if plan.set_up:
        yield (
            f"The set-up (${plan.set_up:,.2f}) is paid once, with the plan: the "
            f"${plan.rest:,.2f} left for it include the set-up, as does every budget of the grids."
        )
    yield from plan.left_out


def _bought(plan: PilotPlan) -> Section:
    rows = tuple(
        (one.scheme, ", ".join(f"{count:,}" for count in one.images),
         ", ".join(_figures(count) for count in one.labels))
        for one in plan.steps
    )  # fmt: skip
    shares = ", ".join(f"{100 * share:g}" for share in STEPS)
    text = (
        f"Steps are {shares} % of the price of complete labels, without those that do not pay for "
        "the smallest amount of a scheme. A scheme whose questions run out for much less has "
        "smaller steps, up to that price. The reference is complete labels."
    )
    table = Table("", ("scheme", "images asked about", "labels per image"), rows)
    return Section("What each scheme buys on the training images", (text,), table=table)
