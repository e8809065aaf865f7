"""Settings of a training."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

from simkit.errors import BadInput


@dataclass(frozen=True)
class Settings:
    """How to train, whatever the method.

    batch_size: images in a batch; the last one of an epoch may be smaller.
    accumulate: batches in a step of the optimiser. Losses of single entries come out as with
        batches so many times larger; a method that chooses among the entries of a batch, batch
        normalisation, and a loss of means over the batch (epr, role, cnn-rnn) see the small ones.
    lr: None means 0.01 for heads on features and 0.0001 with a backbone. With complete labels and
        ten epochs 0.01 comes within 2.2 mAP of the best rate both on features of photographs (VOC,
        COCO) and on scenes; 0.001 loses 16 on scenes.
    weight_decay: added to the gradient (L2), as torch.optim does; of adamw it is decoupled.
    decay_vectors: whether it acts on biases and the scales of normalisations too.
    momentum: of sgd.
    schedule: "cosine" falls to 0 over all steps; "one-cycle" rises for a share `warm_up` of them,
        with `cycle_momentum` while momentum (Adam's first beta) falls from 0.95 to 0.85 and back;
        "step" multiplies with `step_factor` after the epochs `milestones`.
    ema: keep a moving average of all weights, this much of it staying in every step; ema_warm_up:
        less in the first ones, (1 + t) / (10 + t) in step t.  keep: which of both are scored and
        kept; "better" takes whichever has the higher mAP on the validation labels in each epoch.
    standardise: bring every feature to mean 0 and deviation 1 over the asked images. Off, because
        that is what the papers' last layers see: non-negative features of which none is common to
        all images by construction. With complete labels it costs 1 to 4 mAP on photographs and
        gains 2 on scenes, and it hides how `ignore` collapses where only positives are known.
    select: which epoch's model is kept; "best" by mAP on the validation labels.
    patience: with "best", stop after so many epochs without a better one; None: never.
    max_drop: with "best", stop once mAP lies more than this below the best (0.03 is 3 points).
    head_ratio: with a backbone, how much faster the head learns (Kim et al., CVPR 2022: 10).
    head_epochs: with a backbone, epochs in which the head alone learns first, at the rate head_lr,
        while the backbone stays as it is and normalises as in evaluation. Then all learns, with a
        new optimiser.  head_augment: let it see pictures that are cropped and mirrored, and not
        features computed once.  head_then: "restart" takes over the head of the epoch that is
        selected and lets the method begin anew (Cole et al., CVPR 2021: LinearInit), "go-on" the
        last head, the method's state and its count of epochs (Verelst et al., WACV 2023).
    precision: of the backbone, with "bf16" by autocast; heads and losses are always fp32.
    state_gb: the most that the states of all runs may take together.
    """

    epochs: int = 10
    batch_size: int = 64
    accumulate: int = 1
    lr: float | None = None
    weight_decay: float = 0.0
    decay_vectors: bool = True
    optimiser: Literal["adam", "adamw", "sgd"] = "adam"
    momentum: float = 0.9
    schedule: Literal["constant", "cosine", "one-cycle", "step"] = "constant"
    warm_up: float = 0.3
    cycle_momentum: bool = False
    milestones: tuple[int, ...] | None = None
    step_factor: float = 0.1
    ema: float | None = None
    ema_warm_up: bool = True
    keep: Literal["average", "plain", "better"] = "average"
    standardise: bool = False
    select: Literal["last", "best"] = "last"
    patience: int | None = None
    max_drop: float | None = None
    head_ratio: float = 10.0
    head_epochs: int = 0
    head_lr: float = 1e-3
    head_augment: bool = False
    head_then: Literal["restart", "go-on"] = "restart"
    precision: Literal["fp32", "bf16"] = "fp32"
    state_gb: float = 8.0

    name: ClassVar[str] = "training"

    def __post_init__(self) -> None:
        _whole(self, epochs=1, batch_size=1, accumulate=1, patience=1, head_epochs=0)
        for key in ("lr", "head_ratio", "head_lr", "step_factor", "max_drop", "state_gb"):
            value = getattr(self, key)
            _expect(value is None or 0 < value < math.inf, key, value, "a number above 0")
        for key in ("weight_decay",):
            value = getattr(self, key)
            _expect(0 <= value < math.inf, key, value, "a number from 0 on")
        for key in ("momentum", "ema", "warm_up"):
            value = getattr(self, key)
            fine = value is None or 0 <= value < 1
            _expect(fine, key, value, "a number from 0 to below 1")
        for key, known in _WORDS.items():
            value = getattr(self, key)
            if value not in known:
                raise BadInput(
                    f"training: {key} is {value!r}; it must be one of {', '.join(known)}"
                )
        self._check_milestones()
        self._check_idle()
        if self.ema is not None and self.keep == "better" and self.select != "best":
            raise BadInput(
                "training: keep is 'better', which is told by validation labels; set select to "
                "'best', or keep to 'average'"
            )

    def _check_milestones(self) -> None:
        if self.milestones is not None:
            given = tuple(self.milestones)
            fine = given == tuple(sorted(set(given))) and all(type(m) is int for m in given)
            fine = fine and (not given or given[0] >= 1)
            _expect(fine, "milestones", list(given), "rising whole numbers of epochs from 1 on")
            object.__setattr__(self, "milestones", given)
        if self.schedule == "step" and not self.milestones:
            raise BadInput(
                "training: schedule is 'step', but there are no milestones; give the epochs after "
                "which the rate falls"
            )

    def _check_idle(self) -> None:
        """Raise BadInput for what is set and would do nothing."""
        idle = {
            "milestones": (self.schedule == "step", "schedule is 'step'"),
            "cycle_momentum": (self.schedule == "one-cycle", "schedule is 'one-cycle'"),
            "patience": (self.select == "best", "select is 'best'"),
            "max_drop": (self.select == "best", "select is 'best'"),
        }
        for key, (used, where) in idle.items():
            if getattr(self, key) and not used:
                raise BadInput(
                    f"training: {key} is set and does something only where {where}; set that too, "
                    f"or leave {key} out"
                )
        if self.milestones and self.milestones[-1] >= self.epochs:
            raise BadInput(
                f"training: milestones are {list(self.milestones)}, and training ends with epoch "
                f"{self.epochs}; give epochs before the last one"
            )

    def rate(self, *, backbone: bool) -> float:
        """The learning rate: as set, or the default for heads on features or a whole backbone."""
        return self.lr if self.lr is not None else (1e-4 if backbone else 1e-2)

    def of_head(self) -> Settings:
        """The settings of the first epochs, in which the head learns alone: at a constant rate."""
        return replace(
            self,
            epochs=self.head_epochs,
            head_epochs=0,
            lr=self.head_lr,
            schedule="constant",
            milestones=None,
            cycle_momentum=False,
            ema=None,
            patience=None,
            max_drop=None,
            select="last" if self.head_then == "go-on" else self.select,
        )

    def to_json(self) -> dict[str, Any]:
        """All of them, as JSON has it."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


_WORDS = {
    "optimiser": ("adam", "adamw", "sgd"),
    "schedule": ("constant", "cosine", "one-cycle", "step"),
    "keep": ("average", "plain", "better"),
    "select": ("last", "best"),
    "head_then": ("restart", "go-on"),
    "precision": ("fp32", "bf16"),
}


def _whole(settings: Settings, **lowest: int) -> None:
    for key, low in lowest.items():
        value = getattr(settings, key)
        fine = value is None or (
            not isinstance(value, bool) and int(value) == value and value >= low
        )
        _expect(fine, key, value, f"a whole number from {low} on")


def _expect(fine: bool, key: str, value: object, wanted: str) -> None:
    if not fine:
        are = "are expected" if key == "milestones" else "is expected"
        verb = "are" if key == "milestones" else "is"
        raise BadInput(f"training: {key} {verb} {value}; {wanted} {are}")
