"""Show the images nearest to one image, with their labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import simkit
from simkit.cli import options
from simkit.cli.output import print_json, progress, say, table, write_figure
from simkit.files import spare

_NAMES = 4  # of absent classes that the table writes out


@click.command(epilog="\b\nExample: simkit neighbours --query 50 --figure near.png")
@options.signature
@options.of("simkit.papers.analysis.embedding.neighbours", k=options.POSITIVE)
@options.shared("weights")
@options.json
def command(
    *,
    query: str,
    data_spec: str = "scenes",
    split: str = "train",
    backbone: str = "scenes-net",
    weights: str | None,
    features: Path | None = None,
    labels_file: Path | None = None,
    figure: Path | None = None,
    k: int,
) -> None:
    """Show the images nearest to one image, and their labels.

    Distances are Euclidean, between pooled features of unit length.

    Parameters
    ----------
    data_spec : DATA
        A data set.
    split
        The split that is searched.
    query : ID
        The id of an image of the split; or, where ids are names, the number of its row from 0.
    backbone
        Network for the features; timm:NAME is a network of timm.
    features
        A folder from simkit features, or an npz file, instead of a backbone.
    labels_file
        A label file: show what it knows. [default: the truth]
    figure : PICTURE
        Draw the images: .png, .pdf or .svg.
    """
    if figure is not None:
        spare(figure, labels_file or "", features or "")
    file = labels_file
    labels = None if file is None else simkit.formats.for_path(file).read(file)
    data = simkit.data.open(data_spec)
    precomputed = ((split, str(features)),) if features else ()
    source = simkit.Source(data_spec, (split,), ("pooled",), backbone, weights or "", precomputed)
    with progress("features") as (advance,):
        opened = simkit.open_source(source, data=data, progress=advance)
    near = simkit.analysis.neighbours(
        opened.truth(split), opened.inputs(split, "pooled"), query, k=k, labels=labels,
        without=opened.skipped(split),
    )  # fmt: skip
    rows = near.to_dict("records")
    print_json({"split": split, "query": query, "neighbours": rows})
    cells = []
    for row in rows:
        away = [f"{row[name]:.4f}" if row["rank"] else "" for name in ("distance", "cosine")]
        cells.append([str(row["rank"] or "query"), row["image"], *away, _labels(row)])
    table(["", "image", "distance", "1 - cosine", "labels"], cells, words=(0, 1, 4))
    if figure is not None:
        pictures = None
        if split in data.pictures:
            pictures = tuple(data.pictures[split].read(near["row"].to_numpy()))
        write_figure(simkit.figures.make("neighbours", pictures=pictures)(near), figure)
        say(f"wrote {figure}")


def _labels(row: dict[str, Any]) -> str:
    """+ before classes known to be present, - before those known to be absent."""
    if row["unknown"] and not (row["present"] or row["absent"] or row["hidden"]):
        return "no label is known"
    parts = ["+ " + ", ".join(row["present"])] if row["present"] else []
    if row["absent"] and row["unknown"]:
        names, hidden = row["absent"][:_NAMES], len(row["absent"]) - _NAMES
        parts.append("- " + ", ".join([*names, f"{hidden:,} more"] if hidden > 0 else names))
    if row["unknown"]:
        truth = f" (in truth {', '.join(row['hidden'])})" if row["hidden"] else ""
        parts.append(f"? {row['unknown']:,}{truth}")
    return "; ".join(parts) or "no class is present"
