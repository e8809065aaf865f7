"""`python -m simkit` is the command `simkit`."""

from simkit.cli.main import run

if __name__ == "__main__":
    run()
