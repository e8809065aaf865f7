"""The HTML page, answered in a real browser without a window."""

from __future__ import annotations

import json

import numpy as np
import pytest

import simkit
from simkit.annotate.simulate import simulate
from simkit.cli.main import code
from simkit.orders.order import Order
from simkit.orders.receiving import State
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
    state = State.of(order)
    assert not len(state.open)
    labels = simulate(TRUTH, order.terms.scheme, images=6)
    assert (state.labels.codes != labels.codes).nnz == 0
    assert (state.answers["seconds"] >= 0).all()


def fill_in(browser: Browser, order: Order) -> str:
    """Answer all tasks of the last round by keys alone; what is downloaded."""
    browser.open(order.round_folder / "page.html")
    browser.write("Ann")
    browser.press("Enter")
    named = names(TRUTH, order.terms.parsed_scheme, 1)
    places = {str(image): n for n, image in enumerate(TRUTH.images.tolist())}
    present = TRUTH.present.toarray()
    assert browser.run("document.images[0].complete && document.images[0].naturalWidth > 0")
    while browser.run("document.getElementById('done') === null"):
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
    words = ["order", "--data", "scenes:images=12", "--scheme", "rpa(keep=0.02)", "--seed", "3"]
    assert code([*words, "--out", str(tmp_path / "order1")]) == 0
    page = Order.read(tmp_path / "order1").round_folder / "page.html"
    browser.open(page)
    browser.write("Bo")
    browser.press("Enter")
    for key in ("1", "Enter", "Backspace", "1", "Enter"):
        browser.press(key)  # yes, and then unsure instead
    browser.open(page)
    browser.write("Bo")
    browser.press("Enter")
    assert browser.run("document.getElementById('count').textContent").startswith("1 of")
    assert '"answer":"unsure"' in browser.downloaded()


def test_answers_that_the_browser_cannot_keep_are_downloaded(browser, tmp_path):
    words = ["order", "--data", "scenes:images=12", "--scheme", "rpa(keep=0.02)", "--seed", "3"]
    assert code([*words, "--out", str(tmp_path / "order1")]) == 0
    browser.open(Order.read(tmp_path / "order1").round_folder / "page.html")
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
