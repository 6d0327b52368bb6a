"""Drafts for tables with several rows a person: one row is made of them, so that the rest of the plan is about people.

What others know about a person is taken as it is last, sensitive values as the set of all of them, or as their mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.gathering import Gather, Gathered, How, gather, varying
from sfumato.data.kinds import is_list
from sfumato.data.names import mentions
from sfumato.data.persons import Persons, is_person, names_people, numbers_in, repeated_persons, says_person
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.data.variants import keys_of
from sfumato.drafting.columns import Look
from sfumato.drafting.roles import WHO_KNOWS, Danger, Guess, Question, n_distinct
from sfumato.drafting.shapes import Names
from sfumato.parameters import as_toml

_FOR_LIFE = (  # what all rows of a person share, as long as nobody errs
    "sex gender birth birthday birthdate born dob yob geburt geschlecht naissance sexe nacimiento sexo nascita sesso "
    "geboorte geslacht nascimento genero genere brthdtc"
)
_FEWEST_PEOPLE = 10  # numbers, below which a name that says nothing of people rather means amounts
_OFTEN = 20  # rows that repeat a value, before it counts that they agree
_VARIED = 1.5  # values of sex or birth beside one number, on average: beyond slips, it numbers no people


@dataclass(frozen=True, eq=False)
class Together:
    """A table with one row a person, and how it was made."""

    asked: Gather
    table: pa.Table
    rows_each: float
    respelled: bool = False  # whether the numbers of some people have several spellings

    def lines(self) -> list[str]:
        """Return what the plan says of it behind the keys of its source."""
        asked = self.asked
        lines = [
            f"person = {as_toml(asked.person)}  # guess: {self.rows_each:.1f} rows each",
            "",
            "[gather]  # how the rows of a person become one; columns that are not named are the same in all",
        ]
        if asked.order is not None:
            lines.append(f"order = {as_toml(asked.order)}  # says which row is the last")
        if asked.columns:
            lines.append("[gather.columns]  # set | first | last | count | min | max | mean | sum")
        lines += [f'{as_toml(column.name)} = "{column.how}"' for column in asked.columns]
        return [*lines, ""]


def put_together(
    table: pa.Table,
    guesses: Sequence[Guess],
    look_of: Mapping[str, Look],
    codes_of: Mapping[str, NDArray[np.int32]],
    missing: Sequence[str],
) -> tuple[list[Guess], Together | None]:
    """Return the table with one row a person, where a column numbers people and has some of them on several rows.

    Its guess is that of an identifier, with a question; where it has gaps, nothing more can be done.
    codes_of: codes of some rows, by column.
    """
    born = [codes_of[name] for name in codes_of if mentions(name, _FOR_LIFE) and look_of[name].n_values > 1]
    numbers = [
        name
        for name, look in look_of.items()
        if look.labels
        and not look.dated
        and (names_people(name) or (is_person(name) and look.names < Names.LIKELY))
        and (says_person(name) or _may_number(name, look, codes_of, born))
    ]
    persons = repeated_persons(table, numbers, missing)
    if persons is None:
        left_out = [guess.name for guess in guesses if guess.role is Role.IDENTIFIER and not look_of[guess.name].dated]
        persons = repeated_persons(table, _tell_who(left_out, codes_of, born), missing)
    if persons is None:
        unknown = [guess.name for guess in guesses if guess.kind is Kind.NUMBER and guess.question is WHO_KNOWS]
        persons = repeated_persons(table, _tell_who(_finer(unknown, codes_of, look_of), codes_of, born), missing)
    if persons is None:
        return list(guesses), None
    rows_each = persons.rows / persons.people
    asked = [_asked(guess, rows_each, look_of) if guess.name == persons.column else guess for guess in guesses]
    return asked, _together(persons, table, asked, look_of, missing) if not look_of[persons.column].gaps else None


def _may_number(
    name: str, look: Look, codes_of: Mapping[str, NDArray[np.int32]], born: Sequence[NDArray[np.int32]]
) -> bool:
    """Whether cells can be numbers of people: there are several, and those of one agree in sex and birth."""
    agree = not born or name not in codes_of or _varied(codes_of[name], born) < _VARIED
    return look.n_known >= _FEWEST_PEOPLE and agree


def _finer(names: Sequence[str], codes_of: Mapping[str, NDArray[np.int32]], look_of: Mapping[str, Look]) -> list[str]:
    """Return the columns with more values than any year of birth: an age, too, agrees with that."""
    years = [
        n_distinct(codes_of[name])
        for name in codes_of
        if mentions(name, _FOR_LIFE) and look_of[name].kind is not Kind.DATE and name not in names
    ]
    return [name for name in names if name in codes_of and n_distinct(codes_of[name]) > max(years, default=0)]


def _tell_who(
    names: Sequence[str], codes_of: Mapping[str, NDArray[np.int32]], born: Sequence[NDArray[np.int32]]
) -> list[str]:
    """Return the columns that repeat, and whose rows agree in sex and birth as those of a person do.

    Numbers of doctors, wards or files repeat as well, but their rows are about several people.
    """
    repeated = [
        name for name in names if name in codes_of and codes_of[name].size - n_distinct(codes_of[name]) >= _OFTEN
    ]
    return [name for name in repeated if born and _varied(codes_of[name], born) == 1]


def _varied(codes: NDArray[np.int32], others: Sequence[NDArray[np.int32]]) -> float:
    """Return how many values of another column stand beside a value on average, of the one of which these are most."""
    pairs = (codes.astype(np.int64) * (int(each.max(initial=0)) + 1) + each for each in others)
    return max(map(n_distinct, pairs)) / max(n_distinct(codes), 1)


def _asked(guess: Guess, rows_each: float, look_of: Mapping[str, Look]) -> Guess:
    then = (
        "Then people are counted, not rows, and [gather] says how their rows become one. If not, delete person under "
        "[source], and [gather]."
    )
    if look_of[guess.name].gaps:
        then = "Then give every row its number and write [source] person and [gather]: for now rows are counted."
    return replace(
        guess,
        role=Role.IDENTIFIER,
        reason=f"it numbers people, on {rows_each:.1f} rows each",
        question=Question(Danger.SHOWN, f"is it the number of a person, on {rows_each:.1f} rows each? {then}"),
    )


def _together(
    persons: Persons, table: pa.Table, guesses: Sequence[Guess], look_of: Mapping[str, Look], missing: Sequence[str]
) -> Together:
    known = {guess.name: guess for guess in guesses if guess.name != persons.column}
    specs = {
        name: ColumnSpec(name=name, role=guess.role, separator=look_of[name].separator or "|")
        for name, guess in known.items()
    }
    person = ColumnSpec(name=persons.column, role=Role.IDENTIFIER)
    schema = Schema(columns={**specs, person.name: person}, missing=tuple(missing), normalize=True)
    single = [name for name, guess in known.items() if guess.role is not Role.IDENTIFIER]
    varied = set(varying(table, persons.column, single, schema))
    columns = tuple(
        Gathered(name=name, how=_how(known[name], table.column(name).type), column=name)
        for name in single
        if name in varied
    )
    dated = [name for name in single if name in varied and look_of[name].kind is Kind.DATE]
    order = dated[0] if dated and any(column.how is How.LAST for column in columns) else None
    asked = Gather(person=persons.column, columns=columns, order=order)
    made, _ = gather(table, asked, schema, _no_events)
    _, numbers, _ = numbers_in(table.column(persons.column), missing)
    return Together(asked, made, persons.rows / persons.people, len(keys_of(numbers).unique()) < len(numbers))


def _how(guess: Guess, found: pa.DataType) -> How:
    if guess.kind is Kind.SET or is_list(found):
        return How.SET
    if guess.role is Role.SENSITIVE:
        return How.MEAN if guess.kind is Kind.NUMBER else How.LAST if guess.kind is Kind.DATE else How.SET
    return How.LAST


def _no_events(source: object, drop: object) -> pa.Table:
    raise AssertionError("a draft gathers one table")
