"""The plan from planted runs: what it recommends is what the planted curves say."""

import json
from pathlib import Path

import pytest

import simkit
from simkit.annotate.prices import prices
from simkit.data import open as open_data
from simkit.errors import BadInput
from simkit.planning.told.planned import Plan
from tests.planning import planted

FAST = {"resamples": 20}


METHODS = ("an", "ll-r")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return planted.write(tmp_path_factory.mktemp("plan") / "runs", methods=METHODS)


@pytest.fixture(scope="module")
def made(folder) -> Plan:
    return simkit.plan(folder, 300, target=0.62, images=200_000, **FAST)


def test_choices_are_near_the_best_that_was_planted(tmp_path, made) -> None:
    others = [planted.write(tmp_path / str(s), methods=METHODS, seed=s) for s in (1, 2, 3)]
    plans = [made, *(simkit.plan(other, 300, images=200_000, **FAST) for other in others)]
    best = max(planted.expected(s, m, 300) for s in planted.CURVES for m in METHODS)
    missed = [best - _planted(one) for one in plans]
    assert sum(gap <= 0.015 for gap in missed) >= 3 and max(missed) < 0.03, missed


def test_few_test_images_lower_what_is_promised_and_widen_bands(write_runs, monkeypatch) -> None:
    """The same runs, scored by 15 images and by 2,000 of the same kind."""
    monkeypatch.setattr("simkit.planning.evidence.evidence.shares", lambda *_: None)
    found = []
    for images in (15, 2000):
        data = f"scenes:images=40,val=1,test={images}"
        truth = open_data(data).truth["test"]
        values = {"test_id": truth.id, "ap": [0.6 if n else None for n in truth.counts.tolist()]}
        runs = write_runs(str(images), methods=METHODS, grid={"data": data}, **values)
        found.append(simkit.plan(runs, 300, target=0.6, images=200_000, **FAST))
    few, many = found
    width = [one.chosen.band90[1] - one.chosen.band90[0] for one in found]
    assert few.chosen.median < many.chosen.median - 0.03 and width[0] > width[1] + 0.1
    assert few.chosen.chance < many.chosen.chance
    assert any(told.startswith("The test split is small: ") for told in few.warnings)
    assert not any("test split" in told for told in many.warnings)
    assert "mAP on new images" in few.text() and "mAP on the test split" in many.text()
    # The back-test is about the runs themselves.
    assert few.check.coverage == many.check.coverage and few.check.width == many.check.width
    assert few.steps[0].measure.startswith("train and measure mAP on the pilot's test images")
    assert many.steps[0].measure.startswith("train and measure mAP; ")
    assert few.steps[0].median < many.steps[0].median


def _planted(plan: Plan) -> float:
    return float(planted.expected(plan.chosen.scheme, plan.chosen.method, plan.chosen.dollars))


def test_the_bands_of_the_choice_hold_what_was_planted(made) -> None:
    chosen, real = made.chosen, _planted(made)
    assert chosen.band90[0] <= real <= chosen.band90[1]
    assert abs(chosen.median - real) < 0.03
    assert chosen.low20 <= chosen.median
    assert chosen.band90[0] <= chosen.band50[0] <= chosen.median
    assert chosen.times == pytest.approx(300 / 80, rel=0.05) and chosen.grade == "amber"


def test_the_bill_adds_up_to_the_budget_or_less(made) -> None:
    total = sum(item.dollars for item in made.bill)
    assert total == pytest.approx(made.chosen.total) and total <= 300 * (1 + 1e-9)
    assert made.options[-1] == made.chosen
    assert [one.total for one in made.options] == sorted(one.total for one in made.options)


def test_every_other_way_is_a_rival_and_differences_are_of_the_choice(made) -> None:
    ways = {rival.way for rival in made.rivals} | {made.chosen.way}
    assert ways == set(planted.CURVES)
    for rival in made.rivals:
        assert rival.low5 <= rival.difference <= rival.high95
    assert max(rival.difference for rival in made.rivals) > 0


def test_other_ways_come_before_other_methods_of_the_same(made) -> None:
    same = [rival.way == made.chosen.way for rival in made.rivals]
    assert same == sorted(same) and any(same)
    assert len(made.rivals) == 3 + 1  # ways, and methods of the chosen one


