"""The scenes: what stands where, the figures, and the pixels."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from simkit.chance import Chance
from simkit.data.scenes_draw import (
    COLOURS,
    DIGITS,
    FIGURES,
    GROUNDS,
    LEAVES,
    OBJECTS,
    PAINT,
    POOLS,
    SIDE,
    Layout,
    digit_pool,
    draw,
    layout,
    leaf_matrix,
    paint_ground,
    shape_mask,
)

CHANCE = Chance.seeded(3).of("layout test")
FIELDS = Layout.__dataclass_fields__


@pytest.fixture(scope="module")
def many() -> Layout:
    return layout(CHANCE, range(20_000))


def test_a_scene_depends_on_its_place_alone(many: Layout) -> None:
    index = np.array([19_999, 5, 731, 0])
    some = layout(CHANCE, index)
    for name in FIELDS:
        assert np.array_equal(getattr(some, name), getattr(many, name)[index]), name


def test_boxes_lie_inside_the_picture_and_have_the_promised_sizes(many: Layout) -> None:
    there = many.classes >= 0
    x, y, size = (a[there] for a in (many.x, many.y, many.size))
    assert x.min() >= 0 and y.min() >= 0
    assert (x + size).max() == SIDE and (y + size).max() == SIDE
    assert (size.min(), size.max()) == (14, 34)
    assert many.size[there & (many.classes < len(DIGITS))].max() == 26


def test_every_scene_has_an_object_and_some_have_few(many: Layout) -> None:
    objects = np.bincount((many.classes >= 0).sum(1), minlength=6) / len(many.ground)
    assert objects[0] == 0
    assert 0.15 < objects[1] < 0.25 and objects[5] > 0.02


def test_at_most_35_per_cent_of_the_smaller_box_is_shared(many: Layout) -> None:
    # The slow, obvious count over the first scenes.
    for n in range(1500):
        boxes = [
            (many.x[n, s], many.y[n, s], many.size[n, s])
            for s in range(5)
            if many.classes[n, s] >= 0
        ]
        for i, (x, y, a) in enumerate(boxes):
            for u, v, b in boxes[:i]:
                shared = len({*range(x, x + a)} & {*range(u, u + b)})
                shared *= len({*range(y, y + a)} & {*range(v, v + b)})
                assert shared <= 0.35 * min(a, b) ** 2


def test_labels_are_the_objects_their_colours_and_the_ground(many: Layout) -> None:
    present = leaf_matrix(many)
    for n in range(300):
        there = many.classes[n] >= 0
        expected = {OBJECTS[c] for c in many.classes[n][there]}
        expected |= {list(COLOURS)[c] for c in many.colours[n][there]}
        expected |= {list(GROUNDS)[g] for g in [many.ground[n]] if g >= 0}
        assert {LEAVES[c] for c in np.flatnonzero(present[n])} == expected


def test_frequencies_are_long_tailed(many: Layout) -> None:
    # 20,000 scenes: the standard error of a share is below 0.4 %, the bounds leave several.
    share = dict(zip(LEAVES, leaf_matrix(many).mean(0), strict=True))
    assert 4 < sum(share.values()) < 6
    assert sum(0.01 < s < 0.08 for s in share.values()) > len(LEAVES) / 2
    assert min(share.values()) > 0.01
    assert sum(0.3 < share[name] < 0.6 for name in COLOURS) >= 3
    assert share["trapezoid"] < 0.03 < 0.2 < share["circle"]


def test_classes_occur_together_by_kind_of_scene(many: Layout) -> None:
    present = dict(zip(LEAVES, leaf_matrix(many).T, strict=True))
    for one, other in (("heart", "pink"), ("star", "crescent"), ("hexagon", "checks")):
        together = (present[one] & present[other]).mean()
        assert together > 1.3 * present[one].mean() * present[other].mean()


@pytest.mark.parametrize("name", FIGURES)
def test_masks_are_covers_that_fill_their_box_and_do_not_touch_all_of_it(name: str) -> None:
    for number in (0, 20_000, 65_535):
        mask = shape_mask(name, 24, number)
        assert mask.shape == (24, 24)
        assert mask.min() == 0 and mask.max() == 256
        assert 0.12 < mask.mean() / 256 < 0.85


def test_areas_are_those_of_geometry() -> None:
    # A disk of radius sqrt(0.96) in a square of side 2; a ring without its inner disk of area
    # 0.36 pi; a square of side 1.44. The grid samples 16 points per pixel: 1 % is plenty.
    for name, area in {"circle": 0.96 * np.pi, "ring": 0.6 * np.pi, "square": 1.44**2}.items():
        assert shape_mask(name, 34, 40_000).mean() / 256 * 4 == pytest.approx(area, rel=0.01)


def test_a_quarter_turn_turns_the_mask() -> None:
    # An arrow has 24 steps, centred on upright: number 0 is step -12, 2**16 * 6 / 24 is step -6.
    start, quarter = shape_mask("arrow", 20, 0), shape_mask("arrow", 20, (1 << 16) * 6 // 24)
    assert np.array_equal(np.rot90(start, -1), quarter)


def test_figures_differ_from_each_other() -> None:
    masks = {name: shape_mask(name, 20, 32_768) / 256 for name in FIGURES}
    for one in masks:
        for other in masks:
            if one < other:
                assert np.abs(masks[one] - masks[other]).mean() > 0.04, (one, other)


TRAIN = Chance.seeded(0).of("scenes", "train")


def drawn(index: list[int], split: str = "train") -> np.ndarray:
    return draw(TRAIN, split, layout(TRAIN, index), index)


def test_pixels_do_not_depend_on_order_or_chunks() -> None:
    together = drawn(list(range(30)))
    assert together.shape == (30, 64, 64, 3) and together.dtype == np.uint8
    assert np.array_equal(together[[20, 3]], drawn([20, 3]))
    for n in (0, 29):
        assert np.array_equal(together[n], drawn([n])[0])


def test_pixels_are_the_same_bytes_everywhere() -> None:
    """A change here changes the data set: raise scenes.VERSION and train the backbone again."""
    digest = hashlib.sha256(drawn(list(range(200))).tobytes()).hexdigest()
    assert digest[:16] == "21ce0bad91de326b"


def test_an_object_changes_pixels_inside_its_box_alone() -> None:
    index = list(range(60))
    scenes = layout(TRAIN, index)
    full = draw(TRAIN, "train", scenes, index).astype(int)
    for slot in range(5):
        classes = scenes.classes.copy()
        classes[:, slot] = -1
        without = draw(TRAIN, "train", replace(scenes, classes=classes), index)
        changed = np.abs(full - without).max(3) > 0
        for n in np.flatnonzero(scenes.classes[:, slot] >= 0):
            x, y, size = (int(a[n, slot]) for a in (scenes.x, scenes.y, scenes.size))
            inside = changed[n, y : y + size, x : x + size]
            assert inside.sum() == changed[n].sum()
            assert inside.mean() > 0.04, "the object can hardly be seen"


def test_an_object_alone_has_its_colour() -> None:
    index = np.arange(400)
    scenes = layout(TRAIN, index)
    pixels = draw(TRAIN, "train", scenes, index).astype(int)
    names = list(PAINT)
    colours = list(COLOURS)
    middles = np.array([np.mean(PAINT[name], 0) for name in colours])
    square = OBJECTS.index("square")
    alone = (scenes.classes[:, 0] == square) & ((scenes.classes >= 0).sum(1) == 1)
    right = []
    for n in np.flatnonzero(alone):
        middle = scenes.size[n, 0] // 2 - 1
        seen = pixels[n, scenes.y[n, 0] + middle, scenes.x[n, 0] + middle]
        right.append(np.abs(middles - seen).sum(1).argmin() == scenes.colours[n, 0])
    assert len(names) == len(colours) and len(right) >= 10
    assert np.mean(right) > 0.8  # light, transparency and noise may push one over to a neighbour


def test_digits_of_the_splits_come_from_disjoint_pools() -> None:
    seen: dict[bytes, str] = {}
    for split in POOLS:
        pools = digit_pool(split)
        assert len(pools) == 10 and min(len(pool) for pool in pools) >= 16
        for image in np.concatenate(pools):
            assert seen.setdefault(image.tobytes(), split) == split
    assert sum(len(pool) for split in POOLS for pool in digit_pool(split)) == 1797


@pytest.mark.parametrize("ground", range(-1, len(GROUNDS)))
def test_grounds_are_muted_and_show_their_pattern(ground: int) -> None:
    canvas = paint_ground(ground, [30_000 + 1000 * i for i in range(12)])
    assert canvas.shape == (64, 64, 3)
    assert 0 < canvas.min() and canvas.max() < 255
    assert canvas.std((0, 1)).min() > 1
