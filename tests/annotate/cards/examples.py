"""Labels with all that a card tells of them."""

from pathlib import Path
from typing import Any

import numpy as np
from markdown_it import MarkdownIt

from simkit.annotate.annotators import Habits
from simkit.annotate.cards.subject import Subject
from simkit.annotate.prices import cost
from simkit.annotate.simulate import simulate
from simkit.data.terms import Terms
from simkit.labels import formats
from simkit.labels.truth import Truth

OWNED = Terms(
    "Zoo", "other", "zoo-terms", "https://zoo.org/terms", "no lions", "https://zoo.org", "A. Keeper"
)
# Names that mean something to a reader of Markdown, HTML, YAML, JSON or a shell.
ODD = [
    "a | b", "c\nd", "<b>bold</b>", "e\\", "`f`", "# g", "- h: {i}, [j]", "*k* __l__", "~~m~~",
    "'n' \"o\"", "&amp;", "[p](q)", "ä 😀 \u2028 r", "---", "$s$ $t$", "\\|", "| --- |", "yes",
    "a_b", "[12]?*",
]  # fmt: skip


def subject(folder: Path, file: str = "zoo.parquet", **given: Any) -> Subject:
    """Labels of 60 images and 12 classes, written into `folder`."""
    scheme = given.pop("scheme", "rpa(keep=0.3)")
    classes = given.pop("classes", [f"class {c}" for c in range(12)])
    habits = given.pop("habits", Habits())
    ids = given.pop("ids", None)
    present = np.random.default_rng(0).random((60, len(classes))) < 0.3
    present[:, 0] = True
    truth = Truth.of(present, ids, classes)
    labels = simulate(truth, scheme, habits=habits, seed=3)
    path = folder / file
    form = formats.for_path(path, writing=True)
    form.write(labels, path)
    values = {
        "labels": labels,
        "files": (path,),
        "form": form.name,
        "lost": form.loses(labels),
        "data": "zoo",
        "split": "train",
        "terms": Terms(),
        "bill": cost(labels, "coco-tagging"),
        "wrong": labels.wrong(truth),
        "command": ("simkit", "simulate", "--data", "zoo.toml", "--scheme", scheme),
    }
    return Subject(**(values | given))


def tables(markdown: str) -> list[list[list[str]]]:
    """The text of each cell of each row of each table, as a reader of Markdown has it."""
    found: list[list[list[str]]] = []
    for token, inside in _tokens(markdown):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and inside in ("th", "td"):
            found[-1][-1].append(_words(token))
    return found


def shown(markdown: str, place: str) -> list[str]:
    """The texts of all paragraphs ("p"), headings ("h2") or blocks of code ("fence")."""
    pairs = _tokens(markdown)
    if place == "fence":
        return [token.content for token, _ in pairs if token.type == "fence"]
    return [_words(token) for token, tag in pairs if token.type == "inline" and tag == place]


def _tokens(markdown: str) -> list[tuple[Any, str]]:
    """Tokens of GitHub's Markdown, each with the element that was opened last."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tag, pairs = "", []
    for token in parser.parse(markdown):
        tag = token.tag if token.nesting == 1 else tag
        assert token.type != "html_block", token.content
        pairs.append((token, tag))
    return pairs


def _words(inline: Any) -> str:
    """Its text, which must be text alone, code, or an address in < >."""
    allowed = {"text", "text_special", "code_inline", "link_open", "link_close"}
    assert {child.type for child in inline.children} <= allowed, inline.content
    assert all(child.markup == "autolink" for child in inline.children if "link" in child.type)
    return "".join(child.content for child in inline.children)