def test_rounds_add_up_and_each_has_something_to_measure(made) -> None:
    # The first ends where the target is reached nearly surely; the second doubles it, or more.
    assert len(made.steps) == 2
    assert sum(step.dollars for step in made.steps) == pytest.approx(made.chosen.dollars)
    assert made.steps[-1].images == made.chosen.images
    assert all("measure" in step.measure for step in made.steps)


def test_target_back_test_and_changes_are_there(made) -> None:
    assert len(made.reach.quantiles) == 5 and 0 <= made.reach.reached <= 1
    assert made.check.count >= made.check.inside > 0
    assert [change.what for change in made.changes][:2] == ["wage -50 %", "wage +50 %"]
    cheap, dear = made.changes[:2]
    assert cheap.same == pytest.approx(made.chosen.dollars / 2, rel=1e-6)
    assert cheap.median > made.chosen.median > dear.median


def test_the_same_call_gives_the_same_plan_and_another_seed_another_id(write_runs) -> None:
    folder = write_runs(schemes=("rpa",), methods=("an", "ll-r"))
    first = simkit.plan(folder, 100, **FAST)
    assert simkit.plan(folder, 100, **FAST) == first
    assert simkit.plan(folder, 100, seed=1, **FAST).id != first.id


def test_every_rendering_tells_the_same_numbers(made) -> None:
    band = f"{100 * made.chosen.band90[0]:.1f} to {100 * made.chosen.band90[1]:.1f}"
    for text in (made.text(), made.markdown(), made.html(), made._repr_html_()):
        assert band in text and made.id in text
    values = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert values["chosen"]["band90"] == list(made.chosen.band90)


def test_the_command_makes_the_plan_again(folder, made) -> None:
    assert made.command == f"simkit plan {folder} --budget 300 --images 200000 --target 0.62"


def test_progress_comes_to_its_end(write_runs) -> None:
    folder = write_runs(schemes=("rpa", "fpc"), methods=("an",))
    seen: list[tuple[float, int]] = []
    simkit.plan(folder, 40, progress=lambda done, total: seen.append((done, total)), **FAST)
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][0] == seen[-1][1]


def test_a_back_test_that_misses_is_said_first(write_runs) -> None:
    def broken(scheme, method, dollars):  # what nobody can foretell: the last size leaps
        return 0.8 if dollars > 60 else planted.expected(scheme, method, dollars)

    folder = write_runs(expect=broken, schemes=("full-subset",), methods=("an",))
    missed = simkit.plan(folder, 100, **FAST)
    assert not missed.check.passed
    assert missed.warnings[0].startswith(
        "The back-test missed: of 3 larger sizes of this curve that its smaller ones predict, 2 "
        "lie outside the 90 % band (the largest: 80.2 mAP measured, "
    )
    for text in (missed.text(), missed.html(), missed.markdown()):
        assert text.index("The back-test missed") < text.index("completely (full")


def test_a_plan_from_curves_that_do_not_rise_is_refused(write_runs) -> None:
    folder = write_runs(expect=lambda *_: 0.5, schemes=("full-subset",), methods=("an", "ll-r"))
    with pytest.raises(BadInput, match=r"^no curve rises; full-subset with an: mAP does not rise"):
        simkit.plan(folder, 100, **FAST)


def test_three_sizes_make_a_plan_that_says_it_was_not_checked(write_runs) -> None:
    folder = write_runs(budgets=(10.0, 20.0, 40.0), schemes=("rpa",), methods=("an", "ll-r"))
    found = simkit.plan(folder, 100, **FAST)
    assert found.check is None
    assert found.warnings[0].startswith(
        "There is no back-test of this curve: the pilot has too few"
    )
    assert "There is no back-test" in found.text()


def test_one_draw_is_told(write_runs) -> None:
    folder = write_runs(draws=1, schemes=("rpa",), methods=("an",))
    found = simkit.plan(folder, 100, **FAST)
    assert any("one draw" in warning for warning in found.warnings)


