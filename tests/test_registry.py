"""Parts by name: found, built, spelled."""

import re
import string
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit import methods
from simkit.errors import BadInput
from simkit.registry import Registry, Share, build, convert, setting, settle


class Part(Protocol):
    name: ClassVar[str]


parts: Registry[Part] = Registry("piece", "tests.reference")


@parts.register
@dataclass(frozen=True)
class Plain:
    name: ClassVar[str] = "plain"
    count: int = 3
    share: float = 0.5
    on: bool = False
    of: Literal["batch", "unknown"] = "batch"
    text: str = ""
    most: int | None = None


@parts.register
@dataclass(frozen=True)
class Bare:
    name: ClassVar[str] = "bare"


@parts.register
@dataclass(frozen=True)
class Needy:
    name: ClassVar[str] = "needy"
    amount: int


@parts.register
@dataclass(frozen=True)
class Wrapper:
    name: ClassVar[str] = "wrap"
    inner: Part
    alpha: float = 5.0


def _refused(spec: str, message: str, **settings: Any) -> None:
    cut = str(BadInput(message))  # very long ones are cut in their middle
    with pytest.raises(BadInput, match=f"^{re.escape(cut)}$"):
        parts.make(spec, **settings)


def test_names_are_sorted_and_iterate_as_classes() -> None:
    assert parts.names() == ["bare", "needy", "plain", "wrap"]
    assert list(parts) == [Bare, Needy, Plain, Wrapper]
    assert parts["plain"] is Plain


def test_a_class_that_cannot_be_registered_is_refused_with_the_mend() -> None:
    class Named:
        name: ClassVar[str]

    def registered(name: str) -> None:
        parts.register(dataclass(frozen=True)(type("Other", (Named,), {"name": name})))

    with pytest.raises(BadInput, match=r"class Other: the class Plain is called 'plain' too; "):
        registered("plain")
    with pytest.raises(BadInput, match=r"its name is 'plain-0.2'; write a-z, 0-9, - and _ only"):
        registered("plain-0.2")
    with pytest.raises(BadInput, match="Nameless has no 'name'; set it"):
        parts.register(type("Nameless", (Named,), {}))


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ("plain", Plain()),
        (" PLAIN ", Plain()),
        ("Plain(count=4)", Plain(4)),
        ("plain()", Plain()),
        ("plain(count=4)", Plain(4)),
        ("plain(count=-4, share=1)", Plain(-4, 1.0)),
        ("plain(on=yes, of=unknown)", Plain(on=True, of="unknown")),
        ("plain(text='a+b(c)', most=2)", Plain(text="a+b(c)", most=2)),
        ("plain(text=path-only-now)", Plain(text="path-only-now")),
        ("plain(most=None)", Plain()),
        ("bare", Bare()),
        ("plain(count=1)+wrap", Wrapper(Plain(1))),
        ("plain+wrap(alpha=1)+wrap", Wrapper(Wrapper(Plain(), 1.0))),
    ],
)
def test_make_reads_a_spelling(spec: str, part: Part) -> None:
    assert parts.make(spec) == part


def test_settings_go_to_the_last_part() -> None:
    assert parts.make("plain+wrap", alpha="2") == Wrapper(Plain(), 2.0)
    assert parts.make("plain(count=1)", count=2) == Plain(2)


def test_large_whole_numbers_keep_their_digits() -> None:
    assert parts.make("plain", count="9007199254740993").count == 9007199254740993  # type: ignore[attr-defined]
    assert parts.make("plain", count="1e3").count == 1000  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("plane", "no piece is called 'plane'; did you mean 'plain'?"),
        ("pl_ain", "no piece is called 'pl_ain'; did you mean 'plain'?"),
        ("plain(cuont=1)", "no setting of piece 'plain' is called 'cuont'; did you mean 'count'?"),
        ("plain(count=1.5)", "plain: count is 1.5; a whole number is expected"),
        ("plain(count=yes)", "plain: count is 'yes'; a whole number is expected"),
        ("plain(count=True)", "plain: count is True; a whole number is expected"),
        ("plain(share=nan)", "plain: share is 'nan'; a number is expected"),
        ("plain(share='inf')", "plain: share is 'inf'; a number is expected"),
        ("plain(on=2)", "plain: on is 2; true or false is expected"),
        ("plain(of=all)", "plain: of is 'all'; it must be one of batch, unknown"),
        ("plain(text=3)", "plain: text is 3; text is expected"),
        ("plain(count=None)", "plain: count is None; a whole number is expected"),
        ("wrap", "piece 'wrap' wraps another one; write it after a plus, as in an+wrap"),
        ("plain+bare", "piece 'bare' wraps no other one and cannot follow a plus in 'plain+bare'"),
        (5, "piece is 5; write its name or name(setting=value)"),
        ("", "'' is not a piece; write name or name(setting=value)"),
        ("plain+", "'' is not a piece; write name or name(setting=value)"),
        ("pl ain", "'pl ain' is not a piece; write name or name(setting=value)"),
    ],
)
def test_make_refuses_with_a_sentence(spec: Any, message: str) -> None:
    _refused(spec, message)


