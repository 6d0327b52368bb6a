"""Drafts a plan from data that runs as it is: kinds, likely roles, hierarchies to start from, each with its reason.

Every guess is marked as one and says what it costs if it is wrong. Where in doubt a column is protected or left out,
never published as it is; what nobody but the holder knows is a question at the top. Nothing here decides what is safe:
the holder does.
"""

from __future__ import annotations

import html
import json
import os
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.distinct import text_codes
from sfumato.data.encoding import encode_column
from sfumato.data.files import Source, how_read, read_table
from sfumato.data.files.source import ISO, POINT
from sfumato.data.files.stat import with_catalog_beside
from sfumato.data.files.text import UTF_8
from sfumato.data.hierarchy import ROOT
from sfumato.data.kinds import INFINITE, is_list, missing_markers
from sfumato.data.schema import DEFAULT_MISSING, ColumnSpec, Kind, Role
from sfumato.data.variants import JUDGED_ROLES
from sfumato.drafting.columns import Look, look_at
from sfumato.drafting.hierarchies import FLAT, hierarchy_lines, mask_lines
from sfumato.drafting.overview import overview
from sfumato.drafting.people import put_together
from sfumato.drafting.roles import FEW_VALUES, Danger, Guess, Question, guessed, tied, with_something_to_publish
from sfumato.drafting.words import is_birth
from sfumato.errors import DataError
from sfumato.plan import Plan
from sfumato.plan.json_schema import FILE
from sfumato.progress import SILENT, Progress, announce

PAIR_ROWS = 20_000  # rows that dependence between columns is looked for in
MANY_QUASI_IDENTIFIERS = 12  # beyond, little detail survives and searching labels takes long
TOO_MANY_QUASI_IDENTIFIERS = 60  # beyond, the draft says what will be lost
K = 5
MOST_COMMON = 0.4  # share of a value above which no mask brings a guess at it below one half
BIRTH_WEIGHT = 8  # what the detail of dates of birth counts beside other dates
NEARLY_ALL = 0.9  # share of the cells
T = 0.2
MANY_NUMBERS = 20  # different ones, beyond which near ones say nearly the same
MANY_COLUMNS = 4  # named in a question one by one
MANY_ALIKE = 8  # columns that become one pattern

_STATED = ("encoding", "header", "header_row", "decimal", "dates")  # by a draft, where they are not the usual ones


@dataclass(frozen=True, kw_only=True, repr=False)
class Draft:
    """A plan as text, and the guesses in it."""

    text: str
    guesses: tuple[Guess, ...]
    questions: tuple[str, ...]  # at the top of the plan, the most dangerous first
    warnings: tuple[str, ...]  # about the plan as a whole
    folder: Path = Path()  # that paths in it are relative to

    @property
    def plan(self) -> Plan:
        """The plan as it stands."""
        return Plan.from_dict(tomllib.loads(self.text), self.folder)

    def as_dict(self) -> dict[str, Any]:
        """Return the guesses, questions and warnings as plain data."""
        guesses = [
            {"name": g.name, "role": g.role.value, "kind": g.kind.value, "reason": g.reason, "warning": g.warning}
            for g in self.guesses
        ]
        return {"guesses": guesses, "questions": list(self.questions), "warnings": list(self.warnings)}

    def overview(self) -> list[tuple[str, str, str, str]]:
        """Return names, role, kind and reason; in wide tables, columns that are guessed alike share a line."""
        return overview(self.guesses)

    def __repr__(self) -> str:
        return f"<Draft: {len(self.guesses)} columns, {len(self.questions)} questions>"

    def _repr_html_(self) -> str:
        questions = "".join(f"<li>{html.escape(question)}</li>" for question in self.questions)
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{role}</td><td>{kind}</td><td>{html.escape(reason)}</td></tr>"
            for name, role, kind, reason in self.overview()
        )
        head = "<tr><th>column</th><th>role</th><th>kind</th><th>why (a guess)</th></tr>"
        asked = f"<p>Questions, the most dangerous first:</p><ul>{questions}</ul>" if questions else ""
        return f"<table>{head}{rows}</table>{asked}"


