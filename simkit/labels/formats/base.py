"""What a label format is, and what all readers and writers share."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tokenize import TokenError
from typing import ClassVar, Protocol, runtime_checkable
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import readable
from simkit.labels import partial
from simkit.labels.formats.tables import lost_ids
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth, frozen, sealed
from simkit.registry import Registry

MOST_ENTRIES = 1 << 27  # of a matrix that is written or labelled completely: 0.7 GB
_PIECE = 1 << 20  # entries that are dense at a time


class Format(Protocol):
    """A kind of label file: a frozen dataclass whose fields, if any, are settings for writing."""

    name: ClassVar[str]
    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    mark: ClassVar[bytes]  # what tells such files from others of the same suffix; b"": the rest
    holds: ClassVar[str]  # what it holds of partial labels and what it cannot hold, in words

    def read(self, path: str | PathLike[str]) -> PartialLabels:
        """The labels in the file. Raises BadInput."""
        ...

    def write(self, labels: PartialLabels, path: str | PathLike[str]) -> None:
        """Write the whole file or nothing. Raises BadInput."""
        ...

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """What of these labels such a file cannot hold: a sentence with numbers for each loss."""
        ...


@runtime_checkable
class WritesTruth(Protocol):
    """A format that may hold the truth beside the labels."""

    def write_with_truth(
        self, labels: PartialLabels, path: str | PathLike[str], truth: Truth
    ) -> None:
        """Write both. Raises BadInput, also where the truth is about other images or classes."""
        ...


@runtime_checkable
class SeveralFiles(Protocol):
    """A format whose labels are in several files."""

    def files(self, path: str | PathLike[str]) -> tuple[Path, ...]:
        """Those that belong to `path`, written or not. Raises BadInput."""
        ...


formats: Registry[Format] = partial.formats
register = formats.register
names = formats.names
get = formats.__getitem__
make = formats.make


def for_path(path: str | PathLike[str], *, writing: bool = False) -> Format:
    """The format of a file, by its suffix and, if several share it, by its first and last bytes.

    Parameters
    ----------
    path
        The file.
    writing
        It is about to be written, so that its present content does not matter.

    Raises
    ------
    BadInput
        If no format has the suffix.
    """
    suffix = Path(path).suffix.lower()
    candidates = [form for form in formats if suffix in form.suffixes]
    if not candidates:
        known = ", ".join(sorted({suffix for form in formats for suffix in form.suffixes}))
        raise BadInput(
            f"{path} has the ending {suffix!r}, which is of no label format; known are {known}"
        )
    seen = b"" if writing or len(candidates) == 1 else ends(Path(path))
    marked = [form for form in candidates if form.mark and re.search(form.mark, seen)]
    plain = [form for form in candidates if not form.mark]
    return (marked or plain or candidates)[0]()


def ends(path: Path) -> bytes:
    """The first and the last 64 kB of a file; nothing if it cannot be read."""
    try:
        with path.open("rb") as stream:
            head = stream.read(1 << 16)
            stream.seek(max(path.stat().st_size - (1 << 16), len(head)))
            return head + stream.read()
    except OSError:
        return b""


@contextmanager
def reading(path: str | PathLike[str], what: str) -> Iterator[Path]:
    """Turn any error that a broken file raises inside the block into one BadInput.

    Parameters
    ----------
    path
        The file, which the sentence names.
    what
        What it should hold.
    """
    file = readable(path, what)
    try:
        yield file
    except BadInput as error:
        sentence = " ".join(str(error).split())  # ids and names may hold line breaks
        reason = sentence if str(file) in str(error) else f"{file}: {sentence}"
    except (MemoryError, RecursionError):
        reason = f"{file} is nested too deeply or too large to be read; {_AGAIN}"
    except UnicodeError:
        reason = f"{file} is not UTF-8 text, but {what} is expected; {_AGAIN}"
    except PermissionError:
        reason = f"{file} may not be read; change its permissions"
    except _BROKEN as error:
        said = " ".join(str(error).split())[:160].rstrip(". ") or type(error).__name__
        reason = f"{file} cannot be read as {what} ({said}); {_AGAIN}"
    else:
        return
    raise BadInput(reason) from None


_AGAIN = "write it again or fetch it again"
# RuntimeError is an encrypted zip file; the last two, because numpy reads headers as Python.
_BROKEN = (
    OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError, RuntimeError,
    OverflowError, BadZipFile, zlib.error, csv.Error, pa.ArrowException, TokenError, SyntaxError,
)  # fmt: skip


def check_memory(needed: int, path: Path, what: str) -> None:
    """Raise BadInput where a field of a small file asks for very much memory (in bytes)."""
    if needed > (64 << 20) + 64 * path.stat().st_size:
        raise BadInput(
            f"{path}: {what} would need {needed / 1e9:,.1f} GB, more than such a file can hold; "
            + _AGAIN
        )


def asked_rows(labels: PartialLabels, path: str | PathLike[str] = "") -> PartialLabels:
    """The labels of the asked images, for files whose every image is trained on.

    Parameters
    ----------
    labels
        Of all images.
    path
        A file that will hold every entry, so that their number is limited.

    Raises
    ------
    BadInput
        If no image was asked about, or a file would hold more than 2**27 entries.
    """
    if not labels.asked.any():
        raise BadInput(
            "no image was asked about, and such a file holds asked images only; simulate with a "
            "larger amount or write parquet"
        )
    N, L = int(labels.asked.sum()), labels.shape[1]
    if path and N * L > MOST_ENTRIES:
        raise BadInput(
            f"{path}: {N:,} images x {L:,} classes are too many for a file that holds every entry; "
            "write parquet"
        )
    return labels if labels.asked.all() else labels.of_images(labels.images[labels.asked])


def check_any_label(labels: PartialLabels) -> None:
    """Raise BadInput where no label is known: a file of rows would be empty, which none reads."""
    if not labels.codes.nnz:
        raise BadInput(
            "no label is known, and such a file holds known labels only; simulate with a larger "
            "amount or write parquet"
        )


def lost_with_asked_rows(labels: PartialLabels, file: str) -> tuple[str, ...]:
    """Losses of files of asked images, which call an image by the pattern `file`."""
    unasked = int((~labels.asked).sum())
    because = "about which nobody was asked, because every image is trained on"
    lost = [f"{unasked:,} images {because}"] if unasked else []
    return (*lost, *lost_ids(labels.images[labels.asked], file), *lost_provenance(labels))


def lost_with_label_rows(
    labels: PartialLabels, *, ordered_classes: bool = False
) -> tuple[str, ...]:
    """Losses of files with a row for each label.

    Parameters
    ----------
    labels
        What is written.
    ordered_classes
        Another file lists all classes; otherwise they come in the order of their first rows.
    """
    labelled = np.diff(labels.codes.indptr) > 0
    silent, asked = int((~labelled).sum()), int((labels.asked & ~labelled).sum())
    lost = []
    if silent:
        lost.append(
            f"{silent:,} images without a label, {asked:,} of them asked about, because every row "
            "is a label"
        )
    used, first = np.unique(labels.codes.indices, return_index=True)
    unused = labels.shape[1] - len(used)
    if unused and not ordered_classes:
        lost.append(f"{unused:,} classes without a label, because every row is a label")
    if (np.diff(first) < 0).any() and not ordered_classes:
        lost.append(
            f"the order of {len(used):,} classes, because they come in the order of their first "
            "rows"
        )
    return (*lost, *lost_ids(labels.images[labelled]), *lost_provenance(labels))


def lost_provenance(labels: PartialLabels) -> tuple[str, ...]:
    """Effort and history, which all formats but simkit's own lose."""
    lost = []
    if labels.effort.kinds():
        lost.append(
            "what people were asked, and with it the cost, because only parquet and npz hold it"
        )
    if labels.history.command != "given":
        lost.append("the history, because only parquet and npz hold it")
    return tuple(lost)


