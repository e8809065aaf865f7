"""What to label first where there are no curves yet."""

import dataclasses
import json
import math

import pytest

from simkit.annotate.habits import Habits
from simkit.annotate.prices import cost, prices
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.planning.pilot.design import pilot
from simkit.planning.pilot.half_width import half_width
from simkit.planning.pilot.sizes import Bench
from simkit.planning.pilot.standin import like

TRUTH = like(20, 2.0, images=1000)
CAREFUL = 20 * 15 / 3600  # dollars for an image with 20 classes, 1 s each at $15 an hour


@pytest.fixture(scope="module")
def made():
    return pilot(TRUTH, "careful", 500.0)


def test_fifteen_percent_buy_complete_labels(made):
    # 75 dollars at 0.08333 an image: 900 images, a quarter of them to measure by.
    assert (made.images, made.test_images) == (675, 225)
    assert made.per_image == pytest.approx(CAREFUL)
    assert made.dollars == pytest.approx(900 * CAREFUL) and made.share == pytest.approx(0.15)
    assert made.recommendation == (
        "Label 675 images completely to train on and 225 to measure by, for $75.00 (15 % of the "
        "budget) by careful."
    )


def test_every_scheme_is_simulated_on_the_same_images(made):
    assert [part.scheme for part in made.parts] == [
        "full-subset", "single-positive", "rpa", "fpc", "mixed",
    ]  # fmt: skip
    for part in made.parts:
        assert len(part.sizes) == 5
        assert part.sizes[-1].dollars <= 675 * CAREFUL * (1 + 1e-9)
        for small, large in zip(part.budgets, part.budgets[1:], strict=False):
            assert large / small == pytest.approx(2, rel=0.12)
    full, single, *_ = made.parts
    assert [size.images for size in full.sizes] == [42, 84, 168, 337, 675]
    # Naming takes 2 s: a tenth of 20 s.
    assert single.sizes[-1].dollars == pytest.approx(675 * CAREFUL / 10)
    assert full.sizes[-1].dollars == pytest.approx(675 * CAREFUL)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_schemes_with_an_amount_stay_far_from_asking_everything(made):
    # At the end fpc, rpa and full-subset would be the same complete images.
    full, _, rpa, fpc, _ = made.parts
    for part in (rpa, fpc):
        assert part.amount in ("keep", "per_class")
        assert part.sizes[-1].dollars <= full.sizes[-1].dollars / 4
    assert 0.24 < float(rpa.sizes[-1].spec[9:-1]) < 0.26
    assert made.why[2].startswith(
        "rpa and fpc ask about single classes of any of the 675 images to train on, so the sizes "
        "end where 25 % of that is used up"
    )
    pool = TRUTH.select(range(675))
    known = simulate(pool, fpc.sizes[-1].spec).counts()
    assert known["present"] + known["absent"] <= 675 * 20 / 4


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_dollars_of_a_size_are_what_it_costs(made):
    pool = TRUTH.select(range(675))
    for part in made.parts:
        for size in (part.sizes[1], part.sizes[3]):
            images = (
                size.images if part.scheme in ("full-subset", "single-positive", "mixed") else 675
            )
            labels = simulate(pool, size.spec, images=images)
            assert cost(labels, "careful").dollars == pytest.approx(size.dollars, rel=0.02)


def test_what_ends_too_far_before_the_budget_is_bought_besides(made):
    left = 500 - 75.0
    full, single, *_, mixed = made.parts
    assert full.grade == "amber" and full.times == pytest.approx(left / (675 * CAREFUL))
    assert full.extra == 0
    # 425 dollars are 75.6 times 5.62: nothing is believed there.
    assert single.grade == "too far" and single.extra == pytest.approx(left / 11)
    assert mixed.grade == "red"
    # What is left of a fifth of the budget, 25 dollars, does not pay for 38.64.
    assert made.extra == ()
    assert made.why[-1] == (
        "More than 11 times beyond their largest size, a plan says little about single-positive "
        "(76 times), rpa (30 times), fpc (30 times), mixed (28 times): buy the first round of the "
        "plan, compare again with its labels, and plan the rest by that"
    )
    small = pilot(TRUTH, "careful", 500.0, share=0.1, schemes=["single-positive"])
    assert small.extra == (("single-positive", pytest.approx(450 / 11)),)
    assert small.why[-1].endswith("; buy $40.91 of it directly besides, and it is 11 times")
    assert small.rest == 409.09  # of 500 - 50 - 450 / 11


