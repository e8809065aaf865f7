"""The HTML page, answered in a real browser without a window."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import simkit
from simkit.annotate.simulate import simulate
from simkit.cli.main import code
from simkit.orders import page
from simkit.orders.order import Order
from simkit.orders.receiving import OrderState
from tests.cli.test_quickstart import photographs
from tests.orders.browser import Browser
from tests.orders.people import names

SCENES = simkit.data.open("scenes:images=12")
TRUTH = SCENES.truth["train"]
INDEX = {name: c for c, name in enumerate(TRUTH.classes)}


@pytest.fixture
def browser(tmp_path):
    one = Browser(tmp_path)
    yield one
    one.close()


@pytest.mark.parametrize("spec", ["rpa(keep=0.05)", "full-subset", "single-positive(negatives=1)"])
def test_labels_from_the_page_are_the_simulated_ones(browser, tmp_path, spec):
    folder = tmp_path / "order1"
    words = ["order", "--data", "scenes:images=12", "--scheme", spec, "--images", "6"]
    assert code([*words, "--out", str(folder)]) == 0
    for _ in range(9):
        order = Order.read(folder)
        answers = tmp_path / f"{len(order.rounds)}.jsonl"
        answers.write_text(fill_in(browser, order), "utf-8")
        assert code(["receive", str(folder), str(answers)]) == 0
        if code(["order", "--next", str(folder)]) == 2:
            break
    state = OrderState.of(order)
    assert not len(state.open)
    labels = simulate(TRUTH, order.settings.scheme, images=6)
    assert (state.labels.codes != labels.codes).nnz == 0
    assert (state.answers["seconds"] >= 0).all()


def begin(browser: Browser, page: Path) -> None:
    """Open a page and type a name."""
    browser.open(page)
    browser.write("Ann")
    browser.press("Enter")


def page_of(folder: Path) -> Path:
    """The page of a new order about a few labels of scenes."""
    words = ["order", "--data", "scenes:images=12", "--scheme", "rpa(keep=0.02)", "--seed", "3"]
    assert code([*words, "--out", str(folder / "order1")]) == 0
    return folder / "order1" / "round-1" / "page.html"


def fill_in(browser: Browser, order: Order) -> str:
    """Answer all tasks of the last round by keys alone; the downloaded file."""
    begin(browser, order.round_folder / "page.html")
    named = names(TRUTH, order.settings.parsed_scheme, 1)
    places = {str(image): n for n, image in enumerate(TRUTH.images.tolist())}
    present = TRUTH.present.toarray()
    while browser.run("document.getElementById('done') === null"):
        browser.ready()
        image = places[browser.run("document.querySelector('figcaption').textContent")]
        task = browser.run("JSON.stringify(data.tasks[at])")
        questions = json.loads(task)
        classes = [INDEX.get(one["class"], -1) for one in questions["questions"]]
        if questions["kind"] == "name":
            chosen = named[image, 0]
            if chosen < 0:
                browser.run("document.getElementById('nothing').click()")
            else:
                browser.run("document.getElementById('find').focus()")
                browser.write(TRUTH.classes[chosen])
                browser.press("Enter")
        elif len(classes) == 1:
            browser.press("y" if present[image, classes[0]] else "n")
        else:
            for n in np.flatnonzero(present[image, classes]):
                browser.press("1234567890qwertyuiopasdf"[n])
            browser.press("Enter")
    return browser.downloaded()


def test_answers_survive_closing_the_page_and_can_be_changed(browser, tmp_path):
    page = page_of(tmp_path)
    begin(browser, page)
    for key in ("1", "Enter", "Backspace", "1", "Enter"):
        browser.ready()
        browser.press(key)  # yes, and then unsure instead
    begin(browser, page)
    assert browser.run("document.getElementById('count').textContent").startswith("1 of")
    assert '"answer":"unsure"' in browser.downloaded()


def test_a_page_without_its_images_records_nothing(browser, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(page, "WITHIN", 2)
    photographs(tmp_path / "photos", 3)
    words = ["order", "--data", f"folder:{tmp_path}/photos,labels=none", "--scheme", "full-subset",
             "--classes", str(tmp_path / "names.txt"), "--out", str(tmp_path / "one")]  # fmt: skip
    assert code(words) == 0
    assert re.search(
        "3 images .* only on this computer.*--to label-studio", capsys.readouterr().err
    )
    whole = tmp_path / "one" / "round-1" / "page.html"
    moved = whole.rename(tmp_path / "page.html")
    browser.open(moved)
    browser.press("Enter")
    assert browser.run("document.getElementById('missing').textContent")
    browser.write("Cy")
    browser.press("Enter")
    browser.until(lambda: browser.run("document.getElementById('failed') !== null"))
    for key in ("1", "Enter", "Enter"):
        browser.press(key)
    assert browser.run("at === 0 && Object.keys(answers).length === 0")
    for _ in range(3):
        browser.until(lambda: browser.run("document.getElementById('skip') !== null"))
        browser.run("document.getElementById('skip').click()")
    assert browser.run("document.getElementById('done').textContent").startswith("3 ")
    begin(browser, moved.rename(whole))
    browser.ready()
    browser.press("Enter")
    assert browser.run("at === 1 && Object.keys(answers).length === 1")


def test_descriptions_of_classes_reach_the_page_and_the_next_round(tmp_path):
    folder = tmp_path / "one"
    words = ["order", "--data", "scenes:images=12", "--scheme", "rpa(keep=0.1)"]
    assert code([*words, "--out", str(folder)]) == 0
    first = folder / "round-1" / "instructions.md"
    name, other = TRUTH.classes[:2]
    first.write_text(first.read_text().replace(f"* **{name}**:", f"* **{name}**: no toys"))
    answers = tmp_path / "a.jsonl"
    table = Order.read(folder).table
    lines = [{"question": n, "worker": "a", "answer": "no"} for n in table["question"].tolist()]
    answers.write_text("\n".join(map(json.dumps, lines)))
    assert code(["receive", str(folder), str(answers)]) == 0
    assert code(["order", "--next", str(folder), "--keep", "0.2"]) == 0
    second = first.parents[1] / "round-2" / "instructions.md"
    for text in (told(second), told(second, *words, "--instructions", str(first))):
        assert f"{name}: no toys" in text and f"{other}:" not in text and "unsure" in text
    sections = [file.read_text().partition("## Classes")[2] for file in (first, second)]
    assert sections[0] == sections[1]


def told(file, *words):
    """The instructions on the page beside a file, or on that of a new order."""
    if words:
        file = file.parents[2] / "new" / "round-1" / "instructions.md"
        assert code([*words, "--out", str(file.parents[1])]) == 0
    (text,) = re.findall(r'\{"order".*\}', file.with_name("page.html").read_text())
    return json.loads(text)["instructions"]


def test_answers_that_the_browser_cannot_keep_are_downloaded(browser, tmp_path):
    browser.open(page_of(tmp_path))
    browser.run(
        "for (let size = 1 << 22; size; size >>= 1) for (let n = 0; n < 9; n++)"
        " try { localStorage.setItem(`full-${size}-${n}`, 'x'.repeat(size)) } catch {}"
    )
    browser.write("Cy")
    browser.press("Enter")
    for key in ("1", "Enter", "Enter"):
        browser.press(key)
    assert browser.run("document.getElementById('count').textContent").startswith("2 of")
    assert not browser.run("document.getElementById('full').hidden")
    assert '"answer":"yes"' in browser.downloaded()
