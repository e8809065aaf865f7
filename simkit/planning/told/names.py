"""What the names of schemes and methods mean, for people who never read them before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from simkit.annotate import schemes
from simkit.errors import BadInput
from simkit.learn import methods
from simkit.planning.told.wording import several

# What is done to so many images, as an order; fields of the scheme stand in it, `share` for what it
# keeps or labels completely. Schemes that are not here go by their title.
_ORDERS = {
    "federated": "For each class find about {per_class} images with it, and others without it, "
    "among {images}",
    "fpc": "For each class find {per_class} images with it and as many without it among {images}",
    "fraction-of-positives": "Name {share} of what is present in {images}",
    "full-subset": "Label {images} completely",
    "knowledge-graph": "Name one present class, and ask about what is beside it, in {images}",
    "mixed": "Label {share} of {images} completely, and the rest by {other}",
    "proposals": "Verify {per_image} classes that a machine proposes for each of {images}",
    "rpa": "Ask about {share} of all classes, picked by chance, of each of {images}",
    "single-positive": "Name {positives} in each of {images}",
}
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def order(spec: str, images: int) -> str:
    """ "Label 900 images completely (full-subset)": what to do, for somebody who labels."""
    name, counted = _first(spec), several(images, "image")
    pattern = _ORDERS.get(name)
    if pattern is None:
        part = _part(schemes, name)
        pattern = "Buy labels of {images}" if part is None else f"Label {{images}} by {part.title}"
    told = pattern.format(images=counted, **_amounts(spec))
    return f"{told.replace('each of 1 image', '1 image')} ({spec})"


def _amounts(spec: str) -> dict[str, str]:
    """What the fields of a scheme are in words; nothing where nobody knows the scheme."""
    try:
        part = schemes.make(spec)
    except BadInput:
        return {}
    numbers = {name: f"{value:,.4g}" for name, value in vars(part).items() if _number(value)}
    share = numbers.get("keep", numbers.get("share"))
    if share is not None:
        numbers["share"] = f"{100 * float(share):.3g} %"
    if "rest" in vars(part):
        numbers["other"] = _first(str(vars(part)["rest"]))
    if "positives" in numbers:
        many = vars(part)["positives"]
        numbers["positives"] = several(many, "present class", "present classes")
    return numbers


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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
