"""What a plan recommends, on comparisons whose truth is known."""

import math
import re
import shutil
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from simkit import data as datasets
from simkit.annotate.annotators import Habits
from simkit.annotate.prices import prices
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.metrics.ap import LabelCounts
from simkit.planning.costs import Staff, count
from simkit.planning.curves import Curves
from simkit.planning.evidence import Evidence, Received
from simkit.planning.plan import plan
from simkit.results.method_facts import MethodFacts
from simkit.results.report import dollars, points
from simkit.results.test_split import TestSplit
from tests.planning import planted

POOL = 300


def test_classes_without_absent_test_labels_measure_nothing():
    counts = LabelCounts.of(np.array([[1, 1], [0, 1], [0, 1]]))
    split = TestSplit.of(3, counts, np.array([0.5, np.nan]), np.array([0.2, 0.2]), 6)
    assert split.measured == 0.5


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return planted.data(tmp_path_factory.mktemp("data"), POOL)


@pytest.fixture(scope="module")
def pilot(spec, tmp_path_factory):
    return planted.write(tmp_path_factory.mktemp("pilot"), spec)


@pytest.fixture(scope="module")
def erring(spec, tmp_path_factory):
    return planted.write(tmp_path_factory.mktemp("err"), spec, habits={"workers": 3, "miss": 0.1})


def test_plans_never_order_what_is_behind(pilot):
    """Complete labels of all images are affordable: a cheaper order must be shown to be as good."""
    made = plan(pilot, "$2,000", images="10,000", prices="openimages")
    assert made.curves.complete.dollars[-1] * 10_000 / POOL < 2000
    complete = max(
        (c for c in made.choice.every if c.option.complete), key=lambda c: (c.images, c.median)
    )
    assert complete.images == 10_000
    loss = complete.map - made.chosen.map
    assert (loss > 0.01).mean() <= 0.1
    assert made.chosen.dollars <= complete.dollars + 0.01


def test_orders_grow_with_the_budget(pilot):
    made = [plan(pilot, money, images=10_000, prices="openimages") for money in (30, 120, 500)]
    spent = [one.chosen.dollars for one in made]
    reached = [one.chosen.median for one in made]
    assert spent == sorted(spent) and len(set(spent)) == 3
    assert reached == sorted(reached)
    assert all(one.chosen.dollars <= money for one, money in zip(made, (30, 120, 500), strict=True))


def test_a_curve_does_not_depend_on_the_other_ways_in_the_folder(spec, tmp_path):
    alone = planted.write(tmp_path / "alone", spec, schemes=("full-subset",))
    more = planted.write(tmp_path / "more", spec, schemes=("full-subset", "rpa"))

    def complete(folder):
        made = plan(folder, 50, images=900, prices="openimages")
        return [(c.dollars, c.median) for c in made.choice.every if c.option.complete]

    np.testing.assert_allclose(complete(alone), complete(more), atol=0.002)


def test_images_picked_by_features_are_left_out(spec, tmp_path):
    folder = planted.write(tmp_path / "runs", spec, schemes=("full-subset", "picked"))
    with pytest.warns(UserWarning, match="picked is left out"):
        made = plan(folder, 200, images=3000, prices="openimages")
    assert {option.scheme for option, _ in made.evidence.cells} == {"full-subset"}


def test_the_expected_map_holds_on_the_project(pilot, spec, tmp_path):
    """The planted truth of the order lies in its range, at ten times the pilot."""
    for money in (25, 60, 150):
        made = plan(pilot, money, images=3000, prices="openimages")
        low, high = made.chosen.band
        true = planted.project_map(tmp_path / str(money), made.chosen, spec)
        assert low <= true <= high


def test_counted_amounts_say_which_classes_have_fewer(pilot):
    made = plan(pilot, 1000, images=10_000, prices="openimages")
    counted = [c for c in made.choice.every if c.option.counted]
    one = max(counted, key=lambda c: c.dollars)
    few = (one.present < 0.98 * one.amount).sum()
    assert 0 < few <= planted.CLASSES
    assert one.present.max() <= one.amount * 1.02
    assert (one.present <= made.evidence.pool.present * one.times * 1.001).all()


def test_only_people_who_err_are_asked_several_times_unless_a_price_list_does(
    pilot, erring, spec, tmp_path
):
    eight = planted.write(tmp_path / "eight", spec, habits={"workers": 8}, draws=2)
    made = plan([pilot, eight], 100, images=3000)
    assert {option.habits for option, _ in made.evidence.cells} == {Habits()}
    assert "people (" not in made.text()
    assert "3 people" in plan(erring, 100, images=3000).text(width=10_000)
    text = plan(pilot, 5000, images=3000, prices="coco-tagging").text(width=10_000)
    assert "8 people" in text


def test_unfinished_comparisons_are_mentioned_and_not_trusted(spec, tmp_path):
    folder = planted.write(tmp_path / "runs", spec, draws=5, finished=0.4)
    made = plan(folder, 100, images=600, prices="openimages")
    assert made.trust.grade == "low"
    assert "4 of 10 jobs" in made.text(width=10_000)


def test_the_bill_holds_the_pilot_and_its_test_images(pilot):
    made = plan(pilot, 100, images=3000, prices="openimages")
    before = {line.what: line.dollars for line in made.bill if line.when == "before"}
    each = planted.CLASSES * 0.0058
    assert sorted(before.values()) == pytest.approx([POOL * each, 3000 * each], abs=0.01)
    now = sum(line.dollars for line in made.bill if line.when == "now")
    assert now == pytest.approx(sum(one.dollars for one in made.order), abs=0.01)
    assert now <= 100


