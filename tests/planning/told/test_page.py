"""The page: whole in itself, escaped, readable by machines."""

import re
from html.parser import HTMLParser

import pytest

from tests.planning.sample import EVIL, evil, sample

ADDRESS = ("href", "src", "srcset", "action", "data", "poster", "xlink:href", "background", "cite")
EMPTY = {"meta", "link", "br", "hr", "img", "input"}


class Reader(HTMLParser):
    """Elements, attributes and text; and whether what was opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data) -> None:
        self.words.append(data)

    @property
    def styles(self) -> str:
        own = "".join(attributes.get("style", "") for _, attributes in self.elements)
        return own + "".join(word for word in self.words if "{" in word)


@pytest.mark.parametrize(
    "plan", [sample(), evil(), sample(lines=())], ids=["plain", "evil", "bare"]
)
def test_nothing_is_loaded_from_anywhere(plan) -> None:
    text = plan.html()
    read = Reader(text)
    assert not read.open
    for tag, attributes in read.elements:
        assert tag not in ("script", "link", "iframe", "img", "object", "embed", "base", "use")
        for name, value in attributes.items():
            assert name not in ADDRESS, (tag, name, value)
            assert not name.startswith("on"), (tag, name)
    assert not re.search(r"url\s*\(|@import|expression\s*\(", read.styles, re.IGNORECASE)
    markup = re.sub(r">[^<]*<", "><", text)  # what is shown as text may name an address
    assert "//" not in markup and "https:" not in markup


def test_what_comes_from_outside_is_shown_and_not_run() -> None:
    text = evil().html()
    assert EVIL not in text
    assert '" onload=' not in text
    read = Reader(text)
    assert "".join(read.words).count(EVIL) > 20
    described = [w for w in read.words if "mAP at" in w]
    assert EVIL in described[0] and 'onload="alert(1)' in described[0]


def test_a_page_is_ready_for_phones_and_says_what_it_is() -> None:
    read = Reader(sample().html())
    meta = [attributes for tag, attributes in read.elements if tag == "meta"]
    assert {"charset": "utf-8"} in meta
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in meta
    policy = [m["content"] for m in meta if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert ("html", {"lang": "en"}) in read.elements
    headings = [tag for tag, _ in read.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == "h1" and set(headings[1:]) == {"h2"}
    tables = [tag for tag, _ in read.elements if tag == "table"]
    around = [a for tag, a in read.elements if a.get("class") == "scroll"]
    assert len(tables) == len(around) > 5
    assert "@media print" in read.styles


def test_every_name_of_an_element_is_its_own_and_every_reference_has_its_target() -> None:
    text = sample().html()
    read = Reader(text)
    ids = [a["id"] for _, a in read.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in read.elements:
        for name in attributes.get("aria-labelledby", "").split():
            assert name in ids


def test_a_notebook_keeps_its_own_look() -> None:
    shown = sample()._repr_html_()
    assert "<html" not in shown and "<body" not in shown
    rules = re.findall(r"([^{}]+)\{", Reader(shown).styles)
    rules = [rule.strip() for rule in rules if not rule.strip().startswith("@")]
    assert len(rules) > 20
    for rule in rules:
        for selector in rule.split(","):
            assert selector.strip().startswith(".simkit-plan"), rule


def test_warnings_stand_before_the_recommendation() -> None:
    text = sample(warnings=("The back-test missed.",)).html()
    assert 0 < text.index("The back-test missed.") < text.index('class="lead"')
    assert "Warning:" in text  # in words, not by colour alone


def test_the_sum_of_the_bill_stands_out() -> None:
    text = sample().html()
    assert re.search(r"<tr class=total><td [^>]*>total</td><td [^>]*>4,900.00", text)


def test_on_a_phone_wide_tables_name_every_cell() -> None:
    text = sample().html()
    tables = re.findall(r"<table.*?</table>", text, re.DOTALL)
    wide = [table for table in tables if table.startswith("<table class=wide>")]
    assert wide and len(wide) < len(tables)
    for table in tables:
        columns = re.findall(r"<th [^>]*>([^<]*)</th>", table)
        assert (len(columns) >= 4) == (table in wide)
        for row in re.findall(r"<tr[^>]*><td.*?</tr>", table, re.DOTALL):
            assert re.findall(r'data-column="([^"]*)"', row) == columns


def test_in_print_the_chart_leaves_room_for_what_is_above_it() -> None:
    assert re.search(
        r"@media print \{.*> svg, [^{}]*> img \{[^}]*max-height: 6.5cm", sample().html(), re.DOTALL
    )


def test_commands_are_set_as_code_and_not_in_backticks() -> None:
    told = sample(assumptions=("Run `simkit <x>` again.", "a ` alone"))
    assert "Run <code>simkit &lt;x&gt;</code> again." in told.html() and "a ` alone" in told.html()
    assert "Run `simkit <x>` again." in told.markdown() and "a \\` alone" in told.markdown()
