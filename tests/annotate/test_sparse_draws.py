"""Looking things up: at places, by image, by class, and what people would say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from simkit.annotate import sparse_draws
from simkit.annotate.sparse_draws import (
    HEAVIEST,
    ask_images,
    ask_pairs,
    boxes_by_class,
    draw_pairs,
    draw_present,
    draw_weighted,
    row_blocks,
)
from simkit.chance import Chance
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from tests.annotate.conftest import random_truth
from tests.reference.annotation import box_weights, named, pairs_drawn, ruled_out, weighted

CHANCE = Chance.seeded(1).of("draw")


def test_blocks_of_rows_hold_as_many_entries_as_allowed_or_one_row():
    counts = [3, 0, 1, 2, 9, 0, 4, 1, 1]
    matrix = csr_array(np.arange(9) < np.array(counts)[:, None])
    assert list(row_blocks(matrix, 4)) == [(0, 3), (3, 4), (4, 5), (5, 7), (7, 9)]


@pytest.mark.parametrize("most", [1, 2, 4])
def test_draw_present_equals_drawing_by_hand(most):
    truth = random_truth(N=100, L=8)
    images = np.arange(100)
    drawn = draw_present(truth.present, images, most=most, chance=CHANCE)
    for image in images:
        present = truth.present[[image]].indices.tolist()
        slow = named(int(image), present, most, CHANCE)
        assert drawn[image].tolist() == slow + [-1] * (most - len(slow))


def random_boxes(N: int, L: int, seed: int = 0, count: int = 400) -> Boxes:
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 90, (count, 2))
    corners = np.concatenate([start, start + rng.integers(0, 40, (count, 2))], 1)
    sizes = rng.integers(64, 130, (N, 2))
    images, classes = rng.integers(0, N, count), rng.integers(0, L, count)
    return Boxes(images, classes, corners.astype(np.float32), sizes)


def test_sums_over_boxes_by_hand():
    # Class 1: 10 x 20 and 5 x 4 pixels in sixteenths; class 0: no extent counts as the least.
    corners = np.array([[0, 0, 10, 20], [10, 10, 15, 14], [3, 3, 3, 9]], np.float32)
    boxes = Boxes(np.array([1, 1, 1]), np.array([1, 1, 0]), corners, np.array([[9, 9], [20, 28]]))
    size = boxes_by_class(boxes, "size", (2, 3), None).toarray()
    assert size.tolist() == [[0, 0, 0], [1, (200 + 20) * 16, 0]]
    # Centres (5, 10), (12.5, 12) and (3, 6) are sqrt(41), sqrt(10.25), sqrt(113) from (10, 14).
    near = boxes_by_class(boxes, "centre", (2, 3), None).toarray()
    inverse = [2**32 / np.sqrt(d) for d in (41, 10.25, 113)]
    assert near[1].tolist() == [round(inverse[2]), round(inverse[0]) + round(inverse[1]), 0]


def test_boxes_count_for_what_is_above_their_class():
    hierarchy = Hierarchy.of(["animal", "dog", "cat"], [("dog", "animal"), ("cat", "animal")])
    corners = np.array([[0, 0, 1, 1], [0, 0, 2, 1]], np.float32)
    boxes = Boxes(np.array([0, 0]), np.array([1, 2]), corners)
    assert boxes_by_class(boxes, "size", (1, 3), hierarchy).toarray().tolist() == [[48, 16, 32]]


def test_boxes_that_do_not_fit():
    boxes = random_boxes(5, 4)
    for shape in ((5, 3), (4, 4)):
        with pytest.raises(BadInput, match="boxes are of more than"):
            boxes_by_class(boxes, "size", shape, None)
    with pytest.raises(BadInput, match="bias=centre needs a width and height above 0"):
        boxes_by_class(replace(boxes, sizes=boxes.sizes[:3]), "centre", (5, 4), None)
    plain = Boxes(boxes.images, boxes.classes, boxes.corners)
    with pytest.raises(BadInput, match="bias=centre needs a width and height"):
        boxes_by_class(plain, "centre", (5, 4), None)


@pytest.mark.parametrize("by", ["size", "centre"])
@pytest.mark.parametrize("chunk", [1 << 20, 9])
def test_weighted_draws_equal_drawing_by_hand(by, chunk, monkeypatch):
    monkeypatch.setattr(sparse_draws, "CHUNK", chunk)
    truth, boxes = random_truth(N=80, L=8), random_boxes(80, 8)
    images = np.arange(0, 80, 2)
    values = boxes_by_class(boxes, by, (80, 8), None)
    own = csr_array(truth.present[images])
    drawn = draw_weighted(own, images, values, most=3, chance=CHANCE)
    for row, image in enumerate(images.tolist()):
        sums = {int(c): int(values[image, c]) for c in range(8) if values[image, c]}
        weights = box_weights(own[[row]].indices.tolist(), sums, HEAVIEST)
        slow = weighted(image, weights, 3, CHANCE)
        assert drawn[row].tolist() == slow + [-1] * (3 - len(slow))


def test_stated_areas_come_before_those_of_the_boxes():
    # A tree in a box of 200 pixels covers 60 of them, as COCO's masks say, and a car all of its 90.
    corners = np.array([[0, 0, 10, 20], [0, 0, 9, 10]], np.float32)
    boxes = Boxes(np.array([0, 0]), np.array([0, 1]), corners, areas=np.array([60.0, 90.0]))
    assert boxes_by_class(boxes, "size", (1, 2), None).toarray().tolist() == [[960, 1440]]
    plain = replace(boxes, areas=None)
    assert boxes_by_class(plain, "size", (1, 2), None).toarray().tolist() == [[3200, 1440]]


@pytest.mark.parametrize("chunk", [1 << 20, 7])
def test_pairs_with_the_smallest_numbers(chunk, monkeypatch):
    monkeypatch.setattr(sparse_draws, "CHUNK", chunk)
    truth, images = random_truth(N=40, L=6), np.arange(100, 140)
    rows, columns = truth.present.nonzero()
    order = np.argsort(CHANCE(images[rows], columns))
    pairs = [(int(rows[i]), int(columns[i])) for i in order]
    for count in (0, 1, 10, len(pairs)):
        found = draw_pairs(truth.present, images, count, CHANCE)
        assert list(zip(*(part.tolist() for part in found), strict=True)) == sorted(pairs[:count])


def test_equal_numbers_leave_the_count_exact(monkeypatch):
    monkeypatch.setattr(Chance, "__call__", lambda self, images, classes: np.asarray(classes) // 4)
    matrix = csr_array(np.ones((5, 8), bool))
    for chunk in (1 << 20, 6):
        monkeypatch.setattr(sparse_draws, "CHUNK", chunk)
        for count in (1, 7, 20, 23):
            rows, _ = draw_pairs(matrix, np.arange(5), count, CHANCE)
            assert len(rows) == count


def asked_of(pieces) -> list[tuple[int, int, bool]]:
    return [one for piece in pieces for one in zip(*(part.tolist() for part in piece), strict=True)]


@settings(deadline=None, max_examples=80)
@given(
    st.integers(1, 15),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 12),
    st.sampled_from([1 << 20, 5]),
    st.integers(0, 50),
)
def test_image_by_image(N, L, share, absent, chunk, seed):
    yes = np.random.default_rng(seed).random((N, L)) < share
    named = np.where(yes.any(1), yes.argmax(1), -1)[:, None]
    wanted = np.minimum(absent + np.arange(N) % 2, L)
    order = CHANCE.permutation(L)
    before, sparse_draws.CHUNK = sparse_draws.CHUNK, chunk
    try:
        fast = asked_of(ask_images(lambda n, c: yes[n, c], order, np.arange(N), wanted, named))
    finally:
        sparse_draws.CHUNK = before
    expected = []
    for n in range(N):
        walk = order.at(np.arange(L), n).tolist()
        own = set(np.flatnonzero(yes[n]).tolist())
        denied, met = ruled_out(walk, own, int(wanted[n]), set(named[n].tolist()))
        expected += [(n, c, False) for c in denied] + [(n, c, True) for c in met]
    assert len(fast) == len(set(fast)) and sorted(fast) == sorted(expected)


@pytest.mark.parametrize("permuted", [sparse_draws.PERMUTED, 0], ids=["permuted", "drawn"])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("chunk", [1 << 20, 17])
def test_over_all_pairs(permuted, share, chunk, monkeypatch):
    monkeypatch.setattr(sparse_draws, "PERMUTED", permuted)
    monkeypatch.setattr(sparse_draws, "CHUNK", chunk)
    images, L = np.arange(3, 40, 4), 5
    yes = np.random.default_rng(1).random((40, L)) < share
    pairs = len(images) * L
    drawn = pairs_drawn(pairs, CHANCE)
    order = drawn if permuted == 0 else CHANCE.permutation(pairs).at(np.arange(pairs)).tolist()
    assert sorted(order) == list(range(pairs))
    places = [(int(images[i // L]), i % L) for i in order]
    for wanted in (0, 1, 8, 30, pairs + 1):
        expected, denied = [], 0
        for n, c in places:
            if denied == wanted:
                break
            expected.append((n, c, bool(yes[n, c])))
            denied += not yes[n, c]
        found = ask_pairs(lambda n, c: yes[n, c], images, L, wanted, CHANCE)
        assert asked_of(found) == expected
