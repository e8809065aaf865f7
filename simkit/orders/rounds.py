"""Make a round of an order: choose open questions within a budget, add gold, form tasks, write."""

from __future__ import annotations

import dataclasses
import shutil
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.annotate import schemes
from simkit.annotate.budget import Ladder, largest_affordable
from simkit.annotate.prices import Prices, cost
from simkit.annotate.simulate import how_many
from simkit.chance import Chance
from simkit.data import Dataset, Pictures
from simkit.data import open as open_data
from simkit.data.images import FilePictures
from simkit.errors import BadInput
from simkit.files import whole_folder
from simkit.labels.effort import Effort
from simkit.labels.names import plain
from simkit.labels.partial import PartialLabels
from simkit.orders import annotators as people
from simkit.orders import label_studio, page, project_state, sheet
from simkit.orders.order import SCHEMA, Order, Round, RoundSettings, effort_of
from simkit.orders.order_crowd import JoinedAnswers
from simkit.orders.receiving import OrderState
from simkit.quantities import exact_money

REPEATED = 3  # answers to a question that measures errors: fewer do not say who errs
PAGE = 24  # most classes of one image that are shown together


def round_of(
    settings: RoundSettings,
    order: Order,
    joined: JoinedAnswers = JoinedAnswers(),
    *,
    budget: float | None = None,
    prices: Prices | None = None,
    largest: bool = False,
    answers: PartialLabels | None = None,
    opened: pd.DataFrame | None = None,
    again: pd.DataFrame | None = None,
    only: pd.DataFrame | None = None,
) -> Round:
    """Choose the questions of the next round.

    Parameters
    ----------
    settings : RoundSettings
        Settings of the round.
    order : Order
        Gives images, hierarchy, scores, features and earlier rounds.
    joined : JoinedAnswers
        The answers so far.
    budget : float, optional
        Dollars for this round, gold questions included. The first questions that it pays for are
        listed.
    prices : Prices, optional
        Of the questions, for `budget`, as `OrderState.rates`; by default the list of the settings.
    largest : bool, default False
        Replace the scheme's amount, or the number of images if the scheme has no amount, by the
        largest one that the budget pays for.
    answers : PartialLabels, optional
        Labels known to be correct, for gold questions.
    opened : DataFrame, optional
        Open questions of earlier rounds, as `OrderState.open`; they are not asked again.
    again : DataFrame, optional
        Ask these questions, as of `OrderState.again`, in place of those of the scheme.
    only : DataFrame, optional
        Ask only about these images, or pairs of image and class, in this order; as of
        `sheet.pairs`.

    Returns
    -------
    Round
        With a task for each group of questions that are shown together.

    Raises
    ------
    BadInput
        If no question is left, or the budget pays for none.
    """
    if opened is None:
        opened = SCHEMA.empty_table().to_pandas()
    if again is None and order.exhausted(joined) and not len(opened):
        raise BadInput(
            f"all {len(joined.places):,} questions are answered; nothing is left to order, but "
            f"other people may answer them again: --answers {settings.answers + 2}"
        )
    prices = prices or order.prices_of(settings)
    if budget is not None and largest:
        settings = _bought(settings, order, joined, budget, prices=prices, opened=opened)
        budget = None
    asked = order.ask(settings, joined)
    new = in_turn(_not_open(asked.questions, opened)) if again is None else again
    if only is not None:
        new = _about(new, only)
    questions = new.assign(gold=np.int8(0))
    if not len(questions):
        raise BadInput(_nothing_left(settings, order, joined, opened))
    if budget is not None:
        listed_only = again is not None or only is not None  # a list keeps its own order
        if not listed_only:
            questions = _drawn(questions, settings)

        def spent(count: int) -> float:
            effort = _effort(questions.head(count), settings, order, asked.labels)
            return cost(effort, prices).dollars

        paid = bisect_right(range(1, len(questions) + 1), budget, key=spent)
        if not paid:
            raise BadInput(f"{exact_money(budget)} does not pay for one question; raise the budget")
        questions = _whole(questions, paid)
        questions = questions if listed_only else questions.sort_index()
    gold = _gold(settings, order, questions, answers) if settings.gold else questions.head(0)
    first = 1 + max((int(part.table["question"].max()) for part in order.rounds), default=0)
    table = _in_tasks(questions, gold, Chance.seeded(settings.seed).of("order", first))
    table["question"] = first + np.arange(len(table))
    each = _with_answers(table, settings)["answers"].where(table["gold"] == 0, 1).astype(np.int64)
    columns = list(SCHEMA.names)
    if (each != settings.answers)[table["gold"] == 0].any():
        table, columns = table.assign(answers=each), [*columns, "answers"]
    return Round(settings, table[columns].reset_index(drop=True))


