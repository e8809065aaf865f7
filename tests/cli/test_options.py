"""Options of commands have the type, default and help of the parameters they stand for."""

from dataclasses import dataclass, field
from typing import Literal

import click
import pytest

import simkit
from simkit.cli import options
from simkit.cli.main import code
from simkit.cli.options import settings
from simkit.registry import setting

WORDS = {
    "simkit.annotate.evaluation_set.evaluation_set": "level",
    "simkit.learn.settings.Settings": "batch_size",
    "simkit.planning.costs.Staff": "hours_a_week",
}


def made(path: str, *names: str, **how) -> dict[str, click.Option]:
    command = click.command()(options.of(path, *names, **how)(lambda **_: None))
    return {str(option.name): option for option in command.params}


@pytest.mark.parametrize(("path", "name"), WORDS.items())
def test_a_parameter_has_a_type_and_a_sentence(path: str, name: str) -> None:
    known = options.parameters(path)[name]
    assert known.meaning.endswith(".")


def test_types_ranges_and_defaults_are_those_of_the_signature() -> None:
    made_ = made("simkit.learn.settings.Settings", "batch_size", "lr", "schedule")
    batch, lr = made_["batch_size"], made_["lr"]
    assert isinstance(batch.type, click.IntRange) and (batch.type.min, batch.default) == (1, 64)
    assert isinstance(lr.type, click.FloatRange) and lr.type.min_open
    assert batch.opts == ["--batch-size"]
    assert isinstance(made_["schedule"].type, click.Choice)
    assert "cosine" in made_["schedule"].type.choices


def test_a_default_may_be_left_to_others_and_is_named_all_the_same() -> None:
    (option,) = made("simkit.learn.settings.Settings", "epochs", unset=True).values()
    assert option.default != 10 and "[default: 10]" in str(option.help)


def test_another_type_reads_the_text_and_parameters_are_named_as_options() -> None:
    (found,) = made("simkit.planning.costs.Staff", annotators=options.COUNT).values()
    assert found.type is options.COUNT
    (data,) = made("simkit.planning.pilot.plan_pilot", data=options.DATA).values()
    assert "in place of --classes and --per-image" in str(data.help)


def test_an_unknown_parameter_is_an_error() -> None:
    with pytest.raises(KeyError, match="epoch"):
        made("simkit.learn.settings.Settings", "epoch")


@dataclass(frozen=True)
class Part:
    needed: int = setting(..., "how far to go")
    choice: Literal["", "a", "b"] = setting("a", "which")
    optional: Literal["x"] | None = setting(None, "")
    table: dict[str, int] = setting(dict, "a table")
    plain: int = field(default=0)


def test_meanings_and_defaults() -> None:
    assert {s.name: (s.default, s.meaning) for s in settings(Part)} == {
        "needed": (None, "how far to go"),
        "choice": ("a", "which; one of nothing, a, b"),
        "optional": (None, "one of x, none"),
        "table": ({}, "a table"),
        "plain": (0, ""),
    }
    assert [s.name for s in settings(Part) if s.needed] == ["needed"]


def test_the_earlier_spelling_of_an_option_works_with_a_note(capsys):
    for old in (["--people", "2"], ["--people=2"]):
        words = ["plan", "--pilot", "--budget", "2k", "--classes", "8", "--per-image", "2", *old]
        assert code(words) == 0
        assert "--people is now called --annotators" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="annotators"):
        assert simkit.Staff(people=3) == simkit.Staff(annotators=3)