def test_it_says_why(made):
    assert made.why[0] == (
        "Complete labels hold the answers to whatever a scheme would ask, so full-subset, "
        "single-positive, rpa, fpc, mixed are simulated on the same 675 images to train on and "
        "priced as if they had been bought"
    )
    assert made.why[1] == (
        "The sizes of a scheme are nested, each about twice the one before: the largest are parts "
        "of what is bought, and 3 draws of each take other parts of it, which costs nothing more"
    )
    assert made.half_width == half_width(TRUTH, 225)
    json.dumps(made.to_json())


def test_a_scheme_with_too_few_sizes_is_left_out_and_it_is_said_why():
    truth = like(52, 9.5, images=600)
    few = pilot(truth, "google", 500.0, schemes=["full-subset", "fpc", "rpa"])
    assert [part.scheme for part in few.parts] == ["full-subset"]
    told, dear = few.left_out
    assert dear.startswith("rpa is left out: a page")
    assert told.startswith("fpc is left out: its smallest amount takes $") and told in few.why
    assert "of the 3 sizes that a curve needs" in told
    with pytest.raises(BadInput) as error:
        pilot(truth, "google", 500.0, schemes=["fpc"])
    assert str(error.value) == f"{told}; raise the budget, or name other schemes"


def test_a_test_set_that_is_there_is_not_bought():
    made = pilot(TRUTH, "careful", 500.0, test=False, schemes=["full-subset"])
    assert (made.images, made.test_images, made.half_width) == (900, 0, 0.0)
    assert made.recommendation.startswith("Label 900 images completely to train on, for $75.00")


def test_a_small_budget_gives_a_fifth_of_itself():
    # 214 images, 160 of them to train on, cost 17.83 dollars: 17.8 % of 100.
    made = pilot(TRUTH, "careful", 100.0, schemes=["full-subset"])
    assert made.images + made.test_images == 214
    assert made.share == pytest.approx(214 * CAREFUL / 100)


def test_at_most_a_third_of_the_images_is_labelled_now():
    made = pilot(TRUTH, "careful", 500.0, images=1200, schemes=["full-subset"])
    assert made.images + made.test_images == 400
    assert made.why[2] == (
        "The pilot takes at most a third of the 1,200 images, so that 800 are left to decide about"
    )
    # 100 of 500 dollars buy all: no more than the other 800 images can be bought afterwards.
    assert made.recommendation.startswith(
        "Label everything: complete labels of all 1,200 images cost $100.00, and the budget pays "
        "for them. To see first whether less money would do, label 300 images"
    )
    assert made.rest == pytest.approx(800 * CAREFUL, abs=0.01)
    assert any("the $66.66 that complete labels of the other 800" in text for text in made.why)
    assert made.parts[0].times == pytest.approx(800 / 300) and made.extra == ()
    many = pilot(TRUTH, "careful", 500.0, images=20_000, schemes=["full-subset"])
    assert many.images + many.test_images == 900
    assert not any("a third" in reason or "pays for" in reason for reason in many.why)


def test_no_budget_makes_a_pilot_large():
    made = pilot(TRUTH, "careful", 1e9, schemes=["full-subset", "rpa"])
    assert (made.images, made.test_images, made.extra) == (6_000, 2_000, ())
    assert made.recommendation.endswith("for $666.67 (less than 1 % of the budget) by careful.")
    assert (
        "The pilot's share of the budget would pay for 1,800,000,007 images, but 8,000 are enough "
        "to begin a curve and to measure by"
    ) in made.why


def test_set_up_is_paid_once():
    listed = dataclasses.replace(prices("careful"), setup=100.0, setup_class=1.0)
    made = pilot(TRUTH, listed, 500.0, schemes=["full-subset"])
    assert made.set_up == 120.0 and made.dollars == pytest.approx(75)
    assert made.parts[0].times == pytest.approx((500 - 75 - 120) / made.parts[0].sizes[-1].dollars)
    assert made.rest == pytest.approx(500 - 75)
    assert (
        "The set-up ($120.00) is paid with the pilot, once for the whole project; the plan's bill "
        "has it, and so the $425.00 still hold it, as every budget of the grids does"
    ) in made.why
    assert made.recommendation.endswith(
        ", for $75.00 and the set-up for $120.00 ($195.00, 39 % of the budget) by careful."
    )