@pytest.mark.parametrize(
    "inside",
    [
        "3", "*a", "**a", "count=1,count=2", "count=1)(share=1", "count=1).x(share=1", "count=",
        "count=__import__('os')", "count=[1 for a in b]", "(" * 10_000,
        "text=f'{1}'", "count=\0",
    ],
)  # fmt: skip
def test_settings_are_read_as_values_and_nothing_else(inside: str) -> None:
    text = f"plain({inside})"
    _refused(
        text,
        f"the settings in {text!r} cannot be read; write name(setting=value), with "
        "quotes around file names",
    )


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(BadInput, match=r"^piece 'needy' needs amount; "):
        parts.make("needy")


def test_hyphens_serve_for_underscores() -> None:
    assert build(Plain, {"count": 1}, "piece") == build(Plain, {"count": "1"}, "piece")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text("'\"\\+()=, ")
plains = st.builds(
    Plain,
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.sampled_from(["batch", "unknown"]),
    texts,
    st.none() | st.integers(),
)


@given(st.recursive(plains | st.builds(Bare), lambda p: st.builds(Wrapper, p, st.floats(0, 9))))
def test_making_inverts_spelling(part: Part) -> None:
    spelled = parts.spell(part)
    assert parts.make(spelled) == part
    assert parts.spell(parts.make(spelled)) == spelled


@given(st.text(string.printable, max_size=30))
def test_any_text_makes_a_part_or_bad_input(text: str) -> None:
    try:
        parts.make(f"plain({text})")
    except BadInput as error:
        assert "\n" not in str(error)


def test_spelling_is_complete() -> None:
    assert parts.spell(Wrapper(Plain(text="it's"))) == (
        "plain(count=3, share=0.5, on=False, of='batch', text=\"it's\", most=None)+wrap(alpha=5.0)"
    )
    assert parts.spell(Bare()) == "bare"


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [("none", int | None, None), ("7", int | None, 7), (None, str | None, None),
     ("x", str | None, "x"),
     ((1, 2), tuple, (1, 2)), ("FALSE", bool, False), (3, float, 3.0)],
)  # fmt: skip
def test_values_become_the_type_of_their_field(value: Any, kind: Any, expected: Any) -> None:
    got = convert(value, kind, "here")
    assert got == expected and type(got) is type(expected)


@dataclass(frozen=True)
class Settled:
    name: ClassVar[str] = "settled"
    count: int | None = None
    shares: float | tuple[float, ...] = 0.0
    on: bool = False
    of: Literal["batch", "unknown"] = "batch"

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True)
class Limited:
    name: ClassVar[str] = "limited"
    share: Share | None = setting(0.5, "a share")

    def __post_init__(self) -> None:
        settle(self)


def test_a_setting_stays_within_its_limits() -> None:
    assert (Limited().share, Limited(1).share, Limited(None).share) == (0.5, 1.0, None)
    for share in (-0.1, 1.5):
        with pytest.raises(BadInput, match=f"^limited: share is {share}; a number from 0 to 1"):
            Limited(share)


def test_fields_settle_to_their_types() -> None:
    part = Settled(np.int32(3), np.array([0, 1]), np.False_, np.str_("unknown"))  # type: ignore[arg-type]
    assert repr(part) == repr(Settled(3, (0.0, 1.0), False, "unknown"))
    assert type(Settled(shares=1).shares) is float


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("count", "3", "a whole number is expected"),
        ("count", "none", "a whole number is expected"),
        ("count", [3], "a whole number is expected"),
        ("shares", "0.5", "a number is expected"),
        ("shares", None, "a number is expected"),
        ("on", "no", "true or false is expected"),
        ("of", np.array(["batch"]), "it must be one of batch, unknown"),
    ],
)
def test_fields_of_other_types_are_refused(field: str, value: Any, expected: str) -> None:
    with pytest.raises(
        BadInput, match=f"^{re.escape(f'settled: {field} is {value!r}; {expected}')}$"
    ):
        Settled(**{field: value})


def test_a_number_may_have_a_word_beside_it() -> None:
    kind: Any = float | Literal["auto"]
    for spelled in (True, False):
        assert convert(np.str_("auto"), kind, "rate", spelled=spelled) == "auto"
        assert convert(2, kind, "rate", spelled=spelled) == 2.0
        with pytest.raises(BadInput, match=r"^rate is 'much'; a number or 'auto' is expected$"):
            convert("much", kind, "rate", spelled=spelled)
    assert convert("2.5", kind, "rate") == 2.5
    assert convert(None, kind | None, "rate") is None


def test_numbers_of_numpy_are_spelled_plainly() -> None:
    part = Plain(np.int64(4), np.float64(0.1), text=np.str_("a"))  # type: ignore[arg-type]
    assert (
        parts.spell(part) == "plain(count=4, share=0.1, on=False, of='batch', text='a', most=None)"
    )


def test_signs_of_another_keyboard_are_named_with_what_was_meant() -> None:
    for text, signs, meant in (
        ("ll-r(delta＝0.5)", "＝ is no", "ll-r(delta=0.5)"),
        ("ll-r（delta=0.5）", "（ ） are no", "ll-r(delta=0.5)"),
        ("asl(reduction=“sum”)", "“ ” are no", "asl(reduction='sum')"),
    ):
        with pytest.raises(BadInput) as refused:
            methods.make(text)
        assert f"; {signs}" in str(refused.value)
        assert str(refused.value).endswith(f"did you mean {meant!r}?")
        methods.make(meant)
