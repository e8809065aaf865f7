"""Every `simkit ...` that is written down somewhere is one that the program takes.

Looked at are the README, docs/, data_cards/, the notebooks, what benchmarks measured, and all
texts of the package itself: messages, help and docstrings. A command on a line of its own is
complete; one inside a sentence may leave out what it must have (`simkit cost --evaluation 1`), or
the value of its last option, and `...` stands for anything.
"""

import ast
import contextlib
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from simkit import methods
from simkit.cli.main import VERBS, code, main
from simkit.cli.simulate import chosen

ROOT = Path(__file__).parents[1]
PAGES = ["*.md", "docs/*.md", "data_cards/*.md", "notebooks/*.md", "benchmarks/results/*.md"]


def complete(text: str) -> list[str]:
    """Commands on lines of their own: in blocks, in indented ones, and examples in help."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    found = [line for block in blocks for line in re.findall(r"(?m)^simkit .*$", block)]
    return found + re.findall(r"(?m)^(?: {4}|.*\bExample: )(simkit [a-z].*)$", text)


def inside(text: str) -> list[str]:
    """Commands between backquotes in a sentence, whose lines may break anywhere."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [" ".join(found.split()) for found in re.findall(r"`(simkit\s+[a-z][^`]*)`", prose)]


def texts() -> Iterator[tuple[str, str]]:
    """A name and a text of everything that is written for people."""
    for path in (path for page in PAGES for path in sorted(ROOT.glob(page))):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("notebooks/*.py")):
        yield path.name, re.sub(r"(?m)^# ?", "", path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "simkit").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if "simkit " in node.value:
                    yield name, node.value


def pairs(find: Callable[[str], list[str]]) -> list[tuple[str, str]]:
    """Where, and which command, each once."""
    return list(dict.fromkeys((name, line) for name, text in texts() for line in find(text)))


COMPLETE, INSIDE = pairs(complete), pairs(inside)


def words(line: str) -> list[str]:
    """The verb and what follows it, without a redirection."""
    line = line.partition(" > ")[0]
    return [word for word in shlex.split(line, comments=True)[1:] if word != "..."]


def options(verb: str, *arguments: str) -> dict[str, object]:
    """As the program reads them, those of a scheme too. Raises what it raises."""
    command = main.get_command(click.Context(main), verb)
    if command is None:
        raise click.UsageError(f"no command {verb}")
    given = command.make_context(verb, list(arguments), resilient_parsing=False).params
    if verb == "simulate" and given["scheme"]:
        chosen(given["scheme"], given["settings"])
    return given


def each(found: list[tuple[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("where", "line"), found, ids=[f"{w}: {c}" for w, c in found])


@each([(where, line) for where, line in COMPLETE if words(line)[0] != "help"])
def test_a_command_on_its_own_line_is_taken(where: str, line: str) -> None:
    given = options(*words(line))
    assert given
    if given.get("method"):
        assert methods.make(str(given["method"]))


@each([(where, line) for where, line in INSIDE if words(line)[0] != "help"])
def test_a_command_in_a_sentence_has_these_options(where: str, line: str) -> None:
    verb, *arguments = words(line)
    with contextlib.suppress(click.MissingParameter):
        try:
            options(verb, *arguments)
        except click.BadOptionUsage:
            options(verb, *arguments, "1")  # the value of its last one


@each([pair for pair in COMPLETE + INSIDE if words(pair[1])[0] in ("help", "list")])
def test_what_is_listed_is_there(where: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code([word for word in words(line) if not word.isupper()]) == 0  # NAME, COMMAND: any
    assert capsys.readouterr().out


def test_every_command_is_shown_in_the_readme_or_docs() -> None:
    shown = {words(line)[0] for where, line in COMPLETE if where.endswith(".md")}
    assert shown >= set(VERBS)
