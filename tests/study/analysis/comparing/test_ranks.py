import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.analysis.comparing.ranks import ranks
from tests.study import planted


def table(scores, labels=None):
    """{scheme: {method: [score of each draw]}}; labels: {scheme: content id}"""
    return runs.tidy(
        [
            planted.row(scheme=scheme, method=method, draw=draw, map=score)
            | {"labels_id": (labels or {}).get(scheme)}
            for scheme, methods in scores.items()
            for method, values in methods.items()
            for draw, score in enumerate(values)
        ],
        classes=(),
    )


def test_ranks_are_means_over_blocks_and_ties_share():
    # fpc: a b c = 1 2 3 in both draws; rpa: a and b share 1.5, c is third
    found = ranks(
        table(
            {
                "fpc": {"a": [0.5, 0.6], "b": [0.4, 0.5], "c": [0.3, 0.4]},
                "rpa": {"a": [0.5, 0.6], "b": [0.5, 0.6], "c": [0.3, 0.4]},
            }
        )
    )
    assert found.methods == ("a", "b", "c")
    assert found.mean == {"a": 1.25, "b": 1.75, "c": 3.0}
    assert found.by_scheme["rpa"] == {"a": 1.5, "b": 1.5, "c": 3.0}
    assert (found.blocks, found.left_out, found.draws, found.distance) == (4, 0, 2, None)


def test_what_cannot_be_told_apart_is_one_group():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, (4, 5))
    high, low = 0.6 + noise[:2], 0.3 + noise[2:]
    scores = {"a": high[0], "b": high[1], "c": low[0], "d": low[1]}
    found = ranks(table({"fpc": scores}))
    assert [set(group) for group in found.alike] == [{"a", "b"}, {"c", "d"}]


def test_a_method_between_two_may_be_alike_to_both():
    # The gaps of a to b and of b to c vary over draws, that of a to c does not.
    swing = np.array([0.02, -0.02, 0.03, -0.03, 0.0])
    scores = {"a": np.full(5, 0.52), "b": 0.51 + swing, "c": 0.50 + 0.0001 * swing}
    assert ranks(table({"fpc": scores})).alike == (("a", "b"), ("b", "c"))


def test_one_draw_tests_nothing():
    assert ranks(table({"fpc": {"a": [0.5], "b": [0.4]}})).alike is None


def test_the_critical_difference_is_the_published_one():
    # Demsar 2006, table 5 (a): q = 2.343 for three methods; 2.343 sqrt(3 * 4 / (6 * 10)) = 1.0478
    schemes = {f"s{i}": {"a": [0.5], "b": [0.4], "c": [0.3 + 0.3 * (i % 2)]} for i in range(10)}
    found = ranks(table(schemes), test="nemenyi")
    assert found.distance == pytest.approx(1.0478, abs=2e-3)
    # a: 1.5, b: 2.5, c: 2.0; all nearer than that
    assert [set(group) for group in found.alike] == [{"a", "b", "c"}]
    apart = ranks(table({f"s{i}": {"a": [0.5], "b": [0.4], "c": [0.3]} for i in range(10)}),
                  test="nemenyi")  # fmt: skip
    assert apart.alike == (("a", "b"), ("b", "c"))  # 1, 2 and 3


def test_blocks_in_which_a_method_is_missing_are_left_out():
    found = ranks(table({"fpc": {"a": [0.5, 0.6], "b": [0.4, 0.7]}, "rpa": {"a": [0.1, 0.1]}}))
    assert (found.blocks, found.left_out) == (2, 2)
    with pytest.raises(BadInput) as caught:
        ranks(table({"fpc": {"a": [0.5]}, "rpa": {"b": [0.5], "a": []}}), asker="rank-diagram")
    assert str(caught.value) == (
        "rank-diagram: no scheme has a score of all 2 methods in any draw, most often 'a' is "
        "missing; leave methods out of the grid, or finish it"
    )


def test_one_method_has_no_rank():
    with pytest.raises(BadInput) as caught:
        ranks(table({"fpc": {"a": [0.5]}}))
    assert str(caught.value) == "ranks: the table holds one method, 'a'; two are needed"


def test_schemes_with_the_same_labels_count_once():
    same = {"a": [0.3, 0.4], "b": [0.5, 0.6]}
    scores = {"fpc": {"a": [0.5, 0.6], "b": [0.4, 0.5]}, "rpa": same, "full-subset": same}
    alone = ranks(table({name: scores[name] for name in ("fpc", "rpa")}))
    found = ranks(table(scores, {"fpc": "x", "rpa": "all", "full-subset": "all"}))
    assert found.mean == alone.mean == {"a": 1.5, "b": 1.5}
    assert (found.blocks, found.copies, found.left_out, found.draws) == (4, 2, 0, 2)
    assert found.alike == alone.alike and found.by_scheme["full-subset"] == {"a": 2.0, "b": 1.0}


def test_references_have_no_rank():
    scores = {"fpc": {"a": [0.5, 0.6], "b": [0.4, 0.5]}, "full-subset": {"a": [0.5], "b": [0.4]}}
    full = planted.row(scheme="full-subset", method="full", draw=0, map=0.9, reference=True)
    with_full = runs.tidy([*table(scores).to_pylist(), full], classes=())
    assert ranks(with_full) == ranks(table(scores)) and ranks(with_full).blocks == 3
