"""What Label Studio exported when people answered these orders in it; see label_studio/."""

from __future__ import annotations

import json

import pytest

from simkit.cli.main import code
from simkit.orders import label_studio
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
    raw = [label_studio.read(file, order) for file in (HERE / "rpa.json", tmp_path / "export.json")]
    assert raw[0].equals(raw[1])


def test_invalid_annotations_do_not_count(tmp_path):
    order, tasks = ordered(tmp_path / "one", "names"), json.loads((HERE / "names.json").read_text())
    (one,), nobody, empty = (task["annotations"][:1] for task in tasks[:3])
    one["result"][0]["value"]["choices"] = list(order.classes[:3])
    nobody[0]["completed_by"], empty[0]["result"] = None, []
    for task, left in zip(tasks, ([one], nobody, empty), strict=False):
        task["annotations"] = left
    (tmp_path / "export.json").write_text(json.dumps(tasks[:3]))
    result = checked(order, label_studio.read(tmp_path / "export.json", order))
    assert not len(result.answers)
    text = " ".join(result.problems["problem"])
    assert "too many" in text and "worker is not named" in text


def test_json_min_is_refused_in_one_sentence(tmp_path, capsys):
    order = ordered(tmp_path / "one", "rpa")
    task = json.loads((HERE / "rpa.json").read_text())[0]
    row = {**task["data"], "id": 1, "annotator": 1, "annotation_id": 1, "lead_time": 2.0}
    (tmp_path / "export.json").write_text(json.dumps([row]))
    capsys.readouterr()
    assert code(["receive", str(order.folder), str(tmp_path / "export.json")]) == 2
    assert "with the format JSON" in capsys.readouterr().err
    assert not (order.folder / "answers").exists()
