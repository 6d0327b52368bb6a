"""Public knowledge: which terms (symptoms) go with which label (disease).

A label may have several rows, each a set of terms that belongs to it; an intruder links a record to a label when one of
the label's rows contains all terms of the record. All linked labels are equally likely, unless the table says how often
who has a label has each term: then a label is as likely as the product of these for the terms of the record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.base_rates import BaseRates
from sfumato.data.dataset import Dataset, starts_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.errors import DataError, PolicyError, did_you_mean

ASK = "ask"
UNLINKED = (ASK, "linked", "zero", "forbid")
FORBIDDING = (ASK, "forbid")  # by which a group fails that has a record which no label explains
SUM_TOLERANCE = 1e-9  # a prior sums to one up to this


@dataclass(frozen=True, eq=False, kw_only=True)
class Knowledge:
    """Rows of (label, set of terms). Labels, terms and rows are sorted, so the order of the source does not matter.

    `unlinked` says what becomes of a record that no label explains:

    | unlinked | a group's belief is the mean over |
    | --- | --- |
    | `ask` | as `forbid`; a run with more than a few such records ends until one of the others is chosen on purpose |
    | `linked` | its records that some label explains: the others tell nothing |
    | `zero` | all its records: one that no label explains counts as belief in nothing, and dilutes the rest |
    | `forbid` | as `linked`, and a group with a record that no label explains fails |
    """

    labels: tuple[str, ...]
    terms: tuple[str, ...]
    label_of_row: NDArray[np.int32]  # (rows,), ascending
    start: NDArray[np.int64]  # (rows + 1,)
    items: NDArray[np.int32]  # terms of row r are items[start[r]:start[r + 1]], ascending
    # (labels,), a given prior that sums to one; None: estimated from the data
    weight: NDArray[np.float64] | None = None
    # As `items`: how often who has the label has the term; None: not told.
    likelihood: tuple[Fraction, ...] | None = None
    hierarchy: Hierarchy | None = None  # of the labels
    misses: int = 0  # terms of a record, 0 or 1, that a label may lack where no label has them all
    unlinked: str = ASK  # what a record counts that no label explains: ask | linked | zero | forbid

    def __post_init__(self) -> None:
        if self.unlinked not in UNLINKED:
            raise PolicyError(
                f"unlinked of the knowledge table was given as {self.unlinked!r}, which is not known."
                f"{did_you_mean(str(self.unlinked), UNLINKED)}\nChoose one of: {', '.join(UNLINKED)}."
            )
        absent = [] if self.hierarchy is None else [each for each in self.labels if each not in self.hierarchy.leaves]
        if absent:
            raise DataError(
                f"The hierarchy of labels misses {len(absent):,} of {len(self.labels):,} labels of the knowledge "
                "table.\nGive each label a line."
            )
        if self.misses not in (0, 1):
            raise PolicyError(
                f"misses of the knowledge table was given as {self.misses!r}.\nGive 0, or 1 for an intruder who takes "
                "labels that lack one of a record's terms."
            )
        if self.weight is not None:
            object.__setattr__(self, "weight", _checked_weight(self.weight, len(self.labels)))

    @property
    def forbids(self) -> bool:
        """Whether a group fails that has a record which no label explains."""
        return self.unlinked in FORBIDDING

    @property
    def plain(self) -> bool:
        """Whether labels have all terms of a record that they explain, and are equally likely."""
        return self.likelihood is None and not self.misses

    @property
    def n_labels(self) -> int:
        """How many different labels there are."""
        return len(self.labels)

    @cached_property
    def term_of(self) -> dict[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.terms)}

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[tuple[str, Iterable[str]]],
        *,
        weight: Mapping[str, float] | None = None,
        likelihood: Mapping[tuple[str, str], Fraction] | None = None,
        hierarchy: Hierarchy | None = None,
        misses: int = 0,
        unlinked: str = ASK,
    ) -> Knowledge:
        """Build the table from (label, terms) pairs; repeated terms and rows collapse.

        `weight` is a prior, by label; `likelihood` says by (label, term) how often who has the label has the term.

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
            raise DataError(
                f"The knowledge table has {len(labels):,} labels but not one term.\nName the column of terms."
            )
        label_of, term_of = ({name: number for number, name in enumerate(names)} for names in (labels, terms))
        pairs = [(label, term) for label, row in distinct for term in row]
        return cls(
            labels=labels,
            terms=terms,
            label_of_row=np.array([label_of[label] for label, _ in distinct], dtype=np.int32),
            start=starts_of([len(row) for _, row in distinct]),
            items=np.array([term_of[term] for _, term in pairs], dtype=np.int32),
            weight=None if weight is None else _weight_of(labels, weight),
            likelihood=None if likelihood is None else _likelihood_of(pairs, likelihood, len(distinct) - len(labels)),
            hierarchy=hierarchy,
            misses=misses,
            unlinked=unlinked,
        )

    @cached_property
    def levels(self) -> NDArray[np.int32] | None:
        """The node of each label at each level of the hierarchy below the top, shape (height, labels); None without."""
        if self.hierarchy is None:
            return None
        level, parent, height = self.hierarchy.level, self.hierarchy.parent, self.hierarchy.height
        found = np.zeros((max(height, 1), self.n_labels), dtype=np.int64)
        for place, label in enumerate(self.labels):
            node = self.hierarchy.node_of[label]
            for at in range(height):
                while parent[node] >= 0 and level[parent[node]] <= at:
                    node = parent[node]
                found[at, place] = node
        return np.stack([np.unique(row, return_inverse=True)[1] for row in found]).astype(np.int32)

    def as_dict(self) -> dict[str, Any]:
        """Return the table as plain data."""
        rows = [
            [self.labels[label], [self.terms[term] for term in self.items[first:last].tolist()]]
            for label, first, last in zip(self.label_of_row, self.start[:-1], self.start[1:], strict=True)
        ]
        weight = None if self.weight is None else dict(zip(self.labels, self.weight.tolist(), strict=True))
        shown: dict[str, Any] = {"rows": rows, "weight": weight, "unlinked": self.unlinked}
        if self.hierarchy is not None:
            shown["hierarchy"] = [list(path) for path in self.hierarchy.paths()]
        if self.misses:
            shown["misses"] = self.misses
        if self.likelihood is not None:
            each = iter(map(str, self.likelihood))
            shown["likelihood"] = [[next(each) for _ in terms] for _, terms in rows]
        return shown

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Knowledge:
        """Return a table that was written as plain data.

        >>> table = Knowledge.from_rows([("flu", ["fever"]), ("cold", ["cough"])], weight={"flu": 0.25, "cold": 0.75})
        >>> Knowledge.from_dict(table.as_dict()).as_dict() == table.as_dict()
        True
        """
        rows = [(str(label), [str(term) for term in terms]) for label, terms in content["rows"]]
        likelihood, paths = None, content.get("hierarchy")
        if (given := content.get("likelihood")) is not None:
            likelihood = {
                (label, term): Fraction(each)
                for (label, terms), own in zip(rows, given, strict=True)
                for term, each in zip(terms, own, strict=True)
            }
        return cls.from_rows(
            rows,
            weight=content["weight"],
            likelihood=likelihood,
            hierarchy=None if paths is None else Hierarchy.from_paths([tuple(map(str, path)) for path in paths]),
            misses=content.get("misses", 0),
            unlinked=content["unlinked"],
        )


