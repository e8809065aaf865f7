"""Answers per question as a part of every purchase, on comparisons with planted errors."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit

from simkit.annotate.annotators import outvoted
from simkit.errors import BadInput
from simkit.planning.answers import Answers, Lacking, cost_of, together, true_shares
from simkit.planning.choose import Trust
from simkit.planning.evidence import Evidence, Received
from simkit.planning.plan import plan
from tests.planning import planted

POOL, FLIPS = 400, (0.03, 0.03)
LEVELS = ((0.03, 0.03), (0.06, 0.06))
EACH = planted.CLASSES * 0.0058  # dollars for complete labels of an image


def comparison(folder, wrong, levels, **values):
    spec = planted.data(folder / "data", POOL, wrong=wrong)
    return planted.write(folder / "runs", spec, wrong=wrong, levels=levels, **values)


@pytest.fixture(scope="module")
def erring(tmp_path_factory):
    """A pilot whose labels have 3 % flips."""
    return comparison(tmp_path_factory.mktemp("erring"), FLIPS, LEVELS)


@pytest.fixture(scope="module")
def unmeasured(tmp_path_factory):
    return comparison(tmp_path_factory.mktemp("unmeasured"), FLIPS, ())


def planned(runs, dollars=300, images=0, errors=FLIPS, **values):
    # Planted mAP is that on true labels: only the labels of the pool err.
    evidence = runs if isinstance(runs, Evidence) else Evidence.of(runs, errors=(0.0, 0.0))
    return plan(evidence, dollars, images=images, errors=errors, prices=planted.PRICES, **values)


def planted_gain(number):
    """The planted gain of logit mAP on the pilot's labels by so many answers to each question."""
    clean = [planted.worse(0.5, planted.damage(tuple(outvoted(rate, n) for rate in FLIPS)))
             for n in (1, number)]  # fmt: skip
    return float(np.mean(logit(clean[1]) - logit(clean[0])))


def test_the_cost_of_errors_is_that_of_the_correlation_of_labels_and_truth():
    rng, p = np.random.default_rng(0), np.array([0.3, 0.03])
    truth = rng.random((400_000, 2)) < p
    labels = truth
    for miss, false_alarm in ((0.1, 0.02), (0.05, 0.04)):
        number = rng.random(truth.shape)
        labels = np.where(labels, number >= miss, number < false_alarm)
    errors = together((0.1, 0.02), (0.05, 0.04))
    r = [np.corrcoef(one, other)[0, 1] for one, other in zip(truth.T, labels.T, strict=True)]
    assert cost_of(errors, p) == pytest.approx(np.mean(-np.log(np.square(r))), rel=0.01)
    assert true_shares(labels.mean(axis=0), errors) == pytest.approx(p, rel=0.03)


@pytest.mark.parametrize("number", [2, 3, 5])
def test_the_gain_of_cleaner_labels_is_the_planted_one(erring, number):
    curves = planned(erring).curves
    answers = next(one for one in curves.offers(curves.complete.option) if one.number == number)
    gain = curves.gain("an", answers, np.ones(1))
    assert np.median(gain) == pytest.approx(planted_gain(number), rel=0.085)
    assert (gain >= 0).all()


def test_where_every_image_is_labelled_the_questions_are_asked_again(erring):
    made = planned(erring)
    so_far = np.median(made.curves.so_far(made.chosen.pair))
    assert made.chosen.answers.again and made.chosen.images == 0 and made.chosen.answers.number > 1
    assert made.chosen.median > so_far + 0.02
    assert made.cost("now", "later") + made.left == pytest.approx(300)
    text = made.text(width=10_000)
    assert "further answers" in text and "--errors 3%,3%" in made.command
    values = made.to_json()["order"][0]
    assert values["again"] and values["answers"] == made.chosen.answers.number


def test_two_answers_ask_a_third_where_they_differ(erring):
    """Their labels are those of three; they cost one more answer, and the third of the ties."""
    again = {one.answers.number: one for one in planned(erring).choice.every if one.method == "an"
             and one.answers.again}  # fmt: skip
    ties = 2 * 0.03 * 0.97
    assert again[2].dollars == pytest.approx((1 + ties) * POOL * EACH)
    assert again[3].dollars == pytest.approx(2 * POOL * EACH)
    assert again[2].median == again[3].median < again[5].median


