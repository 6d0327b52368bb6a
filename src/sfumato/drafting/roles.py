"""What each column may reveal, guessed on the safe side: what is not understood is not published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.data.contents import FEWEST_OF_PLACES, personal_values
from sfumato.data.names import mentions
from sfumato.data.persons import FEWEST_APART, names_people, says_number, says_person
from sfumato.data.schema import Kind, Role
from sfumato.drafting.columns import Look
from sfumato.drafting.shapes import Names
from sfumato.drafting.words import (
    is_about_who,
    is_birth,
    is_coordinate,
    is_first_of_all_who,
    is_survey_weight,
    roles_by_name,
    tell_secrets,
)
from sfumato.errors import DataError
from sfumato.parameters import as_toml

RARE = 0.02  # a sensitive column whose other values make up less than this share is as good as constant
FEW_VALUES = 30  # a column of words that nobody knows may have so many and be generalized; with more it is left out
_BY_NAME = "its name says so"
_SECRET_WORDS = "results of tests, illnesses, drugs, beliefs or offences"


class Danger(IntEnum):
    """What may happen where a guess is wrong, the worst last."""

    LOST = 1  # a column is left out for nothing
    COARSE = 2  # it shows more or less than it should, among k people
    SHOWN = 3  # a secret is published as it is


@dataclass(frozen=True)
class Question:
    """What nobody but the holder knows."""

    danger: Danger
    text: str


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What a column looks like, why, and what it costs if that is wrong."""

    name: str
    role: Role
    kind: Kind
    reason: str
    lines: tuple[str, ...] = ()  # further keys of the column's table
    question: Question | None = None

    @property
    def warning(self) -> str:
        """What happens if the guess is wrong."""
        return _IF_WRONG[self.role]


Told: TypeAlias = tuple[Role, str, Question | None]  # what a column is, why, and what to ask

_IF_WRONG = {
    Role.IDENTIFIER: "dropped: if it tells nobody's name, it is lost for nothing",
    Role.QUASI_IDENTIFIER: "generalized: if nobody can know it about a person, detail is lost for nothing",
    Role.SENSITIVE: "published, or masked: if others know it about a person, make it a quasi-identifier",
    Role.ITEMS: "items are withheld: name those that are secrets, if others are not",
    Role.OTHER: "published as it is: if it tells anything about a person, give it another role",
}
_WHAT_IS_IT = Question(Danger.LOST, "what is it? It was not understood and is left out. Give it a role to publish it.")
_WHO_IS_IT = Question(
    Danger.LOST,
    "does it number people? It is left out. If it has one number for several rows of a person, write it as person "
    "under [source]; if it is an amount, make it a quasi-identifier.",
)
WHO_KNOWS = Question(
    Danger.COARSE,
    "can others know it about a person? It is generalized as if they could. Is it a secret? Then it is sensitive.",
)
_WHICH_SECRETS = Question(
    Danger.COARSE,
    "which members are secrets? All are taken for secrets, and many withheld: name them in sensitive_items.",
)
_HARDLY_VARIES = Question(
    Danger.LOST,
    "is it a secret that few people have? It is left out, as no l-diversity would keep any detail beside it.",
)
_ALL_OF_THEM = Question(
    Danger.LOST, "is it a secret that all of them share? It is left out: it would be known of whoever is in the table."
)
_OF_ANOTHER_TYPE = Question(
    Danger.LOST, "what is it? It is left out. To publish it, convert it to text, numbers, dates or lists of these."
)
_TICKED = Question(
    Danger.LOST,
    "is it a box that is ticked or not? It is left out, as its tick means something else: a missing value, or one "
    "that is withheld (*). To publish it, write another word for the tick.",
)
_SAME = Question(Danger.SHOWN, "is it a secret as well? It says the same as a sensitive column and is treated as one.")
_PLACE = Question(
    Danger.COARSE,
    "is it a place on the map? To the metre that is an address, so it is left out. Publish the town or region "
    "instead, or make it a quasi-identifier.",
)


def guessed(look: Look) -> Guess:
    """Return what a column is by itself."""
    role, reason, question = _role(look)
    if role is Role.SENSITIVE and look.kind is Kind.CATEGORY and look.unique > 0.5:
        reason += f", but {look.unique:.0%} of the cells are different"
        role, question = Role.IDENTIFIER, _WHAT_IS_IT
    elif role is Role.SENSITIVE and 1 - look.largest < RARE:
        reason += f", but {look.largest:.1%} of its cells are the same"
        role, question = Role.IDENTIFIER, _HARDLY_VARIES
    elif role is not Role.IDENTIFIER and (found := _personal(look, role)):
        reason += (
            f", but {found:,} of {len(look.members or look.labels):,} values look like names, contacts or free text"
        )
        role, question = Role.IDENTIFIER, _who_is_inside(found)
    return Guess(name=look.name, role=role, kind=look.kind, reason=reason, question=question)


