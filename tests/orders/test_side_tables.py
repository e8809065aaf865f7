"""Names, pay and notes of the people who answer."""

import json

import pandas as pd
import pytest

from simkit.cli.main import code
from simkit.orders import side_tables
from simkit.orders.order import Order
from tests.orders.people import TRUTH, ordered, rows


@pytest.fixture
def order(tmp_path) -> Order:
    return ordered(tmp_path / "one", "--scheme", "full-subset", "--images", "4")


def received(order: Order, table: pd.DataFrame, capsys) -> dict:
    file = order.folder.parent / "answers.csv"
    table.to_csv(file, index=False)
    capsys.readouterr()
    assert code(["receive", str(order.folder), str(file), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_people_are_paid_by_their_measured_times_and_named_by_a_file_that_may_go(order, capsys):
    raw = rows(order, TRUTH).assign(worker=["Ann"] * 100 + ["ben"] * (len(order.table) - 100))
    raw["seconds"] = [3.6] * 100 + [1.2] * 50 + [None] * (len(raw) - 150)
    people = {row["name"]: row for row in received(order, raw, capsys)["people"]}
    assert {*people} == {"Ann", "ben"}
    assert people["Ann"]["time"] == pytest.approx(360)
    assert people["Ann"]["pay"] == pytest.approx(1.5)  # at $15 an hour
    assert people["ben"]["pay"] == pytest.approx(0.25)
    assert people["ben"]["untimed"] == len(raw) - 150
    key = order.folder / "names.csv"
    named = pd.read_csv(key).set_index("worker")["name"].to_dict()
    assert named == {row["person"]: row["name"] for row in people.values()}
    others = [file for file in order.folder.rglob("*") if file.is_file() and file != key]
    assert not [file for file in others if b"Ann" in file.read_bytes()]
    key.unlink()
    again = received(order, raw.head(1), capsys)["people"]
    assert {row["name"] for row in again} == {"Ann", ""}  # as far as a file names them
    assert {round(row["pay"], 9) for row in again} == {1.5, 0.25}
    key.write_text("name\n", "utf-8")
    assert code(["receive", str(order.folder)]) == 2
    assert f"{key}" in capsys.readouterr().err


def test_a_price_in_dollars_is_paid_for_each_answer(tmp_path, capsys):
    prices = tmp_path / "prices.toml"
    prices.write_text('like = "hourly"\n[sweep]\nper = "question"\ndollars = 0.02\n', "utf-8")
    words = ["--scheme", "full-subset", "--images", "2", "--prices", str(prices)]
    order = ordered(tmp_path / "one", *words)
    (ann,) = received(order, rows(order, TRUTH), capsys)["people"]
    assert ann["pay"] == pytest.approx(0.02 * len(order.table))


def test_names_and_notes_are_no_formulas_in_a_spreadsheet(order, capsys):
    raw = rows(order, TRUTH).assign(worker="=HYPERLINK(1)", order=order.id, note="")
    raw.loc[raw.index[0], "note"] = "@SUM(A1)"
    for _ in range(2):  # reading and writing again changes nothing
        assert received(order, raw, capsys)["people"][0]["name"] == "=HYPERLINK(1)"
        named, noted = ((order.folder / f"{n}.csv").read_text("utf-8") for n in ("names", "notes"))
        assert named.count("'=HYPERLINK") == 1 == noted.count("'@SUM")
    assert side_tables.read(order.folder, side_tables.NOTES)["note"].tolist() == ["@SUM(A1)"]


def test_notes_stay_with_the_order(order, capsys):
    raw = rows(order, TRUTH).assign(order=order.id, note="")
    raw.loc[raw.index[[0, 60]], "note"] = ["a bird, too", "blurred"]
    result = received(order, raw, capsys)
    assert "notes.csv" in result["files"]
    received(order, raw, capsys)  # the same file again adds nothing
    notes = pd.read_csv(order.folder / "notes.csv")
    about = order.images[order.table["image"].iloc[[0, 60]]].tolist()
    (one,) = result["people"]
    assert notes.to_numpy().tolist() == [[about[0], one["person"], "a bird, too"],
                                         [about[1], one["person"], "blurred"]]  # fmt: skip


def test_a_spreadsheet_may_save_the_tables_with_further_columns(order, capsys):
    raw = rows(order, TRUTH).assign(order=order.id, note="")
    raw.loc[raw.index[0], "note"] = "a bird, too;\r\nblurred"
    received(order, raw, capsys)
    for name in ("names.csv", "notes.csv"):
        table = pd.read_csv(order.folder / name).assign(done="yes")
        table.to_csv(order.folder / name, index=False, sep=";", encoding="utf-8-sig")
    raw.loc[raw.index[60], "note"] = "dark"
    assert received(order, raw, capsys)["people"][0]["name"] == raw["worker"].iloc[0]
    notes = pd.read_csv(order.folder / "notes.csv", keep_default_na=False)
    assert notes[["note", "done"]].to_numpy().tolist() == [["a bird, too;\r\nblurred", "yes"],
                                                           ["dark", ""]]  # fmt: skip
    (order.folder / "notes.csv").write_text("image,note\n", "utf-8")
    assert code(["receive", str(order.folder)]) == 2
    assert "has no column worker; restore it" in capsys.readouterr().err
