"""The crowd at work, one image and one question at a time, with sets and loops.

Everything takes the same keyed numbers as the fast code and gets there in the obvious way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from simkit.chance import Chance

Place = tuple[int, int]


@dataclass
class Notes:
    """Answers by place, looks by class, images asked, paid answers that were not kept."""

    answers: dict[Place, bool] = field(default_factory=dict)
    looks: dict[int, int] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    dropped: int = 0


def search_as_they_come(
    notes: Notes,
    yes: set[Place],
    order: list[int],
    c: int,
    *,
    present: int,
    absent: int,
    keep: bool,
) -> None:
    """Look at images in `order` until both goals are met, and write down what was wanted."""
    found = turned = looks = 0
    for image in order:
        if found >= present and turned >= absent:
            break
        looks += 1
        notes.asked.add(image)
        answer = (image, c) in yes
        wanted = found < present if answer else turned < absent
        if wanted or keep:
            notes.answers[image, c] = answer
        else:
            notes.dropped += 1
        found += answer
        turned += not answer
    notes.looks[c] = looks


def search_candidates(
    notes: Notes,
    yes: set[Place],
    order: list[int],
    c: int,
    *,
    shows: set[Place],
    present: int,
    absent: int,
    precision: Fraction,
    keep: bool,
) -> None:
    """Look at a machine's candidates until `present` are said to show the class, then at others.

    shows: what is there, which decides on the candidates; yes: what people say. After f right
    candidates there were ceil(f / precision) candidates, as far as there are false ones.
    """
    right = [image for image in order if (image, c) in shows]
    wrong = [image for image in order if (image, c) not in shows]
    given = {True: 0, False: 0}
    looks = 0

    def look(image: int) -> None:
        nonlocal looks
        looks += 1
        notes.asked.add(image)
        answer = (image, c) in yes
        if keep or given[answer] < (present if answer else absent):
            notes.answers[image, c] = answer
        else:
            notes.dropped += 1
        given[answer] += 1

    for f, image in enumerate(right, 1):
        false = ceil(f / precision) - ceil((f - 1) / precision) - 1
        while false and wrong and given[True] < present:
            look(wrong.pop(0))
            false -= 1
        if given[True] >= present:
            break
        look(image)
    while wrong and given[False] < absent:
        look(wrong.pop(0))
    notes.looks[c] = looks


def named(image: int, present: list[int], most: int, chance: Chance) -> list[int]:
    """Draw without replacement: number j of the image picks among those left."""
    left, out = list(present), []
    for j in range(min(most, len(left))):
        number = int(chance([image], j)[0]) >> 32
        pick = number * (len(left) - j) >> 32
        left[j], left[j + pick] = left[j + pick], left[j]
        out.append(left[j])
    return out


def descend(v: int, yes: set[int], parents: list[list[int]]) -> tuple[dict[int, bool], set[int]]:
    """Labels of one image in which v was named (-1: nothing), and the classes asked about."""
    L = len(parents)

    def ancestors(c: int) -> set[int]:
        return {a for p in parents[c] for a in {p} | ancestors(p)}

    path = set() if v < 0 else {v} | ancestors(v)
    asked = {c for c in range(L) if not parents[c] or any(p in path - {v} for p in parents[c])}
    asked -= path
    asked = {c for c in asked if v < 0 or v not in ancestors(c)}
    labels = {c: True for c in path} | {c: c in yes for c in asked}
    denied = asked - yes
    present = {a for c in asked & yes for a in {c} | ancestors(c)} - denied - path
    labels |= {c: True for c in present}
    present |= {v} if v >= 0 else set()
    for c in range(L):
        above = ancestors(c)
        if c not in labels and above & denied and not above & present:
            labels[c] = False
    return labels, asked


def binomial_quantile(number: int, trials: int, share: float) -> int:
    """The smallest x with number / 2**64 < P(X <= x), all in fractions."""
    p = Fraction(share)
    total, mass, x = Fraction(0), (1 - p) ** trials, 0
    while x < trials:
        total += mass
        if number < int(total * 2**64):
            return x
        mass = mass * p * (trials - x) / ((1 - p) * (x + 1)) if p < 1 else Fraction(0)
        x += 1
    return trials


def ruled_out(
    order: list[int], yes: set[int], absent: int, named: set[int]
) -> tuple[list[int], list[int]]:
    """Classes of one image that were denied, and affirmed ones met, asking in this order."""
    denied: list[int] = []
    met: list[int] = []
    for c in order:
        if len(denied) == absent:
            break
        if c not in named:
            (met if c in yes else denied).append(c)
    return denied, met


def pairs_drawn(pairs: int, chance: Chance) -> list[int]:
    """All places in the order in which draws, one keyed number for each, first meet them."""
    met: dict[int, None] = {}
    draw = 0
    while len(met) < pairs:
        met.setdefault(int(chance([draw])[0]) * pairs >> 64)
        draw += 1
    return list(met)


def weighted(image: int, weights: dict[int, int], most: int, chance: Chance) -> list[int]:
    """Draw classes without replacement, each time with probability weight over what is left."""
    left, out = dict(weights), []
    while left and len(out) < most:
        ahead = int(chance([image], len(out))[0]) * sum(left.values()) >> 64
        order = iter(sorted(left))
        c = next(order)
        while ahead >= left[c]:
            ahead -= left[c]
            c = next(order)
        out.append(c)
        del left[c]
    return out


def box_weights(present: list[int], values: dict[int, int], heaviest: int) -> dict[int, int]:
    """Whole-number weights of the classes of one image from the sums over their boxes."""
    own = {c: values[c] for c in present if c in values}
    scale = max(own.values(), default=0)
    weights = {c: max(1, value * heaviest // scale) for c, value in own.items()}
    ordered = sorted(weights.values())
    median = ordered[(len(ordered) - 1) // 2] if ordered else 1
    return {c: weights.get(c, median) for c in present}


def proposed(
    image: int,
    present: set[int],
    L: int,
    *,
    count: int,
    precision: Fraction,
    recall: int,
    shares: list[int],
    alike: list[list[int]],
    chance: Chance,
) -> set[int]:
    """What a machine proposes for one image; `recall` and `shares` are shares of 2**64."""

    def number(purpose: str, c: int) -> int:
        return int(chance.of(purpose)([image], c)[0])

    def order(c: int) -> tuple[int, int]:
        return number("order", c) >> (20 + L.bit_length()), c

    meant = sum(Fraction(number("right", j), 2**64) < precision for j in range(count))
    seen = [c for c in present if number("noticed", c) < (shares[c] * recall >> 64)]
    right = sorted(seen, key=order)[:meant]
    near = {other for c in present for other in alike[c]} - present
    rest = [c for c in chance.of("others").permutation(L).at(range(L), image).tolist()]
    far = [c for c in rest if c not in near and c not in present]
    wrong = [*sorted(near, key=order), *far]
    wrong = [c for c in wrong if number("noticed", c) < shares[c]]
    return {*right, *wrong[: count - len(right)]}
