"""Small data sets in the layouts of their owners, as {name below a folder: content}."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from simkit import data
from simkit.data.voc import CLASSES
from simkit.errors import BadInput


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write all files below `folder`."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def jpeg(shade: int, size: tuple[int, int] = (20, 10)) -> bytes:
    """A grey picture."""
    stream = io.BytesIO()
    Image.new("RGB", size, (shade, shade, shade)).save(stream, "jpeg")
    return stream.getvalue()


def coco_like(
    folder: Path, name: str, count: int, start: int = 0, *, kind: str, **changed: Any
) -> Path:
    """Image i shows class i % 3 at x = i (none where that is 2) in a picture of shade start + i."""
    (folder / "pictures").mkdir(exist_ok=True)
    images, rows = [], list[dict[str, Any]]()
    for i in range(count):
        file = f"{start + i}.png"
        Image.new("RGB", (8, 6), (start + i, 0, 0)).save(folder / "pictures" / file)
        images.append({"id": start + i, "file_name": file, "width": 8, "height": 6})
        seen = {"category_id": 1 + i % 3, "bbox": [i, 1, 2, 3]}
        of_image = {"segments_info": [seen]} if kind == "coco-panoptic" else seen
        rows += [{"image_id": start + i, **of_image}] if i % 3 < 2 else []
    categories = [{"id": c + 1, "name": name} for c, name in enumerate(["cat", "car", "dog"])]
    values = {"annotations": rows, "images": images, "categories": categories}
    (folder / name).write_text(json.dumps(values | changed))
    return folder / name


def voc(
    states: Mapping[str, np.ndarray],
    images: Mapping[str, Sequence[str]],
    *,
    root: str = "",
) -> dict[str, bytes]:
    """Image sets: states[list] (N, 20) of -1, 0 and 1 for images[list]."""
    files = {}
    for name, codes in states.items():
        for c, kind in enumerate(CLASSES):
            lines = [f"{i} {s:2d}\n" for i, s in zip(images[name], codes[:, c], strict=True)]
            files[f"{root}ImageSets/Main/{kind}_{name}.txt"] = "".join(lines).encode()
    return files


def voc_xml(objects: Sequence[tuple[str, int, Sequence[float]]]) -> bytes:
    """The annotation of a picture of 20 x 10 pixels; boxes are xmin, ymin, xmax, ymax."""
    inner = "".join(
        f"<object><name>{name}</name><difficult>{hard}</difficult><bndbox><xmax>{x1}</xmax>"
        f"<xmin>{x0}</xmin><ymin>{y0}</ymin><ymax>{y1}</ymax></bndbox><part><name>head</name>"
        "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part></object>"
        for name, hard, (x0, y0, x1, y1) in objects
    )
    size = "<size><width>20</width><height>10</height><depth>3</depth></size>"
    return f"<annotation>\n{size}\n{inner}\n</annotation>\n".encode()


def cifar(train: int = 30, test: int = 10) -> dict[str, bytes]:
    """Picture i of a file has the fine class 7 i % 100; its pixels are random."""
    rng = np.random.default_rng(0)
    names = "".join(f"fine_{c:02d}\n" for c in range(100)).encode()
    files = {"fine_label_names.txt": names}
    for split, count in (("train", train), ("test", test)):
        records = rng.integers(0, 256, (count, 3074), dtype=np.uint8)
        records[:, 1] = np.arange(count) * 7 % 100
        files[f"{split}.bin"] = records.tobytes()
    return files


def nus_wide(labels: Mapping[str, np.ndarray], concepts: Sequence[str]) -> dict[str, bytes]:
    """labels["Train"] and labels["Test"] (N, L) bool; images n are in list order."""
    files = {"ConceptsList/Concepts81.txt": "".join(f"{c}\r\n" for c in concepts).encode()}
    listed = []
    for split, present in labels.items():
        own = [f"{concepts[i % len(concepts)]}\\{split}_{i}.jpg" for i in range(len(present))]
        listed += own
        files[f"ImageList/{split}Imagelist.txt"] = "".join(f"{n}\n" for n in own).encode()
        for c, concept in enumerate(concepts):
            column = "".join(f"{int(v)}\n" for v in present[:, c])
            files[f"Groundtruth/TrainTestLabels/Labels_{concept}_{split}.txt"] = column.encode()
    everything = np.concatenate(list(labels.values()))
    order = np.random.default_rng(0).permutation(len(listed))
    files["ImageList/Imagelist.txt"] = "".join(f"{listed[i]}\n" for i in order).encode()
    for c, concept in enumerate(concepts):
        column = "".join(f"{int(v)}\n" for v in everything[order, c])
        files[f"Groundtruth/AllLabels/Labels_{concept}.txt"] = column.encode()
    return files


def cub(seen: np.ndarray, certainty: np.ndarray, training: Sequence[int]) -> dict[str, bytes]:
    """seen, certainty (N, L); image i has the number i + 1."""
    N, L = seen.shape
    answers = [
        f"{i + 1} {a + 1} {seen[i, a]} {certainty[i, a]} 1.5{'' if (i + a) % 7 else ' 0 0'}\n"
        for i in range(N)
        for a in range(L)
    ]
    return {
        "images.txt": "".join(f"{i + 1} 001.Bird/Bird_{i}.jpg\n" for i in range(N)).encode(),
        "train_test_split.txt": "".join(
            f"{i + 1} {int(i in training)}\n" for i in range(N)
        ).encode(),
        "attributes/attributes.txt": "".join(
            f"{a + 1} has_bill_shape::curved_(up_or_down)_{a}\n" for a in range(L)
        ).encode(),
        "attributes/image_attribute_labels.txt": "".join(answers).encode(),
    }


def refused(spec: str, *parts: str) -> None:
    """Opening `spec` is refused by a message with all these parts."""
    with pytest.raises(BadInput) as error:
        data.open(spec)
    assert all(part in str(error.value) for part in parts), error.value
