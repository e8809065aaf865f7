"""Train one method on partial labels and score it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit.cli import options, params
from simkit.cli.output import Advance, print_json, progress, say
from simkit.errors import BadInput
from simkit.files import may_write
from simkit.registry import build, short

if TYPE_CHECKING:
    from simkit.learn.distributed import Team
    from simkit.learn.selection import TrainingProgress
    from simkit.study.trial import Trial

FEW, EXACT = 200, 500  # test images: mAP is printed with its precision; with two decimals
_OFTEN = ("epochs", "batch_size", "lr")  # settings with options of their own
_PASSED = ("seed", "draw", "device", "compile", "checkpoint", "unasked", "report")


# fmt: off
@click.command(epilog="Example: simkit train --method ll-r+boostlu --labels fpc.parquet")
@click.option("--method", type=params.METHOD, required=True,
              help="For instance an, ll-r(delta=0.5) or ll-r+boostlu.")
@click.option("--labels", "labels_file", type=params.FILE, required=True,
              help="A label file of the training images: from `simkit simulate`, or the table "
              "labels.csv of a folder.")
@params.data("The data set of the labels.")
@params.backbone("Network for the features; timm:NAME is a network of timm. [default: scenes-net, "
                 "or the protocol's]")
@click.option("--features", multiple=True, metavar="SPLIT=FILE",
              help="Instead of a backbone: an npz file with an array `features`, one row per "
              "image, or a folder of features; or, without SPLIT=, the folder that simkit "
              "features --out wrote.")
@click.option("--scores", type=params.FILE,
              help="A file of simkit score, the teacher of vlpl and aevlp.")
@click.option("--fine-tune", is_flag=True, help="Train the backbone too, from pixels.")
@click.option("--protocol",
              help="Fine-tune with the settings of a paper (`simkit list protocols`); other "
              "options override them.")
@options.of("simkit.learn.settings.Settings", *_OFTEN, unset=True)
@click.option("--set", "other_settings", multiple=True, metavar="KEY=VALUE",
              help="Any other setting of the training, such as precision=bf16, accumulate=4, "
              "ema=0.999, schedule=cosine, or both schedule=step and milestones=5,8.")
@click.option("--size", type=click.IntRange(min=32),
              help="Fine-tuning: side of images, pixels.")
@click.option("--crop", type=click.FloatRange(min=0, max=1, min_open=True),
              help="Fine-tuning: show at least this share of the area.")
@options.of("simkit.study.trial.trial", "device", "compile", "seed", "draw", "report",
            checkpoint=params.FILE, unasked=click.Choice(["skip", "absent"]))
@click.option("--out", type=params.FOLDER, help="Folder for the trained model.")
@params.json
def command(**given: Any) -> None:
    """Train one method on partial labels and score it on the test split (mAP, masked).

    Masked: unknown labels of the test split, difficult objects and unreadable images are left out,
    class by class; classes without positives are not part of mAP.

    Several GPUs: torchrun --nproc-per-node 4 --no-python simkit train ... Every process holds
    the method's whole state. After an error torchrun adds its report to simkit's sentence.
    """
    from simkit.learn.distributed import together
    from simkit.orders import project_state
    from simkit.study.trial import trial

    method = simkit.methods.make(given["method"])
    for place in (given["out"] and given["out"] / "model.json", given["checkpoint"]):
        if place is not None:
            may_write(place)
    source, transform, settings = _recipe(given)
    file = given["labels_file"]
    labels = _labels(file, given["spec"])
    with together() as team, _reporting(given, team) as reporter:
        done = trial(
            labels, method, source, transform=transform, where=str(file), settings=settings,
            progress=reporter, **{name: given[name] for name in _PASSED},
        )
    if not team.first:
        return
    if given["out"] is not None:
        project_state.record(given["out"].absolute().parent)  # the scores are of the model before
        done.trained.save(given["out"])
    facts = {"method": simkit.methods.spell(method), **_facts(done)}
    print_json(facts | {"labels": labels.id, "processes": team.processes})
    others = " and the others" if given["unasked"] == "absent" else ""
    say(f"{short(method)} on {file}: {done.asked:,} asked images{others}, {settings.epochs} epochs")
    _print(done, given["spec"])
    if team.processes > 1:
        say(f"{team.processes} processes trained it together")
    if given["out"] is not None:
        say(f"wrote {given['out']}/")
# fmt: on


def _labels(file: Path, spec: str) -> simkit.PartialLabels:
    """Labels in one of the formats, or in a table with the columns file and class."""
    from simkit.data.folder import table_labels
    from simkit.labels.formats.csv import COLUMNS

    form = simkit.formats.for_path(file)
    if form.name == "csv" and file.is_file():
        # Both are .csv: only the names of the columns tell a table of a folder from our format.
        with file.open(encoding="utf-8-sig", errors="replace") as stream:
            if not set(COLUMNS) <= set(stream.readline().strip().replace('"', "").split(",")):
                return table_labels(file, spec)
    return form.read(file)


def _recipe(
    given: dict[str, Any],
) -> tuple[simkit.Source, simkit.ImageTransform | None, simkit.Settings]:
    """Data and network, transform of images, settings: a protocol's with options in their place."""
    from simkit.learn.protocols import protocol

    for name in ("protocol", "size", "crop"):
        if given[name] is not None and not given["fine_tune"]:
            raise BadInput(f"{params.flag(name)} is for training from pixels; add --fine-tune")
    preset = None if given["protocol"] is None else protocol(given["protocol"])
    expected = "a setting and its value, as in ema=0.999"
    chosen: dict[str, Any] = dict(params.pairs(given["other_settings"], "--set", expected))
    if "milestones" in chosen:
        chosen["milestones"] = chosen["milestones"].split(",")
    for key in _OFTEN:
        if given[key] is not None:
            if key in chosen:
                raise BadInput(f"{params.flag(key)} and --set {key} are both given; leave one out")
            chosen[key] = given[key]
    crop, size = None if given["crop"] is None else (given["crop"], 1.0), given["size"]
    backbone, weights = given["backbone"], given["weights"]
    if preset is None:
        settings = build(simkit.Settings, chosen, "training")
        transform = simkit.ImageTransform(size, True, False, crop=crop)
    else:
        settings = preset.changed(chosen)
        transform = simkit.ImageTransform(
            size or preset.size, preset.flip, preset.upside_down, crop=crop or preset.crop
        )
        if backbone is None:  # another one than the protocol's brings its own weights
            if weights is None and preset.weights != "random":
                raise BadInput(
                    f"protocol {preset.name!r} starts from a {preset.backbone} trained on "
                    "ImageNet; give --weights FILE, or imagenet to download torchvision's, or "
                    "random"
                )
            backbone, weights = preset.backbone, weights or preset.weights
    source = simkit.Source(
        given["spec"], (), (), backbone or "scenes-net", str(weights or ""),
        _features(given["features"]), scores=str(given["scores"] or ""),
    )  # fmt: skip
    return source, transform if given["fine_tune"] else None, settings


