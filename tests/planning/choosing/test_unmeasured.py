"""What a pilot holds one value of is said to be worth another."""

import pytest

from simkit.annotate.habits import Habits
from simkit.annotate.prices import prices
from simkit.planning.choosing.choice import by_pair, candidates
from simkit.planning.choosing.unmeasured import unmeasured, worth_trying
from simkit.planning.curves.fit import fit
from simkit.planning.evidence.evidence import Evidence, Way
from simkit.planning.money.bill import Project

PROJECT = Project(100.0)
RPA, FULL = Way.of("rpa"), Way.of("full-subset")


def told(evidence, way, project=PROJECT):
    curve = fit(evidence.points(way, "an", project.prices), resamples=20)
    found = by_pair(candidates({(way, "an"): curve}, evidence, project, steps=4))
    chosen = found[way, "an"][-1]
    told = [*unmeasured(chosen, evidence, project)]
    assert worth_trying({(way, "an"): curve}, chosen, evidence, project) == (*told,)
    return told


@pytest.fixture(scope="module")
def evidence(pilot):
    return Evidence.of(pilot)


def test_people_whom_no_run_did_without_are_said(evidence):
    assert told(evidence, FULL) == [
        "fewer people for a question: 8 answer each, all but one of them for $87.47 of the "
        "$99.97, and no run had fewer, so that the plan does not know what the others are worth; "
        "people who never err, as in its runs, need no others: compare with habits = { workers = "
        "4, miss = 0.1 } as well"
    ]


def test_people_who_err_may_need_others(write_runs):
    tired = Habits(miss=0.2, workers=2)
    own = Evidence.of(write_runs(schemes=("full-subset",), methods=("an",), habits=tired))
    (found,) = told(own, Way.of("full-subset", habits=tired))
    assert "no run had fewer, so that the plan does not know how much worse" in found
    assert "compare with habits = { workers = 1, miss = 0.1 } as well" in found


def test_fewer_people_were_measured(pilot, write_runs):
    few = write_runs("few", schemes=("full-subset",), methods=("an",), habits=Habits(workers=1))
    both = Evidence.of(pilot, few)
    assert told(both, FULL) == []
    assert told(both, Way.of("full-subset", habits=Habits(workers=1))) == []


def test_one_number_of_images_is_said(evidence, pilot, write_runs):
    google = Project(100.0, prices=prices("google"))
    assert told(evidence, RPA, google) == [
        "rpa on fewer and on more images: its keep grew on 3,000 images alone, so that the plan "
        "does not weigh many images with few labels each against few with many: compare with "
        "images = 0.5 as well"
    ]
    half = write_runs(
        "half", schemes=("rpa",), methods=("an",), pool=1500, grid={"images": 0.5}, reference=False
    )
    assert told(Evidence.of(pilot, half), RPA, google) == []