def _nothing_left(
    settings: RoundSettings, order: Order, joined: JoinedAnswers, opened: pd.DataFrame
) -> str:
    """The error about a round without questions, with the number of images that has some."""
    possible = len(order.images) - len(order.left_out(settings))

    def has_questions(images: int) -> bool:
        asked = order.ask(dataclasses.replace(settings, images=images), joined)
        return bool(len(_not_open(asked.questions, opened)))

    text, count = "no question is left to ask", how_many(settings.images, len(order.images))
    text += f" about {count:,} of the {possible:,} images"
    if len(opened):
        text += f" while {len(opened):,} questions are open; receive their answers first, or "
    else:
        text += "; "
    text += "raise the amount of the scheme"
    fewest = 1 + bisect_left(range(1, possible + 1), True, key=has_questions)
    if fewest <= possible:
        text += (f", or give --images {fewest} or more, as earlier rounds ask about all of the "
                 f"first {fewest - 1:,} images of the order")  # fmt: skip
    return text + (f", or ask again with --answers {settings.answers + 2}" if order.rounds else "")


def _drawn(questions: pd.DataFrame, settings: RoundSettings) -> pd.DataFrame:
    """The questions by image in random order, so that those within a budget are about a random part
    of the images; a search looks at images in an order of its own."""
    questions = questions.reset_index(drop=True)
    if (questions["kind"] == "search").any():
        return questions
    turn = Chance.seeded(settings.seed).of("budget")(questions["image"].to_numpy())
    return questions.iloc[np.argsort(turn, kind="stable")]


def _whole(questions: pd.DataFrame, count: int) -> pd.DataFrame:
    """The first questions; if images are labelled completely, none of an image in part."""
    first, rest = questions.head(count), questions.iloc[count:]
    if len(rest) and (first["kind"] == "sweep").all():
        begun = first["image"] == rest["image"].iloc[0]
        first = first if begun.all() else first[~begun]
    return first


def _with_answers(questions: pd.DataFrame, settings: RoundSettings) -> pd.DataFrame:
    """The questions with a column answers; three people answer about a share of the images.

    Whole images are repeated, because questions about one image are shown and paid together.
    """
    if "answers" in questions:
        return questions
    each = np.full(len(questions), settings.answers)
    asked = ((questions["kind"] != "name") & (questions["gold"] == 0)).to_numpy()
    images = np.unique(questions["image"][asked])
    numbers = Chance.seeded(settings.seed).of("repeat")(images)
    repeated = images[np.argsort(numbers, kind="stable")[: round(settings.repeat * len(images))]]
    each[asked & np.isin(questions["image"], repeated)] = max(REPEATED, settings.answers)
    return questions.assign(answers=each)


def _about(questions: pd.DataFrame, only: pd.DataFrame) -> pd.DataFrame:
    """The questions about these images or pairs, in their order; a note counts those without one.

    Raises BadInput if none is left.
    """
    by = [*only.columns]
    kept = questions.merge(only.assign(turn=range(len(only))), on=by)
    kept = kept.sort_values("turn", kind="stable")
    missing = len(only) - kept["turn"].nunique()
    what = "pairs of image and class" if "class" in only else "images"
    if not len(kept):
        raise BadInput(
            f"none of the {len(only):,} {what} of --only is among the questions of this round; "
            "name a scheme that asks about them, such as --scheme full-subset, or ask answered "
            "questions again with --answers"
        )
    if missing:
        warnings.warn(
            f"{what} of --only that are not among the questions of this round, left out: "
            f"{missing:,} of {len(only):,}",
            stacklevel=3,
        )
    if "class" in only:  # one class alone takes longer than one of all classes of an image
        kept["kind"] = kept["kind"].replace("sweep", "verify")
    return kept.drop(columns="turn")


def _not_open(questions: pd.DataFrame, opened: pd.DataFrame) -> pd.DataFrame:
    """The questions that are not open yet; gold questions do not count, as they give no labels."""

    def places(table: pd.DataFrame) -> pd.MultiIndex:
        """Image and class of each question, or image and number of a naming."""
        naming = table["kind"] == "name"
        return pd.MultiIndex.from_arrays([
            naming, table["image"], table["class"].mask(naming, table["nth"]),
        ])  # fmt: skip

    return questions[~places(questions).isin(places(opened[opened["gold"] == 0]))]


