"""An order: questions for people about images, in rounds, in a folder of its own.

    order1/images.txt                ids of the images, one per line
    order1/features.npy              features of these images, for schemes that choose by them
    order1/round-1/order.json        how the questions of this round were chosen
    order1/round-1/questions.parquet
    order1/round-1/...               pages and tables for people, made from the questions
    order1/answers/*.jsonl           answers; files are added and never changed
    order1/labels.parquet ...        made from the answers by each `simkit receive`
    order1/names.csv, notes.csv      names and notes of people; see `simkit.orders.side_tables`

The numbers of questions continue from round to round.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from simkit.annotate import schemes
from simkit.annotate.prices import Prices
from simkit.annotate.prices import prices as price_list
from simkit.errors import BadInput
from simkit.files import parse_json, reading, whole
from simkit.history import content_id
from simkit.labels.effort import Effort, histogram
from simkit.labels.formats.base import ids_of, write_lines
from simkit.labels.hierarchy import Hierarchy
from simkit.orders.order_crowd import Asked, JoinedAnswers, OrderCrowd, ask
from simkit.registry import Range, Share, build, setting, settle

ABOUT, QUESTIONS, IMAGES = "order.json", "questions.parquet", "images.txt"
LABELS = "labels.parquet"  # made from the answers
SCORES, FEATURES, HIERARCHY = "scores.npy", "features.npy", "hierarchy.json"
NOTHING = "nothing"  # the answer if no class of the list can be named
NumberOfAnswers = Annotated[int, Range(1, 100)]
Join = Literal["majority", "union", "dawid-skene"]
SCHEMA = pa.schema(
    {
        "question": pa.int64(), "task": pa.int64(), "kind": pa.string(), "image": pa.int64(),
        "class": pa.int64(), "nth": pa.int64(), "gold": pa.int8(),
    }
)  # fmt: skip


@dataclass(frozen=True)
class RoundSettings:
    """The settings of a round: images, classes, and how its questions are chosen."""

    data: str = setting(..., "the data set, such as folder:photos,labels=none")
    classes: tuple[str, ...] = setting(..., "names of the classes to ask about")
    scheme: str = setting(..., "the scheme with its amount, such as rpa(keep=0.1)")
    split: str = setting("train", "the split to label")
    images: float | int = setting(
        1.0,
        "share or number of the images to ask about; those of earlier rounds of this scheme count, "
        "and test images do not",
    )
    answers: NumberOfAnswers = setting(1, "answers to each question")
    gold: Share = setting(
        0.0, "questions with a known answer, as a share of the others, to measure people's errors"
    )
    repeat: Share = setting(
        0.0, "share of the images about which three people answer, to measure people's errors"
    )
    batch: Annotated[int, Range(1)] = setting(20, "looks for a class in one round of a search")
    join: Join = setting(
        "majority", "how the answers of several people are joined; a tie is unsure"
    )
    prices: str = setting("hourly", "a price list of `simkit list prices`, or a TOML file")
    seed: int = setting(0, "same seed, same questions")
    others: bool = setting(
        False, "ask only about images that are neither in the first round nor complete"
    )
    test: bool = setting(False, "labels for testing, of images that no other round asks about")
    listed: bool = setting(False, "ask only about the images or pairs of a list")

    def __post_init__(self) -> None:
        settle(self, "order")
        _ = self.parsed_scheme  # a scheme that does not exist is refused at once
        if NOTHING in self.classes:
            raise BadInput(
                f"a class has the name {NOTHING!r}, which is an answer; rename the class"
            )

    @cached_property
    def parsed_scheme(self) -> schemes.Scheme:
        """The scheme as an object."""
        return schemes.make(self.scheme)


@dataclass(frozen=True, eq=False)
class Round:
    """The questions of one round.

    Attributes
    ----------
    settings : RoundSettings
    table : DataFrame
        One row per question: question (its number), task (questions of one task are shown
        together), kind, image and class (indices; class 0 for kind name), nth (for kind name, the
        index of the question in its image) and gold (1 or -1: the known answer; 0: none). Where
        questions get different numbers of answers, also answers.
    """

    settings: RoundSettings
    table: pd.DataFrame

    @property
    def answers(self) -> pd.Series[int]:
        """The number of answers that each question is to get; one for a gold question."""
        if "answers" in self.table:
            return self.table["answers"]
        return pd.Series(self.settings.answers, self.table.index).where(self.table["gold"] == 0, 1)

    @cached_property
    def id(self) -> str:
        """Content id of the settings and questions."""
        columns = [self.table[name].to_numpy() for name in self.table if name != "kind"]
        kinds = self.table["kind"].to_numpy(str)
        # Under their earlier names and without newer settings, so that ids stay the same.
        values = dataclasses.asdict(self.settings)
        stated = {"people" if key == "answers" else key: values[key] for key in values}
        for name in ("repeat", "others", "test", "listed"):
            if not values[name]:
                del stated[name]
        return content_id("order", json.dumps(stated), kinds, *columns)


@dataclass(frozen=True, eq=False)
class Order:
    """All rounds of an order, with their images.

    Attributes
    ----------
    folder : Path
    images : (N,) int or str
        Ids of the images.
    rounds : tuple of Round
        From the first to the last.
    hierarchy : Hierarchy, optional
        Hierarchy of the classes.
    scores : (N, L) float, optional
        Scores of a model, for searches and proposals.
    features : (N, D) float, optional
        Features of the images, for schemes that choose images by them.
    without : (n,) int, optional
        In a part of an order, indices of the images that a further round does not ask about: a
        part has too few rounds to know them.
    """

    folder: Path
    images: NDArray[Any]
    rounds: tuple[Round, ...]
    hierarchy: Hierarchy | None = None
    scores: NDArray[np.floating] | None = None
    features: NDArray[np.floating] | None = None
    without: NDArray[np.int64] | None = None

    @cached_property
    def id(self) -> str:
        """Content id of the first round and the images; every page and file for people has it."""
        return content_id("order", self.rounds[0].id, "\n".join(map(str, self.images.tolist())))

    @property
    def settings(self) -> RoundSettings:
        """The settings of the last round that does not label test images."""
        return next(part.settings for part in reversed(self.rounds) if not part.settings.test)

    @cached_property
    def test_images(self) -> NDArray[np.int64]:
        """Indices of the images of rounds that label test images."""
        tables = [part.table["image"] for part in self.rounds if part.settings.test]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *tables]))

    def left_out(self, settings: RoundSettings) -> NDArray[np.int64]:
        """Indices of the images that a further round of these settings does not ask about."""
        if self.without is not None:
            return self.without
        asked = [self.test_images]
        if settings.test:
            asked = [part.table["image"].to_numpy(np.int64) for part in self.rounds]
        elif settings.others:
            asked += [self.rounds[0].table["image"].to_numpy(np.int64), self.complete(settings)]
        return np.unique(np.concatenate(asked))

    def complete(self, settings: RoundSettings) -> NDArray[np.int64]:
        """Indices of the images of which earlier rounds ask about every class.

        The first round does not count, nor do the last rounds if they have this scheme: a further
        round continues them.
        """
        name, earlier = settings.parsed_scheme.name, [*self.rounds[1:]]
        while earlier and (
            earlier[-1].settings.test or earlier[-1].settings.parsed_scheme.name == name
        ):
            earlier.pop()
        tables = [part.table for part in earlier if not part.settings.test]
        table = pd.concat([SCHEMA.empty_table().to_pandas(), *tables])
        pairs = table[(table["gold"] == 0) & (table["kind"] != "name")][["image", "class"]]
        number_of_classes = pairs.drop_duplicates()["image"].value_counts()
        return number_of_classes.index[number_of_classes == self.shape[1]].to_numpy(np.int64)

    @property
    def classes(self) -> tuple[str, ...]:
        return self.settings.classes

    @property
    def shape(self) -> tuple[int, int]:
        """(N, L): the numbers of images and classes."""
        return len(self.images), len(self.classes)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The questions of all rounds, by number.

        Columns round, answers (the number to get), and needed: without the further answers that
        only measure errors, for which no step waits.
        """
        tables = [
            part.table.assign(
                round=n,
                answers=part.answers,
                needed=np.minimum(part.answers, part.settings.answers),
            )
            for n, part in enumerate(self.rounds, 1)
        ]
        return pd.concat(tables).set_index("question", drop=False).rename_axis(None)

    @cached_property
    def first(self) -> pd.Series[int]:
        """For each question, by number, the first one about the same class of the same image.

        Gold questions, and those that name a class, are about themselves only.
        """
        table = self.table
        alone = (table["gold"] != 0) | (table["kind"] == "name")
        pairs = table["image"] * self.shape[1] + table["class"]
        pairs = pairs.where(~alone, -table["question"])  # questions count from 1
        return table["question"].groupby(pairs).transform("first")

    @property
    def round_folder(self) -> Path:
        """The folder of the last round."""
        return self.folder / f"round-{len(self.rounds)}"

    def ask(self, settings: RoundSettings, joined: JoinedAnswers) -> Asked:
        """Ask by the scheme of these settings, with the answers so far."""
        crowd = OrderCrowd(
            self.images, settings.classes, joined, hierarchy=self.hierarchy, scores=self.scores,
            features=self.features, batch=settings.batch,
        )  # fmt: skip
        return ask(
            settings.parsed_scheme, crowd, part=settings.images, seed=settings.seed,
            without=self.left_out(settings),
        )  # fmt: skip

    def exhausted(self, joined: JoinedAnswers) -> bool:
        """Whether every class of every image is answered."""
        return bool(self.rounds) and len(joined.places) == len(self.images) * len(self.classes)

    def check_id(self, file: Path, stated: str) -> None:
        """Raise BadInput if the order that a file states is not this one."""
        if stated != self.id:
            raise BadInput(
                f"{file} answers order {stated}, and this is {self.id}; leave the file out, or "
                "give the folder of that order"
            )

    def prices_of(self, settings: RoundSettings) -> Prices:
        """The price list of the next round: only the first one pays the set-up."""
        listed = price_list(settings.prices)
        return listed.once_set_up() if self.rounds else listed

    def effort(self, questions: pd.DataFrame) -> Effort:
        """The effort of asking these rows of `table`, in the first round with a machine's work."""
        machine = 0
        if self.scores is not None and len(self.rounds) == 1:
            machine = self.ask(self.settings, JoinedAnswers()).labels.effort.machine
        each = questions["answers"] if "answers" in questions else self.settings.answers
        return effort_of(questions, self.shape, each, machine)

    def write(self, place: Path) -> None:
        """Write the last round into a folder `place`, which becomes `round_folder`.

        With the first round, images and hierarchy are written into the order's folder.
        """
        last = self.rounds[-1]
        if len(self.rounds) == 1:
            write_lines(self.folder / IMAGES, map(str, self.images.tolist()))
            if self.hierarchy is not None:
                self.hierarchy.save(self.folder / HIERARCHY)
        if self.scores is not None:
            _save(place / SCORES, self.scores.astype(np.float32))
        if self.features is not None and not (self.folder / FEATURES).exists():
            _save(self.folder / FEATURES, self.features)
        with whole(place / QUESTIONS) as part:
            schema = _schema("answers" in last.table)
            table = pa.Table.from_pandas(last.table, schema=schema, preserve_index=False)
            pq.write_table(table, part, write_page_checksum=True)
        settings = dataclasses.asdict(last.settings)
        for name in ("others", "test", "listed"):  # as earlier versions do not know them
            if not settings[name]:
                del settings[name]
        about = {"id": last.id, "order": self.id, **settings}
        write_lines(place / ABOUT, [json.dumps(about, indent=1, ensure_ascii=False)])

    @staticmethod
    def read(folder: str | PathLike[str]) -> Order:
        """Read the order in a folder.

        Raises
        ------
        BadInput
            If the folder holds no order, or if the order was changed after it was written.
        """
        place = Path(folder)
        if not (place / "round-1" / ABOUT).is_file():
            inside = sorted(str(each.parents[1]) for each in place.glob(f"*/round-1/{ABOUT}"))
            mend = f"make one with: simkit order --data ... --out {place}"
            if inside:
                mend = f"give the folder of an order in it: {', '.join(inside)}"
            raise BadInput(f"{place} is no order; {mend}")
        mend = "restore the file, or make another order"
        with reading(place / IMAGES, "the ids of the images", mend) as file:
            *texts, _ = file.read_text("utf-8").split("\n")
            images = ids_of(texts)
        rounds: list[tuple[Round, str | None]] = []
        while (file := place / f"round-{len(rounds) + 1}" / ABOUT).is_file():
            rounds.append(_read_round(file))
        tree, features = place / HIERARCHY, place / FEATURES
        scores = place / f"round-{len(rounds)}" / SCORES
        order = Order(
            place,
            images,
            tuple(part for part, _ in rounds),
            Hierarchy.load(tree) if tree.is_file() else None,
            _load(scores, len(images), mend),
            _load(features, len(images), mend),
        )
        N = len(images)
        same = all(stated in (order.id, None) for _, stated in rounds)
        if not same or not order.table["image"].between(0, N - 1).all():
            raise BadInput(f"{place / IMAGES} was changed after it was written; {mend}")
        return order


