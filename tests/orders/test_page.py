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
from tests.browser import Browser
from tests.cli.test_quickstart import photographs
from tests.orders.people import names

SCENES = simkit.data.open("scenes:images=12")
TRUTH = SCENES.truth["train"]
INDEX = {name: c for c, name in enumerate(TRUTH.classes)}


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
    browser.until(lambda: browser.run("work !== null"))


def page_of(folder: Path) -> Path:
    """The page of a new order about a few labels of scenes."""
    words = ["order", "--data", "scenes:images=12", "--scheme", "rpa(keep=0.02)", "--seed", "3"]
    assert code([*words, "--out", str(folder / "order1")]) == 0
    return folder / "order1" / "round-1" / "page.html"


def fill_in(browser: Browser, order: Order) -> str:
    """Answer all tasks of the last round by keys alone; the downloaded file."""
    begin(browser, *order.round_folder.glob("page*.html"))
    named = names(TRUTH, order.settings.parsed_scheme, 1)
    places = {str(image): n for n, image in enumerate(TRUTH.images.tolist())}
    present = TRUTH.present.toarray()
    while browser.run("document.getElementById('done') === null"):
        browser.ready()
        image = places[browser.run("data.images[data.tasks[at].image].name")]
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

    def kept():  # the process of the new page may see it a moment later
        browser.open(page)
        return "Ann: 1 of" in browser.run("document.body.innerText")

    browser.until(kept)
    begin(browser, page)
    assert browser.text("count").startswith("1 of")
    assert '"answer":"unsure"' in browser.downloaded()


def photo_order(folder: Path, count: int, classes: int, side: int = 8, *, last: str = "") -> Order:
    """An order of complete labels of photographs in a folder; last: name of the last class."""
    photographs(folder / "photos", count, side)
    names = [f"class {n}" for n in range(1, classes + 1)]
    (folder / "names.txt").write_text("\n".join([*names[:-1], last or names[-1]]))
    words = ["order", "--data", f"folder:{folder}/photos,labels=none", "--scheme", "full-subset",
             "--classes", str(folder / "names.txt"), "--out", str(folder / "one")]  # fmt: skip
    assert code(words) == 0
    return Order.read(folder / "one")


