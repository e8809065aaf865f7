"""What each method needs, and the size of its state, in words for lists and tables."""

from __future__ import annotations

import dataclasses

from simkit.learn.method import Method, make
from simkit.learn.task import Sizes

# COCO's training split of the single-positive papers, 2,048 features, maps of 448 pixels.
COCO = Sizes(images=65_665, classes=80, width=2048, map_side=14)
COCO_WORDS = "65,665 images, 80 classes, 14 x 14 maps"

_WORDS = {
    "maps": "class maps",
    "views": "crops and flips",
    "features": "features",
    "epoch_scores": "scores each epoch",
    "labels": "label matrix",
}


def plain(part: type[Method]) -> Method:
    """The method with its defaults; a wrapper around AN, which needs and stores nothing.

    Needs and state are then those of the wrapper.
    """
    wraps = "inner" in {field.name for field in dataclasses.fields(part)}
    return make(f"an+{part.name}" if wraps else part.name)


def needs(method: Method) -> list[str]:
    """The needs of the method besides logits and the labels of a batch."""
    asked = method.needs
    words = [text for key, text in _WORDS.items() if getattr(asked, key)]
    return words + [kind.__name__ for kind in asked.aids]


def training_bytes(method: Method, sizes: Sizes) -> int:
    """Bytes of one run's state, plus gradients and two moments (Adam) of its parameters."""
    return method.state_bytes(sizes) + 3 * method.learned_bytes(sizes)


def memory(method: Method, sizes: Sizes = COCO) -> str:
    """Memory of one run's state in training, in words; "none" without a state."""
    count = training_bytes(method, sizes)
    return in_units(count) if count else "none"


def in_units(count: int) -> str:
    """Bytes in words: "4.1 GB", "5.3 MB", "16 B"."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
