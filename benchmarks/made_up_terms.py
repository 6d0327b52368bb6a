"""Made-up knowledge tables and records for experiments with quasi-sensitive terms, as in Shi, Xiong and Fung (2010).

A knowledge table says which terms go with each label. A record draws a label and some of its terms, so that an intruder
can look it up. Everything follows from a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.knowledge import Knowledge
from sfumato.errors import PolicyError

TOPICS = 10
SHARE_OF_TOPIC = 0.8  # of a label's terms, in a correlated table


@dataclass(frozen=True, eq=False)
class TermRecords:
    """Records as sets of terms, numbered as in the knowledge table: record i has items[start[i]:start[i + 1]]."""

    start: NDArray[np.int64]  # (n + 1,)
    items: NDArray[np.int32]
    label: NDArray[np.int32]  # (n,) which label each record was drawn from

    def cells(self, terms: Sequence[str], separator: str = "|") -> list[str]:
        """Return each record as the text of a set cell."""
        names = np.array(terms, dtype=object)[self.items]
        return [separator.join(names[low:high]) for low, high in zip(self.start[:-1], self.start[1:], strict=True)]


def knowledge_table(
    labels: int = 3_000,
    terms: int = 600,
    per_label: float = 20,
    spread: float = 100,
    correlated: bool = False,
    seed: int = 1,
) -> Knowledge:
    """Return a table of labels with Poisson(per_label) terms each; terms have weights of Poisson(spread).

    When correlated, labels and terms belong to ten topics, and four of five terms come from the label's own.

    >>> table = knowledge_table(labels=40, terms=30, per_label=5)
    >>> len(table.labels), len(table.terms)
    (40, 30)
    """
    rng = np.random.default_rng(seed)
    weight = np.maximum(rng.poisson(spread, terms), 1).astype(np.float64)
    size = np.clip(rng.poisson(per_label, labels), 1, terms)
    width = len(str(max(labels, terms) - 1))
    names = np.array([f"term {number:0{width}d}" for number in range(terms)])
    rows = []
    for label in range(labels):
        if correlated:
            topic = np.arange(terms) % TOPICS == label % TOPICS
            own = min(int(rng.binomial(size[label], SHARE_OF_TOPIC)), int(topic.sum()))
            other = min(int(size[label]) - own, int((~topic).sum()))
            chosen = np.concatenate([_draw(rng, weight * topic, own), _draw(rng, weight * ~topic, other)])
        else:
            chosen = _draw(rng, weight, int(size[label]))
        rows.append((f"label {label:0{width}d}", names[chosen].tolist()))
    return Knowledge.from_rows(rows)


def term_records(
    knowledge: Knowledge,
    rows: int,
    terms: int = 9,
    zipf: float = 0.0,
    noise: float = 0.0,
    seed: int = 2,
) -> TermRecords:
    """Return records with so many terms of one label each, or all of its terms if it has fewer.

    zipf: labels are drawn with weights rank**-zipf, 0 for all alike. noise: probability that a term is replaced by any
    other; the record may then be linked to no label at all.

    >>> table = knowledge_table(labels=40, terms=30, per_label=5)
    >>> records = term_records(table, 100, terms=3)
    >>> records.start[-1], bool((records.label < 40).all())
    (np.int64(276), True)
    """
    if not 0 <= noise <= 1 or terms < 0 or zipf < 0:
        raise PolicyError(
            f"Records were asked for with terms={terms}, zipf={zipf}, noise={noise}.\n"
            "Terms and zipf are 0 or more, noise is from 0 to 1."
        )
    rng = np.random.default_rng(seed)
    n_labels, n_terms = len(knowledge.labels), len(knowledge.terms)
    first_row = np.searchsorted(knowledge.label_of_row, np.arange(n_labels))
    weight = (1.0 + np.arange(n_labels)) ** -zipf
    label = rng.choice(rng.permutation(n_labels), rows, p=weight / weight.sum()).astype(np.int32)
    begin, size = knowledge.start[first_row[label]], np.diff(knowledge.start)[first_row[label]]
    most = int(size.max(initial=0))
    keys = rng.random((rows, most))
    keys[np.arange(most) >= size[:, None]] = 2.0
    rank = np.argsort(keys, axis=1, kind="stable")[:, :terms]
    real = np.arange(rank.shape[1]) < size[:, None]
    chosen = np.where(real, knowledge.items[np.minimum(begin[:, None] + rank, knowledge.items.size - 1)], -1)
    if noise:
        swap = real & (rng.random(chosen.shape) < noise)
        chosen = np.where(swap, rng.integers(n_terms, size=chosen.shape), chosen)
    chosen = np.sort(chosen, axis=1)
    fresh = chosen >= 0
    fresh[:, 1:] &= chosen[:, 1:] != chosen[:, :-1]
    start = np.concatenate([[0], np.cumsum(fresh.sum(axis=1))]).astype(np.int64)
    return TermRecords(start=start, items=chosen[fresh].astype(np.int32), label=label)


def with_terms(table: pa.Table, knowledge: Knowledge, column: str = "terms", **options: Any) -> pa.Table:
    """Return a table with one more column: for each row the terms of a record, as a list; options of `term_records`.

    >>> people = pa.table({"age": [31, 45]})
    >>> joined = with_terms(people, knowledge_table(labels=40, terms=30, per_label=5), terms=2)
    >>> joined.column_names, [len(terms) for terms in joined.column("terms").to_pylist()]
    (['age', 'terms'], [2, 2])
    """
    drawn = term_records(knowledge, table.num_rows, **options)
    names = pa.array(list(knowledge.terms)).take(pa.array(drawn.items))
    return table.append_column(column, pa.LargeListArray.from_arrays(pa.array(drawn.start), names))


def _draw(rng: np.random.Generator, weight: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Draw different numbers with weights, in proportion to what is left."""
    positive = np.flatnonzero(weight)
    keys = rng.exponential(size=positive.size) / weight[positive]
    return positive[np.argsort(keys, kind="stable")[:count]]
