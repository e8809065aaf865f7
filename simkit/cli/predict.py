"""Score images with a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import simkit
from simkit.cli import options, params
from simkit.cli.output import print_json, progress, say
from simkit.files import spare, whole


# fmt: off
@click.command(epilog="Example: simkit predict model --data folder:photos --out scores.csv")
@click.argument("model", type=params.FILE)
@click.option("--data", "spec", type=params.DATA, required=True,
              help="A data set with images, such as folder:DIR.")
@click.option("--split", help="Such as test. [default: all images]")
@params.backbone("Network for the features. [default: that of the training]")
@options.of("simkit.learn.predict.predict", "unreadable", "device")
@click.option("--out", type=params.Output(".csv", ".parquet"), default=Path("scores.csv"),
              show_default=True,
              help="The table, .csv or .parquet.")
@params.json
def command(
    *, model: Path, spec: str, split: str | None, backbone: str | None, weights: str | None,
    out: Path, **how: Any,
) -> None:
    """Score images with a model written by `simkit train --out`.

    The table has a row for each image and a column for each class. Scores are logits, the higher
    the likelier the class is present: 1 / (1 + exp(-score)) lies between 0 and 1.
    """
    from simkit.data.dataset import originals

    spare(out, *originals(spec))
    network = params.network(backbone, weights)
    if spec.lower().startswith("folder:") and "labels=" not in spec and split is None:
        spec += ",labels=none"  # scores need no labels
    with progress("predicting") as (advance,):
        scores = simkit.predict(
            model, spec, split=split, backbone=network, progress=advance, **how,
        )
    table = scores.reset_index()
    with whole(out) as part:
        write = table.to_csv if out.suffix.lower() == ".csv" else table.to_parquet
        write(part, index=False)
    N, L = scores.shape
    print_json({"file": str(out), "images": N, "classes": L})
    say(f"wrote {out} ({N:,} images, {L:,} classes)")
# fmt: on
