"""What the names of schemes and methods mean, for people who never read them before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from simkit.annotate import schemes
from simkit.errors import BadInput
from simkit.learn import methods

# What is done to so many images, as an order. Schemes that are not here go by their title.
_ORDERS = {
    "federated": "For each class find images with it and without it among {images}",
    "fpc": "For each class find as many images with it as without it among {images}",
    "fraction-of-positives": "Name a share of what is present in {images}",
    "full-subset": "Label {images} completely",
    "knowledge-graph": "Name one present class, and ask about what is beside it, in {images}",
    "mixed": "Label a share of {images} completely, and the rest by another scheme",
    "proposals": "Verify what a machine proposes for {images}",
    "rpa": "Ask about classes picked by chance in {images}",
    "single-positive": "Name present classes in {images}",
}
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def order(spec: str, images: int) -> str:
    """ "Label 900 images completely (full-subset)": what to do, for somebody who labels."""
    name, counted = _first(spec), f"{images:,} images"
    pattern = _ORDERS.get(name)
    if pattern is None:
        part = _part(schemes, name)
        pattern = "Buy labels of {images}" if part is None else f"Label {{images}} by {part.title}"
    return f"{pattern.format(images=counted)} ({spec})"


def trained(method: str) -> str:
    """ "LL-R with BoostLU (ll-r+boostlu)"."""
    titles = [getattr(_part(methods, _first(one)), "title", "") for one in method.split("+")]
    return f"{' with '.join(titles)} ({method})" if all(titles) else f"the method {method}"


def meanings(ways: Iterable[str], trained_with: Iterable[str]) -> Iterator[str]:
    """A line for each scheme and method: its name, its title, what it does; each once."""
    told = [(schemes, _first(way)) for way in ways]
    told += [(methods, _first(one)) for method in trained_with for one in method.split("+")]
    for registry, name in dict.fromkeys(told):
        part = _part(registry, name)
        if part is not None:
            yield f"{name} ({part.title}): {_does(part)}"


def _does(part: Any) -> str:
    """The first line of what it does, as `simkit list` has it."""
    lines: list[str] = (part.__doc__ or "").strip().splitlines()
    return lines[0] if lines else ""


def _first(spec: str) -> str:
    """The name at the start of a way or of a method's spelling; "" where there is none."""
    found = _NAME.match(spec.strip())
    return found.group() if found else ""


def _part(registry: Any, name: str) -> Any:
    try:
        return registry.get(name)
    except BadInput:
        return None
