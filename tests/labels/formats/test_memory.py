"""Small files that unfold: the peak of memory stays within the file's size and about 100 MB."""

import ctypes
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.labels.formats import for_path, make
from simkit.labels.formats.base import MOST_ENTRIES, complete
from simkit.labels.formats.npz import write_truth
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from tests.labels.formats.examples import refuses
from tests.mutations import resident

ROOM = 100 << 20
NAME = "x" * 20_000  # a class name, or an id


def peak(action: Callable[[], object]) -> int:
    """Bytes that the process took more than before, at the most, where the system tells it."""
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # what was used before and is free would hide a peak
        ctypes.CDLL(None).malloc_trim(0)
    before = resident(reset=True)
    with suppress(BadInput):
        action()
    return resident() - before


def _parquet(path: Path, rows: int, **options: object) -> None:
    table = pa.table(
        {
            "image_id": pa.array(range(rows)),
            "class": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [NAME]).cast(
                "string"
            ),
            "state": pa.array(np.ones(rows, np.int8)),
        }
    )
    pq.write_table(table, path, compression="zstd", **options)


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}], ids=["dictionary", "plain"])
def test_a_long_class_name_in_many_rows_of_parquet(tmp_path: Path, options: dict) -> None:
    path = tmp_path / "x.parquet"
    _parquet(path, 30_000, **options)  # 600 MB of text
    assert path.stat().st_size < 400_000
    assert peak(lambda: make("parquet").read(path)) < ROOM
    if not options:
        assert make("parquet").read(path).classes == (NAME,)


@pytest.mark.slow
def test_a_name_as_long_as_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = pa.table(
        {"image_id": [1], "class": ["x" * 300_000_000], "state": pa.array([1], "int8")}
    )
    pq.write_table(table, path, compression="zstd")
    del table
    pa.default_memory_pool().release_unused()
    assert path.stat().st_size < 100_000
    refuses(make("parquet").read, path, "0.3 GB")
    assert peak(lambda: make("parquet").read(path)) < ROOM


def test_complete_labels_take_five_bytes_each() -> None:
    truth = Truth.of(np.eye(6_000, dtype=bool))
    entries = truth.shape[0] * truth.shape[1]
    assert peak(lambda: complete(truth)) < 5 * entries + ROOM // 2
    assert 5 * MOST_ENTRIES < 0.7e9


@pytest.mark.parametrize("name", ["coco", "mmpretrain", "npz"])
def test_few_objects_in_many_images_of_many_classes(tmp_path: Path, name: str) -> None:
    N = 16_000
    path = tmp_path / f"x{make(name).suffixes[0]}"
    if name == "coco":
        images = [{"id": i} for i in range(N)]
        categories = [{"id": c, "name": f"{c}"} for c in range(N)]
        path.write_text(json.dumps({"images": images, "categories": categories, "annotations": []}))
    elif name == "mmpretrain":
        pictures = [{"img_path": f"{i}", "gt_label": []} for i in range(N)]
        metainfo = {"classes": [f"{c}" for c in range(N)]}
        path.write_text(json.dumps({"metainfo": metainfo, "data_list": pictures}))
    else:
        write_truth(Truth.of(csr_array((N, N), dtype=bool)), path)
    refuses(for_path(path).read, path, "16,000 images x 16,000 classes are too many")
    assert peak(lambda: for_path(path).read(path)) < ROOM


def test_a_wide_table_of_very_many_columns(tmp_path: Path) -> None:
    path, L = tmp_path / "x.csv", 30_000
    path.write_text(f"image,{','.join(map(str, range(L)))}\n1{',1' * L}\n")
    assert peak(lambda: make("csl-csv").read(path)) < ROOM
    assert make("csl-csv").read(path).shape == (1, L)


def test_one_long_class_name_among_many(tmp_path: Path) -> None:
    classes = [*map(str, range(5_000)), NAME]  # of equal length all would be 400 MB
    given = PartialLabels.of(np.ones((1, len(classes)), np.int8), None, classes)
    make("mmpretrain").write(given, tmp_path / "x.json")
    assert peak(lambda: make("mmpretrain").read(tmp_path / "x.json")) < ROOM
    assert make("mmpretrain").read(tmp_path / "x.json").classes == given.classes
