"""The simulated crowd: it answers questions about one truth.

A search looks at one image after another, for images with and without each class. Every class has
a separate order of the images, a keyed permutation. It is never traversed:
how far a search goes, and its answers, follow by counting from the places of the present images
alone. So the time of a search among 9 M images depends on its answers only. Its arrays are of g
classes, (g,), or of the present images of all these classes, (m,).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate import sparse_draws
from simkit.annotate.annotators import Bools, Habits, Ints
from simkit.annotate.crowd import DENSE, Crowd, Descent, Ledger, classes_of, looks_by_score
from simkit.annotate.label_preference import class_weights
from simkit.annotate.proposer import Proposer
from simkit.annotate.sparse_draws import spread
from simkit.chance import Chance, Permutation
from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.history import content_id
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth, by_class, sealed

# The order of a class is gone through from its beginning if it has more present images than this
# for each of the places; changes no result.
OFTEN = 8
GROUP = 1 << 20  # present images and wanted answers worked on at a time; changes no result


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
        For a partially known truth, and if more than `crowd.LIMIT` answers would be stored.
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
                "assumption; in an array or frame, 0 in place of nan), or train on the label file "
                "itself"
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
        images, classes = np.asarray(images, np.int64), classes_of(classes, self.shape[1])
        if images.ndim != 1 or images.shape != classes.shape:
            raise BadInput(
                f"verify was asked about images of shape {images.shape} and classes of shape "
                f"{classes.shape}; one class for each image is expected, both of shape (n,)"
            )
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
        # Nearly every image has a few absent classes; only asking shows whether it has many.
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
        scores: Any = None,
        keep_looks: bool = False,
    ) -> Ints:
        classes, n = classes_of(classes, self.shape[1]), len(self.images)
        present, absent = (np.broadcast_to(goal, len(classes)) for goal in (present, absent))
        # The truth keeps its own order by class, which all simulations of a study share.
        own = self._yes is self._truth.present
        pointers, rows = self._truth.by_class if own else by_class(self._yes)
        permutation, found = chance.permutation(n), np.zeros(len(classes), np.int64)
        answers = present / (precision or 1) + absent
        if precision is None and keep_looks:
            answers = np.full(len(classes), 2.0 * n)
        if scores is not None:
            for part in groups(np.full(len(classes), n), len(classes)):
                values = scores[np.ix_(self.images, classes[part])]
                keyed = _Scores(content_id(values), values)
                orders = _orders(permutation, tuple(classes[part].tolist()), keyed)
                for place, (queue, ranked) in enumerate(zip(*orders, strict=True), part.start):
                    c, goals = classes[place], (present[place], absent[place])
                    yes = np.zeros(n, bool)
                    yes[rows[pointers[c] : pointers[c + 1]]] = True
                    found[place] = self._search_by_score(
                        c, yes, goals, queue=queue, ranked=ranked, keep_looks=keep_looks
                    )
            return found
        if precision is not None and not self.habits.perfect:
            whole = self._present is self._truth.present
            starts, right = self._truth.by_class if whole else by_class(self._present)
            for place, c in enumerate(classes.tolist()):
                shows, yes = np.zeros((2, n), bool)
                shows[right[starts[c] : starts[c + 1]]] = True
                yes[rows[pointers[c] : pointers[c + 1]]] = True
                found[place] = self._search_candidates(
                    c, shows, yes, goals=(present[place], absent[place]),
                    queue=permutation.at(np.arange(n), c), precision=precision,
                    keep_looks=keep_looks,
                )  # fmt: skip
            return found
        weights = pointers[classes + 1] - pointers[classes]
        weights += np.minimum(2.0 * n, answers).astype(np.int64)
        # The keys of SearchOrder.of hold the class, twice as many bits as n has, and no sign.
        for part in groups(weights, 1 << max(0, 63 - 2 * n.bit_length())):
            shown = [rows[pointers[c] : pointers[c + 1]] for c in classes[part]]
            found[part] = self._search(
                classes[part], shown, (present[part], absent[part]), permutation,
                precision=precision, keep_looks=keep_looks,
            )  # fmt: skip
        return found

    def _search_by_score(
        self, c: int, yes: Bools, goals: tuple[int, int], *,
        queue: NDArray[np.int32], ranked: NDArray[np.int32], keep_looks: bool,
    ) -> int:  # fmt: skip
        """`search` for one class by its scores; `yes`, `queue` and, highest score first, `ranked`
        (n,) are about `images`."""
        present, absent = goals
        candidates = ranked[: looks_by_score(yes[ranked], int(present))]
        first = np.zeros(len(queue), bool)
        first[candidates] = True
        others = queue[~first[queue]]
        looked = np.concatenate([candidates, _until_denied(candidates, others, yes, absent)])
        goals = min(present, int(yes[candidates].sum())), absent
        return self._record_looks(c, looked, yes, goals, keep_looks=keep_looks)

    def _search_candidates(
        self, c: int, shows: Bools, yes: Bools, *, goals: tuple[int, int], queue: Ints,
        precision: float, keep_looks: bool,
    ) -> int:  # fmt: skip
        """`search` for one class among a machine's candidates, by people who err.

        The machine knows nothing of these people: its candidates are right or wrong by the truth,
        and a false alarm among them becomes a present label. shows, yes: (n,) what is there, and
        what people say. queue: (n,) the class's own order.
        """
        right, wrong = queue[shows[queue]], queue[~shows[queue]]
        # Without errors finding f takes ceil(f / precision) looks, as in `_search`.
        nth, share = np.arange(1, len(right) + 1), _fraction(precision)
        place = -(-nth * share.denominator // share.numerator) - 1
        shown = np.zeros(place[-1] + 1 if len(place) else 0, bool)
        shown[place] = True
        shown = shown[shown | (np.cumsum(~shown) <= len(wrong))]
        candidates = np.empty(len(shown), np.int64)
        candidates[shown], candidates[~shown] = right, wrong[: int((~shown).sum())]
        said = np.cumsum(yes[candidates])
        candidates = candidates[: int(np.searchsorted(said, goals[0])) + 1 if goals[0] else 0]
        others = wrong[int((~shows[candidates]).sum()) :]
        looked = np.concatenate([candidates, _until_denied(candidates, others, yes, goals[1])])
        return self._record_looks(c, looked, yes, goals, keep_looks=keep_looks)

    def _record_looks(
        self, c: int, looked: Ints, yes: Bools, goals: tuple[int, int], *, keep_looks: bool
    ) -> int:
        """Bill these looks at images, and record the first answers of each kind; how many yes."""
        ledger, kept = self.ledger, 0
        ledger.bill_look(np.array([c]), np.array([len(looked)]))
        ledger.seen[self.images[looked]] = True
        for answer, wanted in zip((True, False), goals, strict=True):
            answered = looked[yes[looked] == answer]
            chosen = self.images[answered if keep_looks else answered[:wanted]]
            ledger.record(chosen, np.full(len(chosen), c), answer)
            beyond = len(answered) - len(chosen)
            ledger.dropped["search"] = ledger.dropped.get("search", 0) + beyond
            kept += len(chosen) * answer
        return kept

    def _search(
        self, classes: Ints, rows: list[NDArray[np.int32]], goals: tuple[Ints, Ints],
        permutation: Permutation, *, precision: float | None, keep_looks: bool,
    ) -> Ints:  # fmt: skip
        """`search` for one group of classes; rows: those of `images` that show each of them."""
        ledger, (present, absent) = self.ledger, goals
        n, shows = len(self.images), np.array([len(part) for part in rows])
        kept, denied = np.minimum(shows, present), np.minimum(n - shows, absent)
        seen = denied  # absent images that were looked at, recorded or not
        if precision is not None:
            # Finding f takes ceil(f / precision) looks; the false candidates are absent answers.
            share = _fraction(precision)
            candidates = -(-kept * share.denominator // share.numerator)
            seen = np.maximum(np.minimum(candidates - kept, n - shows), denied)
        order = SearchOrder.of(permutation, classes, np.concatenate(rows), shows, (kept, seen))
        looks = kept + seen
        if precision is None:
            # The search ends at the later of two places, the last present image wanted and the last
            # absent one; if there are too few of either, only after all images.
            last = np.zeros(len(classes), np.int64)
            final = order.nth == kept[order.owner] - 1
            last[order.owner[final]] = order.rank[final] + 1
            enough = (kept == present) & (denied == absent)
            looks = np.where(enough, np.maximum(last, order.reach(denied)), n)
            met = np.bincount(order.owner[order.rank < looks[order.owner]], minlength=len(classes))
            met = np.where(enough, met, shows)
            seen = looks - met
            kept = met if keep_looks else kept
        denied = seen if keep_looks else denied
        ledger.bill_look(classes, looks)
        beyond = int((looks - kept - denied).sum())
        ledger.dropped["search"] = ledger.dropped.get("search", 0) + beyond
        chosen = order.nth < kept[order.owner]
        shown = self._at(order.image[chosen])
        ledger.record(shown, classes[order.owner[chosen]], True)
        ledger.seen[shown] = True
        # Without a machine's candidates, all images between those recorded were looked at, too.
        walked = precision is None and not keep_looks
        listed = denied if walked else seen
        of_class, places, nth = order.first_absent(listed)
        beside = self._at(places)
        ledger.seen[beside] = True
        recorded = nth < np.repeat(denied, listed)
        ledger.record(beside[recorded], of_class[recorded], False)
        longest_first = np.argsort(-looks, kind="stable") if walked else np.zeros(0, np.int64)
        for part in groups(looks[longest_first], len(looks)):
            if ledger.seen[self.images].all():
                break
            owner, ranks = spread(looks[longest_first[part]])
            places = permutation.at(ranks, classes[longest_first[part]][owner])
            ledger.seen[self._at(places)] = True
        return kept

    def sweep(self, images: Any, classes: Any = None) -> None:
        images = np.asarray(images, np.int64)
        self.rows_of(images)
        wanted = np.arange(self.shape[1]) if classes is None else classes_of(classes, self.shape[1])
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
                "hierarchy=hierarchy.json or the name of an included one (in Python, pass "
                "hierarchy=data.hierarchy as well)"
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

    def _at(self, rows: Ints) -> Ints:
        """(n,) the images of these rows."""
        return rows if len(self.images) == self.shape[0] else self.images[rows]

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
        elif self.boxes is None or (self._yes.nnz and not len(self.boxes.images)):
            raise BadInput(
                f"naming by {bias} needs boxes of the objects, and there are none; open a data "
                "set that has them, such as scenes or coco:FILE, and pass boxes=data.boxes[split]"
            )
        else:
            values = sparse_draws.boxes_by_class(self.boxes, bias, self.shape, self.hierarchy)
        return sparse_draws.draw_weighted(yes, images, values, most=most, chance=chance)


@dataclass(frozen=True, eq=False)
class SearchOrder:
    """Where the present images of g classes stand among n images, each class in its own order.

    classes (g,);  owner (m,) which of the g a present image belongs to;  nth (m,) how many present
    ones of its class come before it;  rank (m,) its place, from 0;  image (m,). Sorted by owner and
    rank, and without those that no look of a search reaches.
    """

    permutation: Permutation
    classes: Ints
    owner: Ints
    nth: Ints
    rank: Ints
    image: Ints

    @staticmethod
    def of(
        permutation: Permutation, classes: Ints, image: NDArray[np.int32], shows: Ints,
        wanted: tuple[Ints, Ints],
    ) -> SearchOrder:  # fmt: skip
        """From the present images, class after class, `shows` (g,) of each.

        wanted: (g,) numbers of present and of absent images that the order must reach.
        """
        n, g = permutation.size, len(classes)
        # Of s images among n, the first k stand within about n / s * k places; with five standard
        # deviations more, one class in millions is too short, and is taken whole.
        far = np.maximum(*(
            n / np.maximum(there, 1) * (some + 5 * np.sqrt(some) + 9)
            for there, some in zip((shows, n - shows), wanted, strict=True)
        ))  # fmt: skip
        far = np.minimum(far, n).astype(np.int64)
        short = np.ones(g, bool)
        while short.any():
            owner, rank, shown = _in_front(permutation, classes, image, shows, far)
            count = np.bincount(owner, minlength=g)
            short = (count < wanted[0]) | (far - count < wanted[1])
            far[short] = n
        # One sort of whole numbers, several times as fast as a lexsort of three columns.
        bits = n.bit_length()
        keys = (owner << (2 * bits)) | (rank << bits) | shown
        keys.sort()
        nth = np.arange(len(keys)) - np.repeat(np.cumsum(count) - count, count)
        mask = (1 << bits) - 1
        owner = keys >> (2 * bits)
        return SearchOrder(permutation, classes, owner, nth, (keys >> bits) & mask, keys & mask)

    def reach(self, wanted: Ints) -> Ints:
        """(g,) the number of images from the first to the `wanted`-th absent one of each class."""
        # rank - nth absent images come before a present one: it stands before the last wanted one
        # if these are fewer than `wanted`.
        between = self.rank - self.nth < wanted[self.owner]
        return wanted + np.bincount(self.owner[between], minlength=len(wanted))

    def first_absent(self, wanted: Ints) -> tuple[Ints, Ints, Ints]:
        """Classes, images and counting numbers (from 0) of the first `wanted` (g,) absent ones."""
        reach = self.reach(wanted)
        starts = np.cumsum(reach) - reach  # the first `reach` places of all classes in one row
        free = np.ones(int(reach.sum()), bool)
        inside = self.rank < reach[self.owner]
        free[starts[self.owner[inside]] + self.rank[inside]] = False
        owner, nth = spread(wanted)
        ranks = np.flatnonzero(free) - starts[owner]
        return self.classes[owner], self.permutation.at(ranks, self.classes, wanted), nth


def _fraction(precision: float) -> Fraction:
    return Fraction(repr(float(precision))).limit_denominator(10**6)


def _until_denied(looked: Ints, others: Ints, yes: Bools, absent: int) -> Ints:
    """The further looks at `others`, in this order, until `absent` answers are no."""
    lacking = absent - int((~yes[looked]).sum())
    denied = np.cumsum(~yes[others])
    return others[: int(np.searchsorted(denied, lacking)) + 1 if lacking > 0 else 0]


def _in_front(
    permutation: Permutation, classes: Ints, image: NDArray[np.int32], shows: Ints, far: Ints
) -> tuple[Ints, Ints, Ints]:
    """The present images among the first `far` (g,) of each class: class (of g), rank and image."""
    often = shows > OFTEN * far  # going through the first places is faster than ranking all images
    few, ends = np.flatnonzero(~often), np.cumsum(shows)
    some = image[np.repeat(~often, shows)] if often.any() else image
    rank = permutation.rank(some, classes[few], shows[few])
    inside = np.flatnonzero(rank < np.repeat(far[few], shows[few]))
    parts = [(np.repeat(few, shows[few])[inside], rank[inside], some[inside])]
    for c in np.flatnonzero(often):
        own = image[ends[c] - shows[c] : ends[c]]
        first = permutation.at(np.arange(far[c]), classes[c]).astype(own.dtype)
        places = np.searchsorted(own, first).clip(max=len(own) - 1)
        ranks = np.flatnonzero(own[places] == first)
        parts.append((np.full(len(ranks), c), ranks, first[ranks]))
    owner, rank, shown = (np.concatenate(column) for column in zip(*parts, strict=True))
    return owner, rank, shown


@dataclass(frozen=True)
class _Scores:
    """Scores (n, g), as the key of a cache."""

    id: str
    values: NDArray[np.floating] = field(compare=False)


@lru_cache(maxsize=1)  # a plan searches for ever more images, in the same orders
def _orders(
    permutation: Permutation, classes: tuple[int, ...], scores: _Scores
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(g, n) the order in which each of the classes meets the images, without and by scores."""
    places = permutation.at(np.arange(permutation.size), np.array(classes)[:, None])
    queues, by_class = places.astype(np.int32), scores.values.T
    ranked = [q[_highest_first(by_class[place, q])] for place, q in enumerate(queues)]
    return sealed((queues, np.stack(ranked)))


def _highest_first(scores: NDArray[np.floating]) -> Ints:
    """The order of scores (n,), equal ones as they come."""
    order = np.argsort(-scores)  # several times as fast as a stable one, which it is without ties
    ranked = scores[order]
    return np.argsort(-scores, kind="stable") if (ranked[1:] == ranked[:-1]).any() else order


def groups(weights: Ints, most: int) -> Iterator[slice]:
    """Slices of at most `most` consecutive items whose weights add up to about GROUP."""
    ends, start = np.cumsum(weights), 0
    while start < len(weights):
        done = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, done + GROUP, side="right"))
        stop = min(max(stop, start + 1), start + most)
        yield slice(start, stop)
        start = stop
