"""Hugging Face: saved data sets and parquet of `datasets`, metadata files of ImageFolder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import json as arrow_json

from simkit.errors import BadInput, noting
from simkit.files import AnyPath, reading, whole, whole_folder
from simkit.history import content_id
from simkit.labels.cells import listed
from simkit.labels.formats import base
from simkit.labels.names import key
from simkit.labels.partial import PartialLabels
from simkit.labels.tables import Column, read_table
from simkit.labels.truth import image_ids
from simkit.registry import setting

STATE = "state.json"  # in a folder that `Dataset.save_to_disk` wrote
_SIDES = ["present", "absent"]
_LIST = pa.list_(pa.string())
_BLOCK = 1 << 24  # bytes; a longer row is read slowly
_ROW = ["file_name", *_SIDES]
_WHAT = "a data set of Hugging Face (image or file_name, present, absent)"


@base.register
class HuggingFace(base.Format):
    """Columns image (id or path), present and absent: lists of class names, or of ClassLabel.

    By its ending a path is a parquet file, metadata.jsonl or metadata.csv of an ImageFolder (with
    file_name in place of image; in CSV each list is JSON in a cell), or else a folder, as
    `Dataset.save_to_disk` writes it. A list is null (in CSV an empty cell) where no question was
    asked about the image. Without the column absent, only present labels are known. The package
    `datasets` is not needed.

    file: name of an image file, with {} in place of the image id.
    Source: files of datasets 5.2; its documentation, "Create an image dataset".

    Holds the known labels and the asked images; effort and history are lost, .jsonl and .csv hold
    only classes with a label, in the order of their names, and text ids that look like numbers are
    read back as numbers.
    """

    name: ClassVar[str] = "hf"
    title: ClassVar[str] = "Hugging Face datasets and ImageFolder"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq", ".jsonl", ".csv")
    # In parquet the name of a column in the schema, after its length; a header; a key of JSON.
    mark: ClassVar[bytes] = (
        rb'\x07present|\A(\xef\xbb\xbf)?"?file_name"?,(.*,)?"?present"?\s*[,\n]|"present"\s*:'
    )

    file: str = setting("{}", "image file, with {} in place of the id")

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write one row per image to a file or a new folder. Raises BadInput."""
        ending = Path(path).suffix.lower()
        names = base.file_names(labels.images, self.file)
        if ending in (".jsonl", ".csv"):
            base.check_any_label(labels)
            base.write_lines(path, _lines(labels, names, ending == ".csv"))
            return
        try:
            images = pa.array(labels.images.tolist() if self.file == "{}" else names)
        except UnicodeEncodeError as error:
            odd = f"image id {error.object!r} cannot be written as UTF-8; rename it"
            raise BadInput(odd) from None
        sides = zip(*base.pairs(labels), strict=True)
        lists = [pa.array(side, pa.list_(pa.int64())) for side in sides]
        # Sequence is the name that every version of `datasets` reads.
        side = {"feature": {"names": labels.classes, "_type": "ClassLabel"}, "_type": "Sequence"}
        image = {"dtype": str(images.type), "_type": "Value"}
        info = {"features": {"image": image, "present": side, "absent": side}}
        table = pa.table([images, *lists], ["image", *_SIDES])
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": info})})
        if ending in self.suffixes:
            with whole(path) as part:
                pq.write_table(table, part, write_page_checksum=True)
            return
        data = "data-00000-of-00001.arrow"
        state: dict[str, Any]
        state = {"_data_files": [{"filename": data}], "_fingerprint": content_id("hf", labels.id)}
        state |= dict.fromkeys(["_format_columns", "_format_type", "_split"])
        state |= {"_format_kwargs": {}, "_output_all_columns": False}
        with whole_folder(path) as folder:
            with pa.ipc.new_stream(folder / data, table.schema) as writer:
                writer.write_table(table)
            (folder / STATE).write_text(json.dumps(state))
            (folder / "dataset_info.json").write_text(json.dumps(info))

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """Effort and history; in .jsonl and .csv classes without a label and their order."""
        used = [labels.classes[c] for c in np.unique(labels.codes.indices)]
        unused, moved = labels.shape[1] - len(used), len(used) if used != sorted(used) else 0
        counted = {
            "in .jsonl and .csv N classes, because no list names them": unused,
            "in .jsonl and .csv the order of N classes; they are sorted": moved,
        }
        lost = base.losses(labels, counted, labels.images, self.file) + base.lost_spelling(labels)
        only = re.compile("^(?=that ids are text|the spelling)")
        return tuple(only.sub("in .jsonl and .csv ", each) for each in lost)

    def read(self, path: AnyPath) -> PartialLabels:
        """Images in the order of the rows. Raises BadInput."""
        ending = Path(path).suffix.lower()
        with reading(path if ending in self.suffixes else _state(Path(path)), _WHAT) as file:
            typed = ending not in (".jsonl", ".csv")
            table = _table_of(file) if typed else _rows_of(file)
            table.validate(full=True)
            columns = table.column_names
            named = next((name for name in ("file_name", "image") if name in columns), "")
            if not named or "present" not in columns:
                has = ", ".join(columns)[:80]
                raise BadInput(
                    f"it has {has}; image or file_name, and present (lists of classes) are "
                    f"expected: rename its columns; {base.with_images(path)}"
                )
            ids = base.decoded(table[named])
            numbers = base.is_number(ids.type)
            if ids.null_count or not (numbers or base.is_text(ids.type)):
                kind = "empty in a row" if ids.null_count else str(ids.type)[:60]
                raise BadInput(f"column {named!r} is {kind}; write the id or path of each image")
            if numbers:
                images = image_ids(ids.to_numpy())
            else:
                images = base.ids_of(ids.to_pylist(), numbers=not typed)
            sides = []
            for column in (table[name] for name in _SIDES if name in columns):
                kind = getattr(column.type, "value_type", pa.float64())
                numbers = pa.types.is_integer(kind)
                if not (numbers or pa.types.is_null(kind) or base.is_text(kind)):
                    odd = f"present or absent is {column.type}"
                    raise BadInput(f"{odd}; lists of class names are expected")
                plain = pa.list_(pa.int64() if numbers else pa.string())
                sides.append(pa.concat_arrays(column.cast(plain).chunks))
            return base.from_lists(images, sides, _names(table.schema), file)


