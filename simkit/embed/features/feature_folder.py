"""A folder of features: an index that says what they are, and their shards."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from simkit.embed.features.shards import Shards, ShardWriter, holding
from simkit.errors import BadInput
from simkit.files import whole
from simkit.history import History, content_id

Kind = Literal["pooled", "maps"]
KINDS: tuple[Kind, ...] = ("pooled", "maps")
INDEX = "index.json"
_FORM = "simkit features 1"
_ABANDONED = 60  # seconds since anything was written into a file that never holds more than 64 MB


@dataclass(frozen=True)
class Skipped:
    """A picture that could not be read: its row, which is all zero, its image id, and why."""

    row: int
    image: str
    reason: str


@dataclass(frozen=True)
class Index:
    """What the shards in a folder hold.

    id: names the content; key: names the work, that is pictures, weights, size and kind; shape:
    (N, D) or (N, D, h, w); shards: pairs of a file name and its rows, in order.
    """

    id: str
    key: str
    kind: Kind
    shape: tuple[int, ...]
    shards: tuple[tuple[str, int], ...]
    history: History
    skipped: tuple[Skipped, ...] = ()

    def write(self, folder: Path) -> None:
        """Write index.json; it makes the shards beside it features."""
        facts = {"form": _FORM, "dtype": "float16"} | {
            name: getattr(self, name) for name in ("id", "key", "kind", "shape")
        }
        facts["shards"] = [{"file": file, "rows": rows} for file, rows in self.shards]
        facts["skipped"] = [asdict(each) for each in self.skipped]
        facts["history"] = json.loads(self.history.to_json())
        facts |= dict(zip(("pictures", "backbone"), self.history.parents, strict=False))
        with whole(folder / INDEX) as part:
            part.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def read(folder: Path) -> Index:
        """Read index.json. Raises BadInput where it is none."""
        path = folder / INDEX
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            if facts["form"] != _FORM or facts["dtype"] != "float16":
                raise ValueError
            found = Index(
                kind=facts["kind"],
                shape=tuple(map(_whole_number, facts["shape"])),
                shards=tuple((str(s["file"]), _whole_number(s["rows"])) for s in facts["shards"]),
                history=History.from_json(json.dumps(facts["history"])),
                skipped=tuple(
                    Skipped(_whole_number(s["row"]), str(s["image"]), str(s["reason"]))
                    for s in facts["skipped"]
                ),
                **{name: str(facts[name]) for name in ("id", "key")},
            )
            found._check()
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise BadInput(
                f"{path} cannot be read as an index of features; extract them again with "
                "simkit features"
            ) from None
        return found

    def values(self, folder: Path) -> Shards:
        """The rows. Raises BadInput where a shard is not there as the index says."""
        files = [folder / file for file, _ in self.shards]
        counts, row = [rows for _, rows in self.shards], self.shape[1:]
        if (lost := holding(files, counts, row)) is not None:
            raise BadInput(
                f"{lost} is missing or damaged, a part of the features that {folder / INDEX} "
                "lists; run the command that made them again"
            )
        return Shards(files, counts, row)

    def _check(self) -> None:
        if len(self.shape) != (2 if self.kind == "pooled" else 4):
            raise ValueError
        N = self.shape[0]
        fine = self.kind in ("pooled", "maps") and min(self.shape) > 0
        fine &= sum(rows for _, rows in self.shards) == N
        fine &= all(rows > 0 and Path(file).name == file for file, rows in self.shards)
        if not fine or not all(0 <= each.row < N for each in self.skipped):
            raise ValueError


def of_splits(folder: Path) -> dict[str, Path]:
    """The folders of splits in a folder that `simkit features --out` made, by the split's name.

    Empty where it is no such folder, as those of one split or of one kind are not.
    """
    children = sorted(folder.iterdir()) if folder.is_dir() else []
    return {
        child.name: child
        for child in children
        if any((child / kind / INDEX).is_file() for kind in KINDS)
    }


def below(folder: Path) -> list[Path]:
    """The folders with an index that `folder` holds or is: of a kind, a split, or all splits."""
    places = [
        folder,
        *(of / kind for of in (folder, *of_splits(folder).values()) for kind in KINDS),
    ]
    return [each for each in places if (each / INDEX).is_file()]


def finished(folder: Path, key: str) -> bool:
    """Whether the folder holds all features of this key; False where it holds others or none."""
    try:
        found = Index.read(folder)
        return found.key == key and bool(len(found.values(folder)))
    except BadInput:
        return False


def finish(
    writer: ShardWriter,
    folder: Path,
    *,
    key: str,
    kind: Kind,
    images: Sequence[object],
    history: History,
) -> None:
    """Write the index of shards that are all there; images: ids of the N pictures.

    The history's parents are the pictures and the backbone. Raises BadInput where no picture could
    be read, and where all values are zero.
    """
    skipped = tuple(
        Skipped(row, str(images[row]), why) for row, why in sorted(writer.notes().items())
    )
    if len(skipped) == len(images):
        raise BadInput(f"none of {len(images):,} pictures can be read; {skipped[0].reason}")
    values = Shards(writer.files, writer.counts, writer.row)
    if not any(part.any() for _, part in values.blocks()):
        raise BadInput(
            f"features of all {len(images):,} pictures are zero; give the backbone other weights"
        )
    tidy(folder, key)
    rows = ",".join(str(each.row) for each in skipped)
    Index(
        id=content_id(key, "without", rows) if skipped else key,
        key=key,
        kind=kind,
        shape=(sum(writer.counts), *writer.row),
        shards=tuple(
            (file.name, rows) for file, rows in zip(writer.files, writer.counts, strict=True)
        ),
        history=history,
        skipped=skipped,
    ).write(folder)


def kept_for(folder: Path, key: str) -> None:
    """Raise BadInput where the folder holds features of another key, which would be hidden."""
    try:
        found = Index.read(folder).key
    except BadInput:  # none, or a damaged one
        return
    if found != key:
        raise BadInput(
            f"{folder} holds features of other pictures, or of another backbone, weights or size; "
            "choose another folder or remove it"
        )


def tidy(folder: Path, key: str) -> None:
    """Make a folder for features, and remove what killed processes left unfinished in it.

    Files that were written to in the last minute stay: another process may work on the same
    features. Raises BadInput where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            now = os.fstat(probe.fileno()).st_mtime  # as the clock of the disk has it
        for name in (f"{key}-*", INDEX):
            for part in folder.glob(f".{name}.*.part"):
                if now - part.stat().st_mtime > _ABANDONED:
                    part.unlink(missing_ok=True)
    except FileNotFoundError:  # another process was quicker
        pass
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be written ({error.strerror}); choose another place"
        ) from None


def _whole_number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value
