"""Plans within a project, whose models are trained on all labels so far."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.planning.evidence import Evidence, Received, project_folder
from simkit.planning.plan import plan
from simkit.results.report import points
from simkit.results.test_split import TestSplit
from tests.planning import planted

POOL, IMAGES = 300, 1200


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return planted.data(tmp_path_factory.mktemp("data"), POOL)


@pytest.fixture(scope="module")
def project(spec, tmp_path_factory):
    """The runs of a project."""
    home = tmp_path_factory.mktemp("project")
    (home / "project.toml").touch()
    return planted.write(home / "runs" / "1", spec)


def test_the_labels_so_far_count(project, spec, tmp_path):
    """Purchases are worth what pilot and order give together, as planted."""
    made = plan(project, 200, images=IMAGES, prices="openimages")
    pair = next(pair for pair in made.evidence.cells if pair[0].complete)
    full = made.curves.full(pair)
    for one in (c for c in made.choice.every if c.pair == pair and c.images >= POOL / 10):
        together = made.curves.as_scored(pair, full(np.array([one.images / POOL + 1])))
        assert one.median == pytest.approx(np.median(together), abs=0.002)

    errors = [
        one.median - planted.project_map(tmp_path / "more", one, spec)
        for one in made.choice.every if one.images == IMAGES and one.option.amount != "images"
    ]  # fmt: skip
    assert len(errors) > 50 and abs(np.mean(errors)) < 0.015 and np.abs(errors).mean() < 0.03


def test_known_labels_add_up_over_the_images_asked_about(project):
    """Images without a question do not dilute the complete labels of the pilot."""
    curves = plan(project, 200, images=IMAGES, prices="openimages").curves
    pair = next(pair for pair in curves.evidence.cells if pair[0].scheme == "rpa")
    whole = curves.purchases[pair[0]].complete
    part, times = [0.01 * one[None] for one in whole], np.array([2.0])
    for asked in (0.25, 2.0):
        together = curves.with_labels_so_far(pair, *part, times, np.array([asked]))
        share = min((0.01 * 2 + 1) / (asked + 1), 1.0)
        known = [share * one[None] for one in whole]
        expected = curves(pair, *known, np.array([asked + 1]))
        np.testing.assert_allclose(together, expected, rtol=1e-6, atol=1e-4)


def test_where_nothing_helps_the_money_stays(spec, tmp_path):
    """The plan says how much is left and why, shows no purchase, and names what to train."""
    (tmp_path / "project.toml").touch()
    fields = {"methods": ("an",), "schemes": ("full-subset", "rpa")}
    runs = planted.write(tmp_path / "runs" / "1", spec, **fields)
    made = plan(runs, 0.3, images=IMAGES, prices="openimages")
    said = dict(made.page.answers)
    assert not made.purchase_needed and said["Spend"].startswith("nothing:")
    assert made.left == pytest.approx(0.3) and said["Left"].startswith("$0.30")
    values = made.to_json()
    assert values["order"] == [] and values["left"] == 0.3
    assert all(line["when"] == "before" for line in values["bill"])
    assert values["trained_as"] and "Other labels" not in made.text()
    floor = np.median(made.curves.floor)
    assert f"{100 * floor:.1f}" in said["Expect"] and "the pilot's labels" in said["Expect"]


def rpa_bought(read, **terms):
    """A first plan, and one of its purchases of RPA labels."""
    first = plan(read, 50, images=IMAGES, prices="openimages", **terms)
    named = [one for one in first.choice.every if one.option.scheme == "rpa"]
    return first, next(one for one in named if one.method == "ll-r" and one.dollars > 10)


def received_for(bought, score):
    """Its labels, with this mAP."""
    return Received(
        *bought.pair, bought.dollars, bought.images, round(bought.asked), bought.present,
        bought.absent, np.array([score]),
    )  # fmt: skip


def test_further_labels_add_to_those_of_other_schemes(project):
    """And together they are worth at most complete labels of all images."""
    read = Evidence.of(project)
    _, bought = rpa_bought(read)
    received = received_for(bought, bought.median)
    made = plan(replace(read, received=received), 200, images=IMAGES, prices="openimages")
    assert made.expected[0] == pytest.approx(bought.median, abs=0.005)  # the pilot is in both
    said, (low, high) = dict(made.page.answers)["So far"], bought.band  # the range of the plan
    predicted = f"predicted {points(bought.median)} ({points(low)} to {points(high)} with 90%"
    assert predicted in said and "the measured mAP is 0.0 points" in said
    assert "starts from the measured mAP" in said and "fell short" not in said
    first = plan(read, 200, images=IMAGES, prices="openimages")
    alone = round(float(np.median(first.curves.pilot)), 3)
    gain = points(round(bought.median, 3) - alone)
    assert f"It is {gain} points above the {points(alone)} of the pilot alone." in said
    short = replace(read, received=received_for(bought, alone - 0.01))
    short = plan(short, 200, images=IMAGES, prices="openimages")
    said = dict(short.page.answers)["So far"]
    assert f"1.0 points below the {points(alone)} of the pilot" in said and "fell short" in said
    whole = next(one for one in made.curves.purchases if one.complete)
    new = made.curves.share_of_new(whole, np.array([1.0]))  # besides the order's and the pilot's
    assert new == pytest.approx([1 / (1 + bought.images / POOL + 1)], rel=0.01)  # by those asked
    most = made.curves.full(bought.pair)(np.array([IMAGES / POOL + 1]))[made.curves.kept]
    complete = [c for c in made.choice.every if c.option.complete and c.method == "ll-r"]
    few = min(complete, key=lambda c: abs(c.images - POOL / 2))
    assert few.median > np.median(made.curves.floor) + 0.01
    assert max(c.median for c in complete) <= np.median(most) + 0.02
    answers = dict(made.page.answers)
    assert "Paid before, at openimages prices: $" in answers["Money"]
    made = replace(made, spent=12.34)
    assert "Paid before: $12.34." in dict(made.page.answers)["Money"]
    paid = [line for line in made.bill if line.when == "before"]
    assert [line.what.split()[0] for line in paid] == ["rpa", "pilot:", "pilot:"]


def test_the_error_of_the_test_split_stays_when_labels_so_far_are_measured_on_it(project):
    read = replace(Evidence.of(project), test=TestSplit(80, 5.0, noise=0.05))
    _, bought = rpa_bought(read)
    received = received_for(bought, bought.median)
    made = plan(replace(read, received=received), 200, images=IMAGES, prices="openimages")
    for values in (made.curves.floor, made.chosen.map):
        assert np.arcsin(np.sqrt(values)).std() > 0.9 * 0.05


@pytest.mark.parametrize("image_price", [0.0, 0.1])
def test_further_labels_of_an_option_contain_the_earlier_ones(project, image_price):
    """So they are on no fewer images, of which the earlier ones are paid."""
    read, terms = Evidence.of(project), {"image_price": image_price}
    _, bought = rpa_bought(read, **terms)
    labels = bought.dollars - bought.images * image_price
    received = replace(received_for(bought, bought.median), dollars=labels, asked=bought.images)
    for budget in (5, 300):
        made = plan(
            replace(read, received=received), budget, images=IMAGES, prices="openimages", **terms
        )
        same = [one for one in made.choice.every if one.option == bought.option]
        more = [one for one in same if not one.answers.again]
        assert more or budget == 5
        for one in more:
            assert one.images >= bought.images and one.present.sum() > bought.present.sum()
            assert one.dollars > (one.images - bought.images) * image_price
        assert all(line.dollars >= 0 for line in made.bill)


@pytest.mark.parametrize("by", [0.12, -0.12])
def test_labels_so_far_that_are_far_from_all_predictions_move_what_follows(project, by):
    read = Evidence.of(project)
    first, bought = rpa_bought(read)
    score = bought.median + by
    received = received_for(bought, score)
    assert not bought.band[0] <= score <= bought.band[1]
    made = plan(replace(read, received=received), 200, images=IMAGES, prices="openimages")
    assert np.median(made.curves.floor) == pytest.approx(score, abs=0.01)
    before = {(c.pair, c.images, c.asked): c.median for c in first.choice.every}
    moved = [c.median - before[key] for c in made.choice.every
             if (key := (c.pair, c.images, c.asked)) in before]  # fmt: skip
    assert np.sign(np.median(moved)) == np.sign(by)


def test_a_moved_project_plans_the_same(tmp_path):
    """Its data are found beside it; without them, trust is lower and the range no smaller."""
    home = tmp_path / "project"
    home.mkdir()
    (home / "project.toml").touch()
    spec = planted.data(home / "data", POOL, test=60)
    runs = planted.write(home / "runs" / "1", spec)
    moved = tmp_path / "elsewhere" / "moved"
    before = json.dumps(plan(runs, 100, images=IMAGES, prices="openimages").to_json())
    before = json.loads(before.replace(str(home), str(moved)))  # in commands
    shutil.copytree(home, moved)
    shutil.rmtree(home)
    after = plan(moved / "runs" / "1", 100, images=IMAGES, prices="openimages")
    same = ("chosen", "order", "rivals", "bill", "trained_as", "left", "ids", "trust")
    assert {name: after.to_json()[name] for name in same} == {name: before[name] for name in same}
    # Other data of the same name are not taken for those of the runs.
    shutil.rmtree(moved / "data")
    planted.data(moved / "data", POOL, test=60, seed=3)
    lost = plan(moved / "runs" / "1", 100, images=IMAGES, prices="openimages")
    assert after.evidence.pool.opened and not lost.evidence.pool.opened
    grades = ["low", "medium", "high"]
    assert grades.index(lost.trust.grade) <= grades.index(after.trust.grade)
    assert np.diff(lost.chosen.band)[0] >= 0.9 * np.diff(after.chosen.band)[0]


def test_test_labels_err_as_their_numbers_of_answers_say(project, tmp_path):
    """By value: of three answers the majority errs at 3 e**2 - 2 e**3."""
    home = tmp_path / "project"
    shutil.copytree(project.parents[1], home)
    errors, runs = (0.04, 0.01), home / "runs" / "1"
    assert plan(runs, 200, images=IMAGES, errors=errors).evidence.test.errors == errors
    rows = ["split,answers,questions", "train,1,900", "test,1,300", "test,3,100"]
    (home / "answers.csv").write_text("\n".join(rows) + "\n")
    made = plan(runs, 200, images=IMAGES, errors=errors)
    expected = [0.75 * e + 0.25 * (3 * e**2 - 2 * e**3) for e in errors]
    assert made.evidence.test.errors == pytest.approx(expected)
    (home / "answers.csv").write_text("\n".join([*rows[:2], "test,1001,9", "test,2000,9"]) + "\n")
    many = plan(runs, 200, images=IMAGES, errors=errors).evidence.test.errors
    assert many == pytest.approx((0, 0), abs=1e-12)
    for damaged in ("test,3,0", "test,abc,9", "test,-3,9", "test,2.5,9", ""):
        (home / "answers.csv").write_text(f"{rows[0]}\n{damaged}\n" if damaged else "nonsense")
        with pytest.raises(BadInput, match=r"answers\.csv"):
            plan(runs, 200, images=IMAGES, errors=errors)


def test_a_folder_within_a_project_belongs_to_it_from_anywhere(project, monkeypatch):
    home = project.parents[1]
    for place in (home.parent, home, project.parent):
        monkeypatch.chdir(place)
        found = project_folder(project.relative_to(place))
        assert found is not None and found.resolve() == home.resolve()
    assert project_folder(home.parent / "runs") is None
