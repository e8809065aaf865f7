"""Write tasks and configurations for Label Studio (labelstud.io), and read its exports.

Each task lists its classes (`value="$ask"`). A listed class is present if it is ticked and absent
otherwise; other classes are unknown. Questions of kind `name` are in a separate project, in which
people choose the classes.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simkit.errors import BadInput, note, noting
from simkit.files import parse_json
from simkit.labels.cells import listed
from simkit.labels.formats.base import write_lines
from simkit.labels.tables import Table, text_of
from simkit.orders.order import NOTHING, Order

PRESENT, NAMED = "present", "named"
_EXPORTED = {  # columns of JSON-MIN and CSV besides the choices
    "id", "image", "text", "ask", "order", "questions", "annotator", "annotation_id", "created_at",
    "updated_at", "lead_time", "agreement",
}  # fmt: skip
_CONFIG = """<View>
  <Header value="$text"/>
  <Choices name="{name}" toName="image" value="$ask" choice="{choice}" showInline="true"{required}/>
  <Image name="image" value="$image" zoom="true"/>
</View>"""
_TICK = "Tick every class that is in the image. Classes that you do not tick count as absent."


def write(
    order: Order, questions: pd.DataFrame, folder: Path, addresses: Sequence[str]
) -> list[Path]:
    """Write `tasks.json` and `config.xml` for each kind of project.

    Parameters
    ----------
    order : Order
    questions : DataFrame
        Rows of `order.table`.
    folder : Path
        Folder for the projects.
    addresses : sequence of str
        Address of each image of the order in Label Studio.

    Returns
    -------
    list of Path
        The folders written.
    """
    out = []
    for name, required in ((PRESENT, ""), (NAMED, ' required="true"')):
        naming = name == NAMED
        part = questions[(questions["kind"] == "name") == naming]
        if not len(part):
            continue
        tasks = []
        for _, rows in part.groupby("task", sort=False):
            naming_text = (
                f"Choose {len(rows)} of the classes in the image; choose fewer, or {NOTHING}, only "
                "if there are no more."
            )
            classes = order.classes if naming else [order.classes[c] for c in rows["class"]]
            image = addresses[rows["image"].iloc[0]]
            tasks.append({"data": {
                "image": image, "text": naming_text if naming else _TICK,
                "ask": [{"value": value} for value in (*classes, *[NOTHING] * naming)],
                "order": order.id, "questions": rows["question"].tolist(),
            }})  # fmt: skip
        choice = "single" if naming and not part["nth"].any() else "multiple"
        config = _CONFIG.format(name=name, choice=choice, required=required)
        place = folder / name
        write_lines(place / "tasks.json", [json.dumps(tasks, indent=1, ensure_ascii=False)])
        write_lines(place / "config.xml", [config])
        out.append(place)
    return out


def exported(file: Path) -> list[dict[str, Any]] | None:
    """The tasks in an export of format JSON; None for any other file. Raises BadInput."""
    if file.suffix.lower() != ".json":
        return None
    notes = list[str]()
    tasks = parse_json(text_of(file, notes.append), "replace")
    if not isinstance(tasks, list) or not any(
        isinstance(task, dict) and isinstance(task.get("data"), dict) for task in tasks
    ):
        return None
    if not any("annotations" in task for task in tasks):
        raise BadInput("its tasks have no annotations; label them in Label Studio, and export "
                       "them as JSON")  # fmt: skip
    if not any("questions" in task["data"] for task in tasks):
        raise BadInput("its tasks are not those of an order; export the project as CSV, with "
                       "columns for image, class and answer")  # fmt: skip
    for text in notes:
        noting(file)(text)
    return tasks


def tasks_of(table: Table) -> list[dict[str, Any]] | None:
    """The tasks in an export of format JSON-MIN, CSV or TSV; None for any other table.

    The table has one row per annotation, without skipped ones. If nobody has ticked a class, it has
    no column of choices.
    """
    columns = {column.name: column.cells() for column in table.columns}
    if not {"ask", "questions", "order", "annotation_id"} <= {*columns}:
        return None
    others = {*columns} - _EXPORTED
    if others and not {PRESENT, NAMED} & {*columns}:
        raise BadInput(
            f"it has no column {PRESENT} or {NAMED}, but {', '.join(sorted(others))}; call the "
            f"column of choices {PRESENT}, or {NAMED} where people name classes"
        )
    times = next((one.seconds() for one in table.named(["lead_time"])), None)
    tasks: list[dict[str, Any]] = []
    for place in range(len(table)):
        row = {name: cells[place] for name, cells in columns.items()}
        cell = row.get(PRESENT) or row.get(NAMED) or "[]"
        names, person = listed(cell), row.get("annotator") or ""
        if number := re.match(r"\{\W*id\W+(\d+)", person):
            person = number[1]
        ticked = {"choices": [cell] if names is None else names}
        chosen = {"type": "choices", "from_name": PRESENT, "value": ticked}
        annotation: dict[str, Any] = {
            "completed_by": person, "result": [chosen],
            "lead_time": 0.0 if times is None else float(np.nan_to_num(times[place])),
        }  # fmt: skip
        data: dict[str, Any] = {name: ast.literal_eval(row[name]) for name in ("ask", "questions")}
        tasks.append({
            "data": {**data, "order": row["order"]},
            "annotations": [annotation] if row["annotation_id"] else [],
        })  # fmt: skip
    return tasks


def answers(tasks: list[dict[str, Any]], order: Order, file: Path) -> list[dict[str, Any]]:
    """The raw answers in the tasks of an export: `row` is the number of the task.

    Tasks and annotations without answers have only `row` and `reason`.
    """
    rows: list[dict[str, Any]] = []
    note(
        file,
        [f"task {n}" for n, task in enumerate(tasks, 1) for a in task["annotations"]
         if a.get("ground_truth")],
        "annotations marked as ground truth, which count as answers: {}; remove those of people "
        "who were not asked",
    )  # fmt: skip
    for number, task in enumerate(tasks, 1):
        order.check_id(file, task["data"]["order"])
        if not task["annotations"]:
            rows.append({"row": number, "reason": "task without annotations"})
        for annotation in task["annotations"]:
            results = annotation["result"]
            choices = [result for result in results if result["type"] == "choices"]
            if annotation.get("was_cancelled") or (results and not choices):
                skipped = annotation.get("was_cancelled") or not results
                reason = "skipped task" if skipped else "annotation without choices"
                rows.append({"row": number, "reason": reason})
                continue
            by = annotation.get("completed_by")
            if isinstance(by, dict):  # some exports have a record of the person, not the number
                by = by.get("id", by.get("email"))
            data = task["data"]
            numbers, answers = data["questions"], _answers(data, choices, order)
            about = {
                "row": number, "worker": "" if by is None else str(by), "shared": len(numbers),
                "seconds": float(annotation.get("lead_time") or "nan"),
            }  # fmt: skip
            rows += [
                {**about, "question": question, "answer": str(answer)}
                for question, answer in zip(numbers, answers, strict=False)
            ] or [{"row": number, "reason": "no answer"}]
    return rows


def _answers(data: dict[str, Any], results: list[dict[str, Any]], order: Order) -> list[Any]:
    """The answers to the questions of a task, by results of type choices."""
    asked, numbers = [choice["value"] for choice in data["ask"]], data["questions"]
    ticked = [(one.get("from_name"), one["value"]["choices"]) for one in results]
    ours = (c for name, c in ticked if name in (PRESENT, NAMED) or {*c} & {*asked})
    chosen = [choice for choices in ours for choice in choices]
    unknown = [c for c in chosen if c not in asked]
    if unknown:  # a class was renamed in the tool, so the ticks are ambiguous
        return [f"{unknown[0]} (not asked)"] * len(numbers)
    if {order.table["kind"].get(number) for number in numbers} != {"name"}:
        answers = ["yes" if c in chosen else "no" for c in asked]
        if len(answers) != len(numbers):
            raise ValueError(f"{len(asked)} classes for {len(numbers)} questions")
        return answers
    if len(chosen) > len(numbers):
        return [f"{', '.join(chosen)} (too many)"] * len(numbers)
    return [*chosen, NOTHING][: len(numbers)] if chosen else []
