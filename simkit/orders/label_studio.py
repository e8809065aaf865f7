"""Label Studio (labelstud.io): tasks and labelling configurations, and its JSON export.

The classes of a task come from its own data (`value="$ask"`): a class that is listed and ticked is
present, listed and not ticked absent, not listed unknown. Questions of kind `name` have a project
of their own, in which people choose the classes they name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from simkit.errors import BadInput
from simkit.files import parse_json, reading
from simkit.labels.formats.base import write_lines
from simkit.orders.order import NOTHING, Order

PRESENT, NAMED = "present", "named"
_CONFIG = """<View>
  <Header value="$text"/>
  <Choices name="{name}" toName="image" value="$ask" choice="{choice}" showInline="true"{required}/>
  <Image name="image" value="$image" zoom="true"/>
</View>"""
_TICK = "Tick every class that is in the image. Classes that you do not tick count as absent."


def write(order: Order, questions: pd.DataFrame, folder: Path, root: str) -> list[Path]:
    """Write `tasks.json` and `config.xml` for each kind of project.

    Parameters
    ----------
    order : Order
    questions : DataFrame
        Rows of `order.table`.
    folder : Path
        Folder of the round.
    root : str
        Address of the images in Label Studio; their ids are appended.

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
            image = str(order.images[rows["image"].iloc[0]])
            tasks.append({"data": {
                "image": root + quote(image), "text": naming_text if naming else _TICK,
                "ask": [{"value": value} for value in (*classes, *[NOTHING] * naming)],
                "order": order.id, "questions": rows["question"].tolist(),
            }})  # fmt: skip
        choice = "single" if naming and not part["nth"].any() else "multiple"
        config = _CONFIG.format(name=name, choice=choice, required=required)
        place = folder / "label-studio" / name
        write_lines(place / "tasks.json", [json.dumps(tasks, indent=1, ensure_ascii=False)])
        write_lines(place / "config.xml", [config])
        out.append(place)
    return out


def read(file: Path, order: Order) -> pd.DataFrame:
    """Read the raw answers of a JSON export. Skipped tasks have no answers.

    Parameters
    ----------
    file : Path
    order : Order

    Returns
    -------
    DataFrame
        Columns question, worker, answer, seconds and shared.

    Raises
    ------
    BadInput
        If the file is no JSON export, or answers another order.
    """
    with reading(file, "a JSON export of Label Studio", "export with the format JSON"):
        tasks = parse_json(file.read_text("utf-8"), "replace")
        if any("annotator" in task for task in tasks):
            raise BadInput(f"{file} is an export as JSON-MIN; export it again with the format JSON")
        rows = [row for task in tasks for row in _answers(task, order, file)]
        return pd.DataFrame(rows, columns=["question", "worker", "answer", "seconds", "shared"])


def _answers(task: dict[str, Any], order: Order, file: Path) -> list[tuple[Any, ...]]:
    data, rows = task["data"], []
    order.check_id(file, data["order"])
    asked, numbers = [choice["value"] for choice in data["ask"]], data["questions"]
    naming = {order.table["kind"].get(number) for number in numbers} == {"name"}
    for annotation in task["annotations"]:
        if annotation["was_cancelled"]:
            continue
        by = annotation["completed_by"]
        if isinstance(by, dict):  # some exports have a record of the person instead of the number
            by = by["id"]
        worker = "" if by is None else str(by)
        results = annotation["result"]
        chosen = [c for r in results if r["type"] == "choices" for c in r["value"]["choices"]]
        unknown = [c for c in chosen if c not in asked]
        if unknown:  # a class was renamed in the tool, so the ticks are ambiguous
            answers = [f"{unknown[0]} (not asked)"] * len(numbers)
        elif not naming:
            answers = ["yes" if c in chosen else "no" for c in asked]
        elif len(chosen) > len(numbers):
            answers = [f"{', '.join(chosen)} (too many)"] * len(numbers)
        else:
            answers = [*chosen, NOTHING][: len(numbers)] if chosen else []
        seconds, shared = float(annotation.get("lead_time") or "nan"), len(numbers)
        pairs = zip(numbers, answers, strict=not naming)
        rows += [(number, worker, str(answer), seconds, shared) for number, answer in pairs]
    return rows
