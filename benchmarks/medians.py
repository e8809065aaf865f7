"""How fast label medians are, against a loop of np.median over boolean masks.

    python benchmarks/medians.py                 # 5k x 20 classes and 20k x 80 classes, D = 2,048
    python benchmarks/medians.py --size large    # also 1.7 M x 500 from files, with its memory
    python benchmarks/medians.py --quick --json  # within 50 seconds; the last line is JSON

Measured is `medians`, which `LabelMedians.build` calls, on one thread in seconds of processor time;
in a run, ours and theirs take turns on the same float32 features and labels, and the medians are
compared: they are equal to the last bit. At the large size fp16 features are written to files of
1,024 rows first (7 GB in --folder), a process of its own takes the medians from them, and some
classes are compared with np.median. With SIMKIT_DATA real features and labels are measured too.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from simkit.embed.feature_files import MappedRows
from simkit.embed.unit_features import UnitFeatures
from simkit.learn.inputs import FeatureInputs
from simkit.learn.label_embeddings import LabelMedians

# Images, classes, labels present per image.
SIZES = {"5,011 x 20": (5_011, 20, 1.46)}
MORE = {"20k x 80": (20_000, 80, 2.9)}
LARGE = (1_700_000, 500, 6.0)
WIDTH = 2_048
ROWS = 1_024  # in a file
BAR = 3


def example(N: int, L: int, per_image: float, seed: int = 0) -> csc_array:
    """Labels with a long tail; every class is present once at least."""
    rng = np.random.default_rng(seed)
    share = 1 / (np.arange(L) + 5)
    share = share / share.sum() * per_image
    rows = [np.unique(np.append(rng.integers(N), rng.integers(N, size=int(p * N)))) for p in share]
    columns = np.repeat(np.arange(L), [len(r) for r in rows])
    return csc_array((np.ones(len(columns), bool), (np.concatenate(rows), columns)), (N, L))


def unit(N: int, width: int) -> NDArray[np.float32]:
    rows = np.abs(np.random.default_rng(1).standard_normal((N, width), np.float32))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def real() -> dict[str, tuple[NDArray[np.float32], csc_array]]:
    """Features and labels of photographs, where SIMKIT_DATA is set."""
    data = Path(os.environ.get("SIMKIT_DATA", ""))
    found = {}
    for name in ("voc12-animals", "coco-mini") if "SIMKIT_DATA" in os.environ else ():
        with np.load(data / "features" / f"{name}-mobilenet_v2-gap.npz") as arrays:
            rows, files = arrays["features"].astype(np.float32), arrays["file_names"].tolist()
        place, pairs = {file: n for n, file in enumerate(files)}, set()
        for split in ("train", "val", "test"):
            text = (data / "images" / name / f"instances_{split}.json").read_text()
            facts = json.loads(text)
            image = {one["id"]: place[Path(one["file_name"]).name] for one in facts["images"]}
            pairs |= {(image[a["image_id"]], a["category_id"]) for a in facts["annotations"]}
        classes = sorted({c for _, c in pairs})
        n, c = np.array([(n, classes.index(c)) for n, c in sorted(pairs)]).T
        present = csc_array((np.ones(len(n), bool), (n, c)), (len(rows), len(classes)))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        case = f"{name}, {len(rows):,} x {len(classes)}, D = {rows.shape[1]:,}"
        found[case] = rows, present
    return found


def class_loop(features: NDArray[np.float32], present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The usual way: a mask and np.median for each class."""
    return np.stack([np.median(features[present[:, c]], axis=0) for c in range(present.shape[1])])


def contest(case: str, features: Any, present: csc_array) -> tuple[dict[str, Any], bool]:
    """Ours against the loop, in turns."""
    dense = present.toarray()
    LabelMedians.of(features[:, :8], present)
    ours, theirs, found, other = measuring.turns(
        lambda: LabelMedians.of(features, present), lambda: class_loop(features, dense), 3
    )
    values = present.nnz * features.shape[1]
    row = {"case": case, "shape": (*present.shape, features.shape[1]), "values": values}
    row |= measuring.speed(ours, theirs)
    # np.median of float32 takes the mean of two middles in float32; ours is in float64.
    return row, bool(np.array_equal(found.astype(np.float32), other.astype(np.float32)))


