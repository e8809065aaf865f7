import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from simkit.annotate.prices import cost, prices
from simkit.errors import BadInput
from simkit.planning.evidence.evidence import Evidence, Way
from tests.planning import planted

COCO = prices("coco-tagging")


@pytest.fixture(scope="module")
def evidence(pilot):
    return Evidence.of(pilot)


def test_what_was_measured(evidence):
    assert [str(way) for way in evidence.ways] == list(planted.CURVES)
    assert evidence.methods == tuple(planted.LEAD)
    assert (evidence.images, evidence.draws, evidence.prices) == (3000, 4, ("coco-tagging",))
    assert evidence.shares == pytest.approx(planted.SHARES)
    assert evidence.left_out == ()


def test_points_are_the_runs(evidence):
    found = evidence.points(Way.of("rpa"), "ll-r", COCO)
    rows = [
        row
        for row in planted.rows()
        if (row["scheme"], row["method"], row["reference"]) == ("rpa", "ll-r", False)
    ]
    assert found.dollars == pytest.approx([row["dollars"] for row in rows])
    assert found.score == pytest.approx([row["map"] for row in rows])
    assert found.draw.tolist() == [row["draw"] for row in rows]
    assert found.size.tolist() == sorted([0, 1, 2, 3, 4] * 4)
    assert evidence.points(Way.of("rpa"), "boostlu", COCO) is None


