"""A project: images to be labelled within a budget, in a folder with its orders.

project/project.toml     data, classes, budget, prices, answers
project/pictures.csv     size of each image, and the reason for leaving it out
project/order1 ...       orders; see `simkit.orders.order`
project/labels.csv       made from the answers: the pilot as a labelled data set, with test images
project/answers.csv      made from the answers: the numbers of answers behind these labels
project/grid-1.toml ...  made from the answers: comparisons of schemes on the pilot
project/project_scores.parquet   the scores that the project started with, as logits
project/plan.json        the last plan; the next round orders its purchase
project/plan.html        the same as a page
project/model, scores.csv, tags.csv  the model trained on the labels, its scores of all images, and
    the decisions at its thresholds
project/state.json       which of these results are up to date; see `simkit.orders.project_state`
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.annotate.evaluation_set import complete_cost
from simkit.annotate.prices import DEFAULT, Prices, cost
from simkit.annotate.prices import prices as price_list
from simkit.annotate.schemes import make
from simkit.annotate.schemes.full_subset import FullSubset
from simkit.annotate.similarities import PROJECT_SCORES
from simkit.chance import Chance
from simkit.data import dataset
from simkit.data.dataset import read_spec, write_spec
from simkit.errors import BadInput
from simkit.files import expanded, readable, reading, toml_lines, whole
from simkit.labels.formats.base import write_lines
from simkit.orders.annotators import (
    annotators_option,
    files_to_fill,
    further_people,
    handover_command,
    in_place_of_new,
    reopened,
    team,
)
from simkit.orders.order import ABOUT, LABELS, NumberOfAnswers, Order, RoundSettings, effort_of
from simkit.orders.project_state import FILE as FILE
from simkit.orders.project_state import MODEL, PLAN, PLAN_PAGE, SCORES, TABLE, TAGS, record, start
from simkit.orders.receiving import DATA, OrderState, write_data
from simkit.orders.rounds import round_of
from simkit.orders.who_errs import price_of

if TYPE_CHECKING:
    from simkit.planning.plan import Plan
from simkit.planning import pilot as pilots
from simkit.planning.answers import FILE as ANSWERS
from simkit.planning.evidence import OF_PROJECT, joined, project_folder, saw_squares
from simkit.planning.pilot import PilotPlan
from simkit.quantities import spelled_rates
from simkit.registry import Positive, Share, build, setting, settle
from simkit.results.cells import NETWORK
from simkit.results.job_store import facts
from simkit.results.runs import read, read_errors
from simkit.results.test_split import Errors

FIRST, PICTURES = "order1", "pictures.csv"
EARLIER_SCORES = "given_scores.parquet"  # their name up to an early version of 0.2
DOWNLOADS = "~/Downloads/"
UNKNOWN_ERRORS = [[0.02, 0.02], [0.05, 0.05]]  # levels of flips while the errors are unknown
LEAST_ERRORS = 0.002  # of annotators; fewer tell nothing about levels
# Three people answer about images that show so many classes, within these shares of the images.
REPEATED_SHOWN = 50
LEAST_REPEATED, MOST_REPEATED = 0.05, 0.2


@dataclass(frozen=True)
class Project:
    """The settings of a project; `project.toml` has all fields except the folder."""

    example: ClassVar[str] = (
        'data = "folder:photos,labels=none", classes = ["cat", "dog"] and budget = 2000'
    )

    folder: Path
    data: str = setting(..., "the images, such as folder:photos,labels=none")
    classes: tuple[str, ...] = setting(..., "names of the classes to ask about")
    budget: Positive = setting(..., "dollars for all labels")
    prices: str = setting("hourly", "price list")
    answers: NumberOfAnswers = setting(1, "answers to each question")
    repeat: Share | None = setting(
        None,
        "share of the images about which three people answer, to measure people's errors; by "
        "default, enough to show about 50 present classes, from 5% to 20%",
    )
    per_image: Positive = setting(2.0, "assumed mean number of classes in an image")
    backbone: str = setting(NETWORK["backbone"], "frozen network that computes the features")
    weights: str = setting(NETWORK["weights"], "its weights; imagenet downloads torchvision's")
    seed: int = setting(0, "same seed, same questions")

    def __post_init__(self) -> None:
        settle(self, "project")
        _ = self.price_list  # a price list that does not exist is refused at once
        if not self.classes:
            raise BadInput("project: classes is empty; name the classes to ask about, as in "
                           'classes = ["cat", "dog"]')  # fmt: skip
        for name in (name for name in self.classes if name.lower() in ("file", "split")):
            raise BadInput(f"project: class {name!r} is called as a column of {TABLE}; rename it")
        if self.per_image > pilots.MOST_SHOWN * len(self.classes):
            raise BadInput(
                f"project: per_image is {self.per_image:g}; at most {pilots.MOST_SHOWN:.0%} of the "
                f"{len(self.classes)} classes are expected in an image; lower it"
            )

    @property
    def unlabelled(self) -> bool:
        """Whether the data are a folder of images without a table of labels."""
        return bool(read_spec(self.data)[1].get("labels") == "none")

    @property
    def price_list(self) -> Prices:
        """The price list, with `answers` answers to a question."""
        return dataclasses.replace(price_list(self.prices), workers=self.answers)

    def write(self) -> None:
        """Write `project.toml`. Call it last: the file marks the project as complete."""
        start(self.folder)
        values = dataclasses.asdict(self)
        del values["folder"]
        write_lines(self.folder / FILE, toml_lines(values))

    @staticmethod
    def read(folder: str | PathLike[str]) -> Project:
        """Read the project in a folder. Raises BadInput for a missing or invalid project.toml."""
        file = Path(folder) / FILE
        if not file.is_file():
            raise BadInput(
                f"{folder} holds no {FILE}; name the folder of a project, or start one with: "
                "simkit quickstart photos --classes names.txt --budget 2000"
            )
        with reading(file, "a project (TOML)", "correct it"):
            values = tomllib.loads(file.read_text("utf-8"))
            if "people" in values:  # up to version 0.2
                values.setdefault("answers", values.pop("people"))
            project = build(Project, {**values, "folder": Path(folder)}, "project")
        earlier, now = Path(folder) / EARLIER_SCORES, Path(folder) / PROJECT_SCORES
        if earlier.is_file() and not now.exists():
            raise BadInput(
                f"{earlier} has the scores of the project under a name that is not read any more; "
                f"rename it: {join(['mv', str(earlier), str(now)])}"
            )
        return project

    def repeated(self, images: int) -> float:
        """The share of so many images about which three people answer."""
        if self.repeat is not None:
            return self.repeat
        enough = REPEATED_SHOWN / self.per_image / max(images, 1)
        return min(max(enough, LEAST_REPEATED), MOST_REPEATED)

    @property
    def states(self) -> list[OrderState]:
        """All orders of the project with their answers, by name. Raises BadInput without any."""
        places = sorted(self.folder.glob(f"*/round-1/{ABOUT}"))
        if not places:
            raise BadInput(f"{self.folder} holds no order; restore the folder order1")
        orders = [Order.read(place.parents[1]) for place in places]
        first = orders[0].classes
        for names, what in (
            ([name for name in self.classes if name not in first], "does not ask about"),
            ([name for name in first if name not in self.classes], "asks about"),
        ):
            if names and orders[0].folder.name == FIRST:
                raise BadInput(
                    f"{self.folder / FILE}: classes was edited after {FIRST}, which {what} "
                    f"{', '.join(names)}; restore classes, and label further classes of the same "
                    "images in a project of their own: simkit quickstart IMAGES --classes FILE"
                )
        return [OrderState.of(order) for order in orders]

    def test_errors(self, states: Sequence[OrderState]) -> Errors | None:
        """Shares of present classes that the labels of the test images miss, and of absent ones
        that they report, as the answers measured them; None if they are unknown."""
        return joined(states[0].errors, self.answers, self.folder / FIRST)

    def pilot(self, images: int) -> PilotPlan | None:
        """The pilot to label first, of a number of images.

        None if there are too few images for a pilot: then all are labelled, or as many as the
        budget pays for. Raises BadInput if there are enough images and the budget is too small.
        """
        try:
            return pilots.plan_pilot(
                self.budget, prices=dataclasses.replace(self.price_list, name=self.prices),
                classes=len(self.classes), per_image=self.per_image, images=images,
            )  # fmt: skip
        except BadInput:
            everything = complete_cost(images, len(self.classes), self.price_list).dollars
            if images >= pilots.THIRD * pilots.SMALLEST and everything > self.budget:
                raise
            return None


def first_round(project: Project, order: Order, split: str, plan: PilotPlan | None) -> Order:
    """Add the first round to an order: complete labels of the pilot, at random images.

    Parameters
    ----------
    project : Project
    order : Order
        Without rounds.
    split : str
        The split to label.
    plan : PilotPlan or None
        None: label as many images as the budget pays for.

    Returns
    -------
    Order
    """
    images = 1.0 if plan is None else plan.images + plan.test_images
    repeat = project.repeated(len(order.images) if plan is None else int(images))
    settings = RoundSettings(
        project.data, project.classes, FullSubset.name, split=split, answers=project.answers,
        repeat=repeat, prices=project.prices, seed=project.seed, images=images,
    )  # fmt: skip
    budget = project.budget if plan is None else None
    first = round_of(settings, order, budget=budget, largest=plan is None)
    return dataclasses.replace(order, rounds=(first,))


def test_errors(spec: str) -> Errors | None:
    """The error rates of the test labels of a project's data (`Project.test_errors`): of an order's
    data.toml, or of any images with the project's labels.csv; None for other data."""
    labels = Path(str(read_spec(spec)[1].get("labels", "")))
    tables = [one for one in dataset.originals(spec) if one.name == labels.name == TABLE]
    homes = [table.parent for table in tables if (table.parent / FILE).is_file()]
    home = project_folder(spec) if Path(spec).is_file() else next(iter(homes), None)
    if home is None:
        return None
    project = Project.read(home)
    return project.test_errors(project.states)


