import dataclasses
from dataclasses import replace

import pytest

from simkit.annotate.evaluation import evaluation_set
from simkit.annotate.prices import prices
from simkit.errors import BadInput
from simkit.planning.evidence.evidence import Evidence, Way
from simkit.planning.money.bill import Project, besides, bill, fixed, left
from tests.planning import planted

DEAR = replace(prices("coco-tagging"), qa=0.4, setup=50.0, setup_class=2.0)


@pytest.fixture(scope="module")
def evidence(pilot):
    return Evidence.of(pilot)


def by_name(found):
    return {line.what: line for line in found.lines}


def test_labels_alone_are_one_line_for_one_person(evidence):
    project = Project(budget=100, prices=replace(prices("careful")))
    found = bill(project, evidence, Way.of("rpa"), "an", 10.0)
    (line,) = found.lines
    assert (line.what, line.dollars) == ("verifying labels", 10.0)
    assert line.how == "2,400 questions, 1 s a question at $15 an hour"  # 10 x 3600 / 15
    assert left(project, evidence) == 100


def test_redundancy_and_assurance_are_lines_of_their_own(evidence):
    project = Project(budget=5000, prices=DEAR)
    lines = by_name(bill(project, evidence, Way.of("fpc"), "an", 560.0))
    assert list(lines) == [
        "searching for positives", "redundancy", "quality assurance", "set-up",
    ]  # fmt: skip
    # 560 = 400 x 1.4, and 400 = 8 x 50
    found = [line.dollars for line in lines.values()]
    assert found == pytest.approx([50.0, 350.0, 160.0, 70.0])
    assert lines["redundancy"].how == "7 more people answer everything; 8 in all"
    assert lines["quality assurance"].how == "40 % of what the questions cost"
    assert lines["set-up"].how == "$50 for the project and $2 for each of 10 classes, once"
    assert left(project, evidence) == 5000 - 70


@pytest.mark.parametrize("scheme", list(planted.CURVES))
@pytest.mark.parametrize("name", ["coco-tagging", "google", "aws"])
@pytest.mark.parametrize("dollars", [1.0, 37.0, 4000.0])
def test_lines_of_labels_add_up_to_their_dollars(evidence, scheme, name, dollars):
    listed = replace(prices(name), qa=0.3, setup=20.0)
    found = bill(Project(budget=5000, prices=listed), evidence, Way.of(scheme), "an", dollars)
    assert found.total == pytest.approx(dollars + 20.0)
    assert all(line.dollars > 0 for line in found.lines)


def test_pages_are_told_with_how_full_they_are(evidence):
    project = Project(budget=5000, prices="google")
    lines = by_name(bill(project, evidence, Way.of("full-subset"), "an", 350.0))
    assert lines["labelling images completely"].how == (
        "100,000 labels, $0.035 a page of 20, 50 % full"
    )


