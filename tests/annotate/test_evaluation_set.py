"""Sets to measure on: by hand, against the truth by simulation, and what they cost."""

import math

import numpy as np
import pytest
from scipy.stats import poisson

from simkit.annotate import evaluation_set as module
from simkit.annotate.evaluation_set import evaluation_set
from simkit.annotate.prices import cost, prices
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.metrics import average_precision, mean_ap
from tests.annotate.conftest import random_truth


def test_one_class_by_hand():
    # 95 % of a normal are within 1.96; 1.96 sqrt(0.25 / n) is 0.01 at n = 9,604 present images,
    # which is 19,208 images of which half show the class (one more, as n varies).
    found = evaluation_set(1.0, [0.5], "google")
    assert found.images == 19_210 and 0.9999 < found.half_width <= 1.0
    # Twenty classes are one pass, and so is one.
    assert found.cost.dollars == pytest.approx(19_210 * 0.035)
    # The 16-fold images for a quarter of the width, and an AP of 0.9 varies 0.36 times as much.
    assert evaluation_set(0.25, [0.5], "google").images == pytest.approx(16 * 19_208, rel=1e-3)
    easy = evaluation_set(1.0, [0.5], "google", level=0.9)
    assert easy.images == pytest.approx(0.36 * 19_208, rel=1e-3)


SHARES = np.array([0.4, 0.2, 0.1, 0.05, 0.05, 0.02])


def draw(rng: np.random.Generator, images: int, classes: int):
    """Normal scores, one half to two deviations higher where the class is present."""
    shares = np.resize(SHARES, classes)
    present = rng.random((images, classes)) < shares
    raised = np.resize([0.5, 1.0, 1.5, 2.0], classes)
    return rng.standard_normal((images, classes)) + raised * present, present


@pytest.mark.parametrize(
    "classes, images", [(6, 100), (6, 400), (24, 100), (24, 400), (3, 1500), (60, 500)]
)
def test_the_deviation_of_map_is_that_of_simulated_sets(classes, images):
    # 300 sets tell a standard deviation to 4 %; the formula itself is off by up to a fifth.
    rng = np.random.default_rng(classes + images)
    level = average_precision(*draw(rng, 60_000, classes))
    shares = np.resize(SHARES, classes)
    measured = [mean_ap(average_precision(*draw(rng, images, classes))) for _ in range(300)]
    deviation, bias = module.error(images, shares, level, z=1.0)
    assert np.std(measured) == pytest.approx(deviation, rel=0.2)
    # On few images the mean is too high, by half to twice of what is said.
    off = np.mean(measured) - level.mean()
    assert 0.5 * bias - 0.005 < off < 2 * bias + 0.005


def test_a_set_keeps_its_promise():
    # Of sets of the size found, 95 % are to be within 4 points (300 sets: 92 to 98 %).
    rng = np.random.default_rng(1)
    level = average_precision(*draw(rng, 60_000, 6))
    found = evaluation_set(4.0, SHARES, "google", level=level)
    maps = [mean_ap(average_precision(*draw(rng, found.images, 6))) for _ in range(300)]
    near = np.abs(np.array(maps) - level.mean()) <= 0.04
    assert 300 < found.images < 3000 and 0.92 <= near.mean() <= 0.99


def test_classes_that_hardly_show_are_left_out_and_told():
    # 667 images, 600 of which show the frequent class, do for 4 points: 1.96 sqrt(0.25 / 600).
    found = evaluation_set(4.0, [0.9, 1e-4, 0.0], "google")
    assert found.images == evaluation_set(4.0, [0.9], "google").images == pytest.approx(667, abs=2)
    assert found.rare == (1, 2)
    assert found.unseen == pytest.approx(1 + math.exp(-found.images * 1e-4), rel=1e-6)


def test_a_stricter_precision_never_needs_fewer_images():
    shares = 0.5 / np.arange(1, 301) ** 1.5  # a long tail, whose classes join in one by one
    images = [evaluation_set(h, shares, "google").images for h in np.linspace(9, 0.5, 60)]
    assert images == sorted(images) and images[-1] > 100 * images[0]


def test_different_classes_that_may_be_missing_add_to_the_error():
    # Whether the hard class is among those measured shifts mAP between 0.9 and 0.5.
    shares = np.array([0.9, 0.9, 0.004])  # 1.2 images of 300 show the last one
    same, mixed = ((0.9, 0.9, 0.9), (0.9, 0.9, 0.1))
    wide = [module.error(300, shares, np.array(level), 1.0)[0] for level in (same, mixed)]
    assert wide[1] > 1.5 * wide[0]


def test_a_truth_tells_its_shares(truth):
    by_hand = evaluation_set(5.0, truth.counts / 300, "careful")
    assert evaluation_set(5.0, truth, "careful") == by_hand
    # Where only half of the images are known, shares are those of that half.
    known = np.zeros(truth.shape)
    known[:150] = 1
    part = Truth.of(truth.present.multiply(known).astype(int), known=known)
    half = truth.select(np.arange(150))
    assert evaluation_set(5.0, part, "careful") == evaluation_set(5.0, half, "careful")


def test_classes_that_all_known_images_show_or_of_which_none_is_known():
    present, known = np.zeros((9, 4)), np.zeros((9, 4))
    known[:8, 0] = known[0, 1] = known[:, 2] = 1
    present[:4, 0] = present[0, 1] = 1
    truth = Truth.of(present, known=known)
    assert module.shares_of(truth).tolist() == [0.5, 1, 0, 0]
    one, both = (evaluation_set(4.0, about, "google", workers=1) for about in (truth, [0.5, 1.0]))
    assert one.images == both.images and one.rare == (2, 3) and both.rare == ()