def order_of(folder: Path, files: Sequence[Path]) -> Path:
    """The folder of the order that these files answer: the folder itself, or one of its project."""
    if not (folder / FILE).is_file():
        return folder
    orders = [state.order for state in Project.read(folder).states]
    texts = [readable(file, "answers").read_bytes() for file in files]
    fitting = [one for one in orders if all(one.id.encode() in text for text in texts)]
    for only in (orders, fitting):
        if len(only) == 1:
            return only[0].folder
    names = ", ".join(str(one.folder) for one in orders)
    raise BadInput(f"{folder} has several orders; give the folder of one order ({names})")


def project_of(order: Path) -> Project | None:
    """The project that contains an order's folder; None without one."""
    home = order.parent if order.name else order.absolute().parent
    return Project.read(home) if (home / FILE).is_file() else None


def spent(project: Project, states: Sequence[OrderState], *, measured: bool = False) -> float:
    """Dollars for all answers.

    Each person is paid for each answer, and the set-up is paid once.

    Parameters
    ----------
    project : Project
    states : sequence of OrderState
        All orders of the project.
    measured : bool, default False
        Use the measured times of an order, if there are any, instead of the price list: the sum of
        `spent_by_round`.

    Returns
    -------
    float
    """
    if measured:
        return round(sum(map(sum, spent_by_round(project, states))), 2)
    total = _at_prices(states, project.price_list)
    return total + _set_up(project) * (total > 0)


