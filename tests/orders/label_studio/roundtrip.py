"""Orders answered in Label Studio through its API: `make test-label-studio`.

--record keeps its exports beside this file, for tests/orders/test_label_studio.py.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener

import pandas as pd

import simkit
from simkit.cli.main import code
from simkit.orders.order import Order
from simkit.orders.receiving import NOTHING, OrderState, checked, keep
from tests.orders.people import rows

HERE = Path(__file__).parent
DATA = "scenes:images=20"
TRUTH = simkit.data.open(DATA).truth["train"]
ORDERS = {
    "rpa": ("--scheme", "rpa(keep=0.1)"),
    "name": ("--scheme", "single-positive", "--images", "6"),
    "names": ("--scheme", "single-positive(positives=2)", "--images", "6"),
}
ANN, BEN, CLEO = PEOPLE = ("ann", "ben", "cleo")
SECONDS = 2.0  # for a question
QUIET = {"COLLECT_ANALYTICS": "0", "LATEST_VERSION_CHECK": "0", "SENTRY_DSN": "",
         "FRONTEND_SENTRY_DSN": ""}  # fmt: skip


def ordered(folder: Path, name: str) -> Order:
    words = ["--data", DATA, *ORDERS[name], "--answers", "3", "--to", "label-studio"]
    assert code(["order", *words, "--out", str(folder)]) == 0
    return Order.read(folder)


def said(order: Order) -> pd.DataFrame:
    """True raw answers, except that Ben errs in the first question and Cleo skips a task."""
    every = {who: rows(order, TRUTH, worker=who).assign(seconds=SECONDS) for who in PEOPLE}
    first, shown = order.table.iloc[0], TRUTH.present.toarray()[order.table["image"].iloc[0]]
    absent = next(c for c, there in zip(order.classes, shown, strict=True) if not there)
    wrong = absent if first["kind"] == "name" else "no" if shown[first["class"]] else "yes"
    every[BEN].loc[first["question"], "answer"] = wrong
    every[CLEO] = every[CLEO][order.table["task"] != order.table["task"].unique()[1]]
    return pd.concat(every.values(), ignore_index=True)


def direct(folder: Path, name: str) -> OrderState:
    """The same order with the same answers, without Label Studio."""
    order = ordered(folder, name)
    result = checked(order, said(order))
    assert not len(result.problems)
    keep(order, result.answers)
    return OrderState.of(order)


def received(order: Order, export: Path) -> OrderState:
    assert code(["receive", str(order.folder), str(export)]) == 0
    return OrderState.of(order)


def facts(state: OrderState) -> tuple[Any, ...]:
    """The results that do not depend on the names of people."""
    people = sorted(state.people.fillna(-1).to_numpy().tolist())
    answers = state.answers.value_counts(["task", "class", "answer"]).to_dict()
    return state.labels.id, state.open.to_dict("list"), state.seconds.to_dict(), people, answers


@contextmanager
def running(program: Path) -> Iterator[str]:
    """The address of a Label Studio with its data in a temporary folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        words = ["start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
        with open(Path(folder, "log"), "w") as log:
            process = subprocess.Popen(
                [program, *words, "--data-dir", folder], stdout=log, stderr=log,
                env={**os.environ, **QUIET, "HOME": folder},
            )  # fmt: skip
        try:
            while not _answers(address):
                if process.poll() is not None:
                    raise SystemExit(Path(folder, "log").read_text())
                time.sleep(1)
            yield address
        finally:
            process.terminate()
            process.wait(60)


def _answers(address: str) -> bool:
    try:
        return bool(build_opener(ProxyHandler({})).open(f"{address}/health").read())
    except URLError:
        return False


class Person:
    """A person who signs up and works through HTTP requests."""

    def __init__(self, address: str, name: str) -> None:
        self._address, self._cookies = address, CookieJar()
        self._opener = build_opener(ProxyHandler({}), HTTPCookieProcessor(self._cookies))
        self._opener.open(f"{address}/user/signup/")
        form = {"email": f"{name}@example.org", "password": "password1",
                "csrfmiddlewaretoken": self._token()}  # fmt: skip
        self._opener.open(f"{address}/user/signup/", urlencode(form).encode())

    def _token(self) -> str:
        return next(str(one.value) for one in self._cookies if one.name == "csrftoken")

    def call(self, path: str, data: Any = None) -> Any:
        """Response of the API to GET, or to POST with data."""
        body = None if data is None else json.dumps(data).encode()
        headers = {"Content-Type": "application/json", "X-CSRFToken": self._token()}
        return json.load(self._opener.open(Request(self._address + path, body, headers)))


def export(people: dict[str, Person], order: Order) -> dict[str, Any]:
    """Exports of Label Studio after these people have answered, by format."""
    (place,) = order.round_folder.glob("label-studio*/*")
    owner, answers = people[ANN], said(order)
    project = owner.call("/api/projects/", {
        "title": order.folder.name, "label_config": (place / "config.xml").read_text("utf-8"),
        "maximum_annotations": len(people),
    })["id"]  # fmt: skip
    tasks = json.loads((place / "tasks.json").read_text("utf-8"))
    owner.call(f"/api/projects/{project}/import", tasks)
    for name, person in people.items():
        mine = answers[answers["worker"] == name].set_index("question")["answer"]
        for _ in tasks:
            task = person.call(f"/api/projects/{project}/next/")
            person.call(f"/api/tasks/{task['id']}/annotations/", _annotation(task["data"], mine))
        _nothing_left(person, project)
    # Neither a draft nor a prediction is an answer.
    other = {key: _annotation(task["data"], mine)[key] for key in ("result", "lead_time")}
    owner.call(f"/api/tasks/{task['id']}/drafts", other)
    owner.call("/api/predictions/", {"task": task["id"], "result": other["result"]})
    path = f"/api/projects/{project}/export?exportType="
    return {form: owner.call(path + form) for form in ("JSON", "JSON_MIN")}


def _annotation(data: dict[str, Any], answers: pd.Series) -> dict[str, Any]:
    """The annotation that the page sends: choices in their order, none if nothing is ticked."""
    asked, mine = [one["value"] for one in data["ask"]], answers.reindex(data["questions"])
    skipped = bool(mine.isna().all())
    if NOTHING in asked:
        ticked = {*mine} - {NOTHING} or {NOTHING}
    else:
        ticked = {name for name, answer in zip(asked, mine, strict=True) if answer == "yes"}
    chosen = [] if skipped else [name for name in asked if name in ticked]
    kind = "named" if NOTHING in asked else "present"
    result = {"from_name": kind, "to_name": "image", "type": "choices", "origin": "manual",
              "value": {"choices": chosen}}  # fmt: skip
    return {"result": [result] if chosen else [], "was_cancelled": skipped,
            "lead_time": SECONDS * len(mine)}  # fmt: skip


def _nothing_left(person: Person, project: int) -> None:
    try:
        task = person.call(f"/api/projects/{project}/next/")
    except HTTPError as error:
        assert error.code == 404
    else:
        raise AssertionError(f"a task is shown twice: {task['id']}")


def lasting(value: Any) -> Any:
    """The export without the values that differ between runs."""
    if isinstance(value, list):
        return [lasting(one) for one in value]
    if not isinstance(value, dict):
        return value
    passing = ("unique_id", "created_ago")
    return {
        key: lasting(one) for key, one in value.items()
        if key not in passing and not key.endswith("_at")
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="the command label-studio")
    parser.add_argument("--record", action="store_true", help="keep the exports for the tests")
    given = parser.parse_args()
    with running(given.program) as address, tempfile.TemporaryDirectory() as folder:
        people = {name: Person(address, name) for name in PEOPLE}
        for name in ORDERS:
            order = ordered(Path(folder, name), name)
            exported = export(people, order)
            for form, value in exported.items():
                lines = ",\n".join(json.dumps(one) for one in lasting(value))
                Path(folder, f"{form}.json").write_text(f"[\n{lines}\n]\n")
            expected = facts(direct(Path(folder, f"{name}-direct"), name))
            assert facts(received(order, Path(folder, "JSON.json"))) == expected
            other = ordered(Path(folder, f"{name}-min"), name)
            assert facts(received(other, Path(folder, "JSON_MIN.json"))) == expected
            if given.record:
                Path(HERE, f"{name}.json").write_bytes(Path(folder, "JSON.json").read_bytes())
    print(f"Label Studio: {len(ORDERS)} orders gave the labels of the direct path")


if __name__ == "__main__":
    main()
