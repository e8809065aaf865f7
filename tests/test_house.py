"""What a reader relies on: small functions, visible options, each name in one place."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import simkit
from simkit import methods, schemes

ROOT = Path(simkit.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions() -> Iterator[tuple[str, Function]]:
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, Function):
                yield f"{path.relative_to(ROOT)}: {node.name}", node


def test_functions_stay_small() -> None:
    for where, node in functions():
        doc = ast.get_docstring(node, clean=False) or ""
        length = (node.end_lineno or 0) - node.lineno + 1 - (doc.count("\n") + 1 if doc else 0)
        assert length <= 60, f"{where} has {length} lines"


def test_at_most_five_parameters_are_positional() -> None:
    for where, node in functions():
        every = [a.arg for a in node.args.posonlyargs + node.args.args]
        arguments = [name for name in every if name not in ("self", "cls")]
        assert len(arguments) <= 5 or node.name.startswith("__"), where


# The settings of a part and the options of a command depend on their class or function.
NAMED_BY_OTHERS = {"registry.py: make", "cli/options.py: of"}


def test_public_functions_show_their_options() -> None:
    hidden = {w for w, node in functions() if node.args.kwarg and not node.name.startswith("_")}
    assert {where for where in hidden if not where.endswith(": command")} <= NAMED_BY_OTHERS


def test_no_vague_folders() -> None:
    vague = {"utils", "util", "core", "common", "helpers", "misc"}
    assert not [p for p in ROOT.rglob("*") if p.stem in vague]


# A registered name is spelled where its part is defined, and nowhere else: what other files need
# to know about a part is an attribute of it. These words mean something else where they occur.
OTHER_MEANINGS = {
    "full": {"results/figures/style.py", "results/figures/comparisons.py", "annotate/prices.py",
             "results/cells.py"},  # matplotlib's fill, a price; cells name the references of runs
    "machine": {"labels/effort.py", "annotate/prices.py", "results/runs.py", "study/worker.py"},
    "an": {"orders/project.py", "results/figures/classes.py"},  # the usual baseline
    "csl": {"learn/losses.py", "metrics/ap.py"},  # conventions of published code
    "imcl": {"metrics/ap.py"},
    "en": {"annotate/label_card.py"},  # English
    "focal": {"results/method_facts.py"},  # a family
    "proposals": {"planning/plan_page.py"},  # a way to search
}  # fmt: skip
ANYWHERE = {"ignore"}  # what to do about warnings


def literals(path: Path) -> Iterator[str]:
    """Texts of a file that are exactly one word, without docstrings."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


HOMES = [(schemes, "annotate/schemes"), (methods, "learn/methods")]


@pytest.mark.parametrize(("registry", "home"), HOMES)
def test_names_of_parts_stand_where_the_parts_are_defined(registry, home: str) -> None:
    names = set(registry.names())
    for path in FILES:
        place = path.relative_to(ROOT).as_posix()
        if place.startswith((home, "papers/")):
            continue  # papers/ repeats experiments with the methods that they name
        found = {text for text in literals(path) if text in names} - ANYWHERE
        found -= {name for name in found if place in OTHER_MEANINGS.get(name, ())}
        assert not found, f"{place} names {', '.join(sorted(found))}"
