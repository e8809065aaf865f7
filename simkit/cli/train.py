"""Train one method on partial labels and score it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

import simkit
from simkit.cli import options
from simkit.cli.order import share_or_none
from simkit.cli.output import Advance, print_json, progress, say, table
from simkit.errors import BadInput
from simkit.files import may_write, reading
from simkit.registry import Range, build, short

if TYPE_CHECKING:
    from simkit.learn.distributed import Team
    from simkit.learn.protocols import Protocol
    from simkit.learn.selection import TrainingProgress
    from simkit.study.trial import Trial

SHOWN = 40  # classes in the table of thresholds
EXACT = 500  # test images from which on mAP is printed with two decimals
_OFTEN = ("epochs", "batch_size", "lr")  # settings with options of their own


@click.command(epilog="Example: simkit train --method ll-r+boostlu --labels fpc.parquet")
@options.signature
@options.shared("weights")
@options.of("simkit.learn.settings.Settings", *_OFTEN, unset=True)
@options.of(
    "simkit.study.trial.trial", "device", "compile", "seed", "draw", "report",
    checkpoint=options.FILE, unasked=click.Choice(["skip", "absent"]),
)  # fmt: skip
@options.of(
    "simkit.study.trial.trial", tag_precision=options.Quantity("share", share_or_none), unset=True
)
@options.json
def command(
    *,
    method: str,
    labels_file: Path,
    data_spec: str = "scenes",
    features: tuple[str, ...] = (),
    scores: Path | None = None,
    fine_tune: bool = False,
    protocol: str | None = None,
    set_: tuple[str, ...] = (),
    size: Annotated[int, Range(32)] | None = None,
    crop: Annotated[float, Range(above=0, most=1)] | None = None,
    out: Path | None = None,
    backbone: str | None = None,
    weights: str | None,
    tag_precision: float | None,
    **training: Any,
) -> None:
    """Train one method on partial labels and score it on the test split (mAP, masked).

    Masked: unknown labels of the test split, difficult objects and unreadable images are left out,
    class by class; classes without present or without absent labels are not part of mAP.

    Several GPUs: torchrun --nproc-per-node 4 --no-python simkit train ... Every process holds
    the method's whole state. After an error torchrun adds its report to simkit's sentence.

    Parameters
    ----------
    method : METHOD
        For instance an, ll-r(delta=0.5) or ll-r+boostlu.
    labels_file
        A label file of the training images: from `simkit simulate`, or the table labels.csv of a
        folder.
    data_spec : DATA
        The data set of the labels.
    features : SPLIT=FILE
        Instead of a backbone: an npz file with an array `features`, one row per image, or a folder
        of features; or, without SPLIT=, the folder that simkit features --out wrote.
    scores
        A file of simkit score, the teacher of vlpl and aevlp.
    fine_tune
        Train the backbone too, from pixels.
    protocol
        Fine-tune with the settings of a paper (`simkit list protocols`); other options override
        them.
    set_ : KEY=VALUE
        Any other setting of the training, such as precision=bf16, accumulate=4, ema=0.999,
        schedule=cosine, or both schedule=step and milestones=5,8.
    size
        Fine-tuning: side of images, pixels.
    crop
        Fine-tuning: show at least this share of the area.
    out : FOLDER
        Folder for the trained model.
    backbone
        Network for the features; timm:NAME is a network of timm. [default: scenes-net, or the
        protocol's]
    """
    from simkit.learn import protocols
    from simkit.learn.distributed import together
    from simkit.orders import project, project_state
    from simkit.study.trial import trial

    named = {"--protocol": protocol, "--size": size, "--crop": crop}
    options.needs(named, "--fine-tune", fine_tune)
    options.needs({"--tag-precision": tag_precision}, "--report", training["report"])
    training |= {} if tag_precision is None else {"tag_precision": tag_precision}
    made = simkit.methods.make(method)
    for place in (out and out / "model.json", training["checkpoint"]):
        if place is not None:
            may_write(place)
    preset = None if protocol is None else protocols.protocol(protocol)
    settings = _settings(preset, set_, {name: training.pop(name) for name in _OFTEN})
    backbone, weights = _network(preset, backbone, weights)
    brought = options.features(features)
    source = simkit.Source(data_spec, (), (), backbone, weights, brought, scores=str(scores or ""))
    transform = _transform(preset, size, crop) if fine_tune else None
    labels = _labels(labels_file, data_spec)
    with together() as team, _reporting(training["checkpoint"], team) as reporter:
        done = trial(
            labels, made, source, transform=transform, where=str(labels_file), settings=settings,
            errors=project.test_errors(data_spec), progress=reporter, **training,
        )  # fmt: skip
    if not team.first:
        return
    if out is not None:
        project_state.record(out.absolute().parent)  # scores belong to the previous model
        done.trained.save(out)
        project_state.record(out.absolute().parent, made=out / "model.json")
    facts = {"method": simkit.methods.spell(made), **_facts(done)}
    print_json(facts | {"labels": labels.id, "processes": team.processes})
    others = " and the others" if training["unasked"] == "absent" else ""
    images = f"{done.asked:,} asked images{others}"
    say(f"{short(made)} on {labels_file}: {images}, {settings.epochs} epochs")
    _print_left_out(done, others=bool(others))
    _print(done)
    if team.processes > 1:
        say(f"{team.processes} processes trained it together")
    if out is not None:
        say(f"wrote {out}/")


def _labels(file: Path, spec: str) -> simkit.PartialLabels:
    """Labels in one of the formats, or in a table with the columns file and class."""
    from simkit.data.folder import table_labels
    from simkit.labels.formats.csv import STATE
    from simkit.labels.tables import read_table

    form = simkit.formats.for_path(file)
    if form.name == "csv":  # only its column names distinguish it from a table of a folder
        with reading(file, "labels") as table:
            long = bool(read_table(table).named(STATE))
        if not long:
            return table_labels(file, spec)
    return form.read(file)


def _settings(
    preset: Protocol | None, sets: tuple[str, ...], often: dict[str, Any]
) -> simkit.Settings:
    """The settings of a protocol, or the usual ones, with those of --set and of other options."""
    expected = "a setting and its value, as in ema=0.999"
    chosen: dict[str, Any] = dict(options.pairs(sets, "--set", expected))
    if "milestones" in chosen:
        chosen["milestones"] = chosen["milestones"].split(",")
    for key, value in often.items():
        options.only_one({options.flag(key): value is not None, f"--set {key}": key in chosen})
    chosen |= {key: value for key, value in often.items() if value is not None}
    return preset.changed(chosen) if preset else build(simkit.Settings, chosen, "training")


def _network(preset: Protocol | None, backbone: str | None, weights: str | None) -> tuple[str, str]:
    """Backbone and weights; another one than the protocol's brings its own weights."""
    if preset is None or backbone is not None:
        return backbone or "scenes-net", weights or ""
    if weights is None and preset.weights != "random":
        raise BadInput(
            f"protocol {preset.name!r} starts from a {preset.backbone} trained on ImageNet; give "
            "--weights FILE, or imagenet to download torchvision's, or random"
        )
    return preset.backbone, weights or preset.weights


def _transform(
    preset: Protocol | None, size: int | None, crop: float | None
) -> simkit.ImageTransform:
    base = simkit.ImageTransform()
    if preset is not None:
        base = simkit.ImageTransform(preset.size, preset.flip, preset.upside_down, preset.crop)
    return replace(base, size=size or base.size, crop=(crop, 1.0) if crop else base.crop)


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
        """Show a finished step or epoch, or the epoch at which a checkpoint resumes."""
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
def _reporting(checkpoint: Path | None, team: Team) -> Iterator[TrainingBar]:
    """Progress, and the message of an interrupt."""
    with progress("training", quiet=not team.first) as (advance,):
        reporter = TrainingBar(advance, quiet=not team.first)
        try:
            yield reporter
        except KeyboardInterrupt:
            raise KeyboardInterrupt(reporter.interrupted(checkpoint)) from None


def _facts(done: Trial) -> dict[str, Any]:
    names = (
        "asked", "held_out", "unasked", "unlabelled", "map", "map_all", "chosen_by", "split",
        "images", "left_out",
    )  # fmt: skip
    facts = {name: getattr(done, name) for name in names}
    facts |= {name: done.trained.scored.get(name) for name in ("expected", "low", "high", "errors")}
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


def _print_decisions(done: Trial) -> None:
    """Print the thresholds of the tags, and their precision and recall on the scored images."""
    import numpy as np

    from simkit.learn.trained import tag_rule, too_frequent, untagged
    from simkit.study.evaluation import share

    precision = done.trained.tag_precision
    by_class = () if done.detailed is None else done.detailed.by_class
    rows = sorted((one for one in by_class if not isnan(one.threshold)), key=lambda o: -o.present)
    if rows:
        say(f"tags of {len(rows):,} of {len(by_class):,} classes: logits from "
            f"which a class is present, {tag_rule(precision)}, chosen from so many present labels; "
            "precision and recall in percent, with 95% intervals, on so many present labels of the "
            "scored images:")  # fmt: skip
        table(
            ["class", "threshold", "chosen from", "scored on", "precision", "recall"],
            [[one.name, f"{one.threshold:.2f}", one.from_present, one.present,
              *(share(vars(one), name) for name in ("precision", "recall"))]
             for one in rows[:SHOWN]],
        )  # fmt: skip
    if len(rows) > SHOWN:
        say(f"and {len(rows) - SHOWN:,} less frequent classes; all: --json")
    counts = np.array([(one.tagged, one.known, one.present, one.known) for one in rows]).T
    if rows and (often := too_frequent([one.name for one in rows], *counts)):
        say(often)
    if none := [one.name for one in by_class if isnan(one.threshold)]:
        say(untagged(none, precision, done.trained.thresholds_how))


def _print_left_out(done: Trial, *, others: bool) -> None:
    """Print how many images have no question, unless the others are trained on, or no label."""
    if done.unasked and not others:
        say(f"images left out of training because they have no question: {done.unasked:,}")
    if done.unlabelled:
        say(f"asked images without a known label: {done.unlabelled:,}")


def _print(done: Trial) -> None:
    from simkit.learn.trained import thresholds_from
    from simkit.results.test_split import expected_in_words, too_high

    if not done.split:
        say("not scored: there are no labelled test images (field `scored` of the data)")
        if done.trained.thresholds:
            how = done.trained.thresholds_from, done.trained.thresholds_how
            say(f"thresholds for decisions, not tested, are from {thresholds_from(*how)}")
        return
    scored = done.trained.scored
    say(expected_in_words(scored))
    few = too_high(done.map, scored.get("as_true", scored["expected"]))
    say(f"measured: mAP {_means(done)} ({done.split} split, {done.images:,} images){few}")
    if done.left_out:
        say(done.left_out)
    if done.chosen_by:
        say(
            f"complete labels of {done.chosen_by:,} further images (split val) chose epoch "
            f"{done.trained.epoch}; they cost money too"
        )
    if done.detailed:
        for line in done.detailed.lines():
            say(line)
        _print_decisions(done)
    if done.held_out:
        say(
            f"{done.held_out:,} further asked images are not trained on: they are held out for "
            "validation or testing"
        )
