import numpy as np
import pytest

from simkit.annotate.habits import Habits
from simkit.annotate.prices import prices
from simkit.annotate.simulate import simulate
from simkit.planning.evidence.evidence import Evidence, Way
from simkit.planning.money.bill import Project, left
from simkit.planning.money.sensitivity import changes
from tests.planning import planted

FPC, RPA, FULL = Way.of("fpc"), Way.of("rpa"), Way.of("full-subset")


@pytest.fixture(scope="module")
def evidence(pilot):
    return Evidence.of(pilot)


def by_name(**values):
    return {change.what: change for change in changes(Project(budget=5000, **values))}


def times(change, evidence, way):
    """By how much the same labels become dearer."""
    before = evidence.points(way, "an", Project(budget=5000).prices)
    after = change.of(evidence).points(way, "an", change.project.prices)
    assert after.score.tolist() == before.score.tolist()
    return after.reach / before.reach


def test_every_change_has_a_name_and_says_what_it_assumes():
    found = by_name()
    assert list(found) == [
        "wage -50 %",
        "wage +50 %",
        "people overlook 10 points more",
        "classes half as frequent",
        "proposals 10 points less precise",
    ]
    assert all(change.assumed and change.project.budget == 5000 for change in found.values())


def test_of_a_mixture_only_its_complete_images_grow_where_classes_are_rarer(tmp_path):
    mixed = Way.of("mixed(share=0.3)")
    folder = planted.write(
        tmp_path / "runs", schemes=("mixed(share=0.3)",), buy=planted.simulated, methods=("an",)
    )
    found = Evidence.of(folder)
    rarer = by_name()["classes half as frequent"].of(found)
    for before, after in zip(found.of_way(mixed), rarer.of_way(mixed), strict=True):
        swept = before.effort.images("sweep")
        assert after.images == before.images + swept
        assert after.labels == before.labels + before.effort.count("sweep")


@pytest.mark.parametrize(("what", "wanted"), [("wage -50 %", 0.5), ("wage +50 %", 1.5)])
def test_what_is_paid_by_time_goes_with_the_wage(evidence, what, wanted):
    change = by_name()[what]
    assert times(change, evidence, FPC) == pytest.approx(wanted)
    assert change.scores(evidence, FPC)
    assert change.told(evidence, FPC) == (
        f"an hour costs ${15 * wanted:g} and not $15; what has a price of its own stays as it is"
    )


def test_what_has_a_price_of_its_own_does_not(evidence):
    change = by_name(prices="google")["wage +50 %"]
    assert change.project.prices == prices("google")
    assert change.told(evidence, FPC) == (
        "nothing on price list 'google' is paid by time, so nothing moves"
    )


