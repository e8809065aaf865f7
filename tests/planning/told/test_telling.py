"""The sentences of a plan."""

from types import SimpleNamespace

import pytest

from simkit.annotate.habits import Habits
from simkit.annotate.prices import prices
from simkit.planning.evidence.ways import Way
from simkit.planning.money.project import Project
from simkit.planning.told import telling
from simkit.planning.told.planned import Reach


def candidate(**changes):
    amount = SimpleNamespace(spec="fpc(per_class=12)", images=900, labels=2_000, per_image=2.22)
    values = {
        "way": Way.of("fpc"),
        "method": "ll-r",
        "amount": amount,
        "dollars": 400.0,
        "median": 0.712,
        "band90": (0.684, 0.741),
        "p_target": None,
        "grade": "green",
        "reach": 300.0,
    }
    return SimpleNamespace(**values | changes)


def test_the_recommendation_is_one_sentence() -> None:
    assert telling.recommendation(candidate(), Project(budget=500.0), 3) == (
        "For each class find as many images with it as without it among 900 images "
        "(fpc(per_class=12)) for $400 in 3 rounds (2,000 known labels, 2.22 for each image), train "
        "LL-R (ll-r) on them and expect 71.2 mAP, nine times in ten 68.4 to 74.1."
    )


def test_dollars_that_reach_the_target_come_first() -> None:
    project = Project(budget=500.0, target=0.65)
    reach = Reach(0.65, (100.0, 110.0, 120.0, 130.0, 150.0), 1.0, 4_500.0)
    told = telling.recommendation(candidate(p_target=0.999), project, 1, reach)
    assert told.startswith(
        "$150 of fpc labels are enough for 65.0 mAP in 95 % of samples; for the most mAP, for each "
        "class find"
    )
    assert told.endswith("nine times in ten 68.4 to 74.1.")
    for last in (None, 450.0):  # not reachable, or not below what is bought
        far = Reach(0.65, (100.0, 110.0, 120.0, 130.0, last), 0.9, 4_500.0)
        told = telling.recommendation(candidate(p_target=0.8), project, 1, far)
        assert told.endswith("; 65.0 or more has a chance of 80 %.")


def test_every_way_that_is_told_says_what_it_takes_to_hold() -> None:
    asked = []

    def assumption(way, images=None):
        asked.append((way.scheme, images))
        return way.scheme

    evidence = SimpleNamespace(assumption=assumption, draws=1, ceiling=lambda prices: None)
    project = Project(budget=500.0, images=80)
    ways = [Way.of("rpa"), Way.of("fpc"), Way.of("rpa")]
    told = list(telling.assumptions(candidate(), evidence, project, ways))
    assert asked == [("fpc", 80), ("rpa", 80)] and told[:2] == ["fpc", "rpa"]
    assert not any("--" in sentence for sentence in told)


def test_it_names_the_chance_of_the_target_and_the_people() -> None:
    way = Way.of("fpc", habits=Habits(workers=3))
    told = telling.recommendation(
        candidate(way=way, p_target=0.8), Project(budget=500.0, target=0.7), 1
    )
    assert told.endswith("68.4 to 74.1; 70.0 or more has a chance of 80 %.")
    assert "2.22 for each image, each answer from 3 people)" in told
    assert "rounds" not in told


def test_the_question_says_what_there_is() -> None:
    project = Project(budget=5000.0, images=60_000, target=0.6, prices="google")
    evidence = SimpleNamespace(classes=("a", "b"))
    assert telling.question(project, evidence) == (
        "What to buy for $5,000: 2 classes, 60,000 images, google prices, 60.0 mAP wanted"
    )


@pytest.mark.parametrize("passed", [True, False])
def test_a_far_or_unreachable_choice_is_warned_of(passed: bool) -> None:
    test = SimpleNamespace(passed=True, rows=())
    row = SimpleNamespace(covered=False)
    every = SimpleNamespace(passed=passed, rows=(row, row))
    reach = Reach(0.8, (None,) * 5, 0.1, 4_500.0)
    told = list(
        telling.warnings(candidate(grade="red", dollars=6_000.0), test, every, "a note", reach)
    )
    expected = [
        "The recommended amount lies 20 times beyond the pilot; take it for a direction and label "
        "a larger pilot first.",
        "A note.",
        "80.0 mAP is probably out of reach for this way of buying: 10 % of samples get there below "
        "$4,500 of labels.",
    ]
    if not passed:
        expected.insert(
            0,
            "The back-test missed: 2 of 2 sizes of the pilot lie outside the 90 % bands that its "
            "smaller sizes give, so do not rely on the bands below before a larger pilot.",
        )
    assert told == expected


def test_prices_have_their_sources() -> None:
    told = telling.sources(["sweep", "quality assurance"], prices("coco-tagging"))
    assert [text.partition(":")[0] for text in told] == ["sweep", "wage"]
    assert "Lin et al., ECCV 2014" in told[0] and told[1].startswith("wage: assumption")


def test_the_command_leaves_out_what_is_usual_and_quotes_what_is_not() -> None:
    project = Project(budget=5000.0, image_price=0.25, images=60_000)
    told = telling.command(
        ["my runs", "more"], project, prices=None, rounds=5, risk="expected", seed=7
    )
    assert told == (
        "simkit plan 'my runs' more --budget 5000 --images 60000 --image-price 0.25 --rounds 5 "
        "--risk expected --seed 7"
    )


@pytest.mark.parametrize(
    ("validation", "bought", "told"), [("complete", 0, 1), ("complete", 200, 0), ("none", 0, 0)]
)
def test_validation_labels_that_nobody_pays_for_are_told(validation, bought, told) -> None:
    evidence = SimpleNamespace(
        assumption=lambda way, images: "", ceiling=lambda prices: None, draws=3, images=900,
        validation=validation,
    )  # fmt: skip
    project = Project(budget=500.0, validation_images=bought)
    found = list(telling.assumptions(candidate(), evidence, project))
    said = [one for one in found if one.startswith("The pilot chose epochs by complete labels")]
    assert len(said) == told
