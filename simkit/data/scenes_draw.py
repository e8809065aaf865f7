"""The content of every scene and how it becomes 64 x 64 pixels.

The layout, the objects and their positions, is made without drawing: integers keyed by (seed,
split, image), so that labels and boxes of image 40,000 take as long as those of image 4. Drawing
uses integers and single IEEE operations only (no sine, no BLAS): the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simkit.chance import Chance

SIDE = 64  # pixels
MOST = 5  # objects in one image
SMALLEST, LARGEST = 14, 34  # side of an object's box in pixels, both included
LARGEST_DIGIT = 26
MOST_HIDDEN = 35  # per cent: largest overlap, as a share of the smaller of two boxes

# Weight of each class when an object is drawn, before the kind of scene changes it.
DIGITS = {
    "zero": 26, "one": 52, "two": 22, "three": 25, "four": 16,
    "five": 19, "six": 9, "seven": 32, "eight": 7, "nine": 13,
}  # fmt: skip
SHAPES = {
    "circle": 190, "square": 120, "triangle": 75, "star": 45, "heart": 28, "rhombus": 24,
    "ring": 30, "cross": 26, "crescent": 17, "arrow": 17, "hexagon": 13, "semicircle": 15,
    "check mark": 10, "pentagon": 9, "spiral": 9, "zigzag": 8, "trapezoid": 6,
}  # fmt: skip
COLOURS = {
    "red": 26, "blue": 24, "yellow": 15, "green": 16, "white": 10, "black": 8,
    "orange": 5, "purple": 4, "pink": 3,
}  # fmt: skip
GROUNDS = {"stripes": 10, "checks": 7, "dots": 7, "grid": 4, "herringbone": 4}
PLAIN = 68  # weight of a ground that is no class

OBJECTS = (*DIGITS, *SHAPES)
LEAVES = (*OBJECTS, *COLOURS, *GROUNDS)

# Latent kinds of scenes: weight of the kind, and factors of class weights. They make classes occur
# together, as in photographs; no label reveals the kind.
KINDS: tuple[tuple[int, Mapping[str, float]], ...] = (
    (30, {}),
    (20, {**dict.fromkeys(DIGITS, 5), "check mark": 4, "black": 4, "blue": 1.5, "grid": 5}),
    (15, {"star": 5, "crescent": 6, "ring": 2, "yellow": 3, "white": 4, "dots": 4}),
    (15, {"triangle": 4, "arrow": 5, "cross": 3, "red": 2, "yellow": 2, "stripes": 4}),
    (12, {"square": 3, "rhombus": 4, "hexagon": 5, "trapezoid": 5, "pentagon": 4, "blue": 1.5,
          "green": 2, "orange": 2, "checks": 5, "herringbone": 4}),
    (8, {"heart": 7, "spiral": 6, "semicircle": 4, "red": 1.5, "pink": 8, "purple": 4, "dots": 2}),
)  # fmt: skip
COUNTS = (20, 28, 26, 16, 10)  # weights of 1, 2, ... objects


@dataclass(frozen=True, eq=False)
class Layout:
    """The content of n scenes, as integer arrays; -1 in `classes` means no object.

    classes, colours (n, 5): index into OBJECTS, into COLOURS;  x, y, size (n, 5): left, top, side.
    ground (n,): index into GROUNDS, -1 for a plain one.
    """

    classes: NDArray[np.int64]
    colours: NDArray[np.int64]
    x: NDArray[np.int64]
    y: NDArray[np.int64]
    size: NDArray[np.int64]
    ground: NDArray[np.int64]


def layout(
    chance: Chance, index: Sequence[int] | NDArray[np.integer], counts: Sequence[int] = COUNTS
) -> Layout:
    """The content of the scenes `index` of one split, with the random numbers `chance`.

    counts: weights of 1, 2, ... objects in an image.
    """
    images = np.asarray(index, np.int64)

    def by_slot(purpose: str) -> NDArray[np.uint64]:
        return chance.of(purpose)(images[:, None], np.arange(MOST))

    alike = np.zeros_like(images)
    kind = _choose(chance.of("kind")(images), [np.array([w for w, _ in KINDS])], alike)
    classes = _choose(by_slot("class"), _weights(DIGITS | SHAPES), kind[:, None])
    again = below_count(by_slot("again"), 5) == 0
    for slot in range(1, MOST):  # a fifth of the objects repeat the class of the previous one
        classes[:, slot] = np.where(again[:, slot], classes[:, slot - 1], classes[:, slot])
    colours = _choose(by_slot("colour"), _weights(COLOURS), kind[:, None])
    ground = _choose(chance.of("ground")(images), _weights({**GROUNDS, "": PLAIN}), kind)
    largest = np.where(classes < len(DIGITS), LARGEST_DIGIT, LARGEST)
    size = SMALLEST + below_count(by_slot("size"), largest - SMALLEST + 1)
    wanted = 1 + _choose(chance.of("count")(images), [np.array(counts)], alike)
    x, y, placed = _places(chance.of("place"), images, size, wanted)
    plain = ground == len(GROUNDS)
    return Layout(np.where(placed, classes, -1), colours, x, y, size, np.where(plain, -1, ground))


def below_count(numbers: NDArray[np.uint64], count: int | NDArray[np.integer]) -> NDArray[np.int64]:
    """Uniform integers 0..count-1 from 64-bit numbers; for small counts the bias is negligible."""
    high = (numbers >> np.uint64(32)).astype(np.int64)
    return (high * count) >> 32


def _weights(base: Mapping[str, int]) -> list[NDArray[np.int64]]:
    """The weights of these classes for each kind of scene, scaled to integers."""
    return [
        np.array([round(weight * factors.get(name, 1) * 10) for name, weight in base.items()])
        for _, factors in KINDS
    ]


def _choose(
    numbers: NDArray[np.uint64], weights: Sequence[NDArray[np.int64]], kind: NDArray[np.int64]
) -> NDArray[np.int64]:
    """One class per number, by the weights of its kind of scene."""
    kind = np.broadcast_to(kind, numbers.shape)
    out = np.zeros(numbers.shape, np.int64)
    for k, row in enumerate(weights):
        here = kind == k
        sums = np.cumsum(row)
        out[here] = np.searchsorted(sums, below_count(numbers[here], int(sums[-1])), side="right")
    return out


def _places(
    chance: Chance, images: NDArray[np.int64], size: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Top left corners, and which objects could be placed, in the first of six tries that fits."""
    x, y = np.zeros_like(size), np.zeros_like(size)
    placed = np.zeros(size.shape, bool)
    for slot in range(MOST):
        side = size[:, slot]
        open_ = wanted > slot
        for attempt in range(6):
            left = below_count(chance.of("x", slot)(images, attempt), SIDE - side + 1)
            top = below_count(chance.of("y", slot)(images, attempt), SIDE - side + 1)
            fits = open_ & ~placed[:, slot]
            for other in range(slot):
                wide = np.minimum(left + side, x[:, other] + size[:, other])
                wide = wide - np.maximum(left, x[:, other])
                high = np.minimum(top + side, y[:, other] + size[:, other])
                high = high - np.maximum(top, y[:, other])
                shared = np.maximum(wide, 0) * np.maximum(high, 0)
                smaller = np.minimum(side, size[:, other]) ** 2
                fits &= ~placed[:, other] | (shared * 100 <= smaller * MOST_HIDDEN)
            x[fits, slot], y[fits, slot] = left[fits], top[fits]
            placed[:, slot] |= fits
    return x, y, placed


