"""What the check of notebooks calls other code, and what it takes for an error."""

from pathlib import Path

import jupytext
import nbformat
import pytest

from tests.test_notebooks import MAKER, ROOT, committed

MARKS = MAKER.marks


def test_a_comment_is_no_other_code_and_a_number_is() -> None:
    code = 'def f(x):\n    """Twice."""\n    return 2 * x  # why\n'
    same = 'def f(x):\n    """Doubled, as the paper has it."""\n    return (2*x)\n'
    assert MARKS.bare(code) == MARKS.bare(same)
    assert MARKS.bare(code) != MARKS.bare(code.replace("2", "3"))
    assert MARKS.bare('class A:\n    """Of nothing else."""') == MARKS.bare("class A: pass")
    assert MARKS.bare('"""A file on one thing."""') == MARKS.bare('"""Another."""')


CODE = '''%matplotlib inline
%precision 3
text = """
%s and
!s
"""
n = (7
% 4)  # what is left
n
'''


@pytest.mark.parametrize(
    "cell, other",
    [
        ('"one"', '"two"'),  # shown, as it is all that the cell has
        ('# a word\n"one"', '"two"'),
        ("1", "2"),
        ("table", "table;"),  # shown, and not
        ("table", "table;  # seen below"),
        (CODE, CODE.replace("%matplotlib inline\n", "")),
        (CODE, CODE.replace("precision 3", "precision 4")),
        (CODE, CODE.replace("%s and\n!s", "!s\n%s and")),
        (CODE, CODE.replace("%s and\n!s", "!s and")),
        (CODE, CODE.replace("% 4", "% 5")),
        ("%precision 3\n1 / 3", "1 / 3\n%precision 3"),
        ("%%time\nx = 1", "%%time\nx = 2"),
        ("%%time\nx = 1", "x = 1"),
        ("%%capture said\nx = 1", "%%capture\nx = 1"),
        ("%%html\n<b>x</b>", "%%html\n<b> x</b>"),
    ],
)
def test_what_a_cell_does_or_shows_is_its_code(cell: str, other: str) -> None:
    assert cells(cell) != cells(other)


@pytest.mark.parametrize(
    "cell, same",
    [
        ("x = 1", "x = 1  # a word\n"),
        ("f(1)", "# a word\n\nf( 1 )"),
        ("f(1);", "f(1)  ;  # a word"),
        (CODE, CODE.replace("left", "left over")),
        (CODE, f"# a word\n{CODE}"),
        ('def f():\n    """One."""', 'def f():\n    """Two."""'),
        ("%%time\nf(1)", "%%time\n# a word\nf( 1 )"),
        ("%%time\n%%capture\nf(1)", "%%time\n%%capture\nf( 1 )"),
    ],
)
def test_what_is_said_in_a_cell_is_not(cell: str, same: str) -> None:
    assert cells(cell) == cells(same)


