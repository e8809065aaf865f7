"""Write the pages of the documentation site that the code itself knows: docs/generated.

Reference of the public names and of the commands, what schemes and methods assume, price lists, and
all other lists. docs/conf.py calls `write` before each build.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from click.testing import CliRunner

import simkit
from simkit.cli.main import VERBS, main

ROOT = Path(__file__).parents[1]
NOTATION = "../../notebooks/02_the_methods.ipynb"


def write(folder: Path) -> None:
    """All pages; a page whose text is the same keeps its time, so that it is not built again."""
    folder.mkdir(exist_ok=True)
    pages = {**reference(), "commands": commands(), "schemes": schemes(), "methods": methods()}
    pages |= {"prices": prices(), "lists": lists()}
    pages |= {"cards": contents("Data cards", "../../data_cards/*")}
    pages |= {"measurements": contents("Measurements", "../../benchmarks/results/*")}
    for name, text in pages.items():
        page = folder / f"{name}.md"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def reference() -> dict[str, str]:
    """A page for the names of simkit, one for each of its modules, one for what these return."""
    public = {name: getattr(simkit, name) for name in simkit.__all__ if name != "__version__"}
    modules = {name: value for name, value in public.items() if isinstance(value, ModuleType)}
    names = {f"simkit.{name}": value for name, value in public.items() if name not in modules}
    below = contents("Modules", "simkit.*", "values").replace("# ", "## ")
    pages = {"simkit": page("simkit", simkit.__doc__, names) + below}
    for name, module in modules.items():
        inner = {f"simkit.{name}.{n}": getattr(module, n) for n in listed(module)}
        inner = {path: value for path, value in inner.items() if value not in names.values()}
        pages[f"simkit.{name}"] = page(f"simkit.{name}", module.__doc__, inner)
        names |= inner
    results = {f"{v.__module__}.{v.__qualname__}": v for v in around(names.values())}
    told = "Classes that public functions and classes take, hold or return."
    return {**pages, "values": page("Values", told, dict(sorted(results.items())))}


def contents(title: str, *pattern: str) -> str:
    """A list of other pages."""
    return "\n".join([f"# {title}", "", "```{toctree}", ":glob:", *pattern, "```", ""])


def listed(module: ModuleType) -> list[str]:
    """Public names of a module: functions and classes, without a registry's constants."""
    names = getattr(module, "__all__", None) or dir(module)
    return [name for name in names if callable(getattr(module, name))]


def page(title: str, about: str | None, names: dict[str, Any]) -> str:
    """Functions and classes by the path under which they are imported."""
    lines = [f"# {title}", "", "```{eval-rst}", inspect.cleandoc(about or ""), ""]
    for path, value in names.items():
        kind = "class" if inspect.isclass(value) else "function"
        lines += [f".. auto{kind}:: {path}", ""]
    return "\n".join([*lines, "```", ""])


def around(values: Any) -> set[type]:
    """Classes of simkit in the annotations of public functions, classes and their methods."""
    public, found = list(values), set()
    for value in public:
        parts = [value, *(vars(value).values() if inspect.isclass(value) else ())]
        parts = [getattr(part, "fget", None) or part for part in parts]
        hints = [str(h) for part in parts for h in getattr(part, "__annotations__", {}).values()]
        scope = scope_of(value.__module__) if hints else {}
        found |= {scope[word] for word in re.findall(r"\w+", " ".join(hints)) if word in scope}
    return {value for value in found if value not in public and not value.__name__[0] == "_"}


