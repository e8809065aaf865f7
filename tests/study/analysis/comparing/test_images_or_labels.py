"""Planted runs: cells over draws, and which numbers of images are worth the same."""

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.analysis.comparing.images_or_labels import IMAGES_OR_LABELS, images_or_labels
from tests.study.planted import row


def some(scheme: str, method: str, points: dict[int, list[float]], labels: int, **more):
    return [
        row(
            scheme=scheme, method=method, images=images, draw=draw, map=score,
            present=images, absent=images * (labels - 1), unknown=0, dollars=1.0, **more,
        )
        for images, scores in points.items()
        for draw, score in enumerate(scores)
    ]  # fmt: skip


def table(*parts):
    return runs.tidy([one for part in parts for one in part], classes=("cat", "dog"))


FULL = some("full-subset", "full", {100: [0.4, 0.6], 200: [0.6], 400: [0.8, 0.8]}, 10)
WEAK = some("single-positive", "an", {100: [0.3], 200: [0.4], 400: [0.7, 0.7]}, 1)


def test_cells_and_what_is_equal() -> None:
    found = images_or_labels(table(FULL, WEAK))
    assert found.schema == IMAGES_OR_LABELS
    rows = {(r["method"], r["images"]): r for r in found.to_pylist()}
    first = rows["full", 100]
    assert first["complete"] and first["labels"] == 1000 and first["share"] == 0.25
    assert first["mean"] == pytest.approx(0.5) and first["draws"] == 2 and first["low"] < 0.4
    assert first["equal_images"] is None and first["fewer"] is None
    # 0.7 lies half way between 200 and 400 images, on a log scale.
    best = rows["an", 400]
    assert best["equal_images"] == pytest.approx(np.sqrt(200 * 400))
    assert best["fewer"] == pytest.approx(10 * np.sqrt(200 * 400) / 400)
    assert rows["an", 200]["equal_images"] is None  # below 100 complete images
    assert rows["an", 200]["low"] is None  # one draw


def test_tables_of_several_grids_and_references_together() -> None:
    reference = some("full-subset", "full", {400: [0.8, 0.8]}, 10, reference=True)
    apart = [table(FULL[:3]), table(WEAK, reference)]
    assert images_or_labels(apart).equals(images_or_labels(table(FULL, WEAK)))


def test_budgets_stand_apart_and_their_draws_together() -> None:
    bought = [
        row(scheme="fpc", method="an", budget=budget, draw=draw, map=score + 0.02 * draw,
            images=images - 2 * draw, present=labels, absent=0, unknown=0)
        for budget, images, labels, score in ((5.0, 399, 100, 0.55), (9.0, 399, 200, 0.7))
        for draw in range(2)
    ]  # fmt: skip
    found = images_or_labels(table(FULL, bought)).to_pylist()[3:]
    assert [(r["images"], r["labels"], r["draws"]) for r in found] == [(398, 100, 2), (398, 200, 2)]
    assert [r["mean"] for r in found] == pytest.approx([0.56, 0.71])
    parts = [table(FULL), table(bought[:2]), table(bought[:2])]
    assert len(images_or_labels(parts)) == 5  # the budgets of two grids are two


def test_without_labels_nobody_has_fewer() -> None:
    nothing = some("single-positive", "an", {400: [0.7]}, 0)
    nothing = [one | {"present": 0, "absent": 0} for one in nothing]
    last = images_or_labels(table(FULL, nothing)).to_pylist()[-1]
    assert last["equal_images"] is not None and last["fewer"] is None


def test_scores_beyond_the_ends_equal_nothing() -> None:
    high = some("single-positive", "an", {400: [0.81]}, 1)
    low = some("single-positive", "ignore", {400: [0.49]}, 1)
    ends = some("single-positive", "ll-r", {400: [0.5]}, 1)
    rows = {r["method"]: r for r in images_or_labels(table(FULL, high, low, ends)).to_pylist()}
    assert rows["an"]["equal_images"] is None and rows["ignore"]["equal_images"] is None
    assert rows["ll-r"]["equal_images"] == pytest.approx(100)


def test_complete_labels_that_dip_are_taken_at_their_best_so_far() -> None:
    dips = some("full-subset", "full", {100: [0.6], 200: [0.5], 400: [0.8]}, 10)
    weak = some("single-positive", "an", {400: [0.6]}, 1)
    rows = images_or_labels(table(dips, weak)).to_pylist()
    assert rows[-1]["equal_images"] == pytest.approx(100)


def test_another_metric_and_failed_runs() -> None:
    failed = [row(scheme="single-positive", method="ll-r", images=100, draw=0, map=None)]
    found = images_or_labels(table(FULL, WEAK, failed))
    assert "ll-r" not in found["method"].to_pylist()


@pytest.mark.parametrize("given", [(), (FULL,), (WEAK,)])
def test_both_kinds_are_needed(given) -> None:
    with pytest.raises(BadInput, match="images-or-labels: "):
        images_or_labels([table(part) for part in given])