def cells(*sources: str) -> str:
    """The digest of a notebook with these code cells."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    return MARKS.cells_digest(made)


def test_imports_of_a_cell_are_found_beside_its_lines_of_percent() -> None:
    code = MARKS.python(f"{CODE}!ls\nimport simkit.data as data")
    assert MARKS.imports(code) == {"simkit.data"}


@pytest.mark.parametrize("magic", ["%%time", "%%capture said", "%%timeit -n 1", "%%time\n%%prun"])
def test_imports_below_a_magic_that_runs_the_cell_are_found(magic: str) -> None:
    code = MARKS.python(f"{magic}\n%precision 3\nimport simkit.data as data")
    assert MARKS.imports(code) == {"simkit.data"}
    assert not MARKS.imports(MARKS.python("%%html\nimport simkit.data as data"))


def test_what_a_worker_imports_had_a_part() -> None:
    found = {
        str(p.relative_to(ROOT)) for p in MARKS.had_a_part(["simkit", "simkit.study.worker"])
    }
    assert {
        "simkit/__init__.py",
        "simkit/learn/stack.py",
        "simkit/annotate/prices.toml",
    } <= found
    assert not any(name.startswith("simkit/cli/") for name in found)


@pytest.fixture
def made(tmp_path: Path, monkeypatch) -> Path:
    """A small notebook that was executed, with a source file that had a part in it."""
    monkeypatch.setattr(MARKS, "ROOT", tmp_path)
    source = tmp_path / "simkit" / "part.py"
    source.parent.mkdir()
    source.write_text("x = 1\n")
    text = tmp_path / "00_small.py"
    text.write_text("# %% [markdown]\n# # Small?\n\n# %%\nprint(1)\n")
    notebook = MAKER.tidy(jupytext.read(text))
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="1\n")]
    MARKS.mark(notebook, "full", [source])
    nbformat.write(notebook, text.with_suffix(".ipynb"))
    MARKS.file_digest.cache_clear()
    return text


def test_the_check_tells_errors_from_earlier_code(made: Path) -> None:
    assert MARKS.check(made) == ([], [])
    part = made.parent / "simkit" / "part.py"
    part.write_text("x = 1  # one\n")
    MARKS.file_digest.cache_clear()
    assert MARKS.check(made) == ([], [])
    part.write_text("x = 2\n")
    MARKS.file_digest.cache_clear()
    assert MARKS.check(made) == ([], ["simkit/part.py"])
    part.unlink()
    assert MARKS.check(made) == ([], ["simkit/part.py"])


def test_the_check_finds_cells_and_outputs_that_were_never_executed(made: Path) -> None:
    twin = made.with_suffix(".ipynb")
    edited = nbformat.read(twin, as_version=4)
    edited.cells[1].outputs[0].text = "2\n"
    nbformat.write(edited, twin)
    assert "outputs" in MARKS.check(made).wrong[0]
    edited.cells[1].source = "print(2)"
    nbformat.write(edited, twin)
    made.write_text(made.read_text().replace("print(1)", "print(2)"))
    assert "code cells" in MARKS.check(made).wrong[0]
    del edited.metadata["simkit"]
    nbformat.write(edited, twin)
    assert "nothing says" in MARKS.check(made).wrong[0]
    twin.unlink()
    assert "there is no" in MARKS.check(made).wrong[0]


def test_prose_asks_for_no_execution_and_is_taken_over(made: Path, monkeypatch, capsys) -> None:
    """Cells of Markdown come, go and change, and comments with them; the outputs stay."""
    monkeypatch.setattr(MAKER, "FOLDER", made.parent)
    twin = made.with_suffix(".ipynb")
    before = twin.read_bytes()
    assert MAKER.main(["--prose"]) == 0 and twin.read_bytes() == before
    made.write_text(
        "# %% [markdown]\n# Smaller.\n\n# %% [markdown]\n# More.\n\n# %%\n# One.\nprint(1)\n"
        "\n# %% [markdown]\n# The end.\n"
    )
    assert MARKS.check(made) == ([], [])
    assert MAKER.main(["--prose", "00"]) == 0
    after = committed(made)
    assert [c.source for c in after.cells] == [
        "Smaller.",
        "More.",
        "# One.\nprint(1)",
        "The end.",
    ]
    assert after.cells[2].outputs[0].text == "1\n" and MARKS.check(made) == ([], [])
    made.write_text(made.read_text().replace("print(1)", "print(2)"))
    capsys.readouterr()
    assert MAKER.main(["--prose"]) == 1 and "WRONG: its code cells" in capsys.readouterr().out
    assert committed(made) == after


def test_cells_whose_outputs_differ_are_named(made: Path) -> None:
    one, other = committed(made), committed(made)
    assert MAKER.differing(one, other) == []
    other.cells[1].outputs[0].text = "3\n"
    assert MAKER.differing(one, other) == [1]


def test_the_command_fails_for_errors_alone(made: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(MAKER, "FOLDER", made.parent)
    assert MAKER.main(["--check"]) == 0 and "made by this code" in capsys.readouterr().out
    (made.parent / "simkit" / "part.py").write_text("x = 2\n")
    MARKS.file_digest.cache_clear()
    assert MAKER.main(["--check", "00"]) == 0
    assert "made by earlier code: since changed simkit/part.py" in capsys.readouterr().out
    made.write_text(made.read_text().replace("print(1)", "print(2)"))
    assert MAKER.main(["--check"]) == 1 and "WRONG: its code cells" in capsys.readouterr().out
    assert MAKER.main(["--check", "01"]) == 0  # none of that number
