"""Side information that a method needs besides labels and pictures, such as a class prior."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from simkit.errors import BadInput

if TYPE_CHECKING:
    from simkit.learn.methods.base import Needs, Task


@runtime_checkable
class Aid(Protocol):
    """A value that is computed once before training and belongs to one task.

    id: names the content, for histories and for the keys of finished work.
    """

    name: ClassVar[str]

    @property
    def id(self) -> str: ...

    @classmethod
    def build(cls, task: Task, *, train: Callable[..., Any]) -> Aid:
        """Make the aid from what the task holds; `train(task, method)` trains a temporary model."""
        ...


def built(kind: type[Any], task: Task, needs: Needs, **how: Any) -> Any:
    """An aid of this kind as these needs want it, where the kind says how to with `wanted`."""
    wanted = getattr(kind, "wanted", None)
    return kind.build(task, **how, **(wanted(needs) if wanted else {}))


def missing(needed: Iterable[type[Any]], given: Iterable[Any]) -> list[type[Any]]:
    """The needed kinds of aid of which `given` holds none, in order."""
    held = list(given)
    return [kind for kind in needed if not any(isinstance(aid, kind) for aid in held)]


def check(method: str, needed: Iterable[type], given: Iterable[Any]) -> None:
    """Raise BadInput that names the first aid which `method` needs and `given` lacks."""
    for kind in missing(needed, given):
        raise BadInput(
            f"method {method!r} needs {kind.__name__}, which this task does not carry; "
            "`prepare(task, method)` builds it, or pass one with task.with_aids(...)"
        )
