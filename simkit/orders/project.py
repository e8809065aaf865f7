"""A project: images to be labelled within a budget, in a folder with its orders beside it.

project/project.toml     data, classes, budget, prices, people
project/pictures.csv     what the images are like, and which are left out
project/order1 ...       orders; see `simkit.orders.order`
project/labels.csv       made from the answers: the pilot as a labelled data set
project/grid-1.toml ...  made from the answers: comparisons of schemes on the pilot
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import ClassVar

import numpy as np
import pandas as pd

from simkit.annotate.prices import Prices, cost
from simkit.annotate.prices import prices as price_list
from simkit.chance import Chance
from simkit.data.dataset import read_spec
from simkit.errors import BadInput, located
from simkit.files import readable, whole
from simkit.orders.making import round_of
from simkit.orders.order import ABOUT, Order, Terms, effort_of
from simkit.orders.receiving import State
from simkit.planning.pilot import (
    DATA_LINES,
    MOST_SHOWN,
    SMALLEST,
    TEST,
    THIRD,
    PilotPlan,
    complete_cost,
    plan_pilot,
)
from simkit.registry import Count, Positive, build, setting, settle
from simkit.study.toml import toml_lines

FILE, TABLE, PICTURES = "project.toml", "labels.csv", "pictures.csv"


@dataclass(frozen=True)
class Project:
    """What a project is about; `project.toml` has all fields but the folder."""

    example: ClassVar[str] = (
        'data = "folder:photos,labels=none", classes = ["cat", "dog"] and budget = 2000'
    )

    folder: Path
    data: str = setting(..., "the images, such as folder:photos,labels=none")
    classes: tuple[str, ...] = setting(..., "names of the classes to ask about")
    budget: Positive = setting(..., "dollars for all labels")
    prices: str = setting("hourly", "price list")
    people: Count = setting(1, "people who answer each question")
    per_image: Positive = setting(2.0, "classes that an image shows on average, as assumed")
    backbone: str = setting("mobilenet_v2", "frozen network that computes the features")
    weights: str = setting("imagenet", "its weights; imagenet: torchvision's are downloaded")
    seed: int = setting(0, "same seed, same questions")

    def __post_init__(self) -> None:
        settle(self, "project")
        _ = self.listed  # a price list that does not exist is refused at once
        if self.per_image > MOST_SHOWN * len(self.classes):
            raise BadInput(
                f"project: per_image is {self.per_image:g}; up to {MOST_SHOWN:.0%} of the "
                f"{len(self.classes)} classes in an image are expected"
            )

    @property
    def listed(self) -> Prices:
        """The price list, for so many people a question."""
        return dataclasses.replace(price_list(self.prices), workers=self.people)

    def write(self) -> None:
        """Write `project.toml`; to be called last: with it the project is there."""
        values = dataclasses.asdict(self)
        del values["folder"]
        with whole(self.folder / FILE) as part:
            part.write_text("\n".join(toml_lines(values)) + "\n", "utf-8")

    @staticmethod
    def read(folder: str | PathLike[str]) -> Project:
        """The project in a folder. Raises BadInput that names file, field and mend."""
        file = Path(folder) / FILE
        if not file.is_file():
            raise BadInput(
                f"{folder} holds no {FILE}; name the folder of a project, or make one with: "
                "simkit quickstart folder:photos --classes names.txt --budget 2000"
            )
        try:
            values = tomllib.loads(readable(file, "a project").read_text("utf-8"))
        except (ValueError, RecursionError) as error:  # no TOML, no UTF-8
            raise BadInput(f"{file} cannot be read as TOML ({error}); correct it") from None
        with located(str(file)):
            return build(Project, {**values, "folder": Path(folder)}, "project")

    @property
    def states(self) -> list[State]:
        """All orders of the project with their answers, by name. Raises BadInput for none."""
        places = sorted(self.folder.glob(f"*/round-1/{ABOUT}"))
        if not places:
            raise BadInput(f"{self.folder} holds no order; restore the folder order1")
        return [State.of(Order.read(place.parents[1])) for place in places]

    def pilot(self, images: int) -> PilotPlan | None:
        """What to label first of so many images; None: everything, or what the budget pays for.

        Raises BadInput for a budget that is too small for a pilot of many images.
        """
        try:
            plan = plan_pilot(
                self.budget, prices=self.listed, classes=len(self.classes),
                per_image=self.per_image, images=images,
            )  # fmt: skip
        except BadInput:
            everything = complete_cost(images, len(self.classes), self.listed).dollars
            if images >= THIRD * SMALLEST and everything > self.budget:
                raise
            return None
        return dataclasses.replace(plan, prices=self.prices)


def first_round(project: Project, order: Order, split: str, plan: PilotPlan | None) -> Order:
    """The order with its first round: complete labels of the pilot, or, without a plan, of as many
    images as the budget pays for."""
    terms = Terms(
        project.data, project.classes, "full-subset", split=split, people=project.people,
        prices=project.prices, seed=project.seed,
        images=1.0 if plan is None else plan.images + plan.test_images,
    )  # fmt: skip
    budget = project.budget if plan is None else None
    made = round_of(terms, order, budget=budget, largest=plan is None)
    return dataclasses.replace(order, rounds=(made,))


def order_of(folder: Path, files: Sequence[Path]) -> Path:
    """The order that these files answer: the folder itself, or the one of its project."""
    if not (folder / FILE).is_file():
        return folder
    orders = [state.order for state in Project.read(folder).states]
    texts = [readable(file, "answers").read_bytes() for file in files]
    fitting = [one for one in orders if all(one.id.encode() in text for text in texts)]
    if len(orders) == 1 or (files and len(fitting) == 1):
        return (orders if len(orders) == 1 else fitting)[0].folder
    names = ", ".join(str(one.folder) for one in orders)
    raise BadInput(f"{folder} has several orders; give the folder of the one ({names})")


def project_of(order: Path) -> Project | None:
    """The project that the folder of an order lies in, if any."""
    home = order.parent if order.name else order.absolute().parent
    return Project.read(home) if (home / FILE).is_file() else None


def spent(state: State, prices: Prices) -> float:
    """Dollars for the answers to an order, without the set-up; each person is paid alone."""
    listed, shape = prices.once_set_up(), state.order.shape
    return sum(
        cost(effort_of(rows, shape, 1), listed).dollars
        for _, rows in state.answers.groupby("worker")
    )


def spent_in_all(project: Project, states: Sequence[State]) -> tuple[float, float | None]:
    """Dollars for all answers with the set-up: by the price list, and by measured times where
    there are any."""
    listed = project.listed
    answered = any(len(state.answers) for state in states)
    set_up = (listed.setup + listed.setup_class * len(project.classes)) * answered
    measured = [state.prices() for state in states]
    by_list = sum(spent(state, listed) for state in states)
    by_time = sum(spent(s, prices or listed) for s, prices in zip(states, measured, strict=True))
    return set_up + by_list, set_up + by_time if any(measured) else None


def write_pilot(project: Project, state: State) -> list[str]:
    """Write the first round of complete labels as a data set with a quarter of the images for
    testing, and the comparisons to run on it; the names of the files."""
    order = state.order
    settings = read_spec(project.data)[1]
    if settings.get("labels") != "none" or not order.rounds[0].terms.scheme.startswith("full-"):
        return []
    asked = np.unique(order.rounds[0].table["image"])
    drawn = np.argsort(Chance.seeded(project.seed).of("test")(asked), kind="stable")
    split = np.full(len(asked), "train", object)
    split[drawn[: round(TEST * len(asked))]] = "test"
    split[drawn[:1]] = "val"  # without any, a fifth of the training images would become it
    done = ~np.isin(asked, state.open["image"])
    codes = state.labels.codes[asked[done]].toarray()
    cells = np.array(["", "1", "0"])[codes]  # unknown, present, absent: -1 is the last one
    table = pd.DataFrame(cells, columns=order.classes)
    table.insert(0, "split", split[done])
    table.insert(0, "file", order.images[asked[done]])
    with whole(project.folder / TABLE) as part:
        table.to_csv(part, index=False)
    plan = project.pilot(len(order.images))
    lines = {"data": pilot_data(project), "backbone": project.backbone, "weights": project.weights}
    grids = () if plan is None else plan.grids
    for place, text in enumerate(grids, 1):
        with whole(project.folder / f"grid-{place}.toml") as part:
            part.write_text(text.replace(DATA_LINES, "\n".join(toml_lines(lines))) + "\n", "utf-8")
    return [TABLE, *(f"grid-{place}.toml" for place in range(1, len(grids) + 1))]


def pilot_data(project: Project) -> str:
    """The text of the data set that `write_pilot` writes.

    What people were unsure about counts as absent where people are simulated, who are never unsure.
    """
    source, settings, _ = read_spec(project.data)
    table = str((project.folder / TABLE).resolve())
    settings |= {"labels": table, "unknown": "absent-in-train"}
    return spelled(source.name, settings)


def spelled(name: str, settings: dict[str, str]) -> str:
    """The text of a data set; its first setting is the main one."""
    main, *others = settings.items()
    return f"{name}:" + ",".join([main[1], *(f"{key}={value}" for key, value in others)])


def next_step(project: Project, states: Sequence[State]) -> str:
    """The command that brings the project on."""
    folder = quote(str(project.folder))
    for state in states:
        if len(state.open):
            return f"simkit receive {folder} ~/Downloads/answers-{state.order.id}-*.jsonl"
    grids = sorted(project.folder.glob("grid-*.toml"))
    runs = [project.folder / "runs" / grid.stem.removeprefix("grid-") for grid in grids]
    for grid, out in zip(grids, runs, strict=True):
        if not (out / "table.csv").exists():
            return f"simkit compare {quote(str(grid))} --out {quote(str(out))}"
    labelled = {image for state in states for image in state.answers["image"].unique()}
    left = len(states[0].order.images) - len(labelled)
    by_list, by_time = spent_in_all(project, states)
    rest = project.budget - (by_list if by_time is None else by_time)
    if grids and left > 0 and rest >= 1:
        folders = " ".join(quote(str(out)) for out in runs)
        return (
            f"simkit plan {folders} --budget {rest:.2f} --images {left} --prices "
            f"{quote(project.prices)}"
        )
    table, data = project.folder / TABLE, project.data
    labels = states[-1].order.folder / "labels.parquet"
    if table.exists():
        data, labels = pilot_data(project), table
    return (
        f"simkit train --method an --data {quote(data)} --labels {quote(str(labels))} --backbone "
        f"{project.backbone} --weights {quote(project.weights)} --out "
        f"{quote(str(project.folder / 'model'))}"
    )
