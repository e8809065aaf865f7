"""Extract image features with a frozen network."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit.cli import options, params
from simkit.cli.output import print_json, progress, say
from simkit.errors import BadInput
from simkit.progress import Progress, peak_memory

if TYPE_CHECKING:
    from simkit.embed.features import Features

_KINDS = {"pooled": ("pooled",), "maps": ("maps",), "both": ("pooled", "maps")}
_PARTS = 64  # tasks on a cluster, for any number of workers


# fmt: off
@click.command(epilog="\b\nExample: simkit features --data voc:VOC2012 --backbone resnet50 "
                      "--weights imagenet --out features")
@params.data("A data set with images.")
@params.splits
@params.backbone("Network for the features; timm:NAME is a network of timm.", "scenes-net")
@click.option("--size", type=int, help="Side of the images in pixels. [default: the network's]")
@click.option("--kind", type=click.Choice(list(_KINDS)), default="pooled", show_default=True,
              help="One vector for each image, maps of vectors, or both in one pass.")
@click.option("--out", type=params.FOLDER,
              help="Folder for SPLIT/KIND. [default: in the cache, where training finds them]")
@params.batch
@click.option("--unreadable", type=click.Choice(["stop", "skip"]), default="stop",
              show_default=True,
              help="What to do with an image that cannot be read, even if only its last byte is "
              "missing; training leaves out skipped images. drop_missing=yes in --data leaves out "
              "missing files.")
@options.of("simkit.learn.predict.predict", "device")
@click.option("--part", metavar="I/N",
              help="Compute only this share of the images, in whole batches, into the same folder: "
              "--part 3/16. The part that finishes last joins all. With fewer batches than parts, "
              "every part computes all.")
@params.scheduler
@params.json
def command(**given: Any) -> None:
    """Extract image features with a frozen network, into fp16 files.

    The same command resumes an interrupted run. Use the folder with simkit train --features OUT.
    For images without labels: --data folder:DIR,labels=none.

    \b
    One process for each of four GPUs:
      for i in 1 2 3 4; do simkit features ... --device cuda:$((i-1)) --part $i/4 & done; wait
    """
    if given["scheduler"]:
        if given["part"]:
            raise BadInput("--part is for processes without a scheduler; leave one of the two out")
        _on_cluster(given)
    made = _made(given)
    peak = peak_memory()
    print_json({"features": made, "peak_memory_mb": peak})
    for facts in made:
        _print(facts)
    if peak is not None:
        say(f"peak memory {peak:,.0f} MB")
# fmt: on


def _on_cluster(given: dict[str, Any]) -> None:
    """Compute the features on the workers of a cluster, which see the same files."""
    from simkit.embed.features import cache_folder
    from simkit.study.scheduler import cluster, outcomes
    from simkit.study.worker import sentence

    parts = [f"{number}/{_PARTS}" for number in range(1, _PARTS + 1)]
    place = {"cache": cache_folder().resolve(), "out": given["out"] and given["out"].resolve()}
    work = partial(_made, given | place)
    with cluster(given["scheduler"]) as executor, progress("parts") as (advance,):
        for done, (part, outcome) in enumerate(outcomes(work, parts, executor=executor), 1):
            if isinstance(outcome, Exception):
                raise BadInput(f"part {part}: {sentence(outcome)}; run the same command to resume")
            advance(done, _PARTS)


def _made(given: dict[str, Any], part: str | None = None) -> list[dict[str, Any]]:
    """Facts about the features of all splits, or of one part of them."""
    from simkit.study.sources import warn_of_scenes_net

    data = simkit.data.open(given["spec"])
    splits = _splits(given["splits"], data)
    net = simkit.backbone(given["backbone"], given["weights"], size=given["size"])
    warn_of_scenes_net(data, given["backbone"])
    made: list[dict[str, Any]] = []
    for split in splits:
        with progress(split, quiet=part is not None) as (advance,):
            made += _extract(data, split, net, given | {"part": part or given["part"]}, advance)
    return made


def _splits(wanted: tuple[str, ...], data: simkit.data.Dataset) -> list[str]:
    from simkit.data.dataset import WHOLE

    lacking = [split for split in wanted if split not in data.pictures]
    if lacking or not data.pictures:
        which = f" for split {lacking[0]!r}" if data.pictures else ""
        raise BadInput(
            f"data set {data.name!r} has no images{which}, only for: "
            f"{', '.join(data.pictures) or 'none'}; open it with its image folder (simkit list "
            "data shows how)"
        )
    # Where val was held out, train+val is there too; its parts hold the same pictures.
    return list(dict.fromkeys(wanted or (split for split in data.pictures if split != WHOLE)))


def _extract(
    data: simkit.data.Dataset, split: str, net: Any, given: dict[str, Any], advance: Progress
) -> list[dict[str, Any]]:
    """Facts about the features of a split, one for each kind."""
    from simkit.embed.features import extract
    from simkit.study.scheduler import Part

    place = {"out": given["out"] / split} if given["out"] else {"cache": given.get("cache")}
    kinds, part = _KINDS[given["kind"]], Part.read(given["part"] or "1/1")
    calls: list[tuple[int, float]] = []  # the first and the last one

    def count(done: int, of: int) -> None:
        advance(done, of)
        calls[1:] = [(done, time.perf_counter())]

    features = extract(
        data, split, net, kinds=kinds, batch=given["batch"], part=(part.number, part.of),  # type: ignore[arg-type]
        unreadable=given["unreadable"], device=given["device"], progress=count, **place,
    )  # fmt: skip
    (kept, start), (done, end) = (calls[0], calls[-1]) if calls else ((0, 0.0), (0, 0.0))
    counts = {"kept": kept, "computed": done - kept, "seconds": end - start}
    made = [_facts(split, each) for each in features.values()]
    left = [kind for kind in kinds if kind not in features]
    made += [{"split": split, "kind": kind, "part": str(part)} for kind in left]
    return [facts | counts for facts in made]


def _facts(split: str, features: Features) -> dict[str, Any]:
    return {
        "split": split,
        "kind": features.kind,
        "folder": str(features.values.file.parent),  # type: ignore[union-attr]
        "id": features.id,
        "shape": list(features.values.shape),
        "mb": features.values.nbytes / 2**20,
        "skipped": [asdict(each) for each in features.skipped],
    }


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
