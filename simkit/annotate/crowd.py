"""The simulated crowd: it answers questions about one truth, and every question is billed."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate import sparse_draws as sampling
from simkit.annotate.annotators import Bools, Habits, Ints
from simkit.annotate.label_preference import class_weights
from simkit.annotate.ledger import Ledger
from simkit.annotate.proposer import Proposer
from simkit.chance import Chance, Permutation
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import Truth, by_class, frozen, locked

DENSE = 1 << 21  # places spread out at a time where whole rows are needed; changes no result
GROUP = 1 << 20  # present images and wanted answers worked on at a time; changes no result


class Crowd:
    """Simulated annotators of the images of one truth.

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
            if not truth.known.nnz:
                raise BadInput(
                    "these images have no labels to simulate from; open labelled images, or order "
                    "labels from people with simkit order"
                )
            raise BadInput(
                "this truth is known in part only, but people answer from a complete one; open the "
                "data with unknown=absent-in-train, which takes what is not known for absent (an "
                "assumption), or train on the label file itself"
            )
        habits.check(truth.shape[1])
        self.shape, self.images = truth.shape, np.arange(truth.shape[0])
        self.hierarchy, self.boxes, self.habits = hierarchy, boxes, habits
        self.features, self.scores = features, scores
        self.answered = np.zeros(truth.shape[0], bool)
        self._truth, self._chance = truth, chance
        self._ids, self._classes = truth.images, truth.classes
        self._ledger = Ledger(*self.shape)

    def among(self, images: Ints) -> Self:
        """The same annotators for a subset of the images, with a common bill and common labels.

        images: (n,) indices in any order. Raises BadInput for others than `self.images`.
        """
        self._rows(images)
        part = copy(self)
        for name in ("_present", "_yes", "_by_class"):  # of all images
            part.__dict__.pop(name, None)
        part.images = np.unique(np.asarray(images, np.int64))
        return part

    # -- questions --------------------------------------------------------------------------------

    def verify(self, images: Any, classes: Any, kind: str = "verify") -> Bools:
        """Is this class in this image? (n,) answers for n pairs; each pair is one question."""
        images, classes = np.asarray(images, np.int64), np.asarray(classes, np.int64)
        self._rows(images)
        yes = self._answers(images, classes)
        self._ledger.bill(kind, images)
        self._ledger.record(images, classes, yes)
        return yes

    def name(self, images: Any, *, chance: Chance, most: int = 1, bias: str = "none") -> Ints:
        """Name up to `most` classes in each of n images, out of those present.

        bias: "none" (uniformly), "size" or "centre" (see `sampling.boxes_by_class`; needs boxes),
        or weights of classes (see `naming.class_weights`).
        Returns (n, most) classes, -1 where there is none left. Each class named is a question, and
        so is "nothing (else)". Larger `most` adds to what a smaller one names.
        """
        images = np.asarray(images, np.int64)
        named = self._named(images, chance, most, bias)
        places = named >= 0
        count = places.sum(1)
        self._ledger.bill("name", images, np.minimum(count + 1, most) if most > 1 else None)
        self._ledger.record(np.repeat(images, count), named[places], True)
        return named

    def name_share(self, share: float, *, chance: Chance) -> int:
        """Name round(share * pairs) of all present (image, class) pairs, chosen uniformly.

        Each is one question; returns their number. A larger share contains a smaller one.
        """
        yes = self._yes
        count = round(share * yes.nnz)
        self._ledger.expect(count)
        rows, classes = sampling.draw_pairs(yes, self.images, count, chance)
        self._ledger.bill("name", self.images[rows])
        self._ledger.record(self.images[rows], classes, True)
        return count

    def rule_out(
        self, absent: int, *, chance: Chance, named: Ints | None = None, keep_looks: bool = False
    ) -> None:
        """Verify classes in a random order per image until `absent` of them are answered with no.

        named (n, k): classes already named in the image (-1: none), which are not asked about
        again. Yes answers on the way are paid for and, unless `keep_looks`, dropped.
        """
        L = self.shape[1]
        wanted = np.full(len(self.images), min(absent, L))
        self._ledger.expect(int(wanted.sum()) if absent < L // 2 else 0)
        order = chance.permutation(L)
        for answered in sampling.ask_images(self._answers, order, self.images, wanted, named):
            self._ledger.verified(*answered, keep_yes=keep_looks)

    def rule_out_pairs(self, absent: int, *, chance: Chance) -> None:
        """Verify (image, class) pairs in random order until `absent` of them are answered with no;
        yes answers on the way are paid for and dropped."""
        L = self.shape[1]
        self._ledger.expect(min(absent, len(self.images) * L - self._yes.nnz))
        for answered in sampling.ask_pairs(self._answers, self.images, L, absent, chance):
            self._ledger.verified(*answered, keep_yes=False)

    def propose(self, proposer: Proposer) -> Iterator[tuple[Ints, Ints]]:
        """(Image, class) pairs that a machine proposes as present; no question is asked."""
        return proposer.propose(self._present, self.images, self.hierarchy)

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
        """Look for `present` images that show each class and `absent` ones that do not.

        Parameters
        ----------
        classes : (g,) int
            The classes, each searched in an order of its own.
        chance : Chance
            Keys these orders.
        present, absent : (g,) int or int
            Images wanted with and without each class.
        precision : float, optional
            The share of a machine's candidates that show the class. Without it images are looked
            at in the class's own order until both are found, or all are looked at.
        keep_looks : bool, default False
            Record every answer that was paid for; otherwise those beyond `present` and `absent`
            are dropped, and counted.

        Returns
        -------
        (g,) int
            How many present images were found.
        """
        classes = np.asarray(classes, np.int64)
        n, g = len(self.images), len(classes)
        present, absent = (np.broadcast_to(number, g) for number in (present, absent))
        pointers, images = self._by_class
        permutation = chance.permutation(n)
        answers = present / (precision or 1) + absent
        if precision is None and keep_looks:
            answers = np.full(g, 2.0 * n)
        weights = pointers[classes + 1] - pointers[classes]
        weights += np.minimum(2.0 * n, answers).astype(np.int64)
        most = 1 << max(0, 63 - 2 * n.bit_length())
        out = np.zeros(g, np.int64)
        for group in groups(weights, most):
            goal = Goal(present[group], absent[group], precision, keep_looks)
            order = Order.of(permutation, classes[group], pointers, images, goal)
            found = found_in(order, goal)
            out[group] = found.present
            # All images between those recorded were looked at, or candidates alone.
            whole = precision is None and not keep_looks
            write_down(self._ledger, self.images, order, found, whole=whole)
        return out

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
        """Have one present class named, then ask about the classes beside its path.

        mode: "verify" goes down the hierarchy (questions of kind `descend`), "truth" sweeps all
        that is neither on the path nor below it, "path-only" asks nothing more. The first question
        is of kind `name`. See `Descent`.
        """
        if self.hierarchy is None:
            raise BadInput(
                "questions down a class hierarchy need one, and none was given; make one with "
                "`simkit hierarchy --classes names.txt`, and open the data under it with "
                "hierarchy=hierarchy.json or the name of a shipped one"
            )
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

    def pay_machine(self, images: Ints) -> None:
        """A machine is paid for scoring these images."""
        self._ledger.scored[images] = True

    def machine(self, images: Ints, classes: Ints, yes: Bools) -> None:
        """A machine answers for n pairs."""
        self._ledger.machine(images, classes, yes)

    def mistakes(self, images: Ints, classes: Ints, present: bool) -> int | None:
        """People verify n pairs: the number of those that they do not confirm as present or absent.

        None while a question is open, in orders.
        """
        return int(np.count_nonzero(self.verify(images, classes) != present))

    def expect(self, answers: float) -> None:
        """Raise BadInput if this many further answers could not be stored."""
        self._ledger.expect(answers)

    def labels(self, history: History) -> PartialLabels:
        """All answers so far as labels, with the images asked and the bill."""
        codes = frozen(self._ledger.codes())
        asked = locked(self._ledger.asked())
        effort = self._ledger.effort(self.habits.workers, codes)
        return PartialLabels(codes, asked, self._ids, self._classes, effort, history)

    # -- the annotators' view ---------------------------------------------------------------------

    @property
    def _all(self) -> bool:
        """Whether all images may be asked about."""
        return len(self.images) == self.shape[0]

    @cached_property
    def _present(self) -> csr_array:
        """(n, L) the truth of `images`."""
        return self._truth.present if self._all else csr_array(self._truth.present[self.images])

    @cached_property
    def _yes(self) -> csr_array:
        """(n, L) where people say yes; row i is about `images[i]`.

        Raises BadInput for too many false alarms, before they are computed.
        """
        matrix, habits = self._present, self.habits
        if habits.perfect:
            return matrix
        N, L = matrix.shape
        unsure = float(np.mean(habits.unsure_absent)) * habits.unsure_yes
        self._ledger.expect(N * L * min(float(np.mean(habits.false_alarm)) + unsure, 1.0))
        blocks = sampling.row_blocks(matrix, DENSE)
        if habits.ever_imagine:  # then every place must be asked
            step = max(1, DENSE // L)
            blocks = ((start, min(start + step, N)) for start in range(0, N, step))
        counts, columns = [], []
        for start, stop in blocks:
            rows, classes = sampling.entries_of(matrix, start, stop)
            present = np.ones(len(rows), bool)
            if habits.ever_imagine:
                dense = np.zeros((stop - start, L), bool)
                dense[rows, classes] = True
                rows, classes = np.indices(dense.shape).reshape(2, -1)
                present = dense.ravel()
            yes = habits.answers(self.images[start + rows], classes, present, chance=self._chance)
            counts.append(np.bincount(rows[yes], minlength=stop - start))
            columns.append(classes[yes].astype(np.int32))
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        indices = np.concatenate(columns)
        return csr_array((np.ones(len(indices), bool), indices, indptr), shape=matrix.shape)

    @cached_property
    def _by_class(self) -> tuple[Ints, NDArray[np.int32]]:
        """`_yes` by class: (L + 1,) pointers and rows, ascending in a class."""
        if self._all and self.habits.perfect:
            return self._truth.by_class
        return by_class(self._yes)

    def _answers(self, images: Ints, classes: Ints) -> Bools:
        """(n,) what people say about n pairs."""
        present = sampling.lookup(self._truth.present, images, classes)
        return self.habits.answers(images, classes, present, chance=self._chance)

    def _rows(self, images: Ints) -> Ints:
        """Where these images stand in `images`. Raises BadInput for others."""
        if self._all:
            return images
        rows = np.searchsorted(self.images, images).clip(max=len(self.images) - 1)
        strange = self.images[rows] != images
        if strange.any():
            stranger = int(np.asarray(images)[strange][0])
            raise BadInput(f"image {stranger} is not among those this crowd is asked about")
        return rows

    def _whole_rows(self, images: Ints) -> Iterator[tuple[slice, Bools]]:
        """What people say about all classes (b, L), some images at a time."""
        rows = self._rows(images)
        step = max(1, DENSE // self.shape[1])
        for start in range(0, len(images), step):
            part = slice(start, start + step)
            yield part, self._yes[rows[part]].toarray()

    def _named(self, images: Ints, chance: Chance, most: int, bias: str = "none") -> Ints:
        rows = self._rows(images)
        yes = self._yes if images is self.images else csr_array(self._yes[rows])
        if bias == "none":
            return sampling.draw_present(yes, images, most=most, chance=chance)
        if bias not in ("size", "centre"):
            weights = class_weights(bias, self._truth)
            return sampling.draw_weighted(yes, images, weights, most=most, chance=chance)
        if self.boxes is None:
            raise BadInput(
                f"naming by {bias} needs boxes of the objects, and none were given; open a data "
                "set that has them, such as scenes or coco:FILE, and pass boxes=data.boxes[split]"
            )
        values = sampling.boxes_by_class(self.boxes, bias, self.shape, self.hierarchy)
        return sampling.draw_weighted(yes, images, values, most=most, chance=chance)


# -- searching ------------------------------------------------------------------------------------
# For each class the images stand in an order of their own, a keyed permutation. All counting is
# done on the places of the present images in that order; nothing is walked image by image.


@dataclass(frozen=True, eq=False)
class Goal:
    """The parameters of a search, as in `Crowd.search`, for g classes."""

    present: Ints
    absent: Ints
    precision: float | None
    keep_looks: bool

    def answers(self, present: Ints, images: int) -> tuple[Ints, Ints, Ints]:
        """(g,) numbers of present and absent answers that are kept, and of all absent ones.

        present (g,) how many of the n `images` show each class.
        """
        kept, lacking = np.minimum(present, self.present), images - present
        denied = seen = np.minimum(lacking, self.absent)
        if self.precision is not None:
            # Finding f takes ceil(f / precision) looks; the false candidates are absent answers.
            share = Fraction(repr(float(self.precision))).limit_denominator(10**6)
            candidates = -(-kept * share.denominator // share.numerator)
            seen = np.maximum(np.minimum(candidates - kept, lacking), denied)
        return kept, denied, seen


@dataclass(frozen=True, eq=False)
class Order:
    """Where the present images of g classes stand among n images, each class in its own order.

    classes (g,);  present (g,) how many images show the class;  owner (m,) which of the g a present
    image belongs to;  nth (m,) how many present ones of its class come before it;  rank (m,) its
    place, from 0;  image (m,). Sorted by owner and rank, and without those that no look of a search
    reaches.
    """

    permutation: Permutation
    classes: Ints
    present: Ints
    owner: Ints
    nth: Ints
    rank: Ints
    image: Ints

    @staticmethod
    def of(
        permutation: Permutation, classes: Ints, pointers: Ints, images: NDArray[np.int32],
        goal: Goal,
    ) -> Order:  # fmt: skip
        """From the present images by class: `images[pointers[c]:pointers[c + 1]]`."""
        n, g = permutation.size, len(classes)
        present = pointers[classes + 1] - pointers[classes]
        image = np.concatenate([images[pointers[c] : pointers[c + 1]] for c in classes])
        rank = permutation.rank(image, classes, present)
        kept, _, seen = goal.answers(present, n)
        # So many places nearly always hold enough images of both kinds; where not, take them all.
        far = np.maximum(*(
            n / np.maximum(there, 1) * (some + 5 * np.sqrt(some) + 9)
            for there, some in ((present, kept), (n - present, seen))
        ))  # fmt: skip
        far = np.minimum(far, n).astype(np.int64)
        short = np.ones(g, bool)
        while short.any():
            inside = np.flatnonzero(rank < np.repeat(far, present))
            owner = np.repeat(np.arange(g), present)[inside]
            count = np.bincount(owner, minlength=g)
            short = (count < kept) | (far - count < seen)
            far[short] = n
        bits = n.bit_length()
        keys = (owner << (2 * bits)) | (rank[inside] << bits) | image[inside]
        keys.sort()
        nth = np.arange(len(keys)) - np.repeat(np.cumsum(count) - count, count)
        mask = (1 << bits) - 1
        return Order(permutation, classes, present, owner, nth, (keys >> bits) & mask, keys & mask)

    def last_present(self, wanted: Ints) -> Ints:
        """(g,) the rank of the last of the first `wanted` present images; -1: none is wanted."""
        out = np.full(len(self.classes), -1, np.int64)
        last = self.nth == wanted[self.owner] - 1
        out[self.owner[last]] = self.rank[last]
        return out

    def reach(self, wanted: Ints) -> Ints:
        """(g,) how many images stand up to and with the last of the first `wanted` absent ones."""
        between = self.rank - self.nth < wanted[self.owner]
        return wanted + np.bincount(self.owner[between], minlength=len(wanted))

    def first_absent(self, wanted: Ints) -> tuple[Ints, Ints, Ints]:
        """Classes, images and counting numbers (from 0) of the first `wanted` (g,) absent ones."""
        reach = self.reach(wanted)
        starts = np.cumsum(reach) - reach
        free = np.ones(int(reach.sum()), bool)
        inside = self.rank < reach[self.owner]
        free[starts[self.owner[inside]] + self.rank[inside]] = False
        owner, nth = sampling.spread(wanted)
        ranks = np.flatnonzero(free) - starts[owner]
        return self.classes[owner], self.permutation.at(ranks, self.classes, wanted), nth


@dataclass(frozen=True, eq=False)
class Found:
    """What a search comes to, (g,) each: `present` and `absent` answers written down, `looks` paid
    for, and how many of the absent ones were looked at at all (those beyond `absent` are dropped).
    """

    present: Ints
    absent: Ints
    absent_seen: Ints
    looks: Ints


def found_in(order: Order, goal: Goal) -> Found:
    """The result of a search in this order."""
    n = order.permutation.size
    kept, denied, seen = goal.answers(order.present, n)
    if goal.precision is not None:
        return Found(kept, seen if goal.keep_looks else denied, seen, kept + seen)
    enough = (kept == goal.present) & (denied == goal.absent)
    both = np.maximum(order.last_present(kept) + 1, order.reach(denied))
    looks = np.where(enough, both, n)
    shown = np.bincount(order.owner[order.rank < looks[order.owner]], minlength=len(looks))
    shown = np.where(enough, shown, order.present)
    if goal.keep_looks:
        return Found(shown, looks - shown, looks - shown, looks)
    return Found(kept, denied, looks - shown, looks)


def write_down(ledger: Ledger, images: Ints, order: Order, counts: Found, *, whole: bool) -> None:
    """Write into the ledger what a search among `images` (n,) found, dropped and looked at."""
    ledger.look(order.classes, counts.looks)
    beyond = int((counts.looks - counts.present - counts.absent).sum())
    ledger.dropped["search"] = ledger.dropped.get("search", 0) + beyond
    chosen = order.nth < counts.present[order.owner]
    shown = images[order.image[chosen]]
    ledger.record(shown, order.classes[order.owner[chosen]], True)
    ledger.look_at(shown)
    seen = counts.absent if whole else counts.absent_seen
    classes, places, nth = order.first_absent(seen)
    denied = images[places]
    ledger.look_at(denied)
    if (seen > counts.absent).any():
        kept = nth < np.repeat(counts.absent, seen)
        denied, classes = denied[kept], classes[kept]
    ledger.record(denied, classes, False)
    if whole:
        _look_through(ledger, images, order, counts.looks)


def _look_through(ledger: Ledger, images: Ints, order: Order, looks: Ints) -> None:
    """Mark the first `looks` images of each class's order, until all are marked."""
    longest_first = np.argsort(-looks, kind="stable")
    for group in groups(looks[longest_first], len(looks)):
        if ledger.looked_at == len(images):
            return
        searched = longest_first[group]
        if looks[searched[0]] == len(images):
            ledger.look_at(images)
            return
        owner, ranks = sampling.spread(looks[searched])
        places = order.permutation.at(ranks, order.classes[searched][owner])
        ledger.look_at(images[places])


def groups(weights: Ints, most: int) -> Iterator[slice]:
    """Slices of consecutive things whose weights add to about GROUP, `most` things at most."""
    ends, start = np.cumsum(weights), 0
    while start < len(weights):
        done = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, done + GROUP, side="right"))
        stop = min(max(stop, start + 1), start + most)
        yield slice(start, stop)
        start = stop


# -- asking down a hierarchy ----------------------------------------------------------------------


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
    def frontier(self) -> Bools:
        """(L + 1, L) classes asked about once v was named; the last row: when nothing was."""
        above, children = self.hierarchy.above, self.hierarchy.children
        L = len(children)
        asked = np.zeros((L + 1, L), bool)
        asked[:, self.hierarchy.roots] = True
        for v in range(L):
            for ancestor in np.flatnonzero(above[v]):
                if ancestor != v:
                    asked[v, list(children[ancestor])] = True
        asked[:L] &= ~(above | above.T)
        return asked

    @cached_property
    def order(self) -> list[int]:
        """Classes, parents before children."""
        import networkx as nx

        return list(nx.topological_sort(self.hierarchy.graph))

    def reveal(
        self, named: Ints, says_yes: Bools, mode: str = "verify"
    ) -> tuple[NDArray[np.int8], Bools]:
        """Labels (b, L) int8 and the classes asked about (b, L) for b images.

        named (b,) class named in each image, -1 for none; says_yes (b, L) what people would say.
        """
        some = named >= 0
        path = self.hierarchy.above[named] & some[:, None]
        if mode == "verify":
            asked = self.frontier[named]
        elif mode == "truth":
            asked = ~(path | (self.hierarchy.above.T[named] & some[:, None]))
        else:
            asked = np.zeros(says_yes.shape, bool)
        yes, no = asked & says_yes, asked & ~says_yes
        settled = np.zeros(asked.shape, bool)
        if mode == "verify":
            yes = yes | (self._next_to(yes, above=True) & ~no & ~path)
            open_below = yes.copy()
            open_below[some, named[some]] = True
            below = self._next_to(no, above=False) & ~self._next_to(open_below, above=False)
            settled = below & ~asked & ~path & ~yes
        codes = np.zeros(asked.shape, np.int8)
        codes[path | yes] = PRESENT
        codes[no | settled] = ABSENT
        return codes, asked

    def _next_to(self, marked: Bools, *, above: bool) -> Bools:
        """(b, L) classes strictly above a marked class, or strictly below one."""
        columns = np.ascontiguousarray(marked.T)  # a class's images lie together
        out = np.zeros_like(columns)
        for c in reversed(self.order) if above else self.order:
            for parent in self.hierarchy.parents[c]:
                target, source = (parent, c) if above else (c, parent)
                out[target] |= out[source]
                out[target] |= columns[source]
        return out.T
