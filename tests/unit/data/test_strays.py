"""Words about what does not belong to a release."""

from sfumato.data.strays import Stray, StrayKind, stray_columns


def test_a_stray_names_itself_and_how_many_rows_have_it():
    assert str(Stray(StrayKind.FILE, "notes.txt")) == "'notes.txt' is a file that release.json does not name"
    (column,) = stray_columns(StrayKind.UNKNOWN, ["phone"], 1200)
    assert str(column) == "'phone' is a column that the plan says nothing about (1,200 rows)"
