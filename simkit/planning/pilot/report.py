"""The pilot to label first, for people: the same renderings as a plan has."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simkit import data as datasets
from simkit.annotate.prices import Prices
from simkit.errors import BadInput
from simkit.history import content_id, versions
from simkit.planning.curves import reach
from simkit.planning.pilot.design import SCHEMES, Pilot, pilot
from simkit.planning.pilot.grids import grids
from simkit.planning.pilot.sizes import TOO_FAR
from simkit.planning.pilot.standin import like
from simkit.planning.told.document import Document, Section, Table
from simkit.planning.told.wording import GRADES
from simkit.study.grids.limit import money


@dataclass(frozen=True, repr=False)
class PilotReport:
    """A pilot, what its prices were worked out on, and the command that asks for it again."""

    pilot: Pilot
    about: str
    command: str
    prices: str
    grids: tuple[str, ...]

    def document(self) -> Document:
        """As headings, sentences and tables."""
        made = self.pilot
        sections = [
            Section("Why this pilot", items=tuple(f"{text}." for text in made.why)),
            _sizes(made),
            Section("What to do then", self._then, items=self._orders, code=self._code),
            Section(
                "How this was made",
                (f"Prices were worked out on {self.about}.",),
                code=self.command,
                notes=(", ".join(f"{name} {value}" for name, value in versions().items()) + ".",),
            ),
        ]
        title = f"Which pilot to label first for {money(made.budget)}: {made.classes:,} classes"
        return Document(title, made.recommendation, (), tuple(sections))

    @property
    def _then(self) -> tuple[str, ...]:
        made, many = self.pilot, self.pilot.images + self.pilot.test_images
        pool = "all that you have" if made.exist is None else f"your {made.exist:,}"
        told = f"Pick {many:,} images at random from {pool}, and label every class of each."
        if made.test_images:
            told += (
                f" Of these, {made.test_images:,} at random are the test split, by which all is "
                f"measured, and the other {made.images:,} the training split."
            )
        return (told,)

    @property
    def _orders(self) -> tuple[str, ...]:
        return (
            'Give both to simkit as a data set, and put its name as data into these grids ("YOURS" '
            "stands for it; `simkit list data` shows what can be read).",
            "For pictures of your own name the network that looks at them as well: without "
            "backbone and weights it is scenes-net, which was made for drawn scenes of 64 x 64 "
            "pixels.",
            f"Compare by each grid, then plan with all their folders, for ${self.pilot.rest:,.2f}:",
        )

    @property
    def _code(self) -> str:
        return "\n\n".join([*self.grids, "\n".join(self.commands)])

    @property
    def commands(self) -> tuple[str, ...]:
        """Lines of a shell that compare by the grids and plan with what is left."""
        made, places = self.pilot, range(1, len(self.grids) + 1)
        folders = [f"runs/{place}" for place in places]
        plan = ["simkit", "plan", *folders, "--budget", f"{made.rest:.2f}"]
        if made.remaining is not None:
            plan += ["--images", str(made.remaining)]
        compare = [
            f"simkit compare grid-{place}.toml --out {folder}"
            for place, folder in zip(places, folders, strict=True)
        ]
        return (*compare, shlex.join([*plan, "--prices", self.prices]))

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
        """As one page that needs nothing from elsewhere."""
        from simkit.planning.told.page import page

        return page(self.document(), name=self._name)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        values = {**self.pilot.to_json(), "about": self.about, "command": self.command}
        values |= {"grids": self.grids, "then": self.commands}
        return dict(json.loads(json.dumps(values)))

    def _repr_html_(self) -> str:
        from simkit.planning.told.notebook import shown
        from simkit.planning.told.page import fragment

        return shown(fragment(self.document(), name=self._name))

    @property
    def _name(self) -> str:
        return f"pilot-{content_id(json.dumps(self.to_json(), sort_keys=True))}"


def _sizes(made: Pilot) -> Section:
    extra = dict(made.extra)
    rows: list[tuple[str, ...]] = [
        (
            part.scheme,
            ", ".join(money(dollars) for dollars in part.budgets),
            f"{part.sizes[-1].images:,}",
            f"{part.times:,.0f}x" if part.times >= 10 else f"{part.times:.2g}x",
            part.grade,
            money(extra[part.scheme]) if part.scheme in extra else "no",
        )
        for part in made.parts
    ]
    columns: tuple[str, ...] = (
        "scheme",
        "sizes at its own price",
        "asks about images",
        "the rest of the budget is",
        "reach",
        "buy besides",
    )
    if not extra:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    once = ", without the set-up" if made.set_up else ""
    told = (
        f"Of each scheme {made.draws} draws of each size, all from the same labels{once}; the "
        f"largest size asks about so many of the {made.images:,} images to train on, and what is "
        "left for labels is so many times its dollars:"
    )
    return Section(
        "What it will tell",
        (told,),
        table=Table(columns, tuple(rows), (0, 1, 4)),
        notes=_legend(made),
    )


def _legend(made: Pilot) -> tuple[str, ...]:
    """What the grades in the table mean."""
    meant = {**GRADES, TOO_FAR: f"{TOO_FAR}: more than {reach.MOST:g} times, where no plan goes"}
    there = {part.grade for part in made.parts}
    return (f"Reach: {'. '.join(told for grade, told in meant.items() if grade in there)}.",)


def plan_pilot(
    budget: float,
    *,
    prices: Prices | str = "coco-tagging",
    data: str | None = None,
    classes: int | None = None,
    per_image: float | None = None,
    images: int | None = None,
    schemes: Sequence[str] = SCHEMES,
    seed: int = 0,
) -> PilotReport:
    """Which images to label first, where there is a budget (dollars, for everything) and no curve.

    prices   a list, its name or its TOML file.
    data     a labelled data set like the user's, as `simkit --data` takes it; or
    classes, per_image  how many classes there are, and how many an image shows on average.
    images   that exist; None: enough.  schemes  that are to be compared.
    seed     of what is simulated.

    Raises BadInput where neither data nor classes are given, or both, and for budgets that are too
    small for a pilot.
    """
    parts = ["simkit", "plan", "--pilot", "--budget", f"{budget:.15g}"]
    if (data is None) == (classes is None):
        raise BadInput(
            "a pilot is planned for data like yours; give either data (a labelled data set) or "
            "classes and per_image, such as --classes 80 --per-image 2.9"
        )
    if data is not None:
        if per_image is not None:
            raise BadInput("per_image goes with classes; data tells it, so leave per_image out")
        opened = datasets.open(data)
        truth, about = opened.truth[opened.to_label], f"{opened.name}, {opened.to_label}"
        parts += ["--data", data]
    else:
        if per_image is None or classes is None:
            raise BadInput(
                "per_image is missing; say how many classes an image shows on average, such as "
                "--per-image 2.9"
            )
        truth = like(classes, per_image, seed=seed)
        about = (
            f"{classes:,} made-up classes of which an image shows {per_image:g} on average, "
            "frequencies falling as one over the rank"
        )
        parts += ["--classes", str(classes), "--per-image", f"{per_image:g}"]
    asked = prices.name if isinstance(prices, Prices) else prices
    made = pilot(truth, prices, budget, images=images, schemes=schemes, seed=seed)
    parts += [*(["--images", str(images)] if images else []), "--prices", asked]
    return PilotReport(made, about, shlex.join(parts), asked, grids(made, asked))