def _at_prices(states: Sequence[OrderState], listed: Prices) -> float:
    """Dollars for all answers at these prices, without the set-up."""
    return sum(
        cost(effort_of(rows, state.order.shape, 1), listed.once_set_up()).dollars
        for state in states for _, rows in state.received.groupby("worker")
    )  # fmt: skip


def with_spent(plan: Plan) -> Plan:
    """The plan with what its project has spent, as `simkit status` prints it, and with the cost of
    the answers in use as times the prices of the plan."""
    if plan.evidence.project is None:
        return plan
    project = Project.read(Path(plan.evidence.project))
    states = project.states
    used = [dataclasses.replace(state, received=state.answers) for state in states]
    paid, of_used = (spent(project, some, measured=True) for some in (states, used))
    listed = _at_prices(used, plan.prices)
    rate = (of_used - _set_up(project)) / listed if listed else 1.0
    later = math.fsum(
        dollars
        for state, rounds in zip(used, spent_by_round(project, used), strict=True)
        for part, dollars in zip(state.order.rounds, rounds, strict=True)
        if not part.table["image"].isin(_first_labelled(states)).all()
    )  # fmt: skip
    return dataclasses.replace(
        plan, spent=paid, aside=round(paid - of_used, 2), rate=rate, later_spent=later
    )


def _first_labelled(states: Sequence[OrderState]) -> NDArray[Any]:
    """The images of the pilot and of test rounds in the first order."""
    first = states[0].order
    return np.append(first.rounds[0].table["image"].unique(), first.test_images)