@pytest.mark.parametrize("errors", [None, 0, (0, 0)])
def test_people_who_do_not_err_are_asked_once(erring, errors):
    made = planned(erring, 100, 2000, errors)
    assert {one.answers.number for one in made.choice.every} == {1}
    assert "answers to each" not in made.text(width=10_000).split("If annotators err")[0]
    if errors is not None:
        assert "errors" not in " ".join(made.trust.reasons) and not made.supposed


def test_misses_that_cost_nothing_are_not_asked_about_again(tmp_path):
    """3 % of the present labels are missing, which takes 1 % of the effect of as many flips."""
    missing = (0.03, 0.0)
    runs = comparison(tmp_path, missing, ((0.03, 0.0), (0.1, 0.0)))
    made = planned(runs, errors=missing)
    assert not made.purchase_needed and "further answers to the" in made.text(width=10_000)
    assert planned(runs, 100, 3000, missing).chosen.answers.number == 1


def test_levels_without_effect_promise_nothing(erring):
    evidence = Evidence.of(erring)
    better = {method: {level: scores + 0.2 for level, scores in table.items()}
              for method, table in evidence.levels.items()}  # fmt: skip
    curves = planned(replace(evidence, levels=better)).curves
    five = Answers.of(5, FLIPS, 1, 0.1)
    assert not curves.gain("an", five, np.ones(1)).any()


def test_the_gain_on_more_images_is_less_certain(erring):
    curves = planned(erring).curves
    log = np.log(curves.gain("an", Answers.of(3, FLIPS, 1, 0.1), np.array([1.0, 10.0])))
    near, far = log.std(axis=0)
    assert near > 0.2 and far == pytest.approx(np.hypot(near, 0.4), rel=0.1)


def test_a_class_that_is_rarer_than_false_alarms_keeps_the_gain_finite(tmp_path):
    """At 10 % stated false alarms the rarest classes would have fewer than no images."""
    runs = comparison(tmp_path, FLIPS, LEVELS, methods=("an",), draws=2)
    gain = planned(runs, errors=(0.1, 0.1)).curves.gain("an", Answers.of(5, (0.1, 0.1), 1, 0.1),
                                                        np.ones(1))  # fmt: skip
    assert np.isfinite(gain).all() and 0 < np.median(gain) < 1.5


@pytest.mark.parametrize("dollars", [15, 40, 120, 400])
def test_purchases_with_answers_are_within_the_budget_and_give_what_is_planted(
    erring, tmp_path, dollars
):
    made = planned(erring, dollars, 2000)
    assert made.cost("now") + made.cost("later") + made.left == pytest.approx(dollars)
    assert made.left >= -0.005
    bought = [
        one for one in made.choice.every
        if one.answers == Answers.of(3, FLIPS, 1, 0.0) and one.option.complete
        and one.method == "an" and one.images >= POOL / 2
    ]  # fmt: skip
    for one in bought[-1:]:
        assert one.dollars == pytest.approx(3 * one.images * EACH)
        cleaner = planted.damage(tuple(outvoted(rate, 3) for rate in FLIPS))
        share = one.images / (one.images + POOL)  # of the images with three answers
        by = share * cleaner + (1 - share) * planted.damage(FLIPS)
        pilot = Evidence.of(erring).grid["data"]
        clean = planted.project_map(tmp_path, one, pilot, wrong=FLIPS, by=by)
        assert one.band[0] <= clean <= one.band[1]
        assert one.median == pytest.approx(clean, abs=0.05)


def test_plenty_of_money_buys_answers_and_little_buys_images(erring):
    rich, poor = planned(erring, 1000, 2000), planned(erring, 12, 2000)
    best = [max(
        (one for one in made.choice.every if one.option.complete and one.images),
        key=lambda one: one.median,
    ) for made in (rich, poor)]  # fmt: skip
    assert best[0].answers.number > 1 == best[1].answers.number
    assert "Get another answer" in rich.text(details=True)


