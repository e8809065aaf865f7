"""How much `simkit simulate` asks for: what its options mean, and which contradict each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from simkit.errors import BadInput
from simkit.quantities import count, share

if TYPE_CHECKING:
    from simkit.annotate.schemes import Scheme


def check_amounts(scheme: Scheme, given: dict[str, Any]) -> None:
    """Raise BadInput for options that contradict each other."""
    amount = scheme.amount
    written = amount and (given[amount] is not None or f"{amount}=" in given["scheme"])
    if given["budget"] is not None and written:
        raise BadInput(
            f"--budget looks for the {amount} of {scheme.name} that it pays for, but {amount} is "
            "given too; leave one of them out"
        )
    if given["budget"] is not None and given["legacy_rng"]:
        raise BadInput(
            "--legacy-rng makes the published arrays, whose amount is stated and not bought; leave "
            "--budget or --legacy-rng out"
        )
    if given["budget"] is None and given["unit"] == "hours":
        raise BadInput("--unit says what --budget counts, but there is no --budget; add one")


def images(text: str) -> float | int:
    """`0.5` and `50%` are half of the images and `1.0` all; `500` is five hundred and `1` one."""
    whole = re.fullmatch(r"[0-9][0-9,_ ]*|.*k", text.strip(), re.IGNORECASE)
    try:
        return count(text, "--images") if whole else share(text, "--images")
    except BadInput:
        raise BadInput(
            f"--images is {text!r}; a share such as 0.5 or 50%, or a number of images is expected"
        ) from None