def test_it_costs_what_sweeping_that_many_images_costs():
    truth = random_truth(N=400, L=25)
    found = evaluation_set(9.0, truth, "google", workers=3)
    assert 10 < found.images < 400
    swept = simulate(truth, "full-subset", images=found.images)
    assert found.cost.dollars == pytest.approx(3 * cost(swept, "google").dollars)
    assert found.cost.lines[0].full == 25 / 40


def test_the_project_is_set_up_already(tmp_path):
    file = tmp_path / "agency.toml"
    file.write_text('like = "google"\nsetup = 1000\nsetup_class = 10\nqa = 0.5\n')
    plain, agency = (evaluation_set(5.0, [0.3] * 20, p) for p in ("google", prices(file)))
    assert agency.cost.dollars == pytest.approx(1.5 * plain.cost.dollars)
    assert [line.kind for line in agency.cost.lines] == ["sweep", "quality assurance"]


@pytest.mark.parametrize("given, message", [
    ({"precision": 0}, "precision is 0; a number above 0 and below 100"),
    ({"precision": 100}, "precision is 100"),
    ({"precision": True}, "precision is True"),
    ({"precision": "2"}, "precision is '2'"),
    ({"confidence": 95}, "confidence is 95; a number above 0 and below 1 "),
    ({"confidence": 1}, "confidence is 1;"),
    ({"workers": 0}, "workers is 0"),
    ({"workers": 1.5}, "workers is 1.5"),
    ({"level": 1.0}, "level is 1.0"),
    ({"level": 0}, "level is 0"),
    ({"level": [0.5]}, "one or one for each of the 2 classes"),
    ({"about": [-0.1, 0.5]}, "the shares of images that show a class must be one number"),
    ({"about": [0.0, 0.0]}, "the shares of images that show a class must be one number"),
    ({"about": [[0.5]]}, "the shares of images that show a class must be one number"),
    ({"about": [0.5, 1.5]}, "the shares of images that show a class must be one number"),
    ({"about": [1e-12]}, "a precision of 1 points takes more than 1e+12 images"),
])  # fmt: skip
def test_what_cannot_be_planned_is_refused(given, message):
    settings = {"precision": 1.0, "about": [0.5, 0.1], "prices": "google"} | given
    with pytest.raises(BadInput) as error:
        evaluation_set(
            settings.pop("precision"), settings.pop("about"), settings.pop("prices"), **settings
        )
    assert message in str(error.value)


@pytest.mark.parametrize("images", [50, 100])
def test_the_interval_of_a_set_at_hand_and_of_one_to_be_drawn_hold_as_often(images):
    # 200 classes, of which 50 images are expected to show 150 less than eight times, 60 not once.
    rng = np.random.default_rng(images)
    shares, raised = np.geomspace(0.3, 0.003, 200), rng.normal(1.5, 0.8, 200)

    def ap(count):
        present = rng.random((count, 200)) < shares
        return average_precision(rng.standard_normal(present.shape) + raised * present, present)

    def counts():
        return rng.binomial(images, shares)

    level = ap(20_000)
    maps = 100 * np.array([mean_ap(ap(images)) for _ in range(300)])
    off = np.abs(maps - maps.mean())
    drawn = module.half_width(images * shares, drawn=True, level=level)
    assert 0.91 <= (off <= drawn).mean() <= 0.99  # 300 sets tell a share of 95 % to 2.5 %
    assert (off <= module.half_width(images * shares, drawn=True)).mean() >= 0.97
    # Users see the first before they draw a set, and the second of the set that they drew.
    at_hand = np.mean([module.half_width(counts()) for _ in range(300)])
    assert at_hand == pytest.approx(module.half_width(images * shares, drawn=True), rel=0.02)
    # Without the classes that are expected in less than one image the two would differ.
    common = shares[images * shares >= 1] * images
    assert module.half_width(common, drawn=True) != pytest.approx(at_hand, rel=0.01)


def test_half_widths_by_hand():
    assert module.half_width(np.array([25, 25, 0])) == pytest.approx(
        100 * 1.96 * 0.1 / 2**0.5, 1e-3
    )
    assert module.half_width(np.zeros(3)) == module.half_width(np.zeros(3), drawn=True) == 99


@pytest.mark.parametrize("expected", [1.0, 6.0, 59.9, 60.0, 61.0, 800.0])
def test_error_and_bias_are_means_over_poisson_numbers(expected):
    """A (1 - A) times E(1/n) under the root, and times E((H_n - 1) / n), of sets with the class."""
    n = np.arange(1, 4_000)
    chance = poisson.pmf(n, expected)
    level, shown = 0.3, chance.sum()
    width, bias = module.error(1_000, np.array([expected / 1_000]), np.array([level]), 1.0)
    harmonic = (np.cumsum(1 / n) - 1) / n
    assert bias == pytest.approx(level * (1 - level) * (chance @ harmonic) / shown, rel=2e-3)
    variance = level * (1 - level) * (chance @ (1 / n)) / shown**2
    assert width == pytest.approx(math.sqrt(variance), rel=5e-5)


def test_what_was_asked_for_is_returned():
    made = evaluation_set(4, np.array([0.3, 0.0001]), "hourly")
    assert made.precision == 4.0 and made.half_width <= 4
    assert made.rare == (1,)
    assert made.bias == pytest.approx(
        100 * module.error(made.images, np.array([0.3]), np.array([0.5]), 1.96)[1], rel=1e-6
    )
