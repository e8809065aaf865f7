"""What to label first, where there is a budget and there are no runs yet."""

import dataclasses
import re
import tomllib

import numpy as np
import pytest

import simkit
from simkit.annotate.prices import prices
from simkit.planning.pilot import SIMULATED, like, plan_pilot
from simkit.quantities import exact_money, two_digits

CAREFUL = 20 * 15 / 3600  # dollars for an image with 20 classes, 1 s each at $15 an hour
LISTS = ("hourly", "coco-tagging", "careful", "openimages", "google", "aws")


def made(budget=500, **changes):
    return plan_pilot(budget, **{"classes": 20, "per_image": 2, "prices": "careful"} | changes)


def by_scheme(plan):
    """The budgets of each scheme's grid."""
    grids = [tomllib.loads(text) for text in plan.to_json()["grids"]]
    return {scheme: grid["budgets"] for grid in grids for scheme in grid["schemes"]}


def test_fifteen_percent_buy_complete_labels_and_a_quarter_of_them_measure() -> None:
    # 75 dollars at 0.08333 an image: 900 images. 20 s for each are 5 hours.
    plan = made(staff=simkit.Staff(2, 5))
    values = plan.to_json()
    assert (values["images"], values["test_images"]) == (675, 225)
    assert values["dollars"] == pytest.approx(900 * CAREFUL)
    assert values["share"] == pytest.approx(0.15) and values["rest"] == 425
    assert values["times"] == pytest.approx(425 / (675 * CAREFUL))
    assert values["hours"] == pytest.approx(5) and values["weeks"] == pytest.approx(0.5)
    assert "Label 675 images completely" in values["recommendation"]
    assert "5 hours of work, 1 week." in dict(made(staff=simkit.Staff(1, 5)).page.answers)["Spend"]


def test_amounts_are_read_as_people_type_them() -> None:
    typed = made("$5,000", classes="20", images="10k")
    assert dataclasses.replace(typed, command="") == dataclasses.replace(
        made(5000, images=10_000), command=""
    )


def test_one_screen_answers_and_every_rendering_holds_the_details() -> None:
    plan = made(images=20_000)
    screen = plan.text()
    assert len(screen.splitlines()) <= 40 and max(map(len, screen.splitlines())) <= 100
    for label in ("Spend", "Expect", "Range", "Trust", "Next step"):
        assert re.search(rf"^{label} ", screen, re.MULTILINE)
    assert plan.to_json()["then"][-1] in " ".join(screen.split())
    for whole in (plan.text(details=True), plan.html(), plan.markdown(), plan._repr_html_()):
        assert "full-subset" in whole and "budgets = [" in whole and "synthetic classes" in whole


def test_budgets_are_shares_of_complete_labels_in_one_grid_for_all() -> None:
    plan = plan_pilot(5000, classes=80, per_image=2.9)
    (grid,) = map(tomllib.loads, plan.grids)
    whole = plan.images * plan.dollars_per_image
    shares = [budget / whole for budget in grid["budgets"]]
    assert shares == pytest.approx([0.04, 0.08, 0.16, 0.32, 0.64], rel=1e-3)
    assert grid["schemes"] == ["full-subset", "single-positive", "rpa", "fpc", "mixed"]
    assert "reference" not in grid  # complete labels, by default


def test_a_scheme_that_soon_has_nothing_left_to_ask_has_steps_up_to_there() -> None:
    # By openimages every answer costs the same: a name for each image is 1 / 52 of all.
    plan = plan_pilot(500, classes=52, per_image=9.5, prices="openimages")
    budgets = by_scheme(plan)
    assert budgets["single-positive"][-1] == pytest.approx(plan.images * 0.0058, abs=0.01)
    assert budgets["single-positive"][0] == pytest.approx(plan.images * 0.0058 / 16, abs=0.01)
    assert budgets["rpa"] == budgets["full-subset"] != budgets["single-positive"]


def test_schemes_that_complete_labels_beat_at_their_price_are_left_out() -> None:
    # AWS is paid by the image, whatever is asked about it; Google by pages of 20 classes.
    assert set(by_scheme(made(5000, prices="aws"))) == {"full-subset"}
    plan = plan_pilot(5000, classes=80, per_image=2.9, prices="google")
    assert set(by_scheme(plan)) == {"full-subset", "single-positive", "fpc", "mixed"}
    assert any(re.search(r"rpa .* 13 times", text) for text in plan.to_json()["left_out"])
    assert "rpa is left out" in plan.text(details=True)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("listed", LISTS)
def test_every_step_buys_something_of_other_images(listed: str) -> None:
    data = simkit.data.open("scenes:images=170,val=5,test=5").truth["train"]
    complete = simkit.cost(simkit.simulate(data, "full-subset"), listed).dollars
    plan = plan_pilot(complete / 170 * 227 / 0.15 + 0.01, data="scenes", prices=listed)
    assert plan.images == 170
    for scheme, budgets in by_scheme(plan).items():
        spent = {simkit.amount_for(b, data, scheme, listed, draw=1).cost.dollars for b in budgets}
        assert len(budgets) >= 3 <= len(spent), scheme


def test_its_grid_can_be_compared(tmp_path) -> None:
    (text,) = plan_pilot(565, data="scenes", prices="coco-tagging").grids
    path = tmp_path / "grid-1.toml"
    path.write_text(text.replace("YOURS", "scenes:images=170,val=5,test=30"))
    grid = simkit.Grid.load(path)
    assert len(grid.budgets) == 5 and grid.prices == "coco-tagging" and grid.data.startswith("sc")