def _weight_of(labels: tuple[str, ...], weight: Mapping[str, float]) -> NDArray[np.float64]:
    if absent := sum(label not in weight for label in labels):
        raise DataError(f"The prior misses {absent:,} of {len(labels):,} labels.\nGive each label a weight.")
    if beyond := len(weight) - len(labels):
        raise DataError(
            f"The prior gives weight to {beyond:,} labels that the knowledge table of {len(labels):,} does not have.\n"
            "Leave them out, and let the weights of the others sum to one."
        )
    return np.array([weight[label] for label in labels], dtype=np.float64)


def _likelihood_of(
    pairs: Sequence[tuple[str, str]], likelihood: Mapping[tuple[str, str], Fraction], further_rows: int
) -> tuple[Fraction, ...] | None:
    """Return how often each pair of a label and a term goes together, None where it is the same for all."""
    if further_rows:
        raise DataError(
            f"The knowledge table weighs terms, but {further_rows:,} of its rows are second ones of a label.\n"
            "Give each label one row: one term a line, with its weight."
        )
    if wrong := sum(not 0 < likelihood.get(pair, Fraction(0)) <= 1 for pair in pairs):
        raise DataError(
            f"The knowledge table weighs terms, but {wrong:,} of {len(pairs):,} weights are missing, or not from 0 to "
            "1.\nA weight is the share of those with the label who have the term; leave out what never goes together."
        )
    same: dict[Fraction, Fraction] = {}
    found = tuple(same.setdefault(likelihood[pair], likelihood[pair]) for pair in pairs)
    return found if len(same) > 1 else None


