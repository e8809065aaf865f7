"""The ledger: all questions and answers of an annotation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate.annotators import Bools, Ints
from simkit.annotate.sparse_draws import by_row, lookup
from simkit.errors import BadInput
from simkit.labels.effort import Effort, histogram
from simkit.labels.partial import ABSENT, PRESENT

LIMIT = 400_000_000  # answers; they take 18 bytes each while they are sorted into labels


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
        # One entry for each answer; the first `_written` are filled.
        self._images, self._classes = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self._codes = np.zeros(0, np.int8)
        self._written = 0
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
        self.expect(len(images))
        written = slice(self._written, self._written + len(images))
        if written.stop > len(self._codes):
            for entries in (self._images, self._classes, self._codes):
                # The system moves the pages of large arrays: no second copy, unlike a list's join.
                entries.resize(max(written.stop, len(entries) * 5 // 4), refcheck=False)
        self._images[written], self._classes[written] = images, classes
        self._codes[written] = np.where(yes, np.int8(PRESENT), np.int8(ABSENT))
        self._written = written.stop

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
        return np.logical_or.reduce([self.seen, *self._questions.values()])

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
        n = self._written
        matrix = by_row(self._codes[:n], self._images[:n], self._classes[:n], self.shape)
        # Answers about one place stand side by side: `first` marks where another place begins.
        first = np.append(True, matrix.indices[1:] != matrix.indices[:-1])[: matrix.nnz]
        first[matrix.indptr[:-1][np.diff(matrix.indptr) > 0]] = True
        if first.all():
            return matrix
        codes = np.maximum.reduceat(matrix.data, np.flatnonzero(first))
        indptr = np.append(0, np.cumsum(first))[matrix.indptr].astype(np.int32)
        return csr_array((codes, matrix.indices[first], indptr), shape=self.shape)
