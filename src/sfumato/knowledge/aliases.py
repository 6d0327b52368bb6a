"""Other spellings of terms: `aliases.csv`, a table of the columns `spelling` and `term`.

A label that has a term under one of its names has it under all of them, so a record is linked to the same labels
however it spells a term.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sfumato.data.files import Source, read_columns, read_digested
from sfumato.disk import atomic_file
from sfumato.errors import DataError

SPELLING, TERM = "spelling", "term"


@dataclass(frozen=True, eq=False)
class Aliases:
    """The term that each other spelling stands for."""

    term_of: Mapping[str, str]
    sha256: str = ""

    @classmethod
    def read(cls, path: Path) -> Aliases:
        """Read a list of spellings; each stands for one term, which is not itself another spelling."""
        source = Source(path=path).as_spelled
        if not {SPELLING, TERM} <= set(read_columns(source)):
            raise DataError(
                f"{path} was to list other spellings, but lacks the column {SPELLING!r} or {TERM!r}.\n"
                "Write a CSV file with these two: how a term is spelled, and the term that it stands for."
            )
        table, sha256 = read_digested(source)
        pairs = zip(table.column(SPELLING).to_pylist(), table.column(TERM).to_pylist(), strict=True)
        said = [(str(spelling or "").strip(), str(term or "").strip()) for spelling, term in pairs]
        term_of = {spelling: term for spelling, term in said if spelling and term and spelling != term}
        twice = sum(term_of.get(spelling, term) != term for spelling, term in said)
        chained = sum(term in term_of for term in term_of.values())
        if twice or chained:
            raise DataError(
                f"{path} was to say what each spelling stands for, but {twice:,} spellings stand for several terms, "
                f"and {chained:,} terms are themselves other spellings.\nLet each spelling lead to one term, at once."
            )
        return cls(term_of, sha256)

    def term(self, spelled: str) -> str:
        """Return the term that a spelling stands for."""
        return self.term_of.get(spelled, spelled)

    @cached_property
    def _spellings(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for spelling, term in self.term_of.items():
            found.setdefault(term, []).append(spelling)
        return found

    def all_names(self, terms: Iterable[str]) -> frozenset[str]:
        """Return terms under all their names.

        >>> sorted(Aliases({"Fever": "fever"}).all_names(["fever", "cough"]))
        ['Fever', 'cough', 'fever']
        """
        return frozenset(name for term in terms for name in (term, *self._spellings.get(term, ())))

    def spread(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the count of each term under all its names."""
        return {name: count for term, count in counts.items() for name in (term, *self._spellings.get(term, ()))}


def aliases_text(term_of: Mapping[str, str]) -> str:
    """Return a list of spellings as CSV.

    >>> print(aliases_text({"Fever": "fever"}), end="")
    spelling,term
    Fever,fever
    """
    into = io.StringIO()
    writer = csv.writer(into, lineterminator="\n")
    writer.writerows([(SPELLING, TERM), *sorted(term_of.items())])
    return into.getvalue()


def keep_aliases(path: Path, more: Mapping[str, str]) -> None:
    """Add spellings to a list, which is made where there is none."""
    before = Aliases.read(path).term_of if path.is_file() else {}
    path.parent.mkdir(exist_ok=True)
    with atomic_file(path) as temporary:
        temporary.write_text(aliases_text({**before, **more}), encoding="utf-8")
