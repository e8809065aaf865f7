"""Score images with an image-text model, without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import simkit
from simkit.cli import options, params
from simkit.cli.output import print_json, progress, say, table
from simkit.errors import BadInput

SIMULATED = "simulated"


# fmt: off
@click.command(
    epilog="\b\nExample: simkit score --data folder:photos,labels=none --classes names.txt "
    "--model open_clip:ViT-B-16 --weights openai\n"
    "Then:    simkit order --data folder:photos,labels=none --classes names.txt "
    "--scheme machine --scores scores.npz"
)
@params.data("A data set with images.")
@click.option("--model", required=True, metavar="MODEL",
              help="open_clip:NAME, a model of open_clip (pip install open_clip_torch), or "
              "`simulated`: scores simulated from the labels, with a given --quality.")
@click.option("--weights", metavar="FILE|TAG|random",
              help="Weights of the model: a file, or a tag that open_clip downloads, such as "
              "openai.")
@params.classes
@click.option("--prompts", type=params.FILE,
              help="TOML with `templates` and a table [names] of texts for classes. [default: a "
              "photo of a CLASS.]")
@click.option("--tiles", type=click.IntRange(0, 10), default=0, show_default=True,
              help="Also score N x N tiles of each image, for aevlp.")
@click.option("--quality", type=params.SCORE, metavar="MAP",
              help="With --model simulated: the mAP of the scores, such as 50.")
@params.splits
@click.option("--out", type=params.Output(".npz"), default=Path("scores.npz"), show_default=True,
              help="Output file: cosine similarities of all images, views and classes.")
@params.batch
@options.of("simkit.learn.predict.predict", "device")
@params.seed("Seed of simulated scores.")
@params.json
def command(splits: tuple[str, ...], out: Path, **given: Any) -> None:
    """Score images with an image-text model: cosine similarities of images and class texts.

    The scores need no labels. They are the zero-shot baseline of a comparison, the teacher of vlpl
    and aevlp, and an input of machine, proposals(by=scores) and picked(by=uncertainty).
    """
    from simkit.annotate.similarities import write_similarities
    from simkit.data.dataset import WHOLE
    from simkit.data.folder import classes_of

    data = simkit.data.open(given["spec"])
    chosen = splits or [split for split in data.truth if split != WHOLE]
    for split in chosen:
        params.split_of(data, split)
    classes = classes_of(given["names_file"], data)
    parts = _scored(data, chosen, classes, given)
    write_similarities(parts, out)
    maps = {split: _map(data, split, part) for split, part in parts.items()}
    print_json({"file": str(out), "model": given["model"], "map": maps})
    rows = [
        [split, f"{len(part.views):,}", str(part.views.shape[1]),
         "no labels" if score is None else f"{100 * score:.1f}"]
        for (split, part), score in zip(parts.items(), maps.values(), strict=True)
    ]  # fmt: skip
    table(["split", "images", "views", "mAP without training"], rows)
    say(f"wrote {out} ({len(classes):,} classes, {given['model']})")
# fmt: on


def _scored(
    data: simkit.data.Dataset, splits: Any, classes: tuple[str, ...], given: dict[str, Any]
) -> dict[str, simkit.Similarities]:
    if given["model"] == SIMULATED:
        if given["quality"] is None:
            raise BadInput("--model simulated needs --quality, the mAP of its scores, such as 50")
        if classes != data.classes or not all(data.truth[split].present.nnz for split in splits):
            raise BadInput("--model simulated needs the labels of all splits, and makes scores of "
                           "their classes; leave --classes out, or name labelled data")  # fmt: skip
        how = {"leaves": data.leaves, "seed": given["seed"]}
        return {
            split: simkit.Similarities.simulated(data.truth[split], given["quality"], **how)
            for split in splits
        }
    from simkit.embed.image_text import image_text, prompts_of, similarities

    if given["quality"] is not None:
        raise BadInput("--quality is for --model simulated; leave it out")
    if given["weights"] is None:
        raise BadInput("--weights is missing; give a file, or a tag to download, such as openai")
    model = image_text(given["model"], given["weights"])
    prompts = prompts_of(classes, given["prompts"])
    parts = {}
    for split in splits:
        with progress(split) as (advance,):
            parts[split] = similarities(
                data, split, model, prompts, classes=classes, tiles=given["tiles"],
                batch=given["batch"], device=given["device"], progress=advance,
            )  # fmt: skip
    return parts


def _map(data: simkit.data.Dataset, split: str, part: simkit.Similarities) -> float | None:
    """mAP of the whole images' logits; None without labels."""
    from simkit.metrics.ap import average_precision, mean_ap

    truth = data.truth[split]
    if part.classes != data.classes or not truth.present.nnz:
        return None
    scores = part.logits(truth.images, truth.classes)
    return mean_ap(average_precision(scores, truth.present, truth.known)[data.leaves])
