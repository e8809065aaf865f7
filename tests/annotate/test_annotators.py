"""People who err: rates, votes, and errors that belong to places."""

import json
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.annotate.annotators import Habits, limits, outvoted, ties, tilted, under
from simkit.chance import Chance, threshold
from simkit.errors import BadInput
from tests.reference.people import vote as slow_vote

CHANCE = Chance.seeded(5).of("errors")
ROWS, COLUMNS = (grid.ravel() for grid in np.mgrid[:400, :50])


def share_of_yes(habits: Habits, present: bool) -> float:
    there = np.full(len(ROWS), present)
    return float(habits.answers(ROWS, COLUMNS, there, chance=CHANCE).mean())


def test_the_default_never_errs():
    present = ROWS % 3 == 0
    assert Habits().perfect
    assert np.array_equal(Habits().answers(ROWS, COLUMNS, present, chance=CHANCE), present)


@pytest.mark.parametrize("answers", [1, 2, 3, 4, 5])
def test_the_errors_of_a_majority_are_those_of_voting_people(answers):
    """An even number of answers that tie asks one more: counted over all ways to answer."""
    rate, wrong, tie = 0.2, 0.0, 0.0
    for says in np.ndindex((2,) * answers):
        weight = np.prod([rate if err else 1 - rate for err in says])
        if 2 * sum(says) == answers:
            tie += weight
            wrong += weight * rate
        else:
            wrong += weight * (2 * sum(says) > answers)
    assert outvoted(rate, answers) == pytest.approx(wrong)
    assert ties(rate, answers) == pytest.approx(tie)


@pytest.mark.parametrize("miss,false_alarm", [(0.2, 0.05), (1.0, 0.0), (0.0, 1.0)])
def test_rates_are_kept(miss, false_alarm):
    habits = Habits(miss, false_alarm)
    for present, expected in ((True, 1 - miss), (False, false_alarm)):
        spread = np.sqrt(expected * (1 - expected) / len(ROWS))
        assert abs(share_of_yes(habits, present) - expected) <= 4.5 * spread


@pytest.mark.parametrize(
    "settings,message",
    [
        ({"miss": 1.5}, "habits: miss is 1.5"),
        ({"miss": "much"}, "habits: miss is 'much'"),
        ({"false_alarm": (0.1, -0.2)}, "habits: false_alarm is -0.2"),
        ({"false_alarm": (0.1, None)}, "habits: false_alarm is None"),
        ({"workers": 0}, "habits: workers is 0"),
        ({"vote": "chief"}, "habits: vote is 'chief'"),
        ({"quorum": 3, "workers": 2}, "habits: quorum is 3 of 2 workers"),
        ({"classes": ("cat", "cat")}, "habits: class 'cat' occurs twice"),
        ({"classes": ("cat", "dog"), "miss": (0.1,)}, "habits: miss has 1 shares for 2 classes"),
        ({"miss_by_person": (1, 2), "false_alarm_by_person": (1,)}, "habits: the pool has odds"),
        ({"miss_by_person": (1, -2)}, "habits: miss_by_person is -2.0"),
        ({"false_alarm_by_person": (1, float("inf"))}, "habits: false_alarm_by_person is inf"),
        ({"work_by_person": (1, 0)}, "habits: work_by_person is 0"),
        ({"work_by_person": (2**31, 1)}, "habits: work_by_person is 2147483648"),
        ({"miss_by_person": (1, 2), "workers": 3}, "habits: with 3 workers nobody can do more"),
        ({"work_by_person": (5, 1, 1), "workers": 2}, "habits: with 2 workers nobody can do more"),
        ({"miss_by_person": 2}, "habits: miss_by_person is 2"),
        ({"work_by_person": ()}, "habits: the pool has odds of a miss"),
    ],
)
def test_habits_that_cannot_be(settings, message):
    with pytest.raises(BadInput) as error:
        Habits(**settings)
    assert message in str(error.value)


POOL = {
    "miss_by_person": (0.2, 1, 3, 8),
    "false_alarm_by_person": (5, 1, 0, 2),
    "work_by_person": (5, 4, 3, 2),
}
DOUBT = {"unsure_present": 0.4, "unsure_absent": tuple(c / 60 for c in range(50))}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"workers": 4},
        {"workers": 3, "vote": "union"},
        {"workers": 2, **POOL},
        {"workers": 2, "roster": "image", **POOL},
        {"workers": 3, "miss_by_person": (1, 2, 3), "vote": "union"},
        {**POOL, **DOUBT, "unsure_yes": 0.3},
        {"workers": 5, "quorum": 2, **DOUBT},
    ],
)
def test_pools_and_doubt_equal_the_slow_vote(settings):
    habits = Habits(tuple(c / 100 for c in range(50)), 0.1, **settings)
    pick = np.arange(0, len(ROWS), 197)
    rows, columns = ROWS[pick], COLUMNS[pick]
    present = (rows * 7 + columns) % 3 == 0
    fast = habits.answers(rows, columns, present, chance=CHANCE)
    places = zip(rows.tolist(), columns.tolist(), present.tolist(), strict=True)
    assert fast.tolist() == [slow_vote(habits, *place, CHANCE) for place in places]


