"""Every key of a plan's JSON is explained, and nothing else."""

from dataclasses import replace

from simkit.planning.told.keys import KEYS, told
from tests.planning.sample import CHECK, CHOSEN, sample

PAIRS = ("settings", "ids", "versions", "points", "band50", "band90")


def keys(value, name: str = "") -> set[str]:
    """Paths to all that is no object; "[]" for what is in a list."""
    if isinstance(value, dict):
        start = f"{name}." if name else ""
        return {key for inner, one in value.items() for key in keys(one, f"{start}{inner}")}
    if isinstance(value, list) and not name.endswith(("band50", "band90")):
        pairs = name.split(".")[-1] in PAIRS
        inner = set() if pairs else {key for one in value for key in keys(one, f"{name}[]")}
        return inner or {f"{name}[]"}
    return {name}


def test_every_key_is_explained_and_every_explained_key_is_there() -> None:
    reach = replace(sample().reach, enough=CHOSEN)
    plan = sample(
        reach=reach,
        check=CHECK,
        options=(CHOSEN,),
        warnings=("one",),
        worth_trying=("one",),
        ends=("one",),
    )
    assert keys(plan.to_json()) == set(KEYS)


def test_they_are_told_in_lines_that_fit() -> None:
    lines = told(width=90).splitlines()
    assert all(len(line) <= 90 for line in lines[2:])
    text = " ".join(" ".join(lines).split())
    assert all(key in text for key in KEYS if key.split(".")[0] not in ("options[]", "reach"))
    assert "chosen.low20 the mAP that is reached four times in five" in text
