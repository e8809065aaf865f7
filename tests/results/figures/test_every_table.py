"""What every figure promises, whatever it draws."""

import io
import warnings
from pkgutil import resolve_name

import matplotlib.text
import numpy as np
import pandas as pd
import pytest

from simkit import figures
from simkit.errors import BadInput
from simkit.results import runs
from simkit.results.comparisons import ablation
from simkit.results.figures.base import AtBudget
from simkit.results.figures.style import house_style
from simkit.results.result_tables import frame
from tests.long_runs import some
from tests.results import planted
from tests.results.figures.made import OF_RUNS, in_hours, over_draws, tables

NAMES = figures.names()
DRAWS = [(name, 2) for name in NAMES] + [(name, 1) for name in over_draws(1)]
OPTIONS = {  # which make a figure look at all of its columns
    "convergence": ({}, {"of": "losses"}),
    "cost-curve": ({}, {"metric": "map_all"}, {"metric": "map_o"}),
    "heat-map": ({}, {"metric": "map_all"}, {"metric": "map_o"}),
    "label-shares": ({}, {"share": "labels"}),
    "loss-shapes": ({}, {"what": "gradient"}),
    "map-course": ({}, {"of": "bottom"}, {"of": "logit"}),
    "matrix": ({}, {"metric": "map_all"}, {"metric": "map_o"}),
    "memorisation": ({}, {"middle": "median"}),
    "modification": ({}, {"beside": "found"}),
    "rank-diagram": ({}, {"metric": "map_all"}, {"metric": "map_o"}),
}
SMALLEST = 7.5  # points; a figure is 900 dots wide on a page
METHODS = ("method", "model", "base", "first", "second", "estimate")
NAMED = (
    "class", "other", "scheme", "family", "measure", "kind", "why", "image", "parents", "present",
    "absent", "hidden",
)  # fmt: skip


def of(name: str, draws: int = 2) -> pd.DataFrame:
    return over_draws(1)[name] if draws == 1 else tables()[name]


def reads(name: str):
    return figures.get(name).reads


def refused(name: str, table: object, **options) -> str:
    """The refusal, or "" where it draws; another exception than BadInput fails the test."""
    try:
        assert figures.make(name, **options)(table).axes
    except BadInput as error:
        return str(error)
    return ""


def texts_of(drawing) -> list:
    """The texts that a picture of 900 dots shows, with where they are."""
    shown = []
    draw = matplotlib.text.Text.draw

    def recorded(text, renderer):
        if text.get_visible() and text.get_text().strip():
            shown.append(text)
        return draw(text, renderer)

    with pytest.MonkeyPatch.context() as patch, house_style():
        patch.setattr(matplotlib.text.Text, "draw", recorded)
        drawing.savefig(io.BytesIO(), dpi=drawing.dpi)
    return [(text, text.get_window_extent()) for text in dict.fromkeys(shown)]


def over_each_other(texts) -> list[tuple[str, str]]:
    boxes = np.array([box.extents for _, box in texts])
    # A line of text is higher than its letters.
    boxes += [1, 2, -1, -2]
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    pairs = np.argwhere(np.triu((low < high).all(-1), 1))
    level = [text.get_rotation() in (0, 90) for text, _ in texts]
    return [
        (texts[a][0].get_text(), texts[b][0].get_text()) for a, b in pairs if level[a] and level[b]
    ]


def check_picture(drawing) -> None:
    texts = texts_of(drawing)
    width, height = drawing.bbox.size
    for text, box in texts:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
        assert inside, f"{text.get_text()!r} ends outside of the picture"
        assert text.get_fontsize() >= SMALLEST, f"{text.get_text()!r} is too small"
    assert not over_each_other(texts)


# Drawing takes a third of a second: the tests of each figure draw it too, and all run as slow ones.
@pytest.mark.parametrize("name, draws", some(DRAWS, 16))
def test_its_picture_is_whole_and_the_same_again(name: str, draws: int) -> None:
    files, table = [], of(name, draws)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2 if draws == 2 else 1):
            drawing = figures.make(name)(table)
            file = io.BytesIO()
            with house_style():
                drawing.savefig(file, format="svg", metadata={"Date": None})
            files.append(file.getvalue())
    assert len(set(files)) == 1
    check_picture(drawing)