def test_labels_of_earlier_rounds_are_asked_again(erring):
    evidence = Evidence.of(erring)
    option, method = next(pair for pair in evidence.cells if pair[0].complete)
    size = evidence.cells[option, method][-1]
    received = Received(
        option, method, dollars=100.0, images=POOL, asked=POOL, present=size.present,
        absent=size.absent, scores=np.array([evidence.complete_labels(option, method).mean()]),
        errors=FLIPS, answers={1: 1200, 3: 400},
        lacking={n: Lacking(1200, 1200 * (n - 1), 45.0 * (n - 1), np.nan) for n in (2, 3, 5)},
    )  # fmt: skip
    made = planned(replace(evidence, received=received))
    assert made.purchase_needed and made.chosen.answers.again
    again = {one.answers.number: one for one in made.choice.every if one.answers.again}
    # Only what the questions lack is paid, and gains; one more person settles the ties of two.
    assert again[3].dollars == pytest.approx(90) and again[3].pair == (option, method)
    assert again[2].dollars - again[2].settling == pytest.approx(45)
    assert again[2].settling == pytest.approx(45 * 2 * 0.03 * 0.97)
    paid = [line.dollars for line in made.bill if line.when == "now"]
    assert sum(paid) == pytest.approx(made.chosen.dollars - made.chosen.settling)
    before = made.curves.floor
    assert np.median(logit(again[3].map) - logit(before)) == pytest.approx(
        0.75 * planted_gain(3), rel=0.15
    )


def test_one_number_says_what_the_labels_so_far_give(erring):
    """It is the measured mAP, whatever the pilot predicted; and further answers need no images."""
    evidence = Evidence.of(erring)
    option, method = next(pair for pair in evidence.cells if pair[0].complete)
    size = evidence.cells[option, method][-1]
    received = Received(
        option, method, dollars=100.0, images=2 * POOL, asked=2 * POOL, present=size.present,
        absent=size.absent, errors=FLIPS, folder="order1",
        scores=np.array([evidence.complete_labels(option, method).mean() + 0.02]),
        lacking={3: Lacking(1200, 2400, 90.0, np.nan)},
    )  # fmt: skip
    made = planned(replace(evidence, received=received))
    assert made.chosen.answers.again and not any("0 images" in one for one in made.trust.reasons)
    said, today = dict(made.page.answers), float(made.page.tables[0].rows[0][3])
    measured = f"{100 * received.score:.1f}"
    assert f"{today:.1f}" == measured
    assert f"has a measured mAP of {measured}." in said["So far"]
    after, more = re.findall(r"([\d.]+) (?:mAP|more)", said["Expect"])[:2]
    assert today == pytest.approx(float(after) - float(more), abs=0.01)
    assert today == pytest.approx(100 * made.curves.at_hand, abs=0.051)


def test_labels_of_earlier_rounds_keep_their_answers(erring):
    evidence = Evidence.of(erring)
    pairs = list(evidence.cells)
    option, method = next(pair for pair in pairs if pair[0].complete)
    other = next(option for option, _ in pairs if not option.complete)
    size = evidence.cells[option, method][-1]
    received = Received(
        option, method, dollars=100.0, images=POOL, asked=POOL, present=size.present,
        absent=size.absent, scores=np.array([0.5]), errors=FLIPS,
    )  # fmt: skip
    made = planned(replace(evidence, received=received), 1000, POOL + 40)
    times = np.array([1.0, 2.0])
    assert made.curves.share_of_new(option, times).tolist() == [0.0, 0.5]  # contain those so far
    assert made.curves.share_of_new(other, times) == pytest.approx([1 / 2, 2 / 3])
    known = [one for one in made.choice.every if one.option != option]
    assert all(one.images <= 40 for one in known)  # all else is known of the images so far


