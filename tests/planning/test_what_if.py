"""The page of a plan answers for other budgets, in a browser."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import simkit
from simkit.errors import BadInput
from simkit.planning.evidence import Evidence
from simkit.planning.plan import BUDGETS
from simkit.results.report import dollars, points
from tests.planning import planted

LABEL = """(() => {  // pixels between the label of the mark and both sides of the figure
  const [label, plot] = [".mark b", ".plot"].map((one) => document.querySelector(one).getBoundingClientRect());
  return [label.left - plot.left, plot.right - label.right];
})()"""  # noqa: E501


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    spec = planted.data(tmp_path_factory.mktemp("data"), 300)
    return planted.write(tmp_path_factory.mktemp("runs"), spec)


@pytest.fixture(scope="module")
def plan(runs):
    return simkit.plan(runs, 20, images=9_000)


@pytest.fixture(scope="module")
def steps(plan):
    return read(plan)[0]


def read(plan):
    """The values of a plan's page, and the words of its pages for all budgets."""
    html = plan.html()
    values = re.search(r'<script type="application/json".*?>(.*?)</script>', html, re.S)
    pages = (
        re.sub("<[^>]*>", " ", one) for one in re.findall("<template>(.*?)</template>", html, re.S)
    )
    return json.loads(values[1]), [" ".join(unescape(one).split()) for one in pages]


def test_every_step_is_what_the_command_prints_for_its_budget(runs, plan):
    values, pages = read(plan)
    all_steps, own = values["steps"], values["own"]
    assert BUDGETS / 2 < len(all_steps) <= BUDGETS and all_steps[own]["budget"] == "$20"
    assert all_steps[own]["mark"] == [plan.cost("now", "later"), plan.chosen.median]
    budgets = [float(re.sub(r"[$,]", "", step["budget"])) for step in all_steps]
    assert budgets == sorted(budgets)
    medians = [step["mark"][1] for step in all_steps]
    assert min(np.diff(medians)) > -0.011  # more money: never a point less
    for place in (3, len(budgets) // 2, len(budgets) - 1):
        other = simkit.plan(runs, budgets[place], images=9_000)
        assert all_steps[place]["mark"] == pytest.approx(
            [other.cost("now", "later"), other.chosen.median]
        )
        for _, text in other.page.answers:
            assert all(word in pages[place] for word in re.sub("[`:,]", " ", text).split())
        for row in (row for one in other.page.sections for row in one.table.rows):
            assert all(cell in pages[place] for cell in row)


def test_the_command_of_the_order_is_for_the_budget_of_the_slider(runs):
    evidence = Evidence.of(runs)
    evidence = replace(evidence, grid={**evidence.grid, "backbone": "resnet50"})
    values, pages = read(simkit.plan(evidence, 20, images=9_000))
    written = [re.findall(r"--budget ([\d.]+) [^:]*?--report plan.json", page) for page in pages]
    assert sum(map(bool, written)) > len(pages) / 4
    for step, found in zip(values["steps"], written, strict=True):
        assert {*map(float, found)} <= {float(re.sub(r"[$,]", "", step["budget"]))}


def test_the_row_of_half_the_money_is_the_plan_for_it(runs, plan):
    """At every fourth step of the slider, by value; nothing where that plan buys nothing."""
    kinds = set()
    values, pages = read(plan)
    for step, text in [*zip(values["steps"], pages, strict=True)][::4]:
        row = re.search(r"at most \$([\d.,]+) (\$[\d.,]+) .*? (\d+\.\d) [\d.]+ to ", text)
        assert (row is None) == step["nothing"]
        if row is None:
            continue
        try:
            half = simkit.plan(runs, row[1].replace(",", ""), images=9_000)
        except BadInput:  # it pays for nothing
            half = None
        bought = half is not None and half.purchase_needed
        kinds.add(bought)
        spend, score = half.cost("now", "later") if bought else 0, plan.so_far
        assert row[2] == dollars(spend)
        assert row[3] == points(half.chosen.median if bought else score)
    assert kinds == {True, False}


def test_a_budget_that_buys_nothing_has_no_mark(runs):
    """The scores without labels are better than any purchase for 20 dollars."""
    evidence = replace(Evidence.of(runs), zero_shot=(0.58, "a model"))
    plan = simkit.plan(evidence, 20, images=9_000)
    assert not plan.purchase_needed
    assert not any(line.chosen for line in plan.page.chart.lines)  # no curve is highlighted
    values, pages = read(plan)
    bought = [not step["nothing"] for step in values["steps"]]
    assert 0 < sum(bought) < len(bought)
    assert [" questions x answers x " in page for page in pages] == bought


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_slider_moves_by_keyboard(browser, plan, steps, tmp_path, size):
    file = tmp_path / "plan.html"
    cheapest, last = steps["steps"][0]["mark"][0], len(steps["steps"]) - 1  # far below all lines
    cheaper = plan.html().replace(f'"mark": [{cheapest!r},', f'"mark": [{cheapest / 1e3!r},')
    file.write_text(cheaper, encoding="utf-8")
    browser.size(*size)
    browser.open(file)
    own = steps["own"]
    first = browser.run("document.querySelector('dl').innerText")
    browser.run("document.querySelector('[name=budget]').focus()")
    for keys, place in ((["ArrowLeft"], own - 1), (["Home"], 0), (["End"], last),
                        (["Home", *["ArrowRight"] * 7], 7)):  # fmt: skip
        for key in keys:
            browser.press(key)
        step = steps["steps"][place]
        shown = browser.run(f"[document, document.querySelectorAll('template')[{place}].content]"
                            ".map((one) => one.querySelector('dl').textContent)")  # fmt: skip
        assert shown[0] == shown[1]
        assert browser.run("document.querySelector('[name=shown]').value") == step["budget"]
        assert browser.run("document.querySelector('.mark b').textContent") == step["label"]
        left, right = browser.run(LABEL)
        assert left >= 0 and right >= 0  # it is not cut
        budget = step["budget"].replace("$", "").replace(",", "")
        assert f"--budget {budget} " in browser.run(
            "document.querySelector('.command').textContent"
        )
        over = browser.run("document.documentElement.scrollWidth - window.innerWidth")
        assert over <= 0  # nothing is cut at the right
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("document.querySelector('dl').innerText") == first
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert (
        browser.run("document.querySelector('[name=shown]').value") == steps["steps"][7]["budget"]
    )
    assert browser.errors == []


def test_without_script_the_page_is_the_plan(plan):
    page = plan.html()
    words = [re.split(r"[.:,;`]", text.lstrip("`"))[0] for _, text in plan.page.answers]
    assert all(part in unescape(page) for part in words)
    assert 'class="controls" hidden' in page
    assert "<iframe" in plan.explore()._repr_html_()
