"""Votes from the files people have: a table in CSV or parquet, or numpy arrays."""

from __future__ import annotations

from csv import Error as UnclearTable
from csv import reader
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.people.votes import YES, Votes
from simkit.errors import BadInput
from simkit.labels.formats.base import reading
from simkit.labels.formats.npz import Arrays

COLUMNS = ("image", "class", "worker", "answer")
_GOLD = {"no": 0, "yes": 1, "0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1, "": -1}
_ANSWERS = {"maybe": 1, **{text: 2 * code for text, code in _GOLD.items() if text}}
_WHAT = "votes (.csv or .parquet with image, class, worker, answer, or .npz)"


def read(path: str | PathLike[str]) -> Votes:
    """The votes in a file; its ending says which kind it is. Raises BadInput.

    .csv, .parquet  one row for each vote: image, class, worker, answer (no, maybe or yes; 0 and 1
                    count as no and yes) and, where there is one, gold (no or yes, the same in all
                    rows of a question, empty where no expert was asked). Other columns are ignored,
                    and so are blanks around names and answers.
    .npz            arrays question_image, question_class (Q,), vote_question, vote_rater and
                    vote_answer (V,) with 0 no, 1 maybe, 2 yes; if there, class_names, and what
                    experts say: gold_image, gold_class (G,), gold_expert_question,
                    gold_expert_answer (E,), of which the majority counts, a tie as not asked. The
                    layout of the votes behind the reassessed labels of ImageNet (Beyer et al.,
                    2020).
    """
    ending = Path(path).suffix.lower()
    if ending not in (".npz", ".csv", ".parquet", ".pq"):
        raise BadInput(f"{path} has the ending {ending!r}; give votes as .csv, .parquet or .npz")
    with reading(path, _WHAT) as found:
        if ending == ".npz":
            with ZipFile(found) as archive:
                return _from_arrays(Arrays(archive, found))
        columns = _csv(found) if ending == ".csv" else _parquet(found)
        return _from_columns(columns)


def _from_arrays(arrays: Arrays) -> Votes:
    images, image = np.unique(arrays.whole("question_image"), return_inverse=True)
    codes, of_class = np.unique(arrays.whole("question_class"), return_inverse=True)
    raters, worker = np.unique(arrays.whole("vote_rater"), return_inverse=True)
    answer = arrays.whole("vote_answer")
    strange = ~np.isin(answer, (0, 1, 2))
    if strange.any():
        raise BadInput(f"vote_answer is {answer[strange][0]}; 0 (no), 1 (maybe) or 2 is expected")
    if len(codes) and "class_names" in arrays:
        names = arrays.names()
        if not 0 <= codes[0] <= codes[-1] < len(names):
            raise BadInput(
                f"class_names has {len(names)} texts, question_class goes from {codes[0]} to "
                f"{codes[-1]}; give one text for each class"
            )
        classes = tuple(names[code] for code in codes.tolist())
    else:
        classes = tuple(map(str, codes.tolist()))
    gold = np.full(len(image), -1, np.int8)
    if "gold_image" in arrays:
        _add_gold(arrays, gold)
    return Votes(
        images=images,
        classes=classes,
        workers=tuple(map(str, raters.tolist())),
        question_image=image,
        question_class=of_class,
        vote_question=arrays.whole("vote_question"),
        vote_worker=worker,
        vote_answer=answer.astype(np.int8),
        gold=gold,
    )


def _add_gold(arrays: Arrays, gold: NDArray[np.int8]) -> None:
    """Write down what the majority of experts says; experts' other questions are passed over, and
    as many yes as no are no answer."""
    asked = zip(*(arrays.whole(f"question_{part}").tolist() for part in _PAIR), strict=True)
    places = {pair: place for place, pair in enumerate(asked)}
    pairs = zip(*(arrays.whole(f"gold_{part}").tolist() for part in _PAIR), strict=True)
    about = arrays.whole("gold_expert_question")
    says = arrays.whole("gold_expert_answer") == YES
    known = [places.get(pair, -1) for pair in pairs]
    if len(about) != len(says) or (len(about) and not 0 <= about.min() <= about.max() < len(known)):
        raise BadInput(
            f"gold_expert_question has {len(about)} places among {len(known)} gold questions and "
            f"gold_expert_answer {len(says)} answers; one of each per expert's answer is expected"
        )
    lead = np.bincount(about, np.where(says, 1, -1), minlength=len(known))
    at = np.array(known, np.int64)
    use = (at >= 0) & (lead != 0)
    gold[at[use]] = lead[use] > 0


_PAIR = ("image", "class")


def _csv(path: Path) -> dict[str, tuple[list[str], NDArray[np.int64]]]:
    import pyarrow as pa
    from pyarrow import csv

    with path.open("rb") as stream:
        head = stream.readline(1 << 16).decode("utf-8-sig").strip()
    try:
        names = [name.strip() for name in next(reader([head], skipinitialspace=True), [])]
    except UnclearTable as error:
        raise ValueError(str(error)) from None
    wanted = list(_wanted(names))
    table = csv.read_csv(
        path,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.dictionary(pa.int32(), pa.string())),
            include_columns=wanted,
            strings_can_be_null=False,
        ),
        read_options=csv.ReadOptions(use_threads=False, column_names=names, skip_rows=1),
    )
    return {name: _coded(table[name]) for name in wanted}