def _personal(look: Look, role: Role) -> int:
    """Return how many of the values, or of the members of sets, hold what must not be published of a person."""
    if look.kind is Kind.NUMBER:
        return look.n_known if look.account_numbers and role is Role.SENSITIVE else 0
    if look.dated:
        return 0
    known = role is Role.QUASI_IDENTIFIER and bool(roles_by_name(look.name))
    unknown = role is Role.QUASI_IDENTIFIER and not known
    fewest = FEWEST_OF_PLACES if known else 1
    return personal_values(look.members or look.labels, fewest_names=fewest, alone=unknown)


def _who_is_inside(count: int) -> Question:
    return Question(
        Danger.LOST,
        f"do its cells hold names, contacts, account numbers or free text? {count:,} different values look like it, "
        "so the column is left out. To publish it, remove these values from the source, or give it another role.",
    )


def _role(look: Look) -> Told:
    if look.unreadable:
        return Role.IDENTIFIER, f"its cells are of type {look.unreadable}, which cannot be read", _OF_ANOTHER_TYPE
    if look.lost:
        return Role.IDENTIFIER, "its cells mean something else in a release: missing, or withheld", _TICKED
    if look.kind is Kind.SET:
        how = f"joined by {look.separator!r}" if look.separator else "lists"
        return Role.ITEMS, f"its cells are sets ({how}), and a set tells people apart", _WHICH_SECRETS
    if look.n_values <= 1:
        return _constant(look)
    return _person(look) or _by_numbers(look) or _by_words(look) or _by_cells(look)


def _constant(look: Look) -> Told:
    """Return the role of a column that says the same of everybody, which may be whose patients they are."""
    if not look.n_known:
        return Role.OTHER, "it has no value at all", None
    if (person := _person(look)) is not None:
        return person
    named = roles_by_name(look.name)
    if Role.SENSITIVE in named:
        return Role.IDENTIFIER, f"{_BY_NAME}, and all cells are the same", _ALL_OF_THEM
    if look.names and not named:
        return Role.IDENTIFIER, "its only value may be a name", _WHAT_IS_IT
    return Role.OTHER, "it has one value only", None


def _person(look: Look) -> Told | None:
    """Return why a column names people, if it does."""
    named = roles_by_name(look.name)
    if look.shape is not None and look.shape.role is Role.IDENTIFIER:
        return Role.IDENTIFIER, f"its cells are {look.shape.what}", None
    if Role.IDENTIFIER in named:
        # The name of a country, the number of a ward: another word in it, few values, none of them a person's.
        other = len(named) > 1 or mentions(look.name, "id ip")
        if look.names >= Names.LIKELY or look.unique > 0.2 or not other:
            return Role.IDENTIFIER, f"its name says so; {look.unique:.0%} of the cells are different", None
    if _is_number(look, named):
        return Role.IDENTIFIER, f"its name says that it is a number; {look.unique:.0%} of the cells are different", None
    if _is_who(look, named):
        return Role.IDENTIFIER, "its name says that it is a person", _WHAT_IS_IT
    if look.free_text:
        return Role.IDENTIFIER, "it is free text, which may hold anything", None
    if look.numbered and not look.compact_dates and not set(named) - {Role.IDENTIFIER}:
        return Role.IDENTIFIER, "it numbers the rows: nearly every cell is different", None
    if look.names is Names.SURELY or (look.names is Names.LIKELY and not named):
        return Role.IDENTIFIER, "its cells look like names of people", _WHAT_IS_IT
    return None


def _is_number(look: Look, named: Sequence[Role]) -> bool:
    """Whether a column's name says that it numbers people or things, and its cells can do so."""
    if not says_number(look.name) or look.dated or (look.kind is Kind.NUMBER and _decimals(look.labels)):
        return False
    if look.unique > 0.2 or look.long_numbers:
        return True
    untold = not named and look.shape is None
    return untold and names_people(look.name) and (look.unique > FEWEST_APART or says_person(look.name))


def _is_who(look: Look, named: Sequence[Role]) -> bool:
    """Whether a column's name means people, and its cells can be who they are."""
    if not is_about_who(look.name):
        return False
    if look.numbered:
        return True
    if named:  # party_member, customer_country: about them, unless they are what it is, and cells may be names
        return bool(look.names) and is_first_of_all_who(look.name)
    return bool(look.names) or (look.kind is Kind.CATEGORY and look.n_known > 2)


def _by_numbers(look: Look) -> Told | None:
    """Return why a column of numbers is a survey weight or half of a place, if it is."""
    if look.kind is not Kind.NUMBER:
        return None
    exact = _decimals(look.labels)
    if is_survey_weight(look.name, exact=exact >= 3) and min(map(float, look.labels)) > 0:
        reason = "it looks like a survey weight: how many people a row stands for"
        return Role.IDENTIFIER, reason, _survey_weight(look.name)
    if is_coordinate(look.name) and exact:
        return Role.IDENTIFIER, "it looks like a place on the map, and an exact one is an address", _PLACE
    return None


def _survey_weight(name: str) -> Question:
    return Question(
        Danger.LOST,
        "is it a survey weight, which says how many people a row stands for? It is left out, as many digits tell "
        f'people apart. To publish it, round it, give it the role "other", and write weight = {as_toml(name)} under '
        "[source].",
    )