def draft(source: Source, folder: Path, progress: Progress = SILENT) -> Draft:
    """Return a plan for a source, in `folder`. All of the data is read: a draft that a late row breaks is no use."""
    announce(progress, ("read", "look"))
    given, source = source, with_catalog_beside(source)
    lines = _where(source, folder)
    if source.database is None:
        lines += _how_written(source)
    drafted = replace(draft_table(read_table(source, progress=progress), progress, lines), folder=folder)
    if source.catalog is None or given.catalog is not None:
        return drafted
    said = (
        f"Value labels are taken from {source.catalog.name}, which lies beside the table and has its name. Where it "
        "belongs to another table, correct catalog under [source], or delete that line."
    )
    return replace(drafted, warnings=(said, *drafted.warnings))


def _where(source: Source, folder: Path) -> list[str]:
    """Return the lines that say where a source is, as seen from a folder."""
    place = str(source.database) if source.file is None else _seen_from(folder, source.path)
    if source.database is None:
        catalog = [] if source.catalog is None else [f"catalog = {quoted(_seen_from(folder, source.catalog))}"]
        return [f"path = {quoted(place)}", *catalog]
    asked = {"database": place, "table": source.table, "query": source.query}
    return [f"{key} = {quoted(text)}" for key, text in asked.items() if text is not None]


def _seen_from(folder: Path, path: Path) -> str:
    place = Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    return os.fsencode(place).decode("utf-8", "replace")  # names that the locale cannot spell come in pieces


def _how_written(source: Source) -> list[str]:
    """Return how the source is written, as far as somebody said it or it is not the usual way."""
    usual = (UTF_8, True, POINT, ISO)
    return [
        f"{found.key} = {quoted(found.value) if isinstance(found.value, str) else str(found.value).lower()}"
        + ("" if getattr(source, found.key) is not None else f"  # found: {found.reason}")
        for found in how_read(source)
        if found.key != "catalog"  # which says where something is
        if getattr(source, found.key) is not None or (found.key in _STATED and found.value not in usual)
    ]


def draft_table(table: pa.Table, progress: Progress = SILENT, source: Sequence[str] = ()) -> Draft:
    """Return a plan for a table; `source` are the lines that say where it lies, if it does."""
    looks, codes_of, missing = _looked(table, progress)
    look_of = {look.name: look for look in looks}
    guesses = tied([guessed(look) for look in looks], codes_of)
    guesses, people = put_together(table, guesses, look_of, codes_of, missing)
    shown = f"{table.num_rows:,} rows"
    if people is None:
        guesses = with_something_to_publish(guesses, look_of)
    else:
        table, shown = people.table, f"{shown} of {people.table.num_rows:,} people"
        looks, codes_of, _ = _looked(table, progress, missing)
        looks = [replace(look, separator=look.separator or look_of[look.name].separator) for look in looks]
        look_of |= {look.name: look for look in looks}
        again = with_something_to_publish(tied([guessed(look) for look in looks], codes_of), look_of)
        guess_of = {guess.name: guess for guess in again}
        guesses = [guess_of.get(guess.name, guess) for guess in guesses]
    masked = _masked(guesses, look_of)
    guesses = [_with_keys(each, look_of[each.name], missing, masked=each.name in masked) for each in guesses]
    guesses = _with_births_first(guesses, look_of)
    writer = _Writer(guesses, look_of, table.num_rows, masked, missing)
    behind = people.lines() if people is not None else [""]
    respelled = _respelled(table, guesses, look_of, missing)
    if people is not None and people.respelled:
        respelled.insert(0, people.asked.person)
    if respelled:
        behind.insert(0, f"normalize = true  # values have several spellings in: {', '.join(map(quoted, respelled))}")
    text = writer.text(source, tuple(missing) or DEFAULT_MISSING, shown, behind)
    return Draft(text=text, guesses=tuple(guesses), questions=tuple(writer.questions), warnings=tuple(writer.warnings))


def _respelled(
    table: pa.Table, guesses: Sequence[Guess], look_of: dict[str, Look], missing: Sequence[str]
) -> list[str]:
    """Return the columns whose values must not be learnt and have several spellings: a run would refuse them."""
    found = []
    for guess in guesses:
        if guess.role in JUDGED_ROLES and guess.name in table.column_names:
            kind = guess.kind if guess.kind is Kind.SET else None
            separator = look_of[guess.name].separator or "|"
            spec = ColumnSpec(name=guess.name, role=guess.role, kind=kind, separator=separator)
            with suppress(DataError):  # what is wrong otherwise is not said here
                if encode_column(table.column(guess.name), spec, tuple(missing), normalize=True).spellings:
                    found.append(guess.name)
    return found


