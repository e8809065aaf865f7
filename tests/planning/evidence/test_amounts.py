import math

import pytest

from simkit.annotate.prices import prices
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
    assert (found.images, found.labels) == (row["images"], row["present"] + row["absent"])
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