def _decimals(labels: Sequence[str]) -> int:
    """Return how many decimals at least half of some numbers have."""
    found = sorted(len(label.partition(".")[2]) for label in labels)
    return found[len(found) // 2] if found else 0


def _by_words(look: Look) -> Told | None:
    if look.dated and is_birth(look.name):
        return Role.QUASI_IDENTIFIER, "its name says that it is a date of birth", None
    for role in roles_by_name(look.name):
        if role is Role.QUASI_IDENTIFIER or (role is Role.SENSITIVE and not look.dated):
            return role, _BY_NAME, None
    if look.shape is not None:
        asked = _codes(look.shape.what) if look.shape.role is Role.SENSITIVE else None
        return look.shape.role, f"its cells look like {look.shape.what}", asked
    return None


def _codes(what: str) -> Question:
    return Question(
        Danger.SHOWN,
        f"are these {what}? They are published as secrets are. If others know them about a person, such as rooms "
        "or wards, make it a quasi-identifier.",
    )


def _by_cells(look: Look) -> Told:
    """Return the role of a column that neither its name nor the shape of its cells tells."""
    if look.dated:
        return Role.QUASI_IDENTIFIER, "others often know dates about a person", None
    if look.long_numbers:
        return Role.IDENTIFIER, "so many digits rather name people or things than count any", _WHO_IS_IT
    if look.kind is Kind.NUMBER:
        return Role.QUASI_IDENTIFIER, "numbers are generalized to ranges, whatever they count", WHO_KNOWS
    if look.kind is Kind.CATEGORY and tell_secrets(look.labels):
        return Role.SENSITIVE, f"its cells look like {_SECRET_WORDS}", _codes(_SECRET_WORDS)
    if look.n_known > FEW_VALUES or (look.unique > 0.5 and look.n_known > FEW_VALUES / 3):
        return Role.IDENTIFIER, f"{look.n_known:,} words or codes that were not understood", _WHAT_IS_IT
    if look.names:
        return Role.IDENTIFIER, "its cells may be names, and were not understood", _WHAT_IS_IT
    return Role.QUASI_IDENTIFIER, "others may know it about a person", WHO_KNOWS


def tied(guesses: list[Guess], codes_of: dict[str, NDArray[np.int32]]) -> list[Guess]:
    """Return the guesses, with what one column tells of another."""
    compared = [
        guess for guess in guesses if guess.name in codes_of and guess.role not in (Role.IDENTIFIER, Role.OTHER)
    ]
    distinct = {guess.name: n_distinct(codes_of[guess.name]) for guess in compared}
    told: dict[str, tuple[Guess, bool]] = {}  # column -> the one that tells it, and whether it tells that one as well
    for one in compared:
        codes = codes_of[one.name].astype(np.int64)
        if not 2 < distinct[one.name] <= codes.size / 2:  # a column that is all different tells everything by chance
            continue
        for other in compared:
            if other.name == one.name or distinct[other.name] > distinct[one.name]:
                continue
            width = int(codes_of[other.name].max(initial=0)) + 1
            if n_distinct(codes * width + codes_of[other.name]) != distinct[one.name]:
                continue
            known = told.get(other.name)
            if known is None or (one.role is Role.SENSITIVE and known[0].role is not Role.SENSITIVE):
                told[other.name] = (one, distinct[other.name] == distinct[one.name])
    return [_told(guess, *told[guess.name]) if guess.name in told else guess for guess in guesses]


def _told(guess: Guess, teller: Guess, both_ways: bool) -> Guess:
    if both_ways:
        if teller.role is Role.SENSITIVE and guess.reason != _BY_NAME:
            reason = f"says the same as {teller.name!r}"
            return replace(guess, role=Role.SENSITIVE, reason=reason, question=_SAME)
        return replace(guess, reason=f"{guess.reason}; says the same as {teller.name!r}")
    return replace(guess, reason=f"{guess.reason}; whoever knows {teller.name!r} knows it")


def n_distinct(codes: NDArray[Any]) -> int:
    """Return how many different codes there are."""
    ordered = np.sort(codes)
    return int((ordered[1:] != ordered[:-1]).sum()) + min(ordered.size, 1)


def with_something_to_publish(guesses: list[Guess], look_of: dict[str, Look]) -> list[Guess]:
    """Make the likeliest column a quasi-identifier if no column needs protection: a plan has to protect something."""
    roles = {guess.role for guess in guesses}
    if roles & {Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.ITEMS}:
        return guesses
    single = [guess for guess in guesses if guess.role is Role.OTHER]
    if not single:
        raise DataError(
            f"All {len(guesses)} column(s) look like names or numbers of people, or were not understood: nothing is "
            "left to publish.\nWrite the plan by hand, with a role for each column that may be published."
        )
    first = min(single, key=lambda guess: look_of[guess.name].unique)
    reason = "no other column looked like one that others may know"
    promoted = replace(first, role=Role.QUASI_IDENTIFIER, reason=reason, question=WHO_KNOWS)
    return [promoted if guess is first else guess for guess in guesses]