def complete(truth: Truth, difficult: csr_array | None = None) -> PartialLabels:
    """Every known entry of a truth as a label.

    Made in pieces, so that the peak of memory is what the labels take.

    Parameters
    ----------
    truth
        Of (N, L) entries.
    difficult
        (N, L) bool: entries that stay unknown unless they are present.

    Raises
    ------
    BadInput
        Above 2**27 entries.
    """
    N, L = truth.shape
    if N * L > MOST_ENTRIES:
        raise BadInput(
            f"{N:,} images x {L:,} classes are too many to label each of them; "
            "open the file as a data set and simulate a scheme on it"
        )
    present = truth.present
    hidden = None if difficult is None else csr_array(difficult > present)
    if truth.known is None:
        codes = _every_entry(present, hidden)
    else:
        known = csr_array(truth.known + present)
        known = known if hidden is None else csr_array(known > hidden)
        codes = csr_array(2 * present.astype(np.int8) - known.astype(np.int8))
    asked = sealed(np.ones(N, bool))
    return PartialLabels(frozen(codes), asked, truth.images, truth.classes)


def _every_entry(present: csr_array, hidden: csr_array | None) -> csr_array:
    """(N, L) +1 where `present`, nothing where `hidden`, -1 elsewhere."""
    N, L = present.shape
    size = N * L - (0 if hidden is None else hidden.nnz)
    columns, codes = np.empty(size, np.int32), np.empty(size, np.int8)
    pointers = np.zeros(N + 1, np.int32)
    step = max(1, _PIECE // L)
    for start in range(0, N, step):
        rows = slice(start, start + step)
        piece = 2 * present[rows].toarray().astype(np.int8) - 1
        if hidden is not None:
            piece[hidden[rows].toarray()] = 0
        stored = piece != 0
        stop = start + len(piece)
        pointers[start + 1 : stop + 1] = pointers[start] + np.cumsum(stored.sum(1))
        part = slice(pointers[start], pointers[stop])
        columns[part] = np.broadcast_to(np.arange(L, dtype=np.int32), piece.shape)[stored]
        codes[part] = piece[stored]
    return csr_array((codes, columns, pointers), shape=(N, L))
