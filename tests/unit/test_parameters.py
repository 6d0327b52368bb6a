"""Parameters that describe themselves: the same words make checks, forms and references."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction

import pytest

from sfumato.errors import PolicyError
from sfumato.parameters import (
    Exact,
    Takes,
    about,
    check_parameters,
    exact_fraction,
    parameter,
    parameters_of,
    parametrized,
)


@parametrized
class Sieve:
    name = "sieve"

    holes: int = parameter(Takes.WHOLE, "Holes", "How many.", least=1, most=9, example=3)
    mesh: str = parameter(Takes.CHOICE, "Mesh", "How close.", default="fine", choices=("fine", "wide"))
    wet: bool = parameter(Takes.FLAG, "Wet", "Whether under water.", default=False)
    loss: Exact = parameter(
        Takes.FRACTION, "Loss", "What may go.", default="1/3", above=0, below=1, why="all or nothing"
    )
    seconds: float | None = parameter(Takes.NUMBER, "Time", "How long.", default=None, above=0, example=5)
    column: str = parameter(Takes.COLUMN, "Column", "Which one.", default="a")
    columns: object = parameter(Takes.COLUMNS, "Columns", "Which ones.", default=("a", "b"))
    share: object = field(
        default_factory=lambda: {"a": 1},
        metadata=about(Takes.NUMBER, "Share", "Of each.", least=0, most=1, per_column=True, example=0.5),
    )
    hidden: int = 0

    def __post_init__(self):
        check_parameters(self)


def test_parameters_are_read_back_as_they_were_declared():
    holes, mesh, *_, share = parameters_of(Sieve)

    assert (holes.name, holes.title, holes.least, holes.most, holes.required) == ("holes", "Holes", 1, 9, True)
    assert (mesh.default, mesh.choices, mesh.required) == ("fine", ("fine", "wide"), False)
    assert share.per_column
    assert "hidden" not in {each.name for each in parameters_of(Sieve)}


def test_values_are_kept_in_the_form_that_they_are_used_in():
    sieve = Sieve(holes=2, columns=["x"], share={"x": 1, "y": 0.5})

    assert (sieve.loss, sieve.columns, sieve.seconds, sieve.share) == (Fraction(1, 3), "x", None, {"x": 1, "y": 0.5})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"holes": 0}, "holes of sieve must be a whole number from 1 to 9, but was given as 0."),
        ({"holes": True}, "must be a whole number"),
        ({"holes": 2.5}, "Write it without quotes and decimals, such as 3."),
        ({"mesh": "fin"}, "mesh of sieve was given as 'fin', which is not known. Did you mean 'fine'?"),
        ({"mesh": None}, "Choose one of: fine, wide."),
        ({"wet": "yes"}, "wet of sieve must be true or false, but was given as 'yes'."),
        ({"loss": 1}, "must be more than 0 and less than 1, but was given as 1: all or nothing."),
        ({"loss": "much"}, "no number that can be used"),
        ({"seconds": 0}, "seconds of sieve must be more than 0, but was given as 0.\nWrite a number such as 5."),
        ({"seconds": float("inf")}, "must be more than 0"),
        ({"seconds": True}, "must be more than 0"),
        ({"column": ""}, "must be the name of one column"),
        ({"columns": ["a", "a"]}, "names the same column twice"),
        ({"columns": []}, "a list of names"),
        ({"share": 1}, "must name columns and give each a number"),
        ({"share": {}}, "must name columns and give each a number"),
        ({"share": {"x": 2}}, "share of column 'x' in sieve must be from 0 to 1, but was given as 2."),
    ],
)
def test_a_value_out_of_range_is_refused_in_three_parts(given, words):
    with pytest.raises(PolicyError) as caught:
        Sieve(**({"holes": 1} | given))

    assert words in str(caught.value)
    assert "\n" in str(caught.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [(0.1, Fraction(1, 10)), ("2/6", Fraction(1, 3)), (1, Fraction(1)), (Fraction(2, 7), Fraction(2, 7))],
)
def test_a_number_is_taken_as_it_was_written(written, meant):
    assert exact_fraction(written, "t") == meant


@pytest.mark.parametrize("written", ["five", True, None, float("nan"), float("inf"), "1/0", "1e-999999999", [1], ""])
def test_what_is_no_number_is_refused(written):
    with pytest.raises(PolicyError, match=r"^t was given as .*\nWrite a number such as 0\.2"):
        exact_fraction(written, "t")