def large(folder: Path, images: int) -> dict[str, Any]:
    """Features in files, and their medians in a process of its own."""
    base = np.abs(np.random.default_rng(2).standard_normal((ROWS, WIDTH))).astype(np.float16)
    rng = np.random.default_rng(3)
    stored = np.lib.format.open_memmap(
        folder / "features.npy", "w+", dtype=np.float16, shape=(images, WIDTH)
    )
    for number in range(-(-images // ROWS)):
        count = min(ROWS, images - number * ROWS)
        turned = np.roll(base, rng.integers(WIDTH), axis=1)[rng.permutation(ROWS)[:count]]
        stored[number * ROWS :][:count] = turned * np.float16(1 + number % 7)
    stored.flush()
    program = [sys.executable, __file__, "--one", str(folder), "--images", str(images)]
    answer = subprocess.run(program, check=True, capture_output=True, text=True)
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def one_large(folder: Path, images: int) -> dict[str, Any]:
    """What `large` runs: open the file, reset the high-water mark of memory, measure."""
    _, L, per_image = LARGE
    features = UnitFeatures(
        FeatureInputs(cast(Any, MappedRows((folder / "features.npy",))), "generated"),
        np.arange(images),
        "medians",
    )
    present = example(images, L, per_image)
    measuring.forget_peak()
    start = time.perf_counter()
    seconds, psi = measuring.timed(LabelMedians.of, features, present)
    wall = time.perf_counter() - start
    used = measuring.peak_mb()  # everything, parts of files that are mapped included
    equal = True
    for c in (0, L // 2, L - 1):
        rows = present.indices[present.indptr[c] : present.indptr[c + 1]]
        some = np.median(features.block(np.sort(rows), slice(0, 4)), axis=0)
        equal &= bool(np.array_equal(some.astype(np.float32), psi[c, :4].astype(np.float32)))
    row = {"case": f"{images:,} x {L} from files", "shape": (images, L, WIDTH)}
    row |= {"values": present.nnz * WIDTH, "ours": seconds, "wall": wall, "equal": equal}
    return row | {"memory_mb": used}


def table(rows: list[dict[str, Any]]) -> None:
    lines = []
    for row in rows:
        cells = [row["case"], f"{row['values']:,}", f"{row['ours']:,.3f}", "", "", ""]
        if "theirs" in row:
            cells[3:] = f"{row['theirs']:,.3f}", f"{row['ratio']:.1f}", f"{row['median ratio']:.1f}"
        cells += [f"{row['ours'] / row['values'] * 1e9:.1f}"]
        lines.append([*cells, f"{row['memory_mb']:,.0f}" if "memory_mb" in row else ""])
    heads = ("case", "values", "s", "loop, s", "times as fast", "by medians", "ns per value", "MB")
    measuring.table(heads, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=("small", "large"), default="small")
    parser.add_argument("--images", type=int, default=LARGE[0], help="how many at the large size")
    parser.add_argument("--folder", help="where 7 GB of files may be written for a while")
    parser.add_argument("--quick", action="store_true", help="the small sizes")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one_large(given.one, given.images)))
        return
    rows, equal = [], True
    sizes = SIZES if given.quick else SIZES | MORE
    cases = {
        f"{case}, D = {WIDTH:,}": (unit(s[0], WIDTH), example(*s)) for case, s in sizes.items()
    }
    for case, (features, present) in {**real(), **cases}.items():
        row, same = contest(case, features, present)
        rows, equal = [*rows, row], equal and same
    if given.size == "large":
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            rows.append(large(Path(folder), given.images))
        equal = equal and rows[-1]["equal"]
    table(rows)
    print(f"the same medians: {equal}")
    ratios = {row["case"]: row["ratio"] for row in rows if "ratio" in row}
    measuring.against(ratios, BAR, theirs="a loop of np.median over the rows of each class")
    measuring.finish(
        "medians",
        as_json=given.json,
        equal=equal,
        ratios=ratios,
        sizes={row["case"]: row["shape"] for row in rows},
        memory_mb={row["case"]: row["memory_mb"] for row in rows if "memory_mb" in row},
    )


if __name__ == "__main__":
    main()