def test_classes_without_average_precision_are_out_of_the_mean_and_named(tmp_path):
    """Class 0 is shown by every image, and the rarest by no test image."""
    spec = planted.data(tmp_path / "data", 200, test=80, always=(0,), untested=(11,))
    folder = planted.write(tmp_path / "runs", spec, draws=2, levels=((0.03, 0.03), (0.06, 0.06)))
    for errors in (None, (0.03, 0.03)):
        made = plan(folder, 60, images=200, prices="openimages", errors=errors)
        text = made.text(width=10_000, details=True)
        assert made.evidence.unscored == ("class 0", "class 11")
        assert "leaves out class 0 and class 11" in text and "nan" not in text.replace("enanc", "")
        assert 0 < made.chosen.median < 1


def answers(made):
    return dict(made.page.answers)


def amounts(text):
    """The dollars in a text."""
    return [float(one.replace(",", "")) for one in re.findall(r"\$([\d,]+(?:\.\d+)?)", text)]


def on_photographs(folder):
    evidence = Evidence.of(folder)
    return replace(evidence, grid={**evidence.grid, "backbone": "resnet50"})


def test_where_no_purchase_is_needed_the_next_step_is_training(pilot):
    evidence = on_photographs(pilot)
    complete = [pair for pair in evidence.cells if pair[0].complete]
    option, method = max(complete, key=lambda pair: evidence.complete_labels(*pair).mean())
    sizes = evidence.cells[option, method]
    received = Received(
        option, method, dollars=70.0, images=POOL, asked=POOL, present=sizes[-1].present,
        absent=sizes[-1].absent, scores=np.array([evidence.complete_labels(option, method).mean()]),
        folder="order1",
    )  # fmt: skip
    made = plan(replace(evidence, received=received), 1, images=POOL, prices="openimages")
    said = answers(made)
    assert not made.purchase_needed and said["Spend"].startswith("nothing:")
    assert "$" not in said["Spend"]
    assert said["Range"].endswith(" mAP with 90% probability.")
    assert f"--method {method}" in said["Next step"] and "order1/labels" in said["Next step"]
    assert "$70" in made.text() and "Bill:" not in made.text()
    poor = replace(received, scores=np.array([0.05]), asked=POOL // 2)
    made = plan(replace(evidence, received=poor), 3, images=POOL, prices="openimages")
    alone = 100 * max(one.mean() for one in evidence.complete.values())
    assert answers(made)["Expect"].startswith(f"{alone:.1f}") and not made.purchase_needed
    assert "pilot's labels alone" in answers(made)["Expect"]
    free = plan(replace(evidence, zero_shot=(0.99, "clip")), 100, images=POOL)
    assert "99.0" in answers(free)["Expect"] and "simkit score" in answers(free)["Next step"]


def test_plans_say_what_wrong_test_labels_do_to_map(pilot):
    """Unknown rates: what 2 % would do. Known ones: mAP is that on true labels, and the better of
    further answers and further test images for the same dollars is named."""
    unknown, true, erring = (
        plan(pilot, 60, images=POOL, prices="openimages", errors=errors)
        for errors in (None, 0, (0.05, 0.05))
    )
    pilot_alone = float(re.search(r"[\d.]+(?= are right)", answers(unknown)["mAP"])[0])
    wrong = unknown.evidence.test.supposing((0.02, 0.02))
    supposed = 100 * float(wrong.on_new_images(np.array([pilot_alone / 100]))[0])
    said = re.search(r"pilot's ([\d.]+) mAP is about ([\d.]+) on", answers(unknown)["Trust"])
    assert float(said[1]) == pilot_alone and float(said[2]) == pytest.approx(supposed, abs=0.1)
    assert supposed > pilot_alone + 5
    assert "labels are taken as true" not in answers(true)["Trust"]
    assert true.chosen.median == unknown.chosen.median
    # The share of errors alone, without what is corrected because test images are few.
    best = erring.evidence.alike_complete(*erring.curves.best_of_pilot)
    measured = erring.evidence.class_ap[best].mean()
    one, other = (
        float(one.on_new_images(np.array([measured]))[0])
        for one in (erring.evidence.test, erring.evidence.test.supposing((0.0, 0.0)))
    )
    trust = answers(erring)["Trust"]
    said = re.search(r"the pilot's measured one about ([\d.]+) points too low", trust)
    assert float(said[1]) == pytest.approx(100 * (one - other), abs=0.1)
    best = max(one.median for one in erring.choice.every)
    assert best > max(one.median for one in true.choice.every) + 0.1
    details = erring.text(width=10_000, details=True)
    assert "Better test labels" in details and "Better test labels" not in true.text(details=True)
    made = replace(on_photographs(pilot), test=erring.evidence.test)
    made = plan(made, 60, images=POOL, prices="openimages", errors=(0.05, 0.05))
    further = "Buy a further answer to every question about the test images"
    assert further not in answers(made)["Next step"]  # they cost more than the budget
    made = plan(made.evidence, 2400, images=POOL, prices="openimages", errors=(0.05, 0.05))
    assert further in answers(made)["Next step"] and made.bill[0].what.startswith(
        "a further answer"
    )
    assert made.bill[0].dollars == made.tests.dollars <= 600  # a quarter at most


def test_true_test_labels_are_not_corrected_for_errors_of_an_order(pilot, tmp_path):
    """Those of drawn images; of others, rates that the measured mAP contradicts are said to."""
    folder = shutil.copytree(pilot, tmp_path / "drawn")
    grid = folder / "grid.toml"
    grid.write_text(re.sub(r"(?m)^data = .*", 'data = "scenes"', grid.read_text()))
    rates = (0.05, 0.05)
    drawn, true = Evidence.of(folder, errors=rates), Evidence.of(folder)
    assert drawn.test == true.test and drawn.test.errors is None
    assert Evidence.of(pilot, errors=rates).test.errors == rates
    made = plan(pilot, 60, images=POOL, prices="openimages", errors=(0.3, 0.3))
    unknown = plan(pilot, 60, images=POOL, prices="openimages")
    limit = 100 * made.evidence.test.limit
    said = f"no model could measure more than {limit:.1f} mAP"
    assert made.trust.grade == "low" and said in made.trust.reasons[0]
    assert made.chosen.median == unknown.chosen.median


def test_the_uncertainty_is_that_with_the_correction_for_errors(pilot):
    made = plan(pilot, 60, images=POOL, prices="openimages", errors=(0.05, 0.05))
    test = made.evidence.test
    width = test.certainty(test.images, test.errors)
    assert width > test.half_width + 2
    assert f"uncertain by ±{width:.1f} points" in answers(made)["Trust"]
    assert f"±{width:.1f}" in made.text(width=10_000, details=True).split("as they are")[1][:40]


def test_every_map_is_that_of_all_labels_together(pilot):
    """Those of an order of other images add to the pilot's, also where it alone gives less."""
    for budget, images in ((12, 1000), (60, 600), (2000, 10_000)):
        made = plan(pilot, budget, images=images, prices="openimages")
        curves, pool, chosen = made.curves, made.evidence.pool.images, made.chosen
        assert made.purchase_needed
        said, today = answers(made), points(made.so_far)
        words = f"{today} are right with today's labels"
        assert words in said["mAP"] and f"{points(chosen.median)} with the purchase" in said["mAP"]
        expected = re.match(
            r"([\d.]+) mAP on new images, ([\d.]+) more than with today", said["Expect"]
        )
        assert expected[1] == points(chosen.median)
        assert float(expected[1]) - float(today) == pytest.approx(float(expected[2]))  # as printed
        if chosen.option.complete:
            both = curves.full(chosen.pair)(np.array([1 + chosen.images / pool]))
            both = np.median(curves.as_scored(chosen.pair, both))
            assert chosen.median == pytest.approx(both, abs=0.002)
        for one in made.choice.every:  # a purchase adds at most what it is worth in complete labels
            most = curves.full(one.pair)(np.array([1 + one.images / pool]))
            assert one.median <= np.median(curves.as_scored(one.pair, most)) + 0.005


def test_what_other_amounts_give_are_plans_for_these(pilot):
    """Nothing, half of the money, the plan, and the best purchase."""
    made = plan(pilot, 600, images=3_000, prices="openimages")
    (table,) = (one for one in made.page.tables if one.title == "What other amounts give")
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    limit = math.floor(50 * round(made.cost("now", "later"), 2)) / 100
    names = ["nothing", f"at most {dollars(limit)}", "this plan", "highest mAP"]
    assert list(rows) == names[: len(rows)] and len(rows) > 2
    assert rows["nothing"]["mAP"] == points(made.so_far)
    assert rows["this plan"]["mAP"] == points(made.chosen.median)
    assert rows["this plan"]["spend"] == dollars(made.cost("now", "later"))
    assert answers(made)["Spend"].startswith("nothing yet: ")  # one draw: compare again first
    total = dollars(made.cost("now", "later"))
    assert answers(made)["Later"].startswith(f"then about {total} on ")
    half = plan(pilot, limit, images=3_000, prices="openimages")  # by the same rule
    assert half.purchase_needed
    assert (rows[names[1]]["spend"], rows[names[1]]["mAP"]) == (
        dollars(half.cost("now", "later")),
        points(half.chosen.median),
    )


def test_what_the_pilot_gives_does_not_depend_on_the_budget(pilot):
    """Without a purchase, a plan explains the labels at hand, and no order."""
    text = answers(plan(pilot, 20, images=9_000))["mAP"]
    said, alone = [], re.search(r"[\d.]+(?= are right)", text)[0]
    for budget in (0.1, 0.2, 0.3):
        made = plan(pilot, budget, images=9_000)
        assert not made.purchase_needed
        said.append({name: answers(made)[name] for name in ("Expect", "Range", "Trust")})
        assert "per image" not in said[-1]["Trust"] and "times the pilot" not in said[-1]["Trust"]
        best = max(one.median for one in made.choice.every)
        gain = round(best, 3) - float(alone) / 100
        assert f"add only {max(100 * gain, 0):.1f} points of mAP" in answers(made)["Left"]
        assert made.page.chart.instead == pytest.approx(float(alone) / 100, abs=5e-4)
    assert said[0] == said[1] == said[2] and said[0]["Expect"].startswith(f"{alone} mAP")
    low, high = (float(one) for one in re.findall(r"[\d.]+", said[0]["Range"])[:2])
    assert low < float(alone) < high


@pytest.mark.parametrize(("target", "budget", "images"), [(0.5, 15, 3000), (0.56, 5000, 600)])
def test_the_mend_of_a_missed_target_works(pilot, target, budget, images):
    missed = plan(pilot, budget, images=images, target=target, prices="openimages")
    money, more = missed.reachable
    assert missed.choice.reached is False and (money > budget) == (images == more)
    said = answers(missed)["Target"]
    assert f"${money:,.2f}" in said or f"--images {more}" in said
    assert plan(pilot, money, images=more, target=target, prices="openimages").choice.reached
    lower = float(re.search(r"reaches ([\d.]+) with", said)[1])
    lowered = plan(pilot, budget, images=images, target=lower, prices="openimages")
    assert lowered.choice.reached
    without = plan(pilot, budget, images=images, prices="openimages")
    assert missed.chosen.dollars == without.chosen.dollars
    assert answers(missed)["Spend"] == answers(without)["Spend"] and "best chance is" in said


def test_a_target_out_of_reach_is_left_out_of_the_choice(pilot):
    made = plan(pilot, 5000, images=600, target=0.999, prices="openimages")
    assert "No budget reaches it" in answers(made)["Target"] and made.reachable is None
    assert "Raise" not in answers(made)["Next step"]
    without = plan(pilot, 5000, images=600, prices="openimages")
    assert made.chosen.dollars == without.chosen.dollars


def test_the_pilot_was_paid_at_the_wage_of_the_list(pilot):
    usual, dear = (plan(pilot, 200, images=3000, staff=Staff(wage=wage)) for wage in (None, 30))
    assert usual.cost("before") == dear.cost("before") > 0
    assert dear.curves.complete.dollars[-1] == 2 * usual.curves.complete.dollars[-1]


def test_a_project_whose_answers_cost_more_than_planned_says_what_the_order_becomes(pilot):
    made = plan(pilot, 30, images=3000, prices="openimages")
    before, order = made.cost("before"), made.cost("now", "later")
    said = answers(replace(made, spent=3 * before, rate=3.0))["Money"]
    assert amounts(said)[-2:] == [round(order, 2), pytest.approx(3 * order, abs=0.01)]
    assert "3.0 times the price" in said and said.endswith("`--budget 10`.")
    assert "times the price" not in answers(replace(made, spent=before, rate=1.05))["Money"]
    twice = replace(made, spent=2 * before, aside=before)  # paid again, at the price of the plan
    said = answers(twice)["Money"]
    assert "times the price" not in said
    assert f"{dollars(before)} of it for answers that are set aside." in said
    paid = [line.dollars for line in twice.bill if line.when == "before"]
    assert math.fsum(paid) == pytest.approx(2 * before, abs=0.01)


def test_other_labels_are_compared_for_the_money_of_the_plan(pilot):
    """The best of each other option for at most its price, and the chance of a point more."""
    for budget in (40, 200, 500, 2000):
        made = plan(pilot, budget, images=3000, prices="openimages")
        title = f"Other labels for at most {dollars(made.chosen.dollars)}"
        (table,) = (one.table for one in made.page.details if one.title == title)
        affordable = [one for one in made.choice.every if one.dollars < made.chosen.dollars + 0.005]
        best = {}
        for one in sorted(affordable, key=lambda one: one.median):
            best[one.option] = one
        del best[made.chosen.option]
        ranked = sorted(best.values(), key=lambda one: -one.median)
        for row, one in zip(table.rows, ranked, strict=False):
            assert row[1:3] == (dollars(one.dollars), points(one.median))
            assert row[-1] == f"{(one.map - made.chosen.map >= 0.01).mean():.0%}"
        assert len(table.rows) == len(ranked) == 3


def test_missing_test_images_are_the_first_step_where_money_is_left(pilot, tmp_path):
    few = replace(on_photographs(pilot), test=TestSplit(images=14, half_width=12.0, noise=0.06))
    said = answers(plan(few, 60, images=POOL, prices="openimages"))
    assert "simkit order" in said["Next step"] and "test split" in said["Next step"]
    for budget, images in ((60, POOL), (60, 9000)):  # before a first round as well: one amount
        said = answers(plan(few, budget, images=images, prices="openimages"))
        assert amounts(said["Spend"]) == amounts(said["Next step"])
    (tmp_path / "project.toml").touch()
    few = replace(few, folders=(str(tmp_path / "runs" / "1"),))
    made = plan(few, 60, images=POOL, prices="openimages")
    tests, each = made.to_json()["test_images"], made.curves.complete.dollars[-1] / POOL
    missing = math.ceil(14 * ((12 / 5) ** 2 - 1))  # for ±5 points
    assert tests["images"] == min(missing, int(15 / each), POOL // 4) > 1.4  # a quarter at most
    assert tests["dollars"] == pytest.approx(tests["images"] * each, abs=0.01)
    plans = [plan(few, dollars, images=9000, prices="openimages")
             for dollars in (2, 5, 10, 20, 40, 80, 160)]  # fmt: skip
    many = [one.tests.images if one.tests else 0 for one in plans]
    for one in plans:  # every dollar is spent once, and every image is used once
        paid = (one.tests.dollars if one.tests else 0) + one.chosen.dollars
        paid += one.order[1].dollars if one.order[1:] else 0
        assert one.cost("now", "later") == pytest.approx(paid, abs=0.011)
        assert one.cost("now", "later") <= one.project.dollars + 0.006
    maps = [one.chosen.median for one in plans]
    assert maps == pytest.approx(sorted(maps), abs=0.005)
    whole = plan(few, 1000, images=POOL, prices="openimages", target=0.99)
    assert max(one.images for one in whole.choice.every) + whole.tests.images == POOL
    assert many == sorted(many) and many[-1] == missing  # more money never buys fewer
    assert tests["half_width"] == pytest.approx(0.12 * math.sqrt(14 / (14 + tests["images"])))
    for times, bought in ((2, True), (3, False)):  # a third more is not worth a round
        test = TestSplit(images=times * tests["images"], half_width=12.0, noise=0.06)
        again = plan(replace(few, test=test), 60, images=POOL, prices="openimages")
        assert (again.to_json()["test_images"] is not None) == bought
    step = answers(made)["Next step"]
    assert f"First buy {tests['images']} more test images" in step
    said, total = answers(made), made.cost("later")
    assert made.bill[0].what == f"{tests['images']} test images x {planted.CLASSES} classes"
    assert said["Spend"].endswith(f"on {tests['images']} more test images, which come first.")
    assert said["Later"].startswith(f"then about {dollars(total)} on ")
    timed = answers(plan(few, 60, images=POOL))  # by a price list with times
    assert re.search(r"come first\. .* of work, done by \d+ \w+ \d{4}\.$", timed["Spend"])
    assert re.search(r"planning again, done by \d+ \w+ \d{4}\.", timed["Later"])
    now, later, left = (float(x) for x in re.findall(r"\$([\d.]+)", said["Money"])[1:4])
    assert now == pytest.approx(tests["dollars"], abs=0.01) and later == pytest.approx(total)
    assert now + later + left == pytest.approx(60)
    assert f"`simkit status {tmp_path}` shows the command. Then compare and plan again." in step
    few = replace(few, test=TestSplit())
    enough = plan(few, 20.9, images=POOL, prices="openimages")
    assert enough.to_json()["test_images"] is None
    assert f"simkit status {tmp_path}" in answers(enough)["Next step"]
    odd = tmp_path / "a ``b` c"
    odd.mkdir()
    (odd / "project.toml").touch()
    few = replace(few, folders=(str(odd / "runs" / "1"),))
    made = plan(few, 20.9, images=POOL, prices="openimages")
    assert f"- **Next step:** ```simkit status '{odd}'``` shows" in made.markdown()
    assert f"<code>simkit status &#39;{odd}&#39;</code> shows" in made.html()


def test_a_larger_budget_promises_no_less(pilot):
    """Also where test images first fit into the budget: below, money is kept for them."""
    test = TestSplit(images=14, half_width=12.0, noise=0.06)
    few = replace(on_photographs(pilot), test=test)
    largest = plan(few, 20, images=POOL, prices="openimages")
    maps, tests, kept = [], [], 0
    for cents in [*range(140, 220, 4), *range(240, 2000, 220)]:
        made = largest.at(cents / 100)
        maps.append(made.chosen.median if made.purchase_needed else made.curves.at_hand)
        tests.append(made.tests.images if made.tests else 0)
        money = "" if made.tests else answers(made).get("Money", "")
        if enough := re.search(r"kept for test images: a budget of \$([\d.]+)", money):
            kept += 1
            assert largest.at(float(enough[1])).tests is not None
            assert largest.at(float(enough[1]) - 0.05).tests is None
    assert min(np.diff(maps)) > -1e-9 and min(np.diff(tests)) >= 0
    assert tests[0] == 0 < tests[-1] and kept


def test_growth_far_beyond_the_pilot_is_called_uncertain(pilot):
    far = plan(pilot, 18, images=9000, prices="openimages")
    near = plan(pilot, 3, images=9000, prices="openimages")
    assert far.chosen.times > 2 > near.chosen.times
    assert "0.7 to 1.4 times as much as predicted" in answers(far)["Trust"]
    assert far.in_rounds or f"`--budget {far.half:.2f}` first" in answers(far)["Trust"]
    assert "times as much as predicted" not in answers(near).get("Trust", "")


def test_a_missing_file_of_references_is_named(tmp_path):
    data = planted.data(tmp_path / "data", 100)
    folder = planted.write(tmp_path / "runs", data, draws=2, shares=(0.1, 0.4))
    file = folder / "reference.parquet"
    file.unlink()
    with pytest.raises(BadInput, match=f"{file} is not there: run the same `simkit compare` again"):
        plan(folder, 60, images=1000)


def test_the_pilot_alone_is_stated_with_the_average_precision_of_two_classes(pilot, spec):
    truth = datasets.open(spec).truth["train"]
    planned = planted.average_precision(simulate(truth, "full-subset"), truth, "an")
    text = answers(plan(pilot, 20, images=9_000))["mAP"]
    chance = 100 * (truth.counts / truth.shape[0]).mean()
    assert f"a class, {chance:.1f} would be right in a random order, " in text
    none = plan(pilot, 0.3, images=9_000)
    assert f" mAP on new images (a random order has {chance:.1f}), with" in answers(none)["Expect"]
    titles = {one.title for one in none.page.details}
    assert not none.purchase_needed and "Prices: hourly" in titles
    assert "The order" not in titles and not any(one.startswith("Other amounts") for one in titles)
    said = re.search(r"([\d.]+) are right with .* \(class (\d+) (\d+), class (\d+) (\d+)\)", text)
    assert float(said[1]) == pytest.approx(100 * planned.mean(), abs=1.5)
    good, poor = int(said[2]), int(said[4])
    for one, share in ((good, said[3]), (poor, said[5])):
        assert float(share) == pytest.approx(100 * planned[one], abs=1.5)
    # A quarter of the 12 classes are better than the first one, a quarter worse than the other.
    assert (planned > planned[good]).sum() == 3 and (planned < planned[poor]).sum() == 3


def test_a_target_is_reached_by_the_cheapest_purchase(pilot):
    made = plan(pilot, 2000, images=POOL * 2, target=(42, "90%"), prices="openimages")
    assert made.choice.reached and made.chosen.reaches(0.42) >= 0.9
    for one in made.choice.every:
        assert one.dollars >= made.chosen.dollars - 0.01 or one.reaches(0.42) < 0.9
    none = plan(pilot, 2000, images=POOL * 2, target=0.99, prices="openimages")
    assert none.choice.reached is False and "best chance" in none.text(width=10_000)


def test_a_target_near_todays_map_is_bought_unless_it_is_reached_as_surely(pilot):
    """Half of the samples reach the median of today; a purchase is needed for 80 %."""
    today = plan(pilot, 100, images=3000, prices="openimages").curves.floor
    low, median = np.quantile(today, [0.15, 0.5])
    made = plan(pilot, 100, images=3000, prices="openimages", target=median)
    assert made.purchase_needed and made.chosen.reaches(median) >= 0.8
    none = plan(pilot, 100, images=3000, prices="openimages", target=low)
    assert not none.purchase_needed and "is reached without a purchase, with 85%" in none.text(
        width=10_000
    )
    # At a tenth of the price more or less, the price for a target is the same.
    prices_ = [
        plan(pilot, budget, images=3000, prices="openimages", target=median + 0.02).chosen.dollars
        for budget in (50, 100, 150)
    ]
    assert max(prices_) < 1.1 * min(prices_)


def test_a_plan_widens_its_ranges_by_its_own_tests(pilot):
    """The largest size of every curve is half a point of logit mAP off, up or down."""
    evidence = Evidence.of(pilot)
    cells = {
        pair: (*sizes[:-1], replace(sizes[-1], scores=sizes[-1].scores + 0.1 * (-1) ** place))
        for place, (pair, sizes) in enumerate(evidence.cells.items())
    }
    made = plan(replace(evidence, cells=cells), 30, images=3000)
    assert made.backtest.too_narrow and made.backtest.widening > 1.5
    assert made.curves.widening == made.backtest.widening
    low, high = (f"{100 * end:.1f}" for end in made.chosen.band)
    assert answers(made)["Range"] == f"{low} to {high} mAP with 90% probability."
    assert f"widened {made.backtest.widening:.2g} times" in answers(made)["Trust"]
    assert made.to_json()["backtest"]["widening"] == made.backtest.widening


def test_the_json_holds_the_choice(pilot):
    values = plan(pilot, "$2k", images="10k", prices="openimages", staff=Staff(3, 30)).to_json()
    assert {"way", "scheme", "method", "dollars", "median", "band90"} <= set(values["chosen"])
    low, high = values["chosen"]["band90"]
    assert low <= values["chosen"]["median"] <= high
    assert len(values["trust"]["reasons"]) <= 4


def test_the_same_seed_gives_the_same_plan(pilot):
    one, two = (plan(pilot, 100, images=3000, prices="openimages") for _ in range(2))
    assert one.to_json() == two.to_json() and one.html() == two.html()


def test_hours_and_weeks_follow_the_wage_and_the_people(pilot):
    photographs = on_photographs(pilot)  # with drawings, the next step costs no labels
    slow = plan(photographs, 100, images=1000, staff=Staff(1, 10))
    dear = plan(pilot, 200, images=1000, staff=Staff(wage="$30"))
    hours = sum(line.hours for line in slow.bill if line.when == "now")
    assert slow.weeks == pytest.approx(hours / 10)
    days = (slow.done - slow.day).days
    assert days - 1 < 7 * slow.work("now", "later") / 10 <= days
    first = slow.day_after(slow.work("now"))
    assert f"done by {first.day} " in answers(slow)["Spend"]
    spend = answers(plan(photographs, 100, images=1000, staff=Staff(1, 1)))["Spend"]
    assert "for 1 annotator at 1 hour a week, done by " in spend
    with pytest.raises(BadInput, match="a week has 168 hours"):
        plan(pilot, 100, images=1000, staff=Staff(1, 200))
    assert plan(pilot, 100, images=1).page.title.endswith("with 1 image")
    assert dear.chosen.dollars == pytest.approx(2 * slow.chosen.dollars, rel=0.02)
    assert dear.chosen.median == pytest.approx(slow.chosen.median, abs=0.01)


def test_image_prices_and_set_up_are_paid_from_the_budget(pilot, tmp_path):
    listed = tmp_path / "ours.toml"
    listed.write_text('like = "openimages"\nsetup = 20\nsetup_source = "ours"\n')
    made = plan(pilot, 100, images=3000, prices=str(listed), image_price="0.02")
    lines = {line.what: line.dollars for line in made.bill if line.when == "now"}
    assert lines["set-up"] == 20
    assert sum(lines.values()) <= 100
    assert sum(lines.values()) == pytest.approx(made.chosen.dollars, abs=0.01)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"budget": "2,5"}, "budget"),
        ({"budget": 0.001}, "raise it to"),
        ({"images": 0}, "images"),
        ({"target": 150}, "target"),
        ({"target": (0.5, 7)}, "confidence"),
        ({"prices": "nobody"}, "price list"),
    ],
)
def test_bad_input_names_the_field(pilot, change, says):
    with pytest.raises(BadInput, match=says):
        plan(pilot, **({"budget": 100, "images": 1000, "prices": "openimages"} | change))


