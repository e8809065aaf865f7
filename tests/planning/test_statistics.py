"""The statistics of plans by value. A piece that can be removed unnoticed is not needed."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.metrics import average_precision_score

from simkit.annotate.annotators import Habits, outvoted
from simkit.annotate.prices import prices
from simkit.labels.truth import Truth
from simkit.metrics.ap import LabelCounts
from simkit.planning import costs
from simkit.planning.choose import (
    Backtest,
    Candidate,
    Choice,
    Request,
    Trust,
    backtest,
    candidates,
    choose,
    first_part,
    narrowed,
    widening,
)
from simkit.planning.choose import next_measurement as next_one
from simkit.planning.costs import count, wrong_labels
from simkit.planning.curves import NOISE, OTHER_IMAGES, CellCurve, Curves
from simkit.planning.evidence import COMPLETE, Evidence, LabelOption, Pool, Received
from simkit.results.statistics import error_of_choice
from simkit.results.test_split import TestSplit
from tests.planning import planted

IMAGES = 300


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    spec = planted.data(tmp_path_factory.mktemp("data"), IMAGES)
    return Evidence.of(planted.write(tmp_path_factory.mktemp("pilot"), spec))


def curves_of(evidence, listed="openimages", **how):
    options = {option for option, _ in evidence.cells} | {LabelOption(COMPLETE)}
    return Curves(evidence, {o: count(o, evidence.pool, prices(listed)) for o in options}, **how)


# -- few test images ------------------------------------------------------------------------------


def test_map_of_few_test_images_is_corrected_and_its_band_holds():
    """200 classes whose AP on many images is known, measured on 30 images, a dozen times."""
    rng = np.random.default_rng(0)
    share, distance = np.geomspace(0.2, 0.005, 200), rng.normal(1.5, 1.0, 200)

    def scored(images):
        shown = rng.random((images, len(share))) < share
        scores = rng.standard_normal(shown.shape) + distance * shown
        pairs = zip(shown.T, scores.T, strict=True)
        return shown, np.array(
            [average_precision_score(*p) if p[0].any() else np.nan for p in pairs]
        )

    true = np.nanmean(scored(20_000)[1])
    measured, corrected, held = [], [], []
    for _ in range(12):
        shown, ap = scored(30)
        shares = (rng.random((IMAGES, len(share))) < share).mean(axis=0)
        split = TestSplit.of(30, LabelCounts.of(shown), ap, shares, IMAGES)
        measured.append(np.nanmean(ap))
        corrected.append(float(split.on_new_images(measured[-1:])[0]))
        angles = np.arcsin(np.sqrt([corrected[-1], true]))
        held.append(abs(angles[0] - angles[1]) <= norm.ppf(0.95) * split.spread)
    assert np.mean(measured) - true > 0.15
    assert np.mean(corrected) == pytest.approx(true, abs=0.03)
    assert np.mean(held) >= 0.85
    assert norm.ppf(0.95) * split.spread < 0.15  # a band, not everything


def test_many_test_images_are_left_alone():
    large = TestSplit(10_000, 0.4, (0.0, 0.5, 1.0), (0.0, 0.495, 1.0), 0.5)
    assert not large.small and large.spread == 0
    assert large.on_new_images(np.array([0.5])) == 0.5


# -- test labels that err -------------------------------------------------------------------------


def erring(images, errors, rng, *, distance=2.0, classes=12):
    """A test split whose labels err, and the pool's shares: counts, AP, shares."""
    share = np.geomspace(0.4, 0.05, classes)
    shown = rng.random((4 * images, classes)) < share
    labels = np.where(shown, rng.random(shown.shape) >= errors[0],
                      rng.random(shown.shape) < errors[1])  # fmt: skip
    scores = rng.standard_normal((images, classes)) + distance * shown[:images]
    pairs = zip(labels[:images].T, scores.T, strict=True)
    ap = np.array([average_precision_score(*p) if p[0].any() else np.nan for p in pairs])
    return LabelCounts.of(labels[:images]), ap, labels[images:].mean(axis=0)


def true_map(distance, classes=12, errors=(0.0, 0.0)):
    """mAP on many images, measured against labels with these errors."""
    share, score = np.geomspace(0.4, 0.05, classes)[:, None], np.linspace(9, -6, 3001)
    (miss, false_alarm), shown, others = errors, norm.cdf(distance - score), norm.cdf(-score)
    recall = share * (1 - miss) * shown + (1 - share) * false_alarm * others
    alarms = share * miss * shown + (1 - share) * (1 - false_alarm) * others
    precision = recall / (recall + alarms)
    return float(np.mean(np.trapezoid(precision, recall, axis=1) / recall[:, -1]))


