"""The interface of label formats, and functions shared by all readers and writers."""

from __future__ import annotations

import codecs
import re
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from simkit.errors import BadInput, examples, noting
from simkit.files import AGAIN, AnyPath, whole
from simkit.labels import partial
from simkit.labels.cells import offered
from simkit.labels.names import matches, note_classes, note_same, path_key, plain
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import Truth, image_ids, never_beside_another, sealed
from simkit.registry import Registry

MOST_ENTRIES = 1 << 27  # of a matrix that is written or labelled completely: 0.7 GB
LONGEST_ID = 1024  # letters; numpy pads every text to the longest
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")  # the spelling of numeric ids
_INT64 = range(-(2**63), 2**63)
_QUOTE = '"'
_QUOTED = re.compile(r'[",\r\n]')


class Format(Protocol):
    """A kind of label file: a frozen dataclass whose fields, if any, are settings for writing.

    mark: regex that identifies such files among the same suffix; b"": fallback.
    The docstring says which parts of partial labels such a file holds, and which are lost.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    mark: ClassVar[bytes] = b""

    def read(self, path: AnyPath) -> PartialLabels:
        """The labels in the file. Raises BadInput."""
        ...

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write the whole file or nothing. Raises BadInput."""
        ...

    def loses(self, labels: PartialLabels) -> tuple[str, ...]:
        """The parts of these labels that such a file loses: a phrase with numbers for each."""
        return ()

    def files(self, path: AnyPath) -> tuple[Path, ...]:
        """All files that belong to `path`, existing or not; cards are named after the first.

        Raises BadInput.
        """
        return (Path(path),)


formats: Registry[Format] = partial.formats
names = formats.names
get = formats.__getitem__
make = formats.make
F = TypeVar("F", bound=Format)


@dataclass_transform(frozen_default=True)
def register(form: type[F]) -> type[F]:
    """Class decorator: register a format under its `name`, as a frozen dataclass."""
    formats.register_frozen(form)
    return form


def for_path(path: AnyPath, *, writing: bool = False) -> Format:
    """The format of a file, by its suffix and, if several share it, by its first and last bytes.

    Parameters
    ----------
    path : path
        The file.
    writing : bool, default False
        The file is about to be written, so its present content is ignored.

    Returns
    -------
    Format

    Raises
    ------
    BadInput
        If no format has the suffix.
    """
    suffix = Path(path).suffix.lower()
    candidates = [form for form in formats if suffix in form.suffixes]
    if not candidates:
        if not writing and Path(path).is_dir():
            kind = "npy-triple" if any(Path(path).glob("*.npy")) else "hf"
            mend = f"simkit convert {shlex.quote(str(path))} labels.parquet --from {kind}"
            raise BadInput(f"{path} is a folder; write its labels to a file with: {mend}")
        suffixes = ", ".join(sorted({suffix for form in formats for suffix in form.suffixes}))
        raise BadInput(
            f"{path} has the ending {suffix!r}, which no label format has; use one of {suffixes}"
        )
    seen = b"" if writing or len(candidates) == 1 else ends(Path(path))
    marked = [form for form in candidates if form.mark and re.search(form.mark, seen)]
    plain = [form for form in candidates if not form.mark]
    return (marked or plain or candidates)[0]()


def ends(path: Path) -> bytes:
    """The first and the last 64 kB of a file, in UTF-8 if it is UTF-16; empty if unreadable."""
    try:
        with path.open("rb") as stream:
            head = stream.read(1 << 16)
            stream.seek(max(path.stat().st_size - (1 << 16), len(head)))
            both = head + stream.read()
            if both.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                both = both.decode("utf-16", "ignore").encode()
            return both.removeprefix(codecs.BOM_UTF8)
    except OSError:
        return b""


def with_images(path: AnyPath) -> str:
    """How to read a table of labels of another form."""
    command = f"simkit simulate --data folder:IMAGES,labels={path} --scheme full-subset"
    return f"other tables are read with their images: {command}"


def check_memory(needed: int, path: Path, what: str) -> None:
    """Raise BadInput where a field of a small file would need very much memory (in bytes)."""
    if needed > (64 << 20) + 64 * path.stat().st_size:
        size = f"{needed / 1e9:,.1f} GB"
        raise BadInput(f"{path}: {what} would need {size}, more than it can hold; {AGAIN}")


