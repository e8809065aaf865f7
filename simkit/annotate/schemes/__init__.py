"""Annotation schemes by name: `make("fpc", per_class=1000)`, `names()`, `spell(scheme)`.

The interface of schemes and their registry; each scheme has a module of this package.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypeVar,
    dataclass_transform,
)

from simkit.errors import BadInput, counted
from simkit.registry import Range, Registry, settle

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from simkit.annotate.annotators import Ints
    from simkit.annotate.crowd import Crowd as Crowd
    from simkit.chance import Chance
    from simkit.labels.partial import PartialLabels
else:
    Crowd = "Crowd"  # named in the annotations of schemes, and slow to import

__all__ = ["Scheme", "get", "make", "names", "of_labels", "register", "schemes", "spell"]

MOST = 10**15  # of anything that is counted
MISSING = -1e9  # score of an image that has none: certainly absent
_CODES = (-1, -9, -99, -999, -9999)  # other programs mark missing scores with these
_FAR = 90  # from 0, where a logit leaves no doubt in 32 bits
Count = Annotated[int, Range(1, MOST)]
# Of a machine's candidates: fractions with denominators up to a million.
Precision = Annotated[float, Range(1e-6, 1)]


_never: Any = property(lambda scheme: False)


class Scheme(Protocol):
    """Which questions to ask: a frozen dataclass whose fields are its settings.

    name    the name in commands;  title  the name in the literature;  source  paper and section.
    amount  the one field that scales the scheme, or None if only the number of images does. The
            labels of a larger amount contain those of a smaller one.
    needs_hierarchy  whether it asks along a class hierarchy.
    needs_boxes  whether it chooses by the boxes of the objects.
    needs_features  whether it chooses images by their features.
    needs_scores  whether it chooses images by a model's scores.

    A scheme may also have `gist`, its questions in a few words; `caution`, the biases of its
    labels, for data sheets; `by_image`, whether the labels of an image depend on this image alone
    (needed for the `rest` of another scheme); `even`, whether labels are an unbiased sample, so
    that classes keep their frequencies; `complete_images`, whether a random part of the images is
    labelled completely; `by_model`, whether a model gives some of the answers; and `largest`.

    Schemes that inherit from this class have their fields checked: types and the limits of their
    `registry.setting`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    amount: ClassVar[str | None]
    by_model: ClassVar[bool] = False

    def __post_init__(self) -> None:
        settle(self)

    needs_hierarchy: Any = _never
    needs_boxes: Any = _never
    needs_features: Any = _never
    needs_scores: Any = _never

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        """Ask the crowd all questions; a scheme sees only the answers."""

    def unassuming(self, scores: bool) -> Self:
        """This scheme without an assumed machine: by a model's scores, or without any machine.

        Raises BadInput if it needs a machine and there are no scores.
        """
        return self


def _of_rest(name: str) -> Any:
    """A property that is the one of `rest`."""
    return property(lambda scheme: getattr(make(scheme.rest), name))


class WithRest(Scheme):
    """A scheme that labels some images by another one, `rest`, which decides image by image."""

    rest: str

    def __post_init__(self) -> None:
        settle(self)
        rest = make(self.rest)
        if not by_image(rest):
            possible = ", ".join(part.name for part in schemes if by_image(part))
            raise BadInput(
                f"{self.name}: rest is {self.rest!r}; a scheme that decides image by image is "
                f"expected, such as {possible}"
            )
        object.__setattr__(self, "rest", spell(rest))

    needs_hierarchy = _of_rest("needs_hierarchy")
    needs_boxes = _of_rest("needs_boxes")
    needs_features = _of_rest("needs_features")
    needs_scores = _of_rest("needs_scores")

    def unassuming(self, scores: bool) -> Self:
        return replace(self, rest=spell(make(self.rest).unassuming(scores)))  # type: ignore[type-var]

    def ask_rest(self, crowd: Crowd, images: Ints, chance: Chance) -> None:
        """Ask the questions of `rest` about these images of the crowd."""
        if len(images):
            rest = make(self.rest)
            rest.ask(crowd.among(images), chance.of("rest", rest.name))


class Searching(Scheme):
    """A scheme that searches for images with and without each class."""

    search: Literal["proposals", "random", "scores"]
    precision: float
    keep_looks: bool

    @property
    def needs_scores(self) -> bool:
        return self.search == "scores"

    def unassuming(self, scores: bool) -> Self:
        if self.search != "proposals":
            return self
        return replace(self, search="scores" if scores else "random")  # type: ignore[type-var]

    def goals_by_class(self, shape: tuple[int, int], chance: Chance) -> tuple[Ints, Ints]:
        """(L,) images wanted with and without each class, for a number of images and classes."""
        raise NotImplementedError

    def ask_all(self, crowd: Crowd, chance: Chance, wanted: str) -> None:
        """Search for the images of `goals_by_class`, and warn if there are fewer."""
        present, absent = self.goals_by_class((len(crowd.images), crowd.shape[1]), chance)
        hits = crowd.search(
            range(crowd.shape[1]),
            chance=chance,
            present=present,
            absent=absent,
            precision=self.precision if self.search == "proposals" else None,
            scores=logits(crowd, self.name) if self.needs_scores else None,
            keep_looks=self.keep_looks,
        )
        if short := int((hits < present).sum()):
            warnings.warn(
                f"{self.name}: {short} of {len(hits)} classes are in fewer {wanted}; all of these "
                "are kept",
                stacklevel=4,  # the line that calls simulate
            )


