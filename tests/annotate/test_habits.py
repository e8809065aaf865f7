"""People who err: rates, votes, and errors that belong to places."""

import json

import numpy as np
import pytest

from simkit.annotate.habits import Habits
from simkit.chance import Chance
from simkit.errors import BadInput
from tests.reference.annotation import says_yes

CHANCE = Chance.seeded(5).of("errors")
ROWS, COLUMNS = (grid.ravel() for grid in np.mgrid[:400, :50])


def share_of_yes(habits: Habits, present: bool) -> float:
    there = np.full(len(ROWS), present)
    return float(habits.answers(ROWS, COLUMNS, there, chance=CHANCE).mean())


def test_the_default_never_errs():
    present = ROWS % 3 == 0
    assert Habits().perfect
    assert np.array_equal(Habits().answers(ROWS, COLUMNS, present, chance=CHANCE), present)


@pytest.mark.parametrize("miss,false_alarm", [(0.2, 0.05), (1.0, 0.0), (0.0, 1.0)])
def test_rates_are_kept(miss, false_alarm):
    habits = Habits(miss, false_alarm)
    for present, expected in ((True, 1 - miss), (False, false_alarm)):
        spread = np.sqrt(expected * (1 - expected) / len(ROWS))
        assert abs(share_of_yes(habits, present) - expected) <= 4.5 * spread


def test_majority_and_union_change_the_error():
    # Of three people who miss 0.3, two or three miss with probability 3 * 0.09 * 0.7 + 0.027.
    missed = 1 - share_of_yes(Habits(miss=0.3, workers=3), True)
    assert abs(missed - 0.216) < 4.5 * np.sqrt(0.216 * 0.784 / len(ROWS))
    # All three miss with 0.027; any of three imagines with 1 - 0.9 ** 3 = 0.271.
    union = Habits(miss=0.3, false_alarm=0.1, workers=3, vote="union")
    missed = 1 - share_of_yes(union, True)
    assert abs(missed - 0.027) < 4.5 * np.sqrt(0.027 * 0.973 / len(ROWS))
    assert abs(share_of_yes(union, False) - 0.271) < 4.5 * np.sqrt(0.271 * 0.729 / len(ROWS))


def test_a_tie_is_a_no():
    # Two people who each say yes with 0.5: more than half of them is both.
    yes = share_of_yes(Habits(miss=0.5, workers=2), True)
    assert abs(yes - 0.25) < 4.5 * np.sqrt(0.25 * 0.75 / len(ROWS))


def test_answers_equal_the_slow_vote():
    truth = {(int(n), int(c)) for n, c in zip(ROWS, COLUMNS, strict=True) if (n * 7 + c) % 3 == 0}
    pick = np.arange(0, len(ROWS), 97)
    rows, columns = ROWS[pick], COLUMNS[pick]
    places = list(zip(rows.tolist(), columns.tolist(), strict=True))
    present = np.array([place in truth for place in places])
    for people, vote in ((1, "majority"), (4, "majority"), (3, "union")):
        habits = Habits(0.3, 0.2, workers=people, vote=vote)
        fast = habits.answers(rows, columns, present, chance=CHANCE)
        slow = [says_yes(place, truth, (0.3, 0.2), people, vote, CHANCE) for place in places]
        assert fast.tolist() == slow


def test_rates_by_class():
    miss = tuple(c / 49 for c in range(50))
    yes = Habits(miss=miss).answers(ROWS, COLUMNS, np.ones(len(ROWS), bool), chance=CHANCE)
    by_class = yes.reshape(400, 50).mean(0)
    assert by_class[0] == 1 and by_class[49] == 0
    assert np.abs(by_class - (1 - np.array(miss))).max() < 4.5 * np.sqrt(0.25 / 400)


def test_errors_are_nested_in_the_rate_and_do_not_depend_on_order():
    present = np.ones(len(ROWS), bool)
    little = Habits(miss=0.1).answers(ROWS, COLUMNS, present, chance=CHANCE)
    much = Habits(miss=0.3).answers(ROWS, COLUMNS, present, chance=CHANCE)
    assert (much <= little).all() and much.sum() < little.sum()
    turned = Habits(miss=0.1).answers(ROWS[::-1], COLUMNS[::-1], present, chance=CHANCE)
    assert np.array_equal(turned[::-1], little)


@pytest.mark.parametrize(
    "settings,message",
    [
        ({"miss": 1.5}, "habits: miss is 1.5; a share from 0 to 1 is expected"),
        ({"miss": float("nan")}, "habits: miss is nan; a number is expected"),
        ({"miss": "much"}, "habits: miss is 'much'; a number is expected"),
        (
            {"false_alarm": (0.1, -0.2)},
            "habits: false_alarm is -0.2; a share from 0 to 1 is expected",
        ),
        ({"false_alarm": (0.1, None)}, "habits: false_alarm is None; a number is expected"),
        ({"miss": None}, "habits: miss is None; a number is expected"),
        ({"workers": "a"}, "habits: workers is 'a'; a whole number is expected"),
        ({"workers": float("nan")}, "habits: workers is nan; a whole number is expected"),
        ({"workers": 0}, "habits: workers is 0; a whole number from 1 on is expected"),
        ({"workers": 1.5}, "habits: workers is 1.5; a whole number is expected"),
        ({"vote": "chief"}, "habits: vote is 'chief'; it must be one of majority, union"),
    ],
)
def test_habits_that_cannot_be(settings, message):
    with pytest.raises(BadInput) as error:
        Habits(**settings)
    assert str(error.value) == message


def test_rates_must_fit_the_classes():
    with pytest.raises(BadInput) as error:
        Habits(miss=(0.1, 0.2)).check(3)
    assert str(error.value) == "habits: miss has 2 shares for 3 classes; give one for each class"
    Habits(miss=(0.1, 0.2, 0.3)).check(3)


def test_habits_read_back():
    habits = Habits((0.1, 0.2), 0.3, workers=5, vote="union")
    assert Habits.from_json(habits.to_json()) == habits


def test_numbers_of_numpy_are_plain_numbers():
    habits = Habits(np.linspace(0, 0.5, 3), np.float32(0.25), workers=np.int64(3))
    assert habits == Habits((0.0, 0.25, 0.5), 0.25, workers=3)
    text = '{"miss": [0.0, 0.25, 0.5], "false_alarm": 0.25, "workers": 3, "vote": "majority"}'
    assert json.dumps(habits.to_json()) == text
    assert type(Habits(workers=3.0).workers) is int
