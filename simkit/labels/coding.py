"""Labels of arrays and frames in one coding: 1 present, 0 absent; nan, None and NA unknown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, issparse

from simkit.errors import BadInput, noting
from simkit.labels.cells import (
    NUMBERINGS,
    UNKNOWN,
    Minus,
    decide_minus,
    doubtful,
    means_state,
    state,
)
from simkit.labels.names import key, plain


def is_frame(values: Any) -> bool:
    """Whether this is a pandas.DataFrame."""
    pandas = sys.modules.get("pandas")  # a caller with a frame has imported it
    return pandas is not None and isinstance(values, pandas.DataFrame)


def of_tensor(values: Any) -> Any:
    """A tensor as an array, and a sparse one as a scipy matrix; other values unchanged.

    Raises BadInput for a tensor without values, of the device "meta".
    """
    if not hasattr(values, "detach"):  # the check does not import torch
        return values
    if values.device.type == "meta":
        raise BadInput("a tensor on the device meta has no values; pass one on another device")
    values = values.detach().cpu()
    values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    if str(values.layout) == "torch.strided":
        return values.numpy()
    entries = values.to_sparse_coo().coalesce()
    places = tuple(entries.indices().numpy())
    return coo_array((entries.values().numpy(), places), shape=tuple(entries.shape))


def presence(values: Any, minus: Minus = "") -> Any:
    """Labels as people have them: sparse ones unchanged, others as (N, L) int8.

    Parameters
    ----------
    values : (N, L) array, lists, sparse matrix, tensor (also sparse) or pandas.DataFrame
        Numbers, bools or texts of a table; -1 as explained at `Truth.of`.
    minus : {"", "absent", "unknown"}
        Meaning of -1.

    Returns
    -------
    (N, L) int8 or sparse
        1 present, 0 absent, below 0 unknown.

    Raises
    ------
    BadInput
        For other values, and for a -1 whose meaning is open.
    """
    if is_frame(values) and (kinds := [*values.dtypes]):
        sparse = [getattr(kind, "fill_value", None) == 0 for kind in kinds]
        values = values.sparse.to_coo() if all(sparse) else values
    values = of_tensor(values)
    if issparse(values):
        return values
    codes = states(values, "a truth")
    if is_frame(values):
        _check_columns(values)
    elif (codes == -1).any() and (not minus or (minus == "absent" and (codes == 0).any())):
        raise BadInput(
            "a truth holds -1, which may mean absent or unknown: 0 (absent), 1 (present) and nan "
            'are expected; add minus="unknown", or minus="absent" if nothing is 0, or translate '
            "codes in which 0 is unknown: present = codes == 1, known = codes != 0"
        )
    return decided(codes, minus)


def decided(codes: NDArray[np.int8], minus: Minus) -> NDArray[np.int8]:
    """The codes of a frame as `decide_minus` changes them; a note if 0 decides it."""
    if not minus and (number := int((codes == -1).sum())) and (codes == 0).any():
        noting("the frame", 4)(
            f"-1 is read as unknown, because 0 means absent: {number:,} cells; write 0 there if "
            "their -1 means absent"
        )
    decide_minus(codes, minus)
    return codes


def _check_columns(frame: Any) -> None:
    """Refuse columns of a frame that number the images, and warn of others that are no classes."""
    texts = dict[str, list[str]]()
    for c, name in enumerate(map(str, frame.columns)):
        column = frame.iloc[:, c]
        if key(name) in NUMBERINGS and column.is_unique:
            raise BadInput(
                f"column {name!r} numbers the images; frame.set_index({name!r}) makes it their "
                f"ids, and frame.drop(columns={name!r}) leaves it out"
            )
        if (kind := column.dtype.kind) in "biuf":
            texts[name] = ["true" if kind == "b" else "1"]
        elif len(present := column.dropna()):
            texts[name] = [*map(str, present.unique())]
    if sentence := doubtful(texts):
        noting("the frame", 5)(sentence)


def states(values: Any, what: str = "labels") -> NDArray[np.int8]:
    """(N, L) labels as in `presence`: 1, 0, -1 for a -1, and `UNKNOWN` for unknown."""
    framed = is_frame(values)

    def refused(value: Any, c: int) -> BadInput:
        shown = repr(value) if isinstance(value, str) else str(value)
        where, hint = what, ""
        if framed:
            where = f"column {(name := values.columns[c])!r}"
            if not isinstance(value, float) or value.is_integer():
                hint = (f"; of counts pass frame.clip(upper=1), or frame.set_index({name!r}) if "
                        "this column names the images")  # fmt: skip
        return BadInput(
            f"{where} holds {shown[:60]}; 1 (present), 0 (absent) and nan (unknown) are "
            f"expected{hint}"
        )

    if not framed:
        array = dense(values)
        columns = [] if array.dtype.kind in "biuf" else [*array.T]
    else:
        kinds = {kind.kind if isinstance(kind, np.dtype) else "O" for kind in values.dtypes}
        numbers = kinds <= {*"biuf"}
        columns = [] if numbers else [values.iloc[:, c] for c in range(values.shape[1])]
        # Of bools and numbers together pandas would make objects.
        array = values.to_numpy(None if len(kinds) == 1 else np.float64) if numbers else values
    if columns:
        return np.stack([_of_column(each, c, refused) for c, each in enumerate(columns)], axis=1)
    if array.dtype.kind == "b":
        return array.astype(np.int8)
    out = np.full(array.shape, UNKNOWN, np.int8)
    for value in (1, 0, -1):
        out[array == value] = value
    odd = (out == UNKNOWN) & ~np.isnan(array)
    if odd.any():
        row, column = np.argwhere(odd)[0].tolist()
        raise refused(array[row, column], column)
    return out


def _of_column(column: Any, c: int, refused: Callable[[Any, int], BadInput]) -> NDArray[np.int8]:
    """A column of any type; each different value is read as the text of a table would be."""
    import pandas as pd

    places, values = pd.factorize(np.asarray(column, object))  # -1 for nan, None and NA
    codes = np.full(len(values) + 1, UNKNOWN, np.int8)
    for place, value in enumerate(values):
        if not means_state(text := plain(str(value))):
            raise refused(value, c)
        code = state(text)
        codes[place] = UNKNOWN if code is None else code
    return codes[places]


def unmasked(values: Any) -> Any:
    """A masked array with nan (None among objects) where it is masked; others unchanged."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    text = values.dtype.kind in "OU"
    return np.ma.filled(values.astype(object if text else float), None if text else np.nan)


def dense(values: Any, kinds: str = "biufOU") -> NDArray[Any]:
    """A matrix of numbers, bools, objects or text. Raises BadInput for anything else."""
    try:
        array = np.asarray(unmasked(of_tensor(values)))
    except (ValueError, TypeError):  # rows of different lengths
        array = np.array(None)
    return checked(array, kinds)


def checked(matrix: Any, kinds: str = "biuf") -> Any:
    """The same matrix, dense or sparse. Raises BadInput for other dimensions or types."""
    if len(matrix.shape) != 2 or matrix.dtype.kind not in kinds:
        raise BadInput(
            f"labels are {matrix.dtype} of shape {matrix.shape}; a matrix of numbers, images x "
            "classes, is expected"
        )
    return matrix