def _bought(
    settings: RoundSettings,
    order: Order,
    joined: JoinedAnswers,
    budget: float,
    *,
    prices: Prices,
    opened: pd.DataFrame,
) -> RoundSettings:
    """The settings with the largest amount that the budget pays for."""

    def annotate(scheme: schemes.Scheme, images: int) -> Effort:
        tried = dataclasses.replace(settings, scheme=schemes.spell(scheme), images=images)
        asked = order.ask(tried, joined)
        questions = _not_open(asked.questions, opened)
        if (questions["kind"] == "search").any():
            raise BadInput(
                f"{scheme.name} searches, and the number of looks is not known before; give its "
                f"amount, such as '{scheme.name}({scheme.amount}=50)', and --budget limits each "
                "round"
            )
        return _effort(questions, settings, order, asked.labels)

    N, L = how_many(settings.images, len(order.images)), len(settings.classes)
    ladder = Ladder.of(annotate, (N, L), settings.parsed_scheme, prices)
    trial, _ = largest_affordable(ladder, budget)
    return dataclasses.replace(settings, scheme=schemes.spell(trial.scheme), images=trial.images)


def _effort(
    questions: pd.DataFrame, settings: RoundSettings, order: Order, so_far: PartialLabels
) -> Effort:
    """The effort of these questions, the gold ones among them, and a machine in the first round."""
    shape = len(order.images), len(settings.classes)
    images = np.arange(round(settings.gold * len(questions))) % max(1, shape[0])
    gold = pd.DataFrame({"kind": "verify", "image": images, "class": 0})
    machine = 0 if order.rounds else so_far.effort.machine
    gold["answers"] = settings.answers
    asked = pd.concat([_with_answers(questions.assign(gold=0), settings), gold])
    return effort_of(asked, shape, asked["answers"], machine)


def in_turn(questions: pd.DataFrame) -> pd.DataFrame:
    """The same questions with the classes of a search in turn, so that a cut is fair to them."""
    turn = questions.groupby(["kind", "class"]).cumcount().where(questions["kind"] == "search", 0)
    return questions.iloc[np.argsort(turn.to_numpy(), kind="stable")]


def _gold(
    settings: RoundSettings, order: Order, questions: pd.DataFrame, answers: PartialLabels | None
) -> pd.DataFrame:
    """Gold questions: pairs with a known answer, half of them present if there are enough."""
    wanted = round(settings.gold * len(questions))
    if answers is None:
        raise BadInput(
            "gold questions need known answers; give --known, a file of labels of the order's "
            "classes, or --gold 0 for no gold questions"
        )
    table = sheet.known(answers, order.images, settings.classes).assign(kind="verify", nth=0)
    pair = ["image", "class"]
    asked = pd.concat([questions[pair], *(part.table[pair] for part in order.rounds)])
    new = ~pd.MultiIndex.from_frame(table[pair]).isin(pd.MultiIndex.from_frame(asked))
    table = table[new]
    numbers = Chance.seeded(settings.seed).of("gold", len(order.rounds))(
        table["image"], table["class"]
    )
    drawn = table.iloc[np.argsort(numbers, kind="stable")]
    # Present and absent ones in turn; when those of one kind are used up, the others follow.
    turn = drawn.assign(turn=drawn.groupby("gold").cumcount(), absent=drawn["gold"] < 0)
    chosen = turn.sort_values(["turn", "absent"], kind="stable").head(wanted)
    if len(chosen) < wanted:
        share = 100 * len(chosen) // len(questions)
        mend = f"lower --gold to {share}%" if share else "leave --gold and --known out"
        raise BadInput(
            f"{wanted:,} gold questions are needed, and --known has {len(chosen):,} labels about "
            f"which the order does not ask; {mend}, or give more labels"
        )
    if chosen["absent"].nunique() == 1:
        kinds = ("present", "absent") if not chosen["absent"].any() else ("absent", "present")
        warnings.warn(
            "the answer to all {:,} gold questions is {}, so errors on {} classes are not "
            "measured; give --known labels of both kinds".format(wanted, *kinds),
            stacklevel=3,
        )
    return chosen.sort_values("absent", kind="stable").drop(columns=["turn", "absent"])