def chunks(file: pq.ParquetFile) -> list[pq.ColumnChunkMetaData]:
    """The metadata of all column chunks of a parquet file."""
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    return [group.column(c) for group in groups for c in range(group.num_columns)]


def asked_rows(labels: PartialLabels, path: AnyPath = "") -> PartialLabels:
    """The labels of the asked images, for formats whose users train on every image in the file.

    Parameters
    ----------
    labels : PartialLabels
        The labels of all images.
    path : path, optional
        A dense file to be written, whose number of entries is limited.

    Returns
    -------
    PartialLabels

    Raises
    ------
    BadInput
        If no image was asked about, or a file would hold more than 2**27 entries.
    """
    if not labels.asked.any():
        raise BadInput("no image was asked about, and the file holds only those; write parquet")
    N, L = int(labels.asked.sum()), labels.shape[1]
    if path and N * L > MOST_ENTRIES:
        size = f"{N:,} images x {L:,} classes"
        raise BadInput(f"{path} holds every entry, too many of {size}; write parquet")
    return labels if labels.asked.all() else labels.of_images(labels.images[labels.asked])


def check_any_label(labels: PartialLabels) -> None:
    """Raise BadInput where no label is known: a file without rows could not be read back."""
    if not labels.codes.nnz:
        raise BadInput("no label is known, and the file holds only those; write parquet")


def losses(
    labels: PartialLabels,
    counted: Mapping[str, int],
    written: NDArray[Any] | None = None,
    file: str = "{}",
) -> tuple[str, ...]:
    """What a file of these labels loses, effort and history included.

    Parameters
    ----------
    labels : PartialLabels
        The labels to be written.
    counted : mapping of str to int
        Phrases with N in place of a number; those of the number 0 are left out.
    written : (n,) int or str, optional
        The ids in the file; by default all ids are kept as they are.
    file : str
        The pattern of their names; see `file_names`.

    Returns
    -------
    tuple of str
        One phrase per loss.
    """
    lost = [phrase.replace("N", f"{number:,}", 1) for phrase, number in counted.items() if number]
    ids = np.zeros(0) if written is None else written
    if file != "{}":
        lost.append(f"the ids of {len(ids):,} images, because {file!r} replaces them")
    elif len(ids) and ids.dtype.kind == "U" and all(map(_is_number, ids.tolist())):
        lost.append("that ids are text, because all look like numbers and are read back as numbers")
    if labels.effort.kinds():
        lost.append(
            "the questions asked, and with them the cost, because only parquet and npz hold them"
        )
    if labels.history.command != "given":
        lost.append("the history, because only parquet and npz hold it")
    return tuple(lost)


def lost_with_asked_rows(
    labels: PartialLabels, file: str, counted: Mapping[str, int] = MappingProxyType({})
) -> tuple[str, ...]:
    """Losses of files of asked images; see `losses`."""
    because = "about which no question was asked, because every image is trained on"
    unasked = {f"N images {because}": int((~labels.asked).sum())}
    return losses(labels, {**counted, **unasked}, labels.images[labels.asked], file)


def lost_with_label_rows(
    labels: PartialLabels, *, ordered_classes: bool = False
) -> tuple[str, ...]:
    """Losses of files with one row per label.

    Parameters
    ----------
    labels : PartialLabels
        The labels to be written.
    ordered_classes : bool
        Whether another file lists all classes; otherwise classes are in the order of their first
        rows.

    Returns
    -------
    tuple of str
        One phrase per loss.
    """
    labelled = np.diff(labels.codes.indptr) > 0
    asked = int((labels.asked & ~labelled).sum())
    silent = (
        f"N images without a label, {asked:,} of them asked about, because every row is a label"
    )
    counted = {silent: int((~labelled).sum())}
    if not ordered_classes:
        used, first = np.unique(labels.codes.indices, return_index=True)
        moved = len(used) if (np.diff(first) < 0).any() else 0
        counted |= {
            "N classes without a label, because every row is a label": labels.shape[1] - len(used),
            "the order of N classes, because they come in the order of their first rows": moved,
        }
    return losses(labels, counted, labels.images[labelled])