def test_many_images_are_on_several_pages_that_can_be_sent(browser, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(page, "WITHIN", 2)
    order = photo_order(tmp_path, 5, 2)
    first = order.round_folder / "page.html"
    assert f"{first} to page-3.html" in capsys.readouterr().out
    (tmp_path / "photos").rename(tmp_path / "elsewhere")
    for number, images in enumerate((2, 2, 1), 1):
        sent = tmp_path / f"sent {number}.html"
        first.with_name(f"page-{number}.html" if number > 1 else "page.html").rename(sent)
        begin(browser, sent)
        assert browser.text("count") == f"0 of {images}"  # the pages do not mix what they keep
        for _ in range(images):
            browser.ready()
            browser.press("Enter")
        answers = tmp_path / f"{number}.jsonl"
        answers.write_text(browser.downloaded(), "utf-8")
        assert code(["receive", str(order.folder), str(answers)]) == 0
    assert not len(OrderState.of(order).open)


def test_the_page_of_an_annotator_has_the_name_and_counts_its_own_images(browser, tmp_path):
    photographs(tmp_path / "photos", 3)
    words = ["order", "--data", f"folder:{tmp_path}/photos,labels=none", "--scheme", "full-subset",
             "--classes", str(tmp_path / "names.txt"), "--out", str(tmp_path / "one"),
             "--annotators", "ann,ben"]  # fmt: skip
    assert code(words) == 0
    browser.open(tmp_path / "one" / "round-1" / "page-ann.html")
    assert "ann: 2 images, 3 classes: 6 questions" in browser.run("document.body.innerText")
    browser.press("Enter")
    assert (browser.text("who"), browser.text("count")) == ("ann", "0 of 2")


def test_a_picture_that_cannot_be_shown_records_nothing(browser, tmp_path):
    html = photo_order(tmp_path, 1, 2).round_folder / "page.html"
    html.write_text(html.read_text().replace("base64,", "base64,AAAA"))
    begin(browser, html)
    browser.until(lambda: browser.run("document.getElementById('failed') !== null"))
    for key in ("1", "Enter", "Enter"):
        browser.press(key)
    assert browser.run("at === 0 && Object.keys(work.answers).length === 0")
    browser.run("document.getElementById('skip').click()")
    assert browser.text("done") == "1 of 1 screens is not answered."


def test_a_thousand_classes_show_each_picture_once(browser, tmp_path, capsys):
    order = photo_order(tmp_path, 50, 1000, side=160)
    html = order.round_folder / "page.html"
    assert html.stat().st_size < 6e6 and html.read_text().count("data:image/jpeg") == 50
    begin(browser, html)
    browser.ready()
    browser.run("window.first = document.querySelector('img')")
    browser.press("2")
    browser.press("Enter")
    assert browser.run("window.first === document.querySelector('img')")
    browser.press("/")
    browser.write("class 77")
    browser.press("Enter")
    browser.press("Escape")
    for _ in range(3):
        browser.press("Enter")
    assert browser.text("count") == "4 of 2,100"
    assert "Classes 97 to 120 of 1,000" in browser.run("document.body.innerText")
    browser.run("document.querySelector('summary').click()")
    browser.run("document.getElementById('note').focus()")
    browser.write("a lion")
    browser.press("Escape")
    (tmp_path / "a.jsonl").write_text(browser.downloaded(), "utf-8")
    assert code(["receive", str(order.folder), str(tmp_path / "a.jsonl")]) == 0
    assert "notes from the page: 1 ('a lion' on 0000.png)" in (capsys.readouterr().err)
    answers = OrderState.of(order).answers
    assert len(answers) == 96 and answers["shared"].eq(24).all()
    said = answers.loc[answers["answer"] == "yes", "class"]
    assert [order.classes[c] for c in said] == ["class 2", "class 77"]


def test_names_with_answers_in_this_browser_are_listed(browser, tmp_path):
    html = page_of(tmp_path)
    begin(browser, html)
    browser.ready()
    browser.press("Enter")
    total = browser.text("count").partition(" of ")[2]
    browser.open(html)
    assert browser.text("started") == f"Ann: 1 of {total}, continue"
    browser.write("  aNN ")
    browser.press("Enter")
    assert browser.text("count") == f"1 of {total}" and browser.text("who") == "Ann"
    browser.open(html)
    browser.run("document.querySelector('#started button').click()")
    assert browser.text("count") == f"1 of {total}"


def test_who_returns_is_led_to_what_is_left_and_told_the_name_of_the_file(browser, tmp_path):
    begin(browser, photo_order(tmp_path, 5, 2).round_folder / "page.html")
    for key in ("Enter", "Enter", "Enter"):
        browser.ready()
        browser.press(key)
    browser.run("change(() => { delete work.answers[1]; }); go(5)")
    assert browser.text("done") == "3 of 5 screens are not answered."
    browser.run("document.getElementById('open').click()")
    browser.ready()
    browser.press("Enter")
    assert browser.run("at") == 3  # the third one is answered
    browser.ready()
    browser.press("Backspace")
    browser.ready()
    browser.press("Enter")  # a correction goes on to the next one
    for _ in range(2):
        browser.ready()
        browser.press("Enter")
    assert browser.text("done").startswith("All answered")
    browser.run("document.querySelector('.body .main').click()")
    assert len(browser.downloaded().splitlines()) == 10
    assert re.fullmatch(r"Downloaded as answers-\w+-1-Ann\.jsonl\.", browser.text("saved"))


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_picture_and_next_stay_in_sight(browser, tmp_path, width, height):
    browser.size(width, height)
    begin(browser, photo_order(tmp_path, 2, 20).round_folder / "page.html")
    browser.ready()
    assert browser.sees(".hint") and browser.sees("#next") and browser.sees("img")
    browser.run("document.querySelector('.list').lastChild.scrollIntoView()")
    assert browser.sees(".list > :last-child") and browser.sees("#next") and browser.sees("img")
    widths = []
    for key in ("z", "z"):
        widths.append(browser.run("document.querySelector('img').getBoundingClientRect().width"))
        browser.press(key)
        browser.press("1")  # while the picture hides the classes, no key answers
    assert browser.run("document.querySelector('img').getBoundingClientRect().width") == widths[0]
    assert widths[1] >= 3 * widths[0]
    assert browser.text("heard") == "class 1: yes"


@pytest.mark.parametrize(("classes", "sizes"), [(24, [24]), (26, [13, 13]), (50, [17, 17, 16])])
def test_classes_of_an_image_are_in_tasks_of_about_as_many(tmp_path, classes, sizes):
    order = photo_order(tmp_path, 2, classes, side=20)
    assert order.table.groupby("task").size().tolist() == 2 * sizes


def test_twenty_four_classes_fit_on_a_phone(browser, tmp_path):
    last = "a class with a name that is too long for half a phone"
    browser.size(390, 844)
    begin(browser, photo_order(tmp_path, 1, 24, last=last).round_folder / "page.html")
    browser.ready()
    for place in (1, 24):
        assert browser.sees(f".list > :nth-child({place})")
    assert browser.sees("#next") and browser.sees("img") and browser.sees(".hint")
    assert browser.run("document.querySelector('.body').scrollWidth <= innerWidth")
    assert browser.run("document.querySelector('.list > :last-child span').title") == last
    assert last in browser.accessible()


def test_classes_are_asked_about_one_by_one(browser, tmp_path):
    order = photo_order(tmp_path, 1, 3)
    begin(browser, order.round_folder / "page.html")
    browser.ready()
    browser.press("x")
    for key, name in (("y", "1"), ("n", "2"), ("Backspace", "3"), ("u", "2"), ("y", "3")):
        assert browser.text("class") == f"class {name}"
        browser.press(key)
    assert browser.text("done").startswith("All answered")
    browser.press("Backspace")
    browser.press("x")
    assert browser.run("document.querySelector('.list').innerText").split("\n") == [
        text for n, state in enumerate(("yes", "unsure", "yes"), 1)
        for text in (str(n), f"class {n}", state)
    ]  # fmt: skip
    rows = [json.loads(line) for line in browser.downloaded().splitlines()]
    assert [row["answer"] for row in rows] == ["yes", "unsure", "yes"]
    assert all(row["shared"] == 3 and row["seconds"] > 0 for row in rows)


def test_buttons_are_named_and_pressed_for_those_who_use_no_mouse(browser, tmp_path):
    begin(browser, photo_order(tmp_path, 2, 30).round_folder / "page.html")
    browser.ready()
    nodes = browser.accessible()
    assert {"class 1", "class 15", "Next", "Back", "Download answers", "The image in question",
            "find a class", "answered"} <= {*nodes}  # fmt: skip
    assert nodes["class 1"]["pressed"] == "false"
    browser.run("document.querySelector('.list button').focus()")
    for state in ("true", "mixed"):
        browser.press("Enter")  # of the button that has the focus, not Next
        assert browser.accessible()["class 1"]["pressed"] == state
    assert browser.text("heard") == "class 1: unsure"
    assert browser.text("count") == "0 of 4"


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
    (page,) = file.parent.glob("page*.html")
    (text,) = re.findall(r'\{"order".*\}', page.read_text())
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
    assert browser.text("count").startswith("2 of")
    assert not browser.run("document.getElementById('full').hidden")
    assert '"answer":"yes"' in browser.downloaded()
