"""The crowd: it answers questions about one truth, and every question is billed."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate.asking import ruling_out
from simkit.annotate.asking.answers import draw_present
from simkit.annotate.asking.descent import Descent
from simkit.annotate.asking.ledger import Ledger
from simkit.annotate.asking.machine import Machine
from simkit.annotate.asking.naming import boxes_by_class, draw_pairs, draw_weighted
from simkit.annotate.asking.settling import look_for
from simkit.annotate.asking.sight import Sight
from simkit.annotate.habits import Habits
from simkit.chance import Chance
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth, frozen, locked

DENSE = 1 << 21  # places spread out at a time where whole rows are needed; changes no result


class Crowd:
    """People who see the images of one truth.

    images    indices of the images that may be asked about, ascending; None: all.
    hierarchy needed by `descend` only; the truth must be closed under it.
    boxes     where the objects are; needed to name by size or place only.
    chance    keys people's errors by (image, class, person).

    Answers to the same question are the same however often and in whatever way it is asked. Raises
    BadInput for a truth that is itself partial, and when more than `ledger.LIMIT` answers would be
    written down.
    """

    def __init__(
        self,
        truth: Truth,
        *,
        chance: Chance,
        images: Any = None,
        hierarchy: Hierarchy | None = None,
        habits: Habits = Habits(),
        boxes: Boxes | None = None,
    ) -> None:
        habits.check(truth.shape[1])
        self.shape = truth.shape
        self.hierarchy, self.boxes, self.habits = hierarchy, boxes, habits
        self._sight = Sight(truth, images, habits, chance)
        self.images = self._sight.images
        self._ledger = Ledger(*self.shape)

    def among(self, images: NDArray[np.int64]) -> Crowd:
        """The same people, asked about these of the images only; one bill and one set of labels."""
        part = copy(self)
        part._sight = self._sight.among(images)
        part.images = part._sight.images
        return part

    # -- questions ---------------------------------------------------------------------------

    def verify(self, images: Any, classes: Any, kind: str = "verify") -> NDArray[np.bool_]:
        """Is this class in this image? (n,) answers for n pairs; each pair is one question."""
        images, classes = np.asarray(images, np.int64), np.asarray(classes, np.int64)
        self._sight.check(images)
        yes = self._sight.answers(images, classes)
        self._ledger.bill(kind, images)
        self._ledger.record(images, classes, yes)
        return yes

    def name(
        self, images: Any, *, chance: Chance, most: int = 1, bias: str = "none"
    ) -> NDArray[np.int64]:
        """Name up to `most` classes in each of n images, out of those present.

        bias: "none" (uniformly), "size" or "centre" (see `naming`; needs boxes). Returns (n, most)
        classes, -1 where there is none left. Each class named is a question, and so is "nothing
        (else)". Larger `most` adds to what a smaller one names.
        """
        images = np.asarray(images, np.int64)
        named = self._named(images, chance, most, bias)
        places = named >= 0
        found = places.sum(1)
        self._ledger.bill("name", images, np.minimum(found + 1, most) if most > 1 else None)
        self._ledger.record(np.repeat(images, found), named[places], True)
        return named

    def name_share(self, share: float, *, chance: Chance) -> int:
        """Name this share of all that is present in all images together: round(share * pairs)
        pairs, uniformly. Each is a question; returns how many. A larger share adds to a smaller."""
        yes = self._yes
        count = round(share * yes.nnz)
        self._ledger.expect(count)
        for rows, classes in draw_pairs(yes, self.images, count, chance):
            self._ledger.bill("name", self.images[rows])
            self._ledger.record(self.images[rows], classes, True)
        return count

    def rule_out(
        self,
        absent: int,
        *,
        chance: Chance,
        named: NDArray[np.int64] | None = None,
        keep_looks: bool = False,
    ) -> None:
        """Verify classes in each image's own random order until `absent` of them are denied.

        named (n, k) classes already named there (-1: none), which are not asked about again. The
        present ones met on the way are paid for and, unless `keep_looks`, dropped.
        """
        L = self.shape[1]
        wanted = np.full(len(self.images), min(absent, L))
        self._ledger.expect(int(wanted.sum()) if absent < L // 2 else 0)
        order = chance.permutation(L)
        answers = self._sight.answers
        for met in ruling_out.in_images(answers, order, self.images, wanted, named):
            self._ledger.verified(*met, keep_yes=keep_looks)

    def rule_out_pairs(self, absent: int, *, chance: Chance) -> None:
        """Verify pairs of images and classes in one random order of all until `absent` of them are
        denied; the present ones met on the way are paid for and dropped."""
        self._ledger.expect(min(absent, len(self.images) * self.shape[1] - self._yes.nnz))
        met = ruling_out.over_pairs(self._sight.answers, self.images, self.shape[1], absent, chance)
        for piece in met:
            self._ledger.verified(*piece, keep_yes=False)

    def propose(self, machine: Machine) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Pairs of images and classes that a machine takes for present; nobody is asked."""
        return machine.propose(self._sight.present, self.images, self.hierarchy)

    def search(
        self,
        classes: Any,
        *,
        chance: Chance,
        present: int | NDArray[np.int64],
        absent: int | NDArray[np.int64],
        precision: float | None = None,
        keep_looks: bool = False,
    ) -> NDArray[np.int64]:
        """Look for `present` images that show each class and `absent` ones that do not.

        present and absent: one number for all, or (g,) for g classes.
        precision None: images are looked at in the class's own order until both are found, or all
        are looked at. Otherwise a machine proposes candidates of which this share shows the class.
        keep_looks: write down every answer that was paid for; otherwise those beyond `present` and
        `absent` are dropped, and counted. Returns (g,) how many present images were found.
        """
        self._expect_ghosts()
        goals = np.asarray(classes, np.int64), np.asarray(present), np.asarray(absent)
        return look_for(
            self._ledger, self._sight, *goals,
            chance=chance, precision=precision, keep_looks=keep_looks,
        )  # fmt: skip

    def sweep(self, images: Any, classes: Any = None) -> None:
        """Label images exhaustively, for all classes or these; each class is a question."""
        images = np.asarray(images, np.int64)
        wanted = np.arange(self.shape[1]) if classes is None else np.asarray(classes, np.int64)
        self._ledger.expect(len(images) * len(wanted))
        self._ledger.bill("sweep", images, np.full(len(images), len(wanted)))
        for part, yes in self._whole_rows(images):
            rows = np.repeat(images[part], len(wanted))
            self._ledger.record(rows, np.tile(wanted, len(yes)), yes[:, wanted].ravel())

    def descend(self, images: Any, *, chance: Chance, mode: str = "verify") -> None:
        """Have one present class named, then ask about what is beside it.

        mode: "verify" goes down the hierarchy (questions of kind `descend`), "truth" sweeps all
        that is neither on the path nor below it, "path-only" asks nothing more. The first question
        is of kind `name`. See `descent.Descent`.
        """
        if self.hierarchy is None:
            raise BadInput("asking down a hierarchy needs one; pass hierarchy=Hierarchy.load(FILE)")
        images = np.asarray(images, np.int64)
        descent = Descent(self.hierarchy)
        named = self._named(images, chance, 1)[:, 0]
        self._ledger.bill("name", images)
        for part, yes in self._whole_rows(images):
            codes, asked = descent.reveal(named[part], yes, mode)
            rows, columns = np.nonzero(codes)
            if part.start == 0:
                self._ledger.expect(len(rows) * len(images) / len(codes))
            kind = "sweep" if mode == "truth" else "descend"
            self._ledger.bill(kind, images[part], asked.sum(1))
            self._ledger.record(images[part][rows], columns, codes[rows, columns] > 0)

    def expect(self, answers: float) -> None:
        """Raise BadInput when this many answers more could not be written down."""
        self._ledger.expect(answers)

    def labels(self, history: History) -> PartialLabels:
        """All answers so far as labels, with the images asked and the bill."""
        codes = frozen(self._ledger.codes())
        asked = locked(self._ledger.asked())
        effort = self._ledger.effort(self.habits.workers, codes)
        truth = self._sight.truth
        return PartialLabels(codes, asked, truth.images, truth.classes, effort, history)

    # -- what people see ---------------------------------------------------------------------

    @property
    def _yes(self) -> csr_array:
        self._expect_ghosts()
        return self._sight.yes

    def _expect_ghosts(self) -> None:
        """Refuse before what people imagine everywhere is worked out and does not fit."""
        unsure = float(np.mean(self.habits.unsure_absent)) * self.habits.unsure_yes
        imagined = float(np.mean(self.habits.false_alarm)) + unsure
        self._ledger.expect(len(self.images) * self.shape[1] * min(imagined, 1.0))

    def _whole_rows(self, images: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
        """What people say about all classes (b, L), some images at a time."""
        rows = self._sight.rows(images)
        step = max(1, DENSE // self.shape[1])
        for start in range(0, len(images), step):
            part = slice(start, start + step)
            yield part, self._yes[rows[part]].toarray()

    def _named(
        self, images: NDArray[np.int64], chance: Chance, most: int, bias: str = "none"
    ) -> NDArray[np.int64]:
        rows = self._sight.rows(images)
        own = self._yes if images is self.images else csr_array(self._yes[rows])
        if bias == "none":
            return draw_present(own, images, most=most, chance=chance)
        if self.boxes is None:
            raise BadInput(
                f"naming by {bias} needs boxes of the objects; pass boxes=data.boxes[split]"
            )
        values = boxes_by_class(self.boxes, bias, self.shape, self.hierarchy)
        return draw_weighted(own, images, values, most=most, chance=chance)
