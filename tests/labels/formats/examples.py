"""Labels that use everything a format may have to hold."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.effort import Effort
from simkit.labels.formats import Format, names
from simkit.labels.partial import PartialLabels

READ_ONLY = {"coco-panoptic"}
WRITABLE = [name for name in names() if name not in READ_ONLY]

EFFORT = Effort({"verify": np.array([0, 5, 3])}, np.array([0, 4, 0, 0, 1, 0, 0]), 3, {"search": 2})
HISTORY = History("simulate", {"scheme": "rpa(keep=0.1)", "images": 0.5}, 7, ("0123456789abcdef",))


def target(part: Format, folder: Path) -> Path:
    """Where a format would write."""
    if part.name == "npy-triple":
        return folder / "formatted_train_labels_obs.npy"
    return folder / f"x{part.suffixes[0]}"


def labels(
    N: int = 60, L: int = 7, *, ids: Any = None, asked: Any = None, keep: float = 0.3, seed: int = 0
) -> PartialLabels:
    """Random labels of N images: some without a label, some of those asked about."""
    rng = np.random.default_rng(seed)
    codes = rng.choice([1, -1, 0], (N, L), p=[keep / 2, keep / 2, 1 - keep]).astype(np.int8)
    codes[rng.random(N) < 0.3] = 0
    names = [f'class, "{c}" é' for c in range(L)]
    marked = rng.random(N) < 0.5 if asked is None else asked
    return PartialLabels.of(codes, ids, names, marked, effort=EFFORT, history=HISTORY)


def gaps(N: int, seed: int = 0) -> np.ndarray:
    """Ids of N images in no order and with gaps."""
    return np.random.default_rng(seed).choice(10 * N, N, replace=False)


def same(one: PartialLabels, two: PartialLabels) -> bool:
    """Whether everything is equal, history and effort included."""
    return (
        one.id == two.id
        and one.images.dtype.kind == two.images.dtype.kind
        and one.history.to_json() == two.history.to_json()
        and one.effort.to_json() == two.effort.to_json()
    )


def as_table(labels: PartialLabels) -> dict[tuple[str, str], int]:
    """The known labels by the text of image and class."""
    codes = labels.codes.tocoo()
    rows, columns = codes.coords
    return {
        (str(labels.images[i]), labels.classes[c]): int(code)
        for i, c, code in zip(rows, columns, codes.data, strict=True)
    }


def refuses(read: Callable[[Path], Any], path: Path, word: str) -> None:
    """Reading raises one sentence that names the file and contains `word`."""
    with pytest.raises(BadInput) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message and word in message and len(message.splitlines()) == 1


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)  # what UTF-8 can hold


@st.composite
def partial_labels(
    draw: st.DrawFn, codes: tuple[int, ...] = (1, -1, 0), ids: st.SearchStrategy | None = None
) -> PartialLabels:
    """Labels with these codes of up to 6 images and 5 classes; ids are numbers or text."""
    N, L = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    row = st.lists(st.sampled_from(codes), min_size=L, max_size=L)
    matrix = draw(st.lists(row, min_size=N, max_size=N))
    numbers = st.integers(-(2**63), 2**63 - 1)
    chosen = ids if ids is not None else draw(st.sampled_from([numbers, _TEXT]))
    images = draw(st.lists(chosen, min_size=N, max_size=N, unique_by=_as_kept))
    classes = draw(st.lists(_TEXT, min_size=L, max_size=L, unique_by=_as_kept))
    return PartialLabels.of(matrix, images, classes)


def complete_labels() -> st.SearchStrategy[PartialLabels]:
    """Labels without an unknown entry."""
    return partial_labels((1, -1))


def _as_kept(value: int | str) -> int | str:
    return value.rstrip("\0") if isinstance(value, str) else value  # numpy lets go of such ends
