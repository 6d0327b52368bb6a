"""What pages are made of: fields from parameters, words, the look."""

from __future__ import annotations

import pytest
from starlette.datastructures import FormData

from sfumato.data.schema import Role
from sfumato.parameters import Parameter, Takes
from sfumato.webapp.forms import field_of, filled
from sfumato.webapp.showing import environment, parts
from sfumato.webapp.words import WORDS


def key(takes, **more):
    return Parameter(name="x", takes=takes, title="X", help="About x.", **more)


@pytest.mark.parametrize(
    ("takes", "written", "value"),
    [
        (Takes.WHOLE, "7", 7),
        (Takes.WHOLE, "seven", "seven"),  # the plan says what is wrong with it
        (Takes.NUMBER, "0.5", 0.5),
        (Takes.FRACTION, "1/3", "1/3"),
        (Takes.FRACTION, "0.2", 0.2),
        (Takes.CHOICE, "b", "b"),
        (Takes.COLUMN, "age", "age"),
        (Takes.TEXT, "words", "words"),
        (Takes.TEXTS, "\r\n?", ["", "?"]),
        (Takes.OTHER, "[1, 2]", [1, 2]),
        (Takes.OTHER, "{ a = 1 }", {"a": 1}),
        (Takes.OTHER, "people.csv", "people.csv"),
        (Takes.WHOLE, "", None),
    ],
)
def test_what_is_written_becomes_what_a_plan_has(takes, written, value):
    assert filled(key(takes, choices=("a", "b")), FormData([("x", written)]), ["age"]) == value


@pytest.mark.parametrize(
    ("takes", "before"),
    [
        (Takes.WHOLE, 5),
        (Takes.FRACTION, "1/3"),
        (Takes.NUMBER, 2.0),
        (Takes.TEXTS, [""]),
        (Takes.TEXTS, ["", "?"]),
        (Takes.COLUMNS, ["a", "b"]),
        (Takes.COLUMNS, "a"),
        (Takes.FLAG, True),
        (Takes.FLAG, None),
        (Takes.OTHER, {"widths": [5]}),
        (Takes.CHOICE, "b"),
        (Takes.CHOICE, None),
    ],
)
def test_what_nobody_touched_stays_as_it_was(takes, before):
    shown = field_of(key(takes, choices=("a", "b")), before, ["a", "b"])
    sent = [("x", each) for each in shown.chosen] if shown.shape == "columns" else [("x", shown.value)]
    if shown.shape == "flag":
        sent = [("x", "yes")] if shown.checked else []

    assert filled(key(takes, choices=("a", "b")), FormData(sent), ["a", "b"], before) == before


def test_a_number_for_each_column_is_a_table():
    made = filled(key(Takes.WHOLE, per_column=True), FormData([("x.0", "3"), ("x.1", "")]), ["job", "age"])

    assert made == {"job": 3}


def test_every_role_is_explained():
    assert {role.value for role in Role} <= set(WORDS)


def test_everything_that_comes_from_data_is_escaped():
    made = environment().from_string("{{ cell }}").render(cell="<script>")

    assert made == "&lt;script&gt;"


def test_a_message_is_what_was_found_and_what_to_do():
    assert parts("One.\nTwo.\nThree.") == ("One.", "Two.\nThree.")
