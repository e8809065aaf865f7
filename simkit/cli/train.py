"""`simkit train`: one method on one set of partial labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simkit.cli.report import print_json, progress

if TYPE_CHECKING:
    from simkit.data import Dataset
    from simkit.labels.partial import PartialLabels


@click.command(epilog="Example: simkit train --method ll-r+boostlu --labels fpc.parquet")
@click.option("--method", required=True, help="For instance an, ll-r(delta=0.5) or ll-r+boostlu.")
@click.option("--labels", "labels_file", type=click.Path(path_type=Path), required=True,
              help="A label file of the training pictures, from `simkit simulate`.")
@click.option("--data", "spec", default="scenes", show_default=True,
              help="The data set that the labels are of.")
@click.option("--backbone", default="scenes-net", show_default=True, help="Gives the features.")
@click.option("--weights", type=click.Path(path_type=Path), help="Weights file of the backbone.")
@click.option("--fine-tune", is_flag=True, help="Train the backbone too, from pixels.")
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the asked pictures.")
@click.option("--batch-size", type=click.IntRange(min=1), help="Pictures in a step.")
@click.option("--lr", type=float, help="Learning rate.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same model.")
@click.option("--draw", type=int, default=0, show_default=True, help="Which repetition of the seed.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the trained model.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(**given: Any) -> None:
    """Train one method on partial labels and score it on the test split (mAP, masked)."""  # fmt: skip
    from simkit.data import open
    from simkit.labels import formats
    from simkit.learn import methods

    method = methods.make(given["method"])
    labels = formats.for_path(given["labels_file"]).read(given["labels_file"])
    data = open(given["spec"])
    labels.check_about(data.truth["train"], str(given["labels_file"]))
    settings = _settings(given)
    with progress("training") as advance:
        trained, score = fit(data, labels, method, settings, given, advance)
    if given["out"] is not None:
        trained.save(given["out"])
    if given["as_json"]:
        print_json({"method": methods.spell(method), **score, "history": trained.history.settings})
        return
    click.echo(f"{methods.spell(method)} on {given['labels_file']}, {int(labels.asked.sum()):,} pictures")
    click.echo(f"mAP {score['map']:.2f} over {score['leaves']} leaf classes, {score['map_all']:.2f} over all "
               f"{score['classes']} ({score['split']} split, {score['images']:,} pictures)")  # fmt: skip
    if given["out"] is not None:
        click.echo(f"wrote {given['out']}/")


def _settings(given: dict[str, Any]) -> Any:
    from simkit.learn.train import Settings
    from simkit.registry import build

    chosen = {k: given[k] for k in ("epochs", "batch_size", "lr") if given[k] is not None}
    return build(Settings, chosen, "training")
