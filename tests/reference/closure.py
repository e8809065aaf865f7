"""What follows under a hierarchy, one image and one class at a time."""

from collections.abc import Mapping, Sequence

Parents = Sequence[Sequence[int]]


def ancestors(parents: Parents, c: int) -> set[int]:
    found = {c}
    for parent in parents[c]:
        found |= ancestors(parents, parent)
    return found


def consequences(
    parents: Parents, given: Mapping[int, int], own: Sequence[int]
) -> tuple[set[int], set[int]]:
    """Classes that follow to be present, and to be absent, from {class: +1 or -1} of `own`."""
    L = range(len(parents))
    said = {c for c, label in given.items() if label > 0}
    present = {a for c in said for a in ancestors(parents, c)}
    absent = {c for c, label in given.items() if label < 0}
    while True:
        more = {c for c in L if ancestors(parents, c) & absent}
        for a in set(L) - set(own):
            under = {c for c in own if a in ancestors(parents, c)}
            if under and under <= more - said:
                more.add(a)
        if more == absent:
            return present, absent
        absent = more


def closed_row(
    parents: Parents, own: Sequence[int], present: Sequence[bool], known: Sequence[bool]
) -> list[int]:
    """+1, -1 and 0 (unknown) for each class, of one image of a truth that is known in part."""
    up, _ = consequences(parents, {c: 1 for c, p in zip(own, present, strict=True) if p}, own)
    stated = {
        c: -1 for c, p, k in zip(own, present, known, strict=True) if k and not p and c not in up
    }
    _, down = consequences(parents, stated, own)
    return [1 if c in up else -1 if c in down else 0 for c in range(len(parents))]
