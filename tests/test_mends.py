"""The mend in a refusal is the mend: each command, option or setting that a message names works.

A case runs a command (or, after `py:`, Python) that is refused, takes the mend out of the message
by a regular expression, follows it to the letter, and is through.
"""

import re
import shlex
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import simkit
from simkit.cli.main import code
from simkit.errors import BadInput


class Mend(NamedTuple):
    """A refused command, a pattern of its message, and ways to follow it.

    run      the command; {} of `follow` are the groups of the pattern
    says     a pattern of the message
    follow   "+ --option x" is added to the command, "- --option" leaves the option out, "a => b"
             replaces a part of it; other texts are commands
    files    files that are there before, by name
    mended   files as the message says to write them
    """

    run: str
    says: str
    follow: tuple[str, ...]
    files: Mapping[str, str] = MappingProxyType({})
    mended: Mapping[str, str] = MappingProxyType({})


PHOTOS = "--data folder:photos"
SIMULATE = f"simulate {PHOTOS} --out out.parquet --scheme"
TRAIN = f"train {PHOTOS} --epochs 1 --labels rpa.parquet --method"
ORDER = f"order {PHOTOS} --out order1 --scheme"
GRID = 'data = "scenes:images=60"\nschemes = ["rpa"]\nmethods = ["an"]\nbudgets = [1]\ndraws = 1\n'

COMMANDS = [
    Mend("simulat --scheme rpa", "did you mean '(.+)'", ("simulat => {}",)),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs with labels of two classes, and what was made from them."""
    place = tmp_path_factory.mktemp("world")
    (place / "photos").mkdir()
    rng, rows = np.random.default_rng(0), []
    for i in range(24):
        picture = rng.integers(0, 256, (24, 24, 3), dtype=np.uint8)
        Image.fromarray(picture).save(place / "photos" / f"a{i:02}.png")
        shown = ["cat"] * (i % 2) + ["dog"] * (i // 2 % 2)
        rows += [f"a{i:02}.png,{name}" for name in shown or [""]]
    (place / "photos" / "labels.csv").write_text("file,class\n" + "\n".join(rows) + "\n")
    (place / "names.txt").write_text("cat\ndog\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for line in (
            f"simulate {PHOTOS} --scheme rpa --out rpa.parquet --no-card",
            f"simulate {PHOTOS} --scheme full-subset --images 0.5 --out full.parquet --no-card",
        ):
            assert code(shlex.split(line)) == 0
    return place


@pytest.fixture
def said(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[int, str]]:
    """Runs a command or Python in a copy of the world; returns the exit code and the message."""
    here = tmp_path / "here"
    shutil.copytree(world, here)
    monkeypatch.chdir(here)
    monkeypatch.setenv("SIMKIT_CACHE", str(world.parent / "cache"))

    def call(line: str) -> tuple[int, str]:
        capsys.readouterr()
        if not line.startswith("py:"):
            return code(shlex.split(line.removeprefix("simkit "))), capsys.readouterr().err
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            try:
                eval(line[3:], {"simkit": simkit, "np": np, "pd": pd, **values()})
            except BadInput as error:
                return 2, str(error)
        return 0, "\n".join(str(note.message) for note in notes)

    return call


def values() -> dict[str, Any]:
    """What cases in Python speak of."""
    data = simkit.data.open("folder:photos")
    return {"data": data, "truth": data.truth["train"]}


def followed(line: str, way: str, groups: tuple[str, ...]) -> str:
    """The command as the message says to type it."""
    way = re.sub(r"\{(\d*)\}", lambda slot: groups[int(slot[1] or 0)], way)
    if way.startswith("+ "):
        return f"{line} {way[2:]}"
    if way.startswith("- "):
        return re.sub(rf" {re.escape(way[2:])}( (?!-)\S+)?(?= |$)", "", line)
    if " => " in way:
        old, new = way.split(" => ")
        assert old in line
        return line.replace(old, new)
    return way


CASES = [(mend, way) for mend in COMMANDS for way in mend.follow]


@pytest.mark.parametrize("mend, way", CASES, ids=[f"{m.run} -- {way}" for m, way in CASES])
def test_a_mend_that_is_followed_succeeds(mend: Mend, way: str, said) -> None:
    for name, text in mend.files.items():
        Path(name).write_text(text)
    status, message = said(mend.run)
    match = re.search(mend.says, message)
    assert match, message
    assert status == 2 or "note: " in message or mend.run.startswith("py:")
    for name, text in mend.mended.items():
        Path(name).write_text(re.sub(r"\{(\d*)\}", lambda slot: match[int(slot[1] or 0) + 1], text))
    line = followed(mend.run, way, match.groups())
    assert line != mend.run or mend.mended
    status, after = said(line)
    assert status == 0, f"{line}: {after}"
    assert message.split(";")[0] not in after
