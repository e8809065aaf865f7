"""What the settings of a part mean, for lists and help."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from dataclasses import dataclass
from itertools import takewhile
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
    def described(self) -> str:
        """Its meaning, and what it may be."""
        choices = f"one of {', '.join(choice or 'nothing' for choice in self.choices)}"
        texts = [self.meaning.rstrip("."), choices if self.choices else ""]
        return "; ".join(text for text in texts if text)


def spelled(default: Any) -> str:
    """A default as one would write it in a grid."""
    plain = isinstance(default, bool) or default is None
    return str(default).lower() if plain else str(default)


def settings(part: type[Any]) -> list[Setting]:
    """The settings of a registered part, in their order; what it wraps is none of them.

    Their meanings come from `simkit.registry.setting`, else from the comment beside the field or
    above it, else from the docstring.
    """
    fields = [f for f in dataclasses.fields(part) if f.init and f.name != "inner"]
    documented: dict[str, str] = dict(_SHARED)
    if not all(f.metadata.get("help") for f in fields):
        documented |= _in_docstrings(part) | _in_comments(part)
    types = get_type_hints(part)
    return [
        Setting(
            f.name,
            _default(f),
            f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING,
            _choices(types[f.name]),
            f.metadata.get("help") or documented.get(f.name, ""),
        )
        for f in fields
    ]


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def _in_docstrings(part: type[Any]) -> dict[str, str]:
    """Meanings as in "root: the folder; year: which one.", or in columns: "root  the folder"."""
    name = "|".join(f.name for f in dataclasses.fields(part))
    heads = re.compile(rf"(?:^|(?<=[;.)] ))((?:{name})(?:, (?:{name}))*): ")
    column = re.compile(rf"^((?:{name})(?:, (?:{name}))*) {{2,}}(?=\S)", re.MULTILINE)
    meanings: dict[str, str] = {}
    for owner in filter(dataclasses.is_dataclass, reversed(part.__mro__)):
        text = column.sub(r"\1: ", inspect.cleandoc(owner.__doc__ or ""))
        for paragraph in text.split("\n\n"):
            _, *texts = heads.split(" ".join(paragraph.partition("Source: ")[0].split()))
            for names, meaning in zip(texts[::2], texts[1::2], strict=True):
                meanings |= dict.fromkeys(names.split(", "), meaning.rstrip(" ;."))
    return meanings


def _in_comments(part: type[Any]) -> dict[str, str]:
    """For each field of a class and its parents the comment beside it, or else right above it."""
    meanings: dict[str, str] = {}
    for owner in filter(dataclasses.is_dataclass, reversed(part.__mro__)):
        try:
            source = textwrap.dedent(inspect.getsource(owner))
        except (OSError, TypeError):  # made where there is no file
            continue
        lines = source.splitlines()
        (tree,) = ast.parse(source).body
        assert isinstance(tree, ast.ClassDef)
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                of_field, above = lines[node.lineno - 1 : node.end_lineno], lines[: node.lineno - 1]
                beside = [text for line in of_field if (text := line.partition("  # ")[2])]
                over = takewhile(lambda line: line.startswith("    # "), reversed(above))
                comment = beside or [line.strip(" #") for line in over][::-1]
                if comment:
                    meanings[node.target.id] = " ".join(comment)
    return meanings


def _choices(kind: Any) -> tuple[str, ...]:
    """What a Literal allows, also in a union with None; nothing where a number may stand, too."""
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    first = next(iter(get_args(kind)), None)
    return (*_choices(first), "none") if get_origin(first) is Literal else ()
