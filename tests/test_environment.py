"""pyproject.toml, environment.yml and requirements-cpu.txt name the same packages with the same
lower bounds."""

import re
import tomllib
from pathlib import Path

import yaml

import simkit

ROOT = Path(__file__).parents[1]
CONDA_NAMES = {"torch": "pytorch"}


def requirement(text: str) -> tuple[str, str]:
    match = re.match(r"([A-Za-z0-9-]+)(>=[0-9.]+)?", text)
    assert match is not None
    return match.group(1).lower(), match.group(2) or ""


def test_environment_lists_the_same_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    wanted = [d for d in project["dependencies"] if not d.startswith("faiss")]
    listed = dict(requirement(d) for d in conda if isinstance(d, str) and d != "pip")
    assert listed.pop("python") == project["requires-python"]
    assert listed == {CONDA_NAMES.get(n, n): bound for n, bound in map(requirement, wanted)}
    assert conda[-1]["pip"] == [d for d in project["dependencies"] if d.startswith("faiss")]


def test_the_packages_without_a_gpu_are_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "requirements-cpu.txt").read_text().splitlines()
    wanted = [d.partition(";")[0] for d in project["dependencies"] if "faiss-gpu" not in d]
    assert [line for line in lines if not line.startswith("#")] == wanted


def test_every_dependency_says_why() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    block = text[text.index("dependencies = [") :].split("\n]")[0]
    for line in block.splitlines()[1:]:
        assert "#" in line, f"no reason stands beside {line.strip()}"


def test_the_citation_has_the_version() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == simkit.__version__