def spent_by_round(project: Project, states: Sequence[OrderState]) -> list[list[float]]:
    """Dollars for the answers of each round of each order, in whole cents.

    The pay that `simkit receive` prints if times were measured, and the price of all other answers.
    The set-up is part of the first round with answers.
    """
    found, set_up = list[list[float]](), _set_up(project)
    for state in states:
        rates, rest = state.prices(), state.untimed
        dollars = pd.Series(0.0, range(1, len(state.order.rounds) + 1))
        if rates is None:
            rest = state.received
        else:
            dollars += state.pay.sum().reindex(dollars.index, fill_value=0)
        prices = (rates or project.price_list).once_set_up()
        for (_, number), some in rest.groupby(["worker", "round"]):
            dollars[number] += round(cost(effort_of(some, state.order.shape, 1), prices).dollars, 2)
        if dollars.any():
            dollars[dollars.index[dollars > 0][0]] += set_up
            set_up = 0.0
        found.append(dollars.round(2).tolist())
    return found


def _set_up(project: Project) -> float:
    """Dollars that are paid once."""
    listed = project.price_list
    return listed.setup + listed.setup_class * len(project.classes)


def write_pilot(project: Project, state: OrderState) -> list[str]:
    """Write the first round of the first order as a labelled data set, with grids to compare on it.

    A quarter of its images are for testing, and so are all images of later test rounds. Existing
    grids are kept, because they may be edited; only their levels of errors follow the measured
    rates, until the grid is edited or compared. Nothing is written for other orders or labelled
    data. Returns the names of the files.
    """
    order = state.order
    if not project.unlabelled or order.folder.absolute().name != FIRST:
        return []
    # Labels of other images may be incomplete; later answers about these ones count.
    asked, split = pilot_split(project, order)
    tests = [part for part in order.rounds[1:] if part.settings.test]
    first = dataclasses.replace(order, rounds=(order.rounds[0], *tests))
    pilot = OrderState(first, state.received[state.received["image"].isin(asked)], state.aside)
    done = ~np.isin(asked, pilot.open["image"])
    codes = pilot.labels.codes[asked[done]].toarray()
    cells = np.array(["", "1", "0"])[codes]  # unknown, present, absent: -1 is the last one
    table = pd.DataFrame(cells, columns=order.classes)
    table.insert(0, "split", split[done])
    table.insert(0, "file", order.images[asked[done]])
    texts = {TABLE: table.to_csv(index=False), ANSWERS: _numbers_of_answers(pilot, asked, split)}
    # The network is not copied: a grid beside project.toml has that of the project.
    lines = "\n".join(toml_lines({"data": pilot_data(project)}))
    people = "\n".join(toml_lines({"habits": {"workers": project.answers}}))
    scored = cells[split[done] == "test"]
    scorable = bool(((scored == "1").any(0) & (scored == "0").any(0)).any())
    if done.any() and not scorable:
        warnings.warn(
            f"{project.folder / TABLE}: no class has both present and absent labels in the "
            f"{len(scored):,} test images, so all images are for training, and models are not "
            "scored; label more images for scores",
            stacklevel=1,
        )
    # With all images labelled at once no comparison could recommend a purchase.
    every = np.isin(np.arange(len(order.images)), asked).all()
    plan = project.pilot(len(order.images)) if scorable and not every else None
    before = project.folder / TABLE
    to_compare = not (project.folder / "runs" / "1").exists() or (
        before.is_file() and before.read_text("utf-8") != texts[TABLE]
    )
    for place, text in enumerate(() if plan is None else plan.grids, 1):
        file, top, levels = project.folder / f"grid-{place}.toml", lines, _levels(pilot.errors)
        if place == 1:  # which has the references
            top += "\n" + "\n".join(toml_lines({"errors": levels}))
        made = f"{text.replace(pilots.DATA_LINES, top)}\n{people}\n"
        follows = to_compare and (levels != UNKNOWN_ERRORS or pilot.aside)
        if not file.exists() or (follows and _unedited(file, made)):
            texts[file.name] = made
        elif place == 1 and pilot.aside:
            _note_levels(file, pilot)
    for name in texts:
        with whole(project.folder / name) as part:
            part.write_text(texts[name], "utf-8")
    # Models are scored on the pilot's test images.
    write_data(order, order.folder / DATA, pilot_data(project) if scorable else None)
    return [*texts]


