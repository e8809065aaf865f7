"""Write the API reference from the docstrings, as static pages: docs/api/index.html.

    python scripts/reference.py            # or: make docs
    python scripts/reference.py FOLDER     # elsewhere

What has a page: the modules of all public names, those of the values that they take and give, all
schemes, methods, data sets, label formats and figures, all analyses, and what README and docs name.
A folder of modules that says nothing itself has none.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pdoc.doc
import pdoc.render
from pdoc.render_helpers import to_html

import simkit

ROOT = Path(__file__).parents[1]
PARTS = (simkit.data, simkit.formats, simkit.schemes, simkit.methods, simkit.figures)


def modules() -> list[str]:
    """Names of the modules that have a page; simkit itself is the first."""
    found = {"simkit", "simkit.errors"} | {resolve(name)[0] for name in named()}
    for value in public():
        if home(value):  # a constant has none
            found |= {home(value), *around(value), *above(value)}
    for value in (package.get(name) for package in PARTS for name in package.names()):
        found |= {home(value), *above(value)}
    analyses = importlib.import_module("simkit.study.analysis")
    found |= {
        file.name for file in pkgutil.iter_modules(analyses.__path__, f"{analyses.__name__}.")
    }
    return sorted(name for name in found if importlib.import_module(name).__doc__)


def public() -> Iterator[object]:
    """Every public value: of simkit, and of the modules among these."""
    for name in simkit.__all__:
        value = getattr(simkit, name)
        yield value
        for inner in getattr(value, "__all__", ()) if isinstance(value, ModuleType) else ():
            yield getattr(value, inner)


def home(value: object) -> str:
    """The module in which a value is defined."""
    if isinstance(value, ModuleType):
        return value.__name__
    owner = getattr(value, "__self__", None)  # a registry's own method: its package tells of it
    return type(owner).__module__ if owner is not None else str(getattr(value, "__module__", ""))


def above(value: object) -> set[str]:
    """Modules of the classes that a class inherits from."""
    bases = value.__mro__ if isinstance(value, type) else ()
    return {base.__module__ for base in bases if base.__module__.startswith("simkit")}


def around(value: object) -> set[str]:
    """Modules of the classes that a function takes or gives, or that a class holds or gives."""
    parts = [value, *(vars(value).values() if isinstance(value, type) else ())]
    parts = [getattr(part, "fget", None) or part for part in parts]
    hints = [str(h) for part in parts for h in getattr(part, "__annotations__", {}).values()]
    sources = imported(home(value)) if hints else {}
    return {sources[word] for word in re.findall(r"\w+", " ".join(hints)) if word in sources}


@cache
def imported(module: str) -> dict[str, str]:
    """Names that a module has from others of simkit, also those for annotations alone."""
    source = inspect.getsource(importlib.import_module(module))
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if (node.module or "").startswith("simkit.")]
    return {alias.name: str(node.module) for node in ours for alias in node.names}


def named() -> set[str]:
    """Dotted names of simkit in the README and in the texts of docs/."""
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    found = (re.findall(r"\bsimkit(?:\.\w+)+", text.read_text("utf-8")) for text in texts)
    return {name for names in found for name in names}


def resolve(name: str) -> tuple[str, object]:
    """The module in which a dotted name is defined, and its value; raises AttributeError."""
    value: object = simkit
    for place, part in enumerate(name.split(".")[1:], start=2):
        if not hasattr(value, part):
            try:
                importlib.import_module(".".join(name.split(".")[:place]))
            except ModuleNotFoundError:
                raise AttributeError(f"there is no {name}") from None
        value = getattr(value, part)
    return home(value) or "simkit", value


def columns_kept(docstring: str) -> str:
    """Markdown in which blocks that are set in columns, a name and what it means, stay so."""
    blocks = docstring.split("\n\n")
    columns = re.compile(r"(?m)^(?!    |[-*>] ).*[\w)\]] {2,}\S")
    return "\n\n".join(f"```text\n{b.rstrip()}\n```" if columns.search(b) else b for b in blocks)


def write(folder: Path) -> None:
    """All pages, an index and a search."""
    pdoc.render.env.filters["to_html"] = lambda text: to_html(columns_kept(text))
    pdoc.render.configure(
        template_directory=ROOT / "docs" / "template", show_source=False, footer_text="simkit"
    )
    list(public())  # simkit loads its names when they are first used
    # A dataclass's own __init__ speaks of names of the file that its parent class is in.
    warnings.filterwarnings("ignore", "Error parsing type annotation", module="pdoc")
    pages = {name: pdoc.doc.Module.from_name(name) for name in modules()}
    for name, module in pages.items():
        file = folder.joinpath(*name.split(".")).with_suffix(".html")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(pdoc.render.html_module(module, pages), encoding="utf-8")
    (folder / "index.html").write_text(pdoc.render.html_index(pages), encoding="utf-8")
    (folder / "search.js").write_text(pdoc.render.search_index(pages), encoding="utf-8")
    print(f"{len(pages)} pages: {folder / 'index.html'}")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "api")
