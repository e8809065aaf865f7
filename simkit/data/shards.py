"""Images in tar shards, local or on object storage by fsspec; decoded on use."""

from __future__ import annotations

import glob
import io
import json
import os
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from simkit.cache import cache_folder
from simkit.data.images import ENDINGS, EncodedPictures, Packed, digest
from simkit.errors import BadInput
from simkit.files import explaining, reading, whole
from simkit.history import content_id

LABELS = ("json", "cls", "txt")  # endings of labels
_WHAT = "an uncompressed tar of images and labels"
_REMOTE = re.compile(r"^\w[\w+.-]+(://|::)")
_NUMBERS = re.compile(r"\{(\d+)\.\.(\d+)\}")
_KEPT = "shards"  # folder in the cache
_REST = 1 << 20  # bytes after the last file that are looked at together
_AT_ONCE = 8  # remote shards that are listed at a time


@dataclass(frozen=True)
class Member:
    """An image in a shard: its name, and the place and digest of its bytes."""

    shard: str
    name: str
    start: int
    size: int
    digest: str

    def __str__(self) -> str:
        return f"{self.shard}/{self.name}"


@dataclass(frozen=True)
class Shard:
    """The content of a shard.

    Attributes
    ----------
    images
        In the order of the shard.
    labels
        For each image the text of its labels, by their ending.
    left_out
        Names of files that are neither images nor labels, or labels without an image.
    """

    images: list[Member]
    labels: list[dict[str, str]]
    left_out: list[str]