def leaf_matrix(scenes: Layout) -> NDArray[np.bool_]:
    """(n, 41) bool: the LEAVES present in each scene: object classes, their colours, the ground."""
    n = len(scenes.ground)
    present = np.zeros((n, len(LEAVES) + 1), bool)  # the last column collects missing objects
    nowhere, drawn = len(LEAVES), scenes.classes >= 0
    rows = np.arange(n)[:, None]
    present[rows, np.where(drawn, scenes.classes, nowhere)] = True
    present[rows, np.where(drawn, scenes.colours + len(OBJECTS), nowhere)] = True
    first = len(OBJECTS) + len(COLOURS)
    present[rows[:, 0], np.where(scenes.ground >= 0, scenes.ground + first, nowhere)] = True
    return present[:, :-1]


# Darkest and lightest paint of each colour, RGB.
PAINT = {
    "red": ((165, 15, 25), (240, 70, 60)), "blue": ((20, 45, 150), (80, 130, 245)),
    "yellow": ((210, 185, 15), (255, 240, 100)), "green": ((15, 100, 25), (85, 200, 75)),
    "white": ((222, 222, 218), (255, 255, 255)), "black": ((4, 4, 8), (48, 48, 54)),
    "orange": ((220, 105, 10), (255, 160, 50)), "purple": ((90, 25, 130), (165, 80, 210)),
    "pink": ((230, 115, 160), (255, 175, 205)),
}  # fmt: skip
_PAINT = np.array([PAINT[name] for name in COLOURS], np.int64)  # (9, 2, 3)
# A disjoint pool of handwritten digits for each split: places 0..19 within a class, in turn.
POOLS = {
    "backbone": range(0, 8),
    "train": range(8, 15),
    "val": range(15, 17),
    "test": range(17, 20),
}
_Y, _X = np.mgrid[:SIDE, :SIDE].astype(np.int32)
_SHADOW = 2  # pixels a shadow falls to the right and below, inside the object's box


