"""From the answers to an order: labels, votes, times, agreement, and open questions."""

from __future__ import annotations

import tomllib
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from simkit.annotate.prices import Prices
from simkit.annotate.prices import prices as price_list
from simkit.annotate.votes import NO as SAID_NO
from simkit.annotate.votes import YES as SAID_YES
from simkit.annotate.votes import Votes, error_rates, measured
from simkit.errors import BadInput
from simkit.files import whole
from simkit.history import History
from simkit.labels.formats import for_path
from simkit.labels.formats.base import write_lines
from simkit.labels.partial import PartialLabels
from simkit.orders import project_state
from simkit.orders.answers import kept
from simkit.orders.order import LABELS, NOTHING, Order, effort_of
from simkit.orders.order_crowd import END, NO, UNSURE, YES, JoinedAnswers
from simkit.orders.tools.sheet import listed as with_names
from simkit.toml import toml_lines

if TYPE_CHECKING:
    from simkit.annotate.dawid_skene import Fitted

DATA = "data.toml"  # the images as a data set, to train on with the labels
LONG = 5  # times are cut at this multiple of the median of their kind, because of breaks
FASTEST = 0.05  # seconds a question: shorter times are no person's
_STATES = {"yes": YES, "no": NO, "unsure": UNSURE}


@dataclass(frozen=True, eq=False)
class OrderState:
    """An order with its answers so far.

    Attributes
    ----------
    order : Order
    answers : DataFrame
        As `answers.kept`, with the columns of the questions.
    """

    order: Order
    answers: pd.DataFrame

    @staticmethod
    def of(order: Order) -> OrderState:
        """Read the answers in the order's folder. Raises BadInput."""
        answers = kept(order)
        about = order.table.drop(columns="question")
        return OrderState(order, answers.join(about, on="question"))

    @cached_property
    def joined(self) -> JoinedAnswers:
        """One joined answer for each answered question; gold questions are left out."""
        real = self.answers[self.answers["gold"] == 0]
        naming = real["kind"] == "name"
        L = self.order.shape[1]
        said = real[~naming]
        said = said.assign(place=said["image"] * L + said["class"])
        each = said["answer"].map(_STATES).astype(np.int64).groupby(said["place"])
        states = np.sign(each.sum())  # a tie of yes and no is unsure
        if self.order.settings.join == "union":
            states = states.mask(each.max() == YES, YES)
        if self.order.settings.join == "dawid-skene" and self.votes is not None:
            states.update(self._weighed(self.votes))
        named = self._names(real[naming])
        return JoinedAnswers(states.index.to_numpy(np.int64), states.to_numpy(np.int8), named)

    @cached_property
    def labels(self) -> PartialLabels:
        """The labels of all answers, with the answered questions as effort.

        They are the labels of the scheme (with a hierarchy, an answer may label further classes)
        and, unless the scheme has keep_looks=False, all other answers, such as those of rounds with
        other schemes.
        """
        order, settings = self.order, self.order.settings
        of_scheme = order.ask(settings, self.joined).labels
        codes = of_scheme.codes
        if getattr(settings.parsed_scheme, "keep_looks", True):
            others = self._all_labels()
            codes = codes + others - others.multiply(codes != 0)
        answered = self.answers[self.answers["gold"] == 0].drop_duplicates("question")
        asked = np.zeros(order.shape[0], bool)
        asked[answered["image"].to_numpy(np.int64)] = True
        people = answered["people"]
        if people.nunique() > 1:  # an effort has one number of people
            answered, people = answered.loc[answered.index.repeat(people)], pd.Series([1])
        effort = effort_of(answered, order.shape, max(people, default=settings.people))
        about = {
            "scheme": settings.scheme, "order": order.id, "join": settings.join,
            "people": settings.people, "answers": len(self.answers),
        }  # fmt: skip
        history = History("receive", about, settings.seed, (order.id,))
        return PartialLabels.of(
            codes, order.images, order.classes, of_scheme.asked | asked,
            effort=replace(
                effort, dropped=of_scheme.effort.dropped, machine=of_scheme.effort.machine
            ),
            history=history,
        )  # fmt: skip

    def _all_labels(self) -> csr_array:
        """(N, L) int8: every yes and no, and every class that was named."""
        joined, (N, L) = self.joined, self.order.shape
        sure = joined.states != UNSURE
        named = [image * L + c for image, given in joined.named.items() for c in given if c != END]
        said = pd.Series(joined.states[sure], joined.places[sure])
        said = pd.concat([said, pd.Series(YES, named, dtype=np.int8)]).groupby(level=0).max()
        rows, columns = np.divmod(said.index.to_numpy(np.int64), L)
        return csr_array((said.to_numpy(np.int8), (rows, columns)), shape=(N, L))

    @cached_property
    def open(self) -> pd.DataFrame:
        """Questions that fewer people answered than required; column answered is their number."""
        table = self.order.table
        people = self.answers.groupby("question")["worker"].nunique()
        answered = people.reindex(table.index, fill_value=0)
        wanted = table["people"].where(table["gold"] == 0, 1)
        closed = [image for image, given in self.joined.named.items() if END in given]
        ended = (table["kind"] == "name") & table["image"].isin(closed)
        missing = (answered < wanted) & ~ended
        return table[missing].assign(answered=answered[missing].to_numpy())

    @cached_property
    def votes(self) -> Votes | None:
        """All yes and no answers, for `simkit habits`; None without any."""
        said = self.answers[self.answers["answer"].isin(["yes", "no"])]
        said = said.drop_duplicates(["image", "class", "worker"])
        if not len(said):
            return None
        pairs = said.drop_duplicates(["image", "class"])[["image", "class"]].reset_index(drop=True)
        number = pd.MultiIndex.from_frame(pairs)
        gold = said.groupby(["image", "class"])["gold"].max().reindex(number)
        workers, who = np.unique(said["worker"], return_inverse=True)
        asked = gold.to_numpy()
        return Votes(
            images=self.order.images,
            classes=self.order.classes,
            workers=tuple(map(str, workers)),
            question_image=pairs["image"].to_numpy(np.int64),
            question_class=pairs["class"].to_numpy(np.int64),
            vote_question=number.get_indexer(pd.MultiIndex.from_frame(said[["image", "class"]])),
            vote_worker=who,
            vote_answer=np.where(said["answer"] == "yes", SAID_YES, SAID_NO).astype(np.int8),
            gold=np.where(asked == 0, -1, asked > 0).astype(np.int8),
        )

    @cached_property
    def tied(self) -> int:
        """The number of labels that stay unknown because people disagreed."""
        real = self.answers[(self.answers["gold"] == 0) & (self.answers["kind"] != "name")]
        said = real[real["answer"] != "unsure"]
        places = said["image"] * self.order.shape[1] + said["class"]
        both = said["answer"].groupby(places).nunique()
        places = both.index[both > 1].to_numpy(np.int64)
        return int((self.joined.states_at(places) == UNSURE).sum())

    @cached_property
    def errors(self) -> tuple[float, float] | None:
        """Shares of present classes missed and of absent ones reported, in one person's answers.

        By the model of Dawid and Skene, or else by the gold questions; None if there are too few
        votes for the model and no gold questions.
        """
        if self.votes is None:
            return None
        rates = self._fitted.rates if self._fitted else error_rates(measured(self.votes), "yes")
        return None if np.isnan(rates).any() else rates

    @cached_property
    def _fitted(self) -> Fitted | None:
        """The model of Dawid and Skene of the votes; None if they are too few."""
        from simkit.annotate.dawid_skene import fit_annotators

        try:
            return None if self.votes is None else fit_annotators(self.votes)
        except BadInput:
            return None

    @cached_property
    def seconds(self) -> pd.Series[float]:
        """Mean seconds per question and person, by kind; long pauses are cut at `LONG` medians."""
        each = self.answers["seconds"] / self.answers["shared"]
        timed = self.answers[each >= FASTEST]
        each = timed["seconds"] / timed["shared"]
        longest = LONG * each.groupby(timed["kind"]).transform("median")
        return each.clip(upper=longest).groupby(timed["kind"]).mean()

    @cached_property
    def people(self) -> pd.DataFrame:
        """By worker: answers, unsure (share), seconds (median), gold (count), right (share)."""
        rows = self.answers.assign(each=self.answers["seconds"] / self.answers["shared"])
        gold = rows[rows["gold"] != 0]
        right = (gold["answer"] == "yes") == (gold["gold"] > 0)
        by = rows.groupby("worker")
        return pd.DataFrame({
            "answers": by.size(), "unsure": by["answer"].agg(lambda a: (a == "unsure").mean()),
            "seconds": by["each"].median(),
            "gold": gold.groupby("worker").size(), "right": right.groupby(gold["worker"]).mean(),
        })  # fmt: skip

    def prices(self) -> Prices | None:
        """The price list of the order with the measured times; None without any.

        Kinds of questions that were not asked take longer, or less long, by the same factor. Times
        that give no price list are noted in a warning, and None is returned.
        """
        if not len(self.seconds):
            return None
        listed = price_list(self.order.settings.prices)
        if listed.wage is None:
            return None
        try:
            return self._at_measured_times(listed)
        except BadInput as error:
            warnings.warn(f"the measured times are not used, as they give no price list ({error})",
                          stacklevel=2)  # fmt: skip
            return None

    def _at_measured_times(self, listed: Prices) -> Prices:
        counts = self.answers.groupby("kind").size()
        # A price in dollars is paid however long an answer takes.
        timed = {kind: rate for kind, rate in listed.rates.items() if rate.dollars is None}
        rates = dict(listed.rates)
        ratios: list[float] = []
        for kind, seconds in self.seconds.items():
            rate = timed.pop(str(kind), None)
            if rate is None or rate.seconds is None:
                continue
            if rate.per != "image" and rate.seconds * seconds > 0:
                ratios.append(seconds * (rate.page or 1) / rate.seconds)
            source = f"measured on {counts[kind]:,} answers to order {self.order.id}"
            rates[str(kind)] = replace(
                rate, per="question", page=0, seconds=round(float(seconds), 2), source=source
            )
        pace = float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0
        for kind, rate in timed.items():
            seconds = round((rate.seconds or 0) * pace, 3)
            source = f"{rate.source}; times {pace:.2f}, as measured for other questions"
            rates[kind] = replace(rate, seconds=seconds, source=source)
        return replace(listed, name="measured", rates=rates)

    # -- joining ----------------------------------------------------------------------------------

    def _weighed(self, votes: Votes) -> pd.Series[int]:
        """By place, YES where the class is probably present (model of Dawid and Skene), else NO.

        Empty if there are too few votes to fit the model.
        """
        if self._fitted is None:
            warnings.warn(
                "dawid-skene needs at least 3 answers to most questions, and 50 answers each on "
                "present and on absent classes; until then answers are joined by majority",
                stacklevel=2,
            )
            return pd.Series(dtype=np.int8)
        places = votes.question_image * self.order.shape[1] + votes.question_class
        return pd.Series(np.where(self._fitted.present > 0.5, YES, NO), places)

    def _names(self, said: pd.DataFrame) -> dict[int, tuple[int, ...]]:
        """The classes named in each image: the most frequent answer to each question."""
        index = {name: c for c, name in enumerate(self.order.classes)} | {NOTHING: END}
        named: dict[int, list[int]] = {}
        counts = said.groupby(["image", "nth", "answer"]).size().reset_index(name="people")
        counts = counts.sort_values(["image", "nth", "people"], ascending=[True, True, False],
                                    kind="stable")  # fmt: skip
        frequent = counts.drop_duplicates(["image", "nth"])
        for image, text in zip(frequent["image"], frequent["answer"], strict=True):
            answer, given = index[text], named.setdefault(int(image), [])
            if END not in given and answer not in given:
                given.append(answer)
        return {image: tuple(classes) for image, classes in named.items()}