def _save(file: Path, values: NDArray[np.floating]) -> None:
    with whole(file) as part, part.open("wb") as stream:
        np.save(stream, values)


def _load(file: Path, rows: int, mend: str) -> NDArray[np.floating] | None:
    """A float array with one row per image; None without the file."""
    if not file.is_file():
        return None
    with reading(file, "numbers (.npy)", mend):
        # Mapped: a damaged header cannot ask for more memory than the file has.
        values = np.array(np.load(file, mmap_mode="r", allow_pickle=False))
        if values.ndim != 2 or len(values) != rows or values.dtype.kind != "f":
            raise ValueError(f"{values.dtype} of shape {values.shape} for {rows} images")
        return values


def effort_of(
    questions: pd.DataFrame, shape: tuple[int, int], answers: int | pd.Series[int], machine: int = 0
) -> Effort:
    """The effort of so many answers to these questions (columns kind, image and class).

    answers: a number, or one for each question; each person goes through the images separately.
    machine: number of images that a machine scores.
    """
    N, L = shape
    each = np.broadcast_to(np.asarray(answers, np.int64), len(questions))
    workers = int(each[0]) if len(each) else 1
    rounds = [questions]
    if (each != workers).any():  # an effort has one number of people: here one, again and again
        rounds, workers = [questions[each > n] for n in range(int(each.max()))], 1
    counted, looks = dict[str, NDArray[np.int64]](), np.zeros(L, np.int64)
    for part in rounds:
        for kind, rows in part.groupby("kind"):
            if kind == "search":
                looks = looks + np.bincount(rows["class"], minlength=L)
            else:
                more = histogram(np.bincount(rows["image"], minlength=N))
                sums = np.zeros(max(len(more), len(counted.get(str(kind), ()))), np.int64)
                for one in (more, counted.get(str(kind), more[:0])):
                    sums[: len(one)] += one
                counted[str(kind)] = sums
    return Effort(counted, looks, workers, machine=machine)


def _schema(answers: bool) -> pa.Schema:
    return SCHEMA.append(pa.field("answers", pa.int64())) if answers else SCHEMA


def _read_round(file: Path) -> tuple[Round, str | None]:
    """A round, and the id of its order, which orders of version 0.1 do not state."""
    mend = "orders cannot be edited; restore the file, or make another order"
    with reading(file, "an order", mend):
        values: Mapping[str, Any] = parse_json(file.read_text("utf-8"))
        names = {"people": "answers"}  # up to version 0.2
        about = {names.get(k, k): v for k, v in values.items() if k not in ("id", "order")}
        settings = build(RoundSettings, about, "order")
    with reading(file.parent / QUESTIONS, "questions", mend) as questions:
        stored = pq.read_table(questions, page_checksum_verification=True)
        schema = _schema("answers" in stored.column_names)
        table = stored.select(schema.names).cast(schema)
    part = Round(settings, table.to_pandas())
    if part.id != values["id"]:
        raise BadInput(f"{file.parent} was changed after it was written; {mend}")
    return part, values.get("order")
