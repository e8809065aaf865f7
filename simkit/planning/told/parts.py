"""The parts of a plan as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from simkit.planning.told.wording import Span


@dataclass(frozen=True)
class Purchase:
    """One way to buy labels and one method, at so many dollars of training labels.

    way      how labels are bought, for people;  scheme  spelled with its amount.
    images   that are asked about;  labels  that are known then;  per_image  labels for each.
    workers  people per question; None: as the price list says.
    dollars  of training labels;  total  with all that comes besides.
    median, mean, low20, band50, band90  of mAP, 0 to 1: low20 is its 20 % quantile, reached four
             times in five, the bands are its middle 50 and 90 %.
    chance   that mAP reaches the project's target; None: it has none.
    grade    green, amber or red;  times  how far beyond the pilot's largest size this is.
    note     why it was chosen among equals; else empty.
    """

    way: str
    scheme: str
    method: str
    images: int
    labels: int
    per_image: float
    workers: int | None
    dollars: float
    total: float
    median: float
    low20: float
    mean: float
    band50: Span
    band90: Span
    chance: float | None
    grade: str
    times: float
    note: str = ""


@dataclass(frozen=True)
class Item:
    """A line of the bill: what, dollars, and how they were counted."""

    what: str
    dollars: float
    how: str


@dataclass(frozen=True)
class Rival:
    """What was not chosen, at the same total dollars as the choice, or where its curve ends.

    scheme       spelled with the amount to order;  images, labels  that it gives.
    dollars      of training labels;  total  with all that comes besides.
    median       of mAP there, 0 to 1.
    difference, low5, high95  of mAP, the choice's less this one's, 0 to 1: median and 90 % interval
                 of paired samples.
    sure         share of samples in which the choice is ahead.
    break_even   totals, in dollars, at which the order turns; none: it does not.
    told         the same in words.
    saturated    its pilot ran out of images, so that it is rather better than this and `sure` is
                 not known;  paired  whether both curves are of the same draws.
    """

    way: str
    method: str
    scheme: str
    images: int
    labels: int
    dollars: float
    total: float
    median: float
    difference: float
    low5: float
    high95: float
    sure: float
    break_even: tuple[float, ...]
    told: str
    saturated: bool = False
    paired: bool = True


@dataclass(frozen=True)
class Reach:
    """Dollars of training labels to the target, by the way and method that take least money.

    quantiles  at 5, 25, 50, 75 and 95 % of all samples; None: not below `most`.
    reached    share of samples that reach the target below `most` dollars.
    total      of the project, with which 95 % of the samples get there; None: they do not.
    enough     that purchase; None: there is none, or the budget does not pay for it.
    """

    target: float
    quantiles: tuple[float | None, ...]
    reached: float
    most: float
    way: str = ""
    method: str = ""
    total: float | None = None
    enough: Purchase | None = None


@dataclass(frozen=True)
class Step:
    """A round of buying: its own dollars, the amount that is there afterwards, what to measure."""

    dollars: float
    total: float
    images: int
    median: float
    scheme: str
    measure: str


@dataclass(frozen=True)
class Change:
    """What a change of the assumptions does.

    same    dollars that the labels of the plan cost then;  median  mAP that its way and method
            reach for the budget, 0 to 1;  None: cannot be told.
    choice  what would be recommended then: "the same", or another way with its method.
    told    what is assumed.
    """

    what: str
    same: float | None
    median: float | None
    choice: str
    told: str


@dataclass(frozen=True)
class CheckRow:
    """A size of one curve, predicted from smaller ones.

    times  its dollars beyond the largest of those;  measured  mean mAP, 0 to 1;  predicted  median,
    low5, high95  its 90 % band;  inside  whether what was measured lies in that.
    same   other methods, of the plan, whose curve is this very one: as on complete labels.
    """

    way: str
    method: str
    times: float
    measured: float
    predicted: float
    low5: float
    high95: float
    inside: bool
    same: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """The back-test: largest pilot sizes of all curves, predicted from the smaller ones.

    rows   of the choice and its runners-up, the choice's first; one for each size held out.
    count  of such sizes over all curves;  inside  how many lie in their 90 % band;  coverage  as a
           share.  width, error  mean of the bands, and median absolute, 0 to 1.
    passed  whether the bands of all curves held (the choice's own are in rows);  factor  how many
            times beyond the smaller sizes, on average.
    singles  share of the single draws, not their means, that lie in the bands; None: not known.
    """

    rows: tuple[CheckRow, ...]
    count: int
    inside: int
    coverage: float
    width: float
    error: float
    passed: bool
    factor: float
    singles: float | None = None


@dataclass(frozen=True)
class Line:
    """A curve as it is drawn: at so many dollars of training labels the median of mAP, 0 to 1, and
    its 90 % band from low5 to high95.  points  (dollars, mAP) of the pilot's runs."""

    way: str
    method: str
    dollars: tuple[float, ...]
    median: tuple[float, ...]
    low5: tuple[float, ...]
    high95: tuple[float, ...]
    points: tuple[tuple[float, float], ...]