def _parquet(path: Path) -> dict[str, tuple[list[str], NDArray[np.int64]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            wanted = _wanted(file.schema_arrow.names)
            if file.metadata.num_rows > 1_000_000 + 500 * path.stat().st_size:
                raise ValueError(f"it says it has {file.metadata.num_rows} rows")
        # Texts stay in their dictionary: spelled out in each row they could fill the memory.
        own = list(wanted.values())
        table = pq.read_table(path, columns=own, read_dictionary=own)
        return {name: _coded(_as_dictionary(table[each])) for name, each in wanted.items()}
    except pa.ArrowException as error:  # some kinds are no OSError or ValueError
        raise ValueError(str(error)) from None


def _as_dictionary(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        return column
    return pc.cast(column, pa.string()).dictionary_encode()


def _wanted(names: list[str]) -> dict[str, str]:
    """The columns that are read, each with its name as it is spelled in the file."""
    bare = [name.strip() for name in names]
    missing = [name for name in COLUMNS if name not in bare]
    if missing:
        has = ", ".join(name[:40] for name in bare[:12])
        raise BadInput(
            f"the column {missing[0]!r} is missing; the file has {has}, and one row for each vote "
            f"with {', '.join(COLUMNS)} is expected"
        )
    wanted = [*COLUMNS, *(["gold"] if "gold" in bare else [])]
    for name in wanted:
        if bare.count(name) > 1:
            raise BadInput(f"there are {bare.count(name)} columns {name!r}; keep one of them")
    return {name: names[bare.index(name)] for name in wanted}


def _coded(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """The different texts of a column, and the place among them for each row; nothing is ""."""
    array = column.unify_dictionaries().combine_chunks()
    if not len(array):
        return [], np.zeros(0, np.int64)
    if hasattr(array, "chunks"):  # some versions of pyarrow leave one chunk inside
        array = array.chunk(0)
    found = ["" if text is None else str(text).strip() for text in array.dictionary.to_pylist()]
    texts = {text: place for place, text in enumerate(dict.fromkeys([*found, ""]))}
    places = np.array([texts[text] for text in [*found, ""]], np.int64)
    indices = array.indices.fill_null(len(found)).to_numpy().astype(np.int64)
    used, rows = np.unique(places[indices], return_inverse=True)
    names = list(texts)
    return [names[place] for place in used], rows


def _from_columns(columns: dict[str, tuple[list[str], NDArray[np.int64]]]) -> Votes:
    for name in COLUMNS[:3]:
        texts, place = columns[name]
        if "" in texts:
            row = int(np.argmax(place == texts.index(""))) + 1
            raise BadInput(f"{name} is empty in row {row}; fill it or leave the row out")
    (images, image), (classes, of_class), (workers, worker) = (columns[n] for n in COLUMNS[:3])
    answer = _said(columns["answer"], _ANSWERS, "answer", "no, maybe or yes")
    pairs, question = np.unique(image * max(1, len(classes)) + of_class, return_inverse=True)
    gold = np.full(len(pairs), -1, np.int64)
    votes: dict[str, Any] = {
        "images": np.array(images, dtype=str),
        "classes": tuple(classes),
        "workers": tuple(workers),
        "question_image": pairs // max(1, len(classes)),
        "question_class": pairs % max(1, len(classes)),
        "vote_question": question,
        "vote_worker": worker,
        "vote_answer": answer.astype(np.int8),
    }
    if "gold" in columns:
        says = _said(columns["gold"], _GOLD, "gold", "no or yes, or nothing")
        some = says >= 0
        gold[question[some]] = says[some]
        odd = np.flatnonzero(some & (gold[question] != says))
        if len(odd):
            row = int(odd[0])
            raise BadInput(
                f"gold of image {images[image[row]]} and class {classes[of_class[row]]!r} is yes "
                "in one row and no in another; give one answer for each question"
            )
    return Votes(gold=gold.astype(np.int8), **votes)


def _said(
    column: tuple[list[str], NDArray[np.int64]], known: dict[str, int], name: str, expected: str
) -> NDArray[np.int64]:
    texts, place = column
    codes = np.array([known.get(text.strip().lower(), -9) for text in texts], np.int64)
    strange = codes[place] == -9 if len(texts) else np.zeros(0, bool)
    if strange.any():
        row = int(np.argmax(strange))
        raise BadInput(
            f"{name} is {texts[place[row]][:40]!r} in row {row + 1}; write {expected} "
            "(0 and 1 count as no and yes)"
        )
    return codes[place] if len(texts) else place
