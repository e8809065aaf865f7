"""Which larger pilot would tell more."""

import math

import pytest

from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.gathering import scale
from simkit.planning.evidence.tested import Tested
from simkit.planning.evidence.ways import Way
from simkit.planning.money.project import Project
from simkit.planning.pilot.report import plan_pilot
from simkit.planning.told.larger import larger
from tests.planning import planted
from tests.planning.fakes import Line, candidate


@pytest.fixture(scope="module")
def evidence(tmp_path_factory) -> Evidence:
    folder = tmp_path_factory.mktemp("pilot") / "runs"
    return Evidence.of(planted.write(folder, schemes=("full-subset",), methods=("an",)))


def test_it_goes_on_with_the_pilots_own_scale(evidence) -> None:
    sizes = sorted({run.nominal[-1] for run in evidence.runs if not run.reference})
    project, way = Project(budget=500.0), Way.of("full-subset")
    chosen = candidate("full-subset", "an", 300.0, Line(0.6, 0.05, reach=sizes[-1]))
    told = larger(chosen, evidence, project)
    budgets = [*map(int, sizes), int(2 * sizes[-1]), int(4 * sizes[-1])]
    assert f"budgets = {budgets}" in told and "`simkit compare grid.toml --out larger`" in told
    assert str(evidence.folders[0]) in told
    everything = evidence.most(way, project.prices, evidence.images)
    assert ("images or more" in told) == (4 * sizes[-1] > everything)
    used = candidate("full-subset", "an", 300.0, Line(0.6, 0.05, reach=everything / 2))
    assert f"and data with {2 * evidence.images:,} images or more" in larger(
        used, evidence, project
    )


def test_it_asks_for_no_more_images_than_there_are(evidence) -> None:
    sizes = sorted({int(run.nominal[-1]) for run in evidence.runs if not run.reference})
    reach = evidence.most(Way.of("full-subset"), Project(budget=500.0).prices, evidence.images)
    chosen = candidate("full-subset", "an", 300.0, Line(0.6, 0.05, reach=reach))
    for images, more, told in (
        (4 * evidence.images, 2, "12,000 images or more"),
        (3 * evidence.images, 1, "all 9,000 images"),  # room for one size more
    ):
        found = larger(chosen, evidence, Project(budget=500.0, images=images))
        budgets = sizes + [2 * sizes[-1], 4 * sizes[-1]][:more]
        assert f"budgets = {budgets} and data with {told} into" in found
    for few in (100, evidence.images, 2 * evidence.images - 1):
        assert larger(chosen, evidence, Project(budget=500.0, images=few)) == ""


def test_few_test_images_make_it_the_pilot_that_is_advised_without_runs(evidence) -> None:
    few, reach = Tested(15, 10, 0, 20.0), 2.0
    chosen = candidate("full-subset", "an", 90.0, Line(0.6, 0.05, reach=reach))
    classes, budget = len(evidence.classes), 5_000.0
    project = Project(budget=budget)
    advised = plan_pilot(
        budget, prices=project.prices, classes=classes, per_image=1.5, schemes=("full-subset",)
    ).pilot
    assert advised.images > evidence.images and advised.test_images > 0
    told = larger(chosen, evidence, project, few)
    assert (
        f" and data with {advised.images:,} images or more to train on and "
        f"{advised.test_images:,} or more to measure by into a copy of" in told
    )
    # On so many images the scale goes further, twice as far each time.
    most = evidence.most(chosen.way, project.prices, advised.images)
    sizes = len({run.nominal[-1] for run in evidence.runs if not run.reference})
    more = told.split("[")[1].split("]")[0].count(",") + 1 - sizes
    assert 2**more * reach <= most < 2 ** (more + 1) * reach and more > 2
    # A smaller project has no better pilot than the one there is, but too few images to measure by.
    small = larger(chosen, evidence, Project(budget=50.0), few)
    assert f" and data with {math.ceil(evidence.images / 3):,} or more to measure by into" in small


def test_a_scale_doubles_its_labels_and_keeps_its_set_up(evidence) -> None:
    from dataclasses import replace

    run = next(run for run in evidence.runs if not run.reference)
    bought = [replace(run, nominal=("dollars", "mine", b), set_up=500.0) for b in (520.0, 540.0)]
    assert scale(bought, 2) == [520, 540, 580, 660]
    assert scale([replace(run, nominal=("written", "1.0", 3.0))], 2) == []
