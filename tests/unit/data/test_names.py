"""Words in the names of columns."""

from __future__ import annotations

import pytest

from sfumato.data.names import mentions


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("age", "age", True),
        ("AGE", "age", True),
        ("patientAge", "age", True),
        ("age_at_entry", "age", True),
        ("stage", "age", False),
        ("language", "age", False),
        ("diagnosis2", "diagnosis", True),
        ("occupational", "occupation", True),
        ("update", "date", False),
    ],
)
def test_words_are_looked_for_as_words(name, words, expected):
    assert mentions(name, words) is expected


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Hauptdiagnose", "diagnose"),
        ("Aufnahmedatum", "aufnahme"),
        ("Staatsangehörigkeit", "staatsangehoerigkeit"),
        ("prénom", "prenom"),
        ("FechaIngreso", "ingreso"),
        ("Größe", "groesse"),
    ],
)
def test_words_are_found_in_other_languages(name, word):
    assert mentions(name, word)
