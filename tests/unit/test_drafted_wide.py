"""Drafts of wide tables: short, and they say what will be lost."""

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.data.schema import Kind, Role
from sfumato.drafting.overview import WIDE, overview
from sfumato.drafting.roles import Guess
from sfumato.drafting.writing import draft_table

WORDS = ("ape", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "koi", "lynx", "mole", "newt", "owl")


def wide(columns, rows=400):
    names = [f"{WORDS[n % len(WORDS)]}_{n}" if n % 3 else f"answer{n}" for n in range(columns)]
    return pa.table({name: [(row * (n + 3) + row // 7) % 9 for row in range(rows)] for n, name in enumerate(names)})


def guesses(reasons):
    return [
        Guess(name=f"c{number}", role=Role.OTHER, kind=Kind.NUMBER, reason=reason)
        for number, reason in enumerate(reasons)
    ]


@pytest.mark.slow
def test_a_draft_of_very_many_quasi_identifiers_says_what_will_be_lost():
    (warning,) = (each for each in draft_table(wide(70)).warnings if "quasi-identifiers" in each)
    assert "400 rows form at most 80 groups, and 6 halvings make as many" in warning
    assert "64 of the 70 columns" in warning
    (warning,) = (each for each in draft_table(wide(20)).warnings if "quasi-identifiers" in each)
    assert "halvings" not in warning


def test_columns_that_are_guessed_alike_share_a_line_of_a_wide_table_and_each_is_counted():
    found = guesses(["its name says so"] * 30 + ["others may know it"] * 20)

    assert overview(found) == [
        ("30 columns: c0 to c29", "other", "number", "its name says so"),
        ("20 columns: c30 to c49", "other", "number", "others may know it"),
    ]
    few = found[:WIDE]
    assert overview(few) == [(each.name, "other", "number", each.reason) for each in few]


def test_reasons_that_differ_in_numbers_and_names_only_are_one():
    found = guesses([*(f"{80 + number:,} words of 'c{number}'" for number in range(60)), "12 numbers"])
    assert [(line[0], line[3]) for line in overview(found)] == [
        ("60 columns: c0 to c59", "... words of ..."),
        ("c60", "12 numbers"),
    ]


@pytest.mark.slow
def test_the_output_fits_one_screen_for_forty_columns(tmp_path):
    pa_csv.write_csv(wide(80), tmp_path / "wide.csv")
    asked = ["init", str(tmp_path / "wide.csv"), "--out", str(tmp_path / "plan.toml")]
    lines = CliRunner().invoke(app, asked, catch_exceptions=False).stdout.splitlines()
    assert 5 < len(lines) <= 48
