"""A crowd that lists questions for people instead of answering them.

A scheme asks this crowd as it asks the simulated one. Answers that people have given become labels.
Of the unanswered questions, only those are listed that the scheme asks whatever the other answers
are. A scheme whose questions depend on answers is run again after each round of answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.annotate.annotators import Bools, Habits, Ints
from simkit.annotate.crowd import DENSE, Crowd, Descent, Ledger, by_score_until
from simkit.annotate.proposer import Proposer
from simkit.annotate.schemes import Scheme, logits
from simkit.annotate.simulate import chosen_images
from simkit.annotate.sparse_draws import Answered, ask_images, ask_pairs, spread
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import locked

YES, NO, UNSURE, OPEN, LEFT_OUT = 1, -1, 0, 2, 3
END = -1  # instead of a class: no (further) class can be named
States = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class JoinedAnswers:
    """The answers so far.

    Attributes
    ----------
    places : (K,) int64
        image * L + class of the pairs with an answer, ascending.
    states : (K,) int8
        YES, NO or UNSURE.
    named : mapping of int to tuple of int
        For each image, the classes named in it, in order; END closes them.
    """

    places: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    states: States = field(default_factory=lambda: np.zeros(0, np.int8))
    named: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def states_at(self, places: Ints) -> States:
        """The answer at each place, OPEN without an answer; same shape as `places`."""
        if not len(self.places):
            return np.full(places.shape, OPEN, np.int8)
        index = np.searchsorted(self.places, places).clip(max=len(self.places) - 1)
        return np.where(self.places[index] == places, self.states[index], np.int8(OPEN))


@dataclass(frozen=True, eq=False)
class Asked:
    """The result of `ask`.

    Attributes
    ----------
    questions : DataFrame
        The questions without an answer: columns kind (as in `labels.effort.QUESTIONS`), image and
        class (indices; class 0 for kind name), and nth (for kind name, the index of the question
        in its image; else 0).
    labels : PartialLabels
        The labels of the answers so far.
    """

    questions: pd.DataFrame
    labels: PartialLabels


def ask(
    scheme: Scheme, crowd: OrderCrowd, *, part: float | int = 1.0, seed: int = 0,
    without: Ints = np.zeros(0, np.int64),
) -> Asked:  # fmt: skip
    """List a scheme's questions about images without labels.

    Once all questions are answered correctly, the labels equal those of `simulate` with the same
    seed.

    Parameters
    ----------
    scheme : Scheme
        The scheme with its amount.
    crowd : OrderCrowd
        The images and the answers so far. A crowd is asked once.
    part : float or int
        Share or number of the images to ask about, as `images` in `simulate`.
    seed : int
        Same seed, same questions.
    without : (n,) int
        Images not to ask about; `part` is of the others.

    Returns
    -------
    Asked
        The open questions and the labels so far.

    Raises
    ------
    BadInput
        If the scheme needs the truth, or a hierarchy, scores or features that are not given.
    """
    root = Chance.seeded(seed).of("draw", 0)
    chosen = chosen_images(len(crowd.images), part, root, without)
    if chosen is not None:
        crowd = crowd.among(chosen)
    if crowd.scores is not None and scheme.needs_scores:
        logits(crowd, scheme.name)  # warns of scores on another scale
    with warnings.catch_warnings():
        # About missing classes, while questions are open.
        warnings.simplefilter("ignore", UserWarning)
        scheme.ask(crowd, root.of("scheme", scheme.name))
    return Asked(crowd.questions(), crowd.labels(History("ask")))


class OrderCrowd(Crowd):
    """A crowd without a truth; see the module, and `Crowd` for the questions.

    Parameters
    ----------
    images : (N,) int or str
        Ids of the images.
    classes : tuple of str
        Names of the L classes.
    joined : JoinedAnswers
        The answers so far.
    hierarchy : Hierarchy, optional
        Hierarchy of these classes, for schemes that need one.
    scores : (N, L) float, optional
        A model's scores. Searches start with the images of the highest scores, and `proposals` asks
        about the classes with the highest scores.
    features : (N, D) float, optional
        Features of the images, for schemes that choose images by them.
    batch : int, default 1
        Smallest number of looks that an unfinished search lists for a class. Larger batches need
        fewer rounds, and list some looks beyond the goal.
    """

    def __init__(
        self,
        images: NDArray[Any],
        classes: tuple[str, ...],
        joined: JoinedAnswers = JoinedAnswers(),
        *,
        hierarchy: Hierarchy | None = None,
        scores: NDArray[np.floating] | None = None,
        features: NDArray[np.floating] | None = None,
        batch: int = 1,
    ) -> None:
        self.shape = len(images), len(classes)
        self.images = np.arange(len(images))
        self.hierarchy, self.features, self.scores = hierarchy, features, scores
        self.habits = Habits()
        self.answered = np.zeros(len(images), bool)
        self.answered[joined.places // max(1, len(classes))] = True
        self.answered[[*joined.named]] = True
        self.names = locked(images), classes
        self.ledger = Ledger(*self.shape)
        self._joined, self._batch = joined, batch
        self._listed: list[pd.DataFrame] = []
        self._list("verify", np.zeros(0, np.int64), np.zeros(0, np.int64))  # sets the columns
        self._unnamed = np.zeros(len(images), bool)  # images with an open question of kind name

    def questions(self) -> pd.DataFrame:
        """All questions without an answer, in the order in which the scheme asked them."""
        return pd.concat(self._listed, ignore_index=True)

    def verify(self, images: Any, classes: Any) -> Bools:
        return self._ask("verify", images, classes) == YES

    def mistakes(self, images: Ints, classes: Ints, present: bool) -> int | None:
        states = self._ask("verify", images, classes)
        confirmed = states == (YES if present else NO)  # an unsure answer confirms nothing
        return None if (states == OPEN).any() else int(np.count_nonzero(~confirmed))

    def sweep(self, images: Any, classes: Any = None) -> None:
        wanted = np.arange(self.shape[1]) if classes is None else np.asarray(classes, np.int64)
        images = np.asarray(images, np.int64)
        self.ledger.expect(len(images) * len(wanted))
        self._ask("sweep", np.repeat(images, len(wanted)), np.tile(wanted, len(images)))

    def name(self, images: Any, *, chance: Chance, most: int = 1, bias: str = "none") -> Ints:
        images = np.asarray(images, np.int64)
        named, closed = self._named_so_far(images, most)
        self._unnamed[images] = ~closed
        count = (named >= 0).sum(1)
        # "Nothing (else)" is an answer and is paid for.
        self.ledger.bill("name", images, np.minimum(count + closed, most))
        self.ledger.record(np.repeat(images, count), named[named >= 0], True)
        owner, nth = spread(np.where(closed, 0, most - count))
        self._list("name", images[owner], np.zeros(len(owner), np.int64), count[owner] + nth)
        return named

    def name_share(self, share: float, *, chance: Chance) -> int:
        self._refuse(
            "name a share of all present labels, whose number is not known before labelling",
            "order single-positive or rpa instead",
        )

    def rule_out(
        self, absent: int, *, chance: Chance, named: Ints | None = None, keep_looks: bool = False
    ) -> None:
        L = self.shape[1]
        wanted = np.full(len(self.images), min(absent, L))
        if named is not None:
            wanted[self._unnamed[self.images]] = 0  # asked once the name is known
        order = chance.permutation(L)
        walk = ask_images(self._not_denied, order, self.images, wanted, named)
        self._verify_in_turn(walk, keep_yes=keep_looks, by_image=True)

    def rule_out_pairs(self, absent: int, *, chance: Chance) -> None:
        walk = ask_pairs(self._not_denied, self.images, self.shape[1], absent, chance)
        self._verify_in_turn(walk, keep_yes=False, by_image=False)

    def search(
        self,
        classes: Any,
        *,
        chance: Chance,
        present: int | Ints,
        absent: int | Ints,
        precision: float | None = None,
        scores: Any = None,
        keep_looks: bool = False,
    ) -> Ints:
        """Search as the simulated crowd with precision=None.

        A model's scores, if given, order the images until `present` of them show the class; the
        others follow in the keyed order of the class.
        """
        classes = np.asarray(classes, np.int64)
        order, found = chance.permutation(len(self.images)), np.zeros(len(classes), np.int64)
        goals = (np.broadcast_to(goal, len(classes)).tolist() for goal in (present, absent))
        for place, (c, *goal) in enumerate(zip(classes.tolist(), *goals, strict=True)):
            queue: Ints = self.images[order.at(np.arange(order.size), c)]
            candidates = 0
            if self.scores is not None:
                queue, candidates, goal = self._by_score(queue, self.scores[queue, c], c, goal)
            states = self._states(queue, c)
            needed = _needed(states, goal, self._batch)
            needed[:candidates] = True  # the last looks of a search that was given up count, too
            if keep_looks:
                needed |= states != OPEN
            queue, states = queue[needed], states[needed]
            missing = states == OPEN
            self._list("search", queue[missing], np.full(missing.sum(), c))
            queue, states = queue[~missing], states[~missing]
            self.ledger.bill_look(np.array([c]), np.array([len(queue)]))
            self.ledger.seen[queue] = True
            for code, wanted in zip((YES, NO), goal, strict=True):
                images = queue[states == code]
                kept = images if keep_looks else images[:wanted]
                self.ledger.record(kept, np.full(len(kept), c), code == YES)
                dropped = self.ledger.dropped
                dropped["search"] = dropped.get("search", 0) + len(images) - len(kept)
            # While a question is open, the goal may still be met: a scheme must not complain yet.
            found[place] = goal[0] if missing.any() else min(int((states == YES).sum()), goal[0])
        return found

    def descend(self, images: Any, *, chance: Chance, mode: str = "verify") -> None:
        if self.hierarchy is None:
            self._refuse(
                "ask down a class hierarchy without one", "make a new order with --hierarchy"
            )
        images, descent = np.asarray(images, np.int64), Descent(self.hierarchy)
        kind = "sweep" if mode == "truth" else "descend"
        first, closed = self._named_so_far(images, 1)
        self.name(images, chance=chance)
        images, first = images[closed], first[closed, 0]
        step = max(1, DENSE // self.shape[1])
        for start in range(0, len(images), step):
            block, named = images[start : start + step], first[start : start + step]
            states = self._states(block[:, None], np.arange(self.shape[1]))
            codes, asked = descent.reveal(named, states == YES, mode)
            answered = asked & (states != OPEN)
            self.ledger.bill(kind, block, answered.sum(1))
            rows, classes = np.nonzero(asked & ~answered)
            self._list(kind, block[rows], classes)
            # A "no" settles the classes below it only once all questions are answered.
            complete = ~(asked & (np.abs(states) != 1)).any(1)
            path = descent.hierarchy.above[named] & (named >= 0)[:, None]
            answers = np.where(path, YES, np.where(answered, states, UNSURE))
            answers[complete] = codes[complete]
            rows, classes = np.nonzero(answers)
            self.ledger.record(block[rows], classes, answers[rows, classes] == YES)

    def propose(self, proposer: Proposer) -> Iterator[tuple[Ints, Ints]]:
        if self.scores is None:
            self._refuse(
                "have classes proposed without a model's scores",
                "give --scores, a table of images x classes, or order rpa",
            )
        return proposer.highest(self.scores, self.images)

    # -- answers so far ---------------------------------------------------------------------------

    def _refuse(self, what: str, mend: str) -> NoReturn:
        """Raise BadInput for a question that people cannot be asked."""
        raise BadInput(f"an order cannot {what}; {mend}")

    def _ask(self, kind: str, images: Any, classes: Any) -> States:
        """(n,) answers so far about n pairs, billed and recorded; the open ones are listed."""
        images, classes = np.asarray(images, np.int64), np.asarray(classes, np.int64)
        self.rows_of(images)
        states = self._states(images, classes)
        answered, sure = states != OPEN, np.abs(states) == 1
        self.ledger.bill(kind, images[answered])
        self.ledger.record(images[sure], classes[sure], states[sure] == YES)
        self._list(kind, images[~answered], classes[~answered])
        return states

    def _not_denied(self, images: Ints, classes: Ints) -> Bools:
        """(n,) whether people said something other than no about n pairs.

        In a walk that ends after a number of denials, an open question counts as a no: so the walk
        ends at the last question that is needed for every outcome of the open ones.
        """
        states = self._states(images, classes)
        return (states != NO) & (states != OPEN)

    def _verify_in_turn(self, walk: Iterable[Answered], *, keep_yes: bool, by_image: bool) -> None:
        """Verify the pairs of a walk, in its order or image by image.

        Yes answers are dropped unless `keep_yes`.
        """
        pairs = np.hstack([np.zeros((2, 0), np.int64), *(piece[:2] for piece in walk)])
        images, classes = pairs[:, np.argsort(pairs[0], kind="stable")] if by_image else pairs
        states = self._states(images, classes)
        sure, is_open = np.abs(states) == 1, states == OPEN
        yes = states[sure] == YES
        self.ledger.verified(images[sure], classes[sure], yes, keep_yes=keep_yes)
        self.ledger.bill("verify", images[states == UNSURE])
        self._list("verify", images[is_open], classes[is_open])

    def _states(self, images: Ints, classes: Ints | int) -> States:
        return self._joined.states_at(images * self.shape[1] + classes)

    def _list(self, kind: str, images: Ints, classes: Ints, nth: Ints | int = 0) -> None:
        columns = {"kind": kind, "image": images, "class": classes.astype(np.int64), "nth": nth}
        self._listed.append(pd.DataFrame(columns))

    def _named_so_far(self, images: Ints, most: int) -> tuple[Ints, Bools]:
        """(n, most) classes named, -1 for none, and (n,) whether no further ones are asked."""
        named, closed = np.full((len(images), most), -1, np.int64), np.zeros(len(images), bool)
        for row, image in enumerate(images.tolist()):
            answers = self._joined.named.get(image, ())
            chosen = [c for c in answers if c != END][:most]
            named[row, : len(chosen)] = chosen
            closed[row] = END in answers or len(chosen) == most
        return named, closed

    def _by_score(
        self, queue: Ints, scores: NDArray[np.floating], c: int, goal: list[int]
    ) -> tuple[Ints, int, list[int]]:
        """The images in the order of the search, how many are candidates, and the goal.

        Images with the highest scores come first, as far as `by_score_until`; then the others. Once
        the search by scores has ended, the goal is at most the number of present labels that it
        gave: the others may hold none, and a search through all of them would cost a look at every
        image.
        """
        ranked = queue[np.argsort(-scores, kind="stable")]
        states = self._states(ranked, c)
        until = by_score_until(states != NO)  # an open question may be a yes
        searched = _needed(states[:until], [goal[0], 0], self._batch)
        candidates, answers = ranked[:until][searched], states[:until][searched]
        if (answers == OPEN).any():
            return candidates, len(candidates), goal
        others = queue[~np.isin(queue, candidates)]
        shown = int((answers == YES).sum())
        goal = [min(goal[0], shown), goal[1]]
        return np.concatenate([candidates, others]), len(candidates), goal


def _needed(states: States, goal: list[int], batch: int) -> Bools:
    """(n,) mask of the questions of a search, in its order, that may be needed to reach a goal.

    goal: required numbers of yes and of no. Open questions may have any answer; at least `batch`
    of them are included while the goal is not met.
    """
    # Numbers of each answer before each place.
    before = {s: np.cumsum(states == s) - (states == s) for s in (YES, NO, OPEN)}
    lacking = (goal[0] - before[YES]).clip(min=0) + (goal[1] - before[NO]).clip(min=0)
    # This many answers are still missing even if all open questions before a place are helpful.
    lacking = np.where(lacking > 0, lacking.clip(min=batch), 0)
    return lacking > before[OPEN]
