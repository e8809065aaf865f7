"""What the options of `simkit train` stand for: a protocol, settings, a backbone, files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.errors import BadInput

if TYPE_CHECKING:
    from simkit.learn.protocols import Protocol
    from simkit.learn.steps.optim import Settings
    from simkit.study.sources import ImageTransform, Source


def check_places(given: dict[str, Any]) -> None:
    """Raise BadInput for files that could not be written when the work is done."""
    from simkit.files import may_write

    if given["out"] is not None:
        if given["out"].exists() and not given["out"].is_dir():
            raise BadInput(f"{given['out']} is a file, but a model is a folder; give another --out")
        may_write(given["out"] / "model.json")
    if given["checkpoint"] is not None:
        may_write(given["checkpoint"])


def preset(given: dict[str, Any]) -> Protocol | None:
    """The protocol, where one is named. Raises BadInput for what pictures would be needed for."""
    from simkit.learn.protocols import protocol

    if given["crop"] is not None and not 0 < given["crop"] <= 1:
        raise BadInput(
            f"--crop is {given['crop']}; the smallest share of the area to show is expected, above "
            "0 and at most 1"
        )
    if given["protocol"] is None:
        wanted = given["size"] is not None or given["crop"] is not None
        if wanted and not given["fine_tune"]:
            raise BadInput("--size and --crop are for pictures that a backbone learns from; add "
                           "--fine-tune")  # fmt: skip
        return None
    found = protocol(given["protocol"])
    if not given["fine_tune"]:
        raise BadInput(
            f"protocol {found.name!r} fine-tunes {found.backbone} from pixels; add --fine-tune"
        )
    return found


def source(given: dict[str, Any], preset: Protocol | None) -> Source:
    """Data, backbone and features; another backbone than the protocol's brings its own weights.

    Raises BadInput where a protocol needs weights that nobody asked to download.
    """
    from simkit.study.sources import Source

    own = preset if given["backbone"] is None else None
    if own and own.weights != "random" and given["weights"] is None:
        raise BadInput(
            f"protocol {own.name!r} starts from a {own.backbone} trained on ImageNet; give "
            "--weights FILE, or imagenet to download torchvision's, or random"
        )
    return Source(
        given["spec"],
        (),
        (),
        given["backbone"] or (own.backbone if own else "scenes-net"),
        str(given["weights"] or (own.weights if own else "")),
        features(given["features"]),
    )


def settings(given: dict[str, Any], preset: Protocol | None) -> Settings:
    """What is set by hand, over the protocol's settings where one is named."""
    from simkit.learn.steps.optim import Settings
    from simkit.registry import build

    chosen: dict[str, Any] = {}
    for key, value in _pairs(given["more"], "--set", "a setting and its value, as in ema=0.999"):
        listed = key == "milestones"
        chosen[key.replace("-", "_")] = value.split(",") if listed else value
    for key in ("epochs", "batch_size", "lr"):
        if given[key] is not None:
            if key in chosen:
                raise BadInput(f"--{key.replace('_', '-')} and --set {key} both came; give one")
            chosen[key] = given[key]
    return preset.changed(chosen) if preset else build(Settings, chosen, "training")


def transform(given: dict[str, Any], preset: Protocol | None) -> ImageTransform:
    from simkit.study.sources import ImageTransform

    crop = preset.crop if preset else None
    if given["crop"] is not None:
        crop = (given["crop"], 1.0)
    size = given["size"] or (preset.size if preset else None)
    flips = (preset.flip, preset.upside_down) if preset else (True, False)
    return ImageTransform(size, *flips, crop=crop)


def features(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of a split and its file; a folder of splits stands for all that are in it."""
    from simkit.embed.features.feature_folder import of_splits

    found: list[str] = []
    for text in texts:
        splits = {} if "=" in text else of_splits(Path(text))
        found += [f"{split}={place}" for split, place in splits.items()] or [text]
    return _pairs(
        found, "--features", "a split and a file, as in train=FILE.npz, or a folder of splits"
    )


def _pairs(texts: Sequence[str], option: str, wanted: str) -> tuple[tuple[str, str], ...]:
    for text in texts:
        if "=" not in text:
            raise BadInput(f"{option} is {text!r}; write {wanted}")
    found = tuple((key, value) for key, _, value in (text.partition("=") for text in texts))
    keys = [key.replace("-", "_") for key, _ in found]
    for key in keys:
        if keys.count(key) > 1:
            raise BadInput(f"{option} gives {key} {keys.count(key)} times; give it once")
    return found
