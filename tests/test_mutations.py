"""The test of readers itself: it finds bad readers, and does the same every time."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simkit.errors import BadInput
from tests.mutations import COUNT, mutations, survives

FILES = {
    "a.json": json.dumps({"id": 1, "rows": [{"x": 1.5, "y": "two"}, {"x": 3}]}).encode(),
    "sub/b.csv": b"image,class\n1,a\n2,b\n",
}


def _good(folder: Path) -> Any:
    """A reader as it should be."""
    try:
        values = json.loads((folder / "a.json").read_bytes())
        rows = (folder / "sub/b.csv").read_text(encoding="utf-8").splitlines()
        return sum(float(row["x"]) for row in values["rows"]), [row.split(",")[1] for row in rows]
    except (ValueError, LookupError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise BadInput(f"a.json or b.csv is broken ({type(error).__name__})") from None


def _leaks(folder: Path) -> Any:
    return json.loads((folder / "a.json").read_bytes())


def _names_no_file(folder: Path) -> Any:
    try:
        return _good(folder)
    except BadInput:
        raise BadInput("broken") from None


def _is_greedy(folder: Path) -> Any:
    return np.ones(600 << 20, np.uint8).sum() + len(str(_good(folder)))


def test_a_good_reader_survives_the_same_files_every_time(tmp_path: Path) -> None:
    one, two, other = (list(mutations(FILES, count=200, seed=seed)) for seed in (0, 0, 1))
    assert one == two != other
    survives(_good, FILES, tmp_path=tmp_path, count=500)


@pytest.mark.slow
@pytest.mark.parametrize("read", [_leaks, _names_no_file, _is_greedy])
def test_a_bad_reader_is_found(tmp_path: Path, read: Any) -> None:
    with pytest.raises((AssertionError, ValueError, OSError)):
        survives(read, FILES, tmp_path=tmp_path, count=20 if read is _is_greedy else 300)


@pytest.mark.slow
def test_the_long_form() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-k", "damage", str(Path(__file__).parent)]
    done = subprocess.run(command, env=os.environ | {"SIMKIT_MUTATIONS": str(150 * COUNT)})
    assert done.returncode == 0