def lost_spelling(labels: PartialLabels) -> tuple[str, ...]:
    """What tables do not keep of names that differ from their plain form."""
    names = [*map(str, labels.images[labels.asked].tolist()), *labels.classes]
    changed = sum(name != plain(name) for name in names)
    why = "because outer spaces and invisible characters are left out"
    return (f"the spelling of {changed:,} names, {why}",) if changed else ()


def complete(truth: Truth, difficult: csr_array | None = None) -> PartialLabels:
    """Every known entry of a truth as a label.

    Parameters
    ----------
    truth : Truth
        (N, L).
    difficult : (N, L) bool csr_array, optional
        Entries that stay unknown unless they are present.

    Returns
    -------
    PartialLabels
        All images count as asked.

    Raises
    ------
    BadInput
        Above 2**27 entries.
    """
    N, L = truth.shape
    if N * L > MOST_ENTRIES:
        raise BadInput(
            f"{N:,} images x {L:,} classes are too many complete labels; simulate a scheme on them"
        )
    states = np.full((N, L), 0 if truth.known is not None else ABSENT, np.int8)
    for matrix, code in ((truth.known, ABSENT), (difficult, 0), (truth.present, PRESENT)):
        if matrix is not None:
            states[np.repeat(np.arange(N), np.diff(matrix.indptr)), matrix.indices] = code
    columns = np.tile(np.arange(L, dtype=np.int32), N)
    pointers = np.arange(0, N * L + 1, L, dtype=np.int32)
    codes = csr_array((states.ravel(), columns, pointers), shape=(N, L))
    codes.eliminate_zeros()
    asked = sealed(np.ones(N, bool))
    return PartialLabels(sealed(codes), asked, truth.images, truth.classes)


# -- image ids, class names and rows of labels in files -------------------------------------------


def text_ids(values: Sequence[str] | NDArray[Any], what: str = "image id") -> NDArray[Any]:
    """An array of image ids from text; `what` names them in the message.

    Raises
    ------
    BadInput
        For ids longer than 1024 letters, or one that is far longer than all others: the array
        pads each id to the longest.
    """
    longest = max(values, key=len, default="")
    if len(longest) > LONGEST_ID or len(values) * len(longest) > (1 << 24) + 64 * sum(
        map(len, values)
    ):
        raise BadInput(f"{what} {longest[:20]!r}... has {len(longest)} letters; shorten it")
    return image_ids(np.array(values, dtype=str))


def ids_of(names: Sequence[str], *, numbers: bool = True) -> NDArray[Any]:
    """Image ids from text: numbers if all are written without leading zeros, otherwise text.

    `names.matches` joins them to the ids of a data set whichever of the two they are there.
    """
    if numbers and all(map(_is_number, names)):
        return np.array([int(name) for name in names], np.int64)
    check_files(names)
    return text_ids(names)


def check_files(names: Sequence[str]) -> None:
    """Raise BadInput where two image ids are one file: ./a.jpg and a.jpg, or in Unicode forms."""
    text = "\n".join(names)
    if text.isascii() and "\\" not in text and "./" not in text and " " not in text:
        return  # the usual case
    first: dict[str, str] = {}
    for name in names:
        if first.setdefault(path_key(name), name) != name:
            both = f"{first[path_key(name)][:80]!a} and {name[:80]!a}"
            raise BadInput(f"image ids {both} name the same file; keep one")


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and int(text) in _INT64


def as_integer(value: Any) -> Any:
    """7 for the float 7.0, as programs with tables write it; any other value unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def file_names(images: NDArray[Any], pattern: str) -> list[str]:
    """Names of image files.

    Parameters
    ----------
    images : (N,) int or str
        Image ids.
    pattern : str
        The name with {} in place of the id, as in "{:012d}.jpg".

    Returns
    -------
    list of str
        N unique names.

    Raises
    ------
    BadInput
        For a pattern that does not take ids, gives two ids the same name, or makes names of more
        than 1,024 letters.
    """
    try:
        names = [pattern.format(image) for image in images.tolist()]
    except (ValueError, IndexError, KeyError, AttributeError, TypeError):
        names = []  # the pattern takes no ids
    if len(set(names)) < len(images) or max(map(len, names)) > LONGEST_ID:
        raise BadInput(
            f"{pattern[:60]!r} gives no image names that differ and have at most 1,024 letters; "
            "write {} in place of the id, or {:012d} for a number of twelve digits"
        )
    return names


def distinct(names: Sequence[str], path: Path) -> tuple[str, ...]:
    """Class names, repeated ones numbered with a warning: ImageNet's "crane" and "crane (2)".

    For files that identify classes by their index, not by their name.
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
    changed = [repr(new[:40]) for name, new in zip(names, out, strict=True) if name != new]
    message = f"{path} names classes twice; the later ones are called {examples(changed)}"
    warnings.warn(message, stacklevel=2)
    return tuple(out)


