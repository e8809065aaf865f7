"""simkit: plan annotation budgets for partially annotated multi-label image classification.

    >>> import simkit
    >>> scenes = simkit.data.open("scenes")
    >>> labels = simkit.simulate(scenes.truth["train"], "fpc(per_class=50)")
    >>> simkit.cost(labels).dollars  # with the price list `hourly`; see simkit.prices

Names are loaded at first use: importing simkit loads neither torch nor nltk.
"""

from __future__ import annotations

from simkit.lazy import PACKAGES, attach

__getattr__, __dir__ = attach(__name__, __file__)
__all__ = __dir__()  # pyright: ignore
PACKAGES["method"] = "simkit.learn.methods"