def pilot_split(project: Project, order: Order) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Indices of the pilot's images and of further test images, and the split of each."""
    asked = np.unique(order.rounds[0].table["image"].to_numpy(np.int64))
    drawn = np.argsort(Chance.seeded(project.seed).of("test")(asked), kind="stable")
    split = np.full(len(asked), "train", object)
    split[drawn[: round(pilots.TEST * len(asked))]] = "test"
    further = order.test_images
    return np.append(asked, further), np.append(split, np.full(len(further), "test", object))


def _numbers_of_answers(pilot: OrderState, asked: NDArray[np.int64], split: NDArray[Any]) -> str:
    """A table of how many questions of each split have how many answers."""
    people = pilot.answers.groupby(["image", "class"])["worker"].nunique().rename("answers")
    parts = people.reset_index()["image"].map(pd.Series(split, asked)).rename("split")
    counts = pd.concat([parts, people.reset_index()["answers"]], axis=1).value_counts(sort=False)
    return counts.rename("questions").reset_index().to_csv(index=False)


def _levels(errors: tuple[float, float] | None) -> list[list[float]]:
    """Levels of errors of a comparison: once and twice those of the annotators, or of flips."""
    if errors is None or sum(errors) < LEAST_ERRORS:
        return UNKNOWN_ERRORS
    return [[round(min(times * rate, 0.4), 4) for rate in errors] for times in (1, 2)]


def _note_levels(file: Path, pilot: OrderState) -> None:
    """A note if a grid has other levels of errors than those measured without the answers that are
    set aside."""
    now = _levels(pilot.errors)
    try:
        levels = tomllib.loads(file.read_text("utf-8")).get("errors")
    except ValueError:  # somebody is editing it
        return
    if levels not in (None, now):
        who = sorted(pilot.names.get(worker, worker) for worker, _ in pilot.aside)
        now_are = "the errors are unknown" if pilot.errors is None else "now they are"
        warnings.warn(
            f"{file} has the errors {levels}, as edited or measured before answers of "
            f"{', '.join(dict.fromkeys(who))} were set aside; {now_are}, so that a new comparison "
            f"needs: errors = {now}",
            stacklevel=1,
        )


def _unedited(file: Path, made: str) -> bool:
    """Whether a grid differs from the one made now only in its levels of errors, and these are
    levels that `_levels` makes."""
    try:
        text = file.read_text("utf-8")
        levels = tomllib.loads(text).get("errors")
    except ValueError:  # somebody is editing it
        return False
    old, new = ([line for line in one.splitlines() if not line.startswith("errors = ")]
                for one in (text, made))  # fmt: skip
    if text == made or old != new:
        return False
    match levels:
        case [[float(miss), float(reported)], [float(), float()] as twice]:
            ours = [min(2 * rate, 0.4) for rate in (miss, reported)]
            return levels == UNKNOWN_ERRORS or bool(np.allclose(twice, ours, atol=2e-4))
    return False


def pilot_data(project: Project) -> str:
    """The text of the data set that `write_pilot` writes.

    In training images, unsure answers count as absent: simulated people are never unsure.
    """
    source, settings, _ = read_spec(project.data)
    table = str((project.folder / TABLE).resolve())
    settings |= {"labels": table, "unknown": "absent-in-train", "part": "yes", "val": 0}
    return write_spec(source.name, settings, fields(source)[0].name)  # type: ignore[arg-type]


def with_absolute_paths(text: str) -> str:
    """The text of a data set with absolute paths, so that it can be opened from any folder.

    A folder without a table of labels gets `labels=none`.
    """
    place = write_spec("folder", {"root": text}, "root")
    source, settings, toml = read_spec(place if os.path.isdir(text) else text)
    if toml is not None:
        return str(toml.resolve())
    paths = getattr(source, "paths", ())
    root = expanded(settings.get("root", ""))
    unlabelled = not (root / dataset.LABELS).exists()
    if source.name == "folder" and "labels" not in settings and unlabelled:
        settings["labels"] = "none"
    for key in {*paths} & {*settings}:
        if settings[key] not in ("", "none"):  # labels=none names no file
            settings[key] = absolute_path(settings[key])
    main = fields(source)[0].name  # type: ignore[arg-type]
    return write_spec(source.name, settings, main) if paths else text


def absolute_path(text: str) -> str:
    """The absolute path, if there is such a file or folder; other texts are names."""
    path = os.path.abspath(expanded(text))
    return path if os.path.exists(path) else text


