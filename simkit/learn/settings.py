"""Settings of a training."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from simkit.errors import BadInput
from simkit.registry import Count, NonNegative, Positive, Range, setting, settle

_BelowOne = Annotated[float, Range(0, below=1)]
_ONLY_WITH = {  # settings that have an effect only with another one
    "milestones": ("schedule", "step"),
    "cycle_momentum": ("schedule", "one-cycle"),
    "patience": ("select", "best"),
    "max_drop": ("select", "best"),
}


@dataclass(frozen=True)
class Settings:
    """Settings of the training, independent of the method.

    Attributes
    ----------
    epochs
        Passes over the asked images.
    batch_size
        Images in a batch; the last one of an epoch may be smaller.
    accumulate
        Batches per optimiser step. For losses of single entries this equals batches so many
        times larger; methods that select entries of a batch, batch normalisation, and losses of
        batch means (epr, role, cnn-rnn) use the small batches.
    lr
        None means 0.01 for heads on features and 0.0001 with a backbone. With complete labels and
        ten epochs 0.01 comes within 2.2 mAP of the best rate both on features of photographs (VOC,
        COCO) and on scenes; 0.001 loses 16 on scenes.
    weight_decay
        Added to the gradient (L2), as in torch.optim; decoupled in adamw.
    decay_vectors
        Whether biases and the scales of normalisations decay too.
    optimiser, momentum
        The momentum is for sgd.
    schedule
        "cosine" falls to 0 over all steps; "one-cycle" rises for a share `warm_up` of them, with
        `cycle_momentum` while momentum (Adam's first beta) falls from 0.95 to 0.85 and back; "step"
        multiplies with `step_factor` after the epochs `milestones`.
    ema
        Decay of a moving average of all weights; with `ema_warm_up` at most (1 + t) / (10 + t) in
        step t.
    keep
        The weights to score and keep, averaged or plain; "better" selects those with the higher mAP
        on the validation labels in each epoch.
    standardise
        Standardise every feature to mean 0 and deviation 1 over the asked images. Off, as in
        the papers, whose last layers see non-negative features. With complete labels it costs 1
        to 4 mAP on photographs and gains 2 on scenes, and it hides the collapse of `ignore`
        with known positives only.
    select
        The epoch whose model is kept; "best" by mAP on the validation labels.
    patience
        With "best", stop after so many epochs without a better one; None: never.
    max_drop
        With "best", stop when mAP is more than this below the best (0.03 is 3 points).
    head_ratio
        With a backbone, learning rate of the head over that of the backbone (Kim et al., CVPR
        2022: 10).
    head_epochs, head_lr
        With a backbone, initial epochs of the head alone at its own rate, with a frozen
        backbone in evaluation mode. Then both are trained, with a new optimiser.
    head_augment
        Train the head alone on cropped and mirrored images instead of features computed once.
    head_then
        "restart" continues with the head of the selected epoch and a new state of the method
        (Cole et al., CVPR 2021: LinearInit), "go-on" with the last head, the method's state and
        its count of epochs (Verelst et al., WACV 2023).
    precision
        Of the products of a trained backbone. "bf16": by autocast, while heads and losses stay in
        fp32. "tf32": on GPUs, faster than fp32, with the ten bits of fp16 in each factor.
    state_gb
        Largest memory of the states of all runs together.
    """

    epochs: Count = setting(10, "passes over the asked images")
    batch_size: Count = setting(64, "images in a batch")
    accumulate: Count = setting(1, "batches per optimiser step")
    lr: Positive | None = setting(None, "learning rate; 0.01 for heads, 0.0001 with a backbone")
    weight_decay: NonNegative = setting(0.0, "L2, added to the gradient; decoupled with adamw")
    decay_vectors: bool = setting(True, "decay biases and scales of normalisations too")
    optimiser: Literal["adam", "adamw", "sgd"] = setting("adam", "algorithm")
    momentum: _BelowOne = setting(0.9, "momentum of sgd")
    schedule: Literal["constant", "cosine", "one-cycle", "step"] = setting(
        "constant", "schedule of the learning rate"
    )
    warm_up: _BelowOne = setting(0.3, "share of the steps with rising rate, for one-cycle")
    cycle_momentum: bool = setting(False, "change the momentum too, for one-cycle")
    milestones: tuple[Count, ...] | None = setting(None, "for step: epochs before a lower rate")
    step_factor: Positive = setting(0.1, "factor of the rate at a milestone")
    ema: _BelowOne | None = setting(None, "decay of the moving average of weights")
    ema_warm_up: bool = setting(True, "smaller decay in the first steps")
    keep: Literal["average", "plain", "better"] = setting("average", "weights to score and keep")
    standardise: bool = setting(False, "standardise features to mean 0 and deviation 1")
    select: Literal["last", "best"] = setting("last", "best: by mAP on validation labels")
    patience: Count | None = setting(None, "with best: epochs without improvement before a stop")
    max_drop: Positive | None = setting(None, "with best: stop when mAP is lower by more (0.03)")
    head_ratio: Positive = setting(10.0, "learning rate of the head over that of the backbone")
    head_epochs: Annotated[int, Range(0)] = setting(0, "initial epochs of the head alone")
    head_lr: Positive = setting(1e-3, "learning rate of the head alone")
    head_augment: bool = setting(False, "train the head alone on cropped and mirrored images")
    head_then: Literal["restart", "go-on"] = setting("restart", "method, after the head alone")
    precision: Literal["fp32", "tf32", "bf16"] = setting("fp32", "precision of the backbone")
    state_gb: Positive = setting(8.0, "largest memory of the states of all runs, in GB")

    name: ClassVar[str] = "training"

    def __post_init__(self) -> None:
        """Raise BadInput for settings out of range, and for those without any effect."""
        settle(self)
        milestones = self.milestones or ()
        falling = list(milestones) == sorted({*milestones} & {*range(1, self.epochs)})
        if not falling or (self.schedule == "step" and not milestones):
            raise BadInput(
                f"training: milestones are {milestones} and schedule is {self.schedule!r}; rising "
                f"numbers of epochs before the last one, {self.epochs}, are expected, and at least "
                "one where schedule is 'step'"
            )
        for key, (other, word) in _ONLY_WITH.items():
            if getattr(self, key) and getattr(self, other) != word:
                raise BadInput(
                    f"training: {key} is set, but has an effect only where {other} is {word!r}; "
                    f"set that too, or leave {key} out"
                )
        if self.ema is not None and self.keep == "better" and self.select != "best":
            raise BadInput(
                "training: keep is 'better', which needs validation labels; set select to 'best', "
                "or keep to 'average'"
            )

    def rate(self, *, backbone: bool) -> float:
        """The learning rate: as set, or the default for heads on features or for backbones."""
        return self.lr if self.lr is not None else (1e-4 if backbone else 1e-2)

    def of_head(self) -> Settings:
        """The settings of the initial epochs of the head alone, at a constant rate."""
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
        """All settings as plain values."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
