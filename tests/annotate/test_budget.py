"""The amount for a budget: the largest that fits, found in a few simulations."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from simkit.annotate import budget as module
from simkit.annotate import crowd
from simkit.annotate.annotators import Habits
from simkit.annotate.budget import Ladder, amount_for, assumed, free_scores, largest_affordable
from simkit.annotate.prices import Prices, Rate, cost, prices
from simkit.annotate.schemes import make
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.effort import Effort
from simkit.labels.truth import Truth
from simkit.quantities import money
from tests.annotate.conftest import random_truth

TRUTH = random_truth(N=400, L=10, seed=8)


@pytest.fixture
def simulations(monkeypatch) -> list[str]:
    """Every simulation that a search for an amount makes."""
    made: list[str] = []

    def counting(truth, scheme, **settings):
        made.append(str(scheme))
        return simulate(truth, scheme, **settings)

    monkeypatch.setattr(module, "simulate", counting)
    return made


def next_amount(bought, truth):
    """The cost in dollars of the next larger amount."""
    scheme, images = bought.scheme, bought.images
    if scheme.amount == "per_class":
        scheme = make("fpc", **{**vars(scheme), "per_class": scheme.per_class + 1})
    elif scheme.amount == "keep":
        scheme = make("rpa", keep=scheme.keep + 1e-4)
    else:
        images += 1
    return cost(simulate(truth, scheme, images=images), bought.cost.prices).dollars


QUESTIONS = {  # by the number of images, with the trials that five budgets take
    "even": (lambda images: images, 4, 3, 4, 5, 4),
    "slow": (lambda images: math.isqrt(images), 9, 20, 3, 3, 3),
    "fast": (lambda images: images**2, 4, 11, 9, 7, 2),
    "flat": (lambda images: min(images, 500) + images // 5000, 4, 3, 14, 4, 3),
    "late": (lambda images: max(0, images - 7000), 21, 19, 23, 17, 3),
}


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_search_finds_the_largest_amount_in_few_trials(name, place):
    """Costs that grow evenly, flatten, accelerate, stand still, or begin late."""
    (count, *most), dollars, tried = QUESTIONS[name], (3, 90, 499, 2_500, 9_999)[place], []
    listed = Prices("one", "a dollar", 1, {"verify": Rate("question", dollars=1.0)})

    def annotate(scheme, images):
        tried.append(images)
        return Effort({"verify": np.bincount([1], [count(images)]).astype(int)}, np.zeros(1, int))

    ladder = Ladder.of(annotate, (10_000, 1), "single-positive", listed)
    best, above = largest_affordable(ladder, dollars)
    affordable = [images for images in range(1, 10_001) if count(images) <= dollars]
    assert best.images == affordable[-1] and best.spent == count(best.images)
    assert (above and above.images) == (best.images + 1 if best.images < 10_000 else None)
    assert len(tried) == len({*tried}) <= most[place]


@pytest.mark.parametrize("scheme", ["knowledge-graph", "machine", "picked(by=coverage)"])
def test_amounts_of_schemes_that_need_more_than_labels(scheme, closed, diamond):
    rng = np.random.default_rng(0)
    given = {
        "hierarchy": diamond, "features": rng.standard_normal((closed.shape[0], 5)),
        "scores": rng.standard_normal(closed.shape),
    }  # fmt: skip
    made = make(scheme)
    used = {name: given[name] for name in given if getattr(made, f"needs_{name}")}
    assert used
    budget = 0.8 * cost(simulate(closed, made, **used), "hourly").dollars
    bought = amount_for(budget, closed, made, "hourly", **used)
    again = simulate(closed, bought.scheme, images=bought.images, **used)
    assert bought.labels.id == again.id
    assert 0.5 * budget < bought.cost.dollars <= budget


@pytest.mark.parametrize(
    ("budget", "counted"),
    [
        (360_000.0, "of 100.00 hours"),
        (7200.0, "of 2.00 hours"),
        (3600.0, "of 1.00 hours"),
        (3599.0, "of 3,599.00 seconds"),
    ],
)
def test_money_that_is_left_is_named_in_the_unit_of_the_budget(budget, counted):
    truth = random_truth(N=20, L=3)
    exactly = cost(simulate(truth, "full-subset"), "hourly").seconds
    least = f"{exactly / 3600:.2f}" if budget >= 3600 else f"{exactly:.2f}"
    with pytest.warns(UserWarning, match=f"full-subset can spend {least} {counted}; everything"):
        bought = amount_for(budget, truth, "full-subset", "hourly", unit="seconds")
    assert bought.images == 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        amount_for(exactly, truth, "full-subset", "hourly", unit="seconds")


def test_the_bill_of_the_smallest_amount_with_a_question():
    listed = Prices("one", "a dollar", 1, {"verify": Rate("question", dollars=1.0)})
    for free, least in ((0, 1), (99, 100), (600, 1000), (20_000, 0)):

        def annotate(scheme, images, free=free):
            return Effort({"verify": np.bincount([1], [max(0, images - free)]).astype(int)},
                          np.zeros(1, int))  # fmt: skip

        bill = Ladder.of(annotate, (5_000, 1), "single-positive", listed).least().cost
        assert bill.dollars == max(0, least - free)


@pytest.mark.filterwarnings("ignore:fpc")
@pytest.mark.parametrize(
    "scheme", ["rpa", "fpc", "fpc(search=random)", "single-positive", "full-subset"]
)
@pytest.mark.parametrize("name", ["openimages", "google", "aws"])
@pytest.mark.parametrize("share", [0.05, 0.6])
def test_the_largest_amount_that_fits(scheme, name, share, simulations):
    everything = {"rpa": "rpa(keep=1)", "fpc": "fpc(per_class=400)"}.get(scheme, scheme)
    budget = share * cost(simulate(TRUTH, everything), name).dollars
    bought = amount_for(budget, TRUTH, scheme, name)
    assert len(simulations) <= 20
    assert bought.cost.dollars <= budget < next_amount(bought, TRUTH)
    # What was bought is what the amount gives when it is simulated again.
    again = simulate(TRUTH, bought.scheme, images=bought.images)
    assert bought.labels.id == again.id
    assert bought.cost == cost(again, name)


def test_by_hand():
    # One pass of 10 classes is $0.035 an image at Google: $1 buys 28 images, and $0.98 exactly 28.
    for budget in (1, 0.98):
        bought = amount_for(budget, TRUTH, "full-subset", "google")
        assert bought.images == 28 and bought.labels.asked.sum() == 28
    # A person takes 10 s for an image: 95 s are 9 images.
    bought = amount_for(95, TRUTH, "full-subset", "careful", unit="seconds")
    assert bought.images == 9 and bought.cost.seconds == 90


def test_settings_are_kept():
    habits = Habits(miss=0.2, workers=3)
    bought = amount_for(
        10, TRUTH, "fpc(search=random)", "openimages", images=0.5, habits=habits, seed=4, draw=1
    )
    assert bought.scheme.search == "random" and bought.images == 200
    labels = simulate(TRUTH, bought.scheme, images=200, habits=habits, seed=4, draw=1)
    assert bought.labels.id == labels.id and bought.cost.workers == 3


@pytest.mark.parametrize(
    "scheme,amount", [("rpa", 1.0), ("fpc", 400), ("single-positive", None), ("full-subset", None)]
)
def test_more_than_the_scheme_can_spend_buys_everything(scheme, amount, simulations):
    with pytest.warns(UserWarning, match="everything was bought") as heard:
        bought = amount_for(5000, TRUTH, scheme, "careful")
    assert f"{bought.cost.dollars:,.2f} of 5,000" in str(heard[-1].message)
    assert all(w.filename == __file__ for w in heard)
    assert bought.images == 400
    assert amount is None or getattr(bought.scheme, bought.scheme.amount) == amount
    assert len(simulations) <= 20


@pytest.mark.parametrize(
    "spec",
    ["federated", "federated(ratio=0.1, exponent=0.5)", "federated(ratio=3)", "proposals",
     "proposals(precision=0.1)", "fraction-of-positives", "fraction-of-positives(ratio=0.5)"],
)  # fmt: skip
def test_everything_is_more_than_any_amount_buys(spec, simulations):
    # Not one dollar more could be spent: amounts far beyond buy the same labels.
    with pytest.warns(UserWarning, match="everything was bought"):
        bought = amount_for(5000, TRUTH, spec, "careful")
    assert len(simulations) <= 20
    beyond = {"per_class": 10**12, "per_image": 10**4, "keep": 1.0}[bought.scheme.amount]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = simulate(TRUTH, replace(bought.scheme, **{bought.scheme.amount: beyond}))
    assert more.id == bought.labels.id


def test_only_the_warnings_of_what_was_bought_are_heard():
    rare = np.zeros((100, 2), bool)
    rare[:, 0] = True
    rare[:3, 1] = True
    # 172 looks are paid for. With k = 84 there are 84 at the first class, of which all candidates
    # are true, and 3 + 84 at the second.
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        amount_for(1.0, Truth.of(rare), "fpc", "openimages")
    (warning,) = heard
    assert "1 of 2 classes are in fewer than 84 images" in str(warning.message)


@pytest.mark.parametrize(
    "arguments,settings,message",
    [
        ((0.01, "full-subset", "google"), {}, "a budget of $0.01 buys nothing of full-subset"),
        ((0, "fpc", "openimages"), {}, "a budget of $0 buys nothing of fpc, whose smallest"),
        ((-5, "rpa", "aws"), {}, "budget is -5"),
        (("5", "rpa", "aws"), {}, "the budget is '5'"),
        ((5, "rpa", "aws"), {"unit": "euros"}, "no unit is called 'euros'"),
        ((5, "rpa", "aws"), {"unit": "seconds"}, "price list 'aws' has no times"),
        ((5, "rpb", "aws"), {}, "no scheme is called 'rpb'"),
    ],
)
def test_budgets_that_buy_nothing(arguments, settings, message):
    budget, scheme, listed = arguments
    with pytest.raises(BadInput) as error:
        amount_for(budget, TRUTH, scheme, listed, **settings)
    assert message in str(error.value)


def by_image(**price: float) -> Prices:
    once = 7.0 if "seconds" in price else 0.0  # which is no part of a budget of time
    return Prices("one", "one", 1, {"sweep": Rate("image", **price)}, wage=9, setup=once)


@pytest.mark.parametrize(
    ("listed", "unit", "words"),
    [
        (by_image(dollars=1.23456), "dollars", ", whose smallest amount costs $1.235"),
        (by_image(dollars=1234), "dollars", ", whose smallest amount costs $1,234"),
        (by_image(seconds=12.0), "seconds", ", whose smallest amount costs 12 s (0.003334 hours)"),
        (replace(prices("google"), setup=90.0, setup_class=0.5), "dollars",
         ", whose smallest amount costs $95.04 with $95 of set-up"),
    ],
)  # fmt: skip
def test_the_smallest_amount_is_named_so_that_it_suffices(listed, unit, words):
    with pytest.raises(BadInput) as error:
        amount_for(0.5, TRUTH, "full-subset", listed, unit=unit)
    budget = {"dollars": "$0.5", "seconds": "0.5 s"}[unit]
    said = f"a budget of {budget} buys nothing of full-subset{words}; raise the budget"
    assert str(error.value) == said


@pytest.mark.parametrize("scheme", ["rpa", "fpc", "full-subset"])
def test_more_than_can_be_written_down_is_not_bought(scheme, monkeypatch):
    monkeypatch.setattr(crowd, "LIMIT", 300)
    with pytest.warns(UserWarning, match="more than 300 answers"):
        bought = amount_for(5000, TRUTH, scheme, "careful")
    assert 250 < bought.labels.codes.nnz <= 300


def test_what_cannot_be_written_down_at_all_is_refused(monkeypatch):
    monkeypatch.setattr(crowd, "LIMIT", 5)
    with pytest.raises(BadInput, match=r"^this would store about 10 answers, and 5 are"):
        amount_for(5000, TRUTH, "full-subset", "careful")


@pytest.mark.parametrize("scheme", ["rpa", "fpc", "full-subset"])
@pytest.mark.filterwarnings("ignore")
def test_a_budget_pays_for_set_up_and_assurance_as_well(scheme):
    listed = replace(prices("openimages"), setup=90.0, setup_class=0.5, qa=0.5)
    once = 90 + 0.5 * TRUTH.shape[1]
    bought = amount_for(once + 3, TRUTH, scheme, listed)
    assert once + 2.5 < bought.cost.dollars <= once + 3
    # The same questions as for what is left of the money, without what is added to them.
    plain = amount_for(3 / 1.5, TRUTH, scheme, "openimages")
    assert bought.labels.id == plain.labels.id
    with pytest.raises(BadInput, match="buys nothing"):
        amount_for(once, TRUTH, scheme, listed)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("spec", ["fpc(per_class=8", "fpc(per_class=60", "federated(per_class=30"])
@pytest.mark.parametrize("images", [1.0, 250])
def test_the_price_of_a_search_at_random_needs_no_simulation(spec, images):
    rng = np.random.default_rng(0)
    truth = Truth.of(rng.random((600, 20)) < np.geomspace(0.02, 0.4, 20))
    said, paid = [], []
    for draw in range(20):
        how = {"images": images, "draw": draw}
        effort = simulate(truth, f"{spec})", **how).effort
        machine = assumed(make(f"{spec})"), effort, truth, "hourly", **how)
        assert machine.precision == 0.5
        said.append(machine.at_random)
        random = f"{spec}, search=random)"
        paid.append(cost(simulate(truth, random, **how), "hourly").dollars)
    assert np.mean(said) == pytest.approx(np.mean(paid), rel=0.06)
    assert assumed(make(random), effort, truth, "hourly") is None


def test_the_machine_that_is_assumed_is_said_with_its_precision():
    effort = simulate(TRUTH, "proposals(precision=0.25)").effort
    machine = assumed(make("proposals(precision=0.25)"), effort, TRUTH, "hourly")
    assert (machine.precision, machine.at_random) == (0.25, None)
    said = "assumes a free model that proposes images, 25% of which show the class"
    said += ": its labels cost $12"
    assert machine.text(12) == said
    assert replace(machine, at_random=345.0).text(12) == (
        f"{said}; without such a model, searched at random, $345"
    )
    for scheme in ("rpa", "fpc(search=random)", "full-subset"):
        assert assumed(make(scheme), effort, TRUTH, "hourly") is None


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scores_that_are_not_billed_are_said_with_their_price():
    logits = np.where(TRUTH.present.toarray(), 2.0, -2.0)
    for spec in ("fpc(per_class=2, search=scores)", "picked(share=0.5, by=uncertainty)"):
        effort = simulate(TRUTH, spec, scores=logits).effort
        said = free_scores(make(spec), effort, TRUTH, "hourly")
        assert said.endswith(f"400 images would cost {money(0.6)}")
    for spec in ("machine", "proposals(by=scores)", "rpa", "fpc(per_class=2)"):
        effort = simulate(TRUTH, spec, scores=logits).effort
        assert not free_scores(make(spec), effort, TRUTH, "hourly")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("per_class", "seconds"), [(3, 6), (4, 8), (5, 9)])
def test_the_last_of_four_images_is_found_after_eight_of_nine(per_class, seconds):
    truth, scheme = Truth.of((np.arange(9) < 4)[:, None]), make(f"fpc(per_class={per_class})")
    machine = assumed(scheme, simulate(truth, scheme).effort, truth, "hourly")
    assert machine.at_random == pytest.approx(seconds * 15 / 3600)
