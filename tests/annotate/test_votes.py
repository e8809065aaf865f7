"""Votes: how a maybe counts, how far people agree, what cannot be."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simkit.annotate.votes import Votes, agreement, read_votes
from simkit.errors import BadInput
from tests.reference.people import pairs_that_agree


def votes_of(rows: list[tuple[int, int, int]], *, questions: int, gold=None, workers=9) -> Votes:
    """Votes (question, worker, answer); question q is about image q // 2 and class q % 2."""
    number = np.arange(questions)
    about, who, said = np.array(rows, np.int64).reshape(-1, 3).T
    return Votes(
        images=np.arange(questions) + 100,
        classes=("cat", "dog"),
        workers=tuple(f"w{n}" for n in range(workers)),
        question_image=number // 2,
        question_class=number % 2,
        vote_question=about,
        vote_worker=who,
        vote_answer=said.astype(np.int8),
        gold=np.full(questions, -1, np.int8) if gold is None else np.array(gold, np.int8),
    )


# Question 0: yes yes maybe, 1: no no no, 2: maybe no (two votes).
SMALL = votes_of(
    [(0, 0, 2), (0, 1, 2), (0, 2, 1), (1, 0, 0), (1, 1, 0), (1, 2, 0), (2, 0, 1), (2, 3, 0)],
    questions=3,
)


def test_how_a_maybe_counts():
    assert SMALL.counts.tolist() == [[0, 1, 2], [3, 0, 0], [1, 1, 0]]
    assert SMALL.decided("yes").counts.tolist() == [[0, 0, 3], [3, 0, 0], [1, 0, 1]]
    assert SMALL.decided("no").counts.tolist() == [[1, 0, 2], [3, 0, 0], [2, 0, 0]]
    assert SMALL.decided("drop").counts.tolist() == [[0, 0, 2], [3, 0, 0], [1, 0, 0]]
    decided = SMALL.decided("no")
    assert decided.decided("yes") is decided  # nothing is left to decide
    with pytest.raises(BadInput, match="maybe is 'half'"):
        SMALL.decided("half")


def test_agreement_by_hand():
    found = agreement(SMALL)
    # Yes in 3 + 0 + 1 of 8 votes; 3 + 3 of 3 + 3 + 1 pairs agree; two of three are unanimous.
    assert found.yes == 0.5
    assert found.yes_counts.tolist() == [0.5, 0, 0, 0.5]  # of those with three votes
    assert found.unanimous == 2 / 3 and found.pairwise == 6 / 7
    assert found.kappa == pytest.approx((2 / 3 - 0.5) / 0.5)
    assert dict(found.rows())["3 of 3 say yes"] == 0.5


def test_agreement_equals_counting_pairs():
    rng = np.random.default_rng(4)
    rows = [(q, w, int(2 * (rng.random() < (0.1, 0.7)[q % 2]))) for q in range(60)
            for w in rng.choice(9, rng.integers(1, 7), replace=False)]  # fmt: skip
    votes = votes_of(rows, questions=60)
    said = [[a == 2 for q, _, a in rows if q == one] for one in range(60)]
    pairwise, kappa = pairs_that_agree(said)
    found = agreement(votes)
    assert found.pairwise == pytest.approx(pairwise, abs=1e-12)
    assert found.kappa == pytest.approx(kappa, abs=1e-12)


def test_rosters_of_neighbouring_questions_are_compared():
    same = votes_of([(q, w, 0) for q in range(4) for w in (1, 2)], questions=4)
    assert same.same_roster == 1
    other = votes_of([(q, w + q % 2, 0) for q in range(4) for w in (1, 2)], questions=4)
    assert other.same_roster == 0
    assert votes_of([(0, 0, 0)], questions=1).same_roster == 0


@pytest.mark.parametrize(
    "rows,gold,message",
    [
        ([], None, "there are no votes"),
        ([(0, 0, 3)], None, "vote_answer"),
        ([(0, 0, 0), (5, 0, 0)], None, "vote_question"),
        ([(0, -1, 0)], None, "vote_worker"),
        ([(0, 0, 0)], [0, 2, 0], "gold"),
        ([(0, 0, 0)], [0], "gold"),
        ([(1, 4, 0), (1, 4, 2)], None, "worker 'w4' votes twice on image 100 and class 'dog'"),
    ],
)
def test_votes_that_cannot_be(rows, gold, message):
    with pytest.raises(BadInput) as error:
        votes_of(rows, questions=3, gold=gold)
    assert message in str(error.value)


