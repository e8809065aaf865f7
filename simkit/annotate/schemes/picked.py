"""A part of the images, picked by their features or by a model's scores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.schemes import Crowd, WithRest, logits, make, register, spell
from simkit.annotate.schemes.full_subset import FullSubset
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.registry import Share, setting

# K_NN, MAX_NUM_CLUSTERS and MIN_CLUSTER_SIZE of TypiClust's published code. That code uses squared
# distances to at most half of a cluster, and leaves out clusters of 5 images; here they come last.
NEIGHBOURS, MOST, LEAST = 20, 500, 5
FIRST = 16  # clusters of the first round
ROUNDS = 20  # of k-means
CHUNK = 1 << 22  # distances computed at a time; does not change results
Rows = NDArray[np.float64]


@register
class Picked(WithRest):
    """Pick a part of the images by features or scores, and label it by another scheme.

    Images are picked one after another, so a larger share contains a smaller one. Distances are
    Euclidean, between features of unit length; ties go to the smaller index.

    coverage: greedy k-centre. The first image is random; each further image is the farthest from
    those already picked.

    typicality: TypiClust in rounds that end with 16, 32, 64 ... picked images. Each round groups
    all images by k-means into that number of clusters (at most 500, with at least 5 images each on
    average). The next image comes from the cluster with the fewest picked images (ties: the largest
    cluster). It is the image with the smallest mean distance to its 20 nearest neighbours in the
    cluster.

    uncertainty: the images about which a model is least certain. Uncertainty is the entropy of the
    predicted probability of each class, averaged over the classes; ties go to the smaller index.
    It needs the scores of a model, such as one trained on the labels of an earlier round. No random
    numbers are used. In a further round of an order, images with answers are picked first.

    random: the baseline.

    Example: simkit simulate --scheme "picked(share=0.1, by=typicality, rest=single-positive)"
    """

    name: ClassVar[str] = "picked"
    title: ClassVar[str] = "Picked images"
    gist: ClassVar[str] = "diverse, typical or uncertain images"
    source: ClassVar[str] = (
        "coverage: Sener & Savarese, ICLR 2018, algorithm 1; "
        "typicality: Hacohen et al., ICML 2022; "
        "uncertainty: Settles, Active Learning Literature Survey, 2009, section 3.1"
    )
    amount: ClassVar[str | None] = "share"

    share: Share = setting(0.2, "share of the images that are picked")
    by: Literal["coverage", "typicality", "uncertainty", "random"] = setting(
        "coverage", "how they are picked"
    )
    rest: str = setting(spell(FullSubset()), "the scheme by which they are labelled")

    @property
    def needs_features(self) -> bool:
        return self.by in ("coverage", "typicality") or super().needs_features

    @property
    def needs_scores(self) -> bool:
        return self.by == "uncertainty" or super().needs_scores

    @property
    def caution(self) -> str:
        caution = {
            "coverage": "The images are not a random sample: they were picked to differ from one "
            "another, so unusual images are more frequent than in the data.",
            "typicality": "The images are not a random sample: typical images of each cluster were "
            "picked, so unusual images are missing, and clusters are more equal in size than in "
            "the data.",
            "uncertainty": "The images are not a random sample: those about which a model was "
            "least certain were picked, so difficult images are more frequent than in the data.",
            "random": "The images are a random sample of the data.",
        }[self.by]
        if self.by != "random" and getattr(make(self.rest), "even", False):
            return caution  # the caution of `rest` calls its labels an even sample
        return f"{caution} {getattr(make(self.rest), 'caution', '')}".strip()

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        n = len(crowd.images)
        shuffled = chance.of("images").permutation(n).at(np.arange(n))
        order = iter(shuffled)
        if self.by == "uncertainty":
            # The binary entropy of each class in bits, as a sum of whole numbers: see `on_grid`.
            size = np.abs(logits(crowd, self.name)[crowd.images])
            odds = np.exp(-size)
            entropy = (np.log1p(odds) + size * odds / (1 + odds)) / np.log(2)
            # Images of earlier rounds are part of the share.
            keys = -np.rint(entropy * 2**20).sum(1), ~crowd.answered[crowd.images]
            order = iter(np.lexsort(keys))
        elif self.by != "random":
            rows = on_grid(crowd.features, crowd.shape[0])[crowd.images]
            order = covering(rows, shuffled[0]) if self.by == "coverage" else typical(rows, chance)
        picked = np.sort(np.fromiter(islice(order, round(self.share * n)), np.int64))
        self.ask_rest(crowd, crowd.images[picked], chance)


def on_grid(features: Any, images: int) -> Rows:
    """(images, D) features of unit length, rounded to multiples of 2**-20 and scaled to integers.

    Sums of their products are exact, so picks do not depend on the order of additions. Raises
    BadInput unless the features are finite numbers of shape (images, D).
    """
    if features is None:
        raise BadInput("picked needs features of the images; pass features= or choose by=random")
    rows = np.asarray(features, np.float64)
    if rows.ndim != 2 or len(rows) != images or not np.isfinite(rows).all():
        raise BadInput(
            f"features have shape {rows.shape}; finite numbers of shape ({images}, D) are expected"
        )
    length = np.sqrt((rows**2).sum(1, keepdims=True))
    return np.rint(rows / np.where(length > 0, length, 1) * 2**20)


def covering(rows: Rows, first: int) -> Iterator[int]:
    """Indices of all rows, each the farthest from those before it."""
    squares, place = (rows**2).sum(1), int(first)
    distance = np.full(len(rows), np.inf)
    for _ in rows:
        yield place
        np.minimum(distance, squares + squares[place] - 2 * (rows @ rows[place]), out=distance)
        distance[place] = -1  # not again
        place = int(distance.argmax())


def typical(rows: Rows, chance: Chance) -> Iterator[int]:
    """Indices of all rows, typical ones of every cluster first; see `Picked`."""
    n = len(rows)
    most = max(1, min(MOST, n // LEAST))
    clusters, left = min(FIRST, most), np.ones(n, bool)
    while left.any():
        cluster = k_means(rows, clusters, chance.of("clusters", clusters))
        by_typicality = np.argsort(spread_around(rows, cluster), kind="stable")
        queues = [by_typicality[cluster[by_typicality] == c] for c in range(clusters)]
        sizes = np.bincount(cluster, minlength=clusters)
        ends = n if clusters == most else clusters
        while n - left.sum() < ends:
            picked = np.bincount(cluster[~left], minlength=clusters)
            c = np.lexsort((-sizes, picked, picked == sizes))[0]
            place = int(queues[c][left[queues[c]]][0])
            left[place] = False
            yield place
        clusters = min(2 * clusters, most)


def spread_around(rows: Rows, cluster: NDArray[np.int64]) -> Rows:
    """(n,) sum of the distances to the nearest neighbours in the same cluster."""
    spread = np.zeros(len(rows))
    for c in np.unique(cluster):
        members = np.flatnonzero(cluster == c)
        own = rows[members]
        squares, step = (own**2).sum(1), max(1, CHUNK // len(own))
        for start in range(0, len(own), step):
            part = slice(start, start + step)
            squared = squares[part, None] + squares - 2 * (own[part] @ own.T)
            nearest = np.sort(squared, axis=1)[:, 1 : NEIGHBOURS + 1]  # the first is itself
            spread[members[part]] = np.sqrt(nearest).sum(1)
    return spread


def k_means(rows: Rows, clusters: int, chance: Chance) -> NDArray[np.int64]:
    """(n,) cluster of each row, by Lloyd's algorithm from random rows, with rounded centres."""
    from scipy.sparse import csr_array

    n = len(rows)
    centres = rows[chance.permutation(n).at(np.arange(clusters))]
    cluster, step = np.zeros(n, np.int64), max(1, CHUNK // clusters)
    for _ in range(ROUNDS):
        half, before = (centres**2).sum(1) / 2, cluster
        parts = (rows[start : start + step] for start in range(0, n, step))
        cluster = np.concatenate([(half - part @ centres.T).argmin(1) for part in parts])
        if (cluster == before).all():
            break
        of = csr_array((np.ones(n), (cluster, np.arange(n))), shape=(clusters, n))
        counts = np.bincount(cluster, minlength=clusters)[:, None]
        centres = np.where(counts > 0, np.rint((of @ rows) / np.maximum(counts, 1)), centres)
    return cluster