def next_step(project: Project, states: Sequence[OrderState]) -> str:
    """The next command of the project, as text for a shell; after a remark if it needs a name."""
    words = _next_command(project, states)
    if not words:
        tags = project.folder / TAGS
        also = f", their tags in {tags}" if tags.is_file() else ""
        return f"nothing; the scores of all images are in {project.folder / SCORES}{also}"
    # Unquoted, so that the shell expands the pattern of the downloads.
    text = " ".join(["simkit", *(w if w.startswith(DOWNLOADS) else quote(w) for w in words)])
    remark = in_place_of_new(words).removeprefix("; ")
    return f"{remark}: {text}" if remark else text


def model_of(project: Project, states: Sequence[OrderState]) -> dict[str, Any]:
    """The model of the project: `scored` by its training, the command that evaluates it on new
    labelled images, whether it is `current`, and its `tags` with what more of them would take:
    `train` has the highest lower tag precision that tags more classes, and `images` of those that
    are `left` would tag `more` classes, for `dollars`. Empty without a model."""
    if not (model := _values(project.folder / MODEL)):
        return {}
    words = [*_predict(project, model, "folder:NEW,labels=NEW.csv", "new_scores.csv"), "--report"]
    command = " ".join(map(quote, ["simkit", *words, str(project.folder / "model.html")]))
    limits = model.get("thresholds", [])
    tagged, options = sum(one is not None for one in limits), model.get("tag_options", {})
    # Models of earlier versions have the number for twice as many images alone.
    more = options.get("more", {"100%": options["twice"]} if "twice" in options else {})
    numbers = {int(model["thresholds_from"] * float(of[:-1]) / 100): n for of, n in more.items()}
    left = not_asked(states)
    images = max((number for number in numbers if 0 < number <= left), default=0)
    prices = dataclasses.replace(states[-1].rates(), workers=project.answers)
    lower = next((at for at, n in options.get("lower", {}).items() if n > tagged), None)
    train = _training(project, states[-1].order, precision=lower) if lower else []
    tags = {
        "classes": tagged, "of": len(limits), "precision": model.get("tag_precision", 0.0),
        "lower": options.get("lower", {}), "images": images, "left": left,
        "least": min(numbers, default=0), "more": numbers.get(images),
        "dollars": round(complete_cost(images, len(project.classes), prices).dollars, 2),
        "train": " ".join(map(quote, ["simkit", *train])) if lower else "",
    }  # fmt: skip
    current = MODEL in record(project.folder)
    return {"scored": model.get("scored", {}), "evaluate": command, "current": current,
            "tags": tags if limits else {}}  # fmt: skip


def not_asked(states: Sequence[OrderState]) -> int:
    """The number of images about which no order of a project asks."""
    orders = [state.order for state in states]
    asked = {str(one.images[row]) for one in orders for row in one.table["image"].unique()}
    return sum(str(image) not in asked for image in orders[0].images)


def plan_of(project: Project, order: Order) -> dict[str, Any]:
    """The plan of the project: `today` and `expected` mAP, `dollars` of the purchase, its `page`,
    whether it is `current`, and what was `promised` of the labels that are bought: by this plan if
    the last round of the order followed it, or by the one before; empty without a plan."""
    file, page = project.folder / PLAN, project.folder / PLAN_PAGE
    plan = _values(file)
    if "today" not in plan:
        return {}
    bought, current = plan["purchase_needed"], PLAN in record(project.folder)
    lines = [line["dollars"] for line in plan.get("bill", ()) if line["when"] != "before"]
    schemes = [make(str(part["scheme"])).name for part in plan.get("order", ()) if bought]
    last = [part.settings.parsed_scheme.name for part in order.rounds[1:]][-1:]
    promised, chosen = plan.get("promised") or {}, plan["chosen"]
    if not current and {*schemes} & {*last}:
        band = chosen.get("band90")
        promised = (
            {"map": chosen["median"], "band90": band, "before": plan["today"]} if band else {}
        )
    return {
        "today": plan["today"], "expected": chosen["median"] if bought else None,
        "promised": promised if promised.get("band90") else {},
        "dollars": round(math.fsum(lines) or chosen["dollars"], 2) if bought else 0.0,
        "page": str(page) if page.is_file() else "", "current": current,
    }  # fmt: skip


