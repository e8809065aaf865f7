"""Small files as people really have them, read as a user would read them."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import simkit
from simkit.cli.main import code
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels


@dataclass(frozen=True)
class Case:
    """A file as in the report, and its right value.

    Attributes
    ----------
    text : str or other value
        The content of the file.
    right : object
        The value that reading it must give.
    asks : str
        A part of the error or note where it is not read so at once; `mended` or `options`, which
        follow the mend in this message, then give the right value.
    mended : str or other value
    options : str
    note : str
        A part of the note that must come with the value.
    """

    text: Any
    right: Any
    asks: str = ""
    mended: Any = None
    options: str = ""
    note: str = ""


def check(case: Case, read: Callable[[Any, str], Any]) -> None:
    """Read the text of a case, follow the mend if there is one, and compare."""
    text, options = case.text, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if case.asks:
            try:
                read(text, "")
            except BadInput as error:
                warnings.warn(str(error), stacklevel=1)
            assert re.search(case.asks, _messages(caught))
            text, options = text if case.mended is None else case.mended, case.options
        assert read(text, options) == case.right
    assert case.note in _messages(caught)


def _messages(caught: list[warnings.WarningMessage]) -> str:
    return "\n".join(str(one.message) for one in caught)


def photos(folder: Path, names: Iterable[str]) -> Path:
    """Different small pictures with these names, below `folder`."""
    for number, name in enumerate(names):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3), np.uint8)
        Image.fromarray(pixels).save(file)
    return folder


def written(file: Path, content: Any) -> Path:
    """A file with this text or JSON value."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    file.write_text(text, "utf-8", newline="")
    return file


Labels = tuple[list[str], dict[Any, str]]  # classes; a character of "10?" for each in each image


def coded(labels: PartialLabels) -> Labels:
    """The classes, and the state of each in every image: 1 present, 0 absent, ? unknown."""
    rows = ["".join("?10"[state] for state in row) for row in labels.codes.toarray().tolist()]
    return list(labels.classes), dict(zip(labels.images.tolist(), rows, strict=True))


def of_folder(folder: Path, text: str, options: str = "", *, name: str = "labels.csv") -> Labels:
    """The labels of a folder with this table, over all splits."""
    spec = f"folder:{folder},labels={written(folder / name, text).name},{options}"
    parts = simkit.data.open(spec.rstrip(",")).truth
    rows: dict[Any, str] = {}
    for truth in parts.values():
        present, known = truth.present.toarray(), truth.known_rows(np.arange(truth.shape[0]))
        for image, states, sure in zip(truth.images.tolist(), present, known, strict=True):
            pairs = zip(states.tolist(), sure.tolist(), strict=True)
            rows[image] = "".join("01"[shown] if asked else "?" for shown, asked in pairs)
    return list(truth.classes), dict(sorted(rows.items()))


class Received(NamedTuple):
    """Labels of an order as in `coded`, without the classes.

    Also the mean seconds of a question, and how many rows, answers and times are left out.
    """

    rows: list[str]
    seconds: float | None
    left_out: int


class Ordered:
    """An order for all classes of a few photos, and people's answers to it."""

    def __init__(self, folder: Path, classes: str = "cat dog", images: str = "a b c") -> None:
        place = photos(folder / "photos", [f"{image}.jpg" for image in images.split()])
        self.folder, self.classes = folder, classes.split(" ")
        names = written(folder / "names.txt", "\n".join(self.classes))
        words = f"order --data folder:{place},labels=none --scheme full-subset --to csv".split()
        assert code([*words, "--classes", str(names), "--out", str(folder / "order")]) == 0
        file = folder / "order" / "round-1" / "questions.csv"
        self.table = pd.read_csv(file, dtype=str)[["question", "image", "class"]]

    def receive(self, capsys: pytest.CaptureFixture[str], content: str, *options: str) -> Received:
        """The result of these answers, as the command gives it. Raises BadInput as it does."""
        capsys.readouterr()
        file = written(self.folder / "answers.csv", content)
        words = ["receive", str(self.folder / "order"), str(file), "--json", *options]
        exit_code, (out, err) = code(words), capsys.readouterr()
        if exit_code:
            raise BadInput(err)
        for line in err.splitlines():  # notes
            warnings.warn(line, stacklevel=1)
        facts = json.loads(out.splitlines()[-1])
        _, rows = coded(PartialLabels.load(self.folder / "order" / "labels.parquet"))
        seconds = next(iter(facts["seconds"].values()), None)
        return Received(list(rows.values()), seconds, sum(facts["left_out"].values()))
