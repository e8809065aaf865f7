"""Damaged copies of good files, and the promise that every reader makes about them.

A reader of any file in any state gives a value or one sentence that names the file (BadInput), and
takes no more memory than a few times the file. `make test-slow` damages 150 times as many.
"""

from __future__ import annotations

import gc
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simkit.errors import BadInput

COUNT = int(os.environ.get("SIMKIT_MUTATIONS", "40"))
ROOM = 64 << 20  # bytes that any reader may take, beside eight times the files
ODD: list[Any] = [
    None, True, -1, 0, 1, 10**30, 2**62, 0.5, float("nan"), 1e308, "", "x", "\ud800", "a\nb",
    "\x00", "a" * 5000, [], [[]], {}, [None], {"id": 1}, [0] * 5,
]  # fmt: skip
WORDS = "|0|-1|00|1e999|1.5|nan|NULL|\x00|\u202e|=1+1|\"|'|;|\t|\r|../x|<x>|&lt;|٣".split("|")


def survives(
    read: Callable[[Path], Any],
    files: Mapping[str, bytes],
    *,
    tmp_path: Path,
    count: int = COUNT,
    seed: int = 0,
    silent: bool = False,
) -> None:
    """Let `read(folder)` read `count` damaged copies of the good `files` below a folder.

    Every read must return, or raise BadInput with one line that names a file (or the folder), and
    keep to the limit of memory. silent: the reader may not even warn the user (UserWarning).
    """
    _write(tmp_path, files, files)
    read(tmp_path)  # the good files are good
    gc.collect()  # memory freed later would hide what the reader takes
    limit, before, refused = ROOM + 8 * sum(map(len, files.values())), resident(reset=True), 0
    for number, copies in enumerate(mutations(files, count=count, seed=seed)):
        _write(tmp_path, files, copies)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a reader may warn the user, but leak none of numpy's
            if not silent:
                warnings.simplefilter("ignore", UserWarning)
            try:
                read(tmp_path)
            except BadInput as error:
                message, refused = str(error), refused + 1
                named = any(name in message for name in files) or str(tmp_path) in message
                assert named and len(message) < 1000 and len(message.splitlines()) == 1, message
            except BaseException as error:
                error.add_note(f"mutation {number}; the files are in {tmp_path}")
                raise
    assert resident() - before < limit + ROOM
    assert 0 < refused < count or count < 100


def mutations(
    files: Mapping[str, bytes], *, count: int, seed: int = 0
) -> Iterator[dict[str, bytes]]:
    """Sets of the same files in which one was damaged or, with several files, one is missing."""
    rng = np.random.default_rng(seed)
    names = sorted(files)
    for _ in range(count):
        name = names[rng.integers(len(names))]
        if len(names) > 1 and rng.integers(40) == 0:
            yield {other: files[other] for other in names if other != name}
        else:
            damages = [_bytes, *_DAMAGES.get(Path(name).suffix, [])]
            yield {**files, name: damages[rng.integers(len(damages))](files[name], rng)}


