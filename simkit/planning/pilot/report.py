"""The pilot to label first, for people: the same renderings as a plan has."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simkit import data as datasets
from simkit.annotate.prices import Prices
from simkit.errors import BadInput
from simkit.history import content_id, versions
from simkit.planning.pilot.design import SCHEMES, Pilot, pilot
from simkit.planning.pilot.grids import grids
from simkit.planning.pilot.standin import like
from simkit.planning.told.document import Document, Section, Table
from simkit.study.limit import money


@dataclass(frozen=True)
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
            Section(
                "What to do then",
                (
                    "Label these images, give them to simkit as a data set, put its name as data "
                    "into these grids, and compare each; then plan with all their folders, for "
                    f"the {_exact(made.rest)} that are left:",
                ),
                code="\n\n".join([*self.grids, "\n".join(self.commands)]),
            ),
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
    def commands(self) -> tuple[str, ...]:
        """Lines of a shell that compare by the grids and plan with what is left."""
        made, places = self.pilot, range(1, len(self.grids) + 1)
        folders = [f"runs/{place}" for place in places]
        plan = ["simkit", "plan", *folders, "--budget", f"{math.floor(100 * made.rest) / 100:.15g}"]
        if made.exist is not None:
            left = made.exist - made.images - made.test_images
            plan += ["--images", str(left)]
        compare = [
            f"simkit compare grid-{place}.toml --out {folder}"
            for place, folder in zip(places, folders, strict=True)
        ]
        return (*compare, shlex.join([*plan, "--prices", self.prices]))

    def text(self, *, width: int = 100) -> str:
        """For a terminal of so many columns."""
        from simkit.planning.told.text import render

        return render(self.document(), width=width)

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
        told = {"recommendation": self.pilot.recommendation, "why": list(self.pilot.why)}
        values = {**self.pilot.to_json(), **told, "about": self.about, "command": self.command}
        values |= {"grids": self.grids, "then": self.commands}
        return dict(json.loads(json.dumps(values)))

    def _repr_html_(self) -> str:
        from simkit.planning.told.page import fragment

        return fragment(self.document(), name=self._name)

    @property
    def _name(self) -> str:
        return f"pilot-{content_id(json.dumps(self.to_json(), sort_keys=True))}"


def _exact(dollars: float) -> str:
    return f"${dollars:,.2f}"


def _sizes(made: Pilot) -> Section:
    extra = dict(made.extra)
    rows = tuple(
        (
            part.scheme,
            ", ".join(money(dollars) for dollars in part.budgets),
            f"{part.sizes[-1].images:,}",
            f"{part.times:,.2g}x",
            part.grade,
            money(extra[part.scheme]) if part.scheme in extra else "",
        )
        for part in made.parts
    )
    columns = (
        "scheme",
        "sizes at its own price",
        "images",
        "budget beyond",
        "reach",
        "buy besides",
    )
    return Section(
        "What it will tell",
        (f"Of each scheme {made.draws} draws of each size, all from the same labels:",),
        table=Table(columns, rows, (0, 1, 4)),
    )


def pilot_report(
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
    """Which images to label first, for a budget and no curves.

    data     a labelled data set like the user's, as `simkit --data` takes it; or
    classes, per_image  how many classes there are, and how many an image shows on average.
    images   that exist. Raises BadInput where neither is given, or both.
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
