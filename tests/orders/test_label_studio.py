"""What Label Studio exported when people answered these orders in it; see label_studio/."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from simkit.errors import BadInput
from simkit.orders import answer_tables
from simkit.orders.receiving import checked
from tests.orders.label_studio.roundtrip import HERE, ORDERS, direct, facts, ordered, received


@pytest.mark.parametrize("name", ORDERS)
def test_an_export_gives_the_labels_of_its_answers(tmp_path, name):
    order = ordered(tmp_path / "one", name)
    state = received(order, HERE / f"{name}.json")
    assert len(state.open) and state.labels.codes.nnz
    assert facts(state) == facts(direct(tmp_path / "two", name))


def test_people_are_the_same_in_every_kind_of_export(tmp_path):
    order, tasks = ordered(tmp_path / "one", "rpa"), json.loads((HERE / "rpa.json").read_text())
    for task in tasks:
        for one in task["annotations"]:
            one["completed_by"] = {"id": one["completed_by"], "email": "somebody@example.org"}
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    raw = [
        answer_tables.read(file, order) for file in (HERE / "rpa.json", tmp_path / "export.json")
    ]
    assert raw[0].equals(raw[1])


def test_invalid_annotations_do_not_count(tmp_path):
    order, tasks = ordered(tmp_path / "one", "names"), json.loads((HERE / "names.json").read_text())
    (one,), nobody, empty = (task["annotations"][:1] for task in tasks[:3])
    one["result"][0]["value"]["choices"] = list(order.classes[:3])
    nobody[0]["completed_by"], empty[0]["result"] = None, []
    for task, left in zip(tasks, ([one], nobody, empty), strict=False):
        task["annotations"] = left
    (tmp_path / "export.json").write_text(json.dumps(tasks[:3]))
    result = checked(order, answer_tables.read(tmp_path / "export.json", order))
    assert not len(result.answers)
    text = " ".join(result.problems["problem"])
    assert "too many" in text and "worker is not named" in text


def short(tasks: list) -> list:
    """The rows of Label Studio's JSON-MIN, by the code of its converter."""
    rows = []
    for task in tasks:
        for one in task["annotations"]:
            if one["was_cancelled"]:
                continue
            row = {**task["data"], "id": task["id"]}
            for result in one["result"]:
                choices = result["value"]["choices"]
                row[result["from_name"]] = choices[0] if len(choices) == 1 else {"choices": choices}
            rows.append({
                **row, "annotator": one["completed_by"], "annotation_id": one["id"],
                "created_at": "2026-05-01T10:00:00Z", "updated_at": "2026-05-01T10:00:00Z",
                "lead_time": one["lead_time"],
            })  # fmt: skip
    return rows


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("form", ["json", "csv"])
def test_short_exports_give_the_same_answers(tmp_path, name, form):
    order, file = ordered(tmp_path / "one", name), tmp_path / f"export.{form}"
    rows = short(json.loads((HERE / f"{name}.json").read_text()))
    if form == "json":
        file.write_text(json.dumps(rows))
    else:
        json_cells = {"present", "named"}  # the others are lists of Python
        frame = pd.DataFrame(rows)
        for column in json_cells & {*frame}:
            frame[column] = [json.dumps(c) if isinstance(c, dict) else c for c in frame[column]]
        frame.to_csv(file, index=False)
    state = received(order, file)
    assert facts(state) == facts(direct(tmp_path / "two", name))


def test_exports_of_other_projects_are_refused_with_a_mend_that_works(tmp_path):
    order = ordered(tmp_path / "one", "rpa")
    tasks = json.loads((HERE / "rpa.json").read_text())
    (tmp_path / "a.json").write_text(json.dumps([{"data": task["data"]} for task in tasks]))
    with pytest.raises(BadInput, match="tasks have no annotations; label them"):
        answer_tables.read(tmp_path / "a.json", order)
    for task in tasks:
        task["data"] = {"image": task["data"]["image"], "class": task["data"]["ask"][0]["value"]}
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    with pytest.raises(BadInput, match="export the project as CSV"):
        answer_tables.read(tmp_path / "a.json", order)
    rows = [{"present": "yes"} | row for row in short(tasks)]
    pd.DataFrame(rows).assign(present="yes").to_csv(tmp_path / "a.csv", index=False)
    raw = answer_tables.read(tmp_path / "a.csv", order)
    assert len(raw) == len(rows) and {*raw["answer"]} == {"yes"} and (raw["question"] > 0).all()
    renamed = pd.DataFrame(short(json.loads((HERE / "rpa.json").read_text())))
    renamed.rename(columns={"present": "tags"}).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(BadInput, match="call the column of choices present"):
        answer_tables.read(tmp_path / "b.csv", order)


@pytest.mark.parametrize(
    ("change", "right"),
    [
        (lambda one: one["result"].append({"type": "choices", "from_name": "quality",
                                           "value": {"choices": ["blurred"]}}), set()),
        (lambda one: one["was_cancelled"] or one.pop("was_cancelled"), set()),
        (lambda one: one.update(ground_truth=True), set()),
        (lambda one: one.update(result=[{"type": "ranker", "value": {}}]),
         {"annotation without choices"}),
        (lambda one: one.update(was_cancelled=True), {"skipped task"}),
    ],
)  # fmt: skip
def test_other_work_beside_the_choices(tmp_path, change, right):
    order, tasks = ordered(tmp_path / "one", "rpa"), json.loads((HERE / "rpa.json").read_text())
    usual = checked(order, answer_tables.read(HERE / "rpa.json", order))
    for task in tasks:
        for one in task["annotations"]:
            change(one)
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    result = checked(order, answer_tables.read(tmp_path / "export.json", order))
    assert right <= {*result.left_out} and (right or result.answers.equals(usual.answers))


def test_lead_times_are_in_seconds_or_asked_about(tmp_path):
    order, tasks = ordered(tmp_path / "one", "rpa"), json.loads((HERE / "rpa.json").read_text())
    usual = answer_tables.read(HERE / "rpa.json", order)["seconds"]
    for task in tasks:
        for one in task["annotations"]:
            one["lead_time"] *= 1000
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    with pytest.raises(BadInput, match="--columns milliseconds=lead_time"):
        answer_tables.read(tmp_path / "export.json", order)
    read = answer_tables.read(tmp_path / "export.json", order, {"milliseconds": "lead_time"})
    assert read["seconds"].to_numpy() == pytest.approx(usual.to_numpy(), nan_ok=True)
