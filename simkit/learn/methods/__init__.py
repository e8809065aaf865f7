"""Training methods by name: `make("ll-r(delta=0.5)+boostlu(alpha=5)")`."""

from simkit.learn.method import Method, Wrapper, epochs, get, make, names, register, spell
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task

__all__ = [
    "Task",
    "Sizes",
    "Batch",
    "Outputs",
    "Needs",
    "Method",
    "Wrapper",
    "make",
    "epochs",
    "register",
    "names",
    "spell",
    "get",
]
