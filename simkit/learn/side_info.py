"""Side information that a method needs besides labels and images, such as a class prior."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from operator import or_
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.errors import BadInput, unknown
from simkit.files import reading, whole
from simkit.history import History, content_id
from simkit.labels.partial import ABSENT, PartialLabels
from simkit.labels.truth import locked
from simkit.learn.method import Method, make
from simkit.learn.model import outputs
from simkit.learn.settings import Settings
from simkit.learn.task import Batch, Needs, Outputs, Task
from simkit.learn.trained import Trained
from simkit.learn.validation import Validation
from simkit.progress import silent


def prepare(
    task: Task,
    *methods: Method,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    validation: Validation | None = None,
    backbone: nn.Module | None = None,
    device: str | torch.device = "auto",
    compile: bool = False,
) -> Task:
    """Add all side information that the methods need to a task.

    One value serves all methods: the number of neighbours is the largest that a method needs. Side
    information of the task is kept.

    Parameters
    ----------
    task
        Labels and inputs.
    methods
        Methods to be trained on it.
    settings, seed, draw, validation, backbone, device, compile
        As in `train`, for side information that a temporary model computes.

    Raises
    ------
    BadInput
        If side information cannot be computed from the task.
    """
    from simkit.learn.train import train

    temporary = partial(
        train,
        settings=settings,
        seed=seed,
        draw=draw,
        validation=validation,
        backbone=backbone,
        device=device,
        compile=compile,
    )
    needs = reduce(or_, (method.needs for method in methods), Needs())
    for kind in needs.aids:
        if not any(isinstance(aid, kind) for aid in task.aids):
            task = task.with_aids(build_aid(kind, task, needs, train=temporary))
    return task


def build_aid(
    kind: type[Any], task: Task, needs: Needs, *, train: Callable[..., Trained] | None = None
) -> Any:
    """Side information of this kind for these needs.

    A kind has a `name`, an `id` of the content for histories, and `build(task, train=...)`, in
    which `train(task, method)` trains a temporary model; its `wanted`, if any, returns further
    arguments for these needs.
    """
    wanted = getattr(kind, "wanted", None)
    more = {} if train is None else {"train": train}
    return kind.build(task, **more, **(wanted(needs) if wanted else {}))


@dataclass(frozen=True, eq=False)
class ClassPrior:
    """The estimated share of images in which each class is present: the side information of CSL.

    Parameters
    ----------
    values
        (L,) float64 in [0, 1].
    classes
        Their L names, or None for the order of the task.
    history
        Its origin.
    running
        (L,) float64 prior of the published code, a mean over all outputs of the temporary
        training from its first step on; None if it was not trained here.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, section 4.2, eq. 10-11.
    """

    values: NDArray[np.float64]
    classes: tuple[str, ...] | None = None
    history: History = field(default_factory=lambda: History("given"))
    running: NDArray[np.float64] | None = None

    name: ClassVar[str] = "class-prior"

    def __post_init__(self) -> None:
        """Raises BadInput for values outside of [0, 1], and for names that do not fit them."""
        object.__setattr__(self, "values", self._shares(self.values))
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
            if len(set(self.classes)) != len(self.values) or len(self.classes) != len(self.values):
                raise BadInput(
                    f"{len(self.classes)} class names ({len(set(self.classes))} different) came "
                    f"for {len(self.values)} priors; give one name for each"
                )
        if self.running is not None:
            object.__setattr__(self, "running", self._shares(self.running))

    def _shares(self, values: Any) -> NDArray[np.float64]:
        shares = np.asarray(values)
        if shares.ndim != 1 or not len(shares) or shares.dtype.kind not in "biuf":
            raise BadInput(
                f"a class prior has shape {shares.shape} of {shares.dtype}; numbers (L,), shares "
                "of images, are expected"
            )
        shares = locked(shares.astype(np.float64))
        odd = np.flatnonzero(~((shares >= 0) & (shares <= 1)))  # nan is odd too
        if len(odd):
            names = dict(enumerate(self.classes or ()))
            which = repr(names[odd[0]]) if odd[0] in names else odd[0]
            raise BadInput(
                f"the prior of class {which} is {shares[odd[0]]}; a share from 0 to 1 is expected"
            )
        return shares

    @cached_property
    def id(self) -> str:
        """Content id."""
        running = () if self.running is None else (self.running,)
        return content_id("class-prior", self.values, json.dumps(self.classes), *running)

    @classmethod
    def build(cls, task: Task, *, train: Callable[..., Trained]) -> ClassPrior:
        """Train a temporary model that ignores unknown labels, and average its probabilities.

        Over the asked images after training, and for `running` during training.
        """
        total: Tensor | float = 0.0
        images = 0

        def add(epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None:
            nonlocal total, images
            total = total + out.logits.sigmoid().sum(0, dtype=torch.float64)
            images += len(batch.index)

        with warnings.catch_warnings():
            # The warning about labels without negatives concerns this model; CSL has its own.
            warnings.filterwarnings("ignore", "method 'ignore' learns from known labels alone")
            trained = train(task, make("ignore"), watch=(add,), progress=silent)
        parents = (task.labels.id, str(task.inputs.id))
        settings = {**trained.history.settings, "method": "ignore"}
        history = History("class-prior", settings, trained.history.seed, parents)
        running = torch.as_tensor(total).cpu().numpy() / images
        return cls(mean_probability(trained, task), task.labels.classes, history, running)

    def of(self, classes: Sequence[str], *, running: bool = False) -> NDArray[np.float64]:
        """(L,) priors of these classes: by name if this prior has names, else by index.

        running: those of the published code, if available.
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

    def lacks_label(self, labels: PartialLabels) -> NDArray[np.bool_]:
        """(L,) bool: classes whose prior is not informative, as it was estimated from these labels.

        These are the classes without known absent labels: with present labels only, "present
        everywhere" is the best fit, and without any label there is no estimate. False for a prior
        from other labels.
        """
        if self.history.command != self.name or labels.id not in self.history.parents:
            return np.zeros(labels.shape[1], bool)
        return np.asarray(labels.per_class(ABSENT) == 0)

    def spearman(self, truth_frequency: Any, top: int | None = None) -> float:
        """Rank correlation with the true frequencies (L,), over the `top` truly most frequent.

        Of equally frequent classes the first count. nan if either is constant. Source: Ben-Baruch
        et al., CVPR 2022, figure 7.
        """
        from scipy.stats import spearmanr

        true = np.asarray(truth_frequency, np.float64)
        chosen = np.argsort(-true, kind="stable")[:top]
        pair = true[chosen], self.values[chosen]
        return float("nan") if min(map(np.ptp, pair)) == 0 else float(spearmanr(*pair).statistic)

    def save(self, path: str | PathLike[str]) -> None:
        """Write JSON: priors by class name, or as a list without names; the history.

        Running means are a list in the order of the priors.
        """
        values = self.values.tolist()
        content = {
            "priors": dict(zip(self.classes, values, strict=True)) if self.classes else values,
            "history": json.loads(self.history.to_json()),
        }
        if self.running is not None:
            content["running"] = self.running.tolist()
        with whole(path) as temporary:
            text = json.dumps(content, indent=1, ensure_ascii=False)
            temporary.write_text(text + "\n", encoding="utf-8")

    @staticmethod
    def load(path: str | PathLike[str]) -> ClassPrior:
        """Read a file of `save`, or a .csv of class and prior with or without a header.

        The CSVs written by the code of Ben-Baruch et al. end with a line with a count and no class;
        such a last line is skipped. Raises BadInput.
        """
        mend = "write it with ClassPrior.save"
        with reading(path, "a class prior (JSON or CSV)", mend) as file:
            text = file.read_text(encoding="utf-8")
            if file.suffix.lower() != ".csv":
                content = json.loads(text)
                priors, running = content["priors"], content.get("running")
                history = History.from_json(json.dumps(content["history"]))
                named = isinstance(priors, dict)
                values = np.array(list(priors.values()) if named else priors)
                return ClassPrior(values, tuple(priors) if named else None, history, running)
            rows = list(csv.reader(text.splitlines()))
            if rows and len(rows[-1]) == 1:  # the count
                del rows[-1]
            for place, row in enumerate(rows):
                if len(row) != 2:
                    raise ValueError(f"line {place + 1} has {len(row)} fields, and 2 are expected")
            if rows and not rows[0][1].strip().lstrip("+-.")[:1].isdigit():  # headings
                del rows[0]
            values = np.array([float(value) for _, value in rows])
            names = tuple(name for name, _ in rows)
            return ClassPrior(values, names, History("given", {"file": "csv"}))


def mean_probability(trained: Trained, task: Task) -> NDArray[np.float64]:
    """(L,) mean of the sigmoid of the scores over the asked images of a task.

    With a backbone, on a GPU if there is one.
    """
    trained = trained.on("auto")
    total = torch.zeros(len(trained.classes), dtype=torch.float64)
    with torch.no_grad():
        for _, out in outputs(trained.model, task.inputs, task.rows):
            logits = trained.method.predict(out, trained.state)
            total += logits.sigmoid().sum(0, dtype=torch.float64).cpu()
    return total.numpy() / len(task.rows)
