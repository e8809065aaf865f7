"""A shell in a folder of its own."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from simkit.cli.main import code


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def piped(monkeypatch: pytest.MonkeyPatch) -> None:
    """No width of a terminal; test runners set one."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # as `piped`, for tests of other folders

    def call(words: str = "", *arguments: object) -> Done:
        capsys.readouterr()
        exit_code = code([*words.split(), *map(str, arguments)])
        return Done(exit_code, *capsys.readouterr())

    return call


def scores_of(shell, data: str) -> tuple[str, ...]:
    """Options with the scores that a scheme or method needs, simulated into scores.npz."""
    assert shell("score", "--data", data, "--model", "simulated", "--quality", 50).code == 0
    return ("--scores", "scores.npz")


def truth_file(path: Path, *, images: int = 200, classes: int = 12, seed: int = 0) -> Path:
    """A label matrix as npz, every image with one to four of the classes."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(classes, rng.integers(1, 5), replace=False)) for _ in range(images)]
    np.savez(
        path,
        indptr=np.cumsum([0, *map(len, rows)]).astype(np.int32),
        indices=np.concatenate(rows).astype(np.int16),
        shape=np.array([images, classes]),
        class_names=np.array([f"thing {c}" for c in range(classes)]),
        image_ids=np.arange(images) + 1000,
    )
    return path
