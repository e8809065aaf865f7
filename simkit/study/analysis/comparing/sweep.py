"""Sweep: what comes of one setting, of methods or of schemes, at several values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pyarrow as pa

from simkit.annotate import schemes
from simkit.errors import BadInput, unknown
from simkit.learn import methods
from simkit.study.analysis.comparing.paired import Paired, Scores, difference, ends, paired
from simkit.study.analysis.comparing.written import written
from simkit.study.runs import failures, with_failures
from simkit.study.statistics import interval

Of = Literal["auto", "method", "scheme"]

_TEXT, _WHOLE, _NUMBER = pa.string(), pa.int64(), pa.float64()
SWEEP = pa.schema(
    [
        ("scheme", _TEXT),
        ("method", _TEXT),
        ("setting", _TEXT),
        ("value", _TEXT),
        ("number", _NUMBER),
        ("default", pa.bool_()),
        ("draws", _WHOLE),
        ("missing", _WHOLE),
        *((name, _NUMBER) for name in ("mean", "low", "high")),
        *((name, _NUMBER) for name in ("gap", "gap_low", "gap_high")),
    ]
)


def sweep(
    runs: pa.Table,
    setting: str,
    *,
    of: Of = "auto",
    metric: str = "map",
    budget: float | None = None,
    hours: float | None = None,
) -> pa.Table:
    """Scores over the values of `setting`, for everything that stands with two of them or more.

    runs: with the columns of `study.runs.COLUMNS`, in which methods are spelled with several
    values, such as "ll-r", "ll-r(delta=0.1)" and "ll-r(delta=0.5)", or schemes are; references
    and runs without a score are left out. of: whose setting it is; auto: that of methods, and
    where those have no two values that of schemes. Of a method with wrappers it is the setting of
    the innermost part that has it. metric: a column of scores from 0 to 1. budget, hours: which
    one; of several the middle one unless asked.

    Columns: scheme and method, one of them without the setting; setting; value, as text, and
    number, null where it is none; default, whether it is the value that nobody has to write; draws,
    missing (how many draws others have under the scheme, and this one not: runs that failed),
    mean with its 95 % interval low to high, and gap, the mean minus that of the default, paired
    by draw, with gap_low to gap_high (each alone, uncorrected). One draw has no intervals; gaps
    are null for the default itself and where it was not run. Numbers ascend within each scheme and
    method, other values keep the order of the table. What the comparison says of failures is in the
    metadata, as `study.runs.failures` reads it.

    Raises BadInput where nothing in the table has the setting, or only one value of it, and for
    the amount that a scheme is scaled by where a budget decides it.
    """
    if of not in get_args(Of):
        raise unknown("kind of settings (sweep)", of, get_args(Of))
    found = paired(runs, metric=metric, budget=budget, hours=hours, asker="sweep")
    lines: list[_Point] = []
    for kind in ("method", "scheme") if of == "auto" else (of,):
        if not lines and kind == "scheme":
            _refuse_amount(found, setting)
        lines = lines or _several(_points(found, setting, kind))
    if not lines:
        raise _none(found, setting, of)
    rows = []
    for point in lines:
        base = next((p for p in lines if p.line == point.line and p.default), None)
        rows.append(_row(point, setting, None if base in (point, None) else base))
    return with_failures(pa.Table.from_pylist(rows, schema=SWEEP), failures(runs))


@dataclass(frozen=True)
class _Point:
    """One value of the setting: of which line, and what it reached."""

    scheme: str
    method: str
    value: Any
    default: bool
    scores: Scores
    missing: int

    @property
    def line(self) -> tuple[str, str]:
        return self.scheme, self.method

    @property
    def number(self) -> float | None:
        known = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return float(self.value) if known else None


def _points(found: Paired, setting: str, kind: str) -> list[_Point]:
    """All that has the setting; where two spell the same value the first one counts."""
    make: Callable[[str], Any] = methods.make if kind == "method" else schemes.make
    points: dict[tuple[str, str, str], _Point] = {}
    for scheme, by_method in found.scores.items():
        for method, scores in by_method.items():
            part = _part(make, method if kind == "method" else scheme)
            own = None if part is None else _own(part, setting)
            if own is None:
                continue
            value, usual = getattr(own, setting), _usual(own)[setting]
            rest = _short(part, own, setting)
            line = (scheme, rest) if kind == "method" else (rest, method)
            missing = len(found.draws[scheme] - scores.keys())
            point = _Point(*line, value, value == usual, scores, missing)
            points.setdefault((*line, repr(value)), point)
    return list(points.values())


def _several(points: list[_Point]) -> list[_Point]:
    """Those of lines with two values or more, line by line, numbers ascending."""
    lines: dict[tuple[str, str], list[_Point]] = {}
    for point in points:
        lines.setdefault(point.line, []).append(point)
    kept: list[_Point] = []
    for some in lines.values():
        if len(some) > 1 and all(point.number is not None for point in some):
            some = sorted(some, key=lambda point: point.number or 0.0)
        kept += some if len(some) > 1 else []
    return kept


def _row(point: _Point, setting: str, base: _Point | None) -> dict[str, Any]:
    mean = interval(list(point.scores.values()))
    gap = None if base is None else difference(point.scores, base.scores)
    value, number = point.value, point.number
    return {
        "scheme": point.scheme,
        "method": point.method,
        "setting": setting,
        "value": written(value) if isinstance(value, float) else str(value).lower(),
        "number": number,
        "default": point.default,
        "draws": mean.draws,
        "missing": point.missing,
        "mean": mean.mean,
        "low": mean.low,
        "high": mean.high,
        **ends("gap", gap.interval if gap else None),
    }


def _refuse_amount(found: Paired, setting: str) -> None:
    """Raise BadInput where a budget scales what the setting says, so that nobody bought it."""
    for scheme in found.scores if found.limit else ():
        part = _part(schemes.make, scheme)
        if part is not None and part.amount == setting:
            raise BadInput(
                f"sweep: amounts are set by the budget, so {setting!r} of {part.name} is what "
                f"{found.limit} pays for; sweep another setting, or compare without a budget"
            )


def _none(found: Paired, setting: str, of: Of) -> BadInput:
    """Why there is nothing to show."""
    kinds = ("method", "scheme") if of == "auto" else (of,)
    if points := [point for kind in kinds for point in _points(found, setting, kind)]:
        (scheme, method), value = points[0].line, points[0].value
        return BadInput(
            f"sweep: {setting!r} has one value alone in the table, {value!r} of {method} under "
            f"{scheme}; compare several, such as ll-r(delta=0.1) and ll-r(delta=0.5)"
        )
    known: dict[str, None] = {}
    for scheme, by_method in found.scores.items():
        texts = [(methods.make, name) for name in by_method] + [(schemes.make, scheme)]
        for make, text in texts:
            part: Any = _part(make, text)
            while part is not None:
                known |= dict.fromkeys(name for name in _usual(part) if name != "inner")
                part = getattr(part, "inner", None)
    return unknown("setting of what is in the table (sweep)", setting, list(known))


def _part(make: Callable[[str], Any], text: str) -> Any:
    """What a text spells; None where the table comes from elsewhere and nobody knows it."""
    try:
        return make(text)
    except BadInput:
        return None


def _own(part: Any, setting: str) -> Any:
    """The innermost part that has the setting, or None."""
    inner = getattr(part, "inner", None)
    found = None if inner is None else _own(inner, setting)
    has = setting != "inner" and setting in _usual(part)
    return found if found is not None else part if has else None


def _usual(part: Any) -> Mapping[str, Any]:
    """Settings with the values they have where nobody says another."""
    return {each.name: each.default for each in dataclasses.fields(part)}


def _short(part: Any, own: Any, setting: str) -> str:
    """The part spelled without `setting` of `own`, and without what is at its default."""
    said = [
        f"{name}={getattr(part, name)}"
        for name, usual in _usual(part).items()
        if name != "inner" and getattr(part, name) != usual
        and not (part is own and name == setting)
    ]  # fmt: skip
    text = f"{part.name}({','.join(said)})" if said else part.name
    inner = getattr(part, "inner", None)
    return text if inner is None else f"{_short(inner, own, setting)}+{text}"