@pytest.mark.parametrize(("images", "errors"), [(150, (0.03, 0.03)), (400, (0.15, 0.002))])
def test_map_against_labels_that_err_is_corrected_to_true_labels(images, errors):
    """Against many images with true labels, by numerical integration; eight test splits."""
    rng, true = np.random.default_rng(0), true_map(2.0)
    naive, corrected, held, deviations = [], [], [], []
    for _ in range(8):
        counts, ap, shares = erring(images, errors, rng)
        for rates, values in ((None, naive), (errors, corrected)):
            split = TestSplit.of(images, counts, ap, shares, 3 * images, errors=rates)
            values.append(float(split.on_new_images(np.array([ap.mean()]))[0]))
        angles = np.arcsin(np.sqrt([corrected[-1], true]))
        held.append(abs(angles[0] - angles[1]) <= norm.ppf(0.95) * split.spread)
        deviations.append(split.noise * 2 * np.sqrt(true * (1 - true)))
    assert np.mean(naive) < true - 0.06
    assert np.mean(corrected) == pytest.approx(true, abs=0.02)
    assert np.mean(held) >= 0.85
    # Errors hide part of what differs between models, so noise grows with the correction.
    assert 0.6 < np.std(corrected, ddof=1) / np.mean(deviations) < 1.6


def test_errors_of_labels_hide_a_known_part_of_what_differs_between_models():
    """So the noise of mAP on true labels is that of the measured one times the ratio of both."""
    errors, rng = (0.1, 0.03), np.random.default_rng(3)
    counts, ap, shares = erring(2000, errors, rng)
    alone, known = (TestSplit.of(2000, counts, ap, shares, 6000, errors=e) for e in (None, errors))
    apart = [np.diff(np.arcsin(np.sqrt([true_map(d, errors=e) for d in (1.8, 2.2)])))[0]
             for e in ((0.0, 0.0), errors)]  # fmt: skip
    assert apart[0] > 1.3 * apart[1]
    assert known.noise / alone.noise == pytest.approx(apart[0] / apart[1], rel=0.1)


def test_wrong_error_rates_are_within_the_band():
    """Rates a quarter too high or too low, as of 16 errors seen, on so many images that the noise
    is small."""
    rng, true = np.random.default_rng(1), true_map(2.0)
    counts, ap, shares = erring(3000, (0.04, 0.04), rng)
    for part in (0.75, 1.25):
        rates = (0.04 * part, 0.04 * part)
        split = TestSplit.of(3000, counts, ap, shares, 9000, errors=rates)
        value = float(split.on_new_images(np.array([ap.mean()]))[0])
        off = abs(np.arcsin(np.sqrt(value)) - np.arcsin(np.sqrt(true)))
        assert norm.ppf(0.95) * split.noise < off <= norm.ppf(0.95) * split.spread


def test_rates_that_the_measured_map_contradicts_correct_nothing():
    """Against labels with such errors a perfect model would measure less than this one did."""
    rng, rates = np.random.default_rng(4), (0.05, 0.05)
    for wrong, possible in (((0.0, 0.0), False), (rates, True)):
        counts, ap, shares = erring(400, wrong, rng, distance=3.0)
        alone, known = (TestSplit.of(400, counts, ap, shares, 1200, errors=e)
                        for e in (None, rates))  # fmt: skip
        assert (known.limit is None) == possible and (known.errors == rates) == possible
        if possible:
            value = known.on_new_images(np.array([ap.mean()]))[0]
            assert value == pytest.approx(true_map(3.0), abs=0.05) and value > ap.mean() + 0.15
        else:
            assert known.on_many == alone.on_many and known.uncertain == alone.half_width
            # Nearly the share of images labelled with a class that would show it.
            right = 0.95 * np.maximum(shares - 0.05, 0) / 0.9 / shares
            assert known.limit == pytest.approx(right.mean(), abs=0.08)
            assert known.limit < ap.mean() - 0.05


