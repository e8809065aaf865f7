"""The scores of the user's model in a project: their precision and recall, and what they save.

`simkit quickstart --scores` stores them before people answer, so that they do not come from a model
trained on the answers. They are measured on completely labelled images that were chosen at random,
by the first round and by test rounds directly after it: measurements on questions that the scores
chose would be biased.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.annotate.prices import cost
from simkit.annotate.schemes.full_subset import FullSubset
from simkit.annotate.schemes.machine import ModelAnswers
from simkit.annotate.schemes.proposals import Proposals
from simkit.annotate.score_precision import (
    Labels,
    expected_recall,
    precision_and_recall,
    sure_threshold,
)
from simkit.annotate.similarities import PROJECT_SCORES, read_scores, write_scores
from simkit.files import whole
from simkit.orders.order import Order, RoundSettings, effort_of
from simkit.orders.project import Project
from simkit.orders.receiving import OrderState
from simkit.registry import short

DETAILS = "scores_measured.csv"  # in the project's folder
RECALL = 0.9  # share of the present classes that proposals should find
MOST_PROPOSED = 20  # classes of an image
WORST, FEW = 3, 5  # number of least precise classes named, of those with so many proposals
COUNTED = 500_000  # (image, class) pairs whose questions are listed; others are extrapolated
Scores = NDArray[np.float64]


def keep(project: Project, order: Order) -> list[str]:
    """Write the scores of a project's first order, if any, into its folder; returns the paths."""
    if order.scores is None:
        return []
    file = project.folder / PROJECT_SCORES
    write_scores(order.scores, order.images, order.classes, file)
    return [str(file)]


@dataclass(frozen=True)
class Purchase:
    """A way to label all other images of a project, and its price.

    Attributes
    ----------
    scheme : str
    labels : str
        The labels in words.
    questions : int
    dollars : float
    """

    scheme: str
    labels: str
    questions: int
    dollars: float