def test_agreement_needs_two_votes():
    with pytest.raises(BadInput, match="no question has two votes"):
        agreement(votes_of([(0, 0, 0), (1, 1, 2)], questions=2))


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
    votes = read_votes(csv_file(tmp_path))
    assert spelled(votes) == EXPECTED
    assert len(votes.images) == 2 and len(votes.question_image) == 3
    bare = read_votes(csv_file(tmp_path, [row[:4] for row in ROWS], NAMES[:4]))
    assert spelled(bare) == {(*row[:4], -1) for row in EXPECTED}


def test_blanks_and_decimals_in_tables(tmp_path):
    names = [" image", '"class"', "worker ", "answer", "gold"]
    said = {"yes": "1.0", "no": "0.0", "0": " False ", "Maybe": " maybe", "": ""}
    rows = [(f"{a} ", f" {b}", c, said[d], said[e]) for a, b, c, d, e in ROWS]
    assert spelled(read_votes(csv_file(tmp_path, rows, names))) == EXPECTED
    path = tmp_path / "votes.parquet"
    bare = [name.replace('"', " ") for name in names]
    columns = dict(zip(bare, map(list, zip(*rows, strict=True)), strict=True))
    columns["answer"] = [1.0, None, 0.0, 0.0]
    pq.write_table(pa.table({k: v[:1] + v[2:] for k, v in columns.items()}), path)
    assert spelled(read_votes(path)) == {row for row in EXPECTED if row[3] != 1}
    two = pa.table(
        [[1], [1], ["w"], ["no"], ["no"]], ["image", "class", "worker", "answer", "answer "]
    )
    pq.write_table(two, path)
    with pytest.raises(BadInput) as error:
        read_votes(path)
    assert f"{path}: columns 'answer' and 'answer' could both" in str(error.value)


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
    assert spelled(read_votes(path)) == EXPECTED


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
    assert spelled(read_votes(npz_file(tmp_path))) == expected
    named = read_votes(npz_file(tmp_path, class_names=np.array(list("abcdef"))))
    assert named.classes == ("d", "f")


def test_experts_who_are_divided_say_nothing(tmp_path):
    says = {
        "gold_expert_question": np.array([0, 0, 2, 2, 2]),
        "gold_expert_answer": np.array([0, 2, 2, 0, 2]),
    }
    golds = {row[:2]: row[4] for row in spelled(read_votes(npz_file(tmp_path, **says)))}
    assert golds == {("9", "5"): -1, ("7", "3"): 1, ("7", "5"): -1}


@pytest.mark.parametrize(
    "rows,names,message",
    [
        ([("7", "cat", "ann", "2", "")], NAMES, "'answer' holds '2' in row 2"),
        ([("7", "cat", "ann", "no", "maybe")], NAMES, "'gold' holds 'maybe' in row 2"),
        ([*ROWS, ("7", "cat", "cid", "no", "no")], NAMES, "gold of image 7 and class 'cat' is yes"),
        ([*ROWS, ("7", "cat", "ann", "no", "yes")], NAMES, "worker 'ann' votes twice on image 7"),
        ([("7", "", "ann", "no", "")], NAMES, "'class' holds '' in row 2"),
        ([row[:3] for row in ROWS], ["image", "class", "by"], "called worker or answer"),
        ([], NAMES, "no row"),
        ([(*row[:4], row[3]) for row in ROWS], [*NAMES[:4], " answer"], "could both"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, rows, names, message):
    path = csv_file(tmp_path, rows, names)
    with pytest.raises(BadInput) as error:
        read_votes(path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "changed,message",
    [
        ({"vote_answer": np.array([2, 1, 300, 0])}, "vote_answer"),
        ({"vote_rater": None}, "the array 'vote_rater' is missing"),
        ({"vote_question": np.array([0, 0, 2, 3])}, "vote_question"),
        ({"vote_question": np.array([0, 0, 2])}, "vote_worker"),
        (
            {"class_names": np.array(["a", "b"])},
            "class_names has 2 texts, question_class goes from",
        ),
        (
            {"gold_expert_question": np.array([0, 0, 0, 1, 2, 2, 3])},
            "gold_expert_question has 7 places among 3 gold questions",
        ),
    ],
)
def test_arrays_that_cannot_be_read(tmp_path, changed, message):
    path = npz_file(tmp_path, **changed)
    with pytest.raises(BadInput) as error:
        read_votes(path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("v.csv", "image;class;worker;answer;gold\n", ""),
        ("v.tsv", "File Name\tCategory\tannotator_id\tvote\tgold\n", ""),
        ("v.csv", "path,label,user,value,gold\n", ""),
        ("v.jsonl", '{"img": "%s", "tag": "%s", "rater": "%s", "answer": "%s", "gold": "%s"}', ""),
        ("minus.csv", "image,class,worker,answer,gold\n", ""),
        ("german.csv", "image;class;worker;answer;gold\n", ""),
        ("people.csv", "image,class,worker,answer,gold\n", "'ann' and 'Ann'"),
        ("gaps.csv", "image,class,worker,answer,gold\n8,cat,ann,,yes\n8,dog,ann,NA,\n", "2 of 6"),
    ],
)  # fmt: skip
def test_tables_of_other_people(tmp_path, name, content, note):
    spellings = {
        "minus.csv": {"yes": "1", "no": "-1", "0": "-1"},
        "german.csv": {"yes": "ja", "no": "nein", "Maybe": "unsicher"},
    }.get(name, {})
    rows = [[spellings.get(cell, cell) for cell in row] for row in ROWS]
    rows[-1][2] = "Ann " if name == "people.csv" else "ann"
    if content.startswith("{"):
        text = "\n".join(content % tuple(row) for row in rows)
    else:
        mark = next(mark for mark in ",;\t" if mark in content)
        text = content + "\n".join(mark.join(row) for row in rows)
    (tmp_path / name).write_text(text, encoding="utf-16" if name == "v.tsv" else "utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        votes = read_votes(tmp_path / name, minus="absent" if name == "minus.csv" else "")
    assert spelled(votes) == EXPECTED
    assert [note in str(each.message) for each in caught] == [True] * bool(note)


def test_minus_one_is_asked_about_and_the_mend_works(tmp_path):
    rows = [("7", "cat", "ann", "1", "1"), ("7", "cat", "bob", "-1", "")]
    path = csv_file(tmp_path, rows)
    with pytest.raises(BadInput, match="add minus=absent or minus=unknown"):
        read_votes(path)
    assert read_votes(path, minus="absent").vote_answer.tolist() == [2, 0]
    with pytest.warns(UserWarning, match="no answer: 1 of 2"):
        assert read_votes(path, minus="unknown").vote_answer.tolist() == [2]


@pytest.mark.parametrize(("said", "other"), [("yes", "no"), ("no", "yes")])
def test_experts_who_say_one_thing_only(tmp_path, said, other):
    rows = [(*row[:4], row[4] and said) for row in ROWS]
    with pytest.warns(UserWarning, match=f"gold is {said} in all 2 questions .* gold is {other}"):
        votes = read_votes(csv_file(tmp_path, rows))
    assert sorted(votes.gold.tolist()) == [-1, said == "yes", said == "yes"]


@pytest.mark.parametrize(
    ("column", "change", "note"),
    [
        (
            0,
            lambda n, text: f"photos/{text}" if n % 2 else text,
            "names of images that look alike and count as different: 12 ",
        ),
        (
            1,
            lambda n, text: text.title() if n % 2 else text,
            "class names that look alike and count as different: 1 ",
        ),
        (
            2,
            lambda n, text: "ann & bob" if n % 2 else text,
            "count as one: 1 .ann & bob., from row 3",
        ),
        (2, lambda n, text: str(n), "a different name in each of the 24 rows"),
    ],
)
def test_names_that_may_be_others_are_noted(tmp_path, column, change, note):
    rows = [(str(n), "cat", who, "yes", "") for n in range(12) for who in ("ann", "bob")]
    for n, row in enumerate(rows):
        rows[n] = (*row[:column], change(n, row[column]), *row[column + 1 :])
    with pytest.warns(UserWarning, match=note):
        read_votes(csv_file(tmp_path, rows))


def test_answers_of_experts_under_another_name_are_noted(tmp_path):
    file = csv_file(tmp_path, ROWS)
    file.write_text(file.read_text().replace("gold", "ground_truth"))
    with pytest.warns(UserWarning, match="'ground_truth' is read as answers of experts"):
        assert (read_votes(file).gold == read_votes(csv_file(tmp_path, ROWS)).gold).all()


@pytest.mark.parametrize(
    ("gold", "note"),
    [
        (
            lambda n, c, truth: ("no", "yes")[n % 3 == 0],
            "50% of the votes say yes where gold is yes",
        ),
        (lambda n, c, truth: "yes" if truth else "no" * (c == "dog"), r"1 of 2 \(cat\)"),
    ],
)
def test_what_gold_does_not_measure_is_noted(tmp_path, gold, note):
    rows = [
        (str(n), c, who, ("no", "yes")[n % 2], gold(n, c, n % 2))
        for n in range(24) for c in ("cat", "dog") for who in ("ann", "bob")
    ]  # fmt: skip
    with pytest.warns(UserWarning, match=note):
        read_votes(csv_file(tmp_path, rows))


def test_skipped_votes_are_counted(tmp_path):
    rows = [*ROWS, ("9", "cat", "ann", "skip", "")]
    with pytest.warns(UserWarning, match=r"votes read as maybe: 1 \('skip'\)"):
        assert (read_votes(csv_file(tmp_path, rows)).vote_answer == 1).sum() == 2
