"""The API reference: it is written, names everything public, and all its links lead somewhere."""

import ast
import importlib.util
import inspect
import re
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

import simkit

ROOT = Path(__file__).parents[1]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE = script()


class Page(HTMLParser):
    """Where a page's links lead, and the places that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.tells = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.tells = self.tells or "docstring" in (told.get("class") or "").split()
        if tag == "a" and told.get("href"):
            self.links.append(told["href"])
        self.places.add(told.get("id") or "")


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[Path, Page]:
    folder = tmp_path_factory.mktemp("api")
    REFERENCE.write(folder)
    return {path.resolve(): Page(path.read_text("utf-8")) for path in folder.rglob("*.html")}


def page_of(module: str, pages: dict[Path, Page]) -> Page:
    """Raises AssertionError for a module without a page."""
    end = "/".join(module.split(".")) + ".html"
    found = [path for path in pages if path.as_posix().endswith("/" + end)]
    assert found, f"{module} has no page"
    return pages[min(found, key=lambda path: len(path.parts))]


def test_every_public_name_has_its_place(pages: dict[Path, Page]) -> None:
    for name in simkit.__all__:
        value = getattr(simkit, name)
        if is_module(value):
            own = page_of(value.__name__, pages)
            wanted = {n for n in getattr(value, "__all__", ()) if documented(getattr(value, n))}
            assert wanted <= own.places, name
        else:
            assert name in page_of("simkit", pages).places


def test_every_page_tells_something_and_is_on_the_first_one_once(pages: dict[Path, Page]) -> None:
    (first,) = [path for path in pages if path.name == "index.html"]
    for path, page in pages.items():
        assert path == first or page.tells, f"{path} is empty"
    (main,) = re.findall(r"<main .*?</main>", first.read_text("utf-8"), re.DOTALL)
    linked = [(first.parent / link).resolve() for link in Page(main).links]
    assert sorted([first, *linked]) == sorted(pages)


def test_every_analysis_and_every_part_has_a_page(pages: dict[Path, Page]) -> None:
    folder = ROOT / "simkit" / "study" / "analysis"
    analyses = [path for path in folder.glob("*.py") if path.stem != "__init__"]
    assert len(analyses) > 5
    for path in analyses:
        page_of(".".join(path.relative_to(ROOT).with_suffix("").parts), pages)
    for package in REFERENCE.PARTS:
        for name in package.names():
            part = package.get(name)
            assert part.__qualname__ in page_of(part.__module__, pages).places


def documented(value: object) -> bool:
    """A function or class of this project; a registry's own methods are told of elsewhere."""
    return inspect.isfunction(value) or inspect.isclass(value)


def test_what_readme_and_docs_name_is_there(pages: dict[Path, Page]) -> None:
    named = REFERENCE.named()
    assert {"simkit.plan", "simkit.data.open"} <= named
    for name in named:
        module, value = REFERENCE.resolve(name)
        own = page_of(module, pages)
        assert isinstance(value, ModuleType) or name.split(".")[-1] in "\n".join(own.places), name


def test_all_links_lead_somewhere(pages: dict[Path, Page]) -> None:
    count = 0
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"https?://", link):
                continue
            file, _, place = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target in pages, f"{path.name}: {link}"
            assert not place or place in pages[target].places, f"{path.name}: {link}"
            count += 1
    assert count > 1000


def sayings() -> list[tuple[str, str]]:
    """What is public, by a name for messages, with its docstring as it is written."""
    found = []
    for value in dict.fromkeys(v for v in REFERENCE.public() if documented(v) or is_module(v)):
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


def is_module(value: object) -> bool:
    return isinstance(value, ModuleType)


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
                    REFERENCE.resolve(whole or f"simkit.{inside}")  # AttributeError names it
                    count += 1
    assert count > 10


def test_a_name_that_is_not_there_is_not_resolved() -> None:
    assert REFERENCE.resolve("simkit.learn.metrics.top1")[0] == "simkit.learn.metrics.thresholds"
    with pytest.raises(AttributeError, match=r"there is no simkit\.learn\.nothing"):
        REFERENCE.resolve("simkit.learn.nothing")


def test_columns_stay_and_prose_flows() -> None:
    text = "Says.\n\nscheme  a value.\nimages  which share.\n\nOne line\nand another.  Then."
    prose, columns, end = REFERENCE.columns_kept(text).split("\n\n")
    assert prose == "Says." and columns == "```text\nscheme  a value.\nimages  which share.\n```"
    assert end.startswith("```text") is False