def resident(reset: bool = False) -> int:
    """Bytes: the largest resident size since the last reset; 0 where it cannot be known."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def _write(folder: Path, names: Mapping[str, bytes], files: Mapping[str, bytes]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _bytes(good: bytes, rng: np.random.Generator) -> bytes:
    """Cut off, removed, repeated, exchanged, overwritten, or with something behind the end."""
    a, b, c = np.sort(rng.integers(len(good) + 1, size=3)).tolist()
    flipped = bytes([good[a - 1] ^ 1 << int(rng.integers(8))]) if a else b""
    copies = [
        b"\n", good + good, good[:a], good[:a] + good[b:], good[:b] + good[a:],
        good[:a] + good[b:c] + good[a:b] + good[c:], good[:a] + rng.bytes(9) + good[a + 9 :],
        good[:a] + (2**63 - 1).to_bytes(8, "little") + good[a + 8 :],
        good[: max(0, a - 1)] + flipped + good[a:],
    ]  # fmt: skip
    return copies[rng.integers(len(copies))]


def _text(good: bytes, rng: np.random.Generator) -> bytes:
    """Another word, cell, line or encoding; bytes that are no text; deep nesting."""
    what, place = rng.integers(5), int(rng.integers(len(good)))
    if what < 3:
        parts = re.split([rb"([\w.+-]+)", rb"(\n)", rb"(,)"][what], good)
        a, b = rng.integers(len(parts), size=2)
        word = WORDS[rng.integers(len(WORDS))].encode()
        parts[a] = [word, parts[b], b"", parts[a] + b"," + parts[a]][rng.integers(4)]
        return b"".join(parts)
    if what == 3:
        encoding = ["utf-16", "utf-32", "utf-8-sig", "latin-1", "cp037"][rng.integers(5)]
        return good.decode("utf-8", "replace").encode(encoding, "replace")
    odd = [b"\xff", b"\xed\xa0\x80", b"[" * 5000, b'{"a":' * 5000, b"<a>" * 5000, b"1" * 5000]
    return good[:place] + odd[rng.integers(len(odd))] + good[place:]


def _unsealed(values: Any) -> Any:
    """Without checksums, which would be the only thing that a reader looks at."""
    if isinstance(values, dict):
        return {k: v for k, v in values.items() if k not in ("checksum", b"checksum", "crc32")}
    return values


def _json(good: bytes, rng: np.random.Generator) -> bytes:
    """JSON in which one to three values were replaced, removed or doubled."""
    values = _unsealed(json.loads(good))
    if not isinstance(values, dict | list):
        return json.dumps(ODD[rng.integers(len(ODD))]).encode()
    for _ in range(1 + rng.integers(3)):
        places = list(_places(values))
        if places:
            holder, key = places[rng.integers(len(places))]
            other, place = places[rng.integers(len(places))]
            new = [ODD[rng.integers(len(ODD))], other[place], [[holder[key]]]][rng.integers(3)]
            if rng.integers(5) == 0:
                del holder[key]
            elif isinstance(holder, list) and rng.integers(5) == 0:
                holder.append(holder[key])  # an id that occurs twice
            else:
                holder[key] = json.loads(json.dumps(new))
    return json.dumps(values).encode()


def _places(values: Any) -> Iterator[tuple[Any, Any]]:
    for key in values if isinstance(values, dict) else range(len(values)):
        yield values, key
        if isinstance(values[key], dict | list):
            yield from _places(values[key])


def _jsonl(good: bytes, rng: np.random.Generator) -> bytes:
    """JSON Lines of which one is damaged."""
    lines = good.splitlines()
    place = int(rng.integers(len(lines)))
    return b"\n".join([*lines[:place], _json(lines[place], rng), *lines[place + 1 :]])


def _array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another value, kind of number, length or shape."""
    text = array.dtype.kind == "U"
    if text and not array.ndim:
        return np.array(_json(str(array).encode(), rng).decode())
    flat = array.ravel()
    kind = ["f8", "f2", "u1", "u8", "?", "S5", "c16", "M8[s]"][rng.integers(8)]
    edited = array.astype("U2000" if text else np.int64)
    odd: list[Any] = ["", "x", "a" * 2000] if text else [-1, 0, 1, 127, 2**31 - 1, 2**62]
    if array.size:
        edited.flat[rng.integers(array.size)] = odd[rng.integers(len(odd))]
    recast = np.zeros(array.shape, kind) if text else array.astype("f8").astype(kind)
    copies = [edited, edited, recast, flat[:-1], flat[::-1], np.r_[flat, flat], array[None]]
    return copies[rng.integers(len(copies))]


def _npy(good: bytes, rng: np.random.Generator) -> bytes:
    out = io.BytesIO()
    np.save(out, _array(np.load(io.BytesIO(good)), rng))
    return out.getvalue()


def _npz(good: bytes, rng: np.random.Generator) -> bytes:
    """One array is damaged, missing, or another one of the file."""
    arrays = dict(np.load(io.BytesIO(good)))
    name, other = (list(arrays)[i] for i in rng.integers(len(arrays), size=2))
    array, what = arrays.pop(name), rng.integers(8)
    if what:
        arrays[name] = arrays.get(other, array) if what == 1 else _array(array, rng)
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _parquet(good: bytes, rng: np.random.Generator) -> bytes:
    """Other rows, a column of one value, or a value in the JSON of the metadata."""
    table = pq.read_table(io.BytesIO(good))
    metadata = _unsealed({**(pq.read_metadata(io.BytesIO(good)).metadata or {})})
    metadata.pop(b"ARROW:schema", None)
    what, place = rng.integers(6), int(rng.integers(table.num_columns))
    if what < 3 and metadata:
        key = list(metadata)[rng.integers(len(metadata))]
        metadata[key] = _json(metadata[key], rng) if what else [b"{", b"[" * 9999][place % 2]
    elif what == 3:
        table = table.take(rng.integers(table.num_rows, size=table.num_rows))
    else:
        odd = [None, "", "x", -1, 0, 2**62, 1.5, [1], b"x", True]
        column = pa.array([odd[rng.integers(len(odd))]] * table.num_rows)
        table = table.set_column(place, table.column_names[place], column)
    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata if rng.integers(9) else None), out)
    return out.getvalue()


def _safetensors(good: bytes, rng: np.random.Generator) -> bytes:
    """Other facts in the header: types, shapes and places of tensors, or the JSON of its texts."""
    size = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + size])
    texts = _unsealed(header.get("__metadata__", {}))
    header["__metadata__"] = texts
    if texts and rng.integers(2):
        name = list(texts)[rng.integers(len(texts))]
        texts[name] = _text(_json(texts[name].encode(), rng), rng).decode("utf-8", "replace")
    else:
        header = json.loads(_json(json.dumps(header).encode(), rng))
    new = json.dumps(header).encode()
    return len(new).to_bytes(8, "little") + new + good[8 + size :]


_DAMAGES: dict[str, list[Callable[[bytes, np.random.Generator], bytes]]] = {
    ".json": [_text, _json, _json], ".jsonl": [_text, _jsonl, _jsonl],
    ".npz": [_npz, _npz], ".npy": [_npy], ".parquet": [_parquet],
    ".safetensors": [_safetensors, _safetensors],
    **{suffix: [_text, _text] for suffix in [".csv", ".tsv", ".txt", ".xml", ".toml"]},
}  # fmt: skip