def test_only_the_timed_part_of_a_list_moves(evidence, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('like = "google"\nwage = 18\n[search]\nper = "question"\nseconds = 2\n')
    change = by_name(prices=str(own))["wage +50 %"]
    listed = prices(own)
    for way, wanted in ((FPC, 1.5), (FULL, 1.0)):
        before, after = (
            evidence.points(way, "an", one).reach for one in (listed, change.project.prices)
        )
        assert after / before == pytest.approx(wanted)


def test_overlooking_makes_searches_longer_and_leaves_scores_open(evidence):
    change = by_name()["people overlook 10 points more"]
    assert times(change, evidence, FPC) == 1 and times(change, evidence, RPA) == 1
    blind = Way.of("fpc(search='random')")
    assert change.factors(blind) == {"search": pytest.approx(1 / 0.9)}
    assert not change.scores(evidence, FPC) and not change.scores(evidence, RPA)
    assert change.told(evidence, RPA) == (
        "people find 10 points less of what is present, so that a search among images as "
        "they come takes more looks; how "
        "models learn from such answers is not on file, so this is what it costs and no more: "
        "compare with habits = { miss = 0.1 } to know"
    )


def test_runs_of_people_who_overlook_that_much_stand_in(pilot, write_runs):
    tired = Habits(miss=0.1)

    def lower(scheme, method, dollars):
        return planted.expected(scheme, method, dollars) - 0.05

    both = Evidence.of(pilot, write_runs("tired", schemes=("rpa",), habits=tired, expect=lower))
    change = by_name()["people overlook 10 points more"]
    listed = prices("coco-tagging")
    found = change.of(both).points(RPA, "an", listed)
    measured = both.points(Way.of("rpa", 1.0, tired), "an", listed)
    assert found.score.tolist() == measured.score.tolist()
    assert change.scores(both, RPA) and not change.scores(both, FPC)
    assert change.told(both, RPA) == (
        "people find 10 points less of what is present, so that a search among images as "
        "they come takes more looks; "
        "measured: runs of rpa who miss 10 % stand for it"
    )


def test_rarer_classes_double_what_comes_at_random(evidence, write_runs):
    change = by_name()["classes half as frequent"]
    assert times(change, evidence, RPA) == pytest.approx(2)
    assert times(change, evidence, FULL) == pytest.approx(2)
    # Odds of 1 to 1 become 1 to 2: a positive takes three candidates and not two.
    assert times(change, evidence, FPC) == pytest.approx(1.5, rel=0.01)
    assert times(change, evidence, Way.of("single-positive")) == 1
    blind = Evidence.of(write_runs(schemes=("fpc(search='random')",), methods=("an",)))
    assert times(change, blind, Way.of("fpc(search='random')")) == pytest.approx(2)


def test_rarer_classes_take_more_images_and_a_larger_test_set(evidence):
    change = by_name(precision=2)["classes half as frequent"]
    rarer = change.of(evidence)
    assert rarer.shares == pytest.approx(np.array(planted.SHARES) / 2)
    assert left(change.project, rarer) < left(change.project, evidence)
    listed = change.project.prices
    # Twice the questions are twice the images: for the same dollars as many as before.
    assert rarer.amount(FULL, 50.0, listed).images == evidence.amount(FULL, 50.0, listed).images
    assert rarer.amount(RPA, 50.0, listed).labels == evidence.amount(RPA, 50.0, listed).labels
    assert rarer.amount(FPC, 60.0, listed).labels == pytest.approx(
        evidence.amount(FPC, 40.0, listed).labels, rel=0.02
    )


def test_a_less_precise_machine_makes_candidates_dearer(evidence, write_runs):
    change = by_name()["proposals 10 points less precise"]
    # k positives took k / 0.5 candidates, then k / 0.4; more absent ones are not needed.
    assert times(change, evidence, FPC) == pytest.approx(1.25, rel=0.01)
    assert times(change, evidence, RPA) == 1
    assert change.told(evidence, RPA) == (
        "10 points fewer of a machine's candidates show their class, and mAP goes by the present "
        "labels that are found; rpa takes as many questions as before"
    )
    assert change.told(evidence, FPC) == change.assumed
    rarer = by_name()["classes half as frequent"]
    assert rarer.told(evidence, RPA) == rarer.assumed
    assert rarer.told(evidence, Way.of("single-positive")) == (
        f"{rarer.assumed}; single-positive takes as many questions as before"
    )


def test_references_take_twice_as_many_images_where_classes_are_half_as_frequent(evidence):
    listed = prices("coco-tagging")
    before = evidence.ceiling(listed)
    for change in by_name().values():
        if not change.what.startswith("wage"):
            found = change.of(evidence).ceiling(listed)
            times = 1 / change.prevalence
            assert found.score == before.score
            assert found.dollars == pytest.approx(times * before.dollars)


def test_runs_without_their_questions_are_not_worked_on(write_runs):
    at = write_runs(schemes=("fpc", "single-positive"), effort=None)
    old, change = Evidence.of(at), by_name()["classes half as frequent"]
    assert not change.scores(old, FPC) and by_name()["wage +50 %"].scores(old, FPC)
    assert change.told(old, FPC) == (
        f"{change.assumed}; the runs of fpc do not hold the questions behind their labels, so "
        "nothing is worked out: compare again with this version"
    )


@pytest.mark.filterwarnings("ignore:.* images show none")
@pytest.mark.parametrize("scheme", ["fpc(per_class=30", "federated(per_class=60"])
def test_overlooking_asks_what_the_simulator_asks(scheme):
    truth = planted.truth(4000)
    change = by_name()["people overlook 10 points more"]
    for search in ("proposals", "random"):
        spec = f"{scheme}, search={search!r})"
        looks = [
            simulate(truth, spec, habits=Habits(miss=miss)).effort.looks.sum()
            for miss in (0.0, 0.1)
        ]
        wanted = change.factors(Way.of(spec)).get("search", 1.0)
        assert looks[1] / looks[0] == pytest.approx(wanted, rel=0.05)


def test_a_mixture_goes_by_what_its_others_are_asked():
    rarer = by_name()["classes half as frequent"]
    worse = by_name()["proposals 10 points less precise"]
    found = rarer.factors(Way.of("mixed(rest='proposals')"))
    assert found["verify"] == rarer.factors(Way.of("proposals"))["verify"] == pytest.approx(1.5)
    assert worse.factors(Way.of("mixed(rest='proposals')")) == {"verify": pytest.approx(1.25)}
    assert rarer.factors(Way.of("mixed(rest='rpa')"))["verify"] == 2
    assert "verify" not in rarer.factors(Way.of("mixed"))
