"""How much `simkit simulate` asks for: what its options mean, and which contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simkit.errors import BadInput

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
    """`0.5` is half of the images and `1.0` all; `500` is five hundred of them and `1` is one."""
    try:
        return int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise BadInput(
            f"--images is {text!r}; a share such as 0.5 or a number of images is expected"
        ) from None
