"""What the settings of a part mean: from the comments beside them, or from its docstring."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import re
import textwrap
import tokenize
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

# Settings that many methods share, where a method says nothing more of its own.
_SHARED = {
    "alpha_pos": "weight of known positives",
    "alpha_neg": "weight of known negatives",
    "alpha_unknown": "weight of unknown labels",
    "clip": "probabilities of absent labels are lowered by this, and cost nothing at 0",
    "distance": "how far apart two things are",
    "epsilon": "logs as this published code keeps them finite; none: exact",
    "gamma_neg": "focus on known negatives: the larger, the less easy ones count",
    "gamma_pos": "focus on known positives: the larger, the less easy ones count",
    "gamma_unknown": "focus on unknown labels: the larger, the less easy ones count",
    "hierarchy": "a JSON file, or the name of a shipped one",
    "mu": "share of a running average that stays in one step",
    "pos_weight": "weight of known positives",
    "reduction": "what the loss is a mean or a sum over",
    "reproduce": "the published code, or the paper, whose choices are taken",
    "warmup": "epochs before it sets in",
    "weight": "of what is added to the loss",
}


@dataclass(frozen=True)
class Setting:
    """One field of a part: its default (None where `needed`), what it may be, what it means."""

    name: str
    default: Any
    needed: bool
    choices: tuple[str, ...]
    meaning: str

    @property
    def told(self) -> str:
        """Its meaning, and what it may be."""
        kinds = f"one of {', '.join(each or 'nothing' for each in self.choices)}"
        told = [self.meaning.rstrip("."), kinds if self.choices else ""]
        return "; ".join(text for text in told if text)


def settings(part: type[Any]) -> list[Setting]:
    """The settings of a registered part, in their order; what it wraps is none of them."""
    notes, hints = told_of(part) | comments(part), get_type_hints(part)
    return [
        Setting(
            f.name,
            _default(f),
            f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING,
            _choices(hints[f.name]),
            f.metadata.get("help") or notes.get(f.name) or _SHARED.get(f.name, ""),
        )
        for f in dataclasses.fields(part)
        if f.init and f.name != "inner"
    ]


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def told_of(part: type[Any]) -> dict[str, str]:
    """What docstrings say of fields, as in "root: the folder; year: which one, of several.", or in
    columns: "root  the folder"."""
    name = "|".join(f.name for f in dataclasses.fields(part))
    heads = re.compile(rf"(?:^|(?<=[;.)] ))((?:{name})(?:, (?:{name}))*): ")
    column = re.compile(rf"^((?:{name})(?:, (?:{name}))*) {{2,}}(?=\S)", re.MULTILINE)
    found: dict[str, str] = {}
    for owner in reversed(part.__mro__):
        text = inspect.cleandoc(owner.__doc__ or "") if dataclasses.is_dataclass(owner) else ""
        text = column.sub(r"\1: ", text)
        for paragraph in text.split("\n\n"):
            _, *pairs = heads.split(" ".join(paragraph.partition("Source: ")[0].split()))
            for names, told in zip(pairs[::2], pairs[1::2], strict=True):
                found |= dict.fromkeys(names.split(", "), told.rstrip(" ;."))
    return found


def comments(part: type[Any]) -> dict[str, str]:
    """For each field of a class and its parents the comment beside it, or else right above it."""
    found: dict[str, str] = {}
    for owner in reversed(part.__mro__):
        if dataclasses.is_dataclass(owner):
            found |= _own_comments(owner)
    return found


def _own_comments(owner: type[Any]) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(owner))
    except (OSError, TypeError):  # made where there is no file
        return {}
    written = {
        token.start[0]: (
            token.string.lstrip("# ").rstrip(),
            not token.line[: token.start[1]].strip(),
        )
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            beside = [written[line][0] for line in lines if line in written]
            if told := beside or _above(node.lineno, written):
                found[node.target.id] = " ".join(told)
    return found


def _above(line: int, written: dict[int, tuple[str, bool]]) -> list[str]:
    """The lines of comment that end right above this line."""
    told: list[str] = []
    while (text := written.get(line - 1)) is not None and text[1]:
        told.insert(0, text[0])
        line -= 1
    return told


def _choices(kind: Any) -> tuple[str, ...]:
    """What a Literal allows, also in a union with None; nothing where a number may stand, too."""
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    first = next(iter(get_args(kind)), None)
    return (*_choices(first), "none") if get_origin(first) is Literal else ()