def test_a_far_reach_is_red_and_a_further_one_refused(write_runs) -> None:
    folder = write_runs(schemes=("single-positive",), methods=("an",), reference=False)
    red = simkit.plan(folder, 2_000, **FAST)
    assert red.chosen.grade == "red"
    assert any("times beyond the pilot; take it for a direction" in text for text in red.warnings)


def test_off_the_top_comes_what_is_asked_for(write_runs) -> None:
    folder = write_runs(schemes=("full-subset",), methods=("an",))
    found = simkit.plan(
        folder, 900, precision=5, validation_images=20, image_price=0.01, gpu_price=2.0,
        gpu_hours=3, rounds=1, risk="expected", prices=prices("google"), **FAST,
    )  # fmt: skip
    names = [item.what for item in found.bill]
    assert {"test set", "validation set", "training"} <= set(names)
    assert found.left < 900 and found.prices == "google"
    assert len(found.steps) == 1 and " rounds" not in found.recommendation
    for option in ("--precision 5", "--prices google", "--risk expected", "--gpu-hours 3"):
        assert option in found.command


NONSENSE = {
    "negative budget": ({"budget": -5}, "budget is -5; dollars above 0 are expected"),
    "no number": ({"budget": "5000"}, "budget is '5000'; dollars above 0 are expected"),
    "prices without a unit": (
        {"budget": 50, "prices": 0.05},
        "prices is 0.05, a number without a unit; give the name of a price list such as "
        "coco-tagging, or a TOML file that says what a question, a page or an image costs",
    ),
    "rounds": ({"budget": 50, "rounds": 0}, "rounds is 0; a whole number from 1 to 10 is expected"),
    "risk": ({"budget": 50, "risk": "bold"}, "risk is 'bold'; it must be one of robust, expected"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_gets_one_sentence(name: str, write_runs) -> None:
    given, message = NONSENSE[name]
    folder = write_runs(schemes=("rpa",), methods=("an",))
    with pytest.raises(BadInput) as error:
        simkit.plan(folder, **given, **FAST)
    assert str(error.value) == message


@pytest.mark.parametrize("folders, told", [(5, "5"), ([], "[]"), (["runs", 3], "['runs', 3]")])
def test_what_is_no_folder_is_refused(folders, told: str) -> None:
    with pytest.raises(BadInput) as error:
        simkit.plan(folders, 500)
    assert str(error.value) == (
        f"folders is {told}; the folder that `simkit compare` wrote to is expected, or a list of "
        "several"
    )


def test_a_constant_curve_is_no_curve(write_runs) -> None:
    folder = write_runs(
        expect=lambda scheme, method, dollars: 0.5, luck=0.0, noise=0.0,
        schemes=("rpa",), methods=("an",),
    )  # fmt: skip
    with pytest.raises(BadInput) as error:
        simkit.plan(folder, 50, **FAST)
    assert str(error.value).startswith("rpa with an: all 20 scores of the pilot are 0.5000")


def test_sizes_that_hardly_differ_are_refused(write_runs) -> None:
    folder = write_runs(budgets=(10.0, 10.1, 10.2), schemes=("rpa",), methods=("an",))
    with pytest.raises(BadInput) as error:
        simkit.plan(folder, 50, **FAST)
    assert str(error.value).startswith("rpa with an: the pilot's sizes go from $10.00 to $10.20,")


def test_runs_bought_by_several_price_lists_need_one_of_them_named(write_runs) -> None:
    one = write_runs("one", schemes=("rpa",), methods=("an",))
    two = write_runs(
        "two", schemes=("full-subset",), methods=("an",), listed="google", budgets=(1.0, 2.0, 4.0)
    )
    with pytest.raises(BadInput) as error:
        simkit.plan([one, two], 50, **FAST)
    assert str(error.value) == (
        "the runs were bought by several price lists (coco-tagging, google); say which one the "
        "plan is for with prices"
    )
    found = simkit.plan([one, two], 50, prices="google", **FAST)
    assert {found.chosen.way, *(r.way for r in found.rivals)} == {"rpa", "full-subset"}


def test_a_budget_that_pays_for_no_labels_names_the_sum(pilot) -> None:
    with pytest.raises(BadInput, match="leaves nothing for labels to train on"):
        simkit.plan(pilot, 5, gpu_price=10, gpu_hours=1, **FAST)
