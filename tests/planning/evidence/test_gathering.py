import numpy as np
import pytest

from simkit.annotate.prices import cost, prices
from simkit.errors import BadInput
from simkit.planning.evidence import gathering
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.measured import read
from tests.planning import planted

LISTED = prices(planted.PRICES)


@pytest.fixture(scope="module")
def measured(pilot):
    return read(pilot)


@pytest.fixture(scope="module")
def bills(measured):
    return {id(run.effort): cost(run.effort, LISTED) for run in measured.runs}


def own(measured, scheme, method="an"):
    found = [run for run in measured.runs if (run.way.scheme, run.method) == (scheme, method)]
    return [run for run in found if not run.reference]


def test_sizes_are_in_the_order_of_their_cost(measured):
    runs = own(measured, "rpa")
    mixed = [runs[place] for place in np.random.default_rng(0).permutation(len(runs))]
    found = gathering.sizes(mixed)
    assert [{run.nominal[2] for run in size} for size in found] == [{b} for b in planted.BUDGETS]
    assert all(len(size) == 4 for size in found)


def test_references_are_no_sizes(measured):
    found = gathering.pairs(measured.runs)
    assert set(found.values()) == {5}
    assert "full" not in {method for _, method in found}


def test_who_buys_less_for_the_same_money_is_left_out(measured):
    found = gathering.sizes(own(measured, "rpa"))
    flat = gathering.worth(found, lambda run: 1.0)
    assert flat == [found[-1]]  # most labels
    steps = {5.0: 1.0, 10.0: 2.0, 20.0: 2.005, 40.0: 2.5, 80.0: 2.51}
    kept = gathering.worth(found, lambda run: steps[run.nominal[2]])
    assert [size[0].nominal[2] for size in kept] == [5.0, 20.0, 80.0]


def test_a_method_that_failed_is_told_apart_from_its_way(measured):
    runs = [r for r in measured.runs if r.method != "csl" or r.nominal[2] == 5.0 or r.reference]
    assert next(iter(gathering.few(runs))) == (
        "single-positive with csl was measured at 1 size, and a curve needs 3: left out"
    )


def test_frequencies_come_from_labels_that_are_no_selection(write_runs):
    count = {"class_present": [5, 0], "class_absent": [15, 40]}
    at = write_runs(reference=False, schemes=("fpc", "rpa"), **count)
    assert gathering.shares(read(at).runs, 2).tolist() == [0.25, 0.0]
    at = write_runs("selected", reference=False, schemes=("fpc",), **count)
    assert gathering.shares(read(at).runs, 2) is None


def test_a_cost_is_that_of_the_questions(measured, bills):
    for run in measured.runs:
        assert gathering.dollars_of(run, bills, LISTED) == pytest.approx(run.dollars)


def test_what_has_no_price_is_named(measured, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('[name]\nper = "image"\ndollars = 1\n')
    assert gathering.unpriced(own(measured, "single-positive"), prices(path)) == ""
    assert gathering.unpriced(own(measured, "rpa"), prices(path)) == (
        "price list 'own' has no price for 'verify'; add a table [verify]"
    )


def test_settings_that_only_one_folder_has_are_told(measured, write_runs):
    pictures = {"pictures": {"size": 64}, "draws": 1}
    other = read(write_runs("pictures", grid=pictures))
    with pytest.raises(BadInput) as error:
        gathering.check_alike(measured, other)
    assert str(error.value) == (
        f"{measured.folder} and {other.folder} were trained differently: pictures is None and "
        "there; plan from one of them, or compare again with equal settings"
    )


def test_the_share_of_the_pool_that_a_run_labelled(measured):
    full, rpa = own(measured, "full-subset")[-1], own(measured, "rpa")[-1]
    pool, classes = planted.POOL, len(planted.CLASSES)
    assert gathering.part_of(full, pool=pool, classes=classes) == full.images / pool
    assert gathering.part_of(rpa, pool=pool, classes=classes) == pytest.approx(rpa.amount, 1e-3)
    assert gathering.part_of(full, pool=full.images // 2, classes=classes) == 1


def test_points_know_it_where_the_pool_is_known(pilot, write_runs):
    way = next(way for way in Evidence.of(pilot).ways if way.scheme == "full-subset")
    points = Evidence.of(pilot).points(way, "an", prices(planted.PRICES))
    images = points.shares * planted.POOL
    np.testing.assert_allclose(images, np.round(images), atol=1e-6)
    assert 0 < images[0] < images[-1] < planted.POOL
    guessed = Evidence.of(write_runs(reference=False)).points(way, "an", prices(planted.PRICES))
    assert guessed.taken is None