@cache
def scope_of(module: str) -> dict[str, type]:
    """Classes of simkit by the names that a module has for them, also for annotations alone."""
    home = importlib.import_module(module)
    scope = dict(vars(home))
    for node in ast.walk(ast.parse(inspect.getsource(home))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("simkit."):
            source = importlib.import_module(str(node.module))
            scope |= {alias.name: getattr(source, alias.name, None) for alias in node.names}
    return {
        name: value
        for name, value in scope.items()
        if inspect.isclass(value) and value.__module__.startswith("simkit.")
    }


def commands() -> str:
    """The help of every command."""
    lines = ["# Commands", ""]
    for verb in VERBS:
        lines += [f"## simkit {verb}", "", "```text", said("help", verb), "```", ""]
    return "\n".join(lines)


def said(*words: str) -> str:
    """What a command prints."""
    result = CliRunner().invoke(main, words, prog_name="simkit", terminal_width=90)
    if result.exit_code:
        raise RuntimeError(f"simkit {' '.join(words)}: {result.output}")
    return result.output.rstrip()


def rows(what: str) -> list[dict[str, Any]]:
    return json.loads(said("list", what, "--json"))[what]


def schemes() -> str:
    """What each scheme asks, and the biases of its labels."""
    lines = ["# Schemes: what each one asks and assumes", ""]
    for row in rows("schemes"):
        lines += part("schemes", row["name"])
        caution = getattr(simkit.schemes.get(row["name"]), "caution", "")
        lines += [f"**Bias of the labels.** {caution}" if caution else "", ""]
        lines += [f"Source: {row['source']}. A budget scales: {row['scaled by']}.", ""]
    return "\n".join(lines)


def methods() -> str:
    """What each method assumes about unknown labels, with its formula."""
    lines = [
        "# Methods: what each one assumes",
        "",
        f"Formulas are those of [chapter 2]({NOTATION}), which explains the notation: "
        r"$\ell^+$ and $\ell^-$ are the cross-entropies of a present and of an absent label, "
        "and $u$ is the loss of an unknown label.",
        "",
    ]
    known = formulas()
    for row in rows("methods"):
        lines += part("methods", row["name"], known.get(row["title"].lower(), []))
        needs = f" Needs: {', '.join(row['needs'])}." if row["needs"] else ""
        lines += [f"Source: {row['paper']}.{needs}", ""]
    return "\n".join(lines)


def formulas() -> dict[str, list[str]]:
    """Rows of the tables of chapter 2 by the title of the method, as lists."""
    text = (ROOT / "notebooks" / "02_the_methods.py").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    head: list[str] = []
    for line in re.findall(r"(?m)^# \|(.*)\|$", text):
        first, *cells = (cell.strip() for cell in line.split(" | "))
        if first == "method":
            head = cells
        else:
            title = first.split(",")[0].lstrip("+ ").lower()
            found[title] = [f"- {h}: {c}" for h, c in zip(head, cells, strict=False)]
    return found


def part(what: str, name: str, formula: Sequence[str] = ()) -> list[str]:
    """Heading, docstring, formula and settings of a registered part."""
    row = json.loads(said("list", what, name, "--json"))
    settings = [
        (f"`{s['name']}`", "needed" if s["needed"] else f"`{s['default']}`", s["meaning"])
        for s in row["settings"]
    ]
    table = grid(["setting", "default", "meaning"], settings) if settings else []
    about = re.sub(r"(?m)^(\w+)\n-+$", r"**\1**\n", row["about"])  # a section of numpydoc
    return [f"## {row['title']} (`{row['name']}`)", "", about, "", *formula, "", *table]


def prices() -> str:
    """Every price list with the source of each number."""
    lines = ["# Price lists", "", "How to use them, and how to make your own: "]
    lines[-1] += "[price lists](../data.md#price-lists)."
    for row in rows("prices"):
        entries = json.loads(said("list", "prices", row["name"], "--json")).items()
        cells = [(key, value) for key, value in entries if key not in ("name", "title", "age")]
        lines += ["", f"## {row['title']} (`{row['name']}`)", "", *grid(["", ""], cells)]
    return "\n".join(lines)


def lists() -> str:
    """What `simkit list` shows and the catalogue does not."""
    lines = ["# Backbones, protocols, figures, grids and tables", ""]
    for what in ("backbones", "protocols", "figures", "grid", "columns"):
        table = rows(what)
        cells = [[f"`{row['name']}`", *list(row.values())[1:]] for row in table]
        lines += [f"## {what.capitalize()}", "", *grid(list(table[0]), cells)]
    return "\n".join(lines)


def grid(head: list[str], cells: Any) -> list[str]:
    """A table in Markdown."""
    texts = [[", ".join(c) if isinstance(c, list) else str(c) for c in row] for row in cells]
    body = [[text.replace("|", r"\|").replace("\n", " ") for text in row] for row in texts]
    table = [head, ["---"] * len(head), *body]
    return [*(f"| {' | '.join(row)} |" for row in table), ""]
