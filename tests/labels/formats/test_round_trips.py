"""What is written comes back: all of it that the target holds, and the rest is said."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from simkit.errors import BadInput
from simkit.labels.formats import make
from simkit.labels.names import plain
from simkit.labels.partial import PartialLabels
from tests.labels.formats.examples import EFFORT, HISTORY, as_table, target


@st.composite
def any_labels(draw: Any) -> PartialLabels:
    """Small labels of every kind: nothing known, everything known, odd ids and names."""
    N, L = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    values = draw(st.sampled_from([[-1, 0, 1], [0, 1], [-1, 1], [0], [1], [-1]]))
    codes = draw(arrays(np.int8, (N, L), elements=st.sampled_from(values)))
    number = st.integers(-(2**63), 2**63 - 1)
    text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=4).map(plain)
    digits = number.map(str)
    kind = draw(st.sampled_from([number, text, digits]))
    ids = draw(st.lists(kind, min_size=N, max_size=N, unique=True))
    names = draw(st.lists(text, min_size=L, max_size=L, unique=True))
    asked = draw(arrays(bool, N))
    given = np.array(ids, np.int64) if isinstance(ids[0], int) else np.array(ids)
    return PartialLabels.of(codes, given, names, asked, effort=EFFORT, history=HISTORY)


def round_trip(name: str, labels: PartialLabels) -> PartialLabels:
    part = make(name)
    with TemporaryDirectory() as folder:
        path = target(part, Path(folder))
        part.write(labels, path)
        return part.read(path)


patient = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@pytest.mark.parametrize("name", ["parquet", "npz"])
@patient
@given(labels=any_labels())
def test_simkits_own_files_hold_everything(name: str, labels: PartialLabels) -> None:
    back = round_trip(name, labels)
    assert back.id == labels.id and make(name).loses(labels) == ()
    assert back.history == labels.history and back.effort.to_json() == labels.effort.to_json()


@pytest.mark.parametrize("name", ["csv", "openimages"])
@patient
@given(labels=any_labels())
def test_rows_hold_every_label(name: str, labels: PartialLabels) -> None:
    if not can_hold(name, labels):
        return
    assert as_table(round_trip(name, labels)) == as_table(labels)
    said = " ".join(make(name).loses(labels))
    silent = int((np.diff(labels.codes.indptr) == 0).sum())
    assert (f"{silent:,} images without a label" in said) == bool(silent)
    unused = labels.shape[1] - len(set(labels.codes.indices.tolist()))
    assert (f"{unused:,} classes without a label" in said) == bool(unused)


@pytest.mark.parametrize(
    "name", ["csl-csv", "npy-triple(negatives=true)", "npy-triple", "mmpretrain"]
)
@patient
@given(labels=any_labels())
def test_files_of_asked_images_hold_their_labels(name: str, labels: PartialLabels) -> None:
    if not labels.asked.any() or (name == "csl-csv" and not can_hold(name, labels)):
        return
    back, rows = round_trip(name, labels), labels.rows(labels.asked)
    said = " ".join(make(name).loses(labels))
    unknown, absent = int((rows == 0).sum()), int((rows == -1).sum())
    present_only = name == "npy-triple" or (name == "mmpretrain" and unknown)
    assert (back.rows(range(back.shape[0])) == (rows == 1 if present_only else rows)).all()
    assert back.images.astype(str).tolist() == labels.images[labels.asked].astype(str).tolist()
    assert back.asked.all() and (back.classes == labels.classes or "npy" in name)
    left_out = int((~labels.asked).sum())
    assert (f"{left_out:,} images about which no question was asked" in said) == bool(left_out)
    assert (f"{absent:,} absent labels" in said) == bool(absent and present_only)
    if name == "mmpretrain":
        assert (f"{unknown:,} labels of asked images are unknown" in said) == bool(unknown)


@pytest.mark.parametrize("name", ["csv", "csl-csv", "npy-triple", "mmpretrain", "openimages"])
@patient
@given(labels=any_labels())
def test_ids_that_change_their_kind_are_said(name: str, labels: PartialLabels) -> None:
    if not can_hold(name, labels):
        return
    same_kind = round_trip(name, labels).images.dtype.kind == labels.images.dtype.kind
    said = any("are read back as numbers" in each for each in make(name).loses(labels))
    assert said != same_kind


def can_hold(name: str, labels: PartialLabels) -> bool:
    """Whether there is anything to write, and nothing that the format refuses."""
    if name in ("openimages", "csl-csv") and "" in (*labels.classes, *labels.images.tolist()):
        return False
    return bool(labels.codes.nnz)


@pytest.mark.parametrize("name", ["csv", "openimages"])
@patient
@given(labels=any_labels())
def test_classes_that_change_their_order_are_said(name: str, labels: PartialLabels) -> None:
    if not can_hold(name, labels):
        return
    back = round_trip(name, labels).classes
    left = tuple(each for each in labels.classes if each in back)
    said = f"the order of {len(back):,} classes, because they come in the order of their first rows"
    assert (said in make(name).loses(labels)) == (back != left)


@pytest.mark.parametrize("name", ["csv", "csl-csv", "npy-triple", "mmpretrain", "openimages"])
def test_text_ids_become_numbers_where_the_last_text_is_left_out(name: str) -> None:
    labels = PartialLabels.of([[1], [1], [0]], ["1", "2", "a"])
    assert round_trip(name, labels).images.tolist() == [1, 2]
    assert "that ids are text, because all look like numbers and are read back as numbers" in make(
        name
    ).loses(labels)


@pytest.mark.parametrize("name", ["csv", "openimages"])
def test_labels_of_which_none_is_known_are_not_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no label is known"):
        make(name).write(PartialLabels.of([[0]], asked=[True]), tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []
