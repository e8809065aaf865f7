"""Tables of answers as people and vendors write them: read right, or refused with a mend."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from simkit.cli.main import code
from simkit.errors import BadInput
from simkit.orders import answer_tables
from simkit.orders.order import Order
from simkit.orders.receiving import Checked, OrderState, checked, keep

CLASSES = ("cat", "Straße")
TRUE = {("a.jpg", "cat"): "yes", ("a.jpg", "Straße"): "no", ("sub/b 1.jpg", "cat"): "no",
        ("sub/b 1.jpg", "Straße"): "yes", ("sub/c.jpg", "cat"): "no",
        ("sub/c.jpg", "Straße"): "no"}  # fmt: skip


def made(place: Path, *options: str) -> Order:
    for n, name in enumerate(sorted({image for image, _ in TRUE})):
        (place / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (60 * n, 0, 0)).save(place / "photos" / name)
    (place / "names.txt").write_text("\n".join(CLASSES), "utf-8")
    words = ["order", "--data", f"folder:{place / 'photos'},labels=none", "--to", "csv"]
    words += ["--classes", str(place / "names.txt"), "--scheme", "full-subset", *options]
    assert code([*words, "--out", str(place / "order1")]) == 0
    return Order.read(place / "order1")


@pytest.fixture(scope="module")
def order(tmp_path_factory) -> Order:
    return made(tmp_path_factory.mktemp("made"))


def table(**columns) -> pd.DataFrame:
    """A vendor's table: rows by class, so that numbers of rows are not those of questions."""
    rows = sorted(TRUE.items(), key=lambda one: one[0][1], reverse=True)
    plain = pd.DataFrame([(*about, answer, "anna") for about, answer in rows],
                         columns=["image", "class", "answer", "worker"])  # fmt: skip
    return plain.assign(**columns)


def written(place: Path, rows: pd.DataFrame, **options) -> Path:
    rows.to_csv(place / "in.csv", index=False, **options)
    return place / "in.csv"


def received(order: Order, file: Path, *, columns=None, minus="") -> Checked:
    return checked(order, answer_tables.read(file, order, columns, minus))


def said(order: Order, result: Checked) -> dict[tuple[str, str], str]:
    """The answers that count, by image and class."""
    about = order.table.loc[result.answers["question"]]
    names = [CLASSES[c] for c in about["class"]]
    return dict(zip(zip(order.images[about["image"]], names, strict=True),
                    result.answers["answer"], strict=True))  # fmt: skip


OURS = {about: n for n, about in enumerate(TRUE, 1)}  # questions of the order


@pytest.mark.parametrize("name", ["id", "task_id", "annotation_id"])
@pytest.mark.parametrize("start", [0, 1, 900])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_image_and_class_decide_beside_numbers_of_others(order, tmp_path, name, start, form):
    rows, file = table(**{name: range(start, start + 6)}), tmp_path / f"in.{form}"
    if form == "csv":
        rows.to_csv(file, index=False, sep=";")
    else:
        rows.to_json(file, orient="records", lines=True)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        result = received(order, file)
    assert said(order, result) == TRUE
    assert len(notes) == (name == "id") and all("'id'" in str(note.message) for note in notes)


def test_a_question_number_that_contradicts_its_row_is_refused(order, tmp_path):
    rows = table()
    numbers = [OURS[about] for about in zip(rows["image"], rows["class"], strict=True)]
    numbers[1] = numbers[0]
    for name in ("question", "id"):
        result = received(order, written(tmp_path, rows.assign(**{name: numbers})))
        (problem,) = result.problems.itertuples()
        assert problem.row == 3 and f"question {numbers[0]} is about" in problem.problem
        assert len(said(order, result)) == 5 and said(order, result).items() <= TRUE.items()
    file = written(tmp_path, rows.assign(question=range(1, 7)))
    with pytest.raises(BadInput, match=r"row 3.*--columns question=none"):
        received(order, file)
    assert said(order, received(order, file, columns={"question": "none"})) == TRUE


def test_numbers_alone_count_if_all_are_questions_of_the_order(order, tmp_path):
    rows = pd.DataFrame({"question": list(OURS.values()), "answer": list(TRUE.values()),
                         "worker": "anna"})  # fmt: skip
    assert said(order, received(order, written(tmp_path, rows))) == TRUE
    with pytest.raises(BadInput, match=r"question '0' .*image and class"):
        received(order, written(tmp_path, rows.assign(question=range(6))))
    file = written(tmp_path, rows.rename(columns={"question": "id"}))
    with pytest.raises(BadInput, match="--columns question=id"):
        received(order, file)
    assert said(order, received(order, file, columns={"question": "id"})) == TRUE


@pytest.mark.parametrize(
    "spelled",
    [
        lambda name: f"file:///srv/photos/{name.replace(' ', '%20')}",
        lambda name: f"gs://bucket/{name}",
        lambda name: f"/data/local-files/?d=photos/{name.replace(' ', '%20')}",
        lambda name: name.replace("/", "\\"),
        lambda name: f"C:\\photos\\{name}",
        lambda name: name.rpartition("/")[2],
        lambda name: name.removesuffix(".jpg"),
        lambda name: name.replace(".jpg", ".JPG"),
        lambda name: f"/data/upload/3/0a1b2c3d-{name.rpartition('/')[2]}",
    ],
)
def test_names_of_images_may_be_paths_and_addresses(order, tmp_path, spelled):
    rows = table()
    with pytest.warns(UserWarning, match="names of images that are spelled differently"):
        result = received(order, written(tmp_path, rows.assign(image=rows["image"].map(spelled))))
    assert said(order, result) == TRUE


def test_files_of_one_name_in_two_folders_are_not_matched(order, tmp_path):
    rows = table()
    rows.loc[0, "image"], rows.loc[1, "image"] = "x/a.jpg", "y/a.jpg"
    result = received(order, written(tmp_path, rows))
    assert result.left_out == {"unknown image": 2} and len(result.answers) == 4


@pytest.mark.parametrize("name", ["CAT", " cat", "cat​"])
def test_classes_are_matched_without_case_and_invisible_characters(order, tmp_path, name):
    result = received(order, written(tmp_path, table().replace({"class": {"cat": name}})))
    assert said(order, result) == TRUE


