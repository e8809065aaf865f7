"""Print a script for Tab completion in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(
    epilog="\b\nExample: simkit completion bash > ~/.local/share/bash-completion/completions/simkit"
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete commands, names and files.

    The Tab key then completes commands and options, and names of schemes, methods, data sets,
    formats and price lists. Write the script once to where the shell looks for it:

    \b
    bash  ~/.local/share/bash-completion/completions/simkit
    zsh   _simkit in a folder of $fpath, such as ~/.zfunc
    fish  ~/.config/fish/completions/simkit.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "simkit", "_SIMKIT_COMPLETE").source())
