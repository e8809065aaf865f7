"""Features as another processor may round them.

Every Python process loads this at its start if this folder is on PYTHONPATH: the share
SIMKIT_PERTURB of the features that it computes is moved to a neighbouring fp16 number.
"""

from __future__ import annotations

import os
import zlib
from typing import Any

import numpy as np

from simkit.embed.features import NetworkPass

SHARE = float(os.environ["SIMKIT_PERTURB"])
_exact = NetworkPass.of


def moved(row: Any) -> Any:
    """The features of one image, a share of them one unit away.

    The draw depends on the row alone, so that all processes and passes agree. Zeros stay: they come
    from a ReLU, on every processor.
    """
    chance = np.random.default_rng(zlib.crc32(row.tobytes()))
    chosen = (chance.random(row.shape) < SHARE) & (row != 0)
    towards = np.where(chance.random(row.shape) < 0.5, -np.inf, np.inf).astype(np.float16)
    return np.where(chosen, np.nextafter(row, towards), row)


def _perturbed(self: NetworkPass, images: Any, kinds: Any) -> dict[Any, Any]:
    computed = _exact(self, images, kinds)
    return {kind: np.stack([*map(moved, rows)]) for kind, rows in computed.items()}


NetworkPass.of = _perturbed  # type: ignore[method-assign]