def test_folders_must_be_about_the_same_data_and_have_complete_labels(pilot, spec, tmp_path):
    other = planted.write(
        tmp_path / "other", planted.data(tmp_path / "data", 200, seed=5), schemes=("rpa",)
    )
    with pytest.raises(BadInput, match="different"):
        plan([pilot, other], 100)
    none = planted.write(tmp_path / "none", spec, schemes=("rpa",), reference=False)
    with pytest.raises(BadInput, match="reference = true"):
        plan(none, 100)


def test_moved_data_lowers_trust_and_nothing_else_changes(tmp_path):
    """Noise and bias of the test split come from the runs, not from the data."""
    spec = planted.data(tmp_path / "data", 200, test=60)
    folder = planted.write(tmp_path / "runs", spec)
    before = plan(folder, 100, images=400, prices="openimages")
    for file in (tmp_path / "data").iterdir():
        file.unlink()
    made = plan(folder, 100, images=400, prices="openimages")
    assert made.evidence.test == before.evidence.test and made.evidence.test.small
    assert made.trust.grade != "high" and "cannot be opened" in made.text(width=10_000)
    assert made.chosen.median == pytest.approx(before.chosen.median, abs=0.02)
    wide, narrow = (np.diff(one.chosen.band) for one in (before, made))
    assert narrow == pytest.approx(wide, rel=0.15)


