"""Drafts a plan from data: kinds, likely roles, hierarchies to start from, each with the reason beside it.

Every guess is marked as one. Nothing here decides what is safe: the holder does.
"""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.data.encoding import infer_kind, is_list, text_codes
from sfumato.data.reading import Source, sample
from sfumato.data.schema import DEFAULT_MISSING, Kind, Role

SAMPLE_ROWS = 20_000
MISSING_MARKERS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")

# Parts of column names that tell a role, tried in this order.
_WORDS = {
    Role.IDENTIFIER: "name surname email mail phone ssn passport account patient_id person_id uuid ^id$ _id$ recid$",
    Role.SENSITIVE: "disease diagnos condition illness salary income wage religion ethnic politic cancer crime debt",
    Role.QUASI_IDENTIFIER: (
        "age birth born dob sex gender zip postal postcode city town state county country region race marital "
        "education job occupation profession employ workclass nation admission date relationship native"
    ),
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T].*)?")
_SET_SEPARATORS = ("|", ";", ",")


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What a column looks like."""

    name: str
    role: Role
    kind: Kind
    reason: str
    lines: tuple[str, ...] = ()  # further keys of the column's table


def draft(source: Source, folder: Path) -> tuple[str, tuple[Guess, ...]]:
    """Return a plan as text, for a file in `folder`, and the guesses in it."""
    table = sample(source, SAMPLE_ROWS)
    guesses = []
    seen_missing: list[str] = []
    for name in table.column_names:
        if is_list(table.column(name).type):
            guesses.append(Guess(name=name, role=Role.OTHER, kind=Kind.SET, reason="its cells are lists"))
            continue
        codes, labels, _ = text_codes(table.column(name), ())
        markers = [marker for marker in MISSING_MARKERS if marker in labels]
        seen_missing += [marker for marker in markers if marker not in seen_missing]
        guesses.append(_guess(name, codes, labels, markers, table.column(name).type))
    if not any(guess.role is Role.QUASI_IDENTIFIER for guess in guesses):
        guesses = [_promoted(guess) for guess in guesses]
    missing = tuple(seen_missing) or DEFAULT_MISSING
    path = Path(os.path.relpath(source.path.resolve(), folder.resolve())).as_posix()
    return _text(path, source.separator, tuple(guesses), missing, table.num_rows), tuple(guesses)


def _guess(name: str, codes: np.ndarray, labels: list[str], markers: list[str], found_type: object) -> Guess:
    known = [label for label in labels if label not in markers]
    kind = infer_kind(known, found_type)
    rows = max(codes.size, 1)
    unique = len(known) / rows
    separator = _set_separator(known)
    by_name = next((role for role, words in _WORDS.items() if _mentions(name, words)), None)
    if separator is not None:
        line = f"separator = {json.dumps(separator)}"
        return Guess(
            name=name,
            role=Role.OTHER,
            kind=Kind.SET,
            reason=f"cells look like sets joined by {separator!r}; decide what its terms may reveal",
            lines=(line,),
        )
    if by_name is Role.IDENTIFIER or (by_name is None and unique > 0.95 and kind is Kind.CATEGORY and rows > 20):
        why = "its name says so" if by_name is Role.IDENTIFIER else f"{unique:.0%} of the cells are different"
        return Guess(name=name, role=Role.IDENTIFIER, kind=kind, reason=why)
    if by_name is not None:
        role, why = by_name, "its name says so"
    elif len(known) <= 1:
        role, why = Role.OTHER, "it has one value only"
    elif unique > 0.5:
        role, why = Role.QUASI_IDENTIFIER, f"{unique:.0%} of the cells are different, so it can single people out"
    else:
        role, why = Role.QUASI_IDENTIFIER, "others may know it about a person; make it sensitive or other if not"
    lines = _hierarchy_lines(name, known, kind) if role is Role.QUASI_IDENTIFIER else ()
    return Guess(name=name, role=role, kind=kind, reason=why, lines=lines)


def _mentions(name: str, words: str) -> bool:
    return re.search("|".join(words.split()), name.lower()) is not None


def _promoted(guess: Guess) -> Guess:
    """Make a column that is nothing special a quasi-identifier: a plan needs one."""
    if guess.role is not Role.OTHER or guess.kind is Kind.SET:
        return guess
    return Guess(name=guess.name, role=Role.QUASI_IDENTIFIER, kind=guess.kind, reason="no other column looked like one")


def _set_separator(labels: list[str]) -> str | None:
    """Return the separator of set cells, if the cells look like sets: parts recur over many different cells."""
    for separator in _SET_SEPARATORS:
        cells = [label.split(separator) for label in labels if separator in label]
        if len(cells) < max(3, len(labels) // 5):
            continue
        parts = [part.strip() for cell in cells for part in cell]
        if all(parts) and len(set(parts)) < len(parts) / 2:
            return separator
    return None


def _hierarchy_lines(name: str, labels: list[str], kind: Kind) -> tuple[str, ...]:
    lengths = {len(label) for label in labels}
    same_length = lengths.pop() if len(lengths) == 1 else 0
    codes = same_length >= 3 and all(any(character.isdigit() for character in label) for label in labels)
    if labels and all(_DATE.fullmatch(label) for label in labels):
        return ('hierarchy = { dates = ["month", "quarter", "year"] }',)
    if codes and (kind is Kind.CATEGORY or _mentions(name, "zip postal postcode code")):
        return ('kind = "category"', f"hierarchy = {{ prefix = {same_length} }}")
    if kind is Kind.NUMBER and len(labels) > 2:
        return (f"hierarchy = {{ widths = [{_widths(labels)}] }}",)
    return ("hierarchy = { flat = true }",)


def _widths(labels: list[str]) -> str:
    """Return widths of ranges that cut the column into some tens, some, and few parts."""
    values = sorted(float(label) for label in labels)
    span = values[-1] - values[0]
    step = 10.0 ** math.floor(math.log10(span / 10))
    if all(value.is_integer() for value in values):
        step = max(step, 1.0)
    widths = [step * factor for factor in (1, 5, 10, 50) if step * factor < span and step * factor > 1]
    return ", ".join(f"{width:g}" for width in widths or [step])


def _text(path: str, separator: str | None, guesses: tuple[Guess, ...], missing: tuple[str, ...], rows: int) -> str:
    lines = [
        f"# A first draft, made by `sfumato init` from {rows:,} rows. Every role is a guess: read each line, then run",
        "#   sfumato explain PLAN        what will be done",
        "#   sfumato anonymize PLAN --out DIR",
        "",
        "[source]",
        f"path = {json.dumps(path, ensure_ascii=False)}",
    ]
    if separator is not None:
        lines.append(f"separator = {json.dumps(separator)}")
    lines += [f"missing = {json.dumps(list(missing), ensure_ascii=False)}", ""]
    for guess in guesses:
        lines += [
            f"[columns.{json.dumps(guess.name, ensure_ascii=False)}]",
            f'role = "{guess.role.value}"  # guess: {guess.reason}',
        ]
        if not any(line.startswith("kind") for line in guess.lines) and guess.role is not Role.IDENTIFIER:
            lines.append(f'kind = "{guess.kind.value}"')
        lines += [*guess.lines, ""]
    lines += ["[[require]]", 'model = "k-anonymity"', "k = 5  # each person hides among at least this many", ""]
    for guess in guesses:
        if guess.role is Role.SENSITIVE:
            lines += [
                "[[require]]",
                'model = "l-diversity"',
                f"sensitive = {json.dumps(guess.name, ensure_ascii=False)}",
                "l = 2",
                'kind = "distinct"  # distinct | entropy | recursive | frequency',
                "",
            ]
    return "\n".join(lines)
