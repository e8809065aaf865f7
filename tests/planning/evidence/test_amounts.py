import math
import warnings

import pytest

from simkit.annotate.prices import cost, prices
from simkit.annotate.simulate import simulate
from simkit.planning.evidence.evidence import Evidence, Way
from tests.planning import planted

COCO = prices("coco-tagging")
SWEEP = 0.3011 * 8 * 15 / 3600  # dollars for a label


@pytest.fixture(scope="module")
def evidence(pilot):
    return Evidence.of(pilot)


@pytest.mark.parametrize("scheme", list(planted.CURVES))
@pytest.mark.parametrize("budget", planted.BUDGETS)
def test_what_the_pilot_bought_is_read_off_exactly(evidence, scheme, budget):
    row = next(r for r in planted.rows() if (r["scheme"], r["budget"]) == (scheme, budget))
    found = evidence.amount(Way.of(scheme), row["dollars"], COCO)
    # An amount is one of all images that are put to the scheme, whether it asks about them or not.
    images = row["images"] if Way.of(scheme).grows == "images" else planted.POOL
    assert (found.images, found.labels) == (images, row["present"] + row["absent"])
    assert found.per_image == pytest.approx(found.labels / found.images)
    if scheme == "fpc":
        assert found.spec == row["scheme_spec"]


def test_between_purchases_and_before_them_lines_are_straight(evidence):
    way, listed = Way.of("full-subset"), prices("google")
    assert evidence.amount(way, 0.035 * 20, listed).images == 20
    assert evidence.amount(way, 0.035 * 300, listed).images == 300
    assert evidence.amount(way, 0.035 * 300, listed).labels == 3000


def test_beyond_the_pilot_it_is_bought_on_more_images(evidence):
    reach = evidence.points(Way.of("rpa"), "an", COCO).reach
    shared = evidence.amount(Way.of("rpa"), 5 * reach, COCO)
    assert (shared.images, shared.labels) == (15_000, 5 * 7970)
    assert shared.spec == "rpa(keep=0.2657)"  # of each image as many as in the pilot
    counted = evidence.amount(Way.of("fpc"), 5 * 79.891866667, COCO)
    assert counted.spec == f"fpc(per_class={5 * 398})"
    whole = evidence.amount(Way.of("full-subset"), 5 * reach, COCO)
    assert (whole.images, whole.labels, whole.spec) == (3985, 39_850, "full-subset")


def test_where_images_run_out_each_gets_more_labels(evidence):
    reach = evidence.points(Way.of("rpa"), "an", COCO).reach
    found = evidence.amount(Way.of("rpa"), 3 * reach, COCO, images=6000)
    assert (found.images, found.labels) == (6000, 3 * 7970)
    assert found.spec == "rpa(keep=0.3985)"  # 1.5 times the pilot's
    few = evidence.amount(Way.of("rpa"), reach, COCO, images=1500)
    assert (few.images, few.labels, few.spec) == (1500, 7970, "rpa(keep=0.5313)")


@pytest.mark.parametrize(
    ("scheme", "listed", "dollars", "images"),
    [
        ("rpa", "coco-tagging", 20, None),  # within the pilot
        ("rpa", "coco-tagging", 20, 1500),
        ("rpa", "coco-tagging", 160, None),
        ("rpa", "coco-tagging", 160, 3000),
        ("rpa", "google", 104, 3000),
        ("proposals", "coco-tagging", 160, None),
        ("proposals", "coco-tagging", 120, 3000),
        ("fraction-of-positives", "coco-tagging", 160, None),
        ("fraction-of-positives", "coco-tagging", 120, 3000),
        ("fpc", "coco-tagging", 80, None),
    ],
)
def test_the_scheme_on_these_images_costs_these_dollars(
    write_runs, scheme, listed, dollars, images
):
    budgets = (40.0, 60.0, 80.0) if listed == "google" else (10.0, 20.0, 40.0)
    few = {"schemes": (scheme,), "methods": ("an",), "draws": 1, "budgets": budgets}
    real = Evidence.of(write_runs(buy=planted.simulated, listed=listed, **few))
    found = real.amount(Way.of(scheme), dollars, prices(listed), images)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of images that show no class
        labels = simulate(planted.truth(found.images), found.spec)
    assert cost(labels, listed).dollars == pytest.approx(dollars, rel=0.03)
    counts = labels.counts()
    assert counts["present"] + counts["absent"] == pytest.approx(found.labels, rel=0.06)