def _in_tasks(questions: pd.DataFrame, gold: pd.DataFrame, chance: Chance) -> pd.DataFrame:
    """All questions by task, with gold ones among them; tasks are numbered from 0."""
    # A search is about one class at a time; other questions about an image are shown together.
    searching = questions["kind"] == "search"
    of_image = questions.groupby(["kind", "image"])
    total, place = of_image["image"].transform("size"), of_image.cumcount()
    pages = np.ceil(total / PAGE)  # of about as many classes each
    page = (place * pages // total).astype(np.int64)
    keys = {"of_class": questions["class"].where(searching, -1), "page": page.where(~searching, 0)}
    table = questions.assign(**keys).sort_values("of_class", kind="stable")
    table["at"] = table.groupby(["of_class", "kind", "image", "page"], sort=False).ngroup() * 1.0
    tasks = int(table["at"].max()) + 1
    between = chance(np.arange(len(gold))) / 2.0**64 * tasks
    table = pd.concat([table, gold.assign(at=between)]).sort_values("at", kind="stable")
    return table.assign(task=pd.factorize(table["at"])[0])


def write_round(
    order: Order, forms: Collection[str], image_root: str = "",
    labels: PartialLabels | None = None, described: Path | None = None, *,
    annotators: Sequence[str] = (),
) -> list[str]:  # fmt: skip
    """Write the last round and its files for people; returns the paths.

    forms: html, csv, jsonl or label-studio.  labels: known ones, for examples in the instructions.
    described: instructions with descriptions of the classes; by default those of the last round.
    annotators: who shares the images of the round; without them, everybody gets all.
    """
    division = people.divide(order, annotators) if annotators else None
    classes = sheet.descriptions(order, described)
    questions = order.table[order.table["round"] == len(order.rounds)]
    project_state.record(order.folder.absolute().parent)  # this round makes the plan out of date
    with whole_folder(order.round_folder) as place:
        files = _forms(order, place, forms, image_root, shown=sheet.shown(classes),
                       parts=people.parts(order, len(order.rounds), division))  # fmt: skip
        if division is not None:
            files.append(people.write(order, division, place))
        files.append(sheet.instructions(order, questions, place, classes, labels))
        order.write(place)
    return [str(order.round_folder / file.relative_to(place)) for file in files]


def export(state: OrderState, forms: Collection[str], image_root: str = "") -> list[str]:
    """Write the open questions of the last round in these forms (html, csv, jsonl or label-studio),
    beside the files that it has and for the same annotators; returns the paths. Answers to any form
    count.

    image_root: where Label Studio finds the images; by default, its local files.
    """
    order = state.order
    parts = [one.open for one in people.waiting(state) if one.part.round == len(order.rounds)]
    if not parts:
        raise BadInput(f"no question of round {len(order.rounds)} of {order.folder} waits for an "
                       "answer, so nothing is left to export; ask again with --next "
                       f"{order.folder} --answers")  # fmt: skip
    for part in parts:
        for form, file in people.files_of(order, part):
            if form in forms:
                raise BadInput(f"{file} exists, and may have been sent: answers to it count; to "
                               "write the questions that still wait, move it out of the folder "
                               "first, or name another form with --to")  # fmt: skip
    return _exported(order, forms, image_root, parts)


def hand_over(
    state: OrderState, name: str, leaver: str = "", *,
    forms: Collection[str] = (), image_root: str = "",
) -> tuple[list[people.Part], list[str], list[str]]:  # fmt: skip
    """Give an annotator the open questions of somebody who leaves, or those that no annotator has,
    in files of their own.

    The old files are removed; answers to them still count. The new files have names of their own.

    Parameters
    ----------
    state : OrderState
    name : str
        Who gets the questions.
    leaver : str
        In whose place; by default, the questions are those that no annotator has.
    forms : collection of str
        As of `export`; by default those of the old files.
    image_root : str
        As of `export`.

    Returns
    -------
    list of Part
        The parts of the new annotator and, without a name, those that only others can answer.
    list of str
        The written files.
    list of str
        The removed files and folders.

    Raises
    ------
    BadInput
        As `annotators.replaced` and `annotators.extended`.
    """
    given, written, removed = list[people.Part](), list[str](), list[str]()
    divisions = people.replaced(state, leaver, name) if leaver else people.extended(state, name)
    for number, division in divisions.items():
        order = dataclasses.replace(state.order, rounds=state.order.rounds[:number])
        before = people.read(order, number)
        assert before is not None
        # Parts are rewritten where their questions change: one leaves, the other has new ones.
        old, new = (
            {part.suffix: part for part in people.parts(order, number, who)}
            for who in (before, division)
        )
        same = {suffix for suffix in {*old} & {*new} if [*old[suffix].questions["question"]]
                == [*new[suffix].questions["question"]]}  # fmt: skip
        gone = [file for suffix in {*old} - same for file in people.files_of(order, old[suffix])]
        changed = [people.unanswered(state, new[suffix]) for suffix in new if suffix not in same]
        changed = [part for part in changed if len(part.questions)]
        changed = [people.next_turn(order, part) for part in changed]
        now = forms or {form for form, _ in gone} or ("html",)
        for _, file in gone:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
            removed.append(str(file))
        files = _exported(order, now, image_root, changed)
        files.append(str(people.write(order, division, order.round_folder)))
        written += files
        removed = [file for file in removed if file not in files]
        given += changed
    return given, written, removed


def _exported(
    order: Order, forms: Collection[str], image_root: str, parts: Sequence[people.Part]
) -> list[str]:
    """Write parts of the last round, which is stored already; returns the paths."""
    described = order.round_folder / "instructions.md"
    shown = sheet.shown(sheet.descriptions(order, described if described.is_file() else None))
    files = _forms(order, order.round_folder, forms, image_root, shown=shown, parts=parts)
    return [*map(str, files)]


def _forms(
    order: Order, place: Path, forms: Collection[str], image_root: str, *,
    shown: str, parts: Sequence[people.Part],
) -> list[Path]:  # fmt: skip
    """Write the parts of the last round in these forms into a folder.

    shown: the instructions on pages.
    """
    files: list[Path] = []
    if "html" in forms:
        pictures, rows = _pictures(order)
        for part in parts:
            files += page.write(
                order, part, place, pictures=pictures, rows=rows, instructions=shown
            )
    files += [
        sheet.write(order, part.questions, place, jsonl=form == "jsonl", suffix=part.suffix,
                    annotator=part.annotator)
        for form in ("csv", "jsonl") if form in forms for part in parts
    ]  # fmt: skip
    if "label-studio" in forms:
        addresses = _addresses(order, image_root)
        for part in parts:
            folder = place / f"label-studio{part.suffix}"
            files += label_studio.write(order, part.questions, folder, addresses)
    return files


def _addresses(order: Order, root: str) -> list[str]:
    """Where Label Studio finds each image of the order; a note on those that browsers do not show.

    root: "" for its local files, in a folder of the same name.
    """
    lost = root and order.settings.split not in _opened(order).pictures
    pictures, rows = (None, order.images) if lost else _pictures(order)
    folder = getattr(pictures, "folder", Path())
    root = root or f"/data/local-files/?d={folder.resolve().name}/"
    if not isinstance(pictures, FilePictures):
        return [root + quote(str(image)) for image in order.images]
    asked = np.unique(order.rounds[-1].table["image"])
    hidden = [pictures.files[row] for row in rows[asked] if not pictures.in_browsers(int(row))]
    if hidden:
        warnings.warn(
            "images that browsers and Label Studio show too dark or not at all: "
            f"{len(hidden):,} of {len(asked):,}, such as {hidden[0]}; convert them to JPEG, or use "
            "--to html",
            stacklevel=3,
        )
    return [root + quote(pictures.files[row]) for row in rows]


def _pictures(order: Order) -> tuple[Pictures, NDArray[np.integer]]:
    """The pictures of the order's data, and the row of each image among them."""
    settings, data = order.settings, _opened(order)
    if settings.split not in data.pictures:
        raise BadInput(f"{settings.data} has no pictures to show; give --to csv")
    return data.pictures[settings.split], rows_in(order, data)


def _opened(order: Order) -> Dataset:
    """The data of an order."""
    with warnings.catch_warnings(action="ignore"):  # they were shown when the order was made
        return open_data(order.settings.data)


def file_names(order: Order, terms: RoundSettings) -> list[str]:
    """The names of the files of an order's images; empty if they are unknown. Raises BadInput."""
    with warnings.catch_warnings(action="ignore"):  # they were shown when the order was made
        data = open_data(terms.data)
    names = data.file_names(terms.split)
    return [names[row] for row in rows_in(order, data, terms)] if names else []


def rows_in(order: Order, data: Dataset, terms: RoundSettings | None = None) -> NDArray[np.integer]:
    """(N,) the row of each image of the order in its data. Raises BadInput."""
    terms = terms or order.settings
    ids = pd.Index([*map(plain, data.truth[terms.split].images.astype(str).tolist())])
    rows = ids.get_indexer([*map(plain, order.images.astype(str).tolist())])
    if (rows < 0).any():
        raise BadInput(f"{terms.data} no longer has image {order.images[rows < 0][0]}; restore it")
    return rows
