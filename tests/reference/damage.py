"""Damaged copies of a good file: cut, flipped, overwritten; and JSON with replaced values."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

ODD = [
    None, True, -1, 0, 10**30, 2**31, 0.5, float("nan"), float("inf"), "", "x", "\ud800", [], [[]],
    {}, {"id": 1}, [None], "a" * 5000, -(2**63), 1e308,
]  # fmt: skip


def damaged_bytes(good: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """`count` damaged copies, a function of the seed."""
    rng = np.random.default_rng(seed)
    kinds: list[Callable[[bytes, np.random.Generator], bytes]] = [
        _cut, _flip, _flip_many, _overwrite, _remove, _repeat, _number,
    ]  # fmt: skip
    for number in range(count):
        yield kinds[number % len(kinds)](good, rng)


def _cut(good: bytes, rng: np.random.Generator) -> bytes:
    return good[: rng.integers(len(good))]


def _flip(good: bytes, rng: np.random.Generator, times: int = 1) -> bytes:
    out = bytearray(good)
    for place in rng.integers(len(out), size=times):
        out[place] ^= 1 << int(rng.integers(8))
    return bytes(out)


def _flip_many(good: bytes, rng: np.random.Generator) -> bytes:
    return _flip(good, rng, 1 + int(rng.integers(20)))


def _overwrite(good: bytes, rng: np.random.Generator) -> bytes:
    place, length = int(rng.integers(len(good))), int(rng.integers(1, 40))
    return good[:place] + rng.bytes(length) + good[place + length :]


def _remove(good: bytes, rng: np.random.Generator) -> bytes:
    place, length = int(rng.integers(len(good))), int(rng.integers(1, 200))
    return good[:place] + good[place + length :]


def _repeat(good: bytes, rng: np.random.Generator) -> bytes:
    place, length = int(rng.integers(len(good))), int(rng.integers(1, 200))
    return good[: place + length] + good[place:]


def _number(good: bytes, rng: np.random.Generator) -> bytes:
    """Four bytes become a large little-endian number: a size, if it hits one."""
    place = int(rng.integers(max(1, len(good) - 4)))
    large = int(rng.choice([2**31 - 1, 2**32 - 1, 2**30, 2**24]))
    return good[:place] + large.to_bytes(4, "little") + good[place + 4 :]


def damaged_json(good: Any, count: int, seed: int = 0) -> Iterator[bytes]:
    """`count` JSON texts in which one or two values were replaced, removed or doubled."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        values = json.loads(json.dumps(good))
        for _ in range(1 + number % 2):
            _spoil(values, rng)
        yield json.dumps(values).encode()


def _spoil(values: Any, rng: np.random.Generator) -> None:
    places = list(_places(values))
    if not places:
        return
    holder, key = places[rng.integers(len(places))]
    what = rng.integers(6)
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, list):
        holder.append(holder[key])
    else:
        holder[key] = ODD[rng.integers(len(ODD))]


def _places(values: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(values, dict | list):
        keys = list(values) if isinstance(values, dict) else range(len(values))
        for key in keys:
            yield values, key
            yield from _places(values[key])