def test_more_people_cost_more():
    made = pilot(TRUTH, "careful", 1500.0, habits=Habits(workers=3), schemes=["full-subset"])
    assert made.per_image == pytest.approx(3 * CAREFUL)


@pytest.mark.parametrize(
    ("listed", "dearer"), [("aws", 18), ("google", 18), ("openimages", None), ("careful", None)]
)
def test_labels_by_chance_are_left_out_where_a_page_is_paid_for_whole(listed, dearer):
    made = pilot(TRUTH, listed, 20_000.0, schemes=["full-subset", "rpa", "fpc"])
    told = [text for text in made.left_out if text.startswith("rpa is left out: a page or")]
    assert [part.scheme for part in made.parts].count("rpa") == (dearer is None)
    assert "fpc" in [part.scheme for part in made.parts]  # it looks for what is present
    assert len(told) == (dearer is not None)
    if dearer:
        assert f"costs {dearer} times one of complete labels" in told[0] and told[0] in made.why


def test_a_pilot_larger_than_the_truth_is_priced_by_the_image():
    small = Bench(TRUTH, 1000, prices("careful"))
    large = Bench(TRUTH, 4000, prices("careful"))
    for spec in ("single-positive", "fpc"):
        one, other = (bench.part(spec, 1000.0).sizes[-2] for bench in (small, large))
        assert other.dollars == pytest.approx(4 * one.dollars)
        assert other.images == pytest.approx(4 * one.images, abs=2)
    counts = [
        int(bench.part("fpc", 1000.0).sizes[-2].spec.partition("=")[2].rstrip(")"))
        for bench in (small, large)
    ]
    assert counts[1] == 4 * counts[0]


@pytest.mark.parametrize(
    "changes,message",
    [
        ({"budget": -5.0}, "the budget is -5.0; a number of dollars above 0 is expected"),
        ({"budget": math.nan}, "the budget is nan; a number of dollars above 0 is expected"),
        (
            {"share": 0.5},
            "share is 0.5; a share of the budget above 0 and up to 0.2 is expected: a pilot is to "
            "leave the money for what it is about",
        ),
        ({"draws": 0}, "draws is 0; a whole number from 1 on is expected"),
        (
            {"images": 100},
            "images is 100; a pilot takes at least 214 of them and at most a third, so label all "
            "of them completely, for 8.33 dollars, instead of planning",
        ),
        (
            {"images": 640},
            "images is 640; a pilot takes at least 214 of them and at most a third, so label all "
            "of them completely, for 53.33 dollars, instead of planning",
        ),
        (
            {"budget": 20.0},
            "20 % of 20 dollars label 48 images completely (0.08 dollars each), and a pilot takes "
            "214; raise the budget to 89 dollars, label fewer classes, or give runs on a public "
            "data set like yours",
        ),
        (
            {"prices": dataclasses.replace(prices("careful"), setup=450.0)},
            "500 dollars pay for the set-up (450.00 dollars) and a pilot (75.00 dollars) and for "
            "nothing else; raise the budget",
        ),
        ({"schemes": ["fcp"]}, "no scheme is called 'fcp'; did you mean 'fpc'?"),
    ],
)
def test_nonsense(changes, message):
    given = {"truth": TRUTH, "prices": "careful", "budget": 500.0} | changes
    with pytest.raises(BadInput) as error:
        pilot(**given)
    assert str(error.value) == message


def test_schemes_that_need_a_hierarchy_or_boxes_are_priced_too():
    from simkit.data import open as opened

    data = opened("scenes:images=600,val=20,test=20")
    made = pilot(
        data.truth["train"], "coco-tagging", 1500.0, hierarchy=data.hierarchy,
        boxes=data.boxes["train"], schemes=["knowledge-graph", "single-positive(bias=size)"],
    )  # fmt: skip
    assert made.images < 600 and all(len(part.sizes) == 5 for part in made.parts)
    with pytest.raises(BadInput) as error:
        pilot(TRUTH, "careful", 500.0, schemes=["knowledge-graph"])
    assert str(error.value).startswith(
        "knowledge-graph needs a class hierarchy, and none was given"
    )
