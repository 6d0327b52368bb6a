"""Drafts of plans: guesses with reasons, in a plan that can be read."""

from __future__ import annotations

import tomllib

import pytest

from sfumato.data.reading import Source
from sfumato.data.schema import Kind, Role
from sfumato.drafting import draft


@pytest.fixture
def guesses(tmp_path):
    lines = ["Name,age,zip,born,symptoms,salary,sex,constant"]
    for number in range(40):
        symptoms = "|".join(
            word for bit, word in enumerate(["fever", "cough", "rash", "pain"]) if (number + 1) >> bit & 1
        )
        lines.append(
            f"Person {number},{20 + number},{10000 + 37 * number:05d},19{50 + number}-0{1 + number % 9}-11,"
            f"{symptoms},{'?' if number == 3 else 1000 * number},{'mf'[number % 2]},x"
        )
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    text, found = draft(Source(path=path), tmp_path)
    return text, {guess.name: guess for guess in found}


def test_roles_are_guessed_with_reasons(guesses):
    _, found = guesses

    assert found["Name"].role is Role.IDENTIFIER
    assert found["age"].role is Role.QUASI_IDENTIFIER
    assert found["salary"].role is Role.SENSITIVE
    assert found["sex"].role is Role.QUASI_IDENTIFIER
    assert found["constant"].role is Role.OTHER
    assert all(guess.reason for guess in found.values())


def test_kinds_and_hierarchies_fit_the_values(guesses):
    _, found = guesses

    assert found["age"].kind is Kind.NUMBER
    assert any("widths" in line for line in found["age"].lines)
    assert any("prefix = 5" in line for line in found["zip"].lines)
    assert any("dates" in line for line in found["born"].lines)
    assert found["symptoms"].kind is Kind.SET


def test_the_draft_is_toml_with_missing_markers_and_requirements(guesses):
    text, _ = guesses
    document = tomllib.loads(text)

    assert document["source"] == {"path": "people.csv", "missing": ["", "?"]}
    assert document["require"][0] == {"model": "k-anonymity", "k": 5}
    assert document["require"][1]["sensitive"] == "salary"


def test_a_table_without_a_likely_quasi_identifier_still_gets_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "a\n" * 10)

    _, found = draft(Source(path=path), tmp_path)

    assert found[0].role is Role.QUASI_IDENTIFIER


def test_names_with_quotes_and_dots_survive(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"a.""b""",age\n1,2\n3,4\n')

    text, _ = draft(Source(path=path), tmp_path)

    assert 'a."b"' in tomllib.loads(text)["columns"]
