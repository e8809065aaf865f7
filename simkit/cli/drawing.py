"""A figure of a runs folder as a file: what `simkit show --figure` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simkit.errors import BadInput
from simkit.files import may_write, whole

FORMATS = (".png", ".pdf", ".svg")


def draw(folder: Path, *, figure: str, settings: Sequence[str], out: Path | None) -> Path:
    """Draw the figure that `figure` spells, such as "heat-map" or "per-class(scheme=fpc)".

    settings: further ones as "field=value". out: a file that ends in one of `FORMATS`; nothing:
    the figure's name as PNG. All of it is checked before the runs are read. Returns where it is.
    """
    from simkit.study import figures, runs

    name = figure.partition("(")[0].strip()
    path = out if out is not None else Path(f"{name.replace('-', '_')}.png")
    if path.suffix.lower() not in FORMATS:
        raise BadInput(f"--out is {path}; a name that ends in .png, .pdf or .svg is expected")
    may_write(path)
    made = figures.make(figure, **_given(settings))
    if not getattr(made, "of_runs", False):
        known = [name for name in figures.names() if getattr(figures.get(name), "of_runs", False)]
        raise BadInput(
            f"--figure is {name}, which draws what {made.made_by} returns in Python; of a runs "
            f"folder can be drawn: {', '.join(known)}"
        )
    drawing = made(runs.open_runs(folder))
    with whole(path) as part:
        drawing.savefig(part, format=path.suffix[1:].lower(), dpi=200)
    return path


def _given(settings: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"--set is {text!r}; field=value is expected, such as scheme=fpc")
        if name.strip() in found:
            raise BadInput(f"--set names {name.strip()!r} twice; leave one out")
        found[name.strip()] = value.strip()
    return found