@cache
def digit_pool(split: str) -> tuple[NDArray[np.int32], ...]:
    """The handwritten examples (n, 8, 8), 0..16, of each digit 0..9 that `split` may use."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    pools = []
    for digit in range(10):
        images = digits.images[digits.target == digit].astype(np.int32)
        pools.append(images[np.isin(np.arange(len(images)) % 20, list(POOLS[split]))])
    return tuple(pools)


def draw(
    chance: Chance, split: str, scenes: Layout, index: Sequence[int] | NDArray[np.integer]
) -> NDArray[np.uint8]:
    """(n, 64, 64, 3) pixels of the scenes `index`, whose layout is `scenes`."""
    images = np.asarray(index, np.int64)
    ground = _numbers(chance.of("ground look"), images, 12)
    looks = _numbers(chance.of("object look"), images, 10 * scenes.classes.shape[1])
    looks = looks.reshape(len(images), -1, 10)
    out = np.empty((len(images), SIDE, SIDE, 3), np.uint8)
    for n, image in enumerate(images.tolist()):
        canvas = paint_ground(int(scenes.ground[n]), ground[n].tolist())
        for slot in np.flatnonzero(scenes.classes[n] >= 0).tolist():
            look = looks[n, slot].tolist()
            x, y, size = (int(a[n, slot]) for a in (scenes.x, scenes.y, scenes.size))
            mask = object_mask(int(scenes.classes[n, slot]), size - _SHADOW, split, look)
            paint_object(canvas, (x, y), mask, int(scenes.colours[n, slot]), look)
        noise = chance.of("noise").block(image, image + 1, SIDE * SIDE // 4).view(np.uint8)
        canvas += (noise.reshape(SIDE, SIDE, 1) >> 4).astype(np.int32) - 8
        out[n] = np.clip(canvas, 0, 255)
    return out


def _numbers(chance: Chance, images: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Uniform integers of 16 bits, `width` for each image."""
    return below_count(chance(images[:, None], np.arange(width)), 1 << 16)


def _within(number: int, low: int, high: int) -> int:
    """A number of 16 bits as an integer from low to high, both included."""
    return low + ((number * (high - low + 1)) >> 16)


def paint_ground(ground: int, look: Sequence[int]) -> NDArray[np.int32]:
    """(64, 64, 3) two muted tones mixed by the ground's pattern, under slanting light."""
    level = _within(look[0], 75, 180)
    first = np.array([level + _within(look[i], -26, 26) for i in (1, 2, 3)], np.int32)
    step = _within(look[4], 26, 50) if ground >= 0 else _within(look[4], 8, 30)
    second = first + (step if look[5] & 1 else -step)
    mixed = _pattern(ground, look[6:10])
    light = ((_X - 32) * _within(look[10], -18, 18) + (_Y - 32) * _within(look[11], -18, 18)) >> 5
    canvas: NDArray[np.int32] = first + (((second - first) * mixed[:, :, None]) >> 8)
    return canvas + light[:, :, None]