@pytest.mark.parametrize(
    ("columns", "note"),
    [
        ({"label": table()["answer"]}, ""),
        ({"class": "train", "label": table()["class"]}, "class is read from column 'label'"),
        ({"answer": "", "response": table()["answer"]}, ""),
        ({"answer": 0.93, "response": table()["answer"]}, "answer is read from column 'response'"),
        ({"value": 0.93, "file": "none.jpg", "time": "2024-05-01T10:00:00Z"}, "it is left out"),
        ({"order": range(6)}, ""),
        ({"worker": "account", "annotator_id": list("121212")}, "read from column 'annotator_id'"),
        ({"value": "yes"}, "answer is read from column 'answer', not from 'value'"),
    ],
)
def test_columns_count_by_their_content(order, tmp_path, columns, note):
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        result = received(order, written(tmp_path, table(**columns)))
    assert said(order, result) == TRUE
    assert [str(one.message) for one in notes if note not in str(one.message)] == []
    assert bool(notes) == bool(note)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"answer": 0.93}, "column 'answer' holds '0.93' in row 2"),
        ({"answer": [1, 1, 1, 1, 2, 2]}, "holds '2' in row 6; numbers say"),
        ({"image": "1.jpg"}, "images of the order, such as .a.jpg., are"),
        ({"class": "cats"}, "did you mean 'cat'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(order, tmp_path, columns, text):
    with pytest.raises(BadInput, match=text):
        received(order, written(tmp_path, table(**columns)))


@pytest.mark.parametrize(
    ("yes", "no", "minus"),
    [
        (1, 0, ""), (1.0, 0.0, ""), ("TRUE", "FALSE", ""), ("ja", "nein", ""), ("oui", "non", ""),
        ("sí", "no", ""), ("tak", "nie", ""), ('{"choices": ["yes"]}', '{"choices": ["no"]}', ""),
        ("['yes']", "['no']", ""), (1, -1, "absent"), ("+1", "-1", "absent"),
    ],
)  # fmt: skip
def test_answers_have_one_coding(order, tmp_path, yes, no, minus):
    file = written(tmp_path, table().replace({"answer": {"yes": yes, "no": no}}))
    if minus:
        with pytest.raises(BadInput, match="add --minus absent or --minus unknown"):
            received(order, file)
        unsure = received(order, file, minus="unknown")
        assert [*said(order, unsure).values()].count("unsure") == 4
    assert said(order, received(order, file, minus=minus)) == TRUE


def test_minus_one_beside_zero_is_unsure(order, tmp_path):
    with pytest.warns(UserWarning, match="-1 in column 'answer' is read as unsure"):
        result = received(order, written(tmp_path, table(answer=[1, 0, -1, 0, 1, -1])))
    assert [*result.answers["answer"]] == ["yes", "no", "unsure", "no", "yes", "unsure"]


@pytest.mark.parametrize(
    ("column", "times", "mean"),
    [
        ("seconds", ["1,8", "2,2", "1,5", "3", "2", "1,5"], 2.0),
        ("duration", ["1.8 s", "2.2 s", "1.5s", "3 sec", "2", "1500 ms"], 2.0),
        ("time", ["00:00:02"] * 6, 2.0),
        ("duration_ms", [1800, 2200, 1500, 3000, 2000, 1500], 2.0),
        ("Time (min)", ["0,03", "0,04", "0,02", "0,05", "0,03", "0,03"], 2.0),
        ("duration", [1800, 2200, 1500, 3000, 2000, 1500], {"milliseconds": 2.0, "seconds": 2000}),
        ("seconds", [0.00002] * 6, {"seconds": None}),
    ],
)
def test_times_are_in_seconds_or_asked_about(tmp_path, column, times, mean):
    order = made(tmp_path)
    file = written(tmp_path, table(**{column: times}), sep=";")
    words = ["receive", str(order.folder), str(file)]
    for unit, right in mean.items() if isinstance(mean, dict) else [("", mean)]:
        if unit:
            with pytest.raises(BadInput, match=f"--columns {unit}={column if right else 'none'}"):
                received(order, file)
            words += ["--columns", f"{unit}={column if right else 'none'}"]
            break
    assert code(words) == 0
    assert [*OrderState.of(order).seconds] == ([] if right is None else pytest.approx([right]))


def test_a_column_that_may_hold_times_is_named(order, tmp_path):
    file = written(tmp_path, table(Arbeitszeit=["1,8", "2,2", "1,5", "3", "2", "1,5"]))
    with pytest.warns(UserWarning, match="no times are read; .*'seconds=Arbeitszeit'"):
        assert received(order, file).answers["seconds"].isna().all()
    times = received(order, file, columns={"seconds": "Arbeitszeit"}).answers["seconds"]
    assert times.mean() == pytest.approx(2.0)


def test_times_that_do_not_count_have_numbers(order, tmp_path):
    file = written(tmp_path, table(seconds=[2.0, "", "pause", 0.001, -3, 1e9]))
    assert received(order, file).left_out == {
        "time not readable": 1, "time below 0.05 s a question": 1, "time below 0": 1,
        "time above a day": 1,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["annotation_id", "task"])
def test_rows_of_one_task_share_its_time(order, tmp_path, name):
    rows = table().sort_values("image").assign(lead_time=[6, 6, 8, 8, 9, 9])
    with pytest.warns(UserWarning, match="which share it"):
        result = received(order, written(tmp_path, rows.assign(**{name: [1, 1, 2, 2, 3, 3]})))
    assert [*result.answers["shared"]] == [2] * 6 and said(order, result) == TRUE


def test_rows_that_do_not_count_have_numbers(tmp_path, capsys):
    order = made(tmp_path)
    rows = pd.concat([table(), table()[:2], table()[:1].assign(worker="ben", answer="")])
    rows = pd.concat([rows, pd.DataFrame({
        "image": ["x.jpg", "a.jpg", "a.jpg", "a.jpg", "a.jpg"],
        "class": ["cat", "cats", "cat", "cat", "cat"],
        "answer": ["yes", "yes", "no", "often", "yes"], "worker": [*["anna"] * 3, "ben", ""],
    })])  # fmt: skip
    words = ["receive", str(order.folder), str(written(tmp_path, rows))]
    assert code(words) == 0
    assert "left out: 2 (repeated), 1 (no answer), 1" in capsys.readouterr().out
    order = made(tmp_path / "again")
    words = ["receive", str(order.folder), str(written(tmp_path, rows)), "--json"]
    assert code(words) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert facts["added"] == 6 and facts["left_out"] == {
        "repeated": 2, "no answer": 1, "unknown image": 1, "unknown class": 1,
        "another answer of the same person": 1, "answer not understood": 1, "worker not named": 1,
    }  # fmt: skip
    assert [one["row"] for one in facts["problems"]] == [11, 12, 13, 14, 15]


@pytest.mark.parametrize(
    ("one", "other"),
    [("7", "7.0"), ("Anna", "anna "), ("Zoë", "Zoë"), ("ann", "an​n")],
)
def test_spellings_of_a_name_are_one_person(tmp_path, one, other):
    order = made(tmp_path, "--answers", "2")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file, worker in zip(files, (one, other), strict=True):
        table(worker=worker).to_csv(file, index=False)
    assert code(["receive", str(order.folder), str(files[0])]) == 0
    assert code(["receive", str(order.folder), *map(str, files)]) == 0
    assert len(OrderState.of(order).people) == 1 and len(OrderState.of(order).open) == 6


def test_answers_stored_before_names_were_compared_belong_to_their_people(order, tmp_path):
    from simkit.history import sha256

    order = made(tmp_path, "--answers", "2")
    old = f"w-{sha256(f'{order.id} Anna'.encode())[:10]}"
    keep(order, received(order, written(tmp_path, table())).answers.assign(worker=old)[:3])
    for name in ("Anna", "anna"):
        result = received(order, written(tmp_path, table(worker=name)))
        assert result.left_out == {"repeated": 3} and {*result.answers["worker"]} == {old}


def test_a_sheet_with_a_column_for_each_class(order, tmp_path):
    wide = table().pivot(index="image", columns="class", values="answer").reset_index()
    wide = wide.assign(Bearbeiter="anna", seconds=[3.0, 4.0, 5.0])
    wide.loc[2, "cat"] = ""
    with pytest.warns(
        UserWarning, match=r"columns named as classes are read as answers: 2 \(Straße, cat"
    ):
        result = received(order, written(tmp_path, wide))
    assert said(order, result) == {k: v for k, v in TRUE.items() if k != ("sub/c.jpg", "cat")}
    assert result.left_out == {"no answer": 1} and [*result.answers["shared"]] == [2, 2, 1, 2, 2]


@pytest.mark.parametrize(
    ("columns", "note"),
    [
        ({"worker": "anna, ben"}, "count as one: 1 .anna, ben., from row 2"),
        ({"worker": ["Anna und Ben"] + ["anna"] * 5}, "may name several people and count as one"),
        ({"seconds": range(1, 7)}, "rise in every row; .* --columns seconds=none"),
        ({"seconds": 4}, "are all equal; .* --columns seconds=none"),
        ({"started": "2026-01-01T10:00:00Z", "finished": "2026-01-01T10:00:09Z"},
         "no times are read; add a column seconds with the difference of 'started' and 'finished'"),
    ],
)  # fmt: skip
def test_what_may_be_something_else_is_noted(order, tmp_path, monkeypatch, columns, note):
    monkeypatch.setattr(answer_tables, "FEW", 5)
    with pytest.warns(UserWarning, match=note):
        assert said(order, received(order, written(tmp_path, table(**columns)))) == TRUE


def test_a_row_of_totals_changes_neither_times_nor_answers(order, tmp_path):
    rows = table(seconds=2.0)
    rows.loc[6] = ["Total", "", "4", "", 12.0]
    result = received(order, written(tmp_path, rows))
    assert said(order, result) == TRUE and result.left_out == {"unknown image": 1}
    assert {*result.answers["shared"]} == {1}


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("AssignmentStatus", ["Approved"] * 4 + ["Rejected"] * 2),
        ("Reject", [""] * 4 + ["Random answers", "x"]),
        ("rejected", [False] * 4 + [True] * 2),
    ],
)
def test_rejected_work_of_mechanical_turk_does_not_count(order, tmp_path, column, cells):
    names = {"image": "Input.image", "class": "Input.class", "answer": "Answer.answer"}
    rows = table(**{column: cells})
    rows = rows.rename(columns={**names, "worker": "WorkerId"})
    result = received(order, written(tmp_path, rows))
    assert len(said(order, result)) == 4 and result.left_out == {"rejected or skipped": 2}


def test_the_error_for_columns_of_classes_under_other_names_can_be_followed(order, tmp_path):
    wide = table().pivot(index="image", columns="class", values="answer").reset_index()
    wide, names = wide.assign(worker="7,0"), {name: f"Answer.animals.{name}" for name in CLASSES}
    with pytest.raises(BadInput, match=r"or a column for each class \(cat, Straße\)"):
        received(order, written(tmp_path, wide.rename(columns=names)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert said(order, received(order, written(tmp_path, wide, sep=";"))) == TRUE
    assert not any("counts as one person" in str(each.message) for each in caught)


def test_numbers_without_images_are_noted(order, tmp_path):
    rows = table()[["answer", "worker"]].assign(question=range(1, 7))
    with pytest.warns(UserWarning, match="add the columns image and class"):
        received(order, written(tmp_path, rows))
