"""Whatever a name holds, readers of Markdown and YAML get it back."""

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simkit.annotate.cards.escapes import code, fenced, line, prose, quoted, read, spans
from tests.annotate.cards.examples import shown, tables

# Marks of Markdown, HTML and YAML, white space, and letters with and without two bytes.
MARKS = st.text("|\\`*_<>&;#~$[]()!-+=:'\"{}%@, \t\n\x85\u2028aä1.😀", max_size=12)


@settings(max_examples=300)
@given(MARKS)
@example("# a")
@example("a #")
@example("a ###")
@example("#")
@example("a\\|b\\")
@example("`a|b`")
@example("[a](b) ![a][b] <http://a.b> &amp; &#35;")
@example("_a_ a_b __init__ *a* **b** ~~c~~ $x$ \\*")
@example("<!-- a --> <script>")
def test_prose_is_shown_as_it_was_in_every_place(name: str) -> None:
    spelled = prose(name)
    assert "\n" not in spelled and read(spelled) == line(name)
    assert shown(f"Of {spelled}.", "p") == [f"Of {line(name)}." if line(name) else "Of ."]
    if line(name):
        assert shown(f"# Of {spelled}, read", "h1") == [f"Of {line(name)}, read"]
        assert shown(f"# {spelled}", "h1") == [line(name)]
    table = f"| class | n |\n| --- | ---: |\n| {spelled} | 1 |"
    assert tables(table) == [[["class", "n"], [line(name), "1"]]]


@settings(max_examples=200)
@given(MARKS.filter(str.strip))
@example("`")
@example("a``b")
@example("` a `")
def test_code_is_shown_as_it_was(name: str) -> None:
    assert shown(f"- split {code(name)}, and", "p") == [f"split {line(name)}, and"]
    assert shown(fenced("sh", name.replace("\n", " ")), "fence") == [name.replace("\n", " ") + "\n"]


def test_a_sentence_of_our_own_keeps_its_code_spans() -> None:
    assert spans("Of `a_b`  and _c_ <d> `e|f`, ` or") == "Of `a_b` and \\_c\\_ \\<d> `e|f`, \\` or"
    assert shown(spans("With `skew` above 0, $x$"), "p") == ["With skew above 0, $x$"]
    assert spans("no marks at all") == "no marks at all"


@settings(max_examples=300)
@given(st.text(max_size=12))
@example("\u2028\ufeff\x7f\x85\ud800")
@example("yes")
@example("- a: {b} #c")
@example("!!python/object:a")
def test_yaml_gives_quoted_back(name: str) -> None:
    assert yaml.safe_load(f"name: {quoted(name)}\nof: 1") == {"name": name, "of": 1}


@pytest.mark.parametrize("name", ["a_b", "class 1", "it's", "x-y (z)", "a, b", "3 > 2", "[0.1]"])
def test_plain_names_stay_as_they_are(name: str) -> None:
    assert prose(name) == name and code(name) == f"`{name}`"
