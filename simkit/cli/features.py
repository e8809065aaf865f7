"""Extract image features with a frozen network."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

import simkit
from simkit.cli import options
from simkit.cli.output import print_json, progress, say
from simkit.progress import Progress, peak_memory
from simkit.quantities import numbered

if TYPE_CHECKING:
    from simkit.study.scheduler import Part


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command; `cache` is the folder of the features on a cluster's workers.

    Attributes
    ----------
    data_spec : DATA
        A data set with images.
    backbone
        Network for the features; timm:NAME is a network of timm.
    size
        Side of the images in pixels. [default: the network's]
    kind
        One vector for each image, maps of vectors, or both in one pass.
    out : FOLDER
        Folder for SPLIT/KIND. [default: in the cache, where training finds them]
    unreadable
        What to do with an image that cannot be read, even if only its last byte is missing;
        training leaves out skipped images. drop_missing=yes in --data leaves out missing files.
    prune : DAYS
        Compute nothing; remove the cached features and decoded images that were not used for DAYS
        days. 0 removes all.
    """

    data_spec: str = "scenes"
    split: tuple[str, ...]
    backbone: str = "scenes-net"
    weights: str | None
    size: int | None = None
    kind: Literal["pooled", "maps", "both"] = "pooled"
    out: Path | None = None
    batch: int
    unreadable: Literal["stop", "skip"] = "stop"
    device: str
    part: str | None
    prune: float | None = None
    scheduler: str
    cache: Path | None = None


@click.command(
    epilog="\b\nExample: simkit features --data voc:VOC2012 --backbone resnet50 "
    "--weights imagenet --out features"
)
@options.fields_of(Options)
@options.shared("split", "weights", "batch", "part", "scheduler")
@options.of("simkit.learn.predict.predict", "device")
@options.json
def command(request: Options) -> None:
    """Extract image features with a frozen network, into fp16 files.

    The same command resumes an interrupted run. Use the folder with simkit train --features OUT.
    For images without labels: --data folder:DIR,labels=none.

    \b
    One process for each of four GPUs:
      for i in 1 2 3 4; do simkit features ... --device cuda:$((i-1)) --part $i/4 & done; wait
    """
    options.only_one({"--scheduler": request.scheduler, "--part": request.part})
    if request.prune is not None:
        _prune(request.prune)
        return
    if request.scheduler:
        _on_cluster(request)
    part = None
    if request.part:
        from simkit.study.scheduler import Part

        part = Part.read(request.part)
    made = _made(part, request)
    peak = peak_memory()
    print_json({"features": made, "peak_memory_mb": peak})
    for facts in made:
        _print(facts)
    if peak is not None:
        say(f"peak memory {peak:,.0f} MB")


def _prune(days: float) -> None:
    from simkit.cache import prune

    pruned = prune(days)
    print_json(asdict(pruned) | {"folder": str(pruned.folder)})
    left = f"left: {numbered(pruned.left, 'folder')}, {pruned.left_bytes / 2**20:,.1f} MB"
    if pruned.running:
        left += f", of these {numbered(pruned.running, 'folder')} of passes that may be under way"
    say(
        f"removed {numbered(pruned.removed, 'folder')}, {pruned.removed_bytes / 2**20:,.1f} MB, of "
        f"features and decoded images from {pruned.folder}; {left}"
    )


def _on_cluster(request: Options) -> None:
    """Compute the features on the workers of a cluster, which see the same files."""
    from simkit.cache import cache_folder
    from simkit.study.scheduler import in_parts

    out = request.out and request.out.resolve()
    placed = replace(request, cache=cache_folder().resolve(), out=out)
    of_part = partial(_made, request=placed, quiet=True)
    images = max(len(each.images) for each in simkit.data.open(request.data_spec).truth.values())
    with progress("parts") as (advance,):
        in_parts(of_part, request.scheduler, images, advance)


def _made(part: Part | None, request: Options, *, quiet: bool = False) -> list[dict[str, Any]]:
    """Facts about the features of all splits, or of one part of them."""
    from simkit.data.dataset import WHOLE
    from simkit.study.sources import warn_of_scenes_net

    data = simkit.data.open(request.data_spec)
    # Where val was held out, train+val is there too; its parts hold the same pictures.
    every = [split for split in data.pictures if split != WHOLE] or [data.to_label]
    splits = dict.fromkeys(request.split or every)
    for split in splits:
        data.pictures_of(options.split_of(data, split))
    net = simkit.backbone(request.backbone, request.weights, size=request.size)
    warn_of_scenes_net(data, request.backbone)
    made: list[dict[str, Any]] = []
    for split in splits:
        with progress(split, quiet=quiet) as (advance,):
            made += _extract(data, split, net, request, part=part, advance=advance)
    return made


def _extract(
    data: simkit.data.Dataset,
    split: str,
    net: Any,
    request: Options,
    *,
    part: Part | None,
    advance: Progress,
) -> list[dict[str, Any]]:
    """Facts about the features of a split, one for each kind."""
    from simkit.embed.features import extract

    place: Any = {"out": request.out / split} if request.out else {"cache": request.cache}
    kinds: Any = ("pooled", "maps") if request.kind == "both" else (request.kind,)
    calls: list[tuple[int, float]] = []  # the first and the last one

    def count(done: int, of: int) -> None:
        advance(done, of)
        calls[1:] = [(done, time.perf_counter())]

    features = extract(
        data, split, net, kinds=kinds, batch=request.batch, unreadable=request.unreadable,
        part=(part.number, part.of) if part else (1, 1), device=request.device, progress=count,
        **place,
    )  # fmt: skip
    (kept, start), (done, end) = (calls[0], calls[-1]) if calls else ((0, 0.0), (0, 0.0))
    facts = {"split": split, "kept": kept, "computed": done - kept, "seconds": end - start}
    made = []
    for kind in kinds:
        more: dict[str, Any] = {"part": str(part or "1/1")}
        if kind in features:
            of_kind, values = features[kind], features[kind].values
            folders = {file.parent for file in values.files}  # type: ignore[union-attr]
            # The cache has a folder for each pass of a network.
            folder = folders.pop() if len(folders) == 1 else folders.pop().parent
            more = {"folder": str(folder), "id": of_kind.id, "shape": list(values.shape)}
            more |= {"mb": values.nbytes / 2**20, "skipped": [*map(asdict, of_kind.skipped)]}
        made.append(facts | {"kind": kind} | more)
    return made


def _print(facts: dict[str, Any]) -> None:
    """The features of one split, and every image that was skipped."""
    pace = ", already there"
    if facts["computed"]:
        rate = facts["computed"] / facts["seconds"]
        kept = f"{facts['kept']:,} kept, " if facts["kept"] else ""
        pace = f", {kept}{facts['computed']:,} computed at {rate:,.1f} a second"
    if "part" in facts:
        say(
            f"{facts['split']}: part {facts['part']} is complete{pace}; the part that finishes "
            f"last joins the {facts['kind']} features"
        )
        return
    N, *row = facts["shape"]
    say(
        f"{facts['split']}: {N:,} images{pace}; {facts['kind']} features "
        f"({' x '.join(map(str, row))}, {facts['mb']:,.1f} MB) in {facts['folder']}/"
    )
    if facts["skipped"]:
        say(
            f"{len(facts['skipped']):,} of them could not be read and are skipped; remove the "
            "folder to try them again:"
        )
    for each in facts["skipped"]:
        say(f"  row {each['row']}, image {each['image']}: {each['reason']}")