def test_every_scheme_that_was_compared_can_be_planned(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = planted.data(tmp_path / "data", 200)
        folder = planted.write(
            tmp_path / "runs", spec, methods=("an",), draws=2,
            schemes=("single-positive", "rpa", "fpc", "fraction-of-positives", "federated",
                     "proposals", "mixed", "full-subset"),
        )  # fmt: skip
        made = plan(folder, 100, images=1000, prices="openimages")
    options = {re.match(r"[a-z-]+", str(c.option))[0] for c in made.choice.every}
    assert {"rpa", "fpc", "federated", "single-positive", "full-subset"} <= options


def test_a_method_says_itself_how_it_reads_unknown_labels(spec, tmp_path):
    """Present labels alone count for some; nothing is assumed of a method without facts."""
    folder = planted.write(tmp_path / "runs", spec, schemes=("fpc",), methods=("an",))
    evidence = Evidence.of(folder)
    option = next(option for option, _ in evidence.cells)
    purchases = {option: count(option, evidence.pool, prices("openimages"))}
    half = purchases[option].complete[0][None] / 2, np.zeros((1, planted.CLASSES))
    for unknown_as_absent, share in ((True, 0.5), (False, 0.0)):
        facts = MethodFacts("Plug-in", unknown_as_absent=unknown_as_absent, known_alone=False)
        curves = Curves(replace(evidence, methods={"plug-in": facts}), purchases)
        assert curves.shares((option, "plug-in"), *half) == pytest.approx(share)

    other = planted.write(
        tmp_path / "other", spec, schemes=("fpc",), methods=("an",), named={"an": "plug-in"}
    )
    with pytest.raises(BadInput, match=r"plug-in.*install"):
        plan(other, 100)


@pytest.mark.parametrize("scheme", ["full-subset", "rpa", "fpc"])
@pytest.mark.parametrize("listed", ["hourly", "openimages", "coco-tagging"])
def test_the_printed_bill_multiplies_out(spec, pilot, tmp_path, scheme, listed):
    """Questions, answers to each, and the seconds at the wage, or the dollars, of each."""
    folder = pilot
    if scheme != "full-subset":
        folder = planted.write(tmp_path / "runs", spec, schemes=(scheme,), draws=2)
    made = plan(folder, 600, images=3000, prices=listed)
    one = max((one for one in made.choice.every if one.option.scheme == scheme and one.images),
              key=lambda one: one.dollars)  # fmt: skip
    made = replace(made, choice=replace(made.choice, chosen=one), order=(one,))
    bill, sums = made.page.bill, []
    wage = re.search(r"at \$([\d.]+) an hour", bill.title)
    for row in (dict(zip(bill.columns, row, strict=True)) for row in bill.rows):
        each, (paid,) = float(re.search(r"[\d.]+", row["each"])[0]), amounts(row["$"])
        if row["each"].endswith(" s"):
            each *= float(wage[1]) / 3600
        count = int(row["questions"].replace(",", "")) * float(row["answers"])
        assert count * each == pytest.approx(paid, abs=0.005 + each)
        sums.append(paid)
    assert sum(sums) == pytest.approx(made.chosen.dollars, abs=0.006)
    said = answers(made)
    assert f"{dollars(sum(sums))} on " in said["Spend"] + said.get("Later", "")


def test_with_low_trust_a_part_is_bought_first(pilot):
    """It is a purchase of its own, at its price, and its bill and the rest are the plan."""
    evidence = on_photographs(pilot)
    made = plan(evidence, 60, images=9_000, prices="openimages")
    (part,), said = made.order, answers(made)
    assert made.trust.grade == "low" and made.in_rounds
    assert part.pair == made.chosen.pair and part.dollars < made.chosen.dollars / 4
    assert said["Spend"].startswith(f"{dollars(part.dollars)} on a first round: ")
    assert amounts(said["Later"]) == [made.cost("later")]
    assert made.cost("now", "later") == pytest.approx(made.chosen.dollars, abs=0.01)
    step, (low, high) = said["Next step"], made.chosen.band
    assert step.startswith("Order the first round. ") and "--plan plan.json` orders " in step
    assert f"--continue order1 --images 9000 --budget {60 - made.cost('now'):.2f}`" in step
    now, then = map(float, re.search(r"from ([\d.]+) to ([\d.]+) points", step).groups())
    assert now == pytest.approx(100 * (high - low), abs=0.06) and then <= 0.85 * now
    assert made.to_json()["order"][0]["dollars"] == round(part.dollars, 2)
    near = plan(evidence, 60, images=600, prices="openimages")
    assert not near.in_rounds and "Later" not in answers(near)
    once = {"draws": 1, "complete": {key: one[:1] for key, one in evidence.complete.items()},
            "cells": {pair: tuple(replace(size, scores=size.scores[:1]) for size in sizes)
                      for pair, sizes in evidence.cells.items()}}  # fmt: skip
    made = plan(replace(evidence, **once), 60, images=600, prices="openimages")
    free = "Compare again with `draws = 3` in the grid, which costs no labels, and plan again."
    assert made.trust.grade == "low" and answers(made)["Next step"] == free


def test_the_pilot_tells_what_absent_labels_are_worth_to_a_method(spec, tmp_path):
    """A share of 0.5**w 0.125**(1 - w), where mAP is a function of that share with a known w."""
    folder = planted.write(tmp_path / "runs", spec, schemes=("rpa", "fpc"), methods=("ll-r",))
    evidence = Evidence.of(folder)
    options = {str(option): option for option, _ in evidence.cells}
    purchases = {one: count(one, evidence.pool, prices("openimages")) for one in options.values()}
    whole = purchases[options["fpc"]].complete
    labels = whole[0][None] / 2, whole[1][None] / 8

    def known(size):
        parts = zip((size.present, size.absent), whole, strict=True)
        return [
            np.minimum(part[all_of > 0] / all_of[all_of > 0], 1).mean() for part, all_of in parts
        ]

    def share(weight, schemes):
        cells = {}
        for pair, sizes in evidence.cells.items():
            end = np.mean(evidence.complete_labels(*pair))
            logs = [np.log(known(size)) @ [weight, 1 - weight] for size in sizes]
            scores = [expit(logit(end) + 0.5 * log - 0.1 * log**2) for log in logs]
            cells[pair] = tuple(
                replace(size, scores=np.full(3, score))
                for size, score in zip(sizes, scores, strict=True)
            )
        cells = {pair: sizes for pair, sizes in cells.items() if str(pair[0]) in schemes}
        curves = Curves(replace(evidence, cells=cells), purchases)
        return curves.shares((options["fpc"], "ll-r"), *labels)[0]

    for weight in (0.5, 0.7, 0.9, 1.0):
        found = share(weight, ("rpa", "fpc"))
        assert found == pytest.approx(0.5**weight * 0.125 ** (1 - weight), rel=1e-6)
    assert share(0.9, ("fpc",)) == pytest.approx(0.25)  # of one composition: both sides equally


def test_order_later_rounds_and_the_rest_are_the_budget(pilot, erring):
    """Far projects begin with a first round of two options, which the bill and all texts count."""
    sentences, rounds = 0, 0
    cases = [(pilot, 30), (pilot, 120), (pilot, 500), (pilot, 2000), (erring, 500), (pilot, 501)]
    for folder, budget in cases:
        target = 0.99 if budget == 501 else None
        made = plan(
            on_photographs(folder), budget, images=10_000, prices="openimages", image_price=0.001,
            target=target,
        )  # fmt: skip
        assert made.choice.reached is (None if target is None else False)
        total = made.cost("now", "later")
        assert made.cost("now") + made.cost("later") + made.left == pytest.approx(budget)
        assert made.left >= -0.005
        if len(made.order) > 1:  # the second part leaves the money of the chosen purchase
            rounds += 1
            a, b = made.order
            assert made.trust.grade == "low" and made.chosen.times > 3 and a.option != b.option
            assert a.dollars + b.dollars <= 0.25 * made.chosen.dollars
            rest = made.chosen.dollars - a.dollars
            assert made.cost("later") == pytest.approx(rest, abs=0.01)
            assert made.chosen.dollars + b.dollars <= budget + 0.01
            said = amounts(answers(made)["Spend"])
            assert len(said) == 3 and said[0] == pytest.approx(said[1] + said[2])
            assert said[0] == pytest.approx(a.dollars + b.dollars, abs=0.01)
            (later,) = amounts(answers(made)["Later"])
            assert said[0] + later == pytest.approx(total)
        bill = made.page.bill
        paid = next(one.table for one in made.page.details if one.title == "Already paid")
        assert not paid.total and {row[0].split(":")[0] for row in paid.rows} == {"pilot"}
        printed = [float(row[-1].strip("$").replace(",", "")) for row in bill.rows]
        rows = printed[:-1] if bill.total else printed
        assert sum(rows) == pytest.approx(total, abs=0.02)
        assert printed[-1] == pytest.approx(total, abs=0.01)
        if said := re.search(r"\$([\d,.]+\d) left", answers(made)["Money"]):
            sentences += 1
            left = float(said[1].replace(",", ""))
            assert left == pytest.approx(budget - printed[-1], abs=0.51 if left >= 100 else 0.02)
    assert sentences and rounds
