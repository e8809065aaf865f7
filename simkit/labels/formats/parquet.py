"""Partial labels as parquet: simkit's default format, readable by any table reader."""

from __future__ import annotations

import base64
import json
import os
import zlib
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import AnyPath, reading, whole
from simkit.history import History, sealed, unsealed
from simkit.labels.cells import BOTH
from simkit.labels.effort import Effort
from simkit.labels.formats import base
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import image_ids

COLUMNS = ["image_id", "class", "state"]
ROWS = 1 << 20  # rows in a group
VERSION = 1  # of the metadata
_START = b'{"version":1,"id":"'  # of the metadata in a file
_WHAT = "labels (parquet with image_id, class, state)"
_OPTIONS = {
    "compression": "zstd", "compression_level": 9, "use_dictionary": ["class", "state"],
    "write_statistics": False, "write_page_checksum": True,
}  # fmt: skip
_MOST_RANGES = 64
_MOST_TEXT = 1 << 9  # largest compression ratio of packed ids


@base.register
class Parquet(base.Format):
    """A long table, one row per known label, and everything else in the file's metadata.

    Columns image_id (int64 or string), class (dictionary of strings), state (int8: +1 present, -1
    absent), sorted by image. The metadata key `simkit` holds history, effort, class names, the
    asked images and the ids of images without a label.
    """

    name: ClassVar[str] = "parquet"
    title: ClassVar[str] = "Long table with history (simkit's own)"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write the file, about 2 bytes per label at the size of COCO. Raises BadInput."""
        classes = _strings(labels.classes, "class names")
        numbers = labels.images.dtype.kind in "iu"
        id_type = pa.int64() if numbers else pa.string()
        types = (id_type, pa.dictionary(pa.int32(), pa.string()), pa.int8())
        schema = pa.schema([pa.field(n, t, False) for n, t in zip(COLUMNS, types, strict=True)])
        encoding = {"image_id": "DELTA_BINARY_PACKED" if numbers else "DELTA_BYTE_ARRAY"}
        options = {"column_encoding": encoding, **_OPTIONS}
        rows = np.repeat(np.arange(labels.shape[0], dtype=np.int32), np.diff(labels.codes.indptr))
        with whole(path) as file, pq.ParquetWriter(file, schema, **options) as writer:
            for start in range(0, labels.codes.nnz, ROWS):
                part = slice(start, start + ROWS)
                images = labels.images[rows[part]]
                ids = _array(images, id_type) if numbers else _strings(images, "image ids")
                columns = _array(labels.codes.indices[part], pa.int32())
                named = pa.DictionaryArray.from_arrays(columns, classes)
                states = _array(labels.codes.data[part], pa.int8())
                writer.write_table(pa.table([ids, named, states], schema=schema))
            # Everything but the rows, as ASCII JSON; one bit or so for an image with a label.
            labelled = np.diff(labels.codes.indptr) > 0
            values = {
                "version": VERSION,
                "id": labels.id,
                "history": json.loads(labels.history.to_json()),
                "effort": labels.effort.to_json(),
                "classes": list(labels.classes),
                "images": len(labels.images),
                "labelled": base64.b64encode(np.packbits(labelled).tobytes()).decode(),
                "asked": _pack(np.packbits(labelled ^ labels.asked).tobytes()),
                "ids": _pack_ids(labels.images, labelled),
            }
            metadata = json.dumps(sealed(values), separators=(",", ":"))
            writer.add_key_value_metadata({"simkit": metadata})

    def read(self, path: AnyPath) -> PartialLabels:
        """The labels in a file of simkit, or in any table with these three columns.

        In other programs' tables images are in the order of their first row; classes too, unless
        the column is a dictionary, which then gives all of them in order. Raises BadInput.
        """
        with reading(path, _WHAT) as file:
            with pq.ParquetFile(file) as stored:
                schema = stored.schema_arrow
                metadata = (stored.metadata.metadata or {}).get(b"simkit")
            for name in COLUMNS:
                if schema.names.count(name) != 1:
                    has = ", ".join(schema.names) or "no columns"
                    raise BadInput(
                        f"column {name!r} is missing; the table has {has}: rename its columns to "
                        f"{', '.join(COLUMNS)}; {base.with_images(file)}"
                    )
                kind = schema.field(name).type
                text, number = base.is_text(kind), base.is_number(kind)
                if not {"image_id": text or number, "class": text, "state": number}[name]:
                    expected = "numbers or text (image_id), text (class) and +1 or -1 (state)"
                    raise BadInput(f"{name} is {kind}; {expected} are expected")
            table = read_table(file, COLUMNS)
            for name in COLUMNS:
                if table[name].null_count:
                    raise BadInput(f"{name} is empty in a row; fill it or leave the row out")
            if metadata is not None:
                return _from_simkit(table, json.loads(metadata.decode()))
            # A damaged key would make it a table of another program.
            with file.open("rb") as stream:
                stream.seek(-8, os.SEEK_END)
                size = int.from_bytes(stream.read(4), "little")
                stream.seek(-8 - size, os.SEEK_END)
                if _START in stream.read(size):
                    raise ValueError("its metadata is damaged")
            if not len(table):
                raise BadInput("it has no rows; give a file with labels")
            import pandas as pd

            states = _numbers(table["state"])
            if (states == 0).any():
                if (states == -1).any():
                    raise BadInput(BOTH)
                states = np.where(states == 0, -1.0, states)
            values, place = _coded(table["image_id"])
            rows, order = pd.factorize(place)
            images = values[order]
            if images.dtype.kind == "U":
                base.check_files(images.tolist())
            names, columns = base.encoded(table["class"])
            if pa.types.is_dictionary(schema.field("class").type):  # which lists all in order
                base.note_classes_of(file, names)
            else:
                codes, used = pd.factorize(columns)
                names, columns = base.merged([names[c] for c in used], codes, file)
            return base.from_rows(rows, columns, states, images=images, classes=tuple(names))


# pyarrow.array imports pandas, which takes a quarter of a second; arrays of buffers do not.
def _array(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """(m,) numbers for pyarrow."""
    numbers = np.ascontiguousarray(values, kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def _strings(values: Any, what: str) -> pa.Array:
    """(m,) texts for pyarrow. Raises BadInput where one is no Unicode."""
    try:
        texts = [text.encode() for text in values]
    except UnicodeEncodeError as error:
        raise BadInput(f"{what} cannot be written as UTF-8 ({error.object!r}); rename it") from None
    offsets = np.fromiter(accumulate(map(len, texts), initial=0), np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def _pack_ids(ids: NDArray[Any], labelled: NDArray[np.bool_]) -> dict[str, Any]:
    """The ids of images without a label; for consecutive numbers the ranges of all ids."""
    others = ids[~labelled]
    if ids.dtype.kind == "U":
        return {"text": _pack(json.dumps(others.tolist()).encode())}
    breaks = np.flatnonzero(np.diff(ids) != 1) + 1
    if len(breaks) < _MOST_RANGES:
        pairs = pairwise([0, *breaks.tolist(), len(ids)])
        return {"ranges": [[int(ids[a]), int(ids[b - 1]) + 1] for a, b in pairs]}
    steps = np.diff(others, prepend=0)
    width = next(w for w in (1, 2, 4, 8) if (steps.astype(f"<i{w}") == steps).all())
    return {"width": width, "steps": _pack(steps.astype(f"<i{width}").tobytes())}


def read_table(path: Path, columns: list[str]) -> pa.Table:
    """Columns of a table, each unique text kept once.

    Raises ValueError, and BadInput where a small file would need very much memory: a name of twenty
    thousand letters may be stored once and used in a million rows.
    """
    with pq.ParquetFile(path) as file:
        rows = file.metadata.num_rows
        if not 0 <= rows <= 1_000_000 + 500 * path.stat().st_size:
            raise ValueError(f"its metadata states {rows} rows")
        used = [chunk for chunk in base.chunks(file) if chunk.path_in_schema in columns]
        texts = [name for name in columns if base.is_text(file.schema_arrow.field(name).type)]
    size = sum(max(0, chunk.total_uncompressed_size) for chunk in used)
    base.check_memory(size, path, "the table")
    # Arrow reads no dictionary out of DELTA encodings.
    delta = {chunk.path_in_schema for chunk in used if "DELTA" in "".join(chunk.encodings)}
    coded = [name for name in texts if name not in delta]
    with pq.ParquetFile(path, read_dictionary=coded, page_checksum_verification=True) as file:
        return file.read(columns=columns)


def _from_simkit(table: pa.Table, metadata: dict[str, Any]) -> PartialLabels:
    """Labels of a file written by simkit, whose rows are sorted by image."""
    if metadata["version"] != VERSION:
        raise BadInput("the metadata key 'simkit' has another version; update simkit to read it")
    metadata = unsealed(metadata)
    bits = np.frombuffer(base64.b64decode(metadata["labelled"], validate=True), np.uint8)
    unlike = np.frombuffer(_unpack(metadata["asked"], len(bits)), np.uint8)
    labelled = np.unpackbits(bits)[: metadata["images"]].astype(bool)
    asked = np.unpackbits(bits ^ unlike)[: metadata["images"]].astype(bool)
    N = len(labelled)

    values, place = _coded(table["image_id"])
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    images = _unpack_ids(metadata["ids"], labelled, values[place[starts]])
    counts = np.zeros(N, np.int64)
    counts[labelled] = np.diff(starts, append=len(place))
    names, columns = base.encoded(table["class"])
    index = {name: c for c, name in enumerate(metadata["classes"])}
    columns = np.array([index[name] for name in names], np.int32)[columns]
    pointers = np.concatenate([[0], np.cumsum(counts)])
    codes = csr_array((_numbers(table["state"]), columns, pointers), (N, len(index)))
    labels = PartialLabels.of(
        codes,
        images,
        metadata["classes"],
        asked,
        effort=Effort.from_json(metadata["effort"]),
        history=History.from_json(json.dumps(metadata["history"])),
    )
    if labels.id != metadata["id"]:
        raise BadInput(
            "its rows do not match the content id in its metadata, as after a change of the table; "
            "simulate it again, or drop the metadata key 'simkit' to read it as a plain table"
        )
    return labels


def _unpack_ids(
    packed: dict[str, Any], labelled: NDArray[np.bool_], in_table: NDArray[Any]
) -> NDArray[Any]:
    """All ids (N,), given the ids of labelled images in the table. Raises ValueError."""
    N, count = len(labelled), int(np.count_nonzero(~labelled))
    if "ranges" in packed:
        ranges = [(int(start), int(stop)) for start, stop in packed["ranges"]]
        images = np.zeros(0, np.int64)
        if sum(stop - start for start, stop in ranges) == N and all(a < b for a, b in ranges):
            images = np.concatenate([start + np.arange(stop - start) for start, stop in ranges])
        if not np.array_equal(images[labelled[: len(images)]], in_table):
            raise ValueError("its image ids do not match its metadata")
        return images
    if "text" in packed:
        most = _MOST_TEXT * len(packed["text"]) + 1024
        others = base.text_ids(json.loads(_unpack(packed["text"], most, exact=False)))
    else:
        width = int(packed["width"])
        steps = np.frombuffer(_unpack(packed["steps"], count * width), f"<i{width}")
        others = np.cumsum(steps, dtype=np.int64)
    kinds = [each.dtype for each in (in_table, others) if len(each)]
    images = np.zeros(N, np.result_type(*kinds))
    images[labelled], images[~labelled] = in_table, others
    return images


def _pack(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def _unpack(text: str, size: int, *, exact: bool = True) -> bytes:
    """The unpacked bytes, exactly or at most `size`, so that a small file cannot fill memory."""
    machine = zlib.decompressobj()
    data = machine.decompress(base64.b64decode(text, validate=True), size + 1)
    if len(data) > size or (exact and len(data) != size):
        raise ValueError("a packed field has the wrong size")
    return data


def _coded(column: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The unique image ids, and for each row the index of its id among them."""
    if not base.is_text(column.type):
        values = image_ids(_numbers(column))
        starts = np.flatnonzero(np.diff(values, prepend=values[:1] - 1)) if len(values) else values
        different, place = np.unique(values[starts], return_inverse=True)
        return different, np.repeat(place, np.diff(starts, append=len(values)))
    texts, codes = base.encoded(column)
    different, place = np.unique(base.text_ids(texts), return_inverse=True)
    return different, place[codes]


def _numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    return base.decoded(column).to_numpy()
