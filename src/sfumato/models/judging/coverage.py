"""How far a knowledge table explains a column of terms: unknown terms, their nearest known ones, unexplained records.

A term that the table does not know keeps its record from every label, for a judge, but not for somebody who reads it.
So spelling is looked at before anything is made. Messages name known terms and counts: how a term is spelled in the
data may be a person's secret, and only the holder's private page shows it.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.data.dataset import CodedSets
from sfumato.data.knowledge import ASK, Knowledge
from sfumato.errors import DataError
from sfumato.models.judging.beliefs import beliefs
from sfumato.models.judging.links import Index, Terms
from sfumato.models.judging.weights import Integers, tally

# Up to here, records that no label explains cost less than a usual promise does (a closeness of 0.4 in groups of five
# takes some 7 % of all terms, docs/concepts/quasi-sensitive.md); beyond, spelling decides what is published.
ASKS_ABOVE = 0.05  # share of records
SHOWN = 5  # known terms in a message
KEPT = 50  # unknown terms on the holder's page
LETTERS = 4  # shorter words are all near each other


@dataclass(frozen=True)
class UnknownTerm:
    """A term that the knowledge table does not have."""

    term: str
    records: int
    nearest: str | None  # known term
    near: bool  # whether only case, blanks, signs or one letter tell them apart


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """What a knowledge table knows of a column, or of some read together."""

    column: str
    unlinked: str  # what the plan says becomes of records that no label explains
    records: int
    unexplained: int  # records that no label explains
    unknown_in: int  # records with a term that the table does not know
    terms: int  # that occur
    unknown: tuple[UnknownTerm, ...]  # the most frequent first
    spelled_twice: int  # terms of the table itself that another one is spelled like, but for case, blanks and signs

    @property
    def asks(self) -> bool:
        """Whether somebody has to decide what becomes of the unexplained records."""
        return self.unlinked == ASK and self.unexplained > ASKS_ABOVE * self.records

    def sentences(self) -> Iterator[str]:
        """Yield what whoever runs a plan should know: names of columns, counts and known terms."""
        if self.unknown:
            yield (
                f"{len(self.unknown):,} of {self.terms:,} terms in column {self.column!r} are not in the knowledge "
                f"table; {_records(self.unknown_in, self.records)} have one.{self._nearest()}"
            )
        if self.unexplained:
            yield (
                f"No label of the knowledge table explains {_records(self.unexplained, self.records)} of column "
                f"{self.column!r}: {_FATES[self.unlinked]}."
            )
        if self.spelled_twice:
            yield (
                f"The knowledge table spells {self.spelled_twice:,} of its own terms in several ways, which differ in "
                "case, blanks or signs only. Each way counts as another term."
            )

    def refuse_undecided(self) -> None:
        """Raise when so many records are unexplained that somebody has to say what becomes of them."""
        if self.asks:
            found = "\n".join(self.sentences())
            raise DataError(
                f"Column {self.column!r} was to be judged by the knowledge table, which explains too little of it: "
                f"more than {ASKS_ABOVE:.0%} of the records match no label.\n{found}\n"
                "Spell terms as the table does, or decide what becomes of such records, under [knowledge]: "
                'unlinked = "forbid" withholds terms until a label explains the rest, "linked" and "zero" publish '
                "these records as they are."
            )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, for the holder alone: it shows how terms are spelled."""
        return {
            "column": self.column,
            "unlinked": self.unlinked,
            "records": self.records,
            "unexplained": self.unexplained,
            "unknown_in": self.unknown_in,
            "terms": self.terms,
            "unknown_terms": len(self.unknown),
            "near": sum(each.near for each in self.unknown),
            "spelled_twice": self.spelled_twice,
            "unknown": [asdict(each) for each in self.unknown[:KEPT]],
        }

    def _nearest(self) -> str:
        near = [each.nearest for each in self.unknown if each.near]
        known = list(dict.fromkeys(each.nearest for each in self.unknown if each.nearest is not None))
        if not known:
            return " None is spelled like a known one."
        shown = ", ".join(map(repr, known[:SHOWN])) + (", ..." if len(known) > SHOWN else "")
        spelled = f" {len(near):,} differ from a known term in case, blanks, signs or one letter only." if near else ""
        return f"{spelled} Nearest known terms: {shown}."


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The other way round: what of a knowledge table the records of a column lead to."""

    terms: int  # of the table
    terms_seen: int  # of them: those that a record has
    labels: int
    labels_reached: int  # of them: those that some record with terms is linked to
    records: int
    pinned: int  # records that are linked to one label alone
    telling_terms: int  # terms that records have, and one label alone

    def sentences(self) -> Iterator[str]:
        """Yield what whoever chooses a table should know: counts."""
        yield (
            f"{self.terms_seen:,} of {self.terms:,} terms of the knowledge table occur in the data, and "
            f"{self.labels_reached:,} of {self.labels:,} labels explain some record."
        )
        yield (
            f"{_records(self.pinned, self.records)} lead to one label alone as they are; {self.telling_terms:,} of the "
            "terms that occur belong to one label only."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data: counts."""
        return asdict(self)


