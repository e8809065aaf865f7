"""Imports run one way, on two lines through the house.

ground, labels, metrics, data, annotate, results, planning, orders
                               annotate, embed, learn, study, papers, cli
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import simkit

ROOT = Path(simkit.__file__).parent
FIRST = ["labels", "metrics", "data", "annotate"]
DECIDING = ["results", "planning", "orders"]  # no torch
LEARNING = ["embed", "learn"]
BOTH = ["study", "papers", "cli"]
LINE = [*FIRST, *DECIDING, *LEARNING, *BOTH]
GROUND = {
    "lazy", "errors", "files", "cache", "history", "chance", "progress", "registry", "quantities",
}  # fmt: skip
FILES = sorted(ROOT.rglob("*.py"))
PUBLIC = {"__init__", "analysis", "figures", "formats", "methods", "schemes"}
HANDS_ON = {
    "annotate/schemes",
    "data",
    "labels/formats",
    "learn/methods",
    "metrics",
}


def imported(path: Path) -> set[str]:
    """simkit modules that a file imports anywhere, inside functions and type checks included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            found |= {a.value for a in node.args if isinstance(a, ast.Constant)}
    return {name for name in found if name == "simkit" or name.startswith("simkit.")}


def folder(parts: tuple[str, ...]) -> str:
    """The place in the line of a module's path below simkit, or "ground"."""
    if parts[0] == "__main__":
        return "cli"
    return "ground" if parts[0] in GROUND else parts[0]


def before(place: str) -> set[str]:
    """The folders that a folder may import: its own, and those before it on its line."""
    lines = [[*FIRST, *DECIDING], [*FIRST, *LEARNING]]
    line = next((line for line in lines if place in line), LINE)
    return {"ground", *line[: line.index(place) + 1]}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_one_way(path: Path) -> None:
    own = path.relative_to(ROOT).with_suffix("").parts
    if path.parent == ROOT and path.stem in PUBLIC:
        return  # hands public names on
    place = folder(own)
    allowed = {"ground"} if place == "ground" else before(place)
    for name in imported(path):
        target = name.split(".")[1:]
        if place == "cli" and not target:
            continue  # commands call public names
        assert target, f"{path} imports simkit itself; name the module"
        assert folder(tuple(target)) in allowed, f"{own} may not import {name}"


def needed(tree: ast.AST) -> set[str]:
    """Modules a file imports when it runs, lazy imports included.

    Not counted are imports for type checks only, and those of methods called save and load: a value
    may name the file format it is written in, which knows the value.
    """
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.FunctionDef) and node.name in ("save", "load"):
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        found |= needed(node)
    return found


def test_no_cycles() -> None:
    import networkx as nx

    modules = {".".join(("simkit", *p.relative_to(ROOT).with_suffix("").parts)): p for p in FILES}
    graph = nx.DiGraph()
    for name, path in modules.items():
        for target in needed(ast.parse(path.read_text(encoding="utf-8"))):
            if target in modules and target != name:
                graph.add_edge(name, target)
    cycles = list(nx.simple_cycles(graph))
    assert not cycles, cycles


def test_init_files_are_empty_or_hand_on_names() -> None:
    for path in ROOT.rglob("__init__.py"):
        place = str(path.parent.relative_to(ROOT))
        if place != "." and place not in HANDS_ON:
            assert path.read_text() == "", f"{place}/__init__.py should stay empty"


@pytest.mark.parametrize("place", LINE)
def test_parts_of_a_folder_import_one_way(place: str) -> None:
    """Parts are its files and subfolders; imports for type checks alone do not count."""
    import networkx as nx

    def part(name: str) -> str:
        return name.split(".")[2] if name.startswith(f"simkit.{place}.") else ""

    graph = nx.DiGraph()
    for path in (ROOT / place).rglob("*.py"):
        own = part(".".join(("simkit", *path.relative_to(ROOT).with_suffix("").parts)))
        targets = map(part, needed(ast.parse(path.read_text(encoding="utf-8"))))
        graph.add_edges_from((own, target) for target in targets if target not in ("", own))
    circles = list(nx.simple_cycles(graph))
    assert not circles, circles


@pytest.mark.parametrize(
    "statement",
    [
        "import simkit; simkit.analysis",
        "import simkit.cli.main as m; m.code(['--help']); [m.code([v, '--help']) for v in m.VERBS]",
        "import simkit.cli.main as m; m.code(['list', 'schemes'])",
        "import simkit.cli.main as m; m.code(['list', 'protocols'])",
    ],
)
def test_what_answers_at_once_loads_nothing_heavy(statement: str) -> None:
    program = (
        f"{statement}\nimport sys\n"
        "heavy = {'torch', 'nltk', 'matplotlib', 'pyarrow', 'networkx', 'scipy', 'pandas', "
        "'faiss'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_dir_lists_the_public_names_once() -> None:
    assert dir(simkit) == sorted(simkit.__all__)


def test_what_the_readme_names_is_there_after_one_import() -> None:
    code = "import simkit, sys; simkit.open_runs; assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
