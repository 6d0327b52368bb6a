"""Which labels of a knowledge table a set of terms is linked to: those with a row that contains all its terms.

Everything here starts from released terms and the public table. It shares no code with the anonymizers, so a mistake
there shows here. Sizes: n rows of a release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets, starts_of
from sfumato.data.knowledge import Knowledge
from sfumato.models.judging.classes import distinct_runs
from sfumato.models.judging.weights import Integers

BATCH = 1 << 19  # links that are worked on at once, as far as sets can be told apart
DENSE = 1 << 28  # cells of a term-by-row table that is kept as bits (32 MB); beyond, rows are looked up in sorted lists


class Index:
    """A knowledge table, ready to be searched: its rows by term.

    Terms are numbered anew, the rarest first, so the first term of a sorted set has the shortest list.
    """

    def __init__(self, knowledge: Knowledge, *, dense: int = DENSE) -> None:
        self.knowledge = knowledge
        n_rows, n_terms = knowledge.label_of_row.size, len(knowledge.terms)
        frequency = np.bincount(knowledge.items, minlength=n_terms)
        rarest_first = np.argsort(frequency, kind="stable")
        self.rank_of_term = np.empty(n_terms, dtype=np.int64)
        self.rank_of_term[rarest_first] = np.arange(n_terms)
        rank = self.rank_of_term[knowledge.items]
        row = np.repeat(np.arange(n_rows), np.diff(knowledge.start))
        order = np.argsort(rank * n_rows + row)
        self._keys = (rank * n_rows + row)[order]  # (occurrences,): one for each term of each row
        given = knowledge.likelihood  # of the same occurrences; each label has one row then, with its own number
        self._likelihood = None if given is None else np.array([float(each) for each in given])[order]
        self.rows = self._keys % n_rows  # of rank 0, then of rank 1, ...; ascending in each
        self.start = starts_of(frequency[rarest_first])  # (terms + 1,)
        self.length = np.diff(self.start)  # (terms,)
        self.n_rows, self.n_terms = n_rows, n_terms
        self._width = (n_rows + 7) // 8
        self._bits: NDArray[np.uint8] | None = None
        if n_terms * n_rows <= dense:
            bits = np.zeros(n_terms * self._width, dtype=np.uint8)
            place = rank * self._width + (row >> 3)
            np.bitwise_or.at(bits, place, np.left_shift(1, row & 7).astype(np.uint8))
            self._bits = bits

    def ranks(self, labels: Iterable[str]) -> Integers:
        """Return the rank of each term by its text, -1 for a term that no row has."""
        number_of = self.knowledge.term_of
        return np.array(
            [self.rank_of_term[number_of[label]] if label in number_of else -1 for label in labels], dtype=np.int64
        )

    def contains(self, row: Integers, rank: Integers) -> NDArray[np.bool_]:
        """Return for each pair whether the row has the term."""
        if self._bits is not None:
            byte = self._bits[rank * self._width + (row >> 3)]
            return np.asarray((byte >> (row & 7).astype(np.uint8)) & 1 == 1)
        key = rank * self.n_rows + row
        place = np.minimum(np.searchsorted(self._keys, key), self._keys.size - 1)
        return np.asarray(self._keys[place] == key)

    def link(self, sets: TermSets) -> Links:
        """Return the labels that each set is linked to; every set has a term, and all its terms are known.

        Those that have all its terms; where none has, and the knowledge table allows a miss, those that lack one.
        """
        links = self._exactly(sets)
        alone = np.flatnonzero(links.size == 0)
        return self._nearly(sets, links, alone) if self.knowledge.misses and alone.size else links

    def _nearly(self, sets: TermSets, links: Links, alone: Integers) -> Links:
        """Return the links with those of the sets `alone`, which have none, when any one of their terms is left out."""
        size = np.diff(sets.start)[alone]
        owner = np.repeat(alone, size)  # of each set with a term left out, which has one item less
        left_out = np.repeat(ranges(np.zeros_like(size), size), np.repeat(size, size))
        place = ranges(np.zeros(owner.size, dtype=np.int64), np.repeat(size, size))
        items = sets.items[ranges(sets.start[owner], np.repeat(size, size))][place != left_out]
        start = starts_of(np.repeat(size, size) - 1)
        found = self._exactly(TermSets(start, items))
        pairs = np.repeat(owner, found.size) * self.knowledge.n_labels + found.label
        known = np.repeat(np.arange(sets.size), links.size) * self.knowledge.n_labels + links.label
        of_set, label = np.divmod(np.unique(np.concatenate([known, pairs])), self.knowledge.n_labels)
        return Links(np.searchsorted(of_set, np.arange(sets.size + 1)).astype(np.int64), label)

    def _exactly(self, sets: TermSets) -> Links:
        parts = [self._link(*part) for part in sets.split(self.length, BATCH)]
        of_set = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.int64)
        label = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.int64)
        start = np.searchsorted(of_set, np.arange(sets.size + 1)).astype(np.int64)
        return Links(start, label)

    def _link(self, first: int, start: Integers, items: Integers) -> tuple[Integers, Integers]:
        """Return (set, label) pairs in order for the sets first, first + 1, ..."""
        shortest = items[start[:-1]]
        count = self.length[shortest]
        of_set = np.repeat(np.arange(shortest.size), count)
        row = self.rows[ranges(self.start[shortest], count)]
        size = np.diff(start)
        for position in range(1, int(size.max(initial=0))):
            # Candidates of sets that have ended stay as they are; most others go with the second term.
            open_ = np.flatnonzero(size[of_set] > position)
            if not open_.size:
                break
            stays = self.contains(row[open_], items[start[of_set[open_]] + position])
            keep = np.ones(of_set.size, dtype=np.bool_)
            keep[open_[~stays]] = False
            of_set, row = of_set[keep], row[keep]
        label = self.knowledge.label_of_row[row].astype(np.int64)
        # Rows stand in the order of their labels: a label that is linked through two rows stands there twice in a row.
        again = np.zeros(label.size, dtype=np.bool_)
        again[1:] = (label[1:] == label[:-1]) & (of_set[1:] == of_set[:-1])
        return of_set[~again] + first, label[~again]

    def shares(self, sets: TermSets, links: Links) -> NDArray[np.float64]:
        """Return how likely each linked label is for its set: as likely as the others, unless the table weighs terms.

        Then a label counts the product of the weights that it gives to the terms of the set. A term that it lacks is
        one that was overlooked: a slip, which says nothing about labels, and counts 1.
        """
        of_set = np.repeat(np.arange(sets.size), links.size)
        if self._likelihood is None:
            return 1.0 / links.size[of_set]
        share = np.ones(of_set.size)
        size = np.diff(sets.start)
        for position in range(int(size.max(initial=0))):
            open_ = np.flatnonzero(size[of_set] > position)
            key = sets.items[sets.start[of_set[open_]] + position] * self.n_rows + links.label[open_]
            place = np.minimum(np.searchsorted(self._keys, key), self._keys.size - 1)
            share[open_] *= np.where(self._keys[place] == key, self._likelihood[place], 1.0)
            share /= np.maximum(_largest(share, links), 1e-300)[of_set]  # so that no product vanishes
        return share / np.bincount(of_set, weights=share, minlength=sets.size)[of_set]

    def exact_shares(self, sets: TermSets, links: Links, number: int) -> dict[int, Fraction]:
        """Return the same for one set, by label, as fractions."""
        given = self.knowledge.likelihood or ()
        labels = links.label[links.start[number] : links.start[number + 1]].tolist()
        ranks = sets.items[sets.start[number] : sets.start[number + 1]]
        share = dict.fromkeys(labels, Fraction(1))
        for label in labels if given else ():
            first, last = self.knowledge.start[label], self.knowledge.start[label + 1]  # its one row
            own = dict(
                zip(self.rank_of_term[self.knowledge.items[first:last]].tolist(), given[first:last], strict=True)
            )
            for rank in ranks.tolist():
                share[label] *= own.get(rank, 1)
        total = sum(share.values())
        return {label: each / total for label, each in share.items()}


@dataclass(frozen=True, eq=False)
class Links:
    """The labels of each term set: those of set s are label[start[s]:start[s + 1]], ascending."""

    start: Integers
    label: Integers

    @cached_property
    def size(self) -> Integers:
        """How many labels each set is linked to: |K|."""
        return np.asarray(np.diff(self.start), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TermSets:
    """Some sets of ranked terms: those of set s are items[start[s]:start[s + 1]], ascending."""

    start: Integers
    items: Integers

    @property
    def size(self) -> int:
        """How many sets there are."""
        return int(self.start.size - 1)

    def split(self, length: Integers, most: int) -> Iterator[tuple[int, Integers, Integers]]:
        """Yield (first set, start, items) of runs of sets whose shortest lists have together about `most` rows."""
        cost = starts_of(length[self.items[self.start[:-1]]])
        first = 0
        while first < self.size:
            last = max(first + 1, int(np.searchsorted(cost, cost[first] + most, side="right")) - 1)
            begin, end = self.start[first], self.start[last]
            yield first, self.start[first : last + 1] - begin, self.items[begin:end]
            first = last


def _largest(share: NDArray[np.float64], links: Links) -> NDArray[np.float64]:
    """Return the largest share of each set, 1 for a set without labels."""
    found = np.ones(links.size.size)
    filled = np.flatnonzero(links.size)
    if filled.size:
        found[filled] = np.maximum.reduceat(share, links.start[filled])
    return found


def ranges(first: Integers, count: Integers) -> Integers:
    """Return first[0], first[0] + 1, ... (count[0] of them), first[1], ..."""
    end = np.cumsum(count)
    return np.asarray(np.arange(end[-1] if end.size else 0) + np.repeat(first - (end - count), count), dtype=np.int64)


class Terms:
    """The released terms of each row, as ranks in an index."""

    def __init__(self, column: CodedSets, index: Index, weights: Integers | None = None) -> None:
        self.index = index
        self.weights = weights
        self.rank_of_code = index.ranks(column.labels)
        self.start, self.items = column.start, column.items
        size = np.diff(column.start)
        self.empty = size == 0  # (n,): linked to every label
        # A row with a term that nobody knows is linked to nothing. Reduced by the shortest list of each row's terms,
        # which is 0 then, rows can be weighed before anything is linked.
        length_of_code = np.where(self.rank_of_code < 0, 0, index.length[self.rank_of_code])
        self.cost = np.zeros(size.size, dtype=np.int64)  # (n,): links that a row has at most
        filled = np.flatnonzero(size)
        if filled.size:
            self.cost[filled] = np.minimum.reduceat(length_of_code[self.items], self.start[filled])

    def records(self, rows: Integers) -> Integers:
        """Return how many records each of some rows stands for."""
        return np.ones(rows.size, dtype=np.int64) if self.weights is None else self.weights[rows]

    def distinct(self, rows: Integers) -> tuple[TermSets, Integers]:
        """Return the different sets of some rows and the set of each row; rows have terms, all of them known."""
        size = np.diff(self.start)[rows]
        rank = self.rank_of_code[self.items[ranges(self.start[rows], size)]]
        keys = np.repeat(np.arange(rows.size), size) * self.index.n_terms + rank
        keys.sort()
        row, items = np.divmod(keys, self.index.n_terms)
        start = np.searchsorted(row, np.arange(rows.size + 1)).astype(np.int64)
        set_of, some_row = distinct_runs(start, items, self.index.n_terms)
        length = np.diff(start)[some_row]
        chosen = TermSets(starts_of(length), items[ranges(start[some_row], length)])
        return chosen, set_of
