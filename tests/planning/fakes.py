"""Curves, evidence and candidates with planted samples; nothing is fitted."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
from scipy.stats import norm

from simkit.planning.choosing.candidates import Candidate
from simkit.planning.evidence.evidence import Amount, Way

S = 1000
# A row for each curve of a test: the same normal quantiles in orders of their own.
_RNG, _NORMAL = np.random.default_rng(5), norm.ppf((np.arange(S) + 0.5) / S)
NOISE = np.stack([_RNG.permutation(_NORMAL) for _ in range(8)])


@dataclass(frozen=True, eq=False)
class Line:
    """A curve whose sample s is `level + slope log(dollars / 100) + spread noise_s`."""

    level: float
    slope: float
    spread: float = 0.0
    noise: int = 0
    reach: float = 100.0
    least: float = 10.0
    draws: tuple = (0, 1, 2)
    off: float | None = None  # below this it misses its own pilot

    @property
    def points(self):
        costs, draws = np.array([self.least, self.reach]), np.array(self.draws)
        still = "mAP does not rise"
        return SimpleNamespace(
            costs=costs, reach=self.reach, draws=draws, rises=self.slope > 0, still=lambda: still
        )

    @property
    def agrees(self):
        return self.least if self.off is None else self.off

    def samples(self, dollars):
        x = np.log(np.atleast_1d(np.asarray(dollars, float)) / 100)
        middle = self.level + self.slope * x
        return np.clip(middle + self.spread * NOISE[self.noise][:, None], 0, 1)

    def median(self, dollars):
        return np.median(self.samples(dollars), axis=0)

    def band(self, dollars):
        return np.quantile(self.samples(dollars), [0.05, 0.95], axis=0)


@dataclass(frozen=True)
class Evidence:
    """A dollar buys `each` images, until `everything` dollars are spent."""

    each: float = 10.0
    everything: dict = field(default_factory=dict)
    classes = ("cat", "dog", "hat", "owl")
    methods = ("an", "ll-r", "csl")
    runs = ()
    images = 1000

    def ladder(self, way, prices):
        shares = lambda dollars, images: {}  # noqa: E731
        return SimpleNamespace(
            dollars=np.array([10.0]), reach=10.0, everything=100.0, pool=1000, workers=1,
            shares=shares, pages={}, classes=1,
        )  # fmt: skip

    def most(self, way, prices, images):
        return self.everything.get(way.scheme, np.inf)

    def amount(self, way, dollars, prices, images=None):
        count = max(1, round(self.each * dollars))
        spec = way.scheme if way.grows == "images" else way.with_amount(min(1.0, dollars / 1000))
        known = len(self.classes) if way.scheme == "full-subset" else 2
        return Amount(count, known * count, float(known), spec)


def way(scheme="single-positive"):
    return Way.of(scheme)


def candidate(scheme, method, dollars, curve, target=None, **changes):
    """What `candidates` makes of such a curve."""
    own = curve.samples(dollars)[:, 0]
    low90, low, low50, median, high50, high90 = np.quantile(own, [0.05, 0.2, 0.25, 0.5, 0.75, 0.95])
    made = Candidate(
        way=way(scheme),
        method=method,
        dollars=float(dollars),
        amount=Evidence().amount(way(scheme), dollars, None),
        total=float(dollars),
        reach=curve.reach,
        grade="green",
        median=float(median),
        low=float(low),
        mean=float(own.mean()),
        band50=(float(low50), float(high50)),
        band90=(float(low90), float(high90)),
        p_target=None if target is None else float((own >= target).mean()),
        samples=own,
    )
    return replace(made, **changes)


def along(scheme, method, curve, dollars, target=None):
    return [candidate(scheme, method, each, curve, target) for each in dollars]