def test_a_second_answer_is_worth_more_than_images_where_errors_outweigh_noise():
    rng = np.random.default_rng(2)
    for images, errors, better in ((1500, (0.04, 0.04), True), (60, (0.01, 0.0005), False)):
        counts, ap, shares = erring(images, errors, rng)
        split = TestSplit.of(images, counts, ap, shares, 3 * images, errors=errors)
        now = split.certainty(images, errors)
        assert now == pytest.approx(100 * np.ptp(np.sin(
            np.arcsin(np.sqrt(split.on_new_images(np.array([ap.mean()])))) + np.array([-1, 1])
            * norm.ppf(0.975) * split.spread) ** 2) / 2, rel=0.1)  # fmt: skip
        again = split.certainty(images, tuple(outvoted(rate, 2) for rate in errors))
        assert (again < split.certainty(2 * images, errors) < now) == better
        alone = TestSplit.of(images, counts, ap, shares, 3 * images)
        assert alone.supposing(errors).on_many == pytest.approx(split.on_many)
        true, few = float(alone.on_new_images(np.array([ap.mean()]))[0]), 0.25 * alone.few
        by_angle = norm.ppf(0.975) * np.hypot(alone.noise, few)  # on labels without errors
        assert alone.certainty(images, (0.0, 0.0)) == pytest.approx(
            100 * by_angle * 2 * np.sqrt(true * (1 - true)), rel=3e-3
        )


# -- the choice of settings -----------------------------------------------------------------------


def test_ranges_hold_the_mean_over_choices_of_settings(pilot):
    """The best of five settings, by its mean over two draws, on the pilot's labels."""
    rng, base = np.random.default_rng(0), curves_of(pilot)
    true = -0.05 * (np.linspace(-1, 1, 5) - 0.13) ** 2
    tried = true[:, None] + 0.03 * rng.standard_normal((120, 5, 2))
    chosen, held = true[tried.mean(2).argmax(1)], np.zeros(2)
    for trials, one in zip(tried, chosen, strict=True):
        moved = {key: all_ + one - chosen.mean() for key, all_ in pilot.complete.items()}
        model = np.median(base.floor) + rng.normal(0, base.deviation(base.trained))
        for place, error in enumerate((0.0, error_of_choice(trials))):
            errors = {base.trained: error}
            made = Curves(replace(pilot, complete=moved, tuned_errors=errors), base.purchases)
            low, high = np.quantile(made.floor, [0.05, 0.95])
            held[place] += low <= model <= high
    assert held[1] >= 0.85 * 120 and held[0] < 0.75 * 120


def test_purchases_have_the_error_of_the_choice_of_the_comparison(tmp_path):
    folder = planted.write(tmp_path / "pilot", planted.data(tmp_path / "data", IMAGES))
    plain = Evidence.of(folder)
    for name in ("table", "reference"):
        table = pq.read_table(folder / f"{name}.parquet")
        place, errors = table.column_names.index("tuned_error"), pa.array([0.03] * len(table))
        pq.write_table(table.set_column(place, "tuned_error", errors), folder / f"{name}.parquet")
    tuned = Evidence.of(folder)
    assert {*tuned.cells} <= {*tuned.tuned_errors} and {*tuned.tuned_errors.values()} == {0.03}
    (before, every), (after, others) = ((c := curves_of(e), candidates(c, Request(1500)))
                                        for e in (plain, tuned))  # fmt: skip
    added = np.array([b.map.var() - a.map.var() for a, b in zip(every, others, strict=True)])
    np.testing.assert_allclose(np.sqrt(added[added > 0]).mean(), 0.03, rtol=0.05)
    shift = [b.median - a.median for a, b in zip(every, others, strict=True)]
    assert np.abs(shift).max() < 1e-9
    assert after.floor.var() - before.floor.var() == pytest.approx(0.03**2, rel=0.1)
    # Purchases of one pair share their settings, others do not: their differences are less sure.
    alike, apart = (
        next(one for one in others if (one.pair == others[0].pair) == same and one is not others[0])
        for same in (True, False)
    )
    assert (others[0].map - alike.map).std() < 0.02 < 0.04 < (others[0].map - apart.map).std()


# -- the spread of predictions --------------------------------------------------------------------


