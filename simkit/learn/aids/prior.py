"""How common each class is, estimated from partial labels: the aid that CSL needs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput, unknown
from simkit.history import History, content_id
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import locked, sealed
from simkit.learn.aids.means import RunningMean, mean_probability
from simkit.learn.methods.base import Task
from simkit.learn.methods.ignore import Ignore
from simkit.learn.trained import Trained


@dataclass(frozen=True, eq=False)
class ClassPrior:
    """The estimated share of images in which each class is present.

    values (L,) float64 in [0, 1];  classes: their L names, or None for the order of the task;
    history: how it came about;  running: (L,) float64 the prior of the published code, a mean over
    all outputs of the temporary training from its first step on; None where there was none.
    Source: Ben-Baruch et al., CVPR 2022, section 4.2, eq. 10-11.
    """

    values: NDArray[np.float64]
    classes: tuple[str, ...] | None = None
    history: History = field(default_factory=lambda: History("given"))
    running: NDArray[np.float64] | None = None

    name: ClassVar[str] = "class-prior"

    def __post_init__(self) -> None:
        """Raises BadInput for values that are no shares, and for names that do not fit them."""
        values = _numbers(self.values)
        running = None if self.running is None else _numbers(self.running)
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
            if len(set(self.classes)) != len(values) or len(self.classes) != len(values):
                raise BadInput(
                    f"{len(self.classes)} class names ({len(set(self.classes))} different) came "
                    f"for {len(values)} priors; give one name for each"
                )
        if running is not None and len(running) != len(values):
            raise BadInput(
                f"{len(running)} running means came for {len(values)} priors; give one for each"
            )
        for each in (values, values if running is None else running):
            odd = np.flatnonzero(~((each >= 0) & (each <= 1)))  # nan is odd too
            if len(odd):
                named = odd[0] if self.classes is None else repr(self.classes[odd[0]])
                raise BadInput(
                    f"the prior of class {named} is {each[odd[0]]}; a share from 0 to 1 is expected"
                )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "running", running)

    @cached_property
    def id(self) -> str:
        """Content id."""
        more = () if self.running is None else (self.running,)
        return content_id("class-prior", self.values, json.dumps(self.classes), *more)

    @classmethod
    def build(cls, task: Task, *, train: Callable[..., Trained]) -> ClassPrior:
        """Train a temporary model that ignores unknown labels, and average its probabilities: over
        the asked images when training has ended, and for `running` during training."""
        mean = RunningMean()
        with warnings.catch_warnings():
            # What it says of labels without negatives is about this model; CSL says its own.
            warnings.filterwarnings("ignore", "method 'ignore' learns from known labels alone")
            trained = train(task, Ignore(), watch=(mean,))
        values, made = mean_probability(trained, task), trained.history
        parents = (task.labels.id, str(task.inputs.id))
        history = History("class-prior", {**made.settings, "method": "ignore"}, made.seed, parents)
        return cls(values, task.labels.classes, history, mean.value)

    def of(self, classes: Sequence[str], *, running: bool = False) -> NDArray[np.float64]:
        """(L,) priors of these classes: by name where this one has names, else by place.

        running: those of the published code, where there are such.
        """
        values = self.running if running and self.running is not None else self.values
        if self.classes is None:
            if len(classes) != len(self.values):
                raise BadInput(
                    f"the class prior is of {len(self.values)} classes and the labels of "
                    f"{len(classes)}; give one for each class, or name its classes"
                )
            return values
        place = {name: c for c, name in enumerate(self.classes)}
        for name in classes:
            if name not in place:
                raise unknown("class of the prior", name, place)
        return values[[place[name] for name in classes]]

    def blind(self, labels: PartialLabels) -> NDArray[np.bool_]:
        """(L,) bool: classes of which it knows nothing, for it was estimated from these labels.

        These are the classes of which no label says absent: "present everywhere" is the best
        answer to the others, and without any label there is no answer. Of a prior from elsewhere
        it is none.
        """
        if self.history.command != self.name or labels.id not in self.history.parents:
            return np.zeros(labels.shape[1], bool)
        return np.asarray(labels.per_class(ABSENT) == 0)

    def spearman(self, truth_frequency: Any, top: int | None = None) -> float:
        """Rank correlation with the true frequencies (L,), over the `top` truly most frequent.

        Of equally frequent classes the first count. nan where either is constant.
        Source: Ben-Baruch et al., CVPR 2022, figure 7.
        """
        from scipy.stats import rankdata

        true = np.asarray(truth_frequency, np.float64)
        if true.shape != self.values.shape:
            raise BadInput(
                f"true frequencies have shape {true.shape}; {self.values.shape} is expected"
            )
        if top is not None and not 2 <= top <= len(true):
            raise BadInput(f"top is {top}; a number of classes from 2 to {len(true)} is expected")
        chosen = np.argsort(-true, kind="stable")[:top]
        a, b = (rankdata(x[chosen]) - (len(chosen) + 1) / 2 for x in (true, self.values))
        scale = float(np.sqrt((a @ a) * (b @ b)))
        return float(a @ b) / scale if scale else float("nan")

    def table(self, labels: PartialLabels | None = None) -> list[dict[str, Any]]:
        """One row for each class, by falling prior: class, prior, and with labels known, present.

        known: how many labels of the class there are;  present: the share of these that is present
        (nan without any), which is what the prior corrects.
        """
        names = self.classes or tuple(f"class-{c}" for c in range(len(self.values)))
        if labels is not None:
            names = labels.classes
        values = self.values if labels is None else self.of(names)
        rows: list[dict[str, Any]] = []
        found = None if labels is None else labels.per_class(PRESENT)
        known = None if labels is None else np.bincount(labels.codes.indices, minlength=len(names))
        for c in np.argsort(-values, kind="stable"):
            row: dict[str, Any] = {"class": names[c], "prior": float(values[c])}
            if found is not None and known is not None:
                share = found[c] / known[c] if known[c] else float("nan")
                row |= {"known": int(known[c]), "present": float(share)}
            rows.append(row)
        return rows

    def show(self, labels: PartialLabels | None = None, *, lines: int = 20) -> str:
        """The table as text, the first `lines` of it."""
        rows = self.table(labels)
        width = max(len("class"), *(len(row["class"]) for row in rows[:lines]))
        columns = "prior" if labels is None else "prior     known  present"
        text = [f"{'class':<{width}}  {columns}"]
        for row in rows[:lines]:
            more = "" if labels is None else f"  {row['known']:>8,}  {row['present']:>7.3f}"
            text.append(f"{row['class']:<{width}}  {row['prior']:.3f}{more}")
        if len(rows) > lines:
            text.append(f"and {len(rows) - lines} more")
        return "\n".join(text)

    def save(self, path: str | PathLike[str]) -> None:
        """Write JSON: the priors by class name (or as a list), running means, the history."""
        from simkit.learn.aids.prior_file import write

        write(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> ClassPrior:
        """Read what `save` wrote, or a CSV of class and prior. Raises BadInput."""
        from simkit.learn.aids.prior_file import read

        return read(path)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        sealed(self.values)
        if self.running is not None:
            sealed(self.running)


def _numbers(given: Any) -> NDArray[np.float64]:
    try:
        values = locked(np.asarray(given, np.float64))
    except (TypeError, ValueError):
        raise BadInput("a class prior holds no numbers; give (L,) shares of images") from None
    if values.ndim != 1 or not len(values):
        raise BadInput(f"a class prior has shape {values.shape}; (L,) is expected")
    return values