def _predict(project: Project, model: dict[str, Any], data: str, out: str) -> list[str]:
    trained = model["history"]["settings"]
    weights = trained.get("weights", "its own")
    if weights == Path(project.weights).name:  # models store a weights file without its path
        weights = project.weights
    return [
        "predict", str((project.folder / MODEL).parent), "--data", data,
        *_network(trained.get("backbone") or project.backbone, weights),
        "--out", str(project.folder / out),
    ]  # fmt: skip


def _network(backbone: str, weights: str) -> list[str]:
    stated = ["--weights", weights] if weights not in ("", "its own") else []
    return ["--backbone", backbone, *stated]


def _has_network(runs: Path, project: Project) -> bool:
    """Whether a comparison used the network of the project, which may have been edited since, on
    whole images."""
    grid = runs / "grid.toml"
    if not grid.is_file():
        return True
    with reading(grid, "a grid (TOML)"):
        values = tomllib.loads(grid.read_text("utf-8"))
    if (runs / "table.parquet").is_file() and saw_squares(facts(read(runs)), values):
        return False
    if values.get("features") and not values.get("pictures"):
        return True  # no network computed them
    theirs = {key: getattr(project, key) for key in NETWORK}
    return all(values.get(key, theirs[key]) == theirs[key] for key in NETWORK)


def _next_command(project: Project, states: Sequence[OrderState]) -> list[str]:
    """The arguments of the next command; empty if nothing is left to do."""
    current, folder = record(project.folder), project.folder

    for state in states:
        for name in reopened(state, state.open):
            return handover_command(state, name)[1:]
        if len(state.open):
            files = files_to_fill(state)
            tables = [str(file) for form, file in files if form in ("csv", "jsonl")]
            if not tables or "html" in dict(files):
                tables = [f"{DOWNLOADS}answers-{state.order.id}-*.jsonl"]
            return ["receive", str(folder), *tables]
    # In whole cents, as `simkit status` prints it.
    rest = round(project.budget, 2) - round(spent(project, states, measured=True), 2)
    for state in states:
        if len(state.ties_to_ask) and rest >= 1:
            price = min(rest, price_of(state, state.ties_to_ask))
            return ["order", "--next", str(state.order.folder), "--ties", "--budget",
                    f"{price:.2f}", *further_people(state)]  # fmt: skip
    plan, runs = _values(folder / PLAN), []
    if (left := min(rest, _left_to_search(states[-1], plan))) >= 0.01:
        return _order_next(states[-1], "--budget", f"{left:.2f}")
    for grid in sorted(folder.glob("grid-*.toml")):
        runs.append(str(folder / "runs" / grid.stem.removeprefix("grid-")))
        table = Path(runs[-1]) / "table.csv"  # older than the labels if questions were asked again
        known = table.exists() and table.relative_to(folder).as_posix() in current
        if not known or not _has_network(table.parent, project):
            if states[0].order.exhausted(states[0].joined):
                runs = []  # all is labelled, so that a comparison could recommend no purchase
                break
            return ["compare", str(grid), "--out", runs[-1]]
    if purchase := _purchase(project, states, runs, rest, plan if PLAN in current else None):
        # A plan that is priced by a search with the pilot's own model needs scores of all images.
        searched = plan.get("searched") if "--plan" in purchase else None
        if searched and searched.get("model") == OF_PROJECT:
            return [*purchase, "--scores", str(folder / PROJECT_SCORES)]
        if searched is None:
            return purchase
        if {MODEL, SCORES} <= current:
            return [*purchase, "--scores", str(folder / SCORES)]
    if MODEL not in current:
        return _training(project, states[-1].order)
    if SCORES not in current:
        people = [word for one in states for word in ("--labels", str(one.order.folder / LABELS))]
        words = _predict(project, _values(folder / MODEL), project.data, SCORES)
        return [*words, *_unreadable(project), "--tags", str(folder / TAGS), *people]
    return []


def _unreadable(project: Project) -> list[str]:
    """The option without which a command stops at the images that quickstart could not read."""
    if not (file := project.folder / PICTURES).is_file():
        return []
    with reading(file, "a table of images (CSV)"):
        widths = pd.read_csv(file, usecols=["width"])["width"]
    return ["--unreadable", "skip"] if (widths == 0).any() else []


