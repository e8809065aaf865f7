"""One coding of labels from Python: 1 present, 0 absent; nan, None and NA unknown."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import coo_array, csr_array

from simkit import metrics
from simkit.data.label_table import read_content
from simkit.errors import BadInput
from simkit.labels import formats
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.task import Task

NA, T, F = pd.NA, True, False
SHOWN = [[1, 0], [0, 1], [1, 1]]
COMPLETE = {
    "int": SHOWN,
    "bool": np.array(SHOWN, bool),
    "objects": np.array([[T, 0], [0.0, "1"], [1, "yes"]], object),
    "text": [["1", "0"], ["0.0", "1"], ["1", "1"]],
    "tensor": torch.tensor(SHOWN, dtype=torch.float32, requires_grad=True),
    "sparse tensor": torch.tensor(SHOWN).to_sparse(),
    "bfloat16": torch.tensor(SHOWN, dtype=torch.bfloat16),
    "frame": pd.DataFrame({"a": [1, 0, 1], "b": [F, T, T]}),
    "nullable": pd.DataFrame({"a": [1, 0, 1], "b": [0, 1, 1]}, dtype="Int64"),
    "booleans": pd.DataFrame({"a": [T, F, T], "b": [F, T, T]}, dtype="boolean"),
    "category": pd.DataFrame({"a": [1, 0, 1], "b": [0, 1, 1]}).astype("category"),
    "sparse frame": pd.DataFrame(SHOWN, columns=["a", "b"]).astype(pd.SparseDtype(int, 0)),
}  # fmt: skip
PARTIAL = {  # present, absent; unknown, present
    "array": np.array([[1, 0], [np.nan, 1]]),
    "objects": np.array([[1, F], [None, T]], object),
    "masked": np.ma.MaskedArray([[1, 0], [1, 1]], [[F, F], [T, F]]),
    "masked objects": np.ma.MaskedArray(np.array([["1", "0"], ["1", "1"]]), [[F, F], [T, F]]),
    "frame": pd.DataFrame({"a": [1, None], "b": [0, 1]}),
    "nullable": pd.DataFrame({"a": [1, NA], "b": [0, 1]}).astype("Int64"),
    "booleans": pd.DataFrame({"a": [T, NA], "b": [F, T]}).astype("boolean"),
    "object column": pd.DataFrame({"a": [T, None], "b": ["0", "1"]}),
    "category": pd.DataFrame({"a": [1, None], "b": [0, 1]}).astype("category"),
}


@pytest.mark.parametrize("form", COMPLETE)
def test_every_form_is_the_same_truth(form) -> None:
    classes = None if isinstance(COMPLETE[form], pd.DataFrame) else ["a", "b"]
    assert Truth.of(COMPLETE[form], classes=classes).id == Truth.of(SHOWN, None, ["a", "b"]).id


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_sparse_tensors_are_read_as_matrices_of_scipy(layout) -> None:
    kind = {"layout": getattr(torch, layout)}
    tensor = torch.tensor(SHOWN).to_sparse(**kind)
    assert Truth.of(tensor).id == Truth.of(SHOWN).id
    assert PartialLabels.of(tensor).id == PartialLabels.of(coo_array(SHOWN)).id
    assert PartialLabels.of(torch.tensor([[1, -1]]).to_sparse(**kind)).counts()["absent"] == 1
    scores = np.array([[0.9, 0.8], [0.1, 0.7], [0.2, 0.9]])
    ap = metrics.average_precision(scores, tensor)
    assert ap.tolist() == metrics.average_precision(scores, np.array(SHOWN)).tolist()


def test_columns_that_pandas_numbered_name_no_classes() -> None:
    frame = pd.DataFrame(SHOWN)
    scores = pd.DataFrame([[0.9, 0.8], [0.1, 0.7], [0.2, 0.9]])
    truth = Truth.of(frame)
    assert truth.id == Truth.of(SHOWN).id
    assert PartialLabels.from_pandas(frame).classes == ("class-0", "class-1")
    assert metrics.average_precision(scores, truth).tolist() == [1, (1 + 2 / 3) / 2]
    with pytest.raises(BadInput, match=r"pass frame.to_numpy\(\) and frame.index$"):
        PartialLabels.of(frame)
    numbered = pd.DataFrame(SHOWN, columns=[10, 20])
    with pytest.raises(BadInput, match=r"class 10 is not text.* (frame.rename\(columns=str\))$"):
        Truth.of(numbered)
    assert Truth.of(numbered.rename(columns=str)).classes == ("10", "20")


@pytest.mark.parametrize("form", PARTIAL)
def test_blanks_are_unknown(form) -> None:
    truth = Truth.of(PARTIAL[form])
    assert truth.rows([0, 1]).tolist() == [[T, F], [F, T]]
    assert truth.known_rows([0, 1]).tolist() == [[T, T], [F, T]]
    assert not Truth.of(PARTIAL[form], known=[[0, 1], [1, 1]]).known_rows([0])[0, 0]
    if isinstance(frame := PARTIAL[form], pd.DataFrame):
        labels = PartialLabels.from_pandas(frame.set_axis(["x.jpg", "y.jpg"]))
        assert labels.rows([0, 1]).tolist() == [[1, -1], [0, 1]]
        assert labels.images.tolist() == ["x.jpg", "y.jpg"] and labels.classes == ("a", "b")


def test_the_meaning_of_minus_one_is_decided_stated_or_asked_for() -> None:
    both = pd.DataFrame({"a": [1, -1], "b": [0, 1]})
    for read in (Truth.of, PartialLabels.from_pandas):
        with pytest.warns(UserWarning, match="-1 is read as unknown, because .*: 1 "):
            read(both)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(both, minus="unknown")
        with pytest.raises(BadInput, match="both 0 and -1, so minus=absent is wrong"):
            read(both, minus="absent")
        with pytest.raises(BadInput, match=r"no cell is 0, so -1 .* add minus=absent or minus=unk"):
            read(both.replace(0, -1))
        with pytest.raises(BadInput, match="minus=no is not understood"):
            read(both, minus="no")
    alone = both.replace(0, -1)
    assert Truth.of(alone, minus="absent").known is None
    assert Truth.of(alone, minus="unknown").known_rows([0, 1]).tolist() == [[T, F], [F, T]]
    assert PartialLabels.from_pandas(alone, minus="absent").counts()["absent"] == 2
    # In an array 0 may be unknown and -1 absent, as in PartialLabels.
    with pytest.raises(BadInput, match=r"-1, which may .*: present = codes == 1, known ="):
        Truth.of(both.to_numpy())
    assert Truth.of(both.to_numpy(), minus="unknown").known_rows([1]).tolist() == [[F, T]]


@pytest.mark.parametrize(
    ("state", "minus", "rows"),
    [
        ([1, -1], "", [[1, 0], [0, -1]]),  # as to_pandas writes it
        ([1, 0], "", [[1, 0], [0, -1]]),
        ([T, F], "", [[1, 0], [0, -1]]),
        (["1", "0"], "", [[1, 0], [0, -1]]),
        (["present", None], "", [[1, 0], [0, 0]]),
        ([0, -1], "unknown", [[-1, 0], [0, 0]]),
        ([1, -1], "unknown", [[1, 0], [0, 0]]),
    ],
)
def test_states_of_a_long_table(state, minus, rows) -> None:
    frame = pd.DataFrame({"image": ["x", "y"], "class": ["a", "b"], "state": state})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert PartialLabels.from_pandas(frame, minus=minus).rows([0, 1]).tolist() == rows
    unknown = sum(row == [0, 0] for row in rows)
    assert any("state is unknown: 1 of 2" in str(each.message) for each in caught) == bool(unknown)
    with pytest.raises(BadInput, match='both are absent; add minus="unknown" if 0 means absent'):
        PartialLabels.from_pandas(frame.assign(state=[0, -1]))


def _truth(truth: Truth) -> int:
    known = truth.known is None or truth.known.toarray()[0, 0]
    return (2 * int(truth.present.toarray()[0, 0]) - 1) * int(known)


def _of_file(ending: str, values: np.ndarray, folder: Path, *, long: bool = False) -> int:
    frame = _long(values) if long else _wide(values)
    file = folder / f"table{ending}"
    frame.to_csv(file, index=not long, index_label=None if long else "file")
    if long:
        return formats.for_path(file).read(file).rows([0])[0, 0]
    content = read_content(file)
    known = None if content.known is None else csr_array(content.known)
    return _truth(Truth.of(content.present, known=known))


def _wide(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, ["x.jpg", "y.jpg"], ["a", "b"]).infer_objects()


def _long(values: np.ndarray) -> pd.DataFrame:
    images, classes = ["x.jpg", "x.jpg", "y.jpg", "y.jpg"], ["a", "b", "a", "b"]
    state = pd.Series(values.ravel()).infer_objects()
    return pd.DataFrame({"image_id": images, "class": classes, "state": state})


# In the table of docs/data.md: each reads the first cell of a matrix or table.
READERS = {
    "`PartialLabels.of`, `Task`: arrays, tensors": lambda v, _: PartialLabels.of(v).rows([0])[0, 0],
    "`Truth.of`: arrays, tensors": lambda v, _: _truth(Truth.of(v)),
    "`Truth.of`: frames": lambda v, _: _truth(Truth.of(_wide(v))),
    "`PartialLabels.from_pandas`: wide frames":
        lambda v, _: PartialLabels.from_pandas(_wide(v)).rows([0])[0, 0],
    "`PartialLabels.from_pandas`: long tables":
        lambda v, _: PartialLabels.from_pandas(_long(v)).rows([0])[0, 0],
    "files with a column for each class": lambda v, folder: _of_file(".csv", v, folder),
    "files with columns image, class, state":
        lambda v, folder: _of_file(".csv", v, folder, long=True),
}  # fmt: skip
VALUES = {"1": (1, 1), "0": (0, 1), "-1": (-1, 1), "-1 beside 0": (-1, 0), "nan": (np.nan, 1),
          "True": (True, True), "False": (False, True)}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reader", READERS)
def test_the_table_of_codings_says_how_each_reader_reads(reader, tmp_path) -> None:
    said = []
    for value, beside in VALUES.values():
        values = np.array([[value, beside], [True, True]])
        try:
            state = READERS[reader](values, tmp_path)
            said.append({1: "present", 0: "unknown", -1: "absent"}[int(state)])
        except BadInput:
            said.append("refused")
    text = (Path(__file__).parents[2] / "docs" / "data.md").read_text("utf-8")
    assert f"| {reader} | {' | '.join(said)} |" in text, said
    assert f"| {' | '.join(f'`{value}`' for value in VALUES)} |" in text
    if "of`" in reader and "frames" not in reader:
        for sparse in (csr_array([[1, 0], [0, 1]]), torch.tensor([[1, 0], [0, 1]]).to_sparse()):
            assert Task(sparse).labels.counts() == {"present": 2, "absent": 0, "unknown": 2}
        with pytest.raises(BadInput, match=r"frame; PartialLabels\.from_pandas"):
            Task(_wide(values))


def test_a_forgotten_column_is_named_and_the_mend_works() -> None:
    frame = pd.DataFrame({"file": ["x.jpg", "y.jpg"], "a": [1, 0], "b": [0, 1]})
    for read in (Truth.of, PartialLabels.from_pandas):
        with pytest.raises(BadInput, match=r"'file' holds 'x.jpg'.* frame.set_index\('file'\)"):
            read(frame)
        assert read(frame.set_index("file")).images.tolist() == ["x.jpg", "y.jpg"]
    with pytest.raises(BadInput, match="image, class and state"):
        PartialLabels.from_pandas(frame, classes=["a", "b"])


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        (np.array([[T, F]]), r"labels are bool; .*numpy.where\(labels, 1, -1\) if False is absent"),
        (np.array([[1, np.nan]]), r"labels hold nan; .*numpy.nan_to_num\(labels\)"),
        (pd.DataFrame({"a": [1, -1]}), r"labels are a frame; PartialLabels.from_pandas\(frame\)"),
    ],
)
def test_codes_of_another_coding_are_refused(codes, words) -> None:
    with pytest.raises(BadInput, match=words):
        PartialLabels.of(codes)


def test_zeros_without_any_minus_one_are_noted() -> None:
    with pytest.warns(UserWarning, match="no -1; zeros read as unknown: 2; .*numpy.where"):
        assert PartialLabels.of(np.eye(2, dtype=int)).counts()["unknown"] == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PartialLabels.of(csr_array(np.eye(2)))
        PartialLabels.of(np.array([[1, 0, -1]]))


def test_a_tensor_without_values_is_refused() -> None:
    with pytest.raises(BadInput, match="device meta has no values"):
        Truth.of(torch.zeros(2, 2, device="meta"))
