"""`python -m simkit` is the command `simkit`."""

import sys


def run() -> None:
    """Entry point of the `simkit` command: Ctrl-C is one line from the first import on."""
    try:
        from simkit.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        sys.stderr.write("simkit: interrupted before any work began\n")
        sys.exit(130)


if __name__ == "__main__":
    run()