def test_loading_an_image_is_a_line(evidence, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('like = "careful"\n[image]\nseconds = 2\n')
    project = Project(budget=5000, prices=str(own))
    lines = by_name(bill(project, evidence, Way.of("full-subset"), "an", 60.0))
    # An image takes 10 s for its classes and 2 s to load.
    assert lines["labelling images completely"].dollars == pytest.approx(50.0)
    assert lines["loading images"].dollars == pytest.approx(10.0)
    assert lines["loading images"].how == "1,200 images, 2 s an image at $15 an hour"


def test_test_and_validation_sets_come_off_the_top(evidence):
    project = Project(budget=5000, prices=DEAR, precision=2, validation_images=100)
    wanted = evaluation_set(2, planted.SHARES, DEAR)
    lines = by_name(fixed(project, evidence))
    assert lines["test set"].dollars == pytest.approx(wanted.cost.dollars)
    assert lines["test set"].how == (
        f"{wanted.images:,} images labelled completely, for mAP to ±2 points (95 %)"
    )
    assert lines["validation set"].dollars == pytest.approx(
        100 * wanted.cost.dollars / wanted.images
    )
    assert lines["validation set"].how == "100 images labelled completely"
    assert left(project, evidence) == pytest.approx(5000 - fixed(project, evidence).total)


def test_images_are_paid_for_where_they_are_obtained(evidence):
    project = Project(budget=5000, prices="google", image_price=0.5, precision=5)
    tests = evaluation_set(5, planted.SHARES, "google").images
    lines = by_name(bill(project, evidence, Way.of("full-subset"), "an", 35.0))
    assert lines["images for training"].dollars == 500.0
    assert lines["images for training"].how == "1,000 images to be obtained at $0.5 each"
    assert lines["images for validation and test"].dollars == pytest.approx(0.5 * tests)
    few = Project(budget=5000, prices="google", image_price=0.5, images=400)
    lines = by_name(bill(few, evidence, Way.of("rpa"), "an", 35.0))
    assert lines["images for training"].dollars == 200.0


def test_computing_is_paid_by_the_hour(evidence):
    known = Project(budget=5000, gpu_price=2.0, gpu_hours=30)
    (line,) = fixed(known, evidence).lines
    assert (line.what, line.dollars, line.how) == ("training", 60.0, "30 hours at $2")
    (line,) = fixed(Project(budget=5000, gpu_price=3.6), evidence).lines
    assert line.dollars == pytest.approx(0.03)
    assert line.how == (
        "0.00833 hours at $3.6, a training as long as the pilot's longest where it ran, however "
        "much is bought; more images take longer, so give gpu_hours (--gpu-hours) for them"
    )


def test_every_round_of_buying_is_trained_on(evidence):
    (once,) = fixed(Project(budget=5000, gpu_price=3.6), evidence).lines
    (line,) = fixed(Project(budget=5000, gpu_price=3.6, rounds=3), evidence).lines
    assert line.dollars == pytest.approx(3 * once.dollars)
    assert ", a training after each of 3 rounds as long as" in line.how


def test_hours_that_no_run_tells_are_asked_for(evidence):
    runs = [dataclasses.replace(run, seconds=0.0) for run in evidence.runs]
    untimed = evidence.with_runs(runs, evidence.shares)
    with pytest.raises(BadInput) as error:
        fixed(Project(budget=5000, gpu_price=3.6), untimed)
    assert str(error.value) == (
        "the runs do not tell how long a training took, by which hours of a GPU are counted; give "
        "gpu_hours (--gpu-hours)"
    )


def test_a_budget_that_pays_for_no_labels_is_refused_with_what_it_needs(evidence):
    project = Project(budget=50, prices=DEAR, validation_images=100)
    with pytest.raises(BadInput) as error:
        left(project, evidence)
    assert str(error.value) == (
        "a budget of $50.00 leaves nothing for labels to train on, as $84.05 come off the top "
        "(set-up $70.00, validation set $14.05); raise the budget above that, or do without some "
        "of it"
    )


def test_a_test_set_needs_to_know_how_frequent_classes_are(write_runs):
    blind = Evidence.of(write_runs(reference=False))
    project = Project(budget=5000, precision=2)
    with pytest.raises(BadInput) as error:
        fixed(project, blind)
    assert str(error.value) == (
        "the runs do not tell how many images show each class, by which a test set for 2 points "
        "is sized; compare again with reference = true, or leave out precision where there is a "
        "test set"
    )
    known = replace(project, shares=planted.SHARES)
    assert fixed(known, blind).total == pytest.approx(
        evaluation_set(2, planted.SHARES, "coco-tagging").cost.dollars
    )
    with pytest.raises(BadInput) as error:
        fixed(replace(project, shares=(0.5, 0.1)), blind)
    assert str(error.value) == "shares has 2 numbers for 10 classes; give one for each"


def test_a_method_that_was_not_measured_has_no_bill(evidence):
    with pytest.raises(BadInput) as error:
        bill(Project(budget=5000), evidence, Way.of("rpa"), "role", 10.0)
    assert str(error.value) == "no curve of 'role'; measured are an, ll-r, csl"


@pytest.mark.parametrize("dollars", [12.0, 30.0, 77.7])
def test_labels_on_the_bill_are_those_that_the_plan_tells_of(evidence, dollars):
    project, way = Project(budget=5000, prices="google"), Way.of("full-subset")
    amount = evidence.amount(way, dollars, project.prices)
    (line,) = bill(project, evidence, way, "an", dollars).lines
    assert line.how.startswith(f"{amount.labels:,} labels, ")
    assert amount.labels == 10 * amount.images  # whole images, of 10 classes
    # Two passes of 20 classes are not needed: one page an image, and never more than is paid.
    assert amount.images * 0.035 <= dollars + 1e-9


def test_what_comes_besides_labels_is_named(evidence):
    project = Project(budget=5000, prices=DEAR, image_price=0.1, validation_images=1)
    names = [line.what for line in bill(project, evidence, Way.of("rpa"), "an", 10.0).lines]
    found = besides(project, evidence)
    assert found == ["images for training", "set-up", "validation set",
                     "images for validation and test"]  # fmt: skip
    assert set(found) < set(names)
    lines = by_name(bill(project, evidence, Way.of("rpa"), "an", 10.0))
    assert lines["validation set"].how == "1 image labelled completely"