def note_classes_of(
    path: AnyPath, classes: Sequence[str], present: csr_array | None = None
) -> None:
    """Warn of class names in a file as `note_classes` does; present (N, L), to find more."""
    alone = () if present is None else never_beside_another(classes, present)
    note_classes(classes, noting(path), alone)


def from_rows(
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    states: NDArray[Any],
    *,
    images: NDArray[Any],
    classes: tuple[str, ...],
    asked: NDArray[np.bool_] | None = None,
) -> PartialLabels:
    """Partial labels from a long table.

    Parameters
    ----------
    rows, columns : (m,) int
        Indices of image and class.
    states : (m,) int
        +1 or -1.
    images : (N,) int or str
        Ids.
    classes : tuple of str
        L names.
    asked : (N,) bool, optional
        As in `PartialLabels.of`.

    Returns
    -------
    PartialLabels

    Raises
    ------
    BadInput
        For other states, and for two rows with the same image and class.
    """
    wrong = np.flatnonzero((states != 1) & (states != -1))
    if len(wrong):
        where = f"{states[wrong[0]]:g} in row {wrong[0] + 1}"
        raise BadInput(f"state is {where}; write +1 (present), -1 (absent) or no row (unknown)")
    codes = coo_array((states.astype(np.int8), (rows, columns)), (len(images), len(classes)))
    return PartialLabels.of(codes, images, classes, asked)


# -- lists of the present and of the absent classes of every image -------------------------------


def from_lists(
    images: NDArray[Any],
    sides: list[pa.ListArray],
    classes: tuple[str, ...] | None,
    path: AnyPath,
) -> PartialLabels:
    """Labels from lists; listed classes are known, all others unknown.

    Parameters
    ----------
    images : (N,) int or str
        Image ids.
    sides : list of pyarrow.ListArray
        N lists of present and N of absent classes, by name or by index; null for an image without
        questions.
    classes : tuple of str or None
        All names; None: those in the lists, sorted.
    path : path
        The file, for notes.

    Raises
    ------
    BadInput
        For an empty entry, and for a class that is not among the names.
    """
    rows = np.concatenate([lists.value_parent_indices().to_numpy() for lists in sides])
    listed = pa.chunked_array([lists.flatten() for lists in sides])
    states = np.repeat([PRESENT, ABSENT][: len(sides)], [len(chunk) for chunk in listed.chunks])
    if listed.null_count:
        raise BadInput("a list of classes has an empty entry; remove it")
    if pa.types.is_integer(listed.type):
        if classes is None:
            raise BadInput(
                "lists hold numbers, and no class is named; write names of classes, or ClassLabel"
            )
        columns, names = listed.to_numpy(), classes
        check_indices(sides[0].drop_null().to_pylist(), len(names))
        odd = columns[(columns < 0) | (columns >= len(names))]
        if len(odd):
            raise BadInput(f"a list holds class {odd[0]} of {len(names)} names; write ClassLabel")
    else:
        texts, codes = encoded(listed)
        names = tuple(sorted(merged(texts, codes, path)[0])) if classes is None else classes
        index = matches(names, texts, plain)
        unnamed = next((text for text, c in zip(texts, index, strict=True) if c < 0), None)
        if unnamed is not None:
            is_index = unnamed.isdecimal() and int(unnamed) < len(names)
            mend = "write an index without quotes" if is_index else "add it, or correct it"
            raise BadInput(f"class {unnamed!r} is listed, but not among the class names; {mend}")
        columns = index[codes]
    if not names:
        raise BadInput("no class is named in any list; add a list with names of classes")
    asked = np.any([lists.is_valid().to_numpy(False) for lists in sides], axis=0)
    return from_rows(rows, columns, states, images=images, classes=names, asked=asked)


