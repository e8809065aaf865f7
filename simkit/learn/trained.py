"""A trained model: scores, class maps, its history, and its files (safetensors and JSON)."""

from __future__ import annotations

import copy
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from scipy.sparse import csr_array
from torch import Tensor, nn

from simkit.embed.backbones import BACKBONES, BEST, TIMM
from simkit.embed.backbones import backbone as load_backbone
from simkit.embed.devices import Precision, device_of, products_in, usable
from simkit.embed.networks import Backbone
from simkit.errors import BadInput, examples
from simkit.files import file_digest, parse_json, reading, whole
from simkit.history import History, content_id, sealed, unsealed, versions
from simkit.labels.truth import class_names
from simkit.learn.method import Method, Wrapper, make, spell
from simkit.learn.model import Head, Model, check_inputs, outputs, scores
from simkit.learn.settings import Settings
from simkit.learn.task import Task
from simkit.learn.training_images import TrainingImages
from simkit.learn.validation import Validation
from simkit.metrics.ranking import at_entries
from simkit.metrics.thresholds import exact_interval, fewest_images
from simkit.registry import short

Counts = int | NDArray[np.int64]
_FORM = "simkit model 1"
_FILES = ("model.json", "model.safetensors")
_CHECKSUM = "checksum"
_BY_NAME = {"its own": None, **{word: word for word in (BEST, TIMM, "random")}}  # weights
_CURVES = (
    "losses", "validation", "validation_plain", "head_losses", "head_validation", "thresholds",
)  # fmt: skip
_FACTS = ("thresholds_from", "thresholds_how", "tag_precision", "tag_options", "scored")


# The images that determine thresholds.
VAL, CROSS_FITTED, BOTH = "val", "cross-fitting", "val and cross-fitting"
# What sets thresholds, for messages about a model without them.
SETS_THRESHOLDS = (
    "to get them, train it again by the same simkit train command with --report, which chooses "
    "them on the val split or, for heads with few images in it, on training images with labels of "
    "nearly all classes as well"
)
FREQUENT = 2.0  # times as frequent as labels: tags are checked from there on
TAG_PRECISION = 0.5  # unless stated, at least so many of the tags of a class are right


def thresholds_from(images: int, how: str) -> str:
    """The images that determined thresholds, in words."""
    if how == VAL:
        return f"{images:,} images of val"
    of = "training images" if how == CROSS_FITTED else "images: val, and training images"
    each = "each" if how == CROSS_FITTED else "each of these"
    return (
        f"{images:,} {of} with labels of nearly all classes, {each} scored by a model trained "
        "without it"
    )


def tag_rule(precision: float) -> str:
    """Which threshold of a class is chosen, in words."""
    if not precision:
        return "with the highest F1"
    return (f"with the highest F1 of those at which at least {precision:.0%} of the tags are right "
            "(with 95% confidence for each class)")  # fmt: skip


def untagged(names: Sequence[str], precision: float, how: str) -> str:
    """A sentence about the classes without a threshold; how: `Trained.thresholds_how`."""
    classes = "1 class" if len(names) == 1 else f"{len(names):,} classes"
    reached = f" reaches {precision:.0%} precision with certainty" if precision else " was found"
    start = f"no tags of {classes}, for which no threshold{reached}: {examples(names)}; "
    more = "use more images in val"
    if how != VAL:
        more = "label more training images with all classes"
    if not precision:
        return f"{start}to tag them, {more}"
    if least := fewest_images(precision):
        more = f"tests need at least {least:,} labelled images, the surest with the class: {more}"
    lower = " such as 0.3" if precision > 0.3 else ""
    return f"{start}{more}, or train with a lower --tag-precision{lower}"