def _pattern(ground: int, look: Sequence[int]) -> NDArray[np.int32]:
    """(64, 64) how much of the second tone each pixel has, 0..256; ground -1 is the plain one."""
    x, y = _X + look[1], _Y + look[2]
    match tuple(GROUNDS)[ground] if ground >= 0 else "":
        case "stripes":
            directions = ((1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (1, 2))
            across, down = directions[_within(look[0], 0, 5)]
            period = _within(look[1], 8, 15) * (abs(across) + abs(down) + 1) // 2
            on = (_X * across + _Y * down + look[2]) % period < period // 2
        case "checks":
            side = _within(look[0], 5, 10)
            on = (x // side + y // side) & 1 == 1
        case "dots":
            period = _within(look[0], 9, 14)
            y = _Y + look[1]
            x = (_X + look[2] + (y // period & 1) * (period // 2)) % period * 2 - period
            y = y % period * 2 - period
            on = x * x + y * y < (period * period * 3) // 10
        case "grid":
            period = _within(look[0], 8, 14)
            on = (x % period < 2) | (y % period < 2)
        case "herringbone":
            half, period = _within(look[0], 8, 13), _within(look[1], 6, 10)
            slope = np.abs((_X + look[2]) % (2 * half) - half)
            on = (_Y + slope) % period < period // 2
        case _:
            # Soft blotches: 4 x 4 corners of random height, mixed bilinearly.
            state, heights = look[0] << 17 | look[1] << 1 | 1, []
            for _ in range(25):
                state = state * 747796405 + 2891336453 & 0xFFFFFFFF  # a congruential generator
                heights.append(state >> 24)
            corners = np.array(heights, np.int32).reshape(5, 5)
            x, y, right, low = _X >> 4, _Y >> 4, _X & 15, _Y & 15
            upper = corners[y, x] * (16 - right) + corners[y, x + 1] * right
            lower = corners[y + 1, x] * (16 - right) + corners[y + 1, x + 1] * right
            blotches: NDArray[np.int32] = (upper * (16 - low) + lower * low) >> 8
            return blotches
    return on * np.int32(256)


def object_mask(cls: int, size: int, split: str, look: Sequence[int]) -> NDArray[np.int32]:
    """(size, size) how much of each pixel the object covers, 0..256."""
    if cls >= len(DIGITS):
        return shape_mask(OBJECTS[cls], size, look[0])
    pool, weights = digit_pool(split)[cls], _enlarging(size)
    ink = pool[(look[0] * len(pool)) >> 16]
    grown = (weights @ ink @ weights.T) >> 8  # ink 0..16 in units of 1/256
    return np.clip((grown - 5 * 256) >> 3, 0, 256)  # thin strokes stay thin: full from 13 of 16


@cache
def _enlarging(size: int) -> NDArray[np.int32]:
    """(size, 8) bilinear weights in units of 1/256; integers, so the product is exact."""
    place = np.clip((np.arange(size) * 2 + 1) * 8 * 128 // size - 128, 0, 7 * 256)
    weights = np.zeros((size, 9), np.int32)
    rows = np.arange(size)
    weights[rows, place >> 8] = 256 - (place & 255)
    weights[rows, (place >> 8) + 1] = place & 255
    return weights[:, :8]


def paint_object(
    canvas: NDArray[np.int32],
    corner: tuple[int, int],
    mask: NDArray[np.int32],
    colour: int,
    look: Sequence[int],
) -> None:
    """Paint one object on the canvas, in place; half of the objects cast a shadow."""
    x, y = corner
    side = len(mask)
    if look[1] & 1:
        patch = canvas[y + _SHADOW : y + _SHADOW + side, x + _SHADOW : x + _SHADOW + side]
        patch -= (patch * (mask * _within(look[2], 40, 110) >> 8)[:, :, None]) >> 8
    dark, light = _PAINT[colour]
    paint = dark + ((light - dark) * look[3] >> 16)
    paint = paint + np.array([_within(look[i], -12, 12) for i in (4, 5, 6)])
    slope = (_X[:side, :side] * 2 - side) * _within(look[7], -20, 20)
    slope = (slope + (_Y[:side, :side] * 2 - side) * _within(look[8], -20, 20)) // (2 * side)
    body = paint.astype(np.int32) + slope[:, :, None]
    patch = canvas[y : y + side, x : x + side]
    cover = mask * _within(look[9], 205, 256) >> 8
    patch += ((body - patch) * cover[:, :, None]) >> 8


Plane = NDArray[np.float64]
Points = Sequence[tuple[float, float]]
_FINE = 4  # samples per pixel and direction
_SIN = (  # of 0, 15, ... 90 degrees; tabulated, since libraries differ in the last bit of a sine
    0.0, 0.25881904510252074, 0.5, 0.7071067811865476, 0.8660254037844386, 0.9659258262890683, 1.0,
)  # fmt: skip


def sine(step: int) -> float:
    """Sine of step x 15 degrees."""
    step %= 24
    if step >= 12:
        return -sine(step - 12)
    return _SIN[step] if step <= 6 else _SIN[12 - step]


def shape_mask(name: str, size: int, number: int) -> NDArray[np.int32]:
    """(size, size) coverage 0..256 of the figure `name`, rotated by `number` (16 bits)."""
    _, turns = FIGURES[name]
    return _mask(name, size, ((number * turns) >> 16) - turns // 2)


@cache
def _mask(name: str, size: int, step: int) -> NDArray[np.int32]:
    figure, _ = FIGURES[name]
    places = (np.arange(size * _FINE) * 2 + 1) / (size * _FINE) - 1
    x, y = places[None, :], places[:, None]
    cos, sin = sine(step + 6), sine(step)
    x, y = x * cos + y * sin, y * cos - x * sin
    if callable(figure):
        inside = figure(x, y)
    else:  # even-odd test: count the edges that a ray to the right crosses
        inside = np.zeros(np.broadcast_shapes(x.shape, y.shape), bool)
        for (x0, y0), (x1, y1) in zip(figure, (*figure[1:], figure[0]), strict=True):
            if y0 != y1:
                inside ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    counts = inside.reshape(size, _FINE, size, _FINE).sum((1, 3), dtype=np.int32)
    mask: NDArray[np.int32] = counts * (256 // _FINE**2)
    mask.flags.writeable = False
    return mask


def _stroke(points: Points, radius: float, x: Plane, y: Plane) -> NDArray[np.bool_]:
    """Everything within `radius` of a line through `points`."""
    near = np.zeros(np.broadcast_shapes(x.shape, y.shape), bool)
    for (x0, y0), (x1, y1) in pairwise(points):
        dx, dy = x1 - x0, y1 - y0
        along = np.clip(((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy), 0, 1)
        off_x, off_y = x - x0 - along * dx, y - y0 - along * dy
        near |= off_x * off_x + off_y * off_y <= radius * radius
    return near


def _heart(x: Plane, y: Plane) -> NDArray[np.bool_]:
    x, y = x * 1.22, -y * 1.22 + 0.1
    inside = x * x + y * y - 1
    return inside * inside * inside - x * x * y * y * y <= 0


_SPIRAL = tuple(
    ((0.06 + 0.8 * k / 45) * sine(k + 6), (0.06 + 0.8 * k / 45) * sine(k)) for k in range(46)
)
# name: (test or corners, number of 15-degree rotations it may have, centred on upright)
FIGURES: dict[str, tuple[Callable[[Plane, Plane], NDArray[np.bool_]] | Points, int]] = {
    "circle": (lambda x, y: x * x + y * y <= 0.96, 1),
    "square": (lambda x, y: (np.abs(x) <= 0.72) & (np.abs(y) <= 0.72), 6),
    "triangle": ([(0, -0.98), (0.87, 0.6), (-0.87, 0.6)], 24),
    "star": (
        [(0, -1), (0.24, -0.33), (0.95, -0.31), (0.38, 0.12), (0.59, 0.81), (0, 0.4),
         (-0.59, 0.81), (-0.38, 0.12), (-0.95, -0.31), (-0.24, -0.33)], 24,
    ),
    "heart": (_heart, 5),
    "rhombus": (lambda x, y: np.abs(x) * 1.8 + np.abs(y) <= 0.98, 24),
    "ring": (lambda x, y: (x * x + y * y <= 0.96) & (x * x + y * y >= 0.36), 1),
    "cross": (
        lambda x, y: (np.maximum(np.abs(x), np.abs(y)) <= 0.85)
        & (np.minimum(np.abs(x), np.abs(y)) <= 0.27), 6,
    ),
    "crescent": (lambda x, y: (x * x + y * y <= 0.96) & ((x - 0.42) ** 2 + y * y > 0.58), 24),
    "arrow": (
        [(-0.95, -0.2), (0.1, -0.2), (0.1, -0.68), (0.97, 0), (0.1, 0.68), (0.1, 0.2),
         (-0.95, 0.2)], 24,
    ),
    "hexagon": (
        [(0.98, 0), (0.49, 0.849), (-0.49, 0.849), (-0.98, 0), (-0.49, -0.849), (0.49, -0.849)], 4,
    ),
    "semicircle": (lambda x, y: (x * x + (y - 0.4) ** 2 <= 0.86) & (y <= 0.4), 24),
    "check mark": (
        [(-0.85, 0.05), (-0.58, -0.22), (-0.25, 0.15), (0.6, -0.8), (0.9, -0.52), (-0.22, 0.75)], 3,
    ),
    "pentagon": (
        [(0, -0.98), (0.932, -0.303), (0.576, 0.793), (-0.576, 0.793), (-0.932, -0.303)], 24,
    ),
    "spiral": (partial(_stroke, _SPIRAL, 0.12), 24),
    "zigzag": (
        partial(_stroke, [(-0.8, 0.3), (-0.4, -0.35), (0, 0.3), (0.4, -0.35), (0.8, 0.3)], 0.14),
        24,
    ),
    "trapezoid": ([(-0.45, -0.5), (0.45, -0.5), (0.86, 0.5), (-0.86, 0.5)], 24),
}  # fmt: skip
