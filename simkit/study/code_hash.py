"""A hash of the source code behind a run, which keeps apart the results of different code."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from simkit.learn.method import layers

ROOT = Path(__file__).parents[1]
# Everything that decides the result of a run; registries import every file of their package.
_OF_RUNS = (
    "*.py", "labels/**/*.py", "metrics/**/*.py", "data/**/*.py", "annotate/**/*.py",
    "embed/**/*.py", "learn/**/*.py",
    "study/grid.py", "study/jobs.py", "study/sources.py", "study/training.py", "study/worker.py",
)  # fmt: skip


def code_id(parts: Iterable[object] = ()) -> str:
    """Eight hexadecimal digits, the same whatever the docstrings, comments and line breaks.

    Parameters
    ----------
    parts
        Schemes and methods of the run. If they are defined outside simkit, the files of their
        classes, of the parents of these and of the methods that they wrap are hashed too.
    """
    kinds = {kind for part in parts for layer in layers(part) for kind in type(layer).__mro__}
    modules = {sys.modules.get(kind.__module__) for kind in kinds}
    paths = {Path(file) for module in modules if (file := getattr(module, "__file__", None))}
    return _code_id(tuple(sorted(path for path in paths if ROOT not in path.parents)))


@cache
def _code_id(outside: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for path in [*sorted(file for part in _OF_RUNS for file in ROOT.glob(part)), *outside]:
        digest.update(f"{path.name}\n{_source(path.read_bytes())}\n".encode())
    return digest.hexdigest()[:8]


@cache  # parsing all files takes a second
def _source(text: bytes) -> str:
    """The code without docstrings and comments."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                if isinstance(first.value.value, str):
                    node.body[0] = ast.Pass()
    return ast.unparse(tree)
