"""`simkit train`: one method on one set of partial labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from simkit.cli.report import print_json, progress
from simkit.errors import BadInput


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
@click.option("--backbone", default="scenes-net", show_default=True, help="Gives the features.")
@click.option("--weights", type=click.Path(path_type=Path), help="Weights file of the backbone.")
@click.option(
    "--features",
    multiple=True,
    metavar="SPLIT=FILE",
    help="An npz file with an array `features`, one row per picture, instead of a backbone.",
)
@click.option("--fine-tune", is_flag=True, help="Train the backbone too, from pixels.")
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the asked pictures.")
@click.option("--batch-size", type=click.IntRange(min=1), help="Pictures in a step.")
@click.option("--lr", type=float, help="Learning rate.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same model.")
@click.option(
    "--draw", type=int, default=0, show_default=True, help="Which repetition of the seed."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the trained model.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(**given: Any) -> None:
    """Train one method on partial labels and score it on the test split (mAP, masked)."""
    from simkit.labels import formats
    from simkit.learn import methods
    from simkit.learn.optim import Settings
    from simkit.registry import build
    from simkit.study.trial import trial

    method = methods.make(given["method"])
    if given["out"] is not None and given["out"].exists() and not given["out"].is_dir():
        raise BadInput(f"{given['out']} is a file, but a model is a folder; give another --out")
    chosen = {k: given[k] for k in ("epochs", "batch_size", "lr") if given[k] is not None}
    settings = build(Settings, chosen, "training")
    file = given["labels_file"]
    labels = formats.for_path(file).read(file)
    with progress("training", quiet=given["as_json"]) as (advance,):
        done = trial(
            labels,
            method,
            data=given["spec"],
            backbone=given["backbone"],
            weights=str(given["weights"] or ""),
            features=_pairs(given["features"]),
            fine_tune=given["fine_tune"],
            settings=settings,
            seed=given["seed"],
            draw=given["draw"],
            progress=advance,
            where=str(file),
        )
    if given["out"] is not None:
        done.trained.save(given["out"])
    if given["as_json"]:
        facts = {
            "asked": done.asked,
            "held_out": done.held_out,
            "id": done.trained.id,
            "map": done.map,
            "map_all": done.map_all,
        }
        where = {"split": done.split, "images": done.images, "labels": labels.id}
        print_json({"method": methods.spell(method), **facts, **where})
        return
    click.echo(f"{methods.spell(method)} on {file}: {done.asked:,} asked pictures, "
               f"{settings.epochs} epochs")  # fmt: skip
    click.echo(f"mAP {100 * done.map:.2f} over the leaf classes, {100 * done.map_all:.2f} over all "
               f"classes ({done.split} split, {done.images:,} pictures)")  # fmt: skip
    if done.held_out:
        click.echo(
            f"{done.held_out:,} further asked pictures are held out for validation (split val)"
        )
    if given["out"] is not None:
        click.echo(f"wrote {given['out']}/")


def _pairs(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    for text in texts:
        if "=" not in text:
            raise BadInput(
                f"--features is {text!r}; write a split and a file, as in train=FILE.npz"
            )
    return tuple((split, file) for split, _, file in (text.partition("=") for text in texts))