def reach(sets: CodedSets, knowledge: Knowledge) -> Reach:
    """Return what of a knowledge table a column of terms, or some read together, leads to."""
    index = Index(knowledge)
    terms = Terms(sets, index)
    rows = np.flatnonzero(terms.cost > 0)
    distinct, set_of = terms.distinct(rows)
    links = index.link(distinct)
    seen = {
        knowledge.term_of[label] for label in np.array(sets.labels)[np.unique(sets.items)] if label in knowledge.term_of
    }
    row_of = np.repeat(np.arange(knowledge.label_of_row.size), np.diff(knowledge.start))
    pairs = np.unique(np.stack([knowledge.items, knowledge.label_of_row[row_of]]), axis=1)
    labels_of_term = np.bincount(pairs[0], minlength=len(knowledge.terms))
    return Reach(
        terms=len(knowledge.terms),
        terms_seen=len(seen),
        labels=knowledge.n_labels,
        labels_reached=int(np.unique(links.label).size),
        records=sets.start.size - 1,
        pinned=int((links.size[set_of] == 1).sum()),
        telling_terms=int((labels_of_term[sorted(seen)] == 1).sum()) if seen else 0,
    )


_FATES = {
    ASK: "their terms are withheld until some label explains the rest",
    "forbid": "their terms are withheld until some label explains the rest, as the plan says",
    "linked": "as the plan says, nothing is taken to follow from them, and their terms are published",
    "zero": "as the plan says, they count as belief in nothing, and their terms are published",
}


def _records(some: int, all_: int) -> str:
    return f"{some:,} of {all_:,} records ({some / max(all_, 1):.1%})"


def coverage(sets: CodedSets, knowledge: Knowledge, weights: Integers | None = None) -> Coverage:
    """Return what a knowledge table knows of a column of terms; rows with weights, (n,), stand for as many records.

    >>> from sfumato.data.schema import Role
    >>> table = Knowledge.from_rows([("flu", ["Fever", "Cough"]), ("cold", ["Cough"])])
    >>> terms = CodedSets(name="symptoms", role=Role.QUASI_SENSITIVE, labels=("Cough", "fever"),
    ...     items=np.array([0, 0, 1], np.int32), start=np.array([0, 1, 3]))
    >>> found = coverage(terms, table)
    >>> found.unexplained, found.unknown
    (1, (UnknownTerm(term='fever', records=1, nearest='Fever', near=True),))
    """
    n_rows = sets.start.size - 1
    records = np.ones(n_rows, dtype=np.int64) if weights is None else weights
    row_of = np.repeat(np.arange(n_rows), np.diff(sets.start))
    count = tally(sets.items, len(sets.labels), None if weights is None else weights[row_of])
    strange = np.array([label not in knowledge.term_of for label in sets.labels], dtype=np.bool_)
    codes = np.flatnonzero(strange & (count > 0))
    often = sorted(codes.tolist(), key=lambda code: (-int(count[code]), sets.labels[code]))
    nearest = _Spelling(knowledge)
    whole = beliefs(np.zeros(n_rows, np.int32), 1, sets, Index(knowledge), weights=weights)
    explained = sum(int(found.linked.sum()) for found in whole)
    return Coverage(
        column=sets.name,
        unlinked=knowledge.unlinked,
        records=int(records.sum()),
        unexplained=int(records.sum()) - explained,
        unknown_in=int(records[np.unique(row_of[strange[sets.items]])].sum()),
        terms=int((count > 0).sum()),
        unknown=tuple(
            UnknownTerm(sets.labels[code], int(count[code]), *nearest.of(sets.labels[code], search=place < SHOWN))
            for place, code in enumerate(often)
        ),
        spelled_twice=nearest.spelled_twice,
    )


class _Spelling:
    """Finds the known term that another one is spelled like."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.folded = {_folded(term): term for term in reversed(knowledge.terms)}
        alike = [term for term in knowledge.terms if self.folded[_folded(term)] != term]
        # Names that the same rows have tell the same: aliases, no slips.
        self.spelled_twice = sum(
            not np.array_equal(_rows_with(term, knowledge), _rows_with(self.folded[_folded(term)], knowledge))
            for term in alike
        )
        self.shorter = {short: term for folded, term in self.folded.items() for short in _one_less(folded)}

    def of(self, term: str, *, search: bool) -> tuple[str | None, bool]:
        """Return the nearest known term and whether it is very near; `search` for one that is not."""
        folded = _folded(term)
        for way in (folded, *_one_less(folded)):
            found = self.folded.get(way) or self.shorter.get(way)
            if found is not None:
                return found, True
        close = difflib.get_close_matches(folded, self.folded, n=1) if search else []
        return (self.folded[close[0]], False) if close else (None, False)


def _rows_with(term: str, knowledge: Knowledge) -> Integers:
    """Return the rows of a table that have a term."""
    places = np.flatnonzero(knowledge.items == knowledge.term_of[term])
    return np.asarray(np.searchsorted(knowledge.start, places, side="right"), dtype=np.int64)


def _folded(term: str) -> str:
    """Return a term without what is often spelled in several ways: case, accents, blanks and signs.

    >>> _folded("Sore-Throat"), _folded("sore  throat"), _folded("Fièvre")
    ('sorethroat', 'sorethroat', 'fievre')
    """
    plain = unicodedata.normalize("NFKD", term).casefold()
    return "".join(letter for letter in plain if letter.isalnum()) or term


def _one_less(folded: str) -> Iterator[str]:
    """Yield the words that one letter less makes of a word; none of a short one, nor of a code, which ends in digits.

    Two words that share one of these differ by a letter changed, or by two letters swapped or nearly so.
    """
    if len(folded) > LETTERS and not folded[-1].isdigit():
        for place in range(len(folded)):
            yield folded[:place] + folded[place + 1 :]