def _features(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of a split and its file; a folder of splits stands for all that are in it."""
    from simkit.embed.feature_files import of_splits

    spelled: list[str] = []
    for text in texts:
        splits = {} if "=" in text else of_splits(Path(text))
        spelled += [f"{split}={place}" for split, place in splits.items()] or [text]
    expected = "a split and a file, as in train=FILE.npz, or a folder of splits"
    return tuple(params.pairs(tuple(spelled), "--features", expected).items())


class TrainingBar:
    """Moves the bar of a training; it is called with (done, total) while features are computed."""

    def __init__(self, advance: Advance, *, quiet: bool) -> None:
        self._advance, self._quiet = advance, quiet
        self._now: TrainingProgress | None = None
        self._done = 0  # epochs that have ended
        self._result = ""  # of the last of them

    def __call__(self, done: int, of: int) -> None:
        self._advance(done, of, "computing features")

    def report(self, now: TrainingProgress) -> None:
        """Take note of a step, of the end of an epoch, or of the epoch after a checkpoint."""
        self._now = now
        if now.loss is not None:
            self._done, self._result = int(now.epochs), f"loss {now.loss:.4g}"
            if now.validation is not None:
                self._result += f", mAP {100 * now.validation:.2f} on val"
        self._advance(now.epochs, now.of, f"training {self._result}".strip())
        if now.resumed and not self._quiet:
            say(f"goes on after epoch {now.epochs:.0f} of {now.of}", err=True)

    def interrupted(self, checkpoint: Path | None) -> str:
        """The message of an interrupt: what is kept, and how to go on."""
        if self._now is None:
            return "interrupted before training began; what was finished is kept"
        done, of = self._done, self._now.of
        if checkpoint is not None and checkpoint.exists():
            return (
                f"interrupted; {checkpoint} keeps the finished epochs ({done} of {of}), and the "
                "same command goes on from there"
            )
        return (
            f"interrupted in epoch {min(done + 1, of)} of {of}, and nothing is kept; --checkpoint "
            "FILE keeps finished epochs"
        )


@contextmanager
def _reporting(given: dict[str, Any], team: Team) -> Iterator[TrainingBar]:
    """Progress, and the message of an interrupt."""
    with progress("training", quiet=not team.first) as (advance,):
        reporter = TrainingBar(advance, quiet=not team.first)
        try:
            yield reporter
        except KeyboardInterrupt:
            raise KeyboardInterrupt(reporter.interrupted(given["checkpoint"])) from None


def _facts(done: Trial) -> dict[str, Any]:
    names = ("asked", "held_out", "map", "map_all", "chosen_by", "split", "images")
    facts = {name: getattr(done, name) for name in names}
    report = {"report": asdict(done.detailed)} if done.detailed else {}
    return {**facts, "id": done.trained.id, "epoch": done.trained.epoch, **done.scored, **report}


def _means(done: Trial) -> str:
    """mAP over leaf classes and over all, or once where no class lies above another."""

    def over(mean: float, kind: str, classes: str) -> str:
        digits, of = 1 + (done.images >= EXACT), f"{done.scored[f'{kind}_scored']:,}"
        return f"{100 * mean:.{digits}f} over {of} of {done.scored[kind]:,} {classes}"

    if done.scored["leaves"] == done.scored["classes"]:
        return over(done.map, "leaves", "classes")
    leaves = over(done.map, "leaves", "leaf classes")
    return f"{leaves}, {over(done.map_all, 'classes', 'classes in all')}"


def _print(done: Trial, spec: str) -> None:
    if not done.split:
        say("not scored: there are no labelled test images (field `scored` of the data)")
        return
    noise = ""
    if done.images < FEW:  # fewer digits would still say too much
        from simkit.annotate.evaluation_set import half_width

        data = simkit.data.open(spec)
        points = half_width(data.truth[done.split].counts[data.leaves])
        noise = f", which determine mAP to about ±{points:.0f} points"
    say(f"mAP {_means(done)} ({done.split} split, {done.images:,} images{noise})")
    if done.chosen_by:
        say(
            f"complete labels of {done.chosen_by:,} further images (split val) chose epoch "
            f"{done.trained.epoch}; they cost money too"
        )
    for line in done.detailed.lines() if done.detailed else ():
        say(line)
    if done.held_out:
        say(
            f"{done.held_out:,} further asked images are not trained on: they are held out for "
            "validation or testing"
        )