def _checked_weight(weight: NDArray[np.float64], n_labels: int) -> NDArray[np.float64]:
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (n_labels,):
        raise DataError(
            f"The prior has {weight.size:,} weights, the knowledge table {n_labels:,} labels.\n"
            "Give each label a weight."
        )
    if wrong := int((~np.isfinite(weight) | (weight < 0)).sum()):
        raise DataError(
            f"The prior has {wrong:,} of {n_labels:,} weights that are negative or no number.\n"
            "A weight is a probability, from 0 to 1."
        )
    total = math.fsum(weight)
    if abs(total - 1) > SUM_TOLERANCE:
        raise DataError(
            f"The prior must sum to one, but the weights of the {n_labels:,} labels sum to {total:.12g}.\n"
            "Divide each weight by this sum if that is what they mean; nothing is rescaled here."
        )
    return weight


@dataclass(frozen=True, eq=False)
class PublicInputs:
    """What everybody knows besides the release; audits may use it.

    The prior sums to one, or to less when it was estimated with `unlinked = "zero"`.
    """

    knowledge: Knowledge | None = None
    prior: NDArray[np.float64] | None = None  # (labels,) of the knowledge table: what an intruder believed before
    base_rates: Mapping[str, BaseRates] = field(default_factory=dict)  # by column: how common its values are
    populations: Mapping[str, Dataset] = field(default_factory=dict)  # by file as the plan has it: quasi-identifiers

    def __post_init__(self) -> None:
        if self.prior is None:
            return
        if self.knowledge is None:
            raise DataError(
                "A prior was given without a knowledge table, so its labels are not known.\nGive the table as well."
            )
        prior = np.asarray(self.prior, dtype=np.float64)
        if prior.shape != (self.knowledge.n_labels,):
            raise DataError(
                f"The prior has {prior.size:,} weights, the knowledge table {self.knowledge.n_labels:,} labels.\n"
                "Give each label a weight, in the order of the table's labels."
            )
        if not np.isfinite(prior).all() or (prior < 0).any() or math.fsum(prior) > 1 + SUM_TOLERANCE:
            raise DataError(
                "The prior is no distribution: a weight is negative or no number, or all together exceed one.\n"
                "Estimate it from the original, or give weights that sum to one."
            )
        object.__setattr__(self, "prior", prior)

    @property
    def belief(self) -> NDArray[np.float64] | None:
        """What an intruder believed before the release, shape (labels,): the prior, else the weights of the table."""
        if self.prior is not None or self.knowledge is None:
            return self.prior
        return self.knowledge.weight


NOTHING_PUBLIC = PublicInputs()