def too_frequent(
    names: Sequence[str], tagged: Counts, images: Counts, present: Counts, labelled: Counts
) -> str:
    """A warning of classes whose tags are far more frequent than their labels; "" without any.

    Far more: at least twice as frequent, and the 95 % intervals of the two shares do not overlap.

    names: of the L classes.  tagged: (L,) numbers of these `images` with the tag.  present: (L,)
    numbers of the `labelled` images that are labelled with the class.
    """
    tags, labels = (np.asarray(some) / np.maximum(of, 1)
                    for some, of in ((tagged, images), (present, labelled)))  # fmt: skip
    low, _ = exact_interval(tags, np.broadcast_to(images, tags.shape))
    _, high = exact_interval(labels, np.broadcast_to(labelled, labels.shape))
    many = np.flatnonzero((tags >= FREQUENT * labels) & (low > high))
    if not len(many):
        return ""
    worst = many[np.argsort(labels[many] / tags[many], kind="stable")]
    texts = [f"{names[c]} {tags[c]:.0%} of images ({labels[c]:.0%} by labels)" for c in worst]
    classes = "1 class" if len(many) == 1 else f"{len(many):,} classes"
    return (
        f"check the tags of {classes}, which the model finds far more often than the labels of "
        f"people say: {examples(texts)}; the thresholds are too low, or the images differ from the "
        "labelled ones; a higher --tag-precision raises the thresholds"
    )


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, with everything that its use and its reproduction need.

    Attributes
    ----------
    model, method, state, classes
        Head and backbone, the method with its state, and names of the L classes.
    epoch
        The epoch of these weights.
    losses
        Mean training loss per image of every epoch: losses that sum over a batch are divided by
        its images, so that curves do not depend on its size.
    validation, validation_plain
        mAP in [0, 1] of every epoch if there were labels to score; if averaged weights are
        kept, of these, and `validation_plain` is that of the plain weights.
    head_losses, head_validation
        The same for the epochs of the head alone.
    history
        Settings, seed, versions, and ids of labels and inputs.
    thresholds, thresholds_from, thresholds_how
        (L,) logits from which on a class is predicted present (nan: never), with the highest F1 on
        so many images of the val split or, by "cross-fitting", of the training images, which models
        without these images scored; empty and 0 without any.
    tag_precision
        Only thresholds with this precision at least, with 95 % confidence for each class by tests
        on these images, were considered; 0: all.
    tag_options
        How many classes would get tags: `lower`, by a lower tag precision, and `more`, with so many
        more such images, from 25% to 100%; empty if all classes get tags.
    thresholds_present
        (L,) number of these images that show each class.
    scored
        By `simkit train`: `split`, its `images` and `classes` with an AP, `map` in [0, 1], and
        `expected`, `low` and `high` of mAP on new images and `chance`, that of a random order;
        empty if it was not scored. Where the labels err at known rates, `errors` has these, and
        `as_true` is the expected mAP without correction for them.
    trained_on
        The training images, which evaluations leave out; None for models that do not record them:
        those trained on arrays, and those of earlier versions.
    """

    model: Model
    method: Method
    state: nn.Module
    classes: tuple[str, ...]
    epoch: int
    losses: tuple[float, ...]
    validation: tuple[float, ...]
    history: History
    validation_plain: tuple[float, ...] = ()
    head_losses: tuple[float, ...] = ()
    head_validation: tuple[float, ...] = ()
    thresholds: tuple[float, ...] = ()
    thresholds_from: int = 0
    thresholds_how: str = VAL
    thresholds_present: tuple[int, ...] = ()
    tag_precision: float = 0.0
    tag_options: Mapping[str, Any] = field(default_factory=dict)
    scored: Mapping[str, Any] = field(default_factory=dict)
    trained_on: TrainingImages | None = None

    def __repr__(self) -> str:
        settings, scored = self.history.settings, self.scored
        network = settings.get("backbone") or "features of an unnamed network"
        data = f"trained on {settings.get('data', 'arrays')}"
        reached = "not scored"
        if scored:
            reached = (f"mAP {100 * scored['map']:.1f} on {scored['images']:,} images of "
                       f"{scored['split']}")  # fmt: skip
        return (f"<Trained {short(self.method)}: {len(self.classes):,} classes, {reached}; "
                f"{network}, {data}; id {self.id}>")  # fmt: skip

    def scores(
        self,
        inputs: Any,
        *,
        rows: NDArray[np.int64] | None = None,
        batch: int | None = None,
        device: str | torch.device = "auto",
        precision: Precision | None = None,
        known: csr_array | None = None,
    ) -> Any:
        """Logits for inputs of the kind it was trained on.

        Parameters
        ----------
        inputs
            FeatureInputs or ImageInputs.
        rows
            Indices of the N images to score, in this order; by default all.
        batch
            Inputs scored at a time: by default 256 features or 64 images; fewer where the memory
            of a GPU is too small.
        device
            As in `train`.
        precision
            Of the products of a backbone, "fp32", "tf32" or "bf16"; by default that of its
            training.
        known
            (N, L) sparse: return the scores of its stored entries alone. Metrics take them as the
            known ones, and need a small part of the memory where few labels are known.

        Returns
        -------
        ndarray or csr_array
            (N, L) float32; sparse with `known`.

        Raises
        ------
        BadInput
            For inputs of another kind or width.
        """
        moved = self.on(device, precision)
        known = None if known is None else csr_array(known)
        how: dict[str, Any] = {"rows": rows, "batch": batch, "known": known}
        with products_in(moved.model.precision):
            values = scores(moved.model, self.method, moved.state, inputs, **how).cpu().numpy()
        return values if known is None else at_entries(values, known)

    def maps(
        self,
        inputs: Any,
        *,
        batch: int | None = None,
        device: str | torch.device = "auto",
        precision: Precision | None = None,
    ) -> Iterator[NDArray[np.float32]]:
        """Class maps of one batch of inputs after the other, in their order.

        Their means are the logits before a method's changes at inference (BoostLU).

        Parameters
        ----------
        inputs
            Maps of features, or images for a trained backbone; a head trained on pooled features
            has maps too.
        batch, device, precision
            As in `scores`.

        Yields
        ------
        ndarray
            (b, L, h, w) float32.

        Raises
        ------
        BadInput
            For pooled features, and as `scores`.
        """
        check_inputs(self.model, inputs, maps=True)
        model = self.on(device, precision).model
        found = outputs(model, inputs, np.arange(len(inputs)), batch=batch, maps=True)
        while True:
            with products_in(model.precision):  # not while the caller has the batch
                _, out = next(found, (None, None))
            if out is None:
                return
            assert out.maps is not None
            yield out.maps.float().cpu().numpy()

    def on(self, device: str | torch.device, precision: Precision | None = None) -> Trained:
        """The same with model and state as copies on a device; precision: as in `scores`."""
        place = device_of(device, needed=self.model.backbone is not None)
        model, state = copy.deepcopy(self.model).to(place), copy.deepcopy(self.state).to(place)
        of_training = self.history.settings.get("training", {}).get("precision", "fp32")
        model.precision = usable(precision or of_training, place)
        return replace(self, model=model, state=state)

    @property
    def id(self) -> str:
        """Content id of the weights."""
        return content_id("trained", *_values(self.model))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write model.safetensors, then model.json, which identifies it, into a folder."""
        target = Path(folder)
        tensors = {f"model.{k}": v for k, v in self.model.state_dict().items()}
        tensors |= {f"state.{k}": v for k, v in self.state.state_dict().items()}
        tensors |= {} if self.trained_on is None else self.trained_on.tensors()
        write_tensors(target / "model.safetensors", tensors, {})
        curves = {  # JSON has neither NaN nor infinity
            name: [value if math.isfinite(value) else None for value in getattr(self, name)]
            for name in _CURVES
        }
        facts = {
            "form": _FORM,
            "id": self.id,
            "method": spell(self.method),
            "backbone": self.model.backbone is not None,
            "classes": list(self.classes),
            "epoch": self.epoch,
            **curves,
            "thresholds_from": self.thresholds_from,
            "thresholds_how": self.thresholds_how,
            "thresholds_present": list(self.thresholds_present),
            "tag_precision": self.tag_precision,
            "tag_options": dict(self.tag_options),
            "scored": dict(self.scored),
            "history": json.loads(self.history.to_json()),
            "tensors": file_digest(target / "model.safetensors"),
        }
        text = json.dumps(sealed(facts), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        with whole(target / "model.json") as part:
            part.write_text(text, encoding="utf-8")

    @staticmethod
    def load(folder: str | PathLike[str], *, backbone: nn.Module | None = None) -> Trained:
        """Read a folder of `save`.

        Parameters
        ----------
        folder
            With model.json and model.safetensors.
        backbone
            The network for the weights of a fine-tuned model; by default the one named in the
            model, if its weights were not a file.

        Raises
        ------
        BadInput
            For damaged files, and for a missing or unsuitable backbone.
        """
        file = Path(folder) / "model.safetensors"
        lacking = [name for name in _FILES if not Path(folder, name).is_file()]
        if len(lacking) == 1:
            raise BadInput(f"{folder} has no {lacking[0]}; copy both files of the model, "
                           f"{' and '.join(_FILES)}, or train it again")  # fmt: skip
        if lacking:
            raise BadInput(f"{folder} holds no model; give a folder that simkit train --out wrote")
        tensors, _ = read_tensors(file, "the weights of a model")
        with _described(folder) as facts:
            if facts["tensors"] != file_digest(file):
                raise BadInput(f"{file.name} holds weights of another model; save it again")
            if not facts["backbone"]:
                backbone = None
            elif backbone is None:
                backbone = backbone_of(facts["history"]["settings"])
            head = Head(tensors["model.head.weight"], tensors["model.head.bias"])
            classes = class_names(facts["classes"], len(head.weight))
            if not len({*classes}) == len(classes) == len(head.weight):
                raise ValueError("its classes do not fit its weights")
            model, method = Model(head, backbone=backbone), make(facts["method"])
            try:
                model.load_state_dict(with_prefix(tensors, "model."))
            except RuntimeError as error:
                raise BadInput(f"the backbone does not fit the model ({error})") from None
            state = _as_state(with_prefix(tensors, "state."), method)
            values: dict[str, Any] = {
                name: tuple(float("nan") if v is None else v for v in facts.get(name, ()))
                for name in _CURVES
            }
            history = History.from_json(json.dumps(facts["history"]))
            values |= {key: facts[key] for key in _FACTS if key in facts}
            values["trained_on"] = TrainingImages.read(tensors)
            values["thresholds_present"] = tuple(facts.get("thresholds_present", ()))
            return Trained(model, method, state, classes, facts["epoch"], history=history, **values)


def describe(folder: str | PathLike[str]) -> dict[str, Any]:
    """Facts about a saved model and its training, for people and programs."""
    with _described(folder) as facts:
        history = History.from_json(json.dumps(facts["history"]))
        return {
            "id": facts["id"],
            "method": facts["method"],
            "classes": len(facts["classes"]),
            "names": facts["classes"],
            "epoch": facts["epoch"],
            "loss": facts["losses"][-1] if facts["losses"] else None,
            "validation": facts["validation"][facts["epoch"] - 1] if facts["validation"] else None,
            "scored": facts.get("scored", {}),
            "thresholds": facts.get("thresholds", []),
            "thresholds_from": facts.get("thresholds_from", 0),
            "thresholds_how": facts.get("thresholds_how", VAL),
            "thresholds_present": facts.get("thresholds_present", []),
            "tag_precision": facts.get("tag_precision", 0.0),
            "seed": history.seed,
            "settings": history.settings,
            "parents": list(history.parents),
            "versions": history.versions,
        }


def backbone_of(settings: Mapping[str, Any]) -> Backbone:
    """The backbone that the settings of a model name.

    Raises BadInput for a custom one, and if its weights came from a file: their name is not
    sufficient to find them, and a file may specify the padding of images.
    """
    if not settings.get("backbone"):
        raise BadInput(
            "the model was trained on features that do not name their network; name it by "
            "--backbone and --weights or, in Python, backbone=simkit.backbone(name, weights)"
        )
    name, weights = str(settings["backbone"]), str(settings.get("weights"))
    known = name in BACKBONES.names() or name.startswith("timm:")
    if not known or not (weights in _BY_NAME or weights.startswith("IMAGENET")):
        raise BadInput(
            f"the model was trained with backbone {name!r} and weights {weights!r}, which are not "
            "found by name; name both again, by --backbone and --weights or, in Python, "
            "backbone=simkit.backbone(name, weights)"
        )
    return load_backbone(name, _BY_NAME.get(weights, weights), size=settings.get("size"))


def histories(
    runs: Sequence[tuple[Task, Method]],
    rates: Sequence[float],
    *,
    settings: Settings,
    seed: int,
    draw: int,
    validation: Validation | None,
    backbone: nn.Module | None,
) -> list[History]:
    """Everything that determines a training, for each of its runs.

    The content ids of a backbone's initial weights are among its parents.
    """
    inputs = runs[0][0].inputs
    shared: dict[str, Any] = {
        "training": settings.to_json(),
        "draw": int(draw),
        "validation": "none" if validation is None else validation.kind,
        "backbone": None if backbone is None else getattr(backbone, "name", "own"),
    }
    parents = [str(inputs.id)]
    if isinstance(backbone, Backbone):
        shared["weights"] = backbone.weights
        shared |= {"license": backbone.license} if backbone.license else {}
        parents.append(backbone.id)
    elif backbone is not None:
        parents.append(content_id("own backbone", *_values(backbone)))
    shared |= getattr(inputs, "augmentation", {})
    if validation is not None and validation.id is not None:
        parents.append(validation.id)
    made_with = {**versions(), "torch": torch.__version__}
    run_histories = []
    for (task, method), lr in zip(runs, rates, strict=True):
        details = {**shared, "method": spell(method), "lr": lr}
        if estimates := method.estimates(task):
            details["estimates"] = estimates
        aids = [aid for aid in task.aids if isinstance(aid, method.needs.aids)]
        for aid in aids:  # approximate neighbours have a recall
            if getattr(aid, "recall", 1) < 1:
                details[f"{aid.name} recall"] = aid.recall
        ids = (task.labels.id, *parents, *(aid.id for aid in aids))
        run_histories.append(History("train", details, int(seed), ids, made_with))
    return run_histories


def with_prefix(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The entries whose names have this prefix, by the rest of their names."""
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def write_tensors(path: Path, tensors: dict[str, Tensor], texts: dict[str, str]) -> None:
    """Write a safetensors file, which appears whole, with a checksum of its tensors."""
    texts = {**texts, _CHECKSUM: _checksum(tensors)}
    alone = {}
    for name, tensor in tensors.items():
        # safetensors does not write two views of one memory. Copied only if necessary, as some
        # states are large.
        memory = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
        plain = tensor.detach()
        whole_memory = memory and tensor.is_contiguous()
        alone[name] = plain if whole_memory else plain.clone().contiguous()
    with whole(path) as part:
        try:
            save_file(alone, part, texts)
        except SafetensorError as error:  # of the disk: it is no OSError
            raise BadInput(
                f"{path} cannot be written ({error}); free space, or choose another place"
            ) from None


def read_tensors(path: Path, what: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and texts of a safetensors file. Raises BadInput for other and damaged files."""
    with reading(path, what), safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        texts = dict(file.metadata() or {})
        if texts.pop(_CHECKSUM, None) not in (None, _checksum(tensors)):  # None: of version 0.1
            raise ValueError("its tensors do not match their checksum")
        return tensors, texts


def _checksum(tensors: dict[str, Tensor]) -> str:
    """CRC-32 of names, kinds, shapes and values: the checkpoint of every epoch has one."""
    checksum = 0
    for name, tensor in sorted(tensors.items()):
        values = tensor.detach().cpu().contiguous()
        checksum = zlib.crc32(f"{name} {values.dtype} {tuple(values.shape)}".encode(), checksum)
        checksum = zlib.crc32(values.view(-1).view(torch.uint8).numpy().data, checksum)
    return f"{checksum:08x}"


def _as_state(tensors: dict[str, Tensor], method: Method) -> nn.Module:
    """A state of this method with these tensors as buffers, nested by their names."""
    state = module = nn.Module()
    while isinstance(method, Wrapper):  # the inner state may have no tensors
        module.inner = nn.Module()
        module, method = module.inner, method.inner
    for name, tensor in tensors.items():
        *path, last = name.split(".")
        module = state
        for step in path:
            if step not in module._modules:
                module.add_module(step, nn.Module())
            module = module.get_submodule(step)
        module.register_buffer(last, tensor)
    return state


def _values(module: nn.Module) -> list[Any]:
    """Names and values of all tensors, for a content id."""
    values: list[Any] = []
    for name, tensor in sorted(module.state_dict().items()):
        values += [name, tensor.detach().cpu().numpy()]
    return values


@contextmanager
def _described(folder: str | PathLike[str]) -> Iterator[dict[str, Any]]:
    """The facts in model.json, for a block whose errors it explains."""
    path = Path(folder, "model.json")
    with reading(path, "the description of a model", "train and save it again"):
        facts = unsealed(parse_json(path.read_text(encoding="utf-8")))
        if facts["form"] != _FORM:
            raise KeyError("form")
        yield facts