def _training(project: Project, order: Order, *, precision: str | None = None) -> list[str]:
    """The arguments of the command that trains the project's model on the labels of an order.

    precision: of its tags; by default that of the model so far, as chosen by whoever trained it.
    """
    method = _values(project.folder / PLAN).get("trained_as") or {"method": "an"}
    if precision is None and (model := _values(project.folder / MODEL)).get("thresholds"):
        precision = f"{100 * model['tag_precision']:g}%"
    return [
        "train", *(word for key, value in method.items() for word in (f"--{key}", str(value))),
        "--data", str(order.folder / DATA), "--labels", str(order.folder / LABELS),
        *_network(project.backbone, project.weights), "--report",
        *(["--tag-precision", precision] if precision else []),
        "--out", str((project.folder / MODEL).parent),
    ]  # fmt: skip


def _order_next(state: OrderState, *words: str) -> list[str]:
    """The arguments of a further round of an order, for the same annotators."""
    return ["order", "--next", str(state.order.folder), *words, *annotators_option(state)]


def _left_to_search(state: OrderState, plan: dict[str, Any]) -> float:
    """Dollars of a plan's search that its rounds so far have not used; 0 if nothing is left to ask.

    The number of looks depends on the answers, so that a search takes several rounds.
    """
    order, last = state.order, state.order.rounds[-1]
    parts = [part for part in plan.get("order", ()) if not part.get("again")]
    # Rounds that ask again, such as about ties, have the settings of the search, but no looks.
    alike = [dataclasses.replace(one.settings, repeat=0.0, answers=1) for one in order.rounds]
    rounds = [
        n for n, (part, settings) in enumerate(zip(order.rounds, alike, strict=True), 1)
        if settings == alike[-1] and (part.table["kind"] == "search").any()
    ]  # fmt: skip
    searching = rounds and not last.settings.test
    if not searching or not parts or not len(order.ask(last.settings, state.joined).questions):
        return 0.0
    name = last.settings.parsed_scheme.name
    planned = [float(part["dollars"]) for part in parts if make(str(part["scheme"])).name == name]
    rows = state.received[state.received["round"].isin(rounds)]
    return sum(planned[:1]) - cost(effort_of(rows, order.shape, 1), state.rates()).dollars


def _purchase(
    project: Project, states: Sequence[OrderState], runs: list[str], rest: float,
    plan: dict[str, Any] | None,
) -> list[str]:  # fmt: skip
    """The command that plans or orders the next round; empty if there is nothing to buy.

    rest: dollars.  plan: the values of the plan made after the last round; None without one.
    """
    first, order = states[0].order, states[-1].order
    left = len(first.images) - len(_first_labelled(states))
    report = ["--report", str(project.folder / PLAN)]
    # Asking again can be planned where a comparison measured the effect of errors.
    judged = any(read_errors(folder).num_rows for folder in runs if Path(folder).is_dir())
    if not runs or rest < 1 or (left <= 0 and not judged):
        return []
    if plan is not None:
        if tests := plan.get("test_images"):
            return _order_next(states[0], *order_of_tests(tests))
        needed = plan.get("purchase_needed", True)
        return _order_next(states[-1], "--plan", report[1]) if needed else []
    measured, errors = order.folder / "measured.toml", states[0].errors
    listed = str(measured) if measured.exists() else project.prices
    how = ["--prices", listed] if listed != DEFAULT else []
    labelled = _first_labelled(states)[: None if order.folder == first.folder else 0]
    further = [not part.table["image"].isin(labelled).all() for part in order.rounds[1:]]
    if left <= 0 and errors is None:
        return []
    if errors is not None:
        rounded = round(errors[0], 4), round(errors[1], 4)
        how += ["--errors", spelled_rates(rounded)]
    if any(further):  # --continue uses the measured prices and errors
        how = ["--continue", str(order.folder)]
    if names := team(states[-1]):
        how += ["--annotators", str(len(names))]
    return ["plan", *runs, "--budget", f"{rest:.2f}", "--images", str(max(left, 0)), *how, *report]


def order_of_tests(tests: Mapping[str, Any]) -> list[str]:
    """The options of `simkit order --next` that buy the `test_images` of a plan."""
    if "answers" in tests:
        return ["--answers", str(tests["answers"]), "--split", "test"]
    return ["--test", str(tests["images"])]


def _values(file: Path) -> dict[str, Any]:
    """The values of a plan or model; empty without one."""
    if not file.is_file():
        return {}
    with reading(file, "JSON"):
        return dict(json.loads(file.read_text("utf-8")))