def test_labels_are_priced_again_without_the_set_up(evidence, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('like = "google"\nsetup = 100\nsetup_class = 5\nqa = 0.5\n')
    google, mine = (
        evidence.points(Way.of("full-subset"), "an", prices(name)) for name in ("google", own)
    )
    assert google.dollars[0] == pytest.approx(49 * 0.035)  # 49 images, one page of 20 each
    assert mine.dollars == pytest.approx(1.5 * google.dollars)


def test_budgets_under_two_price_lists_are_sizes_of_one_curve(write_runs):
    cheap = write_runs("cheap", listed="openimages", budgets=(1.0, 2.0))
    both = Evidence.of(write_runs("usual", budgets=(10.0, 20.0)), cheap)
    found = both.points(Way.of("full-subset"), "an", prices("openimages"))
    assert len(np.unique(found.size)) == 4
    assert (np.diff(found.dollars) >= 0).all()


def test_questions_without_a_price_leave_a_way_out(evidence, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('[verify]\nper = "question"\ndollars = 0.01\n')
    listed = prices(own)
    assert evidence.points(Way.of("fpc"), "an", listed) is None
    assert evidence.points(Way.of("rpa"), "an", listed).reach == pytest.approx(79.70)
    assert evidence.unpriced(listed) == [
        "single-positive: price list 'own' has no price for 'name'; add a table [name]",
        "full-subset: price list 'own' has no price for 'sweep'; add a table [sweep]",
        "fpc: price list 'own' has no price for 'search'; add a table [search]",
    ]
    assert evidence.ceiling(listed).dollars is None
    with pytest.raises(BadInput) as error:
        evidence.amount(Way.of("fpc"), 10.0, listed)
    assert str(error.value) == "price list 'own' has no price for 'search'; add a table [search]"


def test_more_questions_for_the_same_money_replace_fewer(evidence):
    found = evidence.points(Way.of("rpa"), "an", prices("aws"))
    # By the image, 3,000 images with one question cost what they cost with two or three.
    assert len(np.unique(found.size)) == 4
    assert found.dollars[-1] == pytest.approx(3000 * 3 * 0.012)
    best = [r["map"] for r in planted.rows() if (r["scheme"], r["method"], r["budget"]) == (
        "rpa", "an", 80.0)]  # fmt: skip
    assert found.score[-4:] == pytest.approx(best)


def test_a_budget_that_buys_nothing_more_is_no_size(write_runs):
    at = write_runs(schemes=("rpa",), budgets=(10.0, 20.0, 40.0, 301.0, 500.0))
    table = pq.read_table(at / "table.parquet").to_pylist()
    for row in table:  # what is bought for 500 are the labels that were bought for 301
        row["labels_id"] = row["labels_id"].replace("500", "301")
    planted.runs.write(planted.runs.writers(planted.runs.tidy(table, classes=planted.CLASSES)), at)
    assert len(Evidence.of(at).points(Way.of("rpa"), "an", COCO).score) == 4 * 4


def test_the_same_run_in_two_folders_counts_once(pilot, write_runs, evidence):
    both = Evidence.of(pilot, write_runs("again"))
    assert len(both.runs) == len(evidence.runs)
    assert both.ids == evidence.ids
    more = Evidence.of(pilot, write_runs("other", seed=1))
    assert more.draws == 8
    assert len(more.points(Way.of("rpa"), "an", COCO).score) == 40
    assert more.ids["runs"] != evidence.ids["runs"]


def test_two_price_files_of_one_name_are_two_lists(tmp_path):
    for name, wage in (("a", 15), ("b", 60)):
        (tmp_path / name).mkdir()
        listed = tmp_path / name / "own.toml"
        listed.write_text(
            f'like = "coco-tagging"\nwage = {wage}.0\nwage_source = "assumption: planted"\n'
        )
        planted.write(tmp_path / name / "runs", listed=str(listed))
    one, both = (
        Evidence.of(*(tmp_path / name / "runs" for name in names)) for names in ("a", "ab")
    )
    assert len(both.runs) == 2 * len(one.runs) - 4  # references are the same, bought or not
    listed = prices("coco-tagging")
    way = Way.of("rpa")
    costs = both.points(way, "an", listed).costs
    assert costs[0] == pytest.approx(one.points(way, "an", listed).costs[0] / 4, rel=0.02)


def test_draws_are_paired_over_ways(pilot, write_runs):
    few = write_runs("few", seed=1, schemes=("rpa",), draws=2)
    both = Evidence.of(pilot, few)
    assert set(both.points(Way.of("fpc"), "an", COCO).draw) == {0, 1, 2, 3}
    assert set(both.points(Way.of("rpa"), "an", COCO).draw) == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"test_id": "other"}, "{both} are of different data: their test splits differ; plan from "
         "one of them, or from comparisons of the same data"),
        ({"truth_id": "other"}, "{both} are of different data: their images to label differ; plan "
         "from one of them, or from comparisons of the same data"),
        ({"classes": [f"c{c}" for c in range(10)]}, "{both} are of different data: their classes "
         "differ; plan from one of them, or from comparisons of the same data"),
        ({"grid": {"train": {"epochs": 7}}}, "{both} were trained differently: train.epochs is 10 "
         "and 7; plan from one of them, or compare again with equal settings"),
        ({"grid": {"backbone": "resnet50"}}, "{both} were trained differently: backbone is "
         "'scenes-net' and 'resnet50'; plan from one of them, or compare again with equal "
         "settings"),
    ],
)  # fmt: skip
def test_runs_that_cannot_be_compared_are_refused(pilot, write_runs, options, told):
    other = write_runs("other", **options)
    with pytest.raises(BadInput) as error:
        Evidence.of(pilot, other)
    assert str(error.value) == told.replace("{both}", f"{pilot} and {other}")


def test_too_few_sizes_are_told(write_runs):
    with pytest.raises(BadInput) as error:
        Evidence.of(write_runs("one", budgets=(50.0,)))
    assert str(error.value) == (
        "single-positive was measured at 1 size, and a curve needs 3; compare again with more "
        "budgets, such as budgets = [50, 100, 200, 400]"
    )
    two = write_runs("two", schemes=("fpc",), budgets=(5.0, 10.0))
    more = write_runs("more", schemes=("rpa",))
    assert Evidence.of(two, more).left_out == (
        "fpc was measured at 2 sizes, and a curve needs 3: left out",
    )
    assert Evidence.of(two, more).ways == (Way.of("rpa"),)
    with pytest.raises(BadInput) as error:
        Evidence.of()
    assert str(error.value) == "no folder is given; name one that `simkit compare` wrote to"


