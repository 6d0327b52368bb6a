"""Drafts of wide tables: short, and they say what will be lost."""

import re

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.drafting.overview import WIDE, overview
from sfumato.drafting.writing import draft_table

WORDS = ("ape", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "koi", "lynx", "mole", "newt", "owl")


def wide(columns, rows=400):
    names = [f"{WORDS[n % len(WORDS)]}_{n}" if n % 3 else f"answer{n}" for n in range(columns)]
    return pa.table({name: [(row * (n + 3) + row // 7) % 9 for row in range(rows)] for n, name in enumerate(names)})


def test_a_draft_of_very_many_quasi_identifiers_says_what_will_be_lost():
    (warning,) = (each for each in draft_table(wide(100)).warnings if "quasi-identifiers" in each)
    assert "400 rows form at most 80 groups, and 6 halvings make as many" in warning
    assert "94 of the 100 columns" in warning
    (warning,) = (each for each in draft_table(wide(50)).warnings if "quasi-identifiers" in each)
    assert "halvings" not in warning


def test_each_column_is_counted_in_one_line_of_the_overview():
    drafted = draft_table(wide(200))
    lines = overview(drafted.guesses)

    assert sum(int(found[1]) if (found := re.match(r"(\d+) columns: ", line[0])) else 1 for line in lines) == 200
    assert len(lines) < 10
    assert overview(drafted.guesses[:WIDE]) == [
        (each.name, each.role.value, each.kind.value, each.reason) for each in drafted.guesses[:WIDE]
    ]


def test_reasons_that_differ_in_numbers_and_names_only_are_one():
    names = pa.table(
        {f"c{n}": [f"{n} word {row % (80 + n)}" for row in range(400)] for n in range(60)} | {"age": list(range(400))}
    )
    lines = overview(draft_table(names).guesses)
    assert [line[0] for line in lines] == ["60 columns: c0 to c59", "age"]
    assert lines[0][3] == "... words or codes that were not understood"


@pytest.mark.parametrize("columns", [80, 240])
def test_the_output_fits_one_screen_for_forty_columns(tmp_path, columns):
    pa_csv.write_csv(wide(columns), tmp_path / "wide.csv")
    asked = ["init", str(tmp_path / "wide.csv"), "--out", str(tmp_path / "plan.toml")]
    lines = CliRunner().invoke(app, asked, catch_exceptions=False).stdout.splitlines()
    assert len(lines) > 5
    assert len(lines) <= 24 * columns // 40
