"""Score images with a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import simkit
from simkit.cli import options
from simkit.cli.output import print_json, progress, say
from simkit.files import spare, whole


@click.command(epilog="Example: simkit predict model --data folder:photos --out scores.csv")
@click.argument("model", type=options.FILE)
@options.signature
@options.shared("weights")
@options.of("simkit.learn.predict.predict", "unreadable", "device")
@options.json
def command(
    model: Path,
    *,
    data_spec: str,
    split: str | None = None,
    out: Path = Path("scores.csv"),
    backbone: str | None = None,
    weights: str | None,
    **how: Any,
) -> None:
    """Score images with a model written by `simkit train --out`.

    The table has a row for each image and a column for each class. Scores are logits, the higher
    the likelier the class is present: 1 / (1 + exp(-score)) lies between 0 and 1.

    Parameters
    ----------
    data_spec : DATA
        A data set with images, such as folder:DIR.
    split
        Such as test. [default: all images]
    out : TABLE
        The table, .csv or .parquet.
    backbone
        Network for the features. [default: that of the training]
    """
    from simkit.data.dataset import originals
    from simkit.orders import project_state

    spare(out, *originals(data_spec))
    network = options.network(backbone, weights)
    unsaid = data_spec.lower().startswith("folder:") and "labels=" not in data_spec
    if unsaid and split is None:
        data_spec += ",labels=none"  # scores need no labels
    with progress("predicting") as (advance,):
        scores = simkit.predict(
            model, data_spec, split=split, backbone=network, progress=advance, **how
        )
    table = scores.reset_index()
    with whole(out) as part:
        write = table.to_csv if out.suffix.lower() == ".csv" else table.to_parquet
        write(part, index=False)
    project_state.record(out.absolute().parent, made=out)
    N, L = scores.shape
    print_json({"file": str(out), "images": N, "classes": L})
    say(f"wrote {out} ({N:,} images, {L:,} classes)")
