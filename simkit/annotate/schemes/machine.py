"""A machine labels the pairs that it is sure of; people verify others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, ClassVar

import numpy as np

from simkit.annotate.annotators import Bools, Ints
from simkit.annotate.schemes import MISSING, Crowd, Scheme, logits, register
from simkit.chance import Chance, below
from simkit.registry import Range, Share, setting

FIRST = 4  # size of the first group, in samples
MISTAKES = 1  # in the sample of a group that is accepted
LARGEST_SAMPLE = 50_000  # more than the strictest bound and confidence need
Bound = Annotated[float, Range(0.0005, 1)]
Confidence = Annotated[float, Range(0, 0.999)]


@register
class ModelAnswers(Scheme):
    """Take a machine's answer where it is sure; people verify a share of the other pairs.

    A pair with a probability (of the scores) from `high` on is labelled present, one of at most
    `low` absent. People verify each other pair with probability `verify`.

    Without `high` or `low`, people measure how far the machine can be trusted, once for present and
    once for absent labels. All (image, class) pairs are ranked by score, and divided into groups
    from the surest on, each twice as large as the one before, up to half of all pairs. People
    verify a random sample of each group in turn. The machine labels the others of a group if the
    sample shows, at the level `confidence`, that at most the share `wrong_present` (`wrong_absent`)
    of its answers are wrong; at the first group for which it does not, the measurement ends. So
    with probability `confidence` no accepted group exceeds the bound, separately for present and
    for absent labels, whatever the scores are. The bound is on disagreement with people: their own
    errors are not in it, and unsure answers count as disagreement. A sample has as many questions
    as leave room for one mistake: 100 for 5 % and 1,000 for 0.5 %, at 95 % confidence.

    Example: simkit simulate --scheme "machine(wrong_present=0.1, verify=0.02)" --scores scores.csv
    """

    name: ClassVar[str] = "machine"
    by_model: ClassVar[bool] = True
    title: ClassVar[str] = "Machine and people"
    gist: ClassVar[str] = "a machine where it is sure, people elsewhere"
    source: ClassVar[str] = (
        "bound: Angelopoulos et al., Learn then Test, 2021 (arXiv 2110.01052), fixed sequence "
        "testing with hypergeometric tails; the scheme: ours"
    )
    amount: ClassVar[str | None] = "verify"
    caution: ClassVar[str] = (
        "A machine's errors, unlike people's, are systematic, and a model can learn them. The "
        "machine labels the pairs of which it is sure; difficult pairs are unknown or labelled by "
        "people."
    )

    verify: Share = setting(0.1, "share of the other pairs that people are asked about")
    high: Share | None = setting(None, "probability from which a class is present; none: measured")
    low: Share | None = setting(None, "probability up to which a class is absent; none: measured")
    wrong_present: Bound = setting(0.05, "largest share of wrong ones among the present labels")
    wrong_absent: Bound = setting(0.005, "largest share of wrong ones among the absent labels")
    confidence: Confidence = setting(0.95, "probability that such a bound holds")

    @property
    def needs_scores(self) -> bool:
        return True

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        from scipy.special import logit

        scores = logits(crowd, self.name)[crowd.images]
        crowd.pay_machine(crowd.images[(scores > MISSING).any(axis=1)])
        scores = scores.ravel()
        pairs = Pairs(crowd, np.zeros(len(scores), bool))
        ranked = np.argsort(-scores, kind="stable")
        ranked = ranked[scores[ranked] > MISSING]
        # Half of the pairs at most from each end: no pair is ranked surely present and absent.
        halves = {True: ranked[: len(ranked) // 2], False: ranked[::-1][: len(ranked) // 2]}
        for present, limit in ((True, self.high), (False, self.low)):
            if limit is not None:
                sure = scores >= logit(limit) if present else scores <= logit(limit)
                pairs.trust(np.flatnonzero(sure & ~pairs.decided & (scores > MISSING)), present)
                continue
            half = halves[present][~pairs.decided[halves[present]]]
            if not self._measure(pairs, half, present, chance.of("sample", int(present))):
                return  # open questions decide
        if pairs.reasons and not pairs.trusted:
            warnings.warn(
                f"{self.name}: the machine labels nothing: {'; '.join(pairs.reasons)}; thresholds "
                "that you choose, high and low, need no sample",
                stacklevel=3,
            )
        others = np.flatnonzero(~pairs.decided)
        asked = below(chance.of("verify")(*pairs.of(others)), self.verify)
        crowd.verify(*pairs.of(others[asked]))

    def _measure(self, pairs: Pairs, ranked: Ints, present: bool, chance: Chance) -> bool:
        """Trust the machine in group after group. False if that depends on open questions."""
        bound = self.wrong_present if present else self.wrong_absent
        sample = sample_size(bound, self.confidence)
        start, size = 0, FIRST * sample
        kind = "present" if present else "absent"
        if len(ranked) < FIRST * sample:
            pairs.reasons.append(
                f"{len(ranked):,} pairs may be {kind}, fewer than the {FIRST * sample:,} of the "
                f"first group (fewer with a larger wrong_{kind})"
            )
        while (rest := len(ranked) - start) >= FIRST * sample:
            size = min(size, rest)
            while not shows(sample, size, bound, self.confidence):  # it depends on rounding
                size -= 1
            group = ranked[start : start + size]
            order = np.argsort(chance(*pairs.of(group)), kind="stable")
            verified = np.sort(group[order[:sample]])
            pairs.decided[verified] = True
            mistakes = pairs.crowd.mistakes(*pairs.of(verified), present)
            if mistakes is None:
                return False
            # Groups are tested in a fixed sequence: after the first that fails none may be
            # accepted, which is why no correction for several tests is needed.
            if mistakes > MISTAKES:
                if not start:
                    pairs.reasons.append(
                        f"people reject {mistakes:,} of {sample:,} of its surest {kind} labels, "
                        f"more than {MISTAKES} (a larger wrong_{kind} takes a smaller sample)"
                    )
                return True
            pairs.trust(np.sort(group[order[sample:]]), present)
            start, size = start + size, 2 * size
        return True


@dataclass(eq=False)
class Pairs:
    """All pairs of the crowd's images and the classes, by place: row * L + class.

    decided (n * L,) bool: labelled by the machine or verified.
    trusted: number of those that the machine labels;  reasons: why measured groups have none.
    """

    crowd: Crowd
    decided: Bools
    trusted: int = 0
    reasons: list[str] = field(default_factory=list)

    def of(self, places: Ints) -> tuple[Ints, Ints]:
        """Images and classes."""
        rows, classes = np.divmod(places, self.crowd.shape[1])
        return self.crowd.images[rows], classes

    def trust(self, places: Ints, present: bool) -> None:
        """The machine labels these pairs, all of them present or all absent."""
        self.decided[places] = True
        self.trusted += len(places)
        self.crowd.machine(*self.of(places), np.full(len(places), present))


@cache
def sample_size(bound: float, confidence: float) -> int:
    """The smallest sample that shows for groups of all sizes that at most `bound` are wrong."""
    from scipy.special import bdtr

    sizes = np.arange(MISTAKES + 1, LARGEST_SAMPLE)
    enough = sizes[bdtr(float(MISTAKES), sizes, bound) <= 1 - confidence]  # in very large groups
    groups = [FIRST * 2**k for k in range(20)]
    return next(
        sample for sample in enough.tolist()
        if all(shows(sample, times * sample, bound, confidence) for times in groups)
    )  # fmt: skip


def shows(sample: int, size: int, bound: float, confidence: float) -> bool:
    """Whether `MISTAKES` in a sample of a group of this size show that at most `bound` are wrong.

    The bound is on the rest of the group, which the machine labels. If W of the group are wrong and
    m of them are in the sample, W - m are in the rest. A rest beyond the bound is accepted with the
    largest probability if W is the smallest number for which W - m exceeds the bound, for some m up
    to `MISTAKES`.
    """
    from scipy.stats import hypergeom

    mistakes = np.arange(MISTAKES + 1)
    wrong = np.floor(bound * (size - sample)) + 1 + mistakes
    return bool(hypergeom.cdf(mistakes, size, wrong, sample).max() <= 1 - confidence)
