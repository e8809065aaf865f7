"""Training methods by name: `make("ll-r(delta=0.5)+boostlu(alpha=5)")`."""

from simkit.learn.methods.base import (
    Around,
    Batch,
    Method,
    Needs,
    Outputs,
    Sizes,
    Task,
    get,
    make,
    names,
    register,
    spell,
)
from simkit.learn.methods.own_loop import epochs

__all__ = [
    "Task",
    "Sizes",
    "Batch",
    "Outputs",
    "Needs",
    "Method",
    "Around",
    "make",
    "epochs",
    "register",
    "names",
    "spell",
    "get",
]
