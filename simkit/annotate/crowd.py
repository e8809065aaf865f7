"""The questions that a scheme may ask, their answers and bill, and questions down a hierarchy."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate.annotators import Bools, Habits, Ints
from simkit.annotate.proposer import Proposer
from simkit.annotate.sparse_draws import lookup
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.effort import Effort, histogram
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import locked, sealed

DENSE = 1 << 21  # places spread out at a time where whole rows are needed; changes no result
DECODED = 1 << 15  # answers worked on at a time; changes no result
PATIENCE = 50  # images in a row without the class after which a search by scores ends
LIMIT = 400_000_000  # answers; they take 13 bytes each while they become labels


class TooManyAnswers(BadInput):
    """More answers than the ledger can store."""


def check_room(answers: float) -> None:
    """Raise TooManyAnswers if this many answers cannot be stored."""
    if answers > LIMIT:
        raise TooManyAnswers(
            f"this would store about {answers:.2g} answers, and {LIMIT:,} are the limit; "
            "ask about fewer images (the setting images) or choose a smaller amount"
        )


class Ledger:
    """Answers about N images and L classes, in any order, and the bill.

    seen     (N,) bool: images that somebody looked at in a search, or that a machine labelled.
    scored   (N,) bool: images that a machine is paid for scoring.
    dropped  how many paid answers did not become labels, by kind of question.
    """

    def __init__(self, images: int, classes: int) -> None:
        self.shape = (images, classes)
        # Answers by image and class, as many schemes ask, need no sorting: stored are the class and
        # the code of each, and how many are about each image.
        self._classes, self._codes = np.zeros(0, np.int32), np.zeros(0, np.int8)
        self._counts = np.zeros(images, np.int32)
        self._last, self._lent = -1, False  # lent: `codes` has passed them on
        # From the first one out of order on, all are whole numbers that are sorted in the end: the
        # image, the class in the next `_bits` bits, and in the last one whether it is a yes.
        self._keys, self._bits = np.zeros(0, np.int64), classes.bit_length()
        self._sorted, self._written = True, 0
        self._questions: dict[str, NDArray[np.int32]] = {}
        self._looks = np.zeros(classes, np.int64)
        self._affirmed: list[tuple[Ints, Ints]] = []
        self.seen, self.scored = np.zeros(images, bool), np.zeros(images, bool)
        self.dropped: dict[str, int] = {}

    def expect(self, answers: float) -> None:
        """Raise TooManyAnswers if this many further answers would not fit."""
        check_room(self._written + answers)

    def record(self, images: Ints, classes: NDArray[np.integer], yes: Bools | bool) -> None:
        """Store n answers: (n,) images, (n,) classes, and (n,) or one yes or no."""
        if not len(images):
            return
        self.expect(len(images))
        keys = np.left_shift(images, self._bits, dtype=np.int64)
        keys |= classes
        ready = keys[0] > self._last >> 1 and bool((keys[1:] > keys[:-1]).all())
        keys <<= 1
        keys |= yes
        ascending = ready or not (images[1:] < images[:-1]).any()
        if self._sorted and ascending and (ready or _sort_behind(keys, self._last)):
            self._append(keys)
            return
        if self._sorted:
            self._keys, self._sorted, self._lent = self._ordered(), False, False
        written = slice(self._written, self._written + len(keys))
        self._make_room(written.stop, ("_keys",))
        self._keys[written] = keys
        self._written = written.stop

    def _make_room(self, answers: int, columns: tuple[str, ...]) -> None:
        """Room for so many answers in all."""
        if answers <= len(getattr(self, columns[0])):
            return
        for name in columns:
            entries = getattr(self, name)
            if self._lent:
                entries = entries[: self._written].copy()
                setattr(self, name, entries)
            # The system moves the pages of large arrays: no second copy, unlike a list's join.
            entries.resize(max(answers, len(entries) * 9 // 8), refcheck=False)
        self._lent = False

    def _append(self, keys: Ints) -> None:
        """Store answers, in order and behind those before."""
        mask, shift = (1 << self._bits) - 1, self._bits + 1
        self._make_room(self._written + len(keys), ("_classes", "_codes"))
        for start in range(0, len(keys), DECODED):
            part = keys[start : start + DECODED]
            written = slice(self._written, self._written + len(part))
            codes = self._codes[written]  # in place: 2 yes - 1
            codes[:] = part & 1
            codes += codes
            codes -= 1
            self._classes[written] = (part >> 1) & mask
            images = part >> shift
            first = int(images[0])
            images -= first
            counted = np.bincount(images)
            self._counts[first : first + len(counted)] += counted
            self._written = written.stop
        self._last = int(keys[-1])

    def _ordered(self) -> NDArray[np.int64]:
        """The answers that are in order, each as one whole number."""
        images = np.flatnonzero(self._counts)
        keys = np.repeat(images, self._counts[images])
        keys <<= self._bits
        keys |= self._classes[: self._written]
        keys <<= 1
        keys |= self._codes[: self._written] > 0
        return keys

    def bill(self, kind: str, images: Ints, questions: Ints | None = None) -> None:
        """One question of this `kind` about each of `images`, or (n,) `questions`."""
        if not len(images):
            return
        counter = self._questions.setdefault(kind, np.zeros(self.shape[0], np.int32))
        # An image may come several times: `counter[images] += 1` would count it once.
        np.add.at(counter, images, np.int32(1) if questions is None else questions.astype(np.int32))

    def bill_look(self, classes: Ints, looks: Ints) -> None:
        """`looks` (n,) at images in search of each of `classes` (n,)."""
        np.add.at(self._looks, classes, looks)

    def verified(self, images: Ints, classes: Ints, yes: Bools, *, keep_yes: bool) -> None:
        """Bill and store n verified pairs; yes answers are dropped unless `keep_yes`, and counted
        as dropped unless the label is known from another question."""
        self.bill("verify", images)
        if not keep_yes:
            self._affirmed.append((images[yes], classes[yes]))
            images, classes, yes = images[~yes], classes[~yes], yes[~yes]
        self.record(images, classes, yes)

    def asked(self) -> Bools:
        """(N,) images about which at least one question was asked."""
        asked = self.seen.copy()
        for counter in self._questions.values():
            asked |= counter > 0
        return asked

    def effort(self, workers: int | None, codes: csr_array) -> Effort:
        """The effort behind the labels `codes`."""
        dropped = dict(self.dropped)
        for images, classes in self._affirmed:
            lost = int(np.count_nonzero(~lookup(codes, images, classes)))
            dropped["verify"] = dropped.get("verify", 0) + lost
        questions = {kind: histogram(counter) for kind, counter in sorted(self._questions.items())}
        scored = int(np.count_nonzero(self.scored))
        return Effort(questions, self._looks.copy(), workers, dropped, scored)

    def codes(self) -> csr_array:
        """(N, L) int8 labels. Where people said both yes and no, yes counts."""
        if not self._sorted:
            self._settle()
        n, self._lent = self._written, True
        indptr = np.zeros(self.shape[0] + 1, np.int32)
        np.cumsum(self._counts, out=indptr[1:])
        return csr_array((self._codes[:n], self._classes[:n], indptr), shape=self.shape)

    def _settle(self) -> None:
        """Sort the answers and keep one about each place: the yes, which comes last."""
        keys, twice = self._keys[: self._written], []
        keys.sort()
        for start in range(0, len(keys), DECODED):
            part = keys[start : start + DECODED + 1]
            twice.append(start + np.flatnonzero((part[1:] ^ part[:-1]) <= 1))
        if len(others := np.concatenate(twice)):
            keys = np.delete(keys, others)
        self._classes, self._codes = self._classes[:0].copy(), self._codes[:0].copy()
        self._written, self._counts = 0, np.zeros(self.shape[0], np.int32)
        self._append(keys)
        self._keys, self._sorted = np.zeros(0, np.int64), True


def _sort_behind(keys: Ints, last: int) -> bool:
    """Sort answers in place if all are about places behind that of the `last` one so far.

    Returns whether they are, and are about different places.
    """
    low, high = int(keys.min()), int(keys.max())
    if low >> 1 <= last >> 1:
        return False
    keys -= low
    near = keys.astype(np.uint32) if high - low < 1 << 32 else keys
    near.sort()
    keys[:] = near
    keys += low
    # Only the last bit differs between two answers about one place.
    return bool(((keys[1:] ^ keys[:-1]) > 1).all())


class NotThere(BadInput):
    """A question about an image or a class that is not there."""


def classes_of(classes: Any, L: int) -> Ints:
    """Classes as indices. Raises NotThere for one that is not among the L classes."""
    places = np.asarray(classes, np.int64)
    if places.view(np.uint64).max(initial=0) < L:  # negative ones are very large
        return places
    strange = places[(places < 0) | (places >= L)]
    if strange.size:
        raise NotThere(
            f"the crowd is asked about class {int(strange[0])}, but the {L:,} classes are 0 to "
            f"{L - 1:,}; ask about numpy.arange(crowd.shape[1]) or some of these"
        )
    return places


class Crowd(Protocol):
    """People, and possibly a machine, whom a scheme asks about N images and L classes.

    Every question is billed in `ledger`, and every answer kept becomes a label. Images and classes
    are indices; `chance` keys the random choices of a question. `SimulatedCrowd` answers from a
    truth. `OrderCrowd` writes the questions down for people, answers those that are answered
    already, and takes the others for open; what it cannot ask it refuses with a BadInput.

    Attributes
    ----------
    shape : (N, L)
    images : (n,) int
        The images that may be asked about, ascending.
    answered : (N,) bool
        Images with answers of earlier rounds.
    hierarchy, features, scores
        A hierarchy of the classes, (N, D) features of all images and a model's (N, L) scores
        (logits), for schemes that ask or choose by them; None: not given.
    habits : Habits
        The annotator model; the bill states its number of workers.
    """

    shape: tuple[int, int]
    images: Ints
    answered: Bools
    hierarchy: Hierarchy | None
    features: Any
    scores: Any
    habits: Habits
    ledger: Ledger
    names: tuple[NDArray[Any], tuple[str, ...]]  # ids of all images, names of all classes

    # -- questions to people ----------------------------------------------------------------------

    def verify(self, images: Any, classes: Any) -> Bools:
        """Is this class in this image? (n,) answers for n pairs, False for an open or unsure one.

        Each pair is a question of kind `verify`.
        """

    def mistakes(self, images: Ints, classes: Ints, present: bool) -> int | None:
        """Verify n pairs and count those that people do not confirm as present (or as absent).

        None while a question is open, in orders. Billed as `verify`.
        """

    def name(self, images: Any, *, chance: Chance, most: int = 1, bias: str = "none") -> Ints:
        """Name up to `most` classes in each of n images, out of those present.

        bias: "none" (uniformly), "size" or "centre" (see `sparse_draws.boxes_by_class`; needs
        boxes), or weights of classes (see `label_preference.class_weights`); people choose by
        themselves. Returns (n, most) classes, -1 where there is none left or a question is open.
        Each class named is a question of kind `name`, and so is "nothing (else)". Larger `most`
        adds to what a smaller one names.
        """

    def name_share(self, share: float, *, chance: Chance) -> int:
        """Name round(share * pairs) of all present (image, class) pairs, chosen uniformly.

        Returns their number; each is a question of kind `name`. A larger share contains a smaller
        one. An order cannot: the number of present pairs is unknown before labelling.
        """

    def rule_out(
        self, absent: int, *, chance: Chance, named: Ints | None = None, keep_looks: bool = False
    ) -> None:
        """Verify classes in a random order per image until `absent` of them are answered with no.

        named (n, k): classes already named in the image (-1: none), which are not asked about
        again. Each question is of kind `verify`. Yes answers on the way are paid for and, unless
        `keep_looks`, dropped.
        """

    def rule_out_pairs(self, absent: int, *, chance: Chance) -> None:
        """Verify (image, class) pairs in random order until `absent` of them are answered with no.

        Billed as `verify`; yes answers on the way are paid for and dropped.
        """

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
        """Look for `present` images that show each class and `absent` ones that do not.

        Every look at an image is a question of kind `search`.

        Parameters
        ----------
        classes : (g,) int
            The classes, each searched in its own order of the images.
        chance : Chance
            Keys these orders.
        present, absent : (g,) int or int
            Images wanted with and without each class.
        precision : float, optional
            The share of a machine's candidates that show the class, whatever people say. Without
            it images are looked at in the class's own order until both goals are met, or all are
            looked at. An order has no such machine and takes the images of the highest scores
            first.
        scores : (N, L) float, optional
            A model's scores. Images with the highest scores of a class are looked at first, until
            `present` of them show it or the last `PATIENCE` looks do not; then images in the
            class's own order, until `absent` ones are found.
        keep_looks : bool, default False
            Record every answer that was paid for; otherwise those beyond `present` and `absent`
            are dropped, and counted.

        Returns
        -------
        (g,) int
            How many present images the search recorded; the goal while a question is open.
        """

    def sweep(self, images: Any, classes: Any = None) -> None:
        """Label n images exhaustively, for all classes or these.

        Each (image, class) is a question of kind `sweep`; prices may be by page of classes.
        """

    def descend(self, images: Any, *, chance: Chance, mode: str = "verify") -> None:
        """Have one present class named in each image, then ask about the classes beside its path.

        mode: "verify" goes down the hierarchy (questions of kind `descend`), "truth" sweeps all
        that is neither on the path nor below it, "path-only" asks nothing more. The first question
        is of kind `name`. See `Descent`.
        """

    # -- a machine --------------------------------------------------------------------------------

    def propose(self, proposer: Proposer) -> Iterator[tuple[Ints, Ints]]:
        """Images and classes (n,) that a machine proposes as present, some images at a time.

        Nobody is asked and nothing is billed. In an order the proposals are the classes with the
        highest scores.
        """

    def pay_machine(self, images: Ints) -> None:
        """A machine scores these images; each is billed once, however often this is called."""
        self.ledger.scored[images] = True

    def machine(self, images: Ints, classes: Ints, yes: Bools) -> None:
        """A machine labels n pairs with its answers `yes` (n,); see `pay_machine` for its price."""
        self.ledger.seen[images] = True
        self.ledger.record(images, classes, yes)

    # -- the same for every crowd -----------------------------------------------------------------

    def expect(self, answers: float) -> None:
        """Raise BadInput if this many further answers could not be stored; nothing is billed."""
        self.ledger.expect(answers)

    def among(self, images: Ints) -> Self:
        """The same people for a subset of the images, with a common bill and common labels.

        images: (n,) indices in any order. Raises BadInput for others than `self.images`.
        """
        self.rows_of(images)
        part = copy(self)
        for name in vars(self).keys() & vars(type(self)).keys():  # cached, and about all images
            del vars(part)[name]
        part.images = np.unique(np.asarray(images, np.int64))
        return part

    def rows_of(self, images: Ints) -> Ints:
        """(n,) places of n images in `images`. Raises BadInput for an image that is not there."""
        if len(self.images) == self.shape[0]:
            N = self.shape[0]
            unsigned = np.asarray(images, np.int64).view(np.uint64)  # negative ones are very large
            if unsigned.max(initial=0) < N:
                return images
            rows, strange = images, (images < 0) | (images >= N)
        else:
            rows = np.searchsorted(self.images, images).clip(max=len(self.images) - 1)
            strange = self.images[rows] != images
        if strange.any():
            stranger = int(np.asarray(images)[strange][0])
            raise NotThere(
                f"image {stranger} is not among those this crowd is asked about; ask about "
                "crowd.images or some of these"
            )
        return rows

    def labels(self, history: History) -> PartialLabels:
        """All answers so far as labels, with the images asked and the bill."""
        codes = sealed(self.ledger.codes())
        effort = self.ledger.effort(self.habits.workers, codes)
        return PartialLabels(codes, locked(self.ledger.asked()), *self.names, effort, history)


def by_score_until(hits: Bools) -> int:
    """The number of images after which a search by scores ends in any case.

    hits: (n,) which of the images, highest score first, show the class.
    """
    places = np.arange(len(hits))
    last = np.maximum.accumulate(np.where(hits, places, -1))
    hopeless = (places - last >= PATIENCE) & (places >= PATIENCE)
    return int(np.argmax(hopeless)) + 1 if hopeless.any() else len(hits)


def looks_by_score(hits: Bools, wanted: int) -> int:
    """The number of looks of a search by scores for `wanted` images with the class.

    hits: (n,) as in `by_score_until`.
    """
    until = by_score_until(hits)
    places = np.flatnonzero(hits[:until])
    if len(places) < wanted:
        return until
    return int(places[wanted - 1]) + 1 if wanted else 0


@dataclass(frozen=True, eq=False)
class Descent:
    """The questions down a hierarchy that follow when class v was named in an image.

    v and its ancestors are present. Asked about are the other children of v's ancestors (the
    siblings of all classes on the path) and all classes at the top; never what stands below v.
    "No" settles the whole branch as absent; "yes" leaves what is below open. Where classes have
    several parents, all parents of what is present are present too, and a branch that was denied
    settles only what does not also stand below a class known to be present.
    Source: Soft Exposure, section 4.1.2, which leaves open what becomes of the classes beside the
    path. The above is mode `verify`; in mode `truth` all that is neither on the path nor below v is
    asked about, and in mode `path-only` nothing is.
    """

    hierarchy: Hierarchy

    @cached_property
    def _tables(self) -> tuple[Bools, csr_array]:
        """(L + 1, L) classes asked about once v was named, the last row when nothing was; and
        (L, L) the classes strictly above each."""
        above, children = self.hierarchy.above, self.hierarchy.children
        L = len(children)
        strictly = above & ~np.eye(L, dtype=bool)
        asked = np.zeros((L + 1, L), bool)
        asked[:, self.hierarchy.roots] = True
        for v, ancestor in np.argwhere(strictly).tolist():
            asked[v, list(children[ancestor])] = True
        asked[:L] &= ~(above | above.T)
        return asked, csr_array(strictly)

    def reveal(
        self, named: Ints, says_yes: Bools, mode: str = "verify"
    ) -> tuple[NDArray[np.int8], Bools]:
        """Labels (b, L) int8 and the classes asked about (b, L) for b images.

        named (b,) class named in each image, -1 for none; says_yes (b, L) what people would say.
        """
        some, (frontier, above) = named >= 0, self._tables
        path = self.hierarchy.above[named] & some[:, None]
        if mode == "verify":
            asked = frontier[named]  # -1, for nothing named, is the last row
        elif mode == "truth":
            asked = ~(path | (self.hierarchy.above.T[named] & some[:, None]))
        else:
            asked = np.zeros(says_yes.shape, bool)
        yes, no = asked & says_yes, asked & ~says_yes
        settled = np.zeros(asked.shape, bool)
        if mode == "verify":

            def beside(marked: Bools, step: csr_array) -> Bools:
                """(b, L) classes one of whose relatives by `step` is marked."""
                # Class by class: the images of a class lie together. The sum of booleans is "or".
                return np.asarray(step.T @ np.ascontiguousarray(marked.T)).T

            # Parents of what is present are present, too, also those off the path.
            yes = yes | (beside(yes, above) & ~no & ~path)
            open_below = yes.copy()
            open_below[some, named[some]] = True
            below = beside(no, above.T) & ~beside(open_below, above.T)
            settled = below & ~asked & ~path & ~yes
        codes = np.zeros(asked.shape, np.int8)
        codes[path | yes] = PRESENT
        codes[no | settled] = ABSENT
        return codes, asked