def test_unknown_errors_are_the_first_reason_and_three_shares_are_shown(erring, unmeasured):
    made = planned(erring, 300, 2000, None)
    assert "errors are unknown" in made.trust.reasons[0]
    rates = dict(made.supposed)
    assert list(rates) == [0.0, 0.02, 0.05]
    assert rates[0.0].answers.number == 1 < rates[0.05].answers.number
    assert rates[0.0].map.tolist() == made.chosen.map.tolist()
    blind = planned(unmeasured, 300, 2000, None)
    assert "errors = [[0.03, 0.03]]" in blind.text(width=10_000, details=True)
    assert "errors are unknown" in blind.trust.reasons[0] and not blind.supposed
    known = planned(unmeasured, 300, 2000)
    assert "not measured" in known.trust.reasons[0] and known.chosen.answers.number == 1


def test_where_no_share_changes_the_purchase_one_sentence_says_so(erring):
    for dollars, same in ((0.24, True), (300, False)):
        made = planned(erring, dollars, 2000, None)
        text = made.text(width=10_000, details=True)
        assert ("If annotators err" in text) != same
        assert ("2% or 5% of the answers are wrong, in the pilot as well, the purchase" in text
                ) == same  # fmt: skip
        assert len({(one.median, one.answers.number) for _, one in made.supposed}) == 1 + 2 * (
            not same
        )


def test_errors_of_an_order_lower_map_where_the_labels_of_the_pilot_are_true(tmp_path):
    """Labels of drawn images are: no correction of mAP, and answers that err cost what is planted;
    a majority of three costs less."""
    evidence = Evidence.of(comparison(tmp_path, (0.0, 0.0), LEVELS, methods=("an",)))
    drawn = replace(evidence, grid={**evidence.grid, "data": "scenes:images=400"})
    made = planned(drawn, 300, 2000)
    loss = [np.median(made.curves.gain("an", made.curves.answers(n), np.ones(1))) for n in (1, 3)]
    planted_loss = [-planted.damage(tuple(outvoted(rate, n) for rate in FLIPS)).mean()
                    for n in (1, 3)]  # fmt: skip
    assert loss == pytest.approx(planted_loss, rel=0.2) and loss[0] < loss[1] < 0
    assert not any(one.answers.again for one in made.choice.every)
    right, wrong = (
        next(one for one in plan.choice.every if one.option.complete and one.images >= POOL)
        for plan in (planned(drawn, 300, 2000, 0), made)
    )
    assert right.dollars == wrong.dollars
    assert np.median(wrong.map) < np.median(right.map)
    bought = right.images / (right.images + POOL)  # share of the labels that err
    lost = logit(wrong.median) - logit(right.median)
    assert lost == pytest.approx(bought * loss[0], rel=0.3)
    blind = planned(replace(drawn, levels={}), 300, 2000)
    assert blind.trust.grade == "low" and "taken as none" in blind.trust.reasons[0]


def test_without_images_there_must_be_something_to_ask_again(erring, unmeasured):
    for runs, errors in ((erring, None), (unmeasured, FLIPS)):
        with pytest.raises(BadInput, match="images is 0, so only further answers"):
            planned(runs, errors=errors)
    for rates in ("3%,0.2%,1%", "3%,", "-1%", "some", float("nan"), "60%,50%"):
        with pytest.raises(BadInput, match=r"errors is .* shares are expected"):
            planned(erring, errors=rates)


def test_a_table_of_other_runs_is_no_table_of_errors(unmeasured, tmp_path):
    runs = shutil.copytree(unmeasured, tmp_path / "runs")
    shutil.copy(runs / "table.parquet", runs / "errors.parquet")
    with pytest.raises(BadInput, match=r"errors\.parquet cannot be read .*; remove it and compare"):
        planned(runs, 300, 2000)


def test_a_gain_that_was_measured_on_complete_labels_alone_is_named(erring):
    made = planned(erring, 20, 4000)
    every = made.choice.every
    several = [one for one in every if one.answers.number == 3 and not one.answers.again]
    trust = {one: " ".join(Trust.of(one, made.curves, None).reasons) for one in several}
    assert {one.option.complete for one in several if "gain from several" in trust[one]} == {False}
