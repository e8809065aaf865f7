"""The simulated crowd: it answers questions about one truth."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate import sparse_draws
from simkit.annotate.annotators import Bools, Habits, Ints
from simkit.annotate.crowd import DENSE, Crowd, Descent
from simkit.annotate.label_preference import class_weights
from simkit.annotate.ledger import Ledger
from simkit.annotate.proposer import Proposer
from simkit.annotate.search import search
from simkit.chance import Chance
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth, by_class


class SimulatedCrowd(Crowd):
    """Simulated annotators of the images of one truth; see `Crowd` for the questions.

    The same question always gets the same answer, in whatever way it is asked.

    Parameters
    ----------
    truth : Truth
        The complete labels.
    chance : Chance
        Keys annotators' errors by (image, class, person).
    hierarchy : Hierarchy, optional
        Needed by `descend` only; the truth must be closed under it.
    habits : Habits
        The annotator model.
    boxes : Boxes, optional
        Boxes of the objects; needed only to name classes by size or position.
    features : (N, D) float, optional
        Features of all images, for schemes that choose images by them.
    scores : (N, L) float, optional
        A model's scores (logits) of all images, for schemes that choose images by them.

    Raises
    ------
    BadInput
        For a partially known truth, and if more than `ledger.LIMIT` answers would be stored.
    """

    def __init__(
        self,
        truth: Truth,
        *,
        chance: Chance,
        hierarchy: Hierarchy | None = None,
        habits: Habits = Habits(),
        boxes: Boxes | None = None,
        features: Any = None,
        scores: Any = None,
    ) -> None:
        if truth.known is not None:
            raise BadInput(
                "this truth is known in part only, but people answer from a complete one; open the "
                "data with unknown=absent-in-train, which takes what is not known for absent (an "
                "assumption), or train on the label file itself"
                if truth.known.nnz
                else "these images have no labels to simulate from; open labelled images, or order "
                "labels from people with simkit order"
            )
        habits.check(truth.shape[1])
        self.shape, self.images = truth.shape, np.arange(truth.shape[0])
        self.hierarchy, self.boxes, self.habits = hierarchy, boxes, habits
        self.features, self.scores = features, scores
        self.answered = np.zeros(truth.shape[0], bool)
        self.names = truth.images, truth.classes
        self.ledger = Ledger(*self.shape)
        self._truth, self._chance = truth, chance

    def verify(self, images: Any, classes: Any) -> Bools:
        images, classes = np.asarray(images, np.int64), np.asarray(classes, np.int64)
        self.rows_of(images)
        yes = self._answers(images, classes)
        self.ledger.bill("verify", images)
        self.ledger.record(images, classes, yes)
        return yes

    def mistakes(self, images: Ints, classes: Ints, present: bool) -> int | None:
        return int(np.count_nonzero(self.verify(images, classes) != present))

    def name(self, images: Any, *, chance: Chance, most: int = 1, bias: str = "none") -> Ints:
        images = np.asarray(images, np.int64)
        named = self._named(images, chance, most, bias)
        places = named >= 0
        count = places.sum(1)
        self.ledger.bill("name", images, np.minimum(count + 1, most) if most > 1 else None)
        self.ledger.record(np.repeat(images, count), named[places], True)
        return named

    def name_share(self, share: float, *, chance: Chance) -> int:
        yes = self._yes
        count = round(share * yes.nnz)
        self.ledger.expect(count)
        rows, classes = sparse_draws.draw_pairs(yes, self.images, count, chance)
        self.ledger.bill("name", self.images[rows])
        self.ledger.record(self.images[rows], classes, True)
        return count

    def rule_out(
        self, absent: int, *, chance: Chance, named: Ints | None = None, keep_looks: bool = False
    ) -> None:
        L = self.shape[1]
        wanted = np.full(len(self.images), min(absent, L))
        # Nearly every image has a few absent classes; whether it has many, asking must show.
        self.ledger.expect(int(wanted.sum()) if absent < L // 2 else 0)
        order = chance.permutation(L)
        for answered in sparse_draws.ask_images(self._answers, order, self.images, wanted, named):
            self.ledger.verified(*answered, keep_yes=keep_looks)

    def rule_out_pairs(self, absent: int, *, chance: Chance) -> None:
        L = self.shape[1]
        self.ledger.expect(min(absent, len(self.images) * L - self._yes.nnz))
        for answered in sparse_draws.ask_pairs(self._answers, self.images, L, absent, chance):
            self.ledger.verified(*answered, keep_yes=False)

    def search(
        self,
        classes: Any,
        *,
        chance: Chance,
        present: int | Ints,
        absent: int | Ints,
        precision: float | None = None,
        keep_looks: bool = False,
    ) -> Ints:
        classes = np.asarray(classes, np.int64)
        return search(
            self.ledger, self.images, classes, self._by_class,
            present=np.broadcast_to(present, len(classes)),
            absent=np.broadcast_to(absent, len(classes)),
            permutation=chance.permutation(len(self.images)),
            precision=precision, keep_looks=keep_looks,
        )  # fmt: skip

    def sweep(self, images: Any, classes: Any = None) -> None:
        images = np.asarray(images, np.int64)
        wanted = np.arange(self.shape[1]) if classes is None else np.asarray(classes, np.int64)
        self.ledger.expect(len(images) * len(wanted))
        self.ledger.bill("sweep", images, np.full(len(images), len(wanted)))
        for part, yes in self._whole_rows(images):
            rows = np.repeat(images[part], len(wanted))
            self.ledger.record(rows, np.tile(wanted, len(yes)), yes[:, wanted].ravel())

    def descend(self, images: Any, *, chance: Chance, mode: str = "verify") -> None:
        if self.hierarchy is None:
            raise BadInput(
                "questions down a class hierarchy need one, and none was given; make one with "
                "`simkit hierarchy --classes names.txt`, and open the data under it with "
                "hierarchy=hierarchy.json or the name of a shipped one"
            )
        images, descent = np.asarray(images, np.int64), Descent(self.hierarchy)
        named = self._named(images, chance, 1, "none")[:, 0]
        self.ledger.bill("name", images)
        for part, yes in self._whole_rows(images):
            codes, asked = descent.reveal(named[part], yes, mode)
            rows, columns = np.nonzero(codes)
            if part.start == 0:  # the first images say how many answers there will be
                self.ledger.expect(len(rows) * len(images) / len(codes))
            kind = "sweep" if mode == "truth" else "descend"
            self.ledger.bill(kind, images[part], asked.sum(1))
            self.ledger.record(images[part][rows], columns, codes[rows, columns] > 0)

    def propose(self, proposer: Proposer) -> Iterator[tuple[Ints, Ints]]:
        return proposer.propose(self._present, self.images, self.hierarchy)

    # -- the annotators' view ---------------------------------------------------------------------

    @cached_property
    def _present(self) -> csr_array:
        """(n, L) the truth of `images`."""
        present = self._truth.present
        return present if len(self.images) == self.shape[0] else csr_array(present[self.images])

    @cached_property
    def _yes(self) -> csr_array:
        """(n, L) where people say yes; row i is about `images[i]`.

        Raises BadInput for too many false alarms, before they are computed.
        """
        matrix, habits = self._present, self.habits
        if habits.perfect:
            return matrix
        n, L = matrix.shape
        unsure = float(np.mean(habits.unsure_absent)) * habits.unsure_yes
        self.ledger.expect(n * L * min(float(np.mean(habits.false_alarm)) + unsure, 1.0))
        blocks = sparse_draws.row_blocks(matrix, DENSE)
        if habits.ever_imagine:  # then every place must be asked, not only the present ones
            step = max(1, DENSE // L)
            blocks = ((start, min(start + step, n)) for start in range(0, n, step))
        counts, columns = [], []
        for start, stop in blocks:
            rows, classes = sparse_draws.entries_of(matrix, start, stop)
            present = np.ones(len(rows), bool)
            if habits.ever_imagine:
                present = matrix[start:stop].toarray().ravel()
                rows, classes = np.divmod(np.arange(len(present)), L)
            yes = habits.answers(self.images[start + rows], classes, present, chance=self._chance)
            counts.append(np.bincount(rows[yes], minlength=stop - start))
            columns.append(classes[yes].astype(np.int32))
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        indices = np.concatenate(columns)
        return csr_array((np.ones(len(indices), bool), indices, indptr), shape=matrix.shape)

    @cached_property
    def _by_class(self) -> tuple[Ints, NDArray[np.int32]]:
        """`_yes` by class: (L + 1,) pointers and rows, ascending in a class."""
        # The truth keeps its own, which all simulations of a study share.
        return self._truth.by_class if self._yes is self._truth.present else by_class(self._yes)

    def _answers(self, images: Ints, classes: Ints) -> Bools:
        """(n,) what people say about n pairs."""
        present = sparse_draws.lookup(self._truth.present, images, classes)
        return self.habits.answers(images, classes, present, chance=self._chance)

    def _whole_rows(self, images: Ints) -> Iterator[tuple[slice, Bools]]:
        """What people say about all classes (b, L), some images at a time."""
        rows = self.rows_of(images)
        step = max(1, DENSE // self.shape[1])
        for start in range(0, len(images), step):
            part = slice(start, start + step)
            yield part, self._yes[rows[part]].toarray()

    def _named(self, images: Ints, chance: Chance, most: int, bias: str) -> Ints:
        """(n, most) what people name, unbilled."""
        rows = self.rows_of(images)
        yes = self._yes if images is self.images else csr_array(self._yes[rows])
        if bias == "none":
            return sparse_draws.draw_present(yes, images, most=most, chance=chance)
        if bias not in ("size", "centre"):
            values: csr_array | Ints = class_weights(bias, self._truth)
        elif self.boxes is None:
            raise BadInput(
                f"naming by {bias} needs boxes of the objects, and none were given; open a data "
                "set that has them, such as scenes or coco:FILE, and pass boxes=data.boxes[split]"
            )
        else:
            values = sparse_draws.boxes_by_class(self.boxes, bias, self.shape, self.hierarchy)
        return sparse_draws.draw_weighted(yes, images, values, most=most, chance=chance)
