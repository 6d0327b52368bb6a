"""Drafts a plan from data that runs as it is: kinds, likely roles, hierarchies to start from, each with its reason.

Every guess is marked as one and says what it costs if it is wrong. Where in doubt a column is protected or left out,
never published as it is. Nothing here decides what is safe: the holder does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.distinct import text_codes
from sfumato.data.files import Source, read_table
from sfumato.data.kinds import is_list
from sfumato.data.schema import DEFAULT_MISSING, Kind, Role
from sfumato.drafting.columns import Look, look_at, mentions, missing_markers
from sfumato.drafting.hierarchies import hierarchy_lines
from sfumato.errors import DataError
from sfumato.plan.json_schema import FILE
from sfumato.progress import SILENT, Progress

PAIR_ROWS = 20_000  # rows that dependence between columns is looked for in
MANY_QUASI_IDENTIFIERS = 12  # beyond, little detail survives and searching labels takes long
K = 5
RARE = 0.02  # a sensitive column whose other values make up less than this share is as good as constant


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What a column looks like, why, and what it costs if that is wrong."""

    name: str
    role: Role
    kind: Kind
    reason: str
    lines: tuple[str, ...] = ()  # further keys of the column's table

    @property
    def warning(self) -> str:
        """What happens if the guess is wrong."""
        if self.kind is Kind.SET and self.role is Role.IDENTIFIER:
            return "left out until you say what its members may reveal: role quasi-sensitive or items"
        return _IF_WRONG[self.role]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A plan as text, and the guesses in it."""

    text: str
    guesses: tuple[Guess, ...]
    warnings: tuple[str, ...]  # about the plan as a whole


_IF_WRONG = {
    Role.IDENTIFIER: "dropped: if it tells nobody's name, it is lost for nothing",
    Role.QUASI_IDENTIFIER: "generalized: if nobody can know it about a person, detail is lost for nothing",
    Role.SENSITIVE: "published as it is: if others know it about a person, make it a quasi-identifier",
    Role.OTHER: "published as it is: if it tells anything about a person, give it another role",
}

# Words of column names that tell a role, tried in this order. A word of five letters or more may begin a longer one.
_WORDS = {
    Role.IDENTIFIER: (
        "name surname lastname firstname forename fullname username email mail phone telephone mobile fax ssn passport "
        "licence license iban account address street uuid guid url ip id recid caseid identifier"
    ),
    Role.SENSITIVE: (
        "disease diagnosis diagnoses diag condition illness symptom icd salary income wage wages earnings religion "
        "ethnic political party cancer hiv crime offence debt credit medication treatment orientation disability"
    ),
    Role.QUASI_IDENTIFIER: (
        "age birth birthday birthdate born dob yob sex gender zip zipcode plz postal postcode city town village state "
        "county country region district race marital education school job occupation profession employer workclass "
        "nation native citizen language admission discharge date month year relationship household height weight"
    ),
}


def draft(source: Source, folder: Path, progress: Progress = SILENT) -> Draft:
    """Return a plan for a file in `folder`. All of the data is read: a draft that a late row breaks is no use."""
    table = read_table(source, progress=progress)
    rows = table.num_rows
    chosen = slice(None, None, max(1, rows // PAIR_ROWS))
    looks: list[Look] = []
    codes_of: dict[str, NDArray[np.int32]] = {}
    missing: list[str] = []
    stage = progress.stage("look at columns", total=table.num_columns)
    for name in table.column_names:
        array = table.column(name)
        if is_list(array.type):
            looks.append(Look.of_lists(name, rows))
        else:
            codes, labels, _ = text_codes(array, ())
            markers = missing_markers(labels, array.type)
            missing += [marker for marker in markers if marker not in missing]
            looks.append(look_at(name, codes, labels, markers, array.type))
            codes_of[name] = codes[chosen]
        stage.advance()
    stage.done()
    if all(look.kind is Kind.SET for look in looks):
        raise DataError(
            f"{source.path} holds {len(looks)} column(s), all of them sets: nobody but you can say which members are "
            "secrets.\n"
            'Write the plan by hand: role = "items" with sensitive_items = [...], or role = "quasi-sensitive" with '
            "[knowledge]."
        )
    guesses = _tied([_guess(look) for look in looks], codes_of)
    guesses = _with_quasi_identifier(guesses, {look.name: look for look in looks})
    look_of = {look.name: look for look in looks}
    guesses = [_with_hierarchy(guess, look_of[guess.name], missing) for guess in guesses]
    writer = _Writer(guesses, look_of, rows)
    path = Path(os.path.relpath(source.path.resolve(), folder.resolve())).as_posix()
    path = os.fsencode(path).decode("utf-8", "replace")  # names that the locale cannot spell come in pieces
    text = writer.text(path, source.separator, tuple(missing) or DEFAULT_MISSING)
    return Draft(text=text, guesses=tuple(guesses), warnings=tuple(writer.warnings))


def _guess(look: Look) -> Guess:
    """Return what a column is by itself."""
    role, reason = _role(look)
    return Guess(name=look.name, role=role, kind=look.kind, reason=reason)


def _role(look: Look) -> tuple[Role, str]:
    by_words = [role for role, words in _WORDS.items() if mentions(look.name, words)]
    by_name = by_words[0] if by_words else None
    if look.kind is Kind.SET:
        how = f"joined by {look.separator!r}" if look.separator else "lists"
        return Role.IDENTIFIER, f"its cells are sets ({how}), and a set tells people apart"
    if look.n_known <= 1:
        return Role.OTHER, "it has one value only" if look.n_known else "it has no value at all"
    if by_name is Role.IDENTIFIER:
        if look.unique > 0.2 or (len(by_words) == 1 and not mentions(look.name, "id ip")):
            return by_name, f"its name says so; {look.unique:.0%} of the cells are different"
        by_name = by_words[1] if len(by_words) > 1 else None  # the name of a country, the number of a ward
    if look.name.lower().endswith("id") and look.unique > 0.2:
        return Role.IDENTIFIER, f"its name ends in id; {look.unique:.0%} of the cells are different"
    if look.free_text:
        return Role.IDENTIFIER, "it is free text, which may hold anything"
    if look.numbered:
        return Role.IDENTIFIER, "it numbers the rows: every cell is different"
    if by_name in (Role.SENSITIVE, Role.QUASI_IDENTIFIER):
        return by_name, "its name says so"
    if look.unique > 0.95 and look.kind is Kind.CATEGORY and look.rows > 20 and not look.odd_dates:
        return Role.IDENTIFIER, f"{look.unique:.0%} of the cells are different"
    if look.kind is Kind.DATE or look.odd_dates:
        return Role.QUASI_IDENTIFIER, "others often know dates about a person"
    if look.unique > 0.5:
        return Role.QUASI_IDENTIFIER, f"{look.unique:.0%} of the cells are different, so it can single people out"
    return Role.QUASI_IDENTIFIER, "others may know it about a person; make it sensitive or other if not"


def _tied(guesses: list[Guess], codes_of: dict[str, NDArray[np.int32]]) -> list[Guess]:
    """Return the guesses, with what one column tells of another."""
    compared = [guess for guess in guesses if guess.role not in (Role.IDENTIFIER, Role.OTHER)]
    distinct = {guess.name: _n_distinct(codes_of[guess.name]) for guess in compared}
    told: dict[str, tuple[Guess, bool]] = {}  # column -> the one that tells it, and whether it tells that one as well
    for one in compared:
        codes = codes_of[one.name].astype(np.int64)
        if not 2 < distinct[one.name] <= codes.size / 2:  # a column that is all different tells everything by chance
            continue
        for other in compared:
            if other.name == one.name or distinct[other.name] > distinct[one.name]:
                continue
            width = int(codes_of[other.name].max(initial=0)) + 1
            if _n_distinct(codes * width + codes_of[other.name]) != distinct[one.name]:
                continue
            known = told.get(other.name)
            if known is None or (one.role is Role.SENSITIVE and known[0].role is not Role.SENSITIVE):
                told[other.name] = (one, distinct[other.name] == distinct[one.name])
    return [_told(guess, *told[guess.name]) if guess.name in told else guess for guess in guesses]


def _told(guess: Guess, teller: Guess, both_ways: bool) -> Guess:
    if both_ways:
        reason = f"{guess.reason}; says the same as {teller.name!r}"
        by_name = guess.reason == "its name says so"
        if teller.role is Role.SENSITIVE and not by_name:
            return replace(guess, role=Role.SENSITIVE, reason=f"says the same as {teller.name!r}")
        return replace(guess, reason=reason)
    return replace(guess, reason=f"{guess.reason}; whoever knows {teller.name!r} knows it")


def _n_distinct(codes: NDArray[Any]) -> int:
    ordered = np.sort(codes)
    return int((ordered[1:] != ordered[:-1]).sum()) + min(ordered.size, 1)


def _with_quasi_identifier(guesses: list[Guess], look_of: dict[str, Look]) -> list[Guess]:
    """Make the likeliest column a quasi-identifier if none is: a plan needs one."""
    if any(guess.role is Role.QUASI_IDENTIFIER for guess in guesses):
        return guesses
    order = (Role.OTHER, Role.IDENTIFIER, Role.SENSITIVE)
    single = [guess for guess in guesses if guess.kind is not Kind.SET]
    if not single:
        return guesses
    first = min(single, key=lambda guess: (order.index(guess.role), look_of[guess.name].unique))
    promoted = replace(first, role=Role.QUASI_IDENTIFIER, reason="no other column looked like one that others may know")
    return [promoted if guess is first else guess for guess in guesses]


def _with_hierarchy(guess: Guess, look: Look, missing: Sequence[str]) -> Guess:
    if look.kind is Kind.SET:
        lines = (f"separator = {quoted(look.separator)}",) if look.separator else ()
        return replace(guess, lines=lines)
    if guess.role is not Role.QUASI_IDENTIFIER:
        return guess
    kind, line, note = hierarchy_lines(look, [label for label in look.labels if label not in missing])
    reason = f"{guess.reason}; {note}" if note else guess.reason
    return replace(guess, kind=kind, lines=(line,), reason=reason)


class _Writer:
    """Writes the plan, and notes what deserves a warning on the way."""

    def __init__(self, guesses: Sequence[Guess], look_of: dict[str, Look], rows: int) -> None:
        self.guesses = guesses
        self.look_of = look_of
        self.rows = rows
        self.warnings: list[str] = []

    def text(self, path: str, separator: str | None, missing: tuple[str, ...]) -> str:
        lines = [
            f"#:schema ./{FILE}",
            f"# A first draft, made by `sfumato init` from {self.rows:,} rows. Every role is a guess:",
            "# read each line, then",
            "#   sfumato explain PLAN                what will be done",
            "#   sfumato anonymize PLAN --out DIR    do it",
            "",
            "[source]",
            f"path = {quoted(path)}",
        ]
        if separator is not None:
            lines.append(f"separator = {quoted(separator)}")
        lines += [f"missing = [{', '.join(map(quoted, missing))}]  # cells that are missing, as found", ""]
        for guess in self.guesses:
            lines += [
                f"[columns.{quoted(guess.name)}]",
                f'role = "{guess.role.value}"  # guess: {guess.reason}',
                f"# if wrong: {guess.warning}",
                f'kind = "{guess.kind.value}"',
                *guess.lines,
                "",
            ]
        lines += self._k_anonymity()
        for guess in self.guesses:
            if guess.role is Role.SENSITIVE:
                lines += self._diversity(guess)
            elif guess.role is Role.IDENTIFIER and guess.kind is not Kind.SET:
                self._warn_of_repeats(self.look_of[guess.name])
        return "\n".join(lines)

    def _k_anonymity(self) -> list[str]:
        known = [guess.name for guess in self.guesses if guess.role is Role.QUASI_IDENTIFIER]
        k = K if self.rows >= 2 * K else 2
        lines = ["[[require]]", 'model = "k-anonymity"', f"k = {k}  # each person hides among at least so many"]
        if self.rows < 10 * K:
            self.warnings.append(f"The table has {self.rows:,} rows only: there is little to hide among.")
        if len(known) > MANY_QUASI_IDENTIFIERS:
            lines.append('anonymizer = "mondrian"  # quick where there are many quasi-identifiers')
            self.warnings.append(
                f"{len(known)} columns were taken for quasi-identifiers, and little detail survives so many: "
                "make those that nobody can know about a person sensitive or other."
            )
        return [*lines, ""]

    def _warn_of_repeats(self, look: Look) -> None:
        """People with several rows hide among themselves, and no count of rows sees it."""
        if look.numbers_people and 0.02 < look.unique < 0.95:
            self.warnings.append(
                f"{look.name!r} looks like a number of a person, and has {look.rows / look.n_known:.1f} rows each: "
                "requirements count rows, not people. Gather the rows of each person first."
            )

    def _diversity(self, guess: Guess) -> list[str]:
        look = self.look_of[guess.name]
        lines = [
            "[[require]]",
            'model = "l-diversity"',
            f"sensitive = {quoted(guess.name)}",
            "l = 2  # different values in each group",
            'kind = "distinct"  # distinct | entropy | recursive | frequency',
        ]
        if 1 - look.largest < RARE:
            self.warnings.append(
                f"{guess.name!r} looks sensitive, but {look.largest:.1%} of its cells are the same: l-diversity would "
                "cost nearly all detail, so the draft has it commented out."
            )
            lines = [f"# {line}" for line in lines]
        return [*lines, ""]


def quoted(text: str) -> str:
    r"""Return a text as TOML writes it.

    >>> print(quoted('a "b"'))
    "a \"b\""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
