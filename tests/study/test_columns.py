"""Every column says what it means, and the table has no others."""

from simkit.study.columns import COLUMNS

from simkit.study import runs


def test_the_table_has_these_columns_and_each_has_a_meaning() -> None:
    assert runs.SCHEMA.names == list(COLUMNS)
    assert all(runs.SCHEMA.field(name).type == one.type for name, one in COLUMNS.items())
    assert all(one.meaning for one in COLUMNS.values())
    assert COLUMNS["dollars"].meaning == "what all labels cost, paid validation labels included"
    assert COLUMNS["epochs"].meaning.startswith("the epoch, from 1, whose weights are scored")
