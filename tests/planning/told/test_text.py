"""A document in a terminal: what stands first, and that nothing is lost in a narrow one."""

from simkit.planning.told.document import Document, Section, Table
from simkit.planning.told.text import render, table
from tests.planning.sample import evil, sample


def test_a_document_by_hand() -> None:
    told = Document(
        "What to buy",
        "Buy labels.",
        ("The back-test missed.",),
        (
            Section(
                "Bill",
                ("Dollars:",),
                table=Table(("what", "$"), (("labels", "3.00"), ("total", "13.00"))),
                items=("one", "two"),
                code="simkit plan runs/",
                notes=("a note",),
            ),
        ),
    )
    assert render(told, width=60) == (
        "What to buy\n===========\n\nWARNING: The back-test missed.\n\nBuy labels.\n\n"
        "Bill\n----\nDollars:\n\nwhat        $\nlabels   3.00\ntotal   13.00\n\n- one\n- two\n\n"
        "    simkit plan runs/\n\na note"
    )


def test_lines_keep_to_the_width_and_words_survive() -> None:
    text = sample(warnings=("word " * 60,)).text(width=64)
    assert max(map(len, text.splitlines())) <= 64
    for word in ("12,000", "68.4 to 74.1", "$850", "full-subset"):
        assert word in text


def test_a_table_too_wide_for_the_terminal_stands_row_by_row() -> None:
    drawn = Table(("what", "dollars"), (("labels", "1,000.00"), ("", "12,000.00")))
    told = "what: labels\n  dollars: 1,000.00\ndollars: 12,000.00"
    assert table(drawn, width=16) == told
    assert table(drawn, width=20) == "what      dollars\nlabels   1,000.00\n        12,000.00"


def test_words_are_folded_and_numbers_are_not() -> None:
    drawn = Table(("what it is", "$"), (("one two three four", "1,000.00"), ("five", "2")))
    assert table(drawn, width=20) == (
        "what it is         $\none two     1,000.00\nthree four\nfive               2"
    )
    assert "one two three four  1,000.00" in table(drawn, width=40)


def test_a_pipe_gets_whole_rows() -> None:
    text = sample().text(width=10_000)
    assert "full-subset  an              $4,900  70.5              +0.7   -3.1 to +4.4" in text
    assert max(len(line) for line in text.splitlines()) < 140  # running text is folded anyhow


def test_brackets_are_no_markup() -> None:
    assert "[red]x[/red]" in table(Table(("a",), (("[red]x[/red]",),)), width=40)
    assert "<script" in evil().text()
