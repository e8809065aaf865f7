"""Divide the questions of a round among annotators, whole images each, in files of their own.

round-1/annotators.csv    who answers about which image, and as which of the people (nth: 1, ...)
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from simkit.errors import BadInput
from simkit.files import reading, whole
from simkit.labels.names import person
from simkit.orders.order import Order
from simkit.orders.receiving import OrderState, kept, pseudonyms

FILE = "annotators.csv"
AGAIN = "-again"  # ends the names of files for further people
MOST = 100  # annotators of a round
COLUMNS = ["annotator", "image", "nth"]


@dataclass(frozen=True, eq=False)
class Part:
    """Questions that are in one file.

    Attributes
    ----------
    questions : DataFrame
        Rows of `Order.table`; answers is the number that people give by this file.
    annotator : str
        Who answers; empty for anybody.
    again : bool
        Whether others answer these questions first.
    """

    questions: pd.DataFrame
    annotator: str = ""
    again: bool = False

    @property
    def suffix(self) -> str:
        """At the end of the file's name."""
        return f"-{self.annotator}" * bool(self.annotator) + AGAIN * self.again


def names(text: str) -> tuple[str, ...]:
    """The annotators in a text such as "ann, ben"; a number gives a1, a2, ... Raises BadInput."""
    if re.fullmatch(r"\s*[0-9]+\s*", text):
        if not 1 <= int(text) <= MOST:
            raise BadInput(f"--annotators is {text}; give names, or a number from 1 to {MOST}")
        return tuple(f"a{n}" for n in range(1, int(text) + 1))
    found = [" ".join(name.split()) for name in text.split(",")] if text else []
    for place, name in enumerate(found):
        if not re.fullmatch(r"\w[\w. -]*", name) or re.search(r"(^|-)(again|[0-9]+)$", name):
            raise BadInput(
                f"--annotators has {name!r}, which cannot be in the name of a file; give names of "
                "letters, such as ann,ben, that do not end in a number or in again"
            )
        if person(name) in map(person, found[:place]):
            raise BadInput(f"--annotators has {name} twice; give two people different names")
    if len(found) > MOST:
        raise BadInput(f"--annotators has {len(found)} names; give at most {MOST}")
    return tuple(found)


def divide(order: Order, annotators: Sequence[str]) -> pd.DataFrame:
    """Divide the images of the last round; further answers are by other people.

    Nobody gets an image about which they have answered these questions in an earlier round.

    Returns
    -------
    DataFrame
        Columns annotator, image (its index) and nth: as which of the people, counted from 1, the
        annotator answers the questions about the image.
    """
    questions, first = _asked(order, len(order.rounds))
    answers = kept(order)
    asked = order.first[questions.index]
    earlier = answers[answers["question"].map(order.first).isin(asked)]
    images = order.table["image"][earlier["question"]]
    done = {*zip(images.tolist(), earlier["worker"].tolist(), strict=True)}
    spelled = pd.DataFrame({"worker": [*annotators], "file": str(order.folder)})
    workers = pseudonyms(order, spelled, {*answers["worker"]})
    # Images about which several people answer are dealt first, so that everybody has as many.
    wanted = questions.groupby("image", sort=False)["answers"].max()
    wanted = wanted.sort_values(ascending=False, kind="stable")
    own, further = dict.fromkeys(annotators, 0), dict.fromkeys(annotators, 0)
    rows = list[tuple[str, int, int]]()
    for image, people in zip(wanted.index.tolist(), wanted.tolist(), strict=True):
        free = [name for name in annotators if (image, workers[name]) not in done]
        chosen = sorted(free, key=own.__getitem__)[: min(first, people)]
        others = sorted((name for name in free if name not in chosen), key=further.__getitem__)
        others = others[: people - len(chosen)]
        for load, some in ((own, chosen), (further, others)):
            for name in some:
                load[name] += 1
        rows += [(name, image, nth) for nth, name in enumerate((*chosen, *others), 1)]
    if idle := [name for name in annotators if not own[name] + further[name]]:
        warnings.warn(
            f"no images are left for {', '.join(idle)}: there are too few that they have not "
            "answered",
            stacklevel=3,
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def parts(order: Order, number: int, division: pd.DataFrame | None) -> list[Part]:
    """The parts of a round, each for a file of its own.

    What further people are to answer is apart, because one person answers once. Answers for which
    there are too few annotators are in a part for anybody else.
    """
    questions, first = _asked(order, number)
    if division is None:
        further = questions[questions["answers"] > first]
        rest = [Part(further.assign(answers=further["answers"] - first), again=True)]
        everything = Part(questions.assign(answers=questions["answers"].clip(upper=first)))
        return [everything, *rest[: len(further)]]
    found = []
    for again in (False, True):
        rows = division[(division["nth"] > first) == again]
        for name in division["annotator"].unique():
            own = rows[rows["annotator"] == name]
            nth = questions["image"].map(own.set_index("image")["nth"])
            part = questions[nth <= questions["answers"]]
            found += [Part(part.assign(answers=1), str(name), again)][: len(part)]
    people = questions["image"].map(division["image"].value_counts()).fillna(0).astype(int)
    lacking = questions.assign(answers=questions["answers"] - people)
    lacking = lacking[lacking["answers"] > 0]
    return [*found, *[Part(lacking, again=True)][: len(lacking)]]


def _asked(order: Order, number: int) -> tuple[pd.DataFrame, int]:
    """The questions of a round, and the number of answers that each of them gets at least."""
    questions = order.table[order.table["round"] == number]
    return questions, int(questions["answers"][questions["gold"] == 0].min())


def write(order: Order, division: pd.DataFrame, folder: Path) -> Path:
    """Write who answers about which image; returns the file."""
    with whole(folder / FILE) as part:
        division.assign(image=order.images[division["image"]]).to_csv(part, index=False)
    return folder / FILE


def read(order: Order, number: int) -> pd.DataFrame | None:
    """Who answers about which image of a round; None if it is not divided. Raises BadInput."""
    file = order.folder / f"round-{number}" / FILE
    if not file.is_file():
        return None
    places = {str(image): place for place, image in enumerate(order.images.tolist())}
    with reading(file, "the annotators of a round", "restore the file") as place:
        table = pd.read_csv(place, dtype=str, keep_default_na=False)[COLUMNS]
        if table.duplicated(["annotator", "image"]).any():
            raise ValueError("an annotator has an image twice")
        return table.assign(
            image=[places[image] for image in table["image"]], nth=table["nth"].astype(int)
        )


def progress(state: OrderState) -> list[dict[str, Any]]:
    """For each annotator of each divided round: the number of images, and of those answered.

    An image is answered if the annotator has answered all its questions, or nobody is needed any
    more.
    """
    order, rows = state.order, list[dict[str, Any]]()
    lacking = {*state.open["question"], *state.further["question"]}
    stored = {*state.answers["worker"]}
    for number in range(1, len(order.rounds) + 1):
        if (division := read(order, number)) is None:
            continue
        spelled = pd.DataFrame({"worker": division["annotator"].unique(), "file": ""})
        workers = pseudonyms(order, spelled, stored)
        for part in parts(order, number, division):
            if not part.annotator:
                continue
            by = state.answers["worker"] == workers[part.annotator]
            waits = lacking - {*state.answers["question"][by]}
            waiting = part.questions["question"].isin(waits)
            images = part.questions["image"].nunique()
            left = part.questions["image"][waiting].nunique()
            rows.append({
                "order": order.folder.name, "round": number, "annotator": part.annotator,
                "again": part.again, "images": images, "answered": images - left,
            })  # fmt: skip
    return rows
