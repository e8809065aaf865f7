"""`simkit features`: what a frozen network sees in pictures, computed once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simkit.cli.report import print_json, progress
from simkit.errors import BadInput

if TYPE_CHECKING:
    from simkit.data import Dataset
    from simkit.embed.features.feature_folder import Kind
    from simkit.embed.features.features import Features

_KINDS = {"pooled": ("pooled",), "maps": ("maps",), "both": ("pooled", "maps")}


@click.command(epilog="\b\nExample: simkit features --data voc:VOC2012 --backbone resnet50 "
                      "--weights imagenet --out features")  # fmt: skip
@click.option(
    "--data", "spec", default="scenes", show_default=True, help="A data set with pictures."
)
@click.option(
    "--split", "splits", multiple=True, help="Such as train; may be repeated. [default: all]"
)
@click.option("--backbone", default="scenes-net", show_default=True, help="Gives the features.")
@click.option(
    "--weights", metavar="FILE", help="A weights file, `imagenet` to download, or `random`."
)
@click.option("--size", type=int, help="Side of the pictures in pixels. [default: the network's]")
@click.option(
    "--kind",
    type=click.Choice(list(_KINDS)),
    default="pooled",
    show_default=True,
    help="One vector for each picture, maps of vectors, or both in one pass.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for SPLIT/KIND. [default: in the cache, where training finds them]",
)
@click.option(
    "--batch", type=click.IntRange(min=1), default=32, show_default=True, help="Pictures at a time."
)
@click.option(
    "--unreadable",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="What to do at a picture that cannot be read, also where only its last byte is missing; "
    "skipped ones take no part in training. Files that are not there at all are left out by "
    "drop_missing=yes in --data.",
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:1.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(**given: Any) -> None:
    """Extract features of pictures under a frozen network, into fp16 files.

    The same command again goes on where it was stopped; what is there is not computed again. Use a
    folder with simkit train --features OUT. Pictures without labels: --data folder:DIR,labels=none.
    """
    from simkit.data import open as open_data
    from simkit.embed.backbones import backbone
    from simkit.embed.features.peak import peak_memory
    from simkit.study.sources import warn_of_scenes_net

    data = open_data(given["spec"])
    splits = _splits(given["splits"], data)
    net = backbone(given["backbone"], given["weights"], size=given["size"])
    warn_of_scenes_net(data, given["backbone"])
    made: list[dict[str, Any]] = []
    for split in splits:
        with progress(split, quiet=given["as_json"], rate_of="pictures") as (advance,):
            made += _extract(data, split, net, given, advance)
    peak = peak_memory()
    if given["as_json"]:
        print_json({"features": made, "peak_memory_mb": peak})
        return
    for one in made:
        _tell(one)
    if peak is not None:
        click.echo(f"peak memory {peak:,.0f} MB")


def _splits(wanted: tuple[str, ...], data: Dataset) -> list[str]:
    if not data.pictures:
        raise BadInput(
            f"data set {data.name!r} has no pictures; open it with its image folder (simkit list "
            "data shows how)"
        )
    from simkit.data.dataset import WHOLE

    lacking = [split for split in wanted if split not in data.pictures]
    if lacking:
        raise BadInput(
            f"data set {data.name!r} has no pictures for split {lacking[0]!r}; it has them for "
            + ", ".join(data.pictures)
        )
    # Where val was held out, train+val is there too; its parts hold the same pictures.
    return list(dict.fromkeys(wanted or (s for s in data.pictures if s != WHOLE)))


def _extract(
    data: Dataset,
    split: str,
    net: Any,
    given: dict[str, Any],
    advance: Callable[[int, int], None],
) -> list[dict[str, Any]]:
    """Facts about the features of a split, one for each kind."""
    from simkit.embed.features.features import extract

    kinds: tuple[Kind, ...] = _KINDS[given["kind"]]  # type: ignore[assignment]
    place = {"out": given["out"] / split} if given["out"] is not None else {}
    counted = _Counted(advance)
    found = extract(
        data,
        split,
        net,
        kinds=kinds,
        batch=given["batch"],
        unreadable=given["unreadable"],
        device=given["device"],
        progress=counted,
        **place,
    )
    pace = {"computed": counted.done, "seconds": counted.seconds}
    return [_facts(split, one) | pace for one in found.values()]


class _Counted:
    """Passes progress on, and counts what was computed in this call rather than found."""

    def __init__(self, advance: Callable[[int, int], None]) -> None:
        self._advance = advance
        self._found: int | None = None
        self._start = 0.0
        self.done = 0
        self.seconds = 0.0

    def __call__(self, done: int, of: int) -> None:
        self._advance(done, of)
        if self._found is None:
            self._found, self._start = done, time.perf_counter()
        self.done, self.seconds = done - self._found, time.perf_counter() - self._start


def _facts(split: str, one: Features) -> dict[str, Any]:
    return {
        "split": split,
        "kind": one.kind,
        "folder": str(one.values.folder),  # type: ignore[union-attr]
        "id": one.id,
        "shape": list(one.values.shape),
        "mb": one.values.nbytes / 2**20,
        "skipped": [asdict(each) for each in one.skipped],
    }


def _tell(one: dict[str, Any]) -> None:
    """What was made, and every picture that was skipped."""
    N, *row = one["shape"]
    pace = ", already there"
    if one["computed"]:
        pace = f", {one['computed']:,} computed at {one['computed'] / one['seconds']:,.1f} a second"
    click.echo(
        f"{one['split']}: {N:,} pictures{pace}; {one['kind']} features "
        f"({' x '.join(map(str, row))}, {one['mb']:,.1f} MB) in {one['folder']}/"
    )
    if one["skipped"]:
        click.echo(
            f"{len(one['skipped']):,} of them could not be read and are skipped; remove the folder "
            "to try them again:"
        )
    for each in one["skipped"]:
        click.echo(f"  row {each['row']}, image {each['image']}: {each['reason']}")
