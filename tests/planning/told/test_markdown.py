"""A document as Markdown: headings, pipe tables, and nothing that is read as a mark."""

from simkit.planning.told.document import Document, Section, Table
from simkit.planning.told.markdown import render
from tests.planning.sample import evil, sample


def test_a_document_by_hand() -> None:
    told = Document(
        "Plan",
        "Buy.",
        ("Missed.",),
        (
            Section(
                "Bill",
                ("In all:",),
                table=Table(("what", "sum"), (("a|b", "3.00"), ("", "1"))),
                items=("one",),
                code="run\nagain",
                notes=("a note",),
            ),
        ),
    )
    assert render(told) == (
        "# Plan\n\n> **Warning:** Missed.\n\n**Buy.**\n\n## Bill\n\nIn all:\n\n"
        "| what | sum |\n| --- | ---: |\n| a\\|b | 3.00 |\n|   | 1 |\n\n- one\n\n"
        "    run\n    again\n\n*a note*\n"
    )


def test_rows_have_as_many_cells_as_their_table_has_columns() -> None:
    for block in sample().markdown().split("\n\n"):
        if block.startswith("| "):
            counts = {line.replace("\\|", "").count("|") for line in block.splitlines()}
            assert len(counts) == 1


def test_names_from_outside_are_no_markup() -> None:
    text = evil().markdown()
    shown = [line for line in text.splitlines() if not line.startswith("    ")]
    assert "<script" not in "\n".join(shown).replace("\\<", "")