def test_the_ceiling_is_what_everything_gave(evidence):
    found = evidence.ceiling(prices("google"))
    assert found.dollars == pytest.approx(3000 * 0.035)
    assert found.score == pytest.approx(planted.CEILING, abs=0.02) and found.draws == 4


def test_no_references_no_ceiling(write_runs):
    own = Evidence.of(write_runs(reference=False))
    assert own.ceiling(COCO) is None and own.shares is None
    assert own.images == planted.POOL  # rpa asks about all of them


def test_older_tables_have_their_own_prices_alone(write_runs):
    at = write_runs(listed="google", schemes=("full-subset",), budgets=(3.0, 9.0, 27.0))
    table = pq.read_table(at / "table.parquet")
    pq.write_table(table.drop_columns(["effort"]), at / "table.parquet")
    old = Evidence.of(at)
    found = old.points(Way.of("full-subset"), "an", prices("google"))
    assert found.dollars[::4] == pytest.approx([85 * 0.035, 257 * 0.035, 771 * 0.035])
    assert old.amount(Way.of("full-subset"), 54.0, prices("google")).images == 1542  # and a part
    with pytest.raises(BadInput) as error:
        old.points(Way.of("full-subset"), "an", COCO)
    assert str(error.value) == (
        "the runs of full-subset do not hold the questions behind their labels, so they can be "
        "priced by 'google' alone and not by 'coco-tagging'; compare again with this version"
    )


def test_training_takes_as_long_as_the_largest_run(evidence):
    assert evidence.train_hours("an") == pytest.approx(0.01 * 3000 / 3600)
    with pytest.raises(BadInput, match="no method is called 'bn'; known are an, csl, ll-r"):
        evidence.train_hours("bn")


def test_what_is_assumed_beyond_the_pilot(evidence):
    assert evidence.assumption(Way.of("full-subset")) == (
        "full-subset: more dollars buy more images in the same way, which are taken to be like "
        "the pilot's 3,000."
    )
    assert evidence.assumption(Way.of("rpa"), 60_000) == (
        "rpa: the pilot bought a growing keep on 3,000 images; beyond its largest purchase the "
        "same is bought on more images, and only then more about each; the curve is taken to hold "
        "for both, though for more images it is rather too low: a pilot on as many images as the "
        "project has would tell."
    )
    assert evidence.assumption(Way.of("rpa"), 3000) == (
        "rpa: the pilot bought a growing keep on 3,000 images, and there are no more; the curve "
        "is taken to go on until all is asked."
    )


def test_every_effort_costs_what_its_run_says(evidence):
    for run in evidence.runs:
        assert cost(run.effort, COCO).dollars == pytest.approx(run.dollars)


def test_reading_runs_does_not_load_torch(pilot):
    program = (
        "import sys\nfrom simkit.planning.evidence.evidence import Evidence\n"
        f"Evidence.of({str(pilot)!r})\nsys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_prices_of_nothing_leave_nothing_to_plan(evidence, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('[verify]\nper = "question"\ndollars = 0\n')
    listed = prices(own)
    assert evidence.points(Way.of("rpa"), "an", listed) is None
    with pytest.raises(BadInput) as error:
        evidence.amount(Way.of("rpa"), 10.0, listed)
    assert str(error.value) == (
        "price list 'own' asks nothing for what rpa asks; give it prices above 0"
    )
    told = "rpa: price list 'own' asks nothing for what it asks; give it prices above 0"
    assert told in evidence.unpriced(listed)


def test_images_that_were_allowed_count_where_fewer_were_asked(write_runs):
    few = {"schemes": ("single-positive", "fpc"), "reference": False, "budgets": (5.0, 10.0, 20.0)}
    own = Evidence.of(write_runs(**few, grid={"images": 2500}))
    assert own.images == 2500
    assert own.amount(Way.of("fpc", 2500), 10.0, COCO).images > 900


def test_runs_of_a_table_without_classes_are_refused(write_runs):
    at = write_runs(ap=[], classes=())
    with pytest.raises(BadInput) as error:
        Evidence.of(at)
    assert str(error.value) == (
        f"the table in {at} does not say what its classes are; compare again with this version"
    )
