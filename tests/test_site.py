"""The documentation site: its generated pages, and docstrings that say what is there."""

import ast
import importlib
import inspect
import pkgutil
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import simkit
from simkit.cli.main import VERBS

ROOT = Path(__file__).parents[1]


def public() -> Iterator[object]:
    """Every public value: of simkit, and of the modules among these."""
    for name in simkit.__all__:
        value = getattr(simkit, name)
        yield value
        for inner in getattr(value, "__all__", ()) if isinstance(value, ModuleType) else ():
            yield getattr(value, inner)


def test_the_settings_load_and_every_public_part_has_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    pages = importlib.import_module("pages")
    write = pages.write
    monkeypatch.setattr(pages, "write", lambda folder: write(tmp_path))
    assert runpy.run_path(str(ROOT / "docs" / "conf.py"))["root_doc"] == "docs/index"
    text = {path.stem: path.read_text("utf-8") for path in tmp_path.glob("*.md")}
    for name in simkit.__all__:
        value = getattr(simkit, name)
        if isinstance(value, ModuleType):
            told = "\n".join(text.values())
            for inner in getattr(value, "__all__", ()):
                assert f".{inner}\n" in told or not callable(getattr(value, inner)), inner
        elif callable(value):
            assert f":: simkit.{name}\n" in text["simkit"]
    for verb in VERBS:
        assert f"## simkit {verb}\n" in text["commands"]
    for name in simkit.schemes.names():
        assert f"(`{name}`)\n" in text["schemes"]
    for name in simkit.methods.names():
        assert f"(`{name}`)\n" in text["methods"]
    assert r"- unknown label: $u=\ell^-$" in text["methods"]


def test_what_readme_and_docs_name_is_there() -> None:
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    found = (re.findall(r"\bsimkit(?:\.\w+)+", text.read_text("utf-8")) for text in texts)
    named = {name for names in found for name in names}
    assert {"simkit.plan", "simkit.data.open"} <= named
    for name in named:
        assert pkgutil.resolve_name(name) is not None


def sayings() -> list[tuple[str, str]]:
    """What is public, by a name for messages, with its docstring as it is written."""
    found = []
    for value in dict.fromkeys(v for v in public() if documented(v)):
        name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
        found.append((name, value.__doc__ or ""))
        for inner, member in vars(value).items() if inspect.isclass(value) else ():
            member = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
            ours = inspect.isfunction(member) and member.__module__.startswith("simkit")
            if ours and not inner.startswith("_"):
                own = inspect.getdoc(getattr(value, inner)) or ""
                of_class = value.__doc__ if re.search(rf"\b{inner}\b", value.__doc__ or "") else ""
                found.append((f"{name}.{inner}", own or of_class or ""))
    return found


def documented(value: object) -> bool:
    """A module, function or class; a registry's own methods are told of elsewhere."""
    return isinstance(value, ModuleType) or inspect.isfunction(value) or inspect.isclass(value)


def test_everything_public_says_what_it_is() -> None:
    said = sayings()
    assert len(said) > 100
    for name, text in said:
        words = text.split()
        assert len(words) >= 2, f"{name} needs a docstring with content"
        assert not text.startswith(name.split(".")[-1] + "("), f"{name} has its signature alone"


def test_names_in_docstrings_exist() -> None:
    """`simkit.x.y` and `study.x` in any docstring; a dotted name is looked up, part by part."""
    folders = "annotate|embed|learn|study|planning|cli"  # labels and data are variables as well
    pattern = re.compile(rf"`(?:simkit\.)?((?:{folders})(?:\.\w+)+)|`(simkit(?:\.\w+)+)")
    count = 0
    for path in (ROOT / "simkit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for inside, whole in pattern.findall(ast.get_docstring(node) or ""):
                    pkgutil.resolve_name(whole or f"simkit.{inside}")  # AttributeError names it
                    count += 1
    assert count > 10
