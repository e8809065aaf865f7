"""Score images with an image-text model, without labels."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

import simkit
from simkit.cli import options
from simkit.cli.output import print_json, progress, say, table
from simkit.errors import BadInput
from simkit.registry import Range

if TYPE_CHECKING:
    from simkit.embed.image_text import ImageTower
    from simkit.study.scheduler import Part

SIMULATED = "simulated"


@click.command(
    epilog="\b\nExample: simkit score --data folder:photos,labels=none --classes names.txt "
    "--model open_clip:ViT-B-16 --weights openai\n"
    "Then:    simkit order --data folder:photos,labels=none --classes names.txt "
    "--scheme machine --scores scores.npz"
)
@options.signature
@options.shared("classes_file", "split", "batch", "part", "scheduler")
@options.of("simkit.learn.predict.predict", "device")
@options.json
def command(
    *,
    data_spec: str = "scenes",
    model: str,
    weights: str | None = None,
    classes_file: Path | None,
    prompts: Path | None = None,
    tiles: Annotated[int, Range(0, 10)] = 0,
    quality: float | None = None,
    split: tuple[str, ...],
    out: Path = Path("scores.npz"),
    seed: int = 0,
    part: str | None,
    scheduler: str,
    **how: Any,
) -> None:
    """Score images with an image-text model: cosine similarities of images and class texts.

    The same command resumes an interrupted run: embeddings of images are kept in the cache folder.
    The scores need no labels. They are the zero-shot baseline of a comparison, the teacher of vlpl
    and aevlp, and an input of machine, proposals(by=scores) and picked(by=uncertainty).

    Parameters
    ----------
    data_spec : DATA
        A data set with images.
    model : MODEL
        open_clip:NAME, a model of open_clip (pip install open_clip_torch), or `simulated`: scores
        simulated from the labels, with a given --quality.
    weights : FILE|TAG
        Weights of the model: a file, `random`, or a tag that open_clip downloads, such as openai.
    prompts
        TOML with `templates` and a table [names] of texts for classes. [default: a photo of a
        CLASS.]
    tiles
        Also score N x N tiles of each image, for aevlp.
    quality : MAP
        With --model simulated: the mAP of the scores, such as 50.
    out : NPZ
        Output file: cosine similarities of all images, views and classes.
    seed
        Seed of simulated scores.
    """
    from simkit.annotate.similarities import write_similarities
    from simkit.data.dataset import WHOLE
    from simkit.data.folder import classes_of
    from simkit.embed.image_text import image_text, prompts_of, similarities

    shares = {"--scheduler": scheduler, "--part": part}
    options.only_one(shares)
    options.needs(shares, "a model of open_clip", model != SIMULATED)
    options.needs({"--quality": quality}, "--model simulated", model == SIMULATED)
    data = simkit.data.open(data_spec)
    splits = split or tuple(each for each in data.truth if each != WHOLE)
    for each in splits:
        options.split_of(data, each)
    if model == SIMULATED:
        parts = _simulated(data, splits, quality, classes_file=classes_file, seed=seed)
    elif weights is None:
        raise BadInput("--weights is missing; give a file, or a tag to download, such as openai")
    else:
        classes = classes_of(classes_file, data)
        texts = prompts_of(classes, prompts)
        shared: Any = {"data_spec": data_spec, "model": model, "weights": weights, "tiles": tiles}
        views = max(1, tiles**2) * max(len(data.truth[each].images) for each in splits)
        if not _embedded(part, scheduler, views, splits=splits, **shared, **how):
            print_json({"part": part, "model": model})
            say(f"part {part} is complete; the part that finishes last writes {out}")
            return
        network, parts = image_text(model, weights), {}
        for each in splits:
            with progress(each) as (advance,):
                parts[each] = similarities(
                    data, each, network, texts, classes=classes, tiles=tiles, progress=advance,
                    **how,
                )  # fmt: skip
    write_similarities(parts, out)
    maps = {split: _map(data, split, part) for split, part in parts.items()}
    print_json({"file": str(out), "model": model, "map": maps})
    rows = [
        [split, *part.views.shape[:2], "no labels" if score is None else f"{100 * score:.1f}"]
        for (split, part), score in zip(parts.items(), maps.values(), strict=True)
    ]  # fmt: skip
    table(["split", "images", "views", "mAP without training"], rows)
    say(f"wrote {out} ({next(iter(parts.values())).views.shape[2]:,} classes, {model})")


def _embedded(part: str | None, scheduler: str, images: int, **work: Any) -> bool:
    """Compute the embeddings of images in one of several parts, or all on the workers of a cluster;
    returns whether all parts are finished."""
    from simkit.cache import cache_folder
    from simkit.study.scheduler import Part, in_parts

    if scheduler:
        with progress("parts") as (advance,):
            of_part = partial(_embed, cache=cache_folder().resolve(), quiet=True, **work)
            in_parts(of_part, scheduler, images, advance)
    return part is None or _embed(Part.read(part), **work)


def _embed(
    part: Part,
    *,
    data_spec: str,
    model: str,
    weights: str,
    splits: tuple[str, ...],
    quiet: bool = False,
    **how: Any,
) -> bool:
    """Compute a part of the embeddings; returns whether all are finished, and False if quiet."""
    from simkit.embed.image_text import embeddings

    data, tower = simkit.data.open(data_spec), _tower(model, weights)
    share: Any = partial(embeddings, data, tower=tower, part=(part.number, part.of), **how)
    for split in splits:
        with progress(split, quiet=quiet) as (advance,):
            share(split, progress=advance)
    # Once more, as another part may have finished the first splits meanwhile.
    return not quiet and all(share(split) is not None for split in splits)


@lru_cache(maxsize=1)  # a worker does several parts
def _tower(model: str, weights: str) -> ImageTower:
    from simkit.embed.image_text import image_text

    return image_text(model, weights).tower


def _simulated(
    data: simkit.data.Dataset,
    splits: tuple[str, ...],
    quality: float | None,
    *,
    classes_file: Path | None,
    seed: int,
) -> dict[str, simkit.Similarities]:
    """Simulated scores of each split."""
    from simkit.data.folder import classes_of

    if quality is None:
        raise BadInput("--model simulated needs the mAP of its scores; add --quality 90")
    if not all(data.truth[each].present.nnz for each in splits):
        raise BadInput("--model simulated makes scores from labels; give labelled --data")
    if classes_of(classes_file, data) != data.classes:
        raise BadInput(
            "--model simulated makes scores of the classes of the data; leave --classes out"
        )
    simulated: Any = partial(simkit.Similarities.simulated, leaves=data.leaves, seed=seed)
    return {each: simulated(data.truth[each], quality) for each in splits}


def _map(data: simkit.data.Dataset, split: str, part: simkit.Similarities) -> float | None:
    """mAP of the logits of whole images; None if no class has both present and absent labels."""
    from simkit.metrics.ap import LabelCounts, ap_of_classes, mean_ap

    truth = data.truth[split]
    if part.classes != data.classes or not LabelCounts.of(truth, classes=data.leaves).scored.any():
        return None
    return mean_ap(ap_of_classes(part.logits(truth.images, truth.classes), truth)[data.leaves])