def largest(scheme: Scheme, images: int, classes: int) -> int:
    """The largest useful amount for this number of images and classes.

    1 for a share and the number of images for a count, unless the scheme has a method `largest`.
    """
    if hasattr(scheme, "largest"):
        return min(MOST, int(scheme.largest(images, classes)))
    assert scheme.amount is not None
    return 1 if isinstance(getattr(scheme, scheme.amount), float) else images


def by_image(scheme: Scheme | type[Scheme]) -> bool:
    """Whether the labels of an image depend on this image alone.

    True for schemes without an amount, unless the scheme has an attribute `by_image`.
    """
    return bool(getattr(scheme, "by_image", scheme.amount is None))


def of_labels(labels: PartialLabels) -> type[Scheme] | None:
    """The scheme that made the labels; None for labels of no registered scheme."""
    name = str(labels.history.settings.get("scheme", "")).partition("(")[0]
    return get(name) if name in names() else None


schemes: Registry[Scheme] = Registry("scheme", "simkit.annotate.schemes")
get = schemes.__getitem__
make = schemes.make
names = schemes.names
spell = schemes.spell
S = TypeVar("S", bound=Scheme)


@dataclass_transform(frozen_default=True)
def register(scheme: type[S]) -> type[S]:
    """Class decorator: register a scheme under its `name`, as a frozen dataclass."""
    schemes.register_frozen(scheme)
    return scheme


def check_scale(scores: NDArray[np.float64], images: Sequence[Any], classes: Sequence[str]) -> None:
    """Raise BadInput for scores that are not logits, and warn of scores that may not be.

    scores (N, L), nan where an image has none.
    """
    import numpy as np

    values = scores[~np.isnan(scores)]
    if not values.size:
        return
    low, high = values.min(), values.max()
    code = low if low in _CODES and (values[values < 0] == low).all() and high > 0 else None
    least = low if code is None else values[values >= 0].min()
    if least >= 0 and (code is None or least < high):
        kind, mend = f"{least:g} and {high:g}", "numbers below 0 where a class is unlikely"
        if high <= 1 + 1e-6:
            kind, mend = "0 and 1, like probabilities", "log(p / (1 - p)) for a probability p"
        elif high <= 100 + 1e-4:
            kind = "0 and 100, like percentages or ranks"
            mend = "log(p / (100 - p)) for p percent, or p / 100 in a table"
            if len(small := np.flatnonzero(np.fmax.reduce(scores) <= 1)):
                mend += f", and log(p / (1 - p)) in {_few(small, classes)} if they hold fractions"
        but = "" if code is None else f" except {code:g} (leave such cells empty)"
        raise BadInput(
            f"all scores{but} lie between {kind}; logits are expected, as written by simkit "
            f"predict: {mend}"
        )
    notes = []
    if high <= 1 and (low >= -1 or high <= 0):
        notes.append(
            f"all scores lie between {low:.3g} and {high:.3g} and count as logits; do not give "
            "cosines (simkit score turns them into logits) or logarithms of probabilities"
        )
    else:
        sides = (("classes", classes, scores, 3), ("images", images, scores.T, 5))
        for what, names, part, least in sides:
            if len(odd := np.flatnonzero(_not_logits(part, least))):
                notes.append(
                    f"{what} whose scores look like probabilities or percentages, as none is below "
                    f"0, and count as logits: {_few(odd, names)}; write log(p / (1 - p)) in place "
                    "of a probability p"
                )
    if (far := values[np.abs(values) > _FAR]).size:
        shown = counted([f"{value:g}" for value in far])
        notes.append(
            f"scores beyond {_FAR}, farther than usual logits: {shown}; leave cells empty where a "
            "score is missing"
        )
    for note in notes:
        warnings.warn(note, stacklevel=3)


def _not_logits(scores: NDArray[np.float64], least: int) -> NDArray[np.bool_]:
    """Which columns of at least so many scores, or with a sum of 1, hold no logits."""
    import numpy as np

    low = np.fmin.reduce(scores)
    if not (low >= 0).any():
        return np.zeros(len(low), bool)
    high, known = np.fmax.reduce(scores), ~np.isnan(scores)
    many = (known.sum(axis=0) >= least) & ((high <= 1) | (high > 20))
    softmax = (np.abs(np.nansum(scores, axis=0) - 1) < 1e-4) & (high < 1)
    return np.asarray((low >= 0) & (many | softmax))


def _few(places: NDArray[np.int64], names: Any) -> str:
    return counted([repr(names[n]) for n in places.tolist()], len(names))


def logits(crowd: Crowd, scheme: str) -> NDArray[np.float64]:
    """(N, L) the model's scores, as finite logits. Raises BadInput for the scheme of this name."""
    import numpy as np

    if crowd.scores is None:
        raise BadInput(
            f"{scheme} needs a model's scores, and none were given; pass scores= (in commands "
            "--scores FILE, from simkit score or simkit predict), or take another scheme"
        )
    values = np.asarray(crowd.scores, np.float32).astype(np.float64)  # as orders keep them
    if values.shape != crowd.shape or not np.isfinite(values).all():
        raise BadInput(
            f"scores have shape {values.shape}; finite numbers of shape {crowd.shape} are expected"
        )
    images, classes = crowd.names
    check_scale(np.where(values > MISSING, values, np.nan), images.tolist(), classes)
    return values