def merged(
    names: Sequence[str], codes: NDArray[np.integer], path: AnyPath
) -> tuple[list[str], NDArray[np.int64]]:
    """Class names, with those that look alike merged, and the codes of the rows among them.

    The merged name is the plain spelling if it occurs, and otherwise the first.
    """
    first: dict[str, str] = {}
    for name in names:
        if plain(name) == name:
            first[name] = name
        first.setdefault(plain(name), name)
    kept = [*first.values()]
    pairs = [(name, first[plain(name)]) for name in names]
    note_same(pairs, "class names", noting(path))
    if joined := offered(kept):
        noting(path)(f"class names that may name several classes and count as one: {joined[1]!r}; "
                     f"write the names separately if {joined[0]!r} separates them")  # fmt: skip
    note_classes_of(path, kept)
    return kept, matches(kept, names, plain)[codes]


def check_indices(lists: Sequence[Sequence[Any]], L: int) -> None:
    """Raise BadInput for lists with a 0 or 1 for each class instead of indices of classes."""
    full = (len(each) == L and all(type(c) is int and c in (0, 1) for c in each) for each in lists)
    if L > 1 and all(full) and any([*each] != sorted({*each}) for each in lists):
        raise BadInput(
            f"every list has {L} entries of 0 and 1, one for each class; write the indices of the "
            "present classes"
        )


def pairs(labels: PartialLabels) -> Iterator[tuple[list[int] | None, list[int] | None]]:
    """Indices of the present and of the absent classes of each image; None where not asked."""
    starts = labels.codes.indptr.tolist()
    for i, asked in enumerate(labels.asked.tolist()):
        part = slice(starts[i], starts[i + 1])
        columns, present = labels.codes.indices[part], labels.codes.data[part] == PRESENT
        yield (columns[present].tolist(), columns[~present].tolist()) if asked else (None, None)


# -- text files -----------------------------------------------------------------------------------


def label_rows(
    labels: PartialLabels, names: Iterable[str], cell: Callable[[str], str]
) -> Iterator[tuple[str, str, int]]:
    """Cells of image and class and the code of each label, by image, then by class.

    names: a name for each class. Raises BadInput where no label is known: a file without rows could
    not be read back.
    """
    check_any_label(labels)
    images = np.array([cell(str(image)) for image in labels.images.tolist()], object)
    classes = np.array([cell(name) for name in names], object)
    rows = np.repeat(images, np.diff(labels.codes.indptr))
    return zip(rows, classes[labels.codes.indices], labels.codes.data.tolist(), strict=True)


def cell(text: str) -> str:
    """Text for a CSV file, quoted if necessary; the csv module leaves a carriage return bare."""
    return f'"{text.replace(_QUOTE, 2 * _QUOTE)}"' if _QUOTED.search(text) else text


def write_lines(path: AnyPath, lines: Iterable[str]) -> None:
    """Write lines as UTF-8, all or none. Raises BadInput."""
    try:
        with whole(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(f"{line}\n" for line in lines)
    except UnicodeEncodeError as error:
        raise BadInput(f"{error.object!r} cannot be written as UTF-8; rename it") from None


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a column that is stored as a dictionary or as views."""
    if pa.types.is_dictionary(column.type):
        return decoded(column.cast(column.type.value_type))
    return column.cast(pa.string()) if str(column.type) == "string_view" else column


def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. Raises BadInput for equal keys, of which the json module keeps the last."""
    values = dict(pairs)
    if len(values) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise BadInput(f"{twice[:100]!r} occurs twice in one object; keep one")
    return values


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text, also as a dictionary."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return str(value) in ("string", "large_string", "string_view")


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers or bools, also as a dictionary."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_primitive(value) and not pa.types.is_temporal(value)


def encoded(column: pa.ChunkedArray) -> tuple[list[str], NDArray[np.integer]]:
    """A text column as its unique values (all of its dictionary, if it has one) and codes.

    The code of an empty cell is -1.
    """
    codes = column if pa.types.is_dictionary(column.type) else decoded(column).dictionary_encode()
    array = codes.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # no rows at all
        return [], np.zeros(0, np.int32)
    return array.dictionary.to_pylist(), array.indices.fill_null(-1).to_numpy().astype(np.int32)
