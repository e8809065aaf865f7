"""Image ids, class names and rows of labels, as files spell them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import whole
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import image_ids

LONGEST_ID = 1024  # letters; numpy keeps every text as long as the longest
BLOCK = 1 << 22  # bytes of a CSV file that are parsed at a time; changes no result
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")  # how a number is written that is an id
_INT64 = range(-(2**63), 2**63)
_QUOTE = '"'
_QUOTED = re.compile(r'[",\r\n]')


def text_ids(values: Sequence[str] | NDArray[Any]) -> NDArray[Any]:
    """Text as an array of image ids.

    Raises
    ------
    BadInput
        For ids longer than 1024 letters, or one that is far longer than all others: the array
        takes the longest for each.
    """
    longest = max(values, key=len, default="")
    if len(longest) > LONGEST_ID or len(values) * len(longest) > (1 << 24) + 64 * sum(
        map(len, values)
    ):
        raise BadInput(
            f"image id {longest[:20]!r}... has {len(longest)} letters; 1024 are allowed, and less "
            "where all others are short: shorten it"
        )
    return image_ids(np.array(values, dtype=str))


def ids_of(names: Sequence[str]) -> NDArray[Any]:
    """Image ids from text: numbers if all are written without leading zeros, otherwise text."""
    if all(_is_number(name) for name in names):
        return np.array([int(name) for name in names], np.int64)
    return text_ids(names)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and int(text) in _INT64


def file_names(images: NDArray[Any], pattern: str) -> list[str]:
    """Names of picture files.

    Parameters
    ----------
    images
        (N,) image ids.
    pattern
        The name with the id in place of {}, as in "{:012d}.jpg".

    Raises
    ------
    BadInput
        For a pattern that does not take ids, gives two of them one name, or makes names of more
        than 1,024 letters.
    """
    names: list[str] = []
    try:
        specs = "".join(spec or "" for _, _, spec, _ in Formatter().parse(pattern))
        # "{:99999999999d}" would fill the memory, and so could a width inside a width.
        widths = [int(digits[:9]) for digits in re.findall(r"[0-9]+", specs)]
        if max([len(pattern), *widths]) <= LONGEST_ID and "{" not in specs:
            names = [pattern.format(image) for image in images.tolist()]
    except (ValueError, IndexError, KeyError, AttributeError, TypeError):
        pass  # a pattern that takes no ids
    if len(set(names)) < len(images) or max(map(len, names)) > LONGEST_ID:
        raise BadInput(
            f"file names {pattern[:60]!r} cannot be made of image ids, are the same for several "
            "images or have more than 1,024 letters; write {} where the id belongs, or {:012d} for "
            "a number of twelve digits"
        )
    return names


def lost_ids(written: NDArray[Any], pattern: str = "{}") -> tuple[str, ...]:
    """A sentence on the ids (n,) that are written, if they do not read back as they are."""
    if pattern != "{}":
        return (f"the ids of {len(written):,} images, because {pattern!r} replaces them",)
    if len(written) and written.dtype.kind == "U" and all(map(_is_number, written.tolist())):
        return ("that ids are text, because all look like numbers and come back as such",)
    return ()


def distinct(names: Sequence[str], path: Path) -> tuple[str, ...]:
    """Class names, repeated ones numbered with a warning: ImageNet's "crane" and "crane (2)".

    For files that hold their classes in an order, so that the name only calls them.
    """
    if len(set(names)) == len(names):
        return tuple(names)
    taken, seen, out = set(names), dict[str, int](), list[str]()
    for name in names:
        new, number = name, seen.get(name, 0) + 1
        while number > 1 and (new := f"{name} ({number})") in taken:
            number += 1
        seen[name] = number
        taken.add(new)
        out.append(new)
    changed = [new for name, new in zip(names, out, strict=True) if name != new]
    shown = ", ".join(repr(new[:40]) for new in changed[:3]) + (" ..." if len(changed) > 3 else "")
    message = f"{path} names classes twice; the later ones are called {shown}"
    warnings.warn(message, stacklevel=2)
    return tuple(out)


def first_seen(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The different values in order of first appearance, and the place of each value among them."""
    different, first, place = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return different[order], rank[place]


