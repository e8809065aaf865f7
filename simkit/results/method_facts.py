"""The training methods of a table of runs: titles, looks in figures, and properties for plans.

A comparison writes these facts into its tables, so that figures and plans need not import the
methods themselves, which load torch. Tables of version 0.2.0 and earlier have no facts; the
registered methods supply them then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any

from simkit.errors import BadInput
from simkit.history import sealed, unsealed
from simkit.registry import build, registry_of, split_sum

FACTS = "methods"  # the name of the facts in `attrs` and in the metadata of files
# The order of families in figures; others follow.
ORDER = (
    "baselines", "weights and smoothing", "focal", "large loss", "expected positives", "entropy",
    "robust", "soft exposure", "others",
)  # fmt: skip


@dataclass(frozen=True)
class MethodFacts:
    """The facts about a training method that readers of results need.

    Attributes
    ----------
    title
        The field's display name, such as "LL-R".
    gist
        A summary in a few words; empty for wrapped methods.
    family
        The methods of a family share a hue in figures.
    look
        Colour and marker; None: chosen by the name.
    unknown_as_absent
        Whether training takes unknown labels for absent ones; None: unknown, as the method is
        neither in the table nor registered.
    known_alone
        Whether it learns from known labels alone, so that without absent ones it predicts every
        class as present; None: unknown.
    """

    title: str
    gist: str = ""
    family: str = "others"
    look: tuple[str, ...] | None = None
    unknown_as_absent: bool | None = None
    known_alone: bool | None = None


_NAMES = [field.name for field in fields(MethodFacts)]


def of(spec: str, table: Any = None) -> MethodFacts:
    """The facts of a method as a table spells it, such as `ll-r(delta=1)+boostlu`.

    Its title has settings and wrappers; all other facts are those of the innermost method.

    Parameters
    ----------
    spec
        The spelling of the method.
    table
        A DataFrame of runs; by default the one that is `read` at the moment.

    Returns
    -------
    MethodFacts
        The facts in the table; if it has none at all, those of the registered method; for unknown
        names, a title alone: the spelling.
    """
    written = parsed(_READ.get() if table is None else table.attrs.get(FACTS, ""))
    titles, innermost = [], None
    parts = split_sum(spec)
    for part in parts:
        name, bracket, settings = part.partition("(")
        key = name.strip().lower()
        facts = written.get(key, MethodFacts(name)) if written else _registered(name)
        innermost = innermost or facts
        titles.append(facts.title + bracket + settings)
    assert innermost is not None
    title = " + ".join(titles)
    return replace(innermost, title=title, gist=innermost.gist if len(parts) == 1 else "")


def label(spec: str) -> str:
    """A method's display name: `ll-r(delta=1)+boostlu` is "LL-R(delta=1) + BoostLU"."""
    return of(spec).title


def family(spec: str) -> str:
    """The family of a method: `ll-r(delta=1)+boostlu` is of "large loss", as `ll-r` is."""
    return of(spec).family


_READ: ContextVar[str] = ContextVar("facts of the methods in the table that is read", default="")


@contextmanager
def reading(table: Any) -> Iterator[None]:
    """Within the block, `of` takes the facts from this DataFrame."""
    token = _READ.set(table.attrs.get(FACTS, ""))
    try:
        yield
    finally:
        _READ.reset(token)


def written(specs: Iterable[str]) -> str:
    """The facts of these registered methods and their wrappers, as tables of runs carry them.

    They are one JSON text because pandas deep-copies `attrs` in every operation; text is cheap.
    """
    names = {part.partition("(")[0].strip().lower() for spec in specs for part in split_sum(spec)}
    facts = sealed({name: asdict(_registered(name)) for name in sorted(names)})
    return json.dumps(facts, ensure_ascii=False)


@lru_cache(maxsize=64)
def parsed(text: str) -> Mapping[str, MethodFacts]:
    """The facts that `written` returned, by name of the method; empty without facts.

    Raises ValueError if they are damaged.
    """
    if not text:
        return {}
    # Later versions may write more facts about a method.
    return {
        name: build(MethodFacts, {key: facts[key] for key in facts if key in _NAMES}, "method")
        for name, facts in unsealed(json.loads(text)).items()
    }


def _registered(name: str) -> MethodFacts:
    try:
        method = registry_of("method")[name]
    except BadInput:  # of a plug-in that is not installed here, or no method of simkit
        return MethodFacts(name)
    return MethodFacts(**{key: getattr(method, key) for key in _NAMES})
