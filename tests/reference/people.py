"""People who differ, one answer at a time, in fractions; and votes counted pair by pair."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from simkit.annotate.annotators import Habits
from simkit.chance import Chance


def share_of(share: float | tuple[float, ...], c: int) -> Fraction:
    return Fraction(share[c] if isinstance(share, tuple) else share)


def with_odds(share: Fraction, times: float) -> Fraction:
    """The share whose odds are `times` as high."""
    if share == 1:
        return share
    odds = Fraction(times) * share / (1 - share)
    return odds / (1 + odds)


def number(chance: Chance, name: str, who: tuple[int, ...], image: int, c: int) -> Fraction:
    return Fraction(int(chance.of(name, *who)([image], [c])[0]), 2**64)


def person_says(
    habits: Habits, person: int, image: int, c: int, present: bool, chance: Chance
) -> bool:
    """What one person says about one image and class."""
    doubtful = share_of(habits.unsure_present if present else habits.unsure_absent, c)
    if number(chance, "unsure", (), image, c) < doubtful:
        yes = Fraction(habits.unsure_yes)
        wrong = Fraction(1 - habits.unsure_yes) if present else yes
    else:
        wrong = share_of(habits.miss if present else habits.false_alarm, c)
    times = habits.miss_by_person if present else habits.false_alarm_by_person
    wrong = with_odds(wrong, 1 if times is None else times[person])
    return present != (number(chance, "person", (person,), image, c) < wrong)


def roster(habits: Habits, image: int, c: int, chance: Chance) -> list[int]:
    """Who answers: marks at equal distances on a line of people, each as long as his work."""
    seats = habits.workers or 1
    if habits.work_by_person is None:
        return list(range(seats))
    work = habits.work_by_person
    place = ([image],) if habits.roster == "image" else ([image], [c])
    key = int(chance.of("roster")(*place)[0])
    order = Chance.seeded(0).of("pool").permutation(len(work)).at(range(len(work)), key % 64)
    first = (key >> 32) * sum(work) >> 32
    chosen = []
    for seat in range(seats):
        mark, end = first + seat * sum(work), 0
        for person in order.tolist():
            end += seats * work[person]
            if mark < end:
                chosen.append(person)
                break
    return chosen


def vote(habits: Habits, image: int, c: int, present: bool, chance: Chance) -> bool:
    """What the people say together."""
    who = roster(habits, image, c, chance)
    yes = sum(person_says(habits, person, image, c, present, chance) for person in who)
    if habits.quorum is not None:
        return yes >= habits.quorum
    return yes > 0 if habits.vote == "union" else 2 * yes > len(who)


def pairs_that_agree(questions: list[list[bool]]) -> tuple[float, float]:
    """The share of all pairs of votes on one question that agree, and Fleiss' kappa."""
    by_question = [[a == b for a, b in combinations(votes, 2)] for votes in questions]
    several = [pairs for pairs in by_question if pairs]
    everything = [agree for pairs in several for agree in pairs]
    votes = [vote for votes in questions for vote in votes]
    yes = sum(votes) / len(votes)
    expected = yes**2 + (1 - yes) ** 2
    observed = sum(sum(pairs) / len(pairs) for pairs in several) / len(several)
    return sum(everything) / len(everything), (observed - expected) / (1 - expected)