def test_a_single_purchase_has_the_noise_of_its_draw_its_images_and_its_test_split(pilot):
    pair = next(pair for pair in pilot.cells if pair[0].scheme == "rpa")
    sizes = pilot.cells[pair]
    spread = np.median([np.std(s.scores, ddof=1) for s in sizes[len(sizes) // 2 :]])
    value = np.full((400, 1), 0.5)
    for test, more in ((TestSplit(), 0.0), (TestSplit(40, 8.0, measured=0.5, noise=0.04), 0.04)):
        scored = curves_of(replace(pilot, test=test)).as_scored(pair, value)
        expected = np.hypot(spread, OTHER_IMAGES) + more  # an angle of a is a mAP of a at 0.5
        assert np.std(scored) == pytest.approx(expected, rel=0.1)


def test_the_distance_to_the_pilot_widens_the_range(pilot):
    """Ten times the images: 0.07 logits with all labels, and a quarter more without."""
    curves = curves_of(pilot)
    for scheme in ("rpa", "fpc"):
        pair = next(p for p in pilot.cells if p[0].scheme == scheme and p[1] == "an")
        few = curves.purchases[pair[0]].at(curves.purchases[pair[0]].dollars[:1])
        near, far = (curves(pair, few.present, few.absent, np.array([t])) for t in (1.0, 10.0))
        grown = curves.full(pair).logit(np.array([10.0])) - curves.full(pair).logit(np.ones(1))
        rest = np.log(far / (1 - far)) - np.log(near / (1 - near))
        assert np.std(rest) > np.std(grown) + 0.1


@pytest.mark.parametrize(
    ("slope", "images", "gain"),
    [(0.2, 300, 0.418), (0.6, 300, 0.863), (0.6, 75, 1.237), (0.6, 450, 0.777), (0.6, 3000, 0.777)],
)
def test_complete_labels_grow_by_the_slope_at_the_pilots_end(pilot, slope, images, gain):
    """At ten times the images: s (1 - 10**-g) / g with g = 0.60 + 0.45 log s, at least 0.02, times
    (images / 225)**-0.26 up to 450."""
    present = pilot.pool.truth.present[np.arange(images) % IMAGES]
    pilot = replace(pilot, pool=replace(pilot.pool, truth=Truth.of(present)))
    option = LabelOption(COMPLETE)
    end = np.zeros(pilot.draws)  # logits
    cells = {pair: sizes for pair, sizes in pilot.cells.items() if pair[0] != option}
    for method, step in (("an", slope - 0.1), ("ll-r", slope + 0.1)):  # their mean counts
        last = pilot.cells[option, method][-1]
        cells[option, method] = tuple(
            replace(last, amount=images * part, scores=expit(end + step * np.log(part)))
            for part in (0.25, 0.5)
        )
    complete = dict.fromkeys(pilot.complete, expit(end))
    curves = curves_of(replace(pilot, cells=cells, complete=complete))
    grown = [np.diff(curves.full((option, m)).logit(np.array([1.0, 10.0])))[:, 0]
             for m in ("an", "ll-r")]  # fmt: skip
    assert np.allclose(*grown)
    assert np.median(grown[0]) == pytest.approx(gain, rel=0.05)
    assert np.std(np.log(grown[0])) == pytest.approx(0.30, rel=0.1)


def test_an_option_that_gains_nothing_from_more_images_promises_nothing_from_more(pilot):
    pair = next(p for p in pilot.cells if p[0].scheme == "single-positive" and p[1] == "an")
    last, gains = pilot.cells[pair][-1], []
    for step in (0.05, 0.0):  # for each doubling of the images
        sizes = tuple(
            replace(last, amount=IMAGES / part, scores=last.scores - step * np.log2(part))
            for part in (4, 2, 1)
        )
        curves = curves_of(replace(pilot, cells={**pilot.cells, pair: sizes}))
        whole = curves.purchases[pair[0]]
        one, ten = (
            np.median(curves(pair, whole.present[-1:], whole.absent[-1:], np.array([times])))
            for times in (1.0, 10.0)
        )
        gains.append(ten - one)
    assert gains[0] > 0.05 and abs(gains[1]) < 0.01


def test_the_back_test_notices_curves_that_do_not_continue(pilot):
    purchases = curves_of(pilot).purchases
    smooth = backtest(pilot, purchases)
    fallen = {
        pair: (*sizes[:-1], replace(sizes[-1], scores=sizes[-1].scores - 0.2))
        for pair, sizes in pilot.cells.items()
    }
    bent = backtest(replace(pilot, cells=fallen), purchases)
    assert smooth.cells == bent.cells == sum(len(sizes) > 2 for sizes in pilot.cells.values())
    assert smooth.held > 0.75 and smooth.error < 0.03
    assert bent.held < 0.3 and bent.error == pytest.approx(0.2, abs=0.05)
    two = {pair: sizes[:2] for pair, sizes in pilot.cells.items()}
    assert backtest(replace(pilot, cells=two), purchases) is None


def erring_ranges(rng, spread, tests=30):
    """Measured mAP and its ranges (low, median, high), which expect a third of the variance of the
    errors common to all tests and are right if spread is 1."""
    middle = rng.normal(0.5, 1.0, tests)
    error = np.sqrt(2 / 3) * rng.normal(size=tests) + np.sqrt(1 / 3) * rng.normal()
    half = 0.3 * norm.ppf(0.95)
    return expit([middle + 0.3 * spread * error, middle - half, middle, middle + half])


@pytest.mark.parametrize(("spread", "before", "after"), [(1.0, 0.9, 0.9), (1.6, 0.69, 0.85)])
def test_widened_ranges_hold_as_often_as_they_say(spread, before, after):
    """A further curve with errors of its own, beside 30 tests: shares over 4,000 pilots."""
    rng = np.random.default_rng(0)
    factors = np.array([widening(*erring_ranges(rng, spread)) for _ in range(4000)])
    error = np.abs(spread * rng.normal(size=4000)) / norm.ppf(0.95)
    assert (factors >= 1).all()
    assert np.mean(error <= 1) == pytest.approx(before, abs=0.015)
    assert np.mean(error <= factors) == pytest.approx(after, abs=0.015)


def test_the_widening_is_a_quantile_of_errors_that_chance_does_not_explain():
    """Errors of 1/10 to N/10 half-widths: the 27th of 30 and the 14th of 15, of which 10 hold; none
    of 12, where 10 may hold by chance."""
    for tests, factor in ((30, 2.7), (15, 1.4), (12, 1.0), (4, 1.0)):
        sign = np.resize([1.0, -1.0], tests)
        error = sign * np.arange(1, tests + 1) / 10
        half = np.where(error > 0, 0.2, 0.1)  # of the side of the error
        median, far = np.zeros(tests), np.full(tests, 0.3)
        low = np.where(error > 0, -far, -half)
        high = np.where(error > 0, half, far)
        rows = (expit(one) for one in (error * half, low, median, high))
        assert widening(*rows) == pytest.approx(factor)


def test_all_ranges_are_widened_and_no_median_moves(pilot):
    project = Request(dollars=30, images=3000)
    usual, wide = (curves_of(pilot, widening=by) for by in (1.0, 1.5))
    for one, other in zip(candidates(usual, project), candidates(wide, project), strict=True):
        middle, (band, wider) = logit(one.median), logit([one.band, other.band])
        assert logit(other.median) == pytest.approx(middle, abs=1e-3)
        assert wider - middle == pytest.approx(1.5 * (band - middle), abs=1e-3)
    floors = [np.quantile(logit(curves.floor), [0.05, 0.95]) for curves in (usual, wide)]
    assert np.ptp(floors[1]) == pytest.approx(1.5 * np.ptp(floors[0]))


@pytest.mark.parametrize("measured", [0.3, 0.6])
def test_the_labels_so_far_have_the_measured_map_and_its_noise_alone(pilot, measured):
    """Whatever was predicted, and however much predictions are widened."""
    test = replace(pilot.test, images=80, noise=0.05, half_width=10.0)
    option, method = next(pair for pair in pilot.cells if pair[0].complete)
    size = pilot.cells[option, method][-1]
    received = Received(
        option, method, dollars=10.0, images=IMAGES, asked=IMAGES, present=size.present,
        absent=size.absent, scores=np.full(3, measured),
    )  # fmt: skip
    curves = curves_of(replace(pilot, test=test, received=received), widening=2.0)
    before = curves.base
    curves.agree_with(received)
    assert abs(np.median(before) - measured) > 0.02
    low, middle, high = np.arcsin(np.sqrt(np.quantile(curves.floor, [0.05, 0.5, 0.95])))
    assert middle == pytest.approx(np.arcsin(np.sqrt(measured)), abs=0.003)
    half = norm.ppf(0.95) * (NOISE / np.sin(2 * middle) + test.spread)
    assert [middle - low, high - middle] == pytest.approx([half, half], rel=0.06)


# -- the choice -----------------------------------------------------------------------------------


@pytest.mark.parametrize("known_alone", [False, True])
def test_part_of_the_labels_costs_less_than_all_labels_of_the_same_images(pilot, known_alone):
    facts = {name: replace(one, known_alone=known_alone) for name, one in pilot.methods.items()}
    curves = curves_of(replace(pilot, methods=facts))
    each = curves.complete.dollars[-1] / IMAGES
    made = candidates(curves, Request(dollars=1e6, images=2 * IMAGES, image_price=0.01, set_up=3))
    parts = [one for one in made if not one.option.complete]
    assert {one.option.scheme for one in parts} >= {"rpa", "fpc"}
    assert all(one.dollars < 0.98 * ((each + 0.01) * one.images + 3) for one in parts)
    dearest = max(parts, key=lambda one: one.dollars / one.images)
    assert dearest.dollars > 0.8 * (each + 0.01) * dearest.images


def test_purchases_have_the_labels_that_their_dollars_pay_for(pilot):
    """Besides images and set-up, also if a part of the pool stands for all of it."""
    curves = curves_of(pilot)
    request = Request(dollars=20, images=4 * IMAGES, image_price=0.004, set_up=2)
    parts = [one for one in candidates(curves, request) if one.option.scheme == "rpa"]
    for one in parts:
        labels = (one.dollars - 2 - 0.004 * one.images) / one.times
        bought = curves.purchases[one.option].at(np.array([labels]))
        assert bought.present[0] * one.times == pytest.approx(one.present)
    assert max(one.dollars for one in parts) == pytest.approx(20)


def test_prices_of_a_large_pool_are_those_of_a_part_of_it(pilot, monkeypatch):
    (option,) = {option for option, _ in pilot.cells if option.scheme == "rpa"}
    whole = count(option, pilot.pool, prices("openimages"))
    monkeypatch.setattr(costs, "COUNTED", IMAGES * planted.CLASSES // 3)
    part = count(option, pilot.pool, prices("openimages"))
    for name in ("dollars", "asked", "labour"):
        assert getattr(part, name)[-1] == pytest.approx(getattr(whole, name)[-1], rel=0.01)
    assert part.present[-1].sum() == pytest.approx(whole.present[-1].sum(), rel=0.15)


def test_below_the_smallest_size_curves_are_steeper_than_above_it():
    u, scores = np.array([0.1, 0.4]), expit(np.array([[-1.0, 0.0]]))
    curve = CellCurve.of(u, scores, expit(np.array([1.0])), np.zeros(1))
    slope = 1.3 / np.log(4)  # of logit mAP
    below = curve(np.array([0.05, 0.02]))[0]
    assert below == pytest.approx(expit(-1 - slope * np.log([2, 5])))


def purchase(scheme, dollars, values, times=2.0):
    none = np.zeros(1)
    return Candidate(LabelOption(scheme), "an", dollars, 100, times, 100, 0.0, 100, none, none,
                     values, float(np.median(values)))  # fmt: skip


def test_a_cheaper_purchase_may_lose_half_a_point_on_average():
    """Gains in some samples do not make up for losses in others."""
    best = purchase("fpc", 1000, np.full(20, 0.5))
    for lost, gained, chosen in ((0.0049, 0.0, 500), (0.0051, 0.0, 1000), (0.0051, 0.1, 1000)):
        losing = np.arange(20) < 11
        cheap = purchase("rpa", 500, np.where(losing, 0.5 - lost * 20 / 11, 0.5 + gained))
        assert choose([best, cheap], Request(1000)).chosen.dollars == chosen


def test_a_purchase_that_adds_a_point_is_preferred_to_none():
    """Of those that are as good as the best, the cheapest one that adds 1 point, if any does."""
    cheap, best = purchase("rpa", 500, np.full(20, 0.496)), purchase("fpc", 1000, np.full(20, 0.5))
    for at_hand, chosen in ((0.489, 1000), (0.485, 500), (0.495, 500)):
        made = choose([best, cheap], Request(1000), at_hand=at_hand)
        assert made.chosen.dollars == chosen


def test_a_target_is_reached_with_the_required_probability_or_more():
    for reaching, reached in ((8, True), (7, False)):
        one = purchase("rpa", 500, np.where(np.arange(10) < reaching, 0.6, 0.4))
        assert choose([one], Request(1000, target=0.5, confidence=0.8)).reached is reached


def test_the_next_measurement_is_the_cheapest_that_probably_changes_the_choice():
    rng = np.random.default_rng(0)
    base, gain = np.full(20_000, 0.5), rng.normal(-0.01, 0.04, 20_000)
    chosen, rival = purchase("rpa", 1000, base), purchase("fpc", 1000, base + gain)
    small = purchase("fpc", 50, base + gain)
    known, cheap = replace(small, times=1.0, dollars=40), replace(small, dollars=10)

    def asked(*others, reached=None):
        every = (chosen, rival, *others)
        return next_one(Choice(chosen, chosen, (rival,), every, reached))

    # A linear prediction with test noise of 0.7 points: how often is the expected lead above 1?
    deviation = 0.04**2 / np.hypot(0.04, 0.007)
    candidate, probability = asked(small, known, cheap)
    assert candidate is small  # the others are measured already, or too small to tell
    assert probability == pytest.approx(norm.sf((0.01 + 0.01) / deviation), abs=0.02)
    assert asked(replace(small, dollars=251)) is None  # more than a quarter of the order
    assert asked(replace(small, map=base + rng.permutation(gain))) is None  # tells nothing
    assert asked(small, reached=True) is None  # a target
    poor = [purchase(name, 1000, base - 0.1) for name in ("fpc", "mixed", "federated")]
    assert next_one(Choice(chosen, chosen, (poor[0],), (chosen, small))) is None
    third = Choice(chosen, chosen, (*poor[1:], rival), (chosen, small))
    assert next_one(third) is None  # only the next two options are considered


def test_a_first_part_is_the_cheapest_that_halves_the_range(pilot):
    """Planted: the gain of a part has a known correlation with that of the whole."""
    rng, curves = np.random.default_rng(5), curves_of(pilot)
    common, own = rng.normal(size=(2, len(curves.floor)))

    def part(dollars, r, scheme="full-subset"):
        gain = 0.1 * (r * common + np.sqrt(1 - r**2) * own)
        return purchase(scheme, dollars, curves.floor + 0.2 + gain, times=dollars / 10)

    whole = replace(part(80, 1.0), map=0.6 + 0.05 * common)
    parts = [part(1, 0.99), part(4, 0.2), part(8, 0.95), part(16, 0.99), part(24, 1.0)]
    widths = [narrowed(one, whole, curves) for one in parts]
    assert widths[1] == pytest.approx(np.sqrt(1 - 0.2**2), abs=0.03)
    assert widths[2] == pytest.approx(np.sqrt(1 - 0.95**2), abs=0.05) and widths[2] < 0.5

    def found(*some):
        return first_part(Choice(whole, whole, (), (whole, *some)), curves)

    assert found(*parts) is parts[2]  # 1 dollar is too small an order, and 4 tell nothing
    assert found(parts[1], parts[4]) is None  # which costs more than a quarter
    some = part(18, 0.6)  # by a fifth
    assert found(parts[1], some) is some and narrowed(some, whole, curves) > 0.5
    assert found(part(8, 0.95, "rpa")) is None


TRUST = {  # changes of the evidence, of the purchase and of the back-test: grade and reason
    "nothing": ({}, {}, 1.0, "high", ""),
    "a run is missing": ({"missing": (0.05, "1 run failed")}, {}, 1.0, "medium", "1 run failed"),
    "many are missing": ({"missing": (0.06, "9 runs failed")}, {}, 1.0, "low", "9 runs failed"),
    "two draws": ({"draws": 2}, {}, 1.0, "medium", "in only 2 draws"),
    "one draw": ({"draws": 1}, {}, 1.0, "low", "in only 1 draw"),
    "few test images": ({"test": TestSplit(80, 4.9)}, {}, 1.0, "medium", "±4.9 points"),
    "fewer": ({"test": TestSplit(80, 5.0)}, {}, 1.0, "low", "pilot's 80 test images"),
    "enough": ({"test": TestSplit(80, 1.9)}, {}, 1.0, "high", ""),
    "a class left out": ({"unscored": ("a",)}, {}, 1.0, "medium", "mAP leaves out 1 of 13 classes"),
    "one and a half pools": ({}, {"times": 1.5}, 1.0, "high", ""),
    "two pools": ({}, {"times": 2.0}, 1.0, "medium", "are 2 times the pilot's 300"),
    "three pools": ({}, {"times": 3.0}, 1.0, "medium", "are 3 times the pilot's 300"),
    "four pools": ({}, {"times": 4.0}, 1.0, "low", "are 4 times the pilot's 300"),
    "a wide range": ({}, {"map": np.linspace(0.4, 0.53, 101)}, 1.0, "medium", "12 points wide"),
    "a narrow range": ({}, {"map": np.linspace(0.4, 0.5, 101)}, 1.0, "high", ""),
    "bent curves": ({}, {}, 0.6, "medium", "6 of 10 of its own tests"),
    "straight curves": ({}, {}, 0.7, "high", ""),
}


def trusted(evidence):
    """The same runs without any reason to doubt them."""
    grid = {**evidence.grid, "backbone": "resnet50"}
    return replace(evidence, test=TestSplit(), missing=(0, ""), unscored=(), grid=grid)


@pytest.mark.parametrize("case", TRUST)
def test_trust(pilot, case):
    changes, purchased, held, grade, reason = TRUST[case]
    curves = curves_of(trusted(pilot)).with_errors((0.0, 0.0))
    curves.evidence = replace(curves.evidence, **changes)
    one = replace(purchase("full-subset", 9, np.full(9, 0.5), times=1.0), **purchased)
    made = Trust.of(one, curves, Backtest(10, held, 0.01, 1.4))
    assert made.grade == grade and (reason in " ".join(made.reasons))
    assert bool(made.remedy) == (case == "one draw")  # more draws cost no labels
    assert len(made.reasons) == bool(reason)


def test_ranges_that_hold_too_rarely_are_too_narrow():
    """P(at most 23 of 30 at 90 %) is 2.6 %, and of 24 it is 7.3 %."""
    assert Backtest(30, 23 / 30, 0.01).too_narrow and not Backtest(30, 24 / 30, 0.01).too_narrow
    assert Backtest(30, 23 / 30, 0.01).interval == pytest.approx((0.577, 0.901), abs=1e-3)


@pytest.mark.parametrize("errors", [None, (0.03, 0.01)])
def test_stated_errors_do_not_lower_trust_below_unknown_ones(pilot, errors):
    curves = curves_of(trusted(pilot))
    curves = curves if errors is None else curves.with_errors(errors)
    made = Trust.of(purchase("full-subset", 9, np.full(9, 0.5), times=1.0), curves, None)
    assert (made.grade, made.remedy) == ("medium", "") and len(made.reasons) == 1


def test_trust_in_orders_unlike_the_pilot(pilot):
    """Few labels per image, and growth that no size of complete labels measured."""
    curves = curves_of(trusted(pilot)).with_errors((0.0, 0.0))
    option = next(option for option, _ in pilot.cells if option.scheme == "rpa")
    least = min(pilot.cells[option, "an"], key=lambda size: size.present.sum())
    for fewer, sparse in ((1.2, False), (1.6, True)):
        one = replace(
            purchase("rpa", 9, np.full(9, 0.5), times=2.0),
            present=2 * least.present / fewer, absent=2 * least.absent / fewer,
        )  # fmt: skip
        made = Trust.of(one, curves, None)
        assert bool(made.remedy) is sparse and made.grade == ("low" if sparse else "medium")
        assert (f"had {fewer:.2g} times as many" in " ".join(made.reasons)) is sparse
    parts = {pair: sizes for pair, sizes in pilot.cells.items() if not pair[0].complete}
    for cells, reason in ((parts, "fewer images were not compared"), (pilot.cells, "2 times the")):
        curves = curves_of(replace(trusted(pilot), cells=cells)).with_errors((0.0, 0.0))
        made = Trust.of(purchase("full-subset", 9, np.full(9, 0.5)), curves, None)
        assert made.grade == ("low" if cells is parts else "medium") and reason in made.reasons[0]
    drawn = replace(trusted(pilot), grid=pilot.grid)
    assert "a small network" in Trust.of(one, curves_of(drawn), None).reasons[1]


# -- wrong labels ---------------------------------------------------------------------------------


def test_wrong_labels_are_those_of_the_annotators():
    """One answer each: 10 % of present are missed, 2 % of absent are reported."""
    present = np.random.default_rng(0).random((2000, 10)) < 0.2
    pool = Pool(Truth.of(present), np.arange(10))
    habits = Habits(workers=1, miss=0.1, false_alarm=0.02)
    said_present, said_absent = wrong_labels(LabelOption(COMPLETE, habits), 2000, pool)
    shown = present.mean()
    reported, missed = 0.02 * (1 - shown), 0.1 * shown
    assert said_present == pytest.approx(reported / (reported + 0.9 * shown), rel=0.15)
    assert said_absent == pytest.approx(missed / (missed + 0.98 * (1 - shown)), rel=0.15)
    assert wrong_labels(LabelOption(COMPLETE), 2000, pool) == (0, 0)


# -- all together ---------------------------------------------------------------------------------


def test_trained_pilots_predict_ten_times_as_many_images():
    """The back-test of the benchmarks, with few runs: bands hold, and choices are good ones."""
    folder = Path(__file__).parents[2] / "benchmarks"
    command = [sys.executable, "plan_backtest.py", "--quick", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    met = json.loads(done.stdout.splitlines()[-1])["met"]
    held = {what: fine for what, fine in met.items() if " held at " in what}
    assert len(held) == 4 and all(held.values()), held
    regret = {what: fine for what, fine in met.items() if " regret within " in what}
    assert len(regret) == 8 and all(regret.values()), regret
    widths = [float(what.split("points: ")[1].split()[0]) for what in met if "width" in what]
    assert max(widths) < 12