def test_at_most_a_third_of_the_images_and_no_more_than_all_of_them() -> None:
    plan = made(images=1200)
    assert plan.images + plan.test_images == 400 and plan.remaining == 800
    assert plan.rest == pytest.approx(800 * CAREFUL, abs=0.01)
    assert "the 1,200 images cost $100: `simkit order --data" in plan.everything
    assert "--scheme full-subset --prices careful`" in plan.everything and not made().everything
    assert "--images 800" in plan.then[-1]
    assert made(1e9).images == 6000  # and no budget makes it large


def test_a_larger_budget_never_buys_a_smaller_pilot_and_none_is_exceeded() -> None:
    before = 0
    for budget in (90, 100, 500, 50_000):
        for images in (None, 100_000):
            plan = made(budget, images=images)
            assert plan.dollars + plan.rest <= budget
            assert plan.images >= before and plan.images >= 160
        before = plan.images


def test_a_budget_that_is_too_small_is_told_what_would_do() -> None:
    with pytest.raises(simkit.BadInput, match=r"^budget .*raise it to \$\d+") as error:
        made(20)
    enough = int(re.search(r"raise it to \$(\d+)", str(error.value))[1])
    assert made(enough).images >= 160
    with pytest.raises(simkit.BadInput):
        made(enough - 1)


def test_a_budget_that_is_too_small_buys_fewer_classes_or_one_name_in_each_image() -> None:
    def refused(**changes):
        with pytest.raises(simkit.BadInput) as error:
            plan_pilot(100, **{"classes": 80, "per_image": 2.9} | changes)
        return str(error.value)

    begun = r"begin with (\d+) of .* ±([\d.]+) points.* --per-image ([\d.]+)\)"
    few, points, shown = re.search(begun, refused()).groups()
    pilot = plan_pilot(100, classes=int(few), per_image=float(shown))
    assert pilot.images + pilot.test_images == 214 and pilot.share == pytest.approx(0.2, abs=0.003)
    assert float(shown) == pytest.approx(2.9 * int(few) / 80, rel=0.03)
    assert float(points) == pytest.approx(pilot.half_width, rel=0.03)
    refused(classes=int(few) + 1)
    # 2.4 seconds of $15 an hour for a name; of every image that shows a class
    each = np.count_nonzero(np.diff(like(80, 2.9).present.indptr)) / SIMULATED / 80
    for images, names in ((None, 10_000), (3000, 3000)):
        text = refused(images=images)
        about = two_digits(names * each)
        assert f"{names:,} images for {exact_money(names * 0.01)}, about {about} for each" in text
        assert f"--scheme single-positive --images {names})" in text
    # 8 people, 11.15 seconds each
    assert "--images 269 --prices coco-tagging --answers 8)" in refused(prices="coco-tagging")
    paid = dataclasses.replace(prices("hourly"), setup=15.0, setup_class=1.0)
    assert "in each of 500 images for $100" in refused(prices=paid)
    unnamed = {kind: rate for kind, rate in paid.rates.items() if kind != "name"}
    without = refused(prices=dataclasses.replace(paid, rates=unnamed))
    assert "raise it to $203, or begin with" in without and "simkit order" not in without


@pytest.mark.parametrize(("budget", "images"), [(500, 100), (500, 640), (75, 850)])
def test_too_few_images_for_a_pilot_are_all_to_be_labelled(budget: float, images: int) -> None:
    with pytest.raises(simkit.BadInput, match="images") as error:
        made(budget, images=images)
    assert f"label all completely, for {exact_money(images * CAREFUL)}" in str(error.value)


def test_a_wage_changes_dollars_and_not_what_a_comparison_buys() -> None:
    usual, double = made(500), made(1000, staff=simkit.Staff(wage="$30"))
    assert (double.images, double.grids[0].count("careful")) == (usual.images, 2)
    assert by_scheme(double) == by_scheme(usual) and double.rest == 2 * usual.rest
    assert double.then[-1].endswith("--prices careful --wage 30") and "--wage 30" in double.command


def test_the_set_up_is_no_label_and_is_in_every_budget_of_a_grid() -> None:
    listed = dataclasses.replace(prices("careful"), setup=100.0, setup_class=1.0)
    plan = made(620, prices=listed)
    assert (plan.images, plan.test_images, plan.set_up) == (675, 225, 120)
    assert plan.rest == 545 and plan.times == pytest.approx(425 / (675 * CAREFUL))
    without = by_scheme(made())["full-subset"]
    assert by_scheme(plan)["full-subset"] == pytest.approx([b + 120 for b in without], abs=0.011)
    assert "$120 of set-up" in plan.recommendation


def test_map_is_known_as_well_as_an_evaluation_set_of_so_many_images_says() -> None:
    few, many, about = made(500), made(2000), like(20, 2)
    assert 1.8 < few.half_width / many.half_width < 2.2
    for points, enough in ((few.half_width * 1.0001, True), (few.half_width * 0.9, False)):
        images = simkit.evaluation_set(points, about, "careful").images
        assert (images <= few.test_images) is enough


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"classes": None, "per_image": None}, "--classes 80 --per-image 2.9"),
        ({"data": "scenes"}, "data"),
        ({"per_image": None}, "per_image"),
        ({"per_image": 19}, "per_image"),
        ({"classes": 10**9}, "2 to 100,000 classes"),
        ({"images": 0}, "images"),
        ({"staff": simkit.Staff(annotators=0)}, "annotators"),
        ({"budget": "5,0"}, "budget"),
        ({"prices": "google", "staff": simkit.Staff(wage=20)}, "wage"),
        ({"prices": "hurly"}, "hourly"),
    ],
)
def test_what_cannot_be_used_is_named(changes, named) -> None:
    with pytest.raises(simkit.BadInput, match=named):
        made(**changes)