def test_what_buys_everything_says_so_by_the_page(write_runs):
    few = {"schemes": ("rpa",), "methods": ("an",), "draws": 1, "budgets": (40.0, 60.0, 80.0)}
    real, google = (
        Evidence.of(write_runs(buy=planted.simulated, listed="google", **few)),
        prices("google"),
    )
    way = Way.of("rpa")
    assert real.most(way, google, 3000) == pytest.approx(3000 * 0.035)
    found = real.amount(way, 105.0, google, 3000)
    assert (found.images, found.labels, found.spec) == (3000, 30_000, "rpa(keep=1.0)")
    assert real.ladder(way, google).shares(105.0, 3000) == {"verify": (1.0, 30_000)}
    # With more images than that, twice the dollars are for twice the images.
    assert real.amount(way, 160.0, google).spec == real.amount(way, 80.0, google).spec


def test_there_are_no_more_labels_for_an_image_than_classes(evidence):
    found = evidence.amount(Way.of("full-subset"), 3.4 * 10 * SWEEP, COCO)
    assert (found.images, found.labels, found.per_image) == (3, 30, 10.0)
    # What pays for 3.6 images buys three of them.
    found = evidence.amount(Way.of("full-subset"), 3.6 * 10 * SWEEP, COCO)
    assert (found.images, found.labels, found.per_image) == (3, 30, 10.0)


@pytest.mark.parametrize("scheme", ["full-subset", "rpa", "fpc"])
def test_what_is_labelled_completely_is_exhausted(evidence, scheme):
    most = evidence.most(Way.of(scheme), COCO, 6000)
    assert most == pytest.approx(6000 * 10 * SWEEP, rel=1e-3)
    found = evidence.amount(Way.of(scheme), 100 * most, COCO, images=6000)
    assert found.images == 6000 and found.labels <= 60_000
    assert found == evidence.amount(Way.of(scheme), most, COCO, images=6000)
    if scheme == "rpa":
        assert found.spec == "rpa(keep=1.0)" and found.labels == 60_000


def test_one_name_for_each_image_is_the_end_of_single_positive(evidence):
    way = Way.of("single-positive")
    most = evidence.most(way, prices("google"), 6000)
    assert most == pytest.approx(6000 * 0.035)
    assert evidence.amount(way, 9e9, prices("google"), images=6000).images == 6000


def test_without_a_number_of_images_there_is_no_end(evidence):
    assert evidence.most(Way.of("rpa"), COCO, None) == math.inf


def test_a_pilot_that_bought_everything_is_its_own_end(write_runs):
    notes = ["fpc can spend 19.87 of 20.00 dollars; everything was bought"]
    own = Evidence.of(write_runs(schemes=("fpc",), budgets=(5.0, 10.0, 20.0), notes=notes))
    assert own.most(Way.of("fpc"), COCO, planted.POOL) == pytest.approx(19.8726)
    assert own.most(Way.of("fpc"), COCO, 2 * planted.POOL) == pytest.approx(2 * 19.8726)


def test_a_part_of_the_images_is_a_pool_of_its_own(write_runs):
    own = Evidence.of(
        write_runs(schemes=("rpa",), pool=1500, grid={"images": 0.5}, reference=False)
    )
    assert own.images == 3000
    way = Way.of("rpa", 0.5)
    assert own.most(way, COCO, 1500) == pytest.approx(1500 * 10 * SWEEP)


def test_a_pilot_that_runs_out_of_images_is_known(write_runs, evidence):
    few = {"methods": ("an",), "draws": 1, "pool": 430, "reference": False}
    small = write_runs(schemes=("fpc", "full-subset"), buy=planted.simulated, **few)
    own, fpc = Evidence.of(small), Way.of("fpc")
    ladder = own.ladder(fpc, COCO)
    # 10 dollars buy 430 of 4,300 labels; 20 buy most positives there are, and 40 all.
    assert 9 < ladder.fresh < 20 and ladder.saturated(40.0) and ladder.saturated(40.0, 12_000)
    assert not ladder.saturated(9.0) and not ladder.saturated(40.0, 430)
    assert not own.ladder(Way.of("full-subset"), COCO).saturated(400.0)
    assert not evidence.ladder(fpc, COCO).saturated(800.0)
