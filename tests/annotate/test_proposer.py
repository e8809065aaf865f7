"""The machine that proposes classes, against one that goes through each image with sets."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import poisson

from simkit.annotate import proposer as module
from simkit.annotate import sparse_draws
from simkit.annotate.proposer import CONFUSABLE, Proposer, confusable, noticed
from simkit.annotate.sparse_draws import count_table
from simkit.chance import Chance, threshold
from simkit.labels.truth import Truth
from tests.annotate.conftest import random_truth
from tests.reference.annotation import proposed

CHANCE = Chance.seeded(8).of("machine")


def pairs_of(machine: Proposer, present, images, hierarchy=None) -> set[tuple[int, int]]:
    pieces = list(machine.propose(present, images, hierarchy))
    pairs = [pair for rows, cs in pieces for pair in zip(rows.tolist(), cs.tolist(), strict=True)]
    assert len(pairs) == len(set(pairs)) and pairs == sorted(pairs)
    return set(pairs)


@pytest.mark.parametrize("chunk", [1 << 20, 8])
@pytest.mark.parametrize(
    "per_image,recall,precision,skew",
    [(3.0, 0.8, 0.5, 0.0), (7.0, 0.6, 0.3, 2.0), (20.0, 1.0, 1.0, 0.0), (5.0, 0.0, 0.9, 0.5)],
)
def test_proposals_equal_those_worked_out_by_hand(
    per_image, recall, precision, skew, chunk, closed, diamond, monkeypatch
):
    monkeypatch.setattr(module, "CHUNK", chunk)
    monkeypatch.setattr(sparse_draws, "CHUNK", chunk)
    flat = random_truth(N=60, L=14)
    for truth, hierarchy in ((flat, None), (closed.select(np.arange(60)), diamond)):
        L, images = truth.shape[1], np.arange(0, 60, 2)
        machine = Proposer(per_image, recall, precision, skew, L, CHANCE)
        table = count_table(L, mean=per_image)
        alike = confusable(hierarchy, L, CHANCE.of("alike")).tolist()
        shares = noticed(skew, L, CHANCE.of("weights"))
        expected = set()
        for n in images.tolist():
            number = int(CHANCE.of("count")([n])[0])
            count = next((j for j, limit in enumerate(table.tolist()) if number < limit), L)
            present = set(truth.present[[n]].indices.tolist())
            found = proposed(
                n, present, L, count=count, precision=Fraction(precision),
                recall=threshold(recall), shares=shares, alike=alike, chance=CHANCE,
            )  # fmt: skip
            expected |= {(n, c) for c in found}
        assert pairs_of(machine, truth.present[images], images, hierarchy) == expected


def test_recall_and_precision_are_met():
    # 20 of 60 classes in every image: there is always enough to propose.
    rng = np.random.default_rng(3)
    present = np.argsort(rng.random((4000, 60)), 1) < 20
    truth = Truth.of(present)
    pairs = np.array(sorted(pairs_of(Proposer(5.0, 1.0, 0.3, 0.0, 60, CHANCE), truth.present,
                                     np.arange(4000))))  # fmt: skip
    right = present[pairs[:, 0], pairs[:, 1]]
    assert abs(right.mean() - 0.3) < 4.5 * np.sqrt(0.3 * 0.7 / len(right))
    # With as many candidates as there are classes the machine names all it notices: 70 % of them.
    all_of_them = Proposer(400.0, 0.7, 1.0, 0.0, 60, CHANCE)
    pairs = np.array(sorted(pairs_of(all_of_them, truth.present, np.arange(4000))))
    right = present[pairs[:, 0], pairs[:, 1]].sum()
    assert abs(right / present.sum() - 0.7) < 4.5 * np.sqrt(0.7 * 0.3 / present.sum())


def test_shares_follow_the_rank_to_the_power_of_the_skew():
    L = 50
    even, steep = (np.array(noticed(skew, L, CHANCE)) / 2**64 for skew in (0.0, 2.0))
    assert (even == 1).all()
    assert np.allclose(np.sort(steep), (np.arange(1, L + 1) / L) ** 2)


@pytest.mark.parametrize("mean", [0.0, 0.3, 7.0, 60.0])
def test_the_table_of_poisson_numbers(mean):
    table = count_table(200, mean=mean) / 2**64
    assert np.abs(table - poisson.cdf(np.arange(len(table)), mean)).max() < 1e-12
    assert len(table) == 200 or table[-1] > 1 - 1e-15


CHANCE = Chance.seeded(8).of("alike")


def test_wrong_candidates_are_siblings_of_what_is_there(diamond):
    alike = confusable(diamond, 9, CHANCE)
    names = diamond.classes
    near = {names[c] for c in alike[names.index("cat")]}
    # Children of pet: pet dog, cat, robot; then others that are neither above nor below.
    assert {"pet dog", "robot"} <= near and "cat" not in near and not {"pet", "thing"} & near
    first_two = {names[c] for c in alike[names.index("cat")][:2]}
    assert first_two == {"pet dog", "robot"}
    assert alike.shape == (9, CONFUSABLE)


def test_without_a_hierarchy_any_others_are_alike():
    alike = confusable(None, 30, CHANCE)
    assert all(len({c, *row}) == CONFUSABLE + 1 for c, row in enumerate(alike.tolist()))
    one = confusable(None, 1, CHANCE)
    assert one.tolist() == [[0] * CONFUSABLE]
    assert [sorted(set(row)) for row in confusable(None, 2, CHANCE).tolist()] == [[0, 1], [0, 1]]
