"""The lines of problems, in plans as people write them."""

from __future__ import annotations

import pytest

from sfumato.editing import OnLine, PlanDocument, on_lines, problems
from sfumato.errors import Problem

TEXT = """\
# about the file
version = 1

# about the data
[source]
path = "people.csv"
missing = [
  "n.k.",  # not known
  "k = 5",
]

[columns.age]
role = "quasi-identifier"

# a hierarchy below its column
hierarchy = { widths = [5, 10] }

[columns."zip.code"]
role = "quasi-identifier"
note = '''
role = "nothing"
'''
kind = "text"

[[require]]
model = "k-anonymity"
k = 5

[[require]]
model = "l-diversity"
known.by = "age"
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("version", 2),
        ("source", 5),
        ("source.path", 6),
        ("source.missing", 7),
        ("source.missing[2]", 7),
        ("source.separator", 5),  # which is not said: beside the table that it would stand in
        ("columns", 12),
        ("columns.age", 12),
        ("columns.age.role", 13),
        ("columns.age.hierarchy", 16),
        ("columns.age.hierarchy.widths[2]", 16),
        ("columns.zip.code", 18),
        ("columns.zip.code.kind", 23),
        ("columns.zip.code.hierarchy.file", 18),
        ("columns.job.role", 12),
        ("require", 25),
        ("require[1].k", 27),
        ("require[2]", 29),
        ("require[2].l", 29),
        ("require[2].known", 31),
        ("require[2].known.by", 31),
        ("release.shows", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_place_has_the_line_that_it_is_written_on(place, line, end):
    assert on_lines(TEXT.replace("\n", end), [Problem(place, "wrong")]) == [OnLine(line, "wrong")]


def test_requirements_in_one_list_stand_where_the_list_begins():
    text = "\nrequire = [\n  { k = 5 },\n  { k = 6 },\n]\nversion = 1\n"
    found = on_lines(text, [Problem("version", "b"), Problem("require[2].k", "a"), Problem("", "first")])

    assert found == [OnLine(None, "first"), OnLine(2, "a"), OnLine(6, "b")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[columns\n", 1),
        ("version = 1\n\nk = = 5\nl = 2\n", 3),
        ("version = 1\r\nk = 1\r\nk = 2\r\n", 3),
        ('version = 1\nnames = ["a",\n\n', 2),  # what does not end is told at the end
    ],
)
def test_what_is_no_toml_is_told_on_the_line_that_cannot_be_read(text, line, tmp_path):
    found = on_lines(text, problems(text, tmp_path))

    assert [each.line for each in found] == [line]
    assert "not valid TOML" in found[0].text


def test_numbers_that_are_too_long_have_no_line(tmp_path):
    text = f"version = {'9' * 5000}\n"
    assert [each.line for each in on_lines(text, problems(text, tmp_path))] == [None]


def test_lines_are_those_of_the_text_whatever_else_ends_a_line_elsewhere():
    assert on_lines('a = "\u2028"  # \x85\nb = 1\n', [Problem("b", "wrong")]) == [OnLine(2, "wrong")]


def test_what_a_document_adds_is_found_on_its_line():
    document = PlanDocument.from_text(TEXT)
    document.set(("columns", "job", "role"), "sensitive")
    (found,) = on_lines(document.text, [Problem("columns.job.role", "wrong")])

    assert found.line is not None
    assert document.text.split("\n")[found.line - 2 : found.line] == ["[columns.job]", 'role = "sensitive"']