def write(state: OrderState) -> list[str]:
    """Write labels, votes, times and open questions into the order's folder; the files' names."""
    order, folder, columns = state.order, state.order.folder, ["question", "round", "kind"]
    questions = with_names(order, state.open)[[*columns, "image", "class"]]
    files = {
        "open.csv": questions.assign(answered=state.open["answered"]),
        "people.csv": state.people.reset_index(),
    }
    if (votes := state.votes) is not None:
        about = votes.vote_question
        files["votes.csv"] = pd.DataFrame({
            "image": votes.images[votes.question_image[about]],
            "class": np.array(votes.classes, object)[votes.question_class[about]],
            "worker": np.array(votes.workers, object)[votes.vote_worker],
            "answer": np.array(["no", "maybe", "yes"])[votes.vote_answer],
            "gold": np.array(["no", "yes", ""])[votes.gold][about],  # -1, the last one: not asked
        })  # fmt: skip
    named = state.answers.query("kind == 'name' and nth == 0 and answer != @NOTHING")
    if len(named):
        images = order.images[named["image"].to_numpy(np.int64)]
        files["named.csv"] = named[["worker"]].assign(image=images, **{"class": named["answer"]})
    project_state.record(folder.absolute().parent)
    for_path(folder / LABELS, writing=True).write(state.labels, folder / LABELS)
    for name, table in files.items():
        with whole(folder / name) as part:
            table.to_csv(part, index=False)
    write_data(order, folder / DATA)
    measured = state.prices()
    if measured is not None:
        write_lines(folder / "measured.toml", _toml(measured, state))
    else:
        (folder / "measured.toml").unlink(missing_ok=True)
    return sorted([LABELS, *files, DATA, *(["measured.toml"] if measured else [])])


def write_data(order: Order, file: Path, scored: str | None = None) -> None:
    """Write the images of an order as a data set (TOML), with val and test of the data `scored`."""
    settings = order.settings
    values = {
        "source": "unlabelled",
        "images": settings.data,
        "split": settings.split,
        "scored": scored,
    }
    write_lines(file, toml_lines({**values, "classes": settings.classes}))


def _toml(listed: Prices, state: OrderState) -> list[str]:
    """The lines of a price list in TOML: the order's list with the measured rates."""
    own = state.order.settings.prices
    # Lists complete presets only: those of a file are written out.
    values: dict[str, Any] = {"like": own}
    if own.endswith(".toml"):
        values = tomllib.loads(Path(own).read_text("utf-8"))
    values["workers"] = state.order.settings.people
    for kind, rate in listed.rates.items():
        if rate.dollars is None:
            values[kind] = {"per": rate.per, "seconds": rate.seconds, "source": rate.source}
            values[kind] |= {"page": rate.page} if rate.per == "page" else {}
    return [f"# measured on the answers to order {state.order.id}", *toml_lines(values)]
