"""Random numbers that depend only on the seed, the purpose and the position.

There is no running generator: a number belongs to (seed, names, image, class), and does not depend
on the order of work, the size of chunks or the number of processes. All comparisons are between
integers, which are the same on every machine.
"""

from __future__ import annotations

import hashlib
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import whole_number

if TYPE_CHECKING:
    import torch

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
# Of the network of a permutation: what is added in each step, and what mixes 32 bits.
_STEPS = [np.uint32((step * 0x9E3779B9) & 0xFFFFFFFF) for step in range(6)]
_MIXES = [(np.uint32(0x9E3779B1), np.uint32(15)), (np.uint32(0x85EBCA77), np.uint32(13))]
_LAST = np.uint32(0xC2B2AE3D)
_CHUNK = 1 << 15  # numbers per step: temporaries stay in the processor's cache
_WALKED = 1 << 19  # numbers that walk together


@dataclass(frozen=True)
class Chance:
    """Uniform numbers by position. `Chance.seeded(7).of("errors")(images, classes)`."""

    key: bytes

    @staticmethod
    def seeded(seed: int) -> Chance:
        """The root of all numbers of a seed (any integer). Raises BadInput for other values."""
        whole = whole_number(seed, "the seed")
        return Chance(hashlib.sha256(f"simkit {whole}".encode()).digest())

    def of(self, *names: str | int) -> Chance:
        """The numbers for one purpose; a new purpose does not change any other numbers.

        Names are integers or text; equal values of different types are the same name.
        """
        key = self.key
        for name in names:
            plain = str(name) if isinstance(name, str) else operator.index(name)
            key = hashlib.sha256(key + repr(plain).encode()).digest()
        return Chance(key)

    def __call__(self, images: Any, classes: Any = None) -> NDArray[np.uint64]:
        """One 64-bit number per position; `images` and `classes` are integers that broadcast."""
        low, high = self._words()
        rows = np.asarray(images)
        columns = np.zeros((), np.int64) if classes is None else np.asarray(classes)
        if rows.size < columns.size:  # the hash of the image is computed once
            numbers = columns.astype(np.uint64)
            numbers *= _MIX_B
            numbers += high
            return _mix(_words(rows, low) ^ numbers)
        rows, columns = np.broadcast_arrays(rows, columns)
        shape, rows, columns = rows.shape, rows.reshape(-1), columns.reshape(-1)
        out = np.empty(rows.shape, np.uint64)
        for start in range(0, len(out), _CHUNK):
            part = slice(start, start + _CHUNK)
            state = _words(rows[part], low)
            state ^= columns[part].astype(np.uint64) * _MIX_B + high
            out[part] = _mix(state)
        return out.reshape(shape)

    def block(self, start: int, stop: int, width: int, bits: int = 32) -> NDArray[Any]:
        """Numbers of 8, 16, 32 or 64 `bits` for rows start..stop: (stop - start, width).

        For whole rows, several times as fast per number as `__call__`, whose numbers differ. The
        numbers of a row do not depend on `start` and `stop`.
        """
        per_row = -(-width * bits // 64)  # steps of the generator, 64 bits each
        state, stream = (int.from_bytes(half, "little") for half in (self.key[:16], self.key[16:]))
        generator = np.random.PCG64DXSM(0)
        generator.state = {
            "bit_generator": "PCG64DXSM",
            "state": {"state": state, "inc": stream | 1},  # the increment must be odd
            "has_uint32": 0,
            "uinteger": 0,
        }
        generator.advance(start * per_row)  # jumps to any position in a few steps
        raw = generator.random_raw((stop - start) * per_row)
        numbers = np.ascontiguousarray(raw, dtype="<u8").view(f"<u{bits // 8}")
        return numbers.reshape(stop - start, per_row * 64 // bits)[:, :width]

    def permutation(self, size: int) -> Permutation:
        """One keyed permutation of range(size) for every key (class or image)."""
        return Permutation(size, *self._words())

    def seed(self) -> int:
        """63 bits for libraries that take a seed."""
        return int.from_bytes(self.key[16:24], "little") >> 1

    def torch(self) -> torch.Generator:
        """A CPU generator of PyTorch. Not for labels: its streams differ between devices."""
        import torch

        return torch.Generator().manual_seed(self.seed())

    def _words(self) -> tuple[np.uint64, np.uint64]:
        low, high = np.frombuffer(self.key[:16], "<u8")
        return np.uint64(low), np.uint64(high)


def threshold(share: float, bits: int = 64) -> int:
    """The integer t such that `number < t` has probability `share`; share 1 gives 2**bits."""
    return min(1 << bits, max(0, round(share * (1 << bits))))


def below(numbers: NDArray[np.unsignedinteger], share: float) -> NDArray[np.bool_]:
    """Mask of the uniform numbers below `share` of their range; nested in `share`."""
    limit = threshold(share, numbers.dtype.itemsize * 8)
    if limit > np.iinfo(numbers.dtype).max:
        return np.ones(numbers.shape, bool)
    return numbers < numbers.dtype.type(limit)


def _words(keys: NDArray[Any], start: np.uint64) -> NDArray[np.uint64]:
    """A word of 64 bits for each key."""
    state = keys.astype(np.uint64).reshape(-1)  # arithmetic on single numbers would warn
    state *= _GOLDEN
    state += start
    return _mix(state).reshape(keys.shape)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64 (Steele, Lea & Flood, OOPSLA 2014), in place."""
    state ^= state >> np.uint64(30)
    state *= _MIX_A
    state ^= state >> np.uint64(27)
    state *= _MIX_B
    state ^= state >> np.uint64(31)
    return state


@dataclass(frozen=True)
class Permutation:
    """Keyed permutations of range(size): an alternating Feistel network with cycle walking.

    `at(ranks, keys)` returns the items at ranks, `rank(items, keys)` the ranks of items. The first
    m outputs are m different items for any m, and a larger m only adds to them.

    Over the keys each item is at each rank equally often to within 0.3 %, measured on sizes from 2
    to 256 with 4 million keys; below size 100 these just suffice to detect a deviation.
    """

    size: int
    low: np.uint64
    high: np.uint64

    _rounds = 6

    def at(self, ranks: Any, keys: Any = 0, each: Any = None) -> NDArray[np.int64]:
        """Items at `ranks` (0..size-1) in the permutation of each of `keys`; both broadcast.

        each (g,): instead, key i is of the next `each[i]` ranks. Raises IndexError for other ranks.
        """
        return self._walk(ranks, keys, each, range(self._rounds))

    def rank(self, items: Any, keys: Any = 0, each: Any = None) -> NDArray[np.int64]:
        """Ranks of `items`: the inverse of `at`."""
        return self._walk(items, keys, each, range(self._rounds - 1, -1, -1))

    def _walk(self, values: Any, keys: Any, each: Any, rounds: range) -> NDArray[np.int64]:
        values = np.asarray(values)
        if values.size and not 0 <= int(values.min()) <= int(values.max()) < self.size:
            raise IndexError(f"positions are 0 to {self.size - 1:,}")  # such a walk never ends
        words = _words(np.asarray(keys), self.low) ^ self.high
        words = words if each is None else np.repeat(words, each)
        values, words = np.broadcast_arrays(values, words)
        flat, words = values.ravel(), words.ravel()
        out = np.empty(flat.shape, np.int64)
        # Few stay outside for many steps: they are walked for many chunks at once.
        for start in range(0, len(flat), _WALKED):
            part = slice(start, start + _WALKED)
            x, some = flat[part].astype(np.uint32), words[part]
            self._network(x, some, rounds)
            outside = np.flatnonzero(x >= self.size)
            while len(outside):  # walk along the cycle until back in range
                moved = x[outside]
                self._network(moved, some[outside], rounds)
                x[outside] = moved
                outside = outside[np.flatnonzero(moved >= self.size)]
            out[part] = x
        return out.reshape(values.shape)

    def _network(
        self, values: NDArray[np.uint32], words: NDArray[np.uint64], rounds: range
    ) -> None:
        """One step along the cycle, in place; one word for each value."""
        bits = max(6, (self.size - 1).bit_length())  # small sizes walk inside a domain of 64
        right_bits = np.uint32(bits // 2)
        mask = (np.uint32(1) << right_bits) - np.uint32(1)
        shifts = 32 - np.array([bits - bits // 2, bits // 2], np.uint32)
        buffers = np.empty((5, min(_CHUNK, len(values))), np.uint32)
        # On short arrays these calls take half as long as operators do.
        multiply, shift, xor = np.multiply, np.right_shift, np.bitwise_xor
        for start in range(0, len(values), _CHUNK):
            x = values[start : start + _CHUNK]
            scratch, low, high, left, right = buffers[:, : len(x)]
            pair = words[start : start + _CHUNK].view("<u4")
            low[:], high[:] = pair[::2], pair[1::2]
            shift(x, right_bits, left)
            np.bitwise_and(x, mask, right)
            for step in rounds:
                key, one, other = (high, right, left) if step % 2 else (low, left, right)
                np.add(key, _STEPS[step], x)
                # A keyed mix of 32 bits with good high bits.
                xor(x, other, x)
                for factor, by in _MIXES:
                    multiply(x, factor, x)
                    xor(x, shift(x, by, scratch), x)
                multiply(x, _LAST, x)
                shift(x, shifts[step % 2], x)
                xor(one, x, one)
            np.left_shift(left, right_bits, x)
            np.bitwise_or(x, right, x)
