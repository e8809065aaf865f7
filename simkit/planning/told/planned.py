"""What a plan says: plain values, from which the terminal, Markdown, JSON and the page are made."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from simkit.history import content_id
from simkit.planning.told.parts import (
    Change,
    Check,
    Item,
    Line,
    Purchase,
    Reach,
    Rival,
    Step,
)

if TYPE_CHECKING:
    from simkit.planning.told.document import Document


@dataclass(frozen=True, repr=False)
class Plan:
    """What to buy with a budget, what it will give, and how sure that is.

    question  what was asked, a line;  warnings  what to read first, most important first.
    recommendation  one sentence;  settings  of the method's training, by name, two or three.
    budget  dollars for everything;  left  of them for training labels, set-up excluded.
    target  mAP that is wanted, 0 to 1; None: none.
    left_out  what was on file and could not be used;  ends  where curves end before the budget, and
    where pilots ran out of images;  images  that mAP is of: those of the test split, or new ones
    where that is small;  rounds  purchases that were asked for, at most;  ids  content ids of what
    was read.
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
    ends: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    worth_trying: tuple[str, ...] = ()
    options: tuple[Purchase, ...] = ()
    risk: str = "robust"
    command: str = ""
    images: str = "the test split"
    rounds: int = 3
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
        """As plain values; what each key means is in `keys.KEYS` and `simkit plan --keys`."""
        return {"id": self.id, **json.loads(json.dumps(asdict(self)))}

    def _repr_html_(self) -> str:
        """In a notebook: what the page shows, its style kept to itself."""
        from simkit.planning.told.notebook import shown
        from simkit.planning.told.page import fragment

        return shown(fragment(self.document(), name=f"plan-{self.id}", figure=self._figure))

    @property
    def _figure(self) -> str:
        from simkit.planning.told.chart import figure

        return figure(self, name=f"plan-{self.id}-chart")