@dataclass(frozen=True)
class ShardPictures(EncodedPictures):
    """Images in shards, each read by its place in the shard."""

    members: tuple[Member, ...]
    depths: tuple[int, int] = (16, 16)  # see `decode`

    def __repr__(self) -> str:
        shards = len({member.shard for member in self.members})
        return f"<ShardPictures: {len(self.members):,} in {shards:,} shards>"

    @cached_property
    def _digests(self) -> tuple[bytes, ...]:
        return tuple(bytes.fromhex(member.digest) for member in self.members)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The names of the images."""
        return tuple(member.name for member in self.members)

    def encoded(self, rows: Sequence[int]) -> Iterator[Packed]:
        return _packed([self.members[row] for row in rows])

    def place(self, row: int) -> Member:
        """A hashable identity of an image."""
        return self.members[row]

    def select(self, index: Sequence[int] | NDArray[np.integer]) -> ShardPictures:
        """A subset of the images, in the order of `index`."""
        return replace(self, members=tuple(self.members[int(i)] for i in np.asarray(index)))


def _packed(members: Sequence[Member]) -> Iterator[Packed]:
    """The encoded images; those of one remote file system are fetched together."""
    by_system = defaultdict[Any, list[int]](list)
    for place, member in enumerate(members):
        by_system[_system(member.shard)[0] if _is_remote(member.shard) else None].append(place)
    encoded = [b""] * len(members)
    for system, places in by_system.items():
        some = [members[place] for place in places]
        with _explaining(some[0].shard):
            for place, content in zip(places, _fetch(system, some), strict=True):
                encoded[place] = content
    for member, content in zip(members, encoded, strict=True):
        ending = PurePosixPath(member.name).suffix
        if digest(io.BytesIO(content), len(content), ending).hex() != member.digest:
            raise BadInput(f"{member} changed after its shard was opened; run the command again")
        yield Packed(content, member.shard, member.name)


def _fetch(system: Any, members: list[Member]) -> list[bytes]:
    if system is not None:
        paths = [_system(member.shard)[1] for member in members]
        starts, ends = zip(*((each.start, each.start + each.size) for each in members), strict=True)
        return list(system.cat_ranges(paths, [*starts], [*ends], on_error="raise"))
    contents = []
    for member in members:
        with open(os.path.expanduser(member.shard), "rb") as stream:
            stream.seek(member.start)
            contents.append(stream.read(member.size))
    return contents


def shards_of(pattern: str) -> list[str]:
    """The shards that a pattern names, such as s3://bucket/train-{000..099}.tar or train-*.tar.

    Raises BadInput if it names none.
    """
    if match := _NUMBERS.search(pattern):
        first, last = match.groups()
        numbers = [f"{n:0{len(first)}}" for n in range(int(first), int(last) + 1)]
        some = [_NUMBERS.sub(number, pattern, count=1) for number in numbers]
        shards = [shard for each in some for shard in shards_of(each)]
    elif not re.search(r"[*?\[]", pattern):
        return [pattern]
    elif _is_remote(pattern):
        system, path = _system(pattern)
        with _explaining(pattern):
            shards = sorted(map(system.unstrip_protocol, system.glob(path)))
    else:
        shards = sorted(glob.glob(os.path.expanduser(pattern)))
    if not shards:
        raise BadInput(f"{pattern} matches no file; give tar files, such as train-{{000..099}}.tar")
    return shards


def contents(shards: Sequence[str]) -> list[Shard]:
    """The content of shards, without the images. Raises BadInput."""
    with ThreadPoolExecutor(_AT_ONCE if any(map(_is_remote, shards)) else 1) as pool:
        return list(pool.map(_content, shards))


def _content(shard: str) -> Shard:
    if _is_remote(shard):
        return _of_remote(shard)
    with reading(os.path.expanduser(shard), _WHAT) as file, file.open("rb") as stream:
        return _listed(shard, stream)


def _of_remote(shard: str) -> Shard:
    """The content of a remote shard, kept in the cache folder as long as the shard is the same."""
    system, path = _system(shard)
    with _explaining(shard):
        name = content_id("shard", shard, str(system.ukey(path)))
        kept = cache_folder() / _KEPT / f"{name}.json"
        with suppress(OSError, ValueError, TypeError, KeyError):  # not there, or damaged
            facts = json.loads(kept.read_text(encoding="utf-8"))
            members = [Member(shard, *each) for each in facts["images"]]
            return Shard(members, facts["labels"], facts["left_out"])
        with system.open(path, "rb") as stream:
            content = _listed(shard, stream)
    images = [[each.name, each.start, each.size, each.digest] for each in content.images]
    facts = {"images": images, "labels": content.labels, "left_out": content.left_out}
    with suppress(BadInput), whole(kept) as file:  # a cache may be only readable
        file.write_text(json.dumps(facts), encoding="utf-8")
    return content


def _listed(shard: str, stream: BinaryIO) -> Shard:
    """The content of a shard. Raises errors of tarfile and of the file system."""
    images: dict[str, Member] = {}
    labels: dict[str, dict[str, str]] = defaultdict(dict)
    left_out = []
    with tarfile.open(fileobj=stream, mode="r:") as tar:
        for info in tar:
            name = str(PurePosixPath(info.name.replace("\\", "/")))
            folder, _, file = name.rpartition("/")
            stem, _, ending = file.partition(".")
            key, ending = f"{folder}/{stem}", ending.lower()
            if info.isdir():
                continue
            if info.issparse():  # its bytes are not contiguous
                raise BadInput(f"{name} is stored as a sparse file; write the tar without --sparse")
            content = tar.extractfile(info) if info.isreg() else None
            if (
                content is None
                or not stem
                or f".{ending}" not in (*ENDINGS, *(f".{each}" for each in LABELS))
            ):
                left_out.append(name)
            elif ending in labels[key]:
                raise BadInput(f"{name} is in it twice; keep one of the two")
            elif ending in LABELS:
                labels[key][ending] = content.read().decode()
            elif key in images:
                raise BadInput(f"{name} is a second image of {images[key].name}; keep one of them")
            else:
                of_content = digest(content, info.size, f".{ending}").hex()
                images[key] = Member(shard, name, info.offset_data, info.size, of_content)
        _check_end(stream, tar.offset)
    unpaired = {key: labels[key] for key in labels if key not in images}
    left_out += [f"{key.strip('/')}.{ending}" for key in unpaired for ending in unpaired[key]]
    return Shard([*images.values()], [labels[key] for key in images], left_out)


def _check_end(stream: BinaryIO, end: int) -> None:
    """Raise BadInput unless a tar is empty from here on, as tarfile stops at damage in silence."""
    stream.seek(end)
    if not (rest := stream.read(_REST)):
        raise BadInput("its end is missing, so it may have lost images; write it or download it "
                       "again")  # fmt: skip
    while rest:
        if rest.strip(b"\0"):
            raise BadInput(f"it cannot be read on from byte {end:,}: a file in it is damaged, or "
                           "several tars were joined; write it or download it again")  # fmt: skip
        rest = stream.read(_REST)


def _is_remote(shard: str) -> bool:
    return _REMOTE.match(shard) is not None


def _system(url: str) -> tuple[Any, str]:
    """The file system of fsspec for an address, and the path in it. Raises BadInput."""
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url)
    except ImportError as error:
        needed = " ".join(str(error).split())
        raise BadInput(
            f"{url} is read by fsspec ({needed}); pip install 'simkit-annotation[remote]'"
        ) from None
    except ValueError as error:
        raise BadInput(f"{url} is no address that fsspec reads ({error}); correct it") from None
    return system, path


@contextmanager
def _explaining(shard: str) -> Iterator[None]:
    """Turn errors of a file system into BadInput."""
    with explaining(shard, _WHAT, "correct the address, or the access to it"):
        yield
