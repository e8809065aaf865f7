"""Images picked by coverage, typicality, uncertainty or at random."""

import itertools

import numpy as np
import pytest

from simkit.annotate import schemes
from simkit.annotate.budget import amount_for
from simkit.annotate.prices import cost
from simkit.annotate.schemes.picked import k_means
from simkit.annotate.simulate import replay, simulate
from simkit.chance import Chance
from simkit.errors import BadInput

WAYS = ("coverage", "typicality", "random")


@pytest.fixture(scope="module")
def blobs() -> np.ndarray:
    """(300, 8) features: 240 images in four groups of falling size, and 60 far from all others."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), (120, 70, 35, 15))
    values = np.concatenate([np.eye(8)[groups] * 5, rng.normal(size=(60, 8)) * 5])
    return values + rng.normal(size=values.shape) * 0.2


def picks(truth, features, by: str, share: float = 0.1, **settings) -> np.ndarray:
    labels = simulate(truth, f"picked(share={share}, by={by})", features=features, **settings)
    return np.flatnonzero(labels.asked)


def farthest(features: np.ndarray, picked: np.ndarray) -> float:
    """The largest distance of an image to the nearest picked one."""
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    return np.linalg.norm(unit[:, None] - unit[picked], axis=2).min(1).max()


@pytest.mark.parametrize("by", WAYS)
def test_a_larger_share_contains_a_smaller_one(truth, blobs, by):
    grown = [set(picks(truth, blobs, by, share)) for share in (0.02, 0.1, 0.33, 0.7, 1.0)]
    assert [len(one) for one in grown] == [6, 30, 99, 210, 300]
    assert all(small < large for small, large in itertools.pairwise(grown))


@pytest.mark.parametrize("by", WAYS)
def test_picks_depend_on_seed_and_features_alone(truth, blobs, by):
    assert np.array_equal(picks(truth, blobs, by), picks(truth, 3 * blobs, by))  # directions count
    assert np.array_equal(picks(truth, blobs, by, draw=2), picks(truth, blobs, by, draw=2))
    assert not np.array_equal(picks(truth, blobs, by), picks(truth, blobs, by, draw=2))


@pytest.mark.parametrize("seed", range(3))
def test_coverage_leaves_no_image_far_from_all_picked_ones(truth, blobs, seed):
    far = {by: farthest(blobs, picks(truth, blobs, by, 0.2, seed=seed)) for by in WAYS}
    assert far["coverage"] < 0.8 * min(far["random"], far["typicality"])


def test_coverage_is_greedy(truth, blobs):
    unit = blobs / np.linalg.norm(blobs, axis=1, keepdims=True)
    apart = np.linalg.norm(unit[:, None] - unit, axis=2)
    wanted = list(picks(truth, blobs, "coverage", 1 / 300))
    while len(wanted) < 40:
        wanted.append(int(apart[:, wanted].min(1).argmax()))
    assert np.array_equal(picks(truth, blobs, "coverage", 40 / 300), np.sort(wanted))


@pytest.mark.parametrize("seed", range(3))
def test_typical_images_come_from_every_group_and_unusual_ones_last(truth, blobs, seed):
    groups = np.repeat(np.arange(5), (120, 70, 35, 15, 60))
    counts = {
        by: np.bincount(groups[picks(truth, blobs, by, 16 / 300, seed=seed)], minlength=5)
        for by in WAYS
    }
    assert (counts["typicality"][:4] > 0).all()
    assert counts["coverage"][4] > 10
    first = picks(truth, blobs, "typicality", 6 / 300, seed=seed)
    assert (groups[first] < 4).all() and len(set(groups[first])) > 1


@pytest.mark.parametrize("seed", range(8))
def test_clusters_are_those_of_lloyds_algorithm(seed):
    """Rows repeat, so that most cases have an empty cluster, and clusters of one row."""
    rng, chance = np.random.default_rng(seed), Chance.seeded(seed).of("clusters", 12)
    rows = rng.integers(-99, 99, (20, 2))[rng.integers(0, 20, 24)].astype(float)
    centres = rows[chance.permutation(24).at(np.arange(12))]
    for _ in range(20):
        nearest = ((rows[:, None] - centres) ** 2).sum(2).argmin(1)
        for c in np.unique(nearest):
            centres[c] = np.rint(rows[nearest == c].mean(0))
    assert k_means(rows, 12, chance).tolist() == nearest.tolist()


def test_equal_images_are_picked_in_order_of_their_index(truth):
    assert np.array_equal(picks(truth, np.ones((300, 2)), "coverage", 1.0), np.arange(300))
    first = picks(truth, np.ones((300, 2)), "coverage", 1 / 300)
    rest = np.setdiff1d(np.arange(300), first)[:29]
    expected = np.sort([*first, *rest])
    assert np.array_equal(picks(truth, np.ones((300, 2)), "coverage", 0.1), expected)


@pytest.mark.parametrize("by", WAYS)
def test_only_picked_images_are_asked_about_and_billed(truth, blobs, by):
    spec = f"picked(share=0.1, by={by}, rest='single-positive(positives=1)')"
    labels = simulate(truth, spec, features=blobs)
    assert labels.asked.sum() == labels.counts()["present"] == 30
    assert labels.effort.counts() == {"name": 30, "workers": None, "dropped": 0}
    assert cost(labels, "careful").dollars == pytest.approx(30 * 2 * 15 / 3600)
    bought = amount_for(0.2, truth, spec, "careful", features=blobs)
    assert bought.labels.asked.sum() == 24 and bought.cost.dollars <= 0.2


def test_the_history_names_the_features(truth, blobs):
    labels = simulate(truth, "picked", features=blobs)
    assert replay(labels.history, truth, features=blobs).id == labels.id
    for features in (None, blobs + 1):
        with pytest.raises(BadInput, match="give the features of the same"):
            replay(labels.history, truth, features=features)
    free = simulate(truth, "picked(by=random)", features=blobs)
    assert free.history == simulate(truth, "picked(by=random)").history


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (None, "picked needs features of the images"),
        (np.zeros((299, 4)), r"features have shape \(299, 4\)"),
        (np.full((300, 4), np.nan), "finite numbers"),
    ],
)
def test_invalid_features_are_refused(truth, features, message):
    with pytest.raises(BadInput, match=message):
        simulate(truth, "picked", features=features)


def test_the_least_certain_images_are_picked(truth):
    scores = np.full(truth.shape, -9.0)
    scores[40] = 0  # probabilities of 1/2: nothing is known
    scores[[9, 70, 200], :3] = 2, -2, 2  # as uncertain as each other, in whatever direction
    scores[250, 0] = 9
    for count, expected in ((1, [40]), (3, [9, 40, 70]), (4, [9, 40, 70, 200])):
        labels = simulate(truth, f"picked(share={count / 300}, by=uncertainty)", scores=scores)
        assert np.flatnonzero(labels.asked).tolist() == expected
    seeded = simulate(truth, "picked(share=0.01, by=uncertainty)", scores=scores, seed=5, draw=3)
    assert np.flatnonzero(seeded.asked).tolist() == [9, 40, 70]
    rounded = simulate(truth, "picked(share=0.01, by=uncertainty)", scores=scores + 1e-9)
    assert np.flatnonzero(rounded.asked).tolist() == [9, 40, 70]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (None, "picked needs a model's scores, and none were given; pass scores="),
        (np.ones((300, 11)), r"scores have shape \(300, 11\)"),
        (np.full((300, 12), np.nan), "finite numbers"),
        (np.full((300, 12), 0.2), "like probabilities; logits are expected"),
    ],
)
def test_invalid_scores_are_refused(truth, scores, message):
    with pytest.raises(BadInput, match=message):
        simulate(truth, "picked(by=uncertainty)", scores=scores)


def test_it_needs_what_its_rest_needs():
    assert schemes.make("picked").needs_features
    assert not schemes.make("picked(by=random)").needs_features
    uncertain = schemes.make("picked(by=uncertainty)")
    assert uncertain.needs_scores and not uncertain.needs_features
    assert schemes.make("picked(rest=knowledge-graph)").needs_hierarchy
    with pytest.raises(BadInput, match="picked: rest is 'fpc'"):
        schemes.make("picked(rest=fpc)")
