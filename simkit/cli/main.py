"""The command `simkit`: finds the verb, runs it, turns errors into one sentence and an exit code.

Exit codes: 0 done, 1 some runs of a comparison failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from simkit.cli.output import NOTES
from simkit.errors import BadInput, printable, unknown

_GROUPS = {
    "Your own project": "quickstart status order receive plan",
    "Simulate and compare": "simulate cost train predict compare score features neighbours habits",
    "Files and lists": "list show convert hierarchy completion",
}
VERBS = tuple(verb for group in _GROUPS.values() for verb in group.split())
_START = """\b
Start here:
  simkit quickstart photos --classes names.txt --budget 2000   your own images
  simkit compare --out runs   built-in images: compare schemes and methods, in minutes
  simkit list                 schemes, methods, data sets, price lists ...
  simkit help simulate        a command, its options, an example"""
_RENAMED = {  # options by command: earlier and present name
    "order": ("--people", "--answers"), "quickstart": ("--people", "--answers"),
    "plan": ("--people", "--annotators"),
}  # fmt: skip
_WAIT = 10.0  # seconds, in which torchrun ends the other processes of one that failed


class Verbs(click.Group):
    """Commands that are imported when they are called, so that help answers at once."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] == ["help"]:  # as in git help VERB
            args = [*args[1:2], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS and not args[0].startswith("-"):
            raise unknown("command", args[0], VERBS)
        old, new = _RENAMED.get(args[0], ("", ""))
        if old and any(word.partition("=")[0] == old for word in args):
            warnings.warn(f"{old} is now called {new}", stacklevel=1)
            args = [re.sub(rf"^{old}(?==|$)", new, word) for word in args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would exit with 1
            return _discard_output()

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*VERBS]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module = importlib.import_module(f"simkit.cli.{name}")
        return module.command  # type: ignore[no-any-return]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, group in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(verb, purpose(verb)) for verb in group.split()])


def purpose(verb: str) -> str:
    """What a command is for: the docstring of its module, which is not imported for that."""
    return Path(__file__).with_name(f"{verb}.py").read_text("utf-8").split('"""')[1]


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from simkit.history import __version__

        click.echo(f"simkit {__version__}")
        ctx.exit()


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_START,
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
              help="Print the version.")  # fmt: skip
@click.pass_context
def main(ctx: click.Context) -> None:
    """Which annotation scheme, how much of it, which training method, and what will it cost?"""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `simkit` command."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as in `simkit list >&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
    if "_SIMKIT_COMPLETE" not in os.environ:
        # Old clones of this project are named simkit as well; pip gave them a direct_url.json.
        with suppress(metadata.PackageNotFoundError):
            if metadata.distribution("simkit").read_text("direct_url.json") is None:
                _warn(
                    "another package named simkit is installed and has the same import as ours; "
                    "run pip uninstall simkit, then install simkit-annotation again",
                    UserWarning,
                )
    done = code(arguments)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C ends the exit, silently
    sys.exit(done)


def code(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    # Warnings are for people: one line each, on stderr, without the line of code.
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _warn  # type: ignore[assignment]
        try:
            result = main.main(arguments, prog_name="simkit", standalone_mode=False)
            sys.stdout.flush()  # a full disk is noticed here, not at the end of the process
            return result if isinstance(result, int) else 0
        except BadInput as error:
            message = str(error)
        except click.ClickException as error:
            if isinstance(error, click.BadOptionUsage) and error.option_name == "--prune":
                days = f"{error.message} Give the number of days, such as --prune 30."
                error = click.BadOptionUsage(error.option_name, days)
            _let_the_first_speak()
            error.show()
            return 2
        except FileNotFoundError as error:
            message = f"{error.filename} does not exist; check the path"
        except (KeyboardInterrupt, click.Abort) as error:
            # A command that knows what is kept says so in the interrupt that it passes on.
            _say(str(error.__cause__ or error) or "interrupted; what was finished is kept")
            return 130
        except BrokenPipeError:
            return _discard_output()
        except OSError as error:
            if error.errno is None:  # not of the system: an error of a program
                raise
            message = (
                f"{error.filename or 'a file'} cannot be used ({error.strerror}); check its name, "
                "its permissions and the free space"
            )
            try:
                sys.stdout.flush()
            except OSError:  # a full disk: what is left would fail once more at the end
                _discard_output()
    _let_the_first_speak()
    _say(message)
    return 2


def _discard_output() -> int:
    """Write no more: the reader has closed the pipe, as `head` does, or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _say(message: str) -> None:
    click.echo(f"simkit: {printable(message)}", err=True)


def _warn(message: Warning | str, category: type[Warning], *_: object) -> None:
    if _one_of_several():
        return
    note, context = printable(str(message)), click.get_current_context(silent=True)
    notes = [] if context is None else context.meta.setdefault(NOTES, [])
    if note not in notes:
        notes.append(note)
        _say(f"note: {note}")


def _let_the_first_speak() -> None:
    """Wait for torchrun to end this process if the first one meets the same error."""
    if _one_of_several():
        time.sleep(_WAIT)


def _one_of_several() -> bool:
    """Whether this is not the first of the processes that torchrun started."""
    return os.environ.get("RANK", "0") != "0" and "MASTER_ADDR" in os.environ


if __name__ == "__main__":
    run()
