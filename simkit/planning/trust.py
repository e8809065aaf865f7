"""How far a plan can be trusted, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from simkit.planning.backtest import Backtest
from simkit.planning.choose import Candidate
from simkit.planning.curves import Curves

Grade = Literal["high", "medium", "low"]

FAR, FURTHER = 1.5, 3.0  # times the pilot's pool: trust is medium, and low
MOST_REASONS = 3


@dataclass(frozen=True)
class Trust:
    """A grade, its reasons (most serious first), and whether the order is far beyond the pilot."""

    grade: Grade
    reasons: tuple[str, ...]
    far: bool

    @staticmethod
    def of(chosen: Candidate, curves: Curves, test: Backtest | None) -> Trust:
        """Of a purchase that curves recommend."""
        reasons = sorted(_reasons(chosen, curves, test), key=lambda reason: -reason[0])
        worst = max((weight for weight, _ in reasons), default=0)
        grades: tuple[Grade, ...] = ("high", "medium", "low")
        return Trust(
            grades[worst], tuple(text for _, text in reasons)[:MOST_REASONS],
            chosen.times > FURTHER,
        )  # fmt: skip


def _reasons(
    chosen: Candidate, curves: Curves, backtest: Backtest | None
) -> Iterator[tuple[int, str]]:
    """(1 or 2, why trust is medium or low)."""
    evidence, test = curves.evidence, curves.evidence.test
    share, sentence = evidence.missing
    if sentence:
        yield 2 if share > 0.05 else 1, sentence
    if evidence.stand_in_backbone:
        yield (
            2,
            (
                "the features come from scenes-net, a small network trained on drawings; compare again "
                "with a backbone for photographs"
            ),
        )
    if chosen.times > FAR:
        yield (
            2 if chosen.times > FURTHER else 1,
            (
                f"{chosen.images:,} images are {chosen.times:.2g} times the pilot's "
                f"{evidence.pool.images:,}"
            ),
        )
    if test.images is not None and test.small:
        yield (
            2 if test.half_width >= 5 else 1,
            (
                f"on the pilot's {test.images:,} test images mAP is known to ±{test.half_width:.1f} "
                "points only"
            ),
        )
    if evidence.draws < 3:
        draws = "1 draw" if evidence.draws == 1 else f"{evidence.draws} draws"
        yield 2 if evidence.draws == 1 else 1, f"every size was measured in {draws} only"
    if chosen.times > FAR and not curves.growth_measured(chosen.pair):
        yield (
            2,
            (
                "complete labels of fewer images were not compared, so the gain from more images is "
                "an assumption; add full-subset to the schemes"
            ),
        )
    if backtest is not None and not backtest.passed:
        yield (
            1,
            (f"of {backtest.cells} curves only {backtest.held:.0%} predict their own largest size"),
        )
    if not evidence.pool.opened:
        yield (
            1,
            (
                f"the data {evidence.grid.get('data')} cannot be opened here, so counts come from "
                "class frequencies alone"
            ),
        )
    low, high = chosen.band
    if high - low > 0.1:
        yield 1, f"the range is {100 * (high - low):.0f} points wide"
