"""What was asked and what is recommended, each in a line."""

from dataclasses import replace
from types import SimpleNamespace

from simkit.annotate.habits import Habits
from simkit.planning.choosing.ahead import Ahead
from simkit.planning.evidence.ways import Way
from simkit.planning.money.project import Project
from simkit.planning.told import headline
from simkit.planning.told.parts import Reach
from tests.planning.sample import CHOSEN


def candidate(**changes):
    amount = SimpleNamespace(spec="fpc(per_class=12)", images=900, labels=2_000, per_image=2.22)
    values = {
        "way": Way.of("fpc"),
        "method": "ll-r",
        "amount": amount,
        "dollars": 400.0,
        "total": 400.0,
        "median": 0.712,
        "band90": (0.684, 0.741),
        "p_target": None,
        "grade": "green",
        "reach": 300.0,
    }
    return SimpleNamespace(**values | changes)


def reached(dollars, total=None):
    """A target of 65 mAP that full-subset labels for so many dollars reach nearly surely."""
    bought = replace(
        CHOSEN, way="full-subset", method="an", dollars=dollars, total=total or dollars
    )
    return Reach(
        0.65, (100.0, 110.0, 120.0, 130.0, dollars), 1.0, 4_500.0, "full-subset", "an",
        bought.total, bought,
    )  # fmt: skip


def test_the_recommendation_is_one_sentence() -> None:
    assert headline.recommendation(candidate(), Project(budget=500.0), 3) == (
        "For each class find 12 images with it and as many without it among 900 images "
        "(fpc(per_class=12)) for $400 in 3 rounds (about 2,000 known labels, 2.22 for each image), "
        "train LL-R (ll-r) on them and expect 71.2 mAP, nine times in ten 68.4 to 74.1."
    )


def test_what_is_ahead_for_less_money_is_named() -> None:
    pair = Way.of("single-positive"), "an"
    one = Ahead(pair, 2.38, 48.43, 48.43, True, 0.693, 0.477, 0.9, None, 0.97, None)
    told = headline.recommendation(candidate(), Project(budget=500.0), 3, better=one)
    end = (
        "68.4 to 74.1; but up to $48 single-positive with an is ahead: measure more of that first."
    )
    assert told.endswith(end)
    told = headline.recommendation(
        candidate(), Project(budget=500.0), 3, better=replace(one, ends=False)
    )
    assert told.endswith("68.4 to 74.1.")  # which is a warning alone


def test_dollars_are_told_to_the_cent() -> None:
    paid = candidate(dollars=499.9, total=499.9, p_target=0.9)
    project = Project(budget=500.0, target=0.65)
    told = headline.recommendation(paid, project, 1, reached(149.9, 200.05))
    assert told.startswith("$150 of full-subset labels ($200 in all), ")  # which is an estimate
    assert "for $499.90 (about" in told
    more = headline.recommendation(replace_total(paid, 512.5), project, 1, besides=["set-up"])
    assert "for $512.50 ($499.90 of labels, the rest for set-up)" in more


def replace_total(one, total):
    return SimpleNamespace(**vars(one) | {"total": total})


def test_bands_within_the_pilot_do_not_hang_on_a_curve() -> None:
    project = Project(budget=500.0)
    beyond = headline.recommendation(candidate(), project, 1, held=False)
    assert "71.2 mAP, if the curve holds, nine times in ten" in beyond
    there = headline.recommendation(candidate(reach=400.0), project, 1, held=False)
    assert "71.2 mAP, nine times in ten" in there
    wanted = Project(budget=500.0, target=0.65)
    for times, start in ((1.5, "If the curve holds, $150 of"), (0.9, "$150 of")):
        found = reached(150.0)
        found = replace(found, enough=replace(found.enough, times=times))
        told = headline.recommendation(candidate(p_target=0.9), wanted, 1, found, held=False)
        assert told.startswith(start)


def test_dollars_that_reach_the_target_come_first() -> None:
    project = Project(budget=500.0, target=0.65)
    told = headline.recommendation(candidate(p_target=0.999), project, 1, reached(150.0))
    assert told.startswith(
        "$150 of full-subset labels, trained with an, are enough for 65.0 mAP in 95 % of samples; "
        "for the most mAP, for each class find"
    )
    assert told.endswith("nine times in ten 68.4 to 74.1.")
    told = headline.recommendation(candidate(p_target=0.999), project, 1, reached(150.0, 200.0))
    assert told.startswith("$150 of full-subset labels ($200 in all), trained with an, are enough")
    none = Reach(0.65, (100.0, 110.0, 120.0, 130.0, None), 0.9, 4_500.0)
    for far in (none, reached(450.0)):  # not reachable, or not below what is bought
        told = headline.recommendation(candidate(p_target=0.8), project, 1, far)
        assert told.endswith("; 65.0 or more has a chance of 80 %.")


def test_it_names_the_chance_of_the_target_and_the_people() -> None:
    way = Way.of("fpc", habits=Habits(workers=3))
    told = headline.recommendation(
        candidate(way=way, p_target=0.8), Project(budget=500.0, target=0.7), 1
    )
    assert told.endswith("68.4 to 74.1; 70.0 or more has a chance of 80 %.")
    assert "2.22 for each image, each answer from 3 people)" in told
    assert "rounds" not in told


def test_the_question_says_what_there_is() -> None:
    project = Project(budget=5000.0, images=60_000, target=0.6, prices="google")
    evidence = SimpleNamespace(classes=("a", "b"))
    assert headline.question(project, evidence) == (
        "What to buy for $5,000: 2 classes, 60,000 images, google prices, 60.0 mAP wanted"
    )


def test_what_is_on_the_bill_besides_labels_is_in_the_sum() -> None:
    told = headline.recommendation(
        candidate(total=1_000.0), Project(budget=1000.0), 1, besides=["set-up", "test set"]
    )
    assert " for $1,000 ($400 of labels, the rest for set-up and test set) (about" in told


def test_bands_that_did_not_hold_are_conditional() -> None:
    project = Project(budget=500.0, target=0.65)
    told = headline.recommendation(candidate(p_target=0.99), project, 1, reached(150.0), held=False)
    assert told.startswith("If the curve holds, $150 of full-subset labels, trained with an, are")
    assert told.endswith("expect 71.2 mAP, if the curve holds, nine times in ten 68.4 to 74.1.")


def test_up_to_the_pilot_labels_are_counted_and_beyond_it_estimated() -> None:
    amount = SimpleNamespace(spec="rpa(keep=0.1)", images=1, labels=14_286, per_image=2.0)
    for reach, told in ((300.0, "(about 14,300 known labels, "), (500.0, "(14,286 known labels, ")):
        found = candidate(amount=amount, reach=reach)
        assert told in headline.recommendation(found, Project(budget=500.0), 1)