@dataclass(frozen=True, eq=False)
class ProjectScores:
    """The scores of a project, with the answers so far.

    Attributes
    ----------
    project : Project
    state : OrderState
        Of the project's first order.
    scores : (N, L) float
        Logits.
    """

    project: Project
    state: OrderState
    scores: Scores

    @staticmethod
    def of(project: Project, state: OrderState) -> ProjectScores | None:
        """The scores that `keep` wrote; None without any. Raises BadInput."""
        file, order = project.folder / PROJECT_SCORES, state.order
        if not file.is_file():
            return None
        with warnings.catch_warnings(action="ignore"):  # about missing ones, as `read` has shown
            values = read_scores(file, order.settings.split, order.images, order.classes)
        return ProjectScores(project, state, np.asarray(values, np.float64))

    @cached_property
    def images(self) -> NDArray[np.int64]:
        """Indices of the images that were chosen at random and are labelled completely."""
        order = self.state.order
        first = order.rounds[0]
        if first.settings.parsed_scheme.name != FullSubset.name:
            return np.zeros(0, np.int64)
        # Later test images are among those that no round has asked about, which scores may choose.
        tests = len([*takewhile(lambda one: one.settings.test, order.rounds[1:])])
        chosen = order.table.loc[order.table["round"] <= 1 + tests, "image"]
        return np.setdiff1d(chosen, self.state.open["image"]).astype(np.int64)

    @cached_property
    def labels(self) -> Labels:
        """(n, L) the people's labels of these images: 1 present, -1 absent, 0 unsure."""
        L = self.state.order.shape[1]
        places = self.images[:, None] * L + np.arange(L)
        states = self.state.joined.states_at(places)
        return np.where(np.abs(states) == 1, states, 0).astype(np.int8)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Precision and recall, by class and depth; see `score_precision.precision_and_recall`."""
        return precision_and_recall(self.scores[self.images], self.labels, self.state.order.classes)

    def write(self) -> list[str]:
        """Write the table into the project's folder; returns the names of the files."""
        if not len(self.images):
            return []
        with whole(self.project.folder / DETAILS) as part:
            self.table.to_csv(part, index=False)
        return [DETAILS]

    @property
    def left(self) -> int:
        """The number of images about which questions are left to ask."""
        return self._left(FullSubset.name)[1]

    def _left(self, scheme: str) -> tuple[RoundSettings, int]:
        """The settings of a round of a scheme about the other images, and their number."""
        order = self.state.order
        settings = replace(order.settings, scheme=scheme, images=1.0, others=True, repeat=0.0,
                           gold=0.0)  # fmt: skip
        return settings, len(order.images) - len(order.left_out(settings))

    @cached_property
    def _stored(self) -> Scores:
        """(n, L) the scores of the measured images, as orders keep them."""
        return self.scores[self.images].astype(np.float32).astype(np.float64)

    @cached_property
    def sure(self) -> list[tuple[str, str]]:
        """The scheme `machine` with the thresholds that these images justify, and the labels in
        words; empty without such thresholds."""
        usual = ModelAnswers()
        bounds = {True: usual.wrong_present, False: usual.wrong_absent}
        high, low = (
            sure_threshold(self._stored, self.labels, present=side, bound=bound)
            for side, bound in bounds.items()
        )
        present, absent = f"{bounds[True]:.0%} of its present", f"{bounds[False]:.1%} of its absent"
        ways = []
        if high is not None and low is not None:
            ways.append((high, low, f"{present} and {absent}"))
        elif high is not None:
            ways.append((high, 0.0, present))
        if low is not None:  # people verify all that the model does not call absent
            ways.append((1.0, low, absent))
        return [
            (short(replace(usual, verify=1.0, high=upper, low=lower)), f"all; up to {wrong} wrong")
            for upper, lower, wrong in ways
        ]

    @cached_property
    def purchases(self) -> list[Purchase]:
        """Ways to label the other images; the first is by people alone. Empty without any."""
        if not len(self.images) or not self.left:
            return []
        if not (people := self._purchase(FullSubset.name, "all")).questions:
            return []
        ways = [*self.sure]
        most = min(MOST_PROPOSED, self._stored.shape[1])
        shares = {k: expected_recall(self._stored, self.labels, k) for k in range(1, most + 1)}
        if not np.isnan(shares[1][0]):
            number = next((k for k in shares if shares[k][0] >= RECALL), most)
            share, low, high = shares[number]
            words = f"{share:.0%} ({low:.0%} to {high:.0%}) of the present; others unknown"
            ways.append((short(Proposals(by="scores", per_image=float(number))), words))
        return [people, *(self._purchase(*way) for way in ways)]

    def _purchase(self, scheme: str, labels: str) -> Purchase:
        """The questions of a scheme about the other images, as an order asks them, and their bill
        at the measured prices, or at those of the project."""
        order, (settings, left) = replace(self.state.order, scores=self.scores), self._left(scheme)
        if not left:
            return Purchase(scheme, labels, 0, 0.0)
        images = min(left, max(1, COUNTED // order.shape[1]))
        settings = replace(settings, images=images)
        with warnings.catch_warnings(action="ignore"):
            questions = order.ask(settings, self.state.joined).questions
        effort = effort_of(questions, order.shape, settings.answers)
        times = left / images
        bill = cost(effort, self.state.rates())
        return Purchase(scheme, labels, round(times * len(questions)), times * bill.dollars)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        measured = json.loads(self.table.to_json(orient="records")) if len(self.images) else []
        return {"images": len(self.images), "measured": measured, "left": self.left,
                "purchases": [vars(one) for one in self.purchases]}  # fmt: skip

    def lines(self) -> list[str]:
        """Precision and recall of the scores, in sentences."""
        if not len(self.images):
            return ["scores: not measured yet; complete labels of the first round measure them"]
        rows = self.table[self.table["class"] == ""].set_index("depth")
        first, half = rows.loc["first 1"], rows.loc["probability 0.5"]
        asked = self.state.order.rounds[0].table["image"].nunique()
        so_far = f" so far of {asked:,}" if len(self.images) < asked else ""
        text = (f"scores, measured on {len(self.images):,} images{so_far} that were chosen at "
                f"random and labelled by people: the class with the highest score is present in "
                f"{_share(first, 'precision')} of images")  # fmt: skip
        several = f"{half['proposed'] / len(self.images):.1f} classes an image"
        if half["proposed"]:
            text += (f"; from probability 0.5 on they propose {several}, of which "
                     f"{_share(half, 'precision')} are present")  # fmt: skip
        if half["present"]:
            text += f", and find {_share(half, 'recall')} of the present ones"
        by_class = self.table.query("depth == 'probability 0.5' and `class` != ''")
        by_class = by_class[by_class["proposed"] >= FEW]
        worst = by_class.sort_values("precision_high", kind="stable").head(WORST)
        lines = [f"{text}; by class and depth: {self.project.folder / DETAILS}"]
        if len(by_class) > WORST:
            texts = [f"{row['class']} {_share(row, 'precision')}" for _, row in worst.iterrows()]
            lines.append(f"least precise from probability 0.5 on: {', '.join(texts)}")
        return lines


def _share(row: pd.Series[float], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{row[name]:.0%} ({low:.0%} to {high:.0%})"
