"""What `simkit simulate` writes beside its labels: cards that tell how they were made."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from simkit.annotate.prices import Cost
    from simkit.data import Dataset
    from simkit.labels.formats import Format
    from simkit.labels.partial import PartialLabels


class Cards(NamedTuple):
    """The cards that were written, and a line that says so."""

    files: list[str]
    told: str


def describe(
    labels: PartialLabels,
    form: Format,
    out: Path,
    data: Dataset,
    given: dict[str, Any],
    bill: Cost,
    wrong: dict[str, int],
) -> Cards:
    """Write the cards of labels that stand in `out`; `given` are the options of the command."""
    from simkit.annotate.cards import beside
    from simkit.annotate.cards.subject import Subject
    from simkit.data.terms import terms

    files = _files(form, out)
    subject = Subject(
        labels=labels,
        files=tuple(path for path in files if path.is_file()),
        form=form.name,
        lost=form.loses(labels),
        data=data.name,
        split=given["split"] or data.to_label,
        terms=terms(given["spec"], data.classes),
        bill=bill,
        wrong=wrong,
        command=again(labels, given, out),
    )
    written = [str(path) for path in beside.write(subject)]
    return Cards(written, f"described in {' and '.join(written)}")


def first_file(form: Format, out: Path) -> Path:
    """The file that cards stand beside and are named after."""
    return _files(form, out)[0]


def _files(form: Format, out: Path) -> tuple[Path, ...]:
    from simkit.labels.formats.base import SeveralFiles

    return tuple(form.files(out)) if isinstance(form, SeveralFiles) else (out,)


def note_replaced(file: Path, truth: str) -> None:
    """Warn where labels in `file` have a card that names other truth than that with this id."""
    from simkit.annotate.cards.escapes import read
    from simkit.labels.cards import own

    for text in own(file).values() if file.is_file() else ():
        found = re.search(r"^- Data set: (.+), split `", text, re.MULTILINE)  # in one of the two
        if found and f"truth: `{truth}`" not in text:
            what = f"{file} holds labels of {read(found[1])} and is replaced"
            warnings.warn(f"{what}; --out writes to another file", stacklevel=1)


def again(labels: PartialLabels, given: dict[str, Any], out: Path) -> tuple[str, ...]:
    """The words of a command that makes these labels again, with the amount that was bought."""
    settings = labels.history.settings
    words: list[Any] = ["simkit", "simulate", "--data", given["spec"]]
    words += ["--scheme", settings["scheme"]]
    for key in ("split", "habits_file", "workers"):
        if given[key] is not None:
            words += ["--habits" if key == "habits_file" else f"--{key}", given[key]]
    plain = {"miss": 0.0, "false_alarm": 0.0, "vote": "majority", "price_list": "coco-tagging"}
    for key, value in plain.items():
        if given[key] != value:
            words += ["--prices" if key == "price_list" else f"--{key.replace('_', '-')}"]
            words += [given[key]]
    if given["legacy_rng"]:
        words += ["--legacy-rng"]
    elif settings["images"] != 1.0 or isinstance(settings["images"], int):
        words += ["--images", settings["images"]]
    words += ["--seed", labels.history.seed]
    words += ["--draw", settings["draw"]] if settings["draw"] else []
    return tuple(str(word) for word in (*words, "--out", out))


def place(form: Format, out: Path, given: dict[str, Any]) -> Path:
    """The file that cards stand beside. Raises BadInput where labels or cards would take the place
    of what is not theirs."""
    from simkit.data.originals import originals
    from simkit.files import may_write, spare
    from simkit.labels.cards import paths

    for path in (out,) if given["no_card"] else (out, *paths(out)):
        spare(path, given["habits_file"] or "", *originals(given["spec"]))
        may_write(path)
    return first_file(form, out)


def make_room(described: Path, content_id: str, given: dict[str, Any]) -> None:
    """Take away the cards of labels that are replaced next, so that no end in between leaves them
    beside other labels. Raises BadInput where something else is in the place of a card."""
    from simkit.labels.cards import check_free, own

    if not given["no_card"]:
        check_free(described, content_id)
    for stale in own(described):
        stale.unlink()