def from_rows(
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    states: NDArray[Any],
    images: NDArray[Any],
    classes: tuple[str, ...],
) -> PartialLabels:
    """Partial labels from a long table.

    Parameters
    ----------
    rows, columns
        (m,) places of image and class.
    states
        (m,) +1 or -1.
    images
        (N,) ids.
    classes
        L names.

    Raises
    ------
    BadInput
        For other states, and where an image and a class occur together twice.
    """
    wrong = np.flatnonzero((states != 1) & (states != -1))
    if len(wrong):
        raise BadInput(
            f"state is {states[wrong[0]]} in row {wrong[0] + 1}; write +1 for present, "
            "-1 for absent and no row for unknown"
        )
    N, L = len(images), len(classes)
    codes = csr_array((states.astype(np.int8), (rows, columns)), shape=(N, L))
    if codes.nnz != len(rows):
        pairs = np.sort(rows.astype(np.int64) * L + columns)
        row, column = divmod(int(pairs[:-1][pairs[1:] == pairs[:-1]][0]), L)
        raise BadInput(
            f"image {images[row]} and class {classes[column]!r} occur together twice; keep one row"
        )
    return PartialLabels.of(codes, images, classes)


def rows_between(
    labels: PartialLabels, start: int, stop: int
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int8]]:
    """Image ids, class indices and states of the stored labels start..stop, image by image."""
    pointers = labels.codes.indptr
    first = int(np.searchsorted(pointers, start, "right")) - 1
    last = int(np.searchsorted(pointers, stop, "left"))
    lengths = np.diff(np.clip(pointers[first : last + 1], start, stop))
    part = slice(start, stop)
    images = np.repeat(labels.images[first:last], lengths)
    return images, labels.codes.indices[part].astype(np.int32), labels.codes.data[part]


def cell(text: str) -> str:
    """Text for a CSV file, quoted if necessary; the csv module leaves a carriage return bare."""
    return f'"{text.replace(_QUOTE, 2 * _QUOTE)}"' if _QUOTED.search(text) else text


def write_lines(path: str | PathLike[str], lines: Iterable[str]) -> None:
    """Write lines as UTF-8, whole or not at all. Raises BadInput."""
    try:
        with whole(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(f"{line}\n" for line in lines)
    except UnicodeEncodeError as error:
        raise BadInput(f"{error.object!r} cannot be written as UTF-8; rename it") from None


def read_columns(path: Path, names: Sequence[str]) -> list[tuple[list[str], NDArray[np.int32]]]:
    """Columns of a CSV file, read in blocks.

    Returns
    -------
    list
        For each of `names` the different texts in the order of their first rows, and (m,) the
        place of each row's text among them.

    Raises
    ------
    BadInput, ValueError, KeyError
        If there is no row, the file is no UTF-8 table, or a column is missing.
    """
    texts: list[list[pa.Array]] = [[] for _ in names]
    places: list[list[NDArray[np.int32]]] = [[] for _ in names]
    before = [0] * len(names)
    coded = pa.dictionary(pa.int32(), pa.string())
    with arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, coded),
            include_columns=list(names),
            strings_can_be_null=False,
        ),
    ) as reader:
        for batch in reader:
            for c, column in enumerate(batch.columns):
                texts[c].append(column.dictionary.cast(pa.large_string()))
                places[c].append(column.indices.to_numpy() + np.int32(before[c]))
                before[c] += len(column.dictionary)
    if not before[0]:
        raise BadInput("it has no row; give a file with labels")
    columns = []
    for text, place in zip(texts, places, strict=True):
        joined = pa.concat_arrays(text).dictionary_encode()  # unifying chunks is quadratic
        row = joined.indices.to_numpy()[np.concatenate(place)]
        columns.append((joined.dictionary.to_pylist(), row))
    return columns
