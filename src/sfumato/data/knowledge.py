"""Public knowledge: which terms (symptoms) go with which label (disease).

A label may have several rows, each a set of terms that belongs to it; an intruder links a record to a label when one of the
label's rows contains all terms of the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

UNLINKED = ("linked", "zero", "forbid")


@dataclass(frozen=True, eq=False, kw_only=True)
class Knowledge:
    """Rows of (label, set of terms). Labels, terms and rows are sorted, so the order of the source does not matter."""

    labels: tuple[str, ...]
    terms: tuple[str, ...]
    label_of_row: NDArray[np.int32]  # (rows,), ascending
    start: NDArray[np.int64]  # (rows + 1,)
    items: NDArray[np.int32]  # terms of row r are items[start[r]:start[r + 1]], ascending
    weight: NDArray[np.float64] | None = None  # (labels,), a given prior that sums to one; None: estimated from the data
    unlinked: str = "linked"  # what a record counts that no label explains: linked | zero | forbid

    @cached_property
    def term_of(self) -> dict[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.terms)}

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[tuple[str, Sequence[str]]],
        *,
        weight: Mapping[str, float] | None = None,
        unlinked: str = "linked",
    ) -> Knowledge:
        """Build the table from (label, terms) pairs; repeated terms and rows collapse.

        >>> table = Knowledge.from_rows([("flu", ["fever", "cough"]), ("cold", ["cough"])])
        >>> table.labels, table.terms, table.items.tolist()
        (('cold', 'flu'), ('cough', 'fever'), [0, 0, 1])
        """
        distinct = sorted({(label, tuple(sorted(set(terms)))) for label, terms in rows})
        if not distinct:
            raise DataError("The knowledge table is empty.\nIt needs rows of a label and its terms.")
        labels = tuple(sorted({label for label, _ in distinct}))
        terms = tuple(sorted({term for _, row in distinct for term in row}))
        if not terms:
            raise DataError(f"The knowledge table has {len(labels):,} labels but not one term.\nName the column of terms.")
        label_of, term_of = ({name: number for number, name in enumerate(names)} for names in (labels, terms))
        prior = None
        if weight is not None:
            absent = sum(label not in weight for label in labels)
            if absent:
                raise DataError(f"The prior misses {absent:,} of {len(labels):,} labels.\nGive each label a weight.")
            prior = np.array([weight[label] for label in labels], dtype=np.float64)
        size = [len(row) for _, row in distinct]
        return cls(
            labels=labels,
            terms=terms,
            label_of_row=np.array([label_of[label] for label, _ in distinct], dtype=np.int32),
            start=np.concatenate([[0], np.cumsum(size)]).astype(np.int64),
            items=np.array([term_of[term] for _, row in distinct for term in row], dtype=np.int32),
            weight=prior,
            unlinked=unlinked,
        )


@dataclass(frozen=True, eq=False)
class PublicInputs:
    """What everybody knows besides the release; audits may use it."""

    knowledge: Knowledge | None = None
    prior: NDArray[np.float64] | None = None  # (labels,) of the knowledge table: what an intruder believed before


NOTHING_PUBLIC = PublicInputs()
