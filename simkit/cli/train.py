"""`simkit train`: one method on one set of partial labels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simkit.cli import train_options as options
from simkit.cli.report import print_json, progress
from simkit.cli.training_progress import TrainingProgress

if TYPE_CHECKING:
    from simkit.learn.machines.team import Team
    from simkit.study.trial import Trial


_PASSED = ("seed", "draw", "device", "compile", "checkpoint")


@click.command(epilog="Example: simkit train --method ll-r+boostlu --labels fpc.parquet")
@click.option("--method", required=True, help="For instance an, ll-r(delta=0.5) or ll-r+boostlu.")
@click.option(
    "--labels",
    "labels_file",
    type=click.Path(path_type=Path),
    required=True,
    help="A label file of the training pictures, from `simkit simulate`.",
)
@click.option(
    "--data",
    "spec",
    default="scenes",
    show_default=True,
    help="The data set that the labels are of.",
)
@click.option("--backbone", help="Gives the features; by default scenes-net, or the protocol's.")
@click.option(
    "--weights",
    type=click.Path(path_type=Path),
    help="Weights file of the backbone; or imagenet, to download torchvision's; or random.",
)
@click.option(
    "--features",
    multiple=True,
    metavar="SPLIT=FILE",
    help="Instead of a backbone: an npz file with an array `features`, one row per picture, or a "
    "folder of features; or, without SPLIT=, the folder that simkit features --out wrote.",
)
@click.option("--fine-tune", is_flag=True, help="Train the backbone too, from pixels.")
@click.option(
    "--protocol", help="Fine-tune as a paper did: `simkit list protocols`; what you set wins."
)
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the asked pictures.")
@click.option("--batch-size", type=click.IntRange(min=1), help="Pictures in a batch.")
@click.option("--lr", type=float, help="Learning rate.")
@click.option(
    "--set",
    "more",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any other setting of the training, such as precision=bf16, accumulate=4, ema=0.999, "
    "schedule=cosine, or both schedule=step and milestones=5,8.",
)
@click.option("--size", type=click.IntRange(min=32), help="Fine-tuning: side of pictures, pixels.")
@click.option("--crop", type=float, help="Fine-tuning: show at least this share of the area.")
@click.option(
    "--device",
    default="auto",
    show_default=True,
    help="cpu, cuda, cuda:1; auto fine-tunes on a GPU where there is one.",
)
@click.option("--compile", is_flag=True, help="Let torch.compile work on the backbone.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    help="A file kept after every epoch; where it exists, training goes on from it.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same model.")
@click.option(
    "--draw", type=int, default=0, show_default=True, help="Which repetition of the seed."
)
@click.option(
    "--unasked",
    type=click.Choice(["skip", "absent"]),
    default="skip",
    show_default=True,
    help="Images nobody asked about: skip them, or train on them with unknown labels, which AN and "
    "others take for absent ones.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the trained model.")
@click.option(
    "--report",
    is_flag=True,
    help="Also F1 (thresholds from the val split), mAP by groups of classes and by labels per "
    "picture, top-1, and the pointing game where there are boxes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(**given: Any) -> None:
    """Train one method on partial labels and score it on the test split (mAP, masked).

    Masked: labels of the test split that are not known, difficult objects and pictures that could
    not be read are left out, class by class; a class without a positive there has no part in mAP.

    Several GPUs: torchrun --nproc-per-node 4 --no-python simkit train ... with a method that keeps
    no state for each image (simkit list methods says which do). After an error torchrun adds a
    report of its own to simkit's sentence.
    """
    from simkit.labels import formats
    from simkit.learn import methods
    from simkit.learn.machines.parallel import together
    from simkit.study.trial import trial

    method = methods.make(given["method"])
    options.check_places(given)
    preset = options.preset(given)
    settings = options.settings(given, preset)
    file = given["labels_file"]
    labels = formats.for_path(file).read(file)
    with together() as team, _reporting(given, team) as reporter:
        done = trial(
            labels,
            method,
            options.source(given, preset),
            transform=options.transform(given, preset) if given["fine_tune"] else None,
            unasked=given["unasked"],
            where=str(file),
            report=given["report"],
            settings=settings,
            progress=reporter,
            team=team,
            **{name: given[name] for name in _PASSED},
        )
    if not team.first:
        return
    if given["out"] is not None:
        done.trained.save(given["out"])
    spelled = methods.spell(method)
    if given["as_json"]:
        facts = {"method": spelled, **_facts(done), "labels": labels.id}
        print_json(facts | {"processes": team.processes})
        return
    others = " and the others" if given["unasked"] == "absent" else ""
    _say(done, f"{spelled} on {file}", f"{others}, {settings.epochs} epochs")
    if team.processes > 1:
        click.echo(f"{team.processes} processes trained it together")
    if given["out"] is not None:
        click.echo(f"wrote {given['out']}/")


@contextmanager
def _reporting(given: dict[str, Any], team: Team) -> Iterator[TrainingProgress]:
    """Progress, and what an interrupt says."""
    quiet = given["as_json"] or not team.first
    with progress("training", quiet=quiet) as (advance,):
        reporter = TrainingProgress(advance, bar=sys.stderr.isatty(), quiet=quiet)
        try:
            yield reporter
        except KeyboardInterrupt:
            raise KeyboardInterrupt(reporter.interrupted(given["checkpoint"])) from None


def _facts(done: Trial) -> dict[str, Any]:
    return {
        "asked": done.asked,
        "held_out": done.held_out,
        "id": done.trained.id,
        "map": done.map,
        "map_all": done.map_all,
        "epoch": done.trained.epoch,
        "chosen_by": done.chosen_by,
        "split": done.split,
        "images": done.images,
        **done.scored,
        **({"report": done.detailed.facts()} if done.detailed else {}),
    }


def _means(done: Trial) -> str:
    """mAP over leaf classes and over all, or once where no class lies above another."""

    def over(mean: float, kind: str, called: str) -> str:
        known, of = done.scored[f"{kind}_scored"], done.scored[kind]
        few = "" if known == of else f"{known:,} of "
        return f"{100 * mean:.2f} over {few}{of:,} {called}"

    if done.scored["leaves"] == done.scored["classes"]:
        told = over(done.map, "leaves", "classes")
    else:
        told = f"{over(done.map, 'leaves', 'leaf classes')}, " + over(
            done.map_all, "classes", "classes in all"
        )
    lacking = done.scored["classes"] - done.scored["classes_scored"]
    have = "has" if lacking == 1 else "have"
    return told + (f"; {lacking:,} {have} no positive in {done.split}" if lacking else "")


def _say(done: Trial, what: str, more: str) -> None:
    click.echo(f"{what}: {done.asked:,} asked pictures{more}")
    click.echo(f"mAP {_means(done)} ({done.split} split, {done.images:,} pictures)")
    if done.chosen_by:
        click.echo(
            f"complete labels of {done.chosen_by:,} further pictures (split val) chose epoch "
            f"{done.trained.epoch}; they cost money too"
        )
    for line in done.detailed.lines() if done.detailed else ():
        click.echo(line)
    if done.held_out:
        click.echo(
            f"{done.held_out:,} further asked pictures are held out for validation (split val)"
        )
