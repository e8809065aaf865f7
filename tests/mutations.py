"""Damaged copies of good files, and the promise that every reader makes about them.

A reader of any file in any state gives a value or one sentence that names the file (BadInput), and
takes no more memory than a few times the file. `pytest -m slow` damages fifty times as many.
"""

from __future__ import annotations

import io
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simkit.errors import BadInput

COUNT = int(os.environ.get("SIMKIT_MUTATIONS", "200"))
ROOM = 64 << 20  # bytes that any reader may take, beside eight times the files
HUGE = 2**63 - 1
ODD: list[Any] = [
    None, True, -1, 0, 10**30, HUGE, 0.5, float("nan"), 1e308, "", "x", "\ud800", "a\nb", "\x00",
    "a" * 5000, [], [[]], {}, [None], {"id": 1}, [0] * 5,
]  # fmt: skip
WORDS = "|0|-1|+1|00|1e999|1.5|nan|NULL|x|\x00|é|\u202e|=1+1|\"|'|;|\t|\r|../x|<x>|&lt;|٣".split(
    "|"
)
WORDS += [str(10**30), str(2**63), "a" * 5000]


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
    limit, before, refused = ROOM + 8 * sum(map(len, files.values())), resident(reset=True), 0
    for number, copies in enumerate(mutations(files, count=count, seed=seed)):
        _write(tmp_path, files, copies)
        try:
            message = _refused(read, tmp_path, silent)
        except BaseException as error:
            error.add_note(f"mutation {number}; the files are in {tmp_path}")
            raise
        refused += message is not None
        if message is not None:
            named = any(name in message for name in files) or str(tmp_path) in message
            assert named and len(message) < 1000 and len(message.splitlines()) == 1, message
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
            yield {each: files[each] for each in names if each != name}
            continue
        suffix = Path(name).suffix
        kinds = [_bytes, *_KINDS.get(suffix, [_text, _text] if suffix in _TEXTS else [])]
        yield {**files, name: kinds[rng.integers(len(kinds))](files[name], rng)}


def resident(reset: bool = False) -> int:
    """Bytes: the largest resident size since the last reset; 0 where it cannot be known."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def _refused(read: Callable[[Path], Any], folder: Path, silent: bool) -> str | None:
    """The sentence with which the files were refused, or None where they were read."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a reader may warn the user, but leak none of numpy's
        if not silent:
            warnings.simplefilter("ignore", UserWarning)
        try:
            read(folder)
        except BadInput as error:
            return str(error)
    return None


def _write(folder: Path, names: Iterable[str], files: Mapping[str, bytes]) -> None:
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
        good[:a] + HUGE.to_bytes(8, "little") + good[a + 8 :],
        good[: max(0, a - 1)] + flipped + good[a:],
    ]  # fmt: skip
    return copies[rng.integers(len(copies))]


def _text(good: bytes, rng: np.random.Generator) -> bytes:
    """Another word, line, cell or encoding; bytes that are no text; deep nesting."""
    what, place = rng.integers(8), int(rng.integers(len(good)))
    if what < 5:  # words, or with odd numbers cells and lines
        words = re.split(
            rb"([\w.+-]+)" if what % 2 == 0 else rb"(\n)" if what == 1 else rb"(,)", good
        )
        a, b = rng.integers(len(words), size=2)
        word = WORDS[rng.integers(len(WORDS))].encode()
        words[a] = [word, word, words[b], b"", words[a] + b"," + words[a]][rng.integers(5)]
        return b"".join(words)
    if what == 5:
        encoding = ["utf-16", "utf-32", "utf-8-sig", "latin-1", "cp037"][rng.integers(5)]
        return good.decode("utf-8", "replace").encode(encoding, "replace")
    odd = [b"\xff", b"\xed\xa0\x80"] if what == 6 else [b"[" * 5000, b'{"a":' * 5000, b"<a>" * 5000]
    return good[:place] + odd[rng.integers(len(odd))] + good[place:]


def _json(good: bytes, rng: np.random.Generator) -> bytes:
    """JSON in which one to three values were replaced, removed or doubled."""
    values = json.loads(good)
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


def _array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another value, kind of number, length or shape."""
    what, text = rng.integers(5), array.dtype.kind == "U"
    if what == 0 and text and not array.ndim:
        return np.array(_json(str(array).encode(), rng).decode())
    if what <= 1 and array.size:
        odd = ["", "x", "a" * 2000] if text else [-1, 0, 1, 2, 127, 2**31 - 1, 2**62]
        out = array.astype("U2000" if text else np.int64)
        out.flat[rng.integers(out.size)] = odd[rng.integers(len(odd))]
        return out
    if what == 2:
        kind = ["f8", "f2", "u1", "u8", "?", "S5", "c16", "M8[s]"][rng.integers(8)]
        return np.zeros(array.shape, kind) if text else array.astype("f8").astype(kind)
    flat = array.ravel()
    return [flat[:-1], flat[::-1], np.r_[flat, flat], flat[:0], array[None]][rng.integers(5)]


def _npy(good: bytes, rng: np.random.Generator) -> bytes:
    return _saved(np.save, _array(np.load(io.BytesIO(good)), rng))


def _npz(good: bytes, rng: np.random.Generator) -> bytes:
    with np.load(io.BytesIO(good)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    name, other = (list(arrays)[i] for i in rng.integers(len(arrays), size=2))
    array = arrays.pop(name)
    new = {} if rng.integers(8) == 0 else {name: [arrays.get(other, array), _array(array, rng)][
        min(1, rng.integers(8))]}  # fmt: skip
    return _saved(np.savez, **arrays, **new)


def _saved(save: Callable[..., None], *arrays: Any, **named: Any) -> bytes:
    out = io.BytesIO()
    save(out, *arrays, **named)
    return out.getvalue()


def _parquet(good: bytes, rng: np.random.Generator) -> bytes:
    """A column or row is changed, or a value in the JSON of the metadata."""
    file = pq.ParquetFile(io.BytesIO(good))
    table, metadata = file.read(), (file.metadata.metadata or {}).get(b"simkit", b"{}")
    what, place = rng.integers(6), int(rng.integers(table.num_columns))
    if what < 3:
        metadata = _json(metadata, rng) if what else metadata[:-1]
    elif what == 3:
        table = table.take(rng.integers(table.num_rows, size=table.num_rows))
    else:
        values = table.column(place).to_pylist()
        odd = [None, "", "x", -1, 0, 1, 2**62, 1.5, [1], b"x", True, values[0]]
        new = odd[rng.integers(len(odd))]
        column = pa.array([new] * len(values))
        table = table.set_column(place, table.column_names[place], column)
    out = io.BytesIO()
    with pq.ParquetWriter(out, table.schema.remove_metadata()) as writer:
        writer.write_table(table.replace_schema_metadata(None))
        if rng.integers(9):
            writer.add_key_value_metadata({"simkit": metadata.decode("utf-8", "replace")})
    return out.getvalue()


_TEXTS = {".csv", ".tsv", ".txt", ".xml", ".toml"}
_KINDS = {
    ".json": [_text, _json, _json], ".npz": [_npz, _npz], ".npy": [_npy], ".parquet": [_parquet],
}  # fmt: skip
