"""What a plan says: plain values, from which the terminal, Markdown, JSON and the page are made."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from simkit.history import content_id
from simkit.planning.told.wording import Span

if TYPE_CHECKING:
    from simkit.planning.told.document import Document


@dataclass(frozen=True)
class Purchase:
    """One way to buy labels and one method, at so many dollars of training labels.

    way      how labels are bought, for people;  scheme  spelled with its amount.
    images   that are asked about;  labels  that are known then;  per_image  labels for each.
    workers  people per question; None: as the price list says.
    dollars  of training labels;  total  with all that comes besides.
    median, low, mean, band50, band90  of mAP, 0 to 1; low is the 20 % quantile.
    target   the chance that mAP reaches the project's target; None: it has none.
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
    low: float
    mean: float
    band50: Span
    band90: Span
    target: float | None
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
    """What was not chosen, at the same total dollars as the choice.

    difference, low, high  of mAP, the choice's less this one's, 0 to 1: median and 90 % interval of
                           paired samples.
    sure         share of samples in which the choice is ahead.
    break_even   totals, in dollars, at which the order turns; none: it does not.
    told         the same in words.
    saturated    its pilot ran out of images, so that it is rather better than this and `sure` is
                 not known;  paired  whether both curves are of the same draws.
    """

    way: str
    method: str
    difference: float
    low: float
    high: float
    sure: float
    break_even: tuple[float, ...]
    told: str
    saturated: bool = False
    paired: bool = True


@dataclass(frozen=True)
class Reach:
    """Dollars of training labels until the chosen way reaches the target.

    quantiles  at 5, 25, 50, 75 and 95 % of all samples; None: not below `most`.
    reached    share of samples that reach the target below `most` dollars.
    """

    target: float
    quantiles: tuple[float | None, ...]
    reached: float
    most: float


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
class Check:
    """The back-test: largest pilot sizes of all curves, predicted from the smaller ones.

    rows   of the choice and its runners-up, for each size that was held out: way, method, times
           beyond what the curve was fitted on, measured, predicted, low, high, inside.
    count  of such sizes over all curves;  inside  how many lie in their 90 % band;  coverage  as a
           share.  width, error  mean of the bands, and median absolute, 0 to 1.
    passed  whether the bands held;  factor  how many times beyond the smaller sizes, on average.
    singles  share of the single draws, not their means, that lie in the bands; None: not known.
    """

    rows: tuple[tuple[str, str, float, float, float, float, float, bool], ...]
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
    """A curve as it is drawn: dollars, median and 90 % band of mAP, and the measured points."""

    way: str
    method: str
    dollars: tuple[float, ...]
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, repr=False)
class Plan:
    """What to buy with a budget, what it will give, and how sure that is.

    question  what was asked, a line;  warnings  what to read first, most important first.
    recommendation  one sentence;  settings  of the method's training, by name, two or three.
    budget  dollars for everything;  left  of them for training labels, set-up excluded.
    left_out  what was on file and could not be used;  ids  content ids of what was read.
    Dollars are of the price list `prices`; mAP is from 0 to 1 throughout.
    """

    question: str
    recommendation: str
    chosen: Purchase
    budget: float
    left: float
    target: float | None
    prices: str
    prices_from: tuple[str, ...]
    bill: tuple[Item, ...]
    rivals: tuple[Rival, ...]
    method_spec: str
    settings: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    changes: tuple[Change, ...]
    check: Check | None
    reach: Reach | None
    lines: tuple[Line, ...]
    assumptions: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    worth_trying: tuple[str, ...] = ()
    options: tuple[Purchase, ...] = ()
    risk: str = "robust"
    command: str = ""
    seed: int = 0
    ids: tuple[tuple[str, str], ...] = ()
    versions: tuple[tuple[str, str], ...] = field(default=())

    @property
    def id(self) -> str:
        """Content id of all that the plan says; the command that made it does not count."""
        said = {key: value for key, value in asdict(self).items() if key != "command"}
        return content_id(json.dumps(said, sort_keys=True, ensure_ascii=False))

    def document(self) -> Document:
        """The plan as headings, sentences and tables, which every rendering takes."""
        from simkit.planning.told.sections import document

        return document(self)

    def text(self, *, width: int = 100) -> str:
        """For a terminal of so many columns."""
        from simkit.planning.told.text import render

        return render(self.document(), width=width)

    def __repr__(self) -> str:
        return self.text()

    def markdown(self) -> str:
        """As a Markdown document."""
        from simkit.planning.told.markdown import render

        return render(self.document())

    def html(self) -> str:
        """As one page that needs nothing from elsewhere, its chart included."""
        from simkit.planning.told.page import page

        return page(self.document(), name=f"plan-{self.id}", figure=self._figure)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"id": self.id, **json.loads(json.dumps(asdict(self)))}

    def _repr_html_(self) -> str:
        """In a notebook: what the page shows, its style kept to itself."""
        from simkit.planning.told.page import fragment

        return fragment(self.document(), name=f"plan-{self.id}", figure=self._figure)

    @property
    def _figure(self) -> str:
        from simkit.planning.told.chart import figure

        return figure(self, name=f"plan-{self.id}-chart")