def test_one_person_alone_says_what_he_says_in_a_vote():
    habits = Habits(0.3, 0.1, workers=3, **DOUBT)
    present, yes = ROWS % 3 == 0, 0
    for person in range(3):
        who = np.full(len(ROWS), person)
        yes = yes + habits.votes(ROWS, COLUMNS, present, who=who, chance=CHANCE)
    assert np.array_equal(yes >= 2, habits.answers(ROWS, COLUMNS, present, chance=CHANCE))


def test_named_rates_are_taken_by_name():
    habits = Habits((0.1, 0.3), 0.2, classes=("cat", "dog"), unsure_absent=(0.0, 0.5))
    there = habits.for_classes(("dog", "cow", "cat"))
    assert there == Habits((0.3, 0.2, 0.1), 0.2, unsure_absent=(0.5, 0.25, 0.0))
    assert habits.for_classes(("hen",)) == Habits(0.2, 0.2, unsure_absent=0.25)
    assert Habits(0.1).for_classes(("hen",)) == Habits(0.1)
    with pytest.raises(BadInput, match="habits: rates are by class name"):
        habits.check(2)


def test_all_fields_are_written_and_read(tmp_path):
    habits = Habits(
        (0.1, 0.2), 0.05, workers=2, vote="union", quorum=1, unsure_present=0.1,
        unsure_absent=(0.2, 0.3), unsure_yes=0.4, roster="image", classes=("cat", "dog"), **POOL
    )  # fmt: skip
    assert set(habits.to_json()) == {f.name for f in fields(Habits)}
    assert Habits(**json.loads(json.dumps(habits.to_json()))) == habits
    file = tmp_path / "habits.json"
    for content in (habits.to_json(), {"habits": habits.to_json(), "fit": {"votes": 3}}):
        file.write_text(json.dumps(content))
        assert Habits.load(file) == habits
    assert set(Habits(0.1).to_json()) == {"miss", "false_alarm", "workers", "vote"}


EDGES = np.array([0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1], np.uint64)


@given(st.floats(0, 1), st.lists(st.integers(0, 2**64 - 1), max_size=5))
def test_numbers_under_a_share_are_those_under_its_threshold(share, more):
    numbers = np.concatenate([EDGES, np.array(more, np.uint64)])
    near = [n for n in range(threshold(share) - 2, threshold(share) + 2) if 0 <= n < 2**64]
    numbers = np.concatenate([numbers, np.array(near, np.uint64)])
    expected = [int(n) < threshold(share) for n in numbers]
    classes = np.zeros(len(numbers), np.int64)
    assert under(numbers, limits(share), classes).tolist() == expected
    assert under(numbers, limits((share, 1 - share)), classes).tolist() == expected


@given(st.floats(0, 1), st.floats(0, 1000))
def test_odds_are_multiplied(share, times):
    exact = Fraction(share)
    if share < 1:
        odds = Fraction(times) * exact / (1 - exact)
        exact = odds / (1 + odds)
    assert abs(float(tilted(share, times)) - float(exact)) < 1e-12


def test_doubt_is_shared_by_all_and_as_frequent_as_stated():
    # Who is unsure always says yes to absent and no to present classes: all err, or nobody does.
    images, classes = np.repeat(np.arange(20_000), 2), np.tile([0, 1], 20_000)
    for present, yes, expected in ((True, 0, (0.3, 0.3)), (False, 1, (0.1, 0.6))):
        habits = Habits(unsure_present=0.3, unsure_absent=(0.1, 0.6), unsure_yes=yes, workers=3)
        for vote in ("majority", "union"):
            said = replace(habits, vote=vote).answers(
                images, classes, np.full(40_000, present), chance=CHANCE
            )
            wrong = (said != present).reshape(-1, 2).mean(0)
            assert np.abs(wrong - expected).max() < 4.5 * np.sqrt(0.25 / 20_000)


def rosters_of(work: tuple[int, ...], seats: int, images: int = 40_000) -> np.ndarray:
    """(n, seats) who answers each question, told by the only person who never misses."""
    present, rows = np.ones(images, bool), np.arange(images)
    settings = {"miss": 0.5, "workers": seats, "work_by_person": work, "vote": "union"}
    answered = []
    for person in range(len(work)):
        odds = tuple(0.0 if other == person else 1e290 for other in range(len(work)))
        habits = Habits(**settings, miss_by_person=odds)
        answered.append(habits.answers(rows, rows * 0, present, chance=CHANCE))
    met = np.stack(answered, 1)
    assert (met.sum(1) == seats).all()  # different people
    return np.nonzero(met)[1].reshape(images, seats)


def test_nobody_sits_on_two_seats_and_work_is_kept():
    work = np.array([4, 1, 1, 2, 3, 1])
    rosters = rosters_of(tuple(work.tolist()), 3)
    sat = np.bincount(rosters.ravel(), minlength=6) / 40_000
    expected = 3 * work / work.sum()  # the first person does a third: he is always there
    assert sat[0] == 1
    assert np.abs(sat - expected).max() < 4.5 * np.sqrt(0.25 / 40_000)


def test_all_sorts_of_people_meet():
    rosters = rosters_of((1,) * 6, 2)
    met = np.bincount(rosters[:, 0] * 6 + rosters[:, 1], minlength=36).reshape(6, 6)
    pairs = met[np.triu_indices(6, 1)] / 40_000
    # 64 orders: each of the 15 pairs meets, though not all equally often.
    assert (pairs > 1 / 45).all() and (pairs < 3 / 15).all()