def _looked(
    table: pa.Table, progress: Progress, known: Sequence[str] = ()
) -> tuple[list[Look], dict[str, NDArray[np.int32]], list[str]]:
    """Return what columns look like, codes of some of their rows, and the cells that stand for missing values.

    known: cells of other columns that do.
    """
    rows = table.num_rows
    chosen = slice(None, None, max(1, rows // PAIR_ROWS))
    looks: list[Look] = []
    codes_of: dict[str, NDArray[np.int32]] = {}
    missing = list(known)
    stage = progress.stage("look", total=table.num_columns)
    for name in table.column_names:
        array = table.column(name)
        sets = is_list(array.type)
        try:
            codes, labels, gaps = text_codes(pc.list_flatten(array) if sets else array, ())
        except DataError:
            looks.append(Look(name=name, kind=Kind.CATEGORY, rows=rows, unreadable=str(array.type)))
            stage.advance()
            continue
        if sets:
            looks.append(Look.of_lists(name, rows, labels))
        else:
            markers = missing_markers(labels, array.type)
            if len(markers) == len(labels) and len(markers) + gaps > 1:  # a box that is ticked with what means nothing
                markers = [marker for marker in markers if not marker]
            missing += [marker for marker in markers if marker not in missing]
            looks.append(look_at(name, codes, labels, markers, array.type))
            codes_of[name] = codes[chosen]
        stage.advance()
    stage.done()
    if missing and missing[0] in INFINITE:  # which a release would show for every missing cell
        missing.insert(0, "")
    taken = {*missing, ROOT}
    looks = [replace(look, lost=True) if look.labels and taken.issuperset(look.labels) else look for look in looks]
    return looks, codes_of, missing


def _masked(guesses: Sequence[Guess], look_of: dict[str, Look]) -> tuple[str, ...]:
    """Return the sensitive columns that may give one another away, if there are several that masks can protect."""
    secrets = [each.name for each in guesses if each.role is Role.SENSITIVE]
    able = tuple(name for name in secrets if look_of[name].largest <= MOST_COMMON and not _is_yes_or_no(look_of[name]))
    return able if len(able) > 1 else ()


def _with_keys(guess: Guess, look: Look, missing: Sequence[str], *, masked: bool) -> Guess:
    if guess.role is Role.ITEMS:
        separator = (f"separator = {quoted(look.separator)}",) if look.separator else ()
        return replace(guess, lines=(*separator, "sensitive_items = { share = 1 }  # all of them; or name the secrets"))
    labels = [label for label in look.labels if label not in missing]
    if masked:
        kind, line = mask_lines(look, labels)
        return replace(guess, kind=kind, lines=(line,))
    if guess.role is not Role.QUASI_IDENTIFIER:
        return guess
    kind, line, note = hierarchy_lines(look, labels)
    reason = f"{guess.reason}; {note}" if note else guess.reason
    return replace(guess, kind=kind, lines=(line,), reason=reason)


def _with_births_first(guesses: list[Guess], look_of: dict[str, Look]) -> list[Guess]:
    """Let dates of birth count more than others: a stay needs its month less than a person needs an age."""
    dated = [each for each in guesses if each.role is Role.QUASI_IDENTIFIER and look_of[each.name].dated]
    births = {each.name for each in dated if is_birth(each.name)}
    if len(births) == len(dated):
        return guesses
    line = f"weight = {BIRTH_WEIGHT}  # ages matter more than other dates: its detail counts so many times as much"
    return [replace(each, lines=(*each.lines, line)) if each.name in births else each for each in guesses]


def _unusual(guesses: Sequence[Guess], look_of: dict[str, Look], missing: Sequence[str]) -> Iterator[str]:
    """Yield warnings about values that no range or group holds."""
    if infinite := [marker for marker in INFINITE if marker in missing]:
        shown = " and ".join(infinite)
        yield f"Some columns have infinite numbers ({shown}): they are listed under [source] missing."
    lost = [each.name for each in guesses if FLAT in each.lines and look_of[each.name].unique >= NEARLY_ALL]
    lost = [name for name in lost if look_of[name].n_known > FEW_VALUES]
    if lost:
        yield (
            f"Nearly all cells differ in {named(lost)}, and nothing says which belong together: they become *. "
            "Give such a column a hierarchy, or another role."
        )


class _Writer:
    """Writes the plan, and notes what deserves a warning on the way."""

    def __init__(
        self,
        guesses: Sequence[Guess],
        look_of: dict[str, Look],
        rows: int,
        masked: tuple[str, ...],
        missing: Sequence[str],
    ) -> None:
        self.guesses = guesses
        self.look_of = look_of
        self.rows = rows
        self.masked = masked
        self.known = [guess.name for guess in guesses if guess.role is Role.QUASI_IDENTIFIER]
        self.questions = _together(self._questions())
        self.warnings: list[str] = list(_unusual(guesses, look_of, missing))

    def text(self, source: Sequence[str], missing: tuple[str, ...], shown: str, people: Sequence[str]) -> str:
        lines = [
            f"#:schema ./{FILE}",
            f"# A first draft, made by `sfumato init` from {shown}. Every role is a guess:",
            "# read each line, then",
            "#   sfumato explain PLAN                what will be done",
            "#   sfumato anonymize PLAN --out DIR    do it",
            "",
            *self._draft(),
            "[source]",
            *source,
        ]
        lines += [f"missing = [{', '.join(map(quoted, missing))}]  # cells that are missing, as found", *people]
        for name, guess in _tables(self.guesses):
            lines += [
                f"[columns.{quoted(name)}]",
                f'role = "{guess.role.value}"  # guess: {guess.reason}',
                f"# if wrong: {guess.warning}",
                f'kind = "{guess.kind.value}"',
                *guess.lines,
                "",
            ]
        lines += self._k_anonymity()
        lines += self._multi_diversity()
        for guess in self.guesses:
            if guess.role is Role.SENSITIVE and guess.name not in self.masked:
                lines += self._secret(guess)
            elif guess.role is Role.ITEMS:
                lines += self._uncertainty(guess)
        return "\n".join(lines)

    def _draft(self) -> list[str]:
        """Return what must be answered before the plan is more than a draft."""
        if not self.questions:
            return []
        lines = ["[draft]", "# Answer each question below, in the column's own lines, then delete it here."]
        return [*lines, "questions = [", *(f"    {quoted(question)}," for question in self.questions), "]", ""]

    def _questions(self) -> Iterator[tuple[Question, str]]:
        """Yield questions, each with the column that it is about."""
        for guess in self.guesses:
            look = self.look_of[guess.name]
            if guess.question is not None:
                yield guess.question, guess.name
            if look.odd_codes:
                text = f"do {', '.join(look.odd_codes)} stand for no answer? Then list them under [source] missing."
                yield Question(Danger.COARSE, text), guess.name

    def _k_anonymity(self) -> list[str]:
        if not self.known:
            if any(guess.role is Role.SENSITIVE for guess in self.guesses):
                self.warnings.append(
                    "No column looks like one that others know about a person, so all rows form one class. Make such "
                    "columns quasi-identifiers."
                )
            return []
        k = K if self.rows >= 2 * K else 2
        lines = [f"k = {k}  # each person hides among at least so many"]
        if self.rows < 10 * K:
            self.warnings.append(f"The table has {self.rows:,} rows only: there is little to hide among.")
        if len(self.known) > MANY_QUASI_IDENTIFIERS:
            lines.append('anonymizer = "mondrian"  # quick where there are many quasi-identifiers')
            self.warnings.append(
                f"{len(self.known)} columns were taken for quasi-identifiers, and little detail survives so many"
                + (f". {self._lost(k)} Make" if len(self.known) > TOO_MANY_QUASI_IDENTIFIERS else ": make")
                + " columns that no attacker can know about a person sensitive or other."
            )
        return _required('"k-anonymity"', *lines)

    def _lost(self, k: int) -> str:
        """Return how many of very many quasi-identifiers will show nothing, in each row."""
        groups = max(self.rows // k, 1)
        cuts = groups.bit_length() - 1  # halves of halves, each by one column
        lost = max(len(self.known) - cuts, 0)
        return (
            f"With k = {k}, {self.rows:,} rows form at most {groups:,} groups, and {cuts} halvings make as many. "
            f"So about {lost} of the {len(self.known)} columns will show * or nearly their whole range, "
            "unless they depend on one another."
        )

    def _secret(self, guess: Guess) -> list[str]:
        """Return the requirement that a class tells little of a secret."""
        look = self.look_of[guess.name]
        asked = f"sensitive = {quoted(guess.name)}"
        if _varies(look):
            told = 'distance = "ordered"  # near numbers count as nearly the same'
            return _required('"t-closeness"', asked, f"t = {T}  # how far a group may be from the whole table", told)
        if _is_yes_or_no(look):
            return _required('"t-closeness"', asked, f"t = {T}  # a share may differ so much from the whole table's")
        kinds = 'kind = "distinct"  # distinct | entropy | recursive | frequency'
        return _required('"l-diversity"', asked, "l = 2  # different values in each group", kinds)

    def _multi_diversity(self) -> list[str]:
        """Return the requirement that no secret gives another away."""
        if not self.masked:
            return []
        items = any(guess.role is Role.ITEMS for guess in self.guesses)
        told = [
            "# Items may tell masked values: the run then warns and counts them. To refuse such a release, write",
            '# "refuse"; to protect the values, drop one of the columns (role = "identifier").',
            "[anonymizers.masking]",
            'dependence = "allow"',
            "",
        ]
        required = _required(
            '"multi-diversity"  # masks values where one secret would tell another',
            f"sensitive = [{', '.join(map(quoted, self.masked))}]",
            "alpha_sa = 0.5  # highest chance of a value for who knows the other secrets",
            "alpha_qi = 0.5  # the same for who knows the quasi-identifiers only",
        )
        return [*required, *(told if items else [])]

    def _uncertainty(self, guess: Guess) -> list[str]:
        return _required(
            '"rho-uncertainty"',
            f"column = {quoted(guess.name)}",
            "rho = 0.7  # highest chance of a secret item for who knows others of the record",
            *(['within = "classes"  # and the quasi-identifiers besides'] if self.known else []),
        )


def _is_yes_or_no(look: Look) -> bool:
    """Whether cells are one of two values, or missing: two different ones in a group would tell nearly nothing."""
    return look.n_known <= 2


def _varies(look: Look) -> bool:
    """Whether cells are numbers of which so many differ that those of a group always do."""
    return look.kind is Kind.NUMBER and look.n_known > MANY_NUMBERS


def _required(model: str, *lines: str) -> list[str]:
    return ["[[require]]", f"model = {model}", *lines, ""]


def _tables(guesses: Sequence[Guess]) -> Iterator[tuple[str, Guess]]:
    """Yield each column with its guess; many that are numbered through and guessed alike are one pattern."""
    alike: dict[tuple[str, Guess], list[Guess]] = {}
    for guess in guesses:
        stem = guess.name.rstrip("0123456789")
        if stem and stem != guess.name and "*" not in stem and "?" not in stem and "[" not in stem:
            alike.setdefault((stem, replace(guess, name=stem)), []).append(guess)
    pattern_of: dict[str, str] = {}
    for (stem, _), members in alike.items():
        inside = [guess.name for guess in guesses if guess.name.startswith(stem)]
        if len(members) >= MANY_ALIKE and len(inside) == len(members):
            pattern_of |= dict.fromkeys(inside, f"{stem}*")
    told = set()
    for guess in guesses:
        pattern = pattern_of.get(guess.name)
        if pattern is None:
            yield guess.name, guess
        elif pattern not in told:
            told.add(pattern)
            yield pattern, guess


def named(columns: Sequence[str]) -> str:
    """Return some names of columns, and how many more there are.

    >>> named(list("abcdef"))
    'a, b, c, d and 2 more'
    """
    more = f" and {len(columns) - MANY_COLUMNS} more" if len(columns) > MANY_COLUMNS else ""
    return ", ".join(columns[:MANY_COLUMNS]) + more


def _together(questions: Iterator[tuple[Question, str]]) -> list[str]:
    """Return each question once with the columns that it is about, the most dangerous first."""
    columns_of: dict[Question, list[str]] = {}
    for question, name in questions:
        columns_of.setdefault(question, []).append(name)
    found = []
    for question in sorted(columns_of, key=lambda question: -question.danger):
        found.append(f"{named(columns_of[question])}: {question.text}")
    return found


def quoted(text: str) -> str:
    r"""Return a text as TOML writes it.

    >>> print(quoted('a "b"'))
    "a \"b\""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
