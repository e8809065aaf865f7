"""The page of a plan: one screen in a terminal, one file in a browser, a part of a notebook."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from rich.cells import cell_len

from simkit.cli.plan import command
from simkit.errors import BadInput
from simkit.planning.costs import Staff
from simkit.planning.plan_figure import Chart, CurveSeries
from simkit.results.report import Page, Section, Table

DOLLARS = tuple(float(d) for d in np.geomspace(30, 2400, 40))


def curve(label: str, ceiling: float, start: float, *, chosen: bool = False) -> CurveSeries:
    """A line that rises from `start` at $30 towards `ceiling`."""
    median = ceiling - (ceiling - start) * (np.array(DOLLARS) / 30) ** -0.35
    width = np.linspace(0.012, 0.03, len(median))
    low, high = (tuple(median - width), tuple(median + width)) if chosen else ((), ())
    return CurveSeries(label, DOLLARS, tuple(median), low, high, chosen)


def example() -> Page:
    """A realistic page."""
    lines = (
        curve("single-positive, LL-R", 0.60, 0.30),
        curve("complete labels, P-ASL", 0.72, 0.28, chosen=True),
        curve("FPC, LL-R", 0.70, 0.31),
        curve("RPA 10 %, CSL", 0.66, 0.25),
        curve("proposals, AN", 0.50, 0.27),
    )
    chart = Chart(
        lines, (928, 0.5867), 1000, target=0.6, today=0.31, alt="mAP over dollars",
        note="Band: 90% interval.",
    )  # fmt: skip
    others = Table(
        "Other labels", ("labels", "method", "mAP", "90 % range"),
        (("FPC, 55 per class", "LL-R", "58.1", "54.9 to 61.2"),
         ("RPA, keep 10 %", "CSL", "53.4", "49.0 to 57.7")), (2, 3),
    )  # fmt: skip
    bill = Table(
        "Bill", ("item", "hours", "dollars"),
        (("training labels", "51.2", "$768"), ("test labels", "10.7", "$160"),
         ("total", "61.9", "$928")), (1, 2),
    )  # fmt: skip
    answers = (
        ("Spend", "$928 on complete labels of 1,240 images, trained with P-ASL"),
        ("Expect", "58.7 mAP on new images; 34 % chance to reach the target of 60"),
        ("Trust", "Medium: the purchase is 3.9 times the largest measured"),
        ("Next step", "buy 310 of the 1,240 images first ($192), run `simkit plan` again: this "
         "halves the range and decides between complete labels and FPC"),
    )  # fmt: skip
    details = (
        Section("Rounds", ("Buy in rounds.",), table=Table("", ("round", "$"), (("1", "192"),))),
        Section("What would change the plan", items=("Below $400 FPC with LL-R is ahead.",)),
        Section("Prices", ("hourly: $15 an hour",), code="simkit list prices"),
    )
    title, command = "Plan for $1,000: 80 classes", "simkit plan runs/ --budget 1000"
    return Page(title, answers, (others, bill), details, chart, command, "medium")


NASTY = "<script>alert('x')</script> & {{ 7*7 }} {% x %} \"q\" `a` | *b* $1 $2 \x1b[31m \udc80 狗狗"
LONG = "a-method-with-a-name-of-sixty-letters-that-somebody-registered"


def every_text(page: Page, text: str) -> Page:
    """The page with `text` in every place that holds words."""
    table = Table(text, (text, "$"), ((text, "$1"), ("total", "$2")), (1,))
    section = Section(text, (text,), (text,), table, text)
    chart = page.chart and replace(
        page.chart, alt=text, note=text,
        lines=tuple(replace(line, label=text) for line in page.chart.lines),
    )  # fmt: skip
    return replace(page, title=text, answers=((text, text), ("Trust", text)), tables=(table,),
                   details=(section,), chart=chart, command=text)  # fmt: skip


PAGES = {
    "usual": example(),
    "short": Page("Plan", (("Spend", "$5"),), (), ()),
    "no chart": replace(example(), chart=None, trust=""),
    "nasty": every_text(example(), NASTY),
    "long": every_text(example(), LONG),
}
every_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)


class Strict(HTMLParser):
    """Fails where an element is closed that is not the last one opened; keeps tags and words."""

    void = ("meta", "br", "img")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open += [] if tag in self.void else [tag]

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data if self.open[-1:] != ["style"] else ""


# In a terminal


@every_page
@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_screen_of_text_is_never_wider_than_the_terminal(page: Page, width: int) -> None:
    for details in (False, True):
        for line in page.text(width=width, details=details).splitlines():
            code = line.startswith("    ")  # commands are copied, so they are not folded
            assert cell_len(line) <= width or code


def test_a_usual_plan_fits_a_screen_and_names_the_option_for_more() -> None:
    lines = example().text(width=80).splitlines()
    assert len(lines) <= 40 and "--details" in lines[-1]
    more = example().text(details=True)
    assert "--details" not in more and "Below $400 FPC" in more and example().command in more


def test_text_holds_no_codes_that_would_move_the_cursor() -> None:
    text = PAGES["nasty"].text(details=True)
    assert all(c.isprintable() or c == "\n" for c in text)


# In a browser


@every_page
def test_a_page_is_well_formed_escaped_and_needs_nothing_else(page: Page) -> None:
    text = page.html()
    parsed = Strict(text)
    assert {"script", "link", "iframe", "object"}.isdisjoint(tag for tag, _ in parsed.tags)
    assert "http" not in text.replace("http-equiv", "")
    assert not re.search(r"url\((?!#)", text)
    sources = [a[name] for _, a in parsed.tags for name in ("src", "href") if name in a]
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    text.encode()  # could be written


def test_everything_said_stands_on_the_page_and_details_are_folded() -> None:
    page = example()
    before, after = page.html().split("<details>", 1)
    for table in page.tables:
        assert all(cell in before for row in table.rows for cell in row)
    assert all(section.title in after for section in page.details) and page.command in after
    assert "Below $400" in after and "Below $400" not in before


def test_the_figure_says_what_it_shows_to_those_who_do_not_see_it() -> None:
    figures = [a for tag, a in Strict(example().html()).tags if tag == "img"]
    assert figures and all(a["alt"] == example().chart.alt for a in figures)


@every_page
def test_the_same_page_gives_the_same_bytes_whatever_style_is_set(page: Page) -> None:
    def rendered() -> list[str]:
        return [page.html(), page._repr_html_(), page.markdown(), page.text()]

    first = rendered()
    with mpl.rc_context({"font.size": 30, "axes.grid": True, "svg.fonttype": "path"}):
        assert first == rendered()


# In a notebook


@every_page
def test_a_fragment_is_a_part_of_another_page(page: Page) -> None:
    text = page._repr_html_()
    tags = [tag for tag, _ in Strict(text).tags]
    assert {"html", "body", "head", "meta", "script", "svg"}.isdisjoint(tags)
    assert tags.count("img") == (page.chart is not None)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    for selector in re.findall(r"([^{};]+)\{", style):  # a notebook keeps its own look
        assert selector.strip().startswith(("&", "@container", "@media", ".simkit-plan"))
    pieces = re.split(r"<[^>]*>", text.replace(style, ""))
    assert all(piece.count("$") <= 1 for piece in pieces)  # two would make a formula


# The figure


def artists(chart: Chart, **options: bool) -> dict[str, object]:
    axes = chart.figure(**options).axes[0]
    return {one.get_label(): one for one in (*axes.lines, *axes.collections)}


def test_lines_marks_and_rulers_stand_at_their_data() -> None:
    chart = example().chart
    drawn = artists(chart)
    for line in chart.lines:
        x, y = drawn[f"median: {line.label}"].get_data()
        np.testing.assert_allclose(x, line.dollars)
        np.testing.assert_allclose(y, 100 * np.array(line.median))
    x, y = drawn["chosen"].get_data()
    assert (float(x[0]), float(y[0])) == (928, pytest.approx(58.67))
    assert set(drawn["budget"].get_xdata()) == {1000}
    assert set(drawn["target"].get_ydata()) == {60} and set(drawn["today"].get_ydata()) == {31}
    band = drawn["band"].get_paths()[0].vertices
    chosen = chart.lines[1]
    assert band[:, 1].min() == pytest.approx(100 * min(chosen.low))
    assert band[:, 1].max() == pytest.approx(100 * max(chosen.high))
    widths = {label: one.get_linewidth() for label, one in drawn.items() if "median" in label}
    assert max(widths, key=widths.get) == f"median: {chosen.label}"


def test_the_chosen_line_and_four_others_are_drawn() -> None:
    chart = example().chart
    more = tuple(curve(f"line {n}", 0.5 + n / 50, 0.2, chosen=n == 8) for n in range(9))
    drawn = artists(replace(chart, lines=more, target=None))
    assert sum(label.startswith("median") for label in drawn) == 5
    assert "median: line 8" in drawn and "target" not in drawn
    assert artists(replace(chart, lines=())).keys() == {"chosen", "budget", "target", "today"}


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("name", ["FPC, LL-R", LONG, "狗狗狗" * 8])
def test_names_of_lines_that_end_together_neither_overlap_nor_leave(name, narrow) -> None:
    close = tuple(curve(f"{n} {name}", 0.6 + n / 1000, 0.3, chosen=n == 2) for n in range(5))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a browser has it
        drawn = replace(example().chart, lines=close).figure(narrow=narrow)
        renderer = FigureCanvasAgg(drawn).get_renderer()
        drawn.draw_without_rendering()
        names = drawn.axes[0].get_legend().get_texts()
        extents = [Text.get_window_extent(text, renderer) for text in names]
    boxes = sorted((box.y0, box.y1) for box in extents)
    assert len(boxes) == 5 and boxes[0][0] >= 0 and boxes[-1][1] <= drawn.bbox.height
    assert all(0 <= box.x0 and box.x1 <= drawn.bbox.width for box in extents)
    assert all(low[1] <= high[0] for low, high in pairwise(boxes))


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("share", [0.01, 0.1, 1])
def test_the_label_of_the_purchase_stays_within_the_axes(share, narrow) -> None:
    lines = [replace(line, dollars=tuple(1e4 * d for d in line.dollars))
             for line in example().chart.lines]  # fmt: skip
    chosen = max(DOLLARS[0], share * DOLLARS[-1]) * 1e4
    chart = replace(example().chart, lines=tuple(lines), chosen=(chosen, 0.55), budget=chosen)
    drawn = chart.figure(narrow=narrow)
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    (label,) = [text for text in axes.texts if "mAP" in text.get_text() and "$" in text.get_text()]
    box, room = label.get_window_extent(), axes.get_window_extent()
    assert room.x0 <= round(box.x0) and round(box.x1) <= room.x1 + 0.5


# The command


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, tuple]:
    """The arguments of the two public functions; both return the example."""
    calls, page = {}, example()
    made = SimpleNamespace(
        text=page.text, html=page.html, markdown=page.markdown, to_json=dict,
        evidence=SimpleNamespace(project=None),
    )  # fmt: skip
    for name in ("plan", "plan_pilot"):
        monkeypatch.setattr(
            f"simkit.{name}",
            lambda *words, name=name, **options: calls.update({name: (*words, options)}) or made,
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return calls


def shell(line: str):
    return CliRunner().invoke(command, line.split())


def test_numbers_are_typed_as_people_type_them(asked) -> None:
    done = shell("a b --budget $2,000 --images 60k --target 60 --confidence 90% --wage 15 --seed 3")
    assert done.exit_code == 0, done.output
    folders, budget, options = asked["plan"]
    assert folders == (Path("a"), Path("b")) and budget == 2000
    assert options == {"images": 60_000, "target": (0.6, 0.9), "staff": Staff(wage=15), "seed": 3}
    assert done.output == example().text(width=10_000) + "\n"


def test_a_pilot_is_planned_without_runs(asked) -> None:
    done = shell("--pilot --budget 2k --classes 80 --per-image 2.9 --annotators 2 --hours-a-week 8")
    assert done.exit_code == 0, done.output
    assert asked["plan_pilot"] == (
        2000, {"classes": 80, "per_image": 2.9, "staff": Staff(2, 8)}
    )  # fmt: skip


@pytest.mark.parametrize("ending", [".html", ".md", ".txt", ".HTML"])
def test_a_report_is_written_and_named_in_one_line(asked, ending) -> None:
    done = shell(f"runs --budget 1000 --report deep/plan{ending}")
    assert done.output == f"{shell('runs --budget 1000').output}wrote deep/plan{ending}\n"
    text = Path(f"deep/plan{ending}").read_text(encoding="utf-8")
    starts = {".html": "<!doctype html>", ".md": "# Plan", ".txt": "Plan"}
    assert text.startswith(starts[ending.lower()])


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("--budget 5", "--pilot"),
        ("runs --budget 5 --report plan.pdf", ".pdf"),
        ("runs --budget 5 --report .html", "ends in .html"),
        ("runs --budget 5 --pilot", "RUNS"),
        ("runs --budget 5 --data scenes", "--data"),
        ("runs --budget 5 --per-image 5", "--per-image"),
        ("--pilot --budget 5 --target 60", "--target"),
        ("--pilot --budget 5 --confidence 80%", "--confidence"),
        ("--pilot --budget 5 --image-price 1", "--image-price"),
    ],
)
def test_what_does_not_fit_together_is_refused_in_a_sentence_before_any_work(
    asked, line, named
) -> None:
    error = shell(line).exception
    assert isinstance(error, BadInput) and named in str(error)
    assert not asked and not list(Path().iterdir())