def _state(folder: Path) -> Path:
    """The state file of a saved data set. Raises BadInput for a folder of several data sets."""
    if not (folder / STATE).exists():
        inner = sorted(path.parent.name for path in folder.glob(f"*/{STATE}"))
        if inner:
            one = folder / ("train" if "train" in inner else inner[0])
            raise BadInput(f"{folder} holds {' and '.join(inner)}; give one of them, as in {one}")
        if files := sorted(folder.glob("*.parquet")):
            save = "load it with datasets, and save it with save_to_disk"
            mend = f"give {files[0]}" if len(files) == 1 else save
            raise BadInput(f"{folder} has no {STATE}, but parquet files: {len(files)}; {mend}")
    return folder / STATE


def _lines(labels: PartialLabels, names: list[str], as_csv: bool) -> Iterator[str]:
    if as_csv:
        yield ",".join(_ROW)
    for name, sides in zip(names, base.pairs(labels), strict=True):
        lists = [s if s is None else [labels.classes[c] for c in s] for s in sides]
        if as_csv:
            cells = ["" if s is None else json.dumps(s, ensure_ascii=False) for s in lists]
            yield ",".join(map(base.cell, [name, *cells]))
        else:
            yield json.dumps(dict(zip(_ROW, [name, *lists], strict=True)), ensure_ascii=False)


def _names(schema: pa.Schema) -> tuple[str, ...] | None:
    """The names of ClassLabel; None if the lists hold names."""
    stored = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    features = stored.get("info", {}).get("features", {})
    given = [features[name] for name in _SIDES if name in features]
    kinds = [one[0] if isinstance(one, list) else one.get("feature", {}) for one in given]
    found = {tuple(kind["names"]) for kind in kinds if kind.get("_type") == "ClassLabel"}
    if len(found) > 1:
        raise BadInput("present and absent have different ClassLabel names; give both the same")
    return next(iter(found), None)


def _table_of(path: Path) -> pa.Table:
    """The rows of a parquet file, or of the folder that holds state.json."""
    if path.name != STATE:
        shard = re.search(r"-\d+-of-0*(\d+)\.", path.name)
        if shard is not None and shard[1] != "1":
            noting(path)(
                f"it is one of {shard[1]} parts, and the others are not read; join the parts to "
                "read all"
            )
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            size = sum(
                8 * chunk.num_values + max(0, chunk.total_uncompressed_size)
                for chunk in base.chunks(file)
            )
            base.check_memory(size, path, "the table")
            return file.read()
    tables, state = [], json.loads(path.read_bytes())
    if state.get("_indices_data_files"):
        raise BadInput("it selects some of its rows; call flatten_indices and save it again")
    for entry in state["_data_files"]:
        part = path.with_name(entry["filename"])  # raises ValueError for another folder
        with pa.OSFile(str(part)) as source, pa.ipc.open_stream(source) as stream:
            tables.append(stream.read_all())
    return pa.concat_tables(tables)


def _rows_of(path: Path) -> pa.Table:
    """The rows of a metadata file, in any spelling of `simkit.labels.tables`."""
    if path.suffix.lower() == ".jsonl":
        schema = pa.schema({"file_name": pa.string(), **dict.fromkeys(_SIDES, _LIST)})
        options = arrow_json.ParseOptions(schema, unexpected_field_behavior="ignore")
        with suppress(pa.ArrowInvalid):  # ten times faster, but strict, and its errors name no row
            table = arrow_json.read_json(path, arrow_json.ReadOptions(block_size=_BLOCK), options)
            if table["present"].null_count < len(table) and not table["file_name"].null_count:
                return table
    table = read_table(path)
    columns = {}
    usual = {key(name): name for name in (*_ROW, "image")}
    for column in table.columns:
        name = usual.get(key(column.name), column.name)
        if name not in _SIDES:
            if name == "file_name" and "" in column.texts and path.suffix.lower() == ".jsonl":
                raise column.refused("", "the path of an image is expected")
            columns[name] = column.array
            continue
        lists = [_names_in(column, text) if text else None for text in column.texts]
        columns[name] = pa.array(lists, _LIST).take(pa.array(column.codes))
    return pa.table(columns)


def _names_in(column: Column, text: str) -> list[str]:
    """The class names in a cell. Raises BadInput."""
    try:
        names = json.loads(text)
    except ValueError:
        names = listed(text)  # as Python or numpy print a list
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise column.refused(text, 'a list of class names, as in ["cat", "dog"], is expected')
    return names
