"""Show the images nearest to one image, with their labels."""

from __future__ import annotations

from typing import Any

import click

import simkit
from simkit.cli import options, params
from simkit.cli.output import print_json, progress, say, table, write_figure
from simkit.files import spare

_NAMES = 4  # of absent classes that the table writes out


# fmt: off
@click.command(epilog="\b\nExample: simkit neighbours --query 50 --figure near.png")
@params.data("A data set.")
@click.option("--split", default="train", show_default=True, help="The split that is searched.")
@click.option("--query", required=True, metavar="ID",
              help="The id of an image of the split; or, where ids are names, the number of its "
              "row from 0.")
@options.of("simkit.papers.analysis.embedding.neighbours", k=params.POSITIVE)
@params.backbone("Network for the features; timm:NAME is a network of timm.", "scenes-net")
@click.option("--features", type=params.FILE,
              help="A folder from simkit features, or an npz file, instead of a backbone.")
@click.option("--labels", "labels_file", type=params.FILE,
              help="A label file: show what it knows. [default: the truth]")
@click.option("--figure", type=params.PICTURE, help="Draw the images: .png, .pdf or .svg.")
@params.json
def command(**given: Any) -> None:
    """Show the images nearest to one image, and their labels.

    Distances are Euclidean, between pooled features of unit length.
    """
    figure, split, file = given["figure"], given["split"], given["labels_file"]
    if figure is not None:
        spare(figure, file or "", given["features"] or "")
    labels = None if file is None else simkit.formats.for_path(file).read(file)
    data = simkit.data.open(given["spec"])
    precomputed = ((split, str(given["features"])),) if given["features"] else ()
    network = given["backbone"], given["weights"] or ""
    source = simkit.Source(given["spec"], (split,), ("pooled",), *network, precomputed)
    with progress("features") as (advance,):
        material = simkit.open_source(source, data=data, progress=advance)
    near = simkit.analysis.neighbours(
        material.truth(split),
        material.inputs(split, "pooled"),
        given["query"],
        k=given["k"],
        labels=labels,
        without=material.skipped(split),
    )
    rows = near.to_dict("records")
    print_json({"split": split, "query": given["query"], "neighbours": rows})
    _print(rows)
    if figure is not None:
        pictures = None
        if split in data.pictures:
            pictures = tuple(data.pictures[split].read(near["row"].to_numpy()))
        write_figure(simkit.figures.make("neighbours", pictures=pictures)(near), figure)
        say(f"wrote {figure}")
# fmt: on


def _print(rows: list[dict[Any, Any]]) -> None:
    near = [
        [str(row["rank"]), row["image"], f"{row['distance']:.4f}", f"{row['cosine']:.4f}"]
        if row["rank"] else ["query", row["image"], "", ""]
        for row in rows
    ]  # fmt: skip
    table(
        ["", "image", "distance", "1 - cosine", "labels"],
        [[*cells, _labels(row)] for cells, row in zip(near, rows, strict=True)],
        words=(0, 1, 4),
    )


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
