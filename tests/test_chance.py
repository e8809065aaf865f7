"""Random numbers by place: the same for any order and chunk, uniform, and nested."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit import chance as module
from simkit.chance import Chance, below, threshold
from simkit.errors import BadInput

ROOT = Chance.seeded(7)
KNOWN_NUMBERS = [4873257585026597643, 851000911117019736]
KNOWN_BLOCK = [[35844, 32228, 46402, 14104]]
KNOWN_ORDER = [7, 3, 8, 9, 5, 6, 0, 2, 1, 4]


def test_a_number_belongs_to_its_place():
    images, classes = np.arange(50)[:, None], np.arange(20)
    table = ROOT.of("x")(images, classes)
    assert table.shape == (50, 20) and table.dtype == np.uint64
    assert ROOT.of("x")(17, 3) == table[17, 3]
    backwards = ROOT.of("x")(images[::-1], classes[::-1])
    assert np.array_equal(backwards[::-1, ::-1], table)


def test_chunks_change_no_number(monkeypatch):
    whole = ROOT(np.arange(1000), 5), ROOT.permutation(1000).at(np.arange(1000), 5)
    monkeypatch.setattr(module, "_CHUNK", 7)
    assert np.array_equal(ROOT(np.arange(1000), 5), whole[0])
    assert np.array_equal(ROOT.permutation(1000).at(np.arange(1000), 5), whole[1])


@pytest.mark.parametrize(
    "other",
    [
        ROOT.of("b"),
        ROOT.of("a", "b"),
        ROOT.of("a", 0),
        Chance.seeded(8).of("a"),
        ROOT.of("a").of("a"),
    ],
)
def test_names_and_seeds_give_other_numbers(other):
    assert not (ROOT.of("a")(np.arange(100)) == other(np.arange(100))).any()


def test_names_are_a_path():
    assert ROOT.of("a", 1) == ROOT.of("a").of(1)
    assert ROOT.of("1") != ROOT.of(1)


def test_numbers_are_known():
    # Written down when they were first made: a change here changes all labels ever simulated.
    assert ROOT.of("x")([0, 1], [0, 2]).tolist() == KNOWN_NUMBERS
    assert ROOT.of("x").block(3, 4, 4, bits=16).tolist() == KNOWN_BLOCK
    assert ROOT.of("x").permutation(10).at(np.arange(10), 3).tolist() == KNOWN_ORDER


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("width", [1, 5, 8, 83])
def test_rows_of_a_block_do_not_depend_on_the_block(bits, width):
    whole = ROOT.block(0, 40, width, bits)
    assert whole.shape == (40, width) and whole.dtype == np.dtype(f"u{bits // 8}")
    parts = [ROOT.block(a, b, width, bits) for a, b in ((0, 1), (1, 17), (17, 40))]
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_blocks_are_uniform_and_rows_differ(bits):
    numbers = ROOT.block(0, 1000, 64, bits)
    top = (numbers >> numbers.dtype.type(bits - 4)).ravel()
    counts = np.bincount(top, minlength=16)
    expected = top.size / 16
    # Chi-square with 15 degrees of freedom exceeds 45 with probability 8e-5.
    assert ((counts - expected) ** 2 / expected).sum() < 45
    assert len(np.unique(numbers[:, :32].view(f"V{bits * 4}"), axis=0)) == 1000


def test_threshold_and_below_at_the_ends():
    assert threshold(0) == 0 and threshold(1) == 2**64 and threshold(0.5, 16) == 2**15
    ends = np.array([0, 2**64 - 1], np.uint64)
    assert below(ends, 0).tolist() == [False, False]
    assert below(ends, 1).tolist() == [True, True]
    assert below(ends, 0.5).tolist() == [True, False]


def test_below_is_nested_and_keeps_the_share():
    numbers = ROOT(np.arange(100_000))
    shares = [0.01, 0.1, 0.5, 0.9]
    kept = [below(numbers, share) for share in shares]
    for share, inside, outside in zip(
        shares, kept, [*kept[1:], np.ones(100_000, bool)], strict=True
    ):
        assert (inside <= outside).all()
        assert abs(inside.mean() - share) < 4.5 * np.sqrt(share * (1 - share) / 100_000)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 3000), st.integers(0, 10**6), st.integers(0, 2**32))
def test_a_permutation_is_one_and_rank_inverts_it(size, key, seed):
    order = Chance.seeded(seed).permutation(size)
    items = order.at(np.arange(size), key)
    assert np.array_equal(np.sort(items), np.arange(size))
    assert np.array_equal(order.rank(items, key), np.arange(size))


@pytest.mark.parametrize("size", [2, 5, 64, 100, 1000])
def test_places_in_permutations_are_uniform(size):
    """First and second item over many keys: chi-square near its degrees of freedom."""
    order, keys = ROOT.of("order").permutation(size), np.arange(20_000)
    for rank in (0, 1):
        counts = np.bincount(order.at(np.full(20_000, rank), keys), minlength=size)
        expected = 20_000 / size
        chi = ((counts - expected) ** 2 / expected).sum()
        assert chi < size - 1 + 4.5 * np.sqrt(2 * (size - 1)) + 4


def test_seeds_for_libraries_are_stable_and_differ():
    assert ROOT.of("x").seed() == ROOT.of("x").seed() != ROOT.of("y").seed()
    assert 0 <= ROOT.seed() < 2**63
    first, again = (ROOT.of("x").torch().initial_seed() for _ in range(2))
    assert first == again == ROOT.of("x").seed()


def test_equal_names_are_the_same_name_whatever_their_type():
    assert ROOT.of("a", np.int64(1)) == ROOT.of(np.str_("a"), np.uint8(1)) == ROOT.of("a", 1)
    assert Chance.seeded(np.int64(7)) == ROOT


@pytest.mark.parametrize("name", [1.0, None, b"a", np.float64(1), ("a",)])
def test_other_names_are_refused(name):
    with pytest.raises(TypeError):
        ROOT.of(name)
    with pytest.raises(BadInput) as error:
        Chance.seeded(name)
    assert str(error.value) == f"the seed is {name!r}; a whole number is expected"


@pytest.mark.parametrize("rank", [-1, 10, 2**40])
def test_a_rank_that_a_permutation_does_not_have_is_refused(rank: int) -> None:
    order = Chance.seeded(0).of("x").permutation(10)
    with pytest.raises(IndexError, match="0 to 9"):
        order.at([0, rank])