def longer(value):
    if isinstance(value, str):
        return value + " with a name that goes on and on"
    return list(map(longer, value)) if isinstance(value, list | np.ndarray) else value


@pytest.mark.parametrize("name", some(NAMES[2:] + NAMES[:2], 16))
def test_long_names_have_room(name: str) -> None:
    table = of(name).copy()
    texts = {column for column, holds in reads(name).items() if holds in (str, str | None)}
    for column in set(METHODS) & texts:
        rest = "(a_setting=0.125,another=12)"
        table[column] = [v if v in ("full", "labels") else f"{v}{rest}" for v in table[column]]
    for column in set(NAMED) & set(table.columns):
        table[column] = [longer(value) for value in table[column]]
    drawing = figures.make(name)(table)
    check_picture(drawing)


def test_names_of_two_lines_have_room_in_an_ablation() -> None:
    names = ["an", "ll-r(delta=0.25, warmup=3)+boostlu(alpha=5, train=False)", "role(expected=2.5)"]
    rows = [
        planted.row(scheme="fpc", method=name, budget=100.0, draw=draw, map=0.3 + place / 10)
        for place, name in enumerate(names) for draw in range(2)
    ]  # fmt: skip
    drawing = figures.make("ablation")(ablation(runs.to_table(rows), "an"))
    assert any("\n" in text.get_text() for text, _ in texts_of(drawing))
    check_picture(drawing)


@pytest.mark.parametrize("name", NAMES)
def test_other_tables_are_refused_in_its_name_with_what_makes_the_right_one(name: str) -> None:
    others = [table for table in tables().values() if not set(reads(name)) <= set(table.columns)]
    assert len(others) > len(NAMES) - 2 - len(OF_RUNS)
    right = of(name)
    for other in (others[0], pd.DataFrame({"a": [1]}), right.head(0), right.to_dict("records")):
        refusal = refused(name, other)
        assert refusal.startswith(name) and figures.get(name).made_by in refusal
    for column in reads(name):
        assert repr(column) in refused(name, right.drop(columns=column))
    if name in OF_RUNS:
        several = right.assign(test_id=[str(place % 2) for place in range(len(right))])
        assert "2 test splits" in refused(name, several)
    if issubclass(figures.get(name), AtBudget):
        assert f"{name}: no runs at the budget $7" in refused(name, right, budget=7)
    assert figures.get(name).title and callable(resolve_name(figures.get(name).made_by))


@pytest.mark.parametrize("name", some(NAMES[4:] + NAMES[:4], 16))
def test_missing_values_and_rows_are_left_out_or_refused(name: str) -> None:
    table = of(name)
    may_lack = [column for column, holds in reads(name).items() if "None" in str(holds)]
    for column in reads(name):
        refusal = refused(name, table.assign(**{column: None}))
        assert column in may_lack or repr(column) in refusal
    refused(name, table.assign(**dict.fromkeys(may_lack)))
    for rows in (table.head(1), table.iloc[::2], table.iloc[1:]):
        refusal = refused(name, rows.reset_index(drop=True))
    assert not figures.get(name).unique or "one row for each" in refusal


@pytest.mark.parametrize("name", some(NAMES[6:] + NAMES[:6], 16))
def test_it_reads_what_it_declares_and_nothing_else(name: str) -> None:
    tables = [of(name), *([in_hours()] if name in OF_RUNS else [])]
    right = [frame(table, reads(name), asker=name, mend="") for table in tables]
    options = OPTIONS.get(name, ({},))
    assert not any(needs(name, seen, **some) for seen in right for some in options)
    counted = {column for part in figures.get(name).unique for column in part}
    for column in set(reads(name)) - counted - {"test_id"}:  # which counts where it is there
        less = [seen.drop(columns=column) for seen in right]
        assert any(needs(name, seen, **some) for seen in less for some in options), column


def needs(name: str, table, **options) -> bool:
    try:
        with house_style():
            figures.make(name, **options).draw(table.copy())
    except (KeyError, AttributeError, BadInput):
        return True
    return False
