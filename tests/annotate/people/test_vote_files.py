"""Votes from the files people have."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simkit.annotate.people.vote_files import read
from simkit.annotate.people.votes import Votes
from simkit.errors import BadInput

ROWS = [
    ("7", "cat", "ann", "yes", "yes"),
    ("7", "cat", "bob", "Maybe", "yes"),
    ("9", "dog", "bob", "0", "no"),
    ("7", "dog", "ann", "no", ""),
]
NAMES = ["image", "class", "worker", "answer", "gold"]


def spelled(votes: Votes) -> set[tuple[str, str, str, int, int]]:
    """The rows again: image, class, worker, answer, gold."""
    about = votes.vote_question
    return {
        (
            str(votes.images[votes.question_image[q]]),
            votes.classes[votes.question_class[q]],
            votes.workers[w],
            int(a),
            int(votes.gold[q]),
        )
        for q, w, a in zip(about, votes.vote_worker, votes.vote_answer, strict=True)
    }


EXPECTED = {
    ("7", "cat", "ann", 2, 1),
    ("7", "cat", "bob", 1, 1),
    ("9", "dog", "bob", 0, 0),
    ("7", "dog", "ann", 0, -1),
}


def csv_file(folder, rows=ROWS, names=NAMES):
    path = folder / "votes.csv"
    lines = [",".join(names), *(",".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_csv(tmp_path):
    votes = read(csv_file(tmp_path))
    assert spelled(votes) == EXPECTED
    assert len(votes.images) == 2 and len(votes.question_image) == 3
    bare = read(csv_file(tmp_path, [row[:4] for row in ROWS], NAMES[:4]))
    assert spelled(bare) == {(*row[:4], -1) for row in EXPECTED}


def test_blanks_and_decimals_in_tables(tmp_path):
    names = [" image", '"class"', "worker ", "answer", "gold"]
    said = {"yes": "1.0", "no": "0.0", "0": " False ", "Maybe": " maybe", "": ""}
    rows = [(f"{a} ", f" {b}", c, said[d], said[e]) for a, b, c, d, e in ROWS]
    assert spelled(read(csv_file(tmp_path, rows, names))) == EXPECTED
    path = tmp_path / "votes.parquet"
    bare = [name.replace('"', " ") for name in names]
    columns = dict(zip(bare, map(list, zip(*rows, strict=True)), strict=True))
    columns["answer"] = [1.0, None, 0.0, 0.0]
    pq.write_table(pa.table({k: v[:1] + v[2:] for k, v in columns.items()}), path)
    assert spelled(read(path)) == {row for row in EXPECTED if row[3] != 1}
    two = pa.table(
        [[1], [1], ["w"], ["no"], ["no"]], ["image", "class", "worker", "answer", "answer "]
    )
    pq.write_table(two, path)
    with pytest.raises(BadInput) as error:
        read(path)
    assert str(error.value) == f"{path}: there are 2 columns 'answer'; keep one of them"


@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
def test_parquet(tmp_path, dictionary, numbers):
    columns = dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True))
    table = pa.table(
        {**columns, "gold": [x or None for x in columns["gold"]], "note": [1, 2, 3, 4]}
    )
    if numbers:
        table = table.set_column(0, "image", pa.array([7, 7, 9, 7]))
    if dictionary:
        table = table.set_column(1, "class", table["class"].dictionary_encode())
    path = tmp_path / "votes.parquet"
    pq.write_table(table, path, row_group_size=2)
    assert spelled(read(path)) == EXPECTED


def arrays(**changed):
    plain = {
        "question_image": np.array([7, 7, 9], np.int32),
        "question_class": np.array([3, 5, 5], np.int16),
        "vote_question": np.array([0, 0, 2, 1]),
        "vote_rater": np.array([4, 6, 6, 4], np.uint8),
        "vote_answer": np.array([2, 1, 0, 0], np.uint8),
        "gold_image": np.array([9, 8, 7]),
        "gold_class": np.array([5, 5, 3]),
        # Three experts on the first and the last; a question nobody voted on is passed over.
        "gold_expert_question": np.array([0, 0, 0, 1, 2, 2, 2]),
        "gold_expert_answer": np.array([0, 2, 0, 2, 2, 0, 2]),
    }
    kept = {**plain, **changed}
    return {key: value for key, value in kept.items() if value is not None}


def npz_file(folder, **changed):
    path = folder / "votes.npz"
    np.savez(path, **arrays(**changed))
    return path


def test_npz(tmp_path):
    expected = {
        ("7", "3", "4", 2, 1), ("7", "3", "6", 1, 1), ("9", "5", "6", 0, 0), ("7", "5", "4", 0, -1),
    }  # fmt: skip
    assert spelled(read(npz_file(tmp_path))) == expected
    named = read(npz_file(tmp_path, class_names=np.array(list("abcdef"))))
    assert named.classes == ("d", "f")


def test_classes_of_the_same_name(tmp_path):
    path = npz_file(tmp_path, class_names=np.array(["a", "b", "c", "crane", "e", "crane"]))
    with pytest.warns(UserWarning) as warned:
        assert read(path).classes == ("crane", "crane (2)")
    (message,) = (str(each.message) for each in warned)
    assert message == f"{path} names classes twice; the later ones are called 'crane (2)'"


def test_experts_who_are_divided_say_nothing(tmp_path):
    says = {
        "gold_expert_question": np.array([0, 0, 2, 2, 2]),
        "gold_expert_answer": np.array([0, 2, 2, 0, 2]),
    }
    golds = {row[:2]: row[4] for row in spelled(read(npz_file(tmp_path, **says)))}
    assert golds == {("9", "5"): -1, ("7", "3"): 1, ("7", "5"): -1}


@pytest.mark.parametrize(
    "rows,names,message",
    [
        (
            [("7", "cat", "ann", "2", "")],
            NAMES,
            "answer is '2' in row 1; write no, maybe or yes (0 and 1 count as no and yes)",
        ),
        (
            [*ROWS, ("9", "cat", "ann", "", "")],
            NAMES,
            "answer is '' in row 5; write no, maybe or yes (0 and 1 count as no and yes)",
        ),
        (
            [("7", "cat", "ann", "no", "maybe")],
            NAMES,
            "gold is 'maybe' in row 1; write no or yes, or nothing (0 and 1 count as no and yes)",
        ),
        (
            [*ROWS, ("7", "cat", "cid", "no", "no")],
            NAMES,
            "gold of image 7 and class 'cat' is yes in one row and no in another; "
            "give one answer for each question",
        ),
        (
            [*ROWS, ("7", "cat", "ann", "no", "yes")],
            NAMES,
            "worker 'ann' votes twice on image 7 and class 'cat'; keep one vote",
        ),
        (
            [("7", "", "ann", "no", "")],
            NAMES,
            "class is empty in row 1; fill it or leave the row out",
        ),
        (
            [row[:3] for row in ROWS],
            ["image", "class", "rater"],
            "the column 'worker' is missing; the file has image, class, rater, and one row for "
            "each vote with image, class, worker, answer is expected",
        ),
        ([], NAMES, "there are no votes; give at least one answer of one worker"),
        (
            [(*row[:4], row[3]) for row in ROWS],
            [*NAMES[:4], " answer"],
            "there are 2 columns 'answer'; keep one of them",
        ),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, rows, names, message):
    path = csv_file(tmp_path, rows, names)
    with pytest.raises(BadInput) as error:
        read(path)
    assert str(error.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    "changed,message",
    [
        (
            {"vote_answer": np.array([2, 1, 3, 0])},
            "vote_answer is 3; 0 (no), 1 (maybe) or 2 is expected",
        ),
        (
            {"vote_rater": None},
            "the array 'vote_rater' is missing",
        ),
        (
            {"vote_question": np.array([0, 0, 2, 3])},
            "vote_question is 3 at place 3; 0 to 2 are expected",
        ),
        (
            {"vote_question": np.array([0, 0, 2])},
            "vote_worker is int64 of shape (4,); 3 whole numbers are expected",
        ),
        (
            {"class_names": np.array(["a", "b"])},
            "class_names has 2 texts, question_class goes from 3 to 5",
        ),
        (
            {"gold_expert_question": np.array([0, 0, 0, 1, 2, 2, 3])},
            "gold_expert_question has 7 places among 3 gold questions and gold_expert_answer 7 "
            "answers; one of each per expert's answer is expected",
        ),
    ],
)
def test_arrays_that_cannot_be_read(tmp_path, changed, message):
    path = npz_file(tmp_path, **changed)
    with pytest.raises(BadInput) as error:
        read(path)
    assert str(path) in str(error.value) and message in str(error.value)


def test_other_endings(tmp_path):
    with pytest.raises(BadInput) as error:
        read("votes.xlsx")
    assert str(error.value) == (
        "votes.xlsx has the ending '.xlsx'; give votes as .csv, .parquet or .npz"
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_broken_files_give_one_sentence_or_the_votes(tmp_path, kind):
    if kind == "csv":
        path = csv_file(tmp_path)
    elif kind == "npz":
        path = npz_file(tmp_path)
    else:
        path = tmp_path / "votes.parquet"
        pq.write_table(pa.table(dict(zip(NAMES, zip(*ROWS, strict=True), strict=True))), path)
    whole, rng = path.read_bytes(), np.random.default_rng(2)
    refused = 0
    for _ in range(300):
        broken = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 6)):
            broken[place] = rng.integers(256)
        path.write_bytes(
            bytes(broken[: rng.integers(1, len(whole) + 1)] if rng.random() < 0.3 else broken)
        )
        try:
            read(path)
        except BadInput as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error)
    assert refused > 50
